"""What is put beside each record in the new home, so that it is known again whatever becomes of this program. Pure.

A WordPress keeps no key of ours as it comes: its REST API drops the fields of records (``meta``) that nobody has
registered. What it keeps, and finds again, is used in their place:

- a post ends with an empty block whose name says which entry it is; a page shows nothing of it, the editor its name;
- a comment has an address of e-mail that WordPress wants anyway, at a domain that cannot exist (RFC 2606), and says
  as the name of its writer's browser what was sent for it;
- a file has a name for its address that is made of its content.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

from exporter.export.names import plain_id

RESERVED: Final = "reserved"
"""In place of the digest of a post: its address is taken, its text is still to come."""

_PLAIN_BLOG: Final = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_BLOG_CHARACTERS: Final = 40
_MARK: Final = re.compile(r'"name":"blog-exporter ([a-z0-9.-]+/entry/[a-z0-9]+) ([0-9a-f]{16}|reserved)"')
_ADDRESS: Final = re.compile(r"comment-[a-z0-9]+@[a-z0-9.-]+\.invalid")
_AGENT: Final = re.compile(r"blog-exporter ([0-9a-f]{16})")
_FILE_DIGITS: Final = 32


def blog_key(blog_id: str) -> str:
    """Return a blog's id as keys have it: as it is where it is a short name of a host."""
    name = blog_id.lower()
    if len(name) <= _BLOG_CHARACTERS and _PLAIN_BLOG.fullmatch(name):
        return name
    return f"x{blake2b(blog_id.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def post_key(blog_id: str, entry_id: str) -> str:
    """Return the key of an entry."""
    return f"{blog_key(blog_id)}/entry/{plain_id(entry_id)}"


def entry_in(blog_id: str, key: str) -> str | None:
    """Return which entry of the blog a key is that of, as keys have ids; ``None`` where it is another blog's."""
    blog, _, entry = key.rpartition("/entry/")
    return entry if blog == blog_key(blog_id) else None


def mark(key: str, digest: str) -> str:
    """Return the block that ends a post.

    Args:
        key: of its entry.
        digest: of all that was sent for it, in 16 digits, or :data:`RESERVED`.
    """
    return f'<!-- wp:html {{"metadata":{{"name":"blog-exporter {key} {digest}"}}}} /-->'


def marks_in(content: str) -> tuple[str, str] | None:
    """Return the key and the digest of the post with that content; ``None`` where it is none of ours.

    The last one counts: a body may hold any text.
    """
    found = _MARK.findall(content)
    return (found[-1][0], found[-1][1]) if found else None


def comment_address(blog_id: str, comment_id: str) -> str:
    """Return the address of e-mail of a comment; no mail ever gets there."""
    return f"comment-{plain_id(comment_id)}@{blog_key(blog_id)}.invalid"


def comment_in(blog_id: str, address: str) -> str | None:
    """Return which comment of the blog an address is that of, as keys have ids; ``None`` where it is another blog's."""
    comment, _, host = address.partition("@")
    return comment.removeprefix("comment-") if host == f"{blog_key(blog_id)}.invalid" else None


def is_comment_address(address: str) -> bool:
    """Tell whether an address of e-mail is one of those."""
    return _ADDRESS.fullmatch(address) is not None


def comment_agent(digest: str) -> str:
    """Return the name of a browser that says what was sent for a comment, by a digest of it in 16 digits."""
    return f"blog-exporter {digest}"


def digest_in(agent: str) -> str:
    """Return the digest that the name of a browser holds; empty where it is another's."""
    found = _AGENT.fullmatch(agent)
    return "" if found is None else found[1]


def file_slug(sha256: str) -> str:
    """Return the name for the address of a file with that content."""
    return f"file-{sha256[:_FILE_DIGITS]}"
