"""Unique names of entries in file systems and addresses. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b, sha256
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from exporter.model.records import Post

NAME_BYTES: Final = 200
"""Well under the limit of common file systems (255 bytes), so that temporary names also fit."""

_SUFFIX: Final = ".md"
_PLAIN_ID = re.compile(r"[0-9]{1,20}")
_KEPT_CATEGORIES = frozenset("LMN")


def page_path(date: datetime | None, title: str, entry_id: str) -> str:
    """Return an entry's path in the Markdown view: ``YYYY/MM/YYYY-MM-DD-slug-id.md``, or ``undated/slug-id.md``."""
    name = file_name(date, title, entry_id)
    return f"undated/{name}" if date is None else f"{date.year:04d}/{date.month:02d}/{name}"


def file_name(date: datetime | None, title: str, entry_id: str) -> str:
    """Return an entry's file name, at most 200 bytes in UTF-8.

    Its last part is unique to the id, even if the file system ignores case, so names never collide.
    """
    last = safe_id(entry_id)
    day = "" if date is None else date.date().isoformat()
    room = NAME_BYTES - len(_SUFFIX) - len(last) - len(day) - 2
    return "-".join(part for part in (day, slug(title, room), last) if part) + _SUFFIX


def safe_id(record_id: str) -> str:
    """Return an id of plain digits unchanged, and any other as ``x`` and 16 digits of its SHA-256."""
    if _PLAIN_ID.fullmatch(record_id):
        return record_id
    return "x" + sha256(record_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def slug(title: str, room: int) -> str:
    """Return the letters and digits in a title, in their own script and in NFC, joined by hyphens.

    Args:
        title: any text.
        room: the most bytes of UTF-8; the cut never parts a character from its combining marks.
    """
    words: list[str] = []
    size = 0
    gap = False
    for cluster in _clusters(unicodedata.normalize("NFC", title[: 4 * NAME_BYTES])):
        if unicodedata.category(cluster[0])[0] not in _KEPT_CATEGORIES:
            gap = bool(words)
            continue
        piece = f"-{cluster}" if gap else cluster
        size += len(piece.encode("utf-8"))
        if size > room:
            break
        words.append(piece)
        gap = False
    return "".join(words)


def _clusters(text: str) -> list[str]:
    """Split text into characters with the combining marks behind them."""
    found: list[str] = []
    for char in text:
        if found and unicodedata.category(char)[0] == "M":
            found[-1] += char
        else:
            found.append(char)
    return found


ADDRESS_BYTES: Final = 200
"""The column of WordPress for names in addresses (``wp_posts.post_name``, ``wp_terms.slug``)."""

Spelling = Callable[[str], str]
"""Returns a name in the target's spelling; empty if the target would change it."""

_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_TAKEN_BY_WORDPRESS: Final = frozenset({"atom", "embed", "feed", "rdf", "rss", "rss2"})
"""Names of its feeds; a post with such a name gets another one (``wp_unique_post_slug``)."""

CHANGED_BY_WORDPRESS: Final = re.compile(
    r"[^a-z0-9_\-\x80-\U0010ffff]|[\x80-\xbf\xd7\u02ca\u0300-\u036f\u2000-\u206f\u2122\ufff0-\uffff]|--|^-|-$"
)
"""Around all that it drops or writes as a hyphen (``sanitize_title_with_dashes``)."""


_ENDING: Final = re.compile(r"\.(?:html?|php|aspx?|cgi)$", re.IGNORECASE)


def address_name(post: Post) -> str:
    """Return a post's name in its old address: its slug, or the last part of its permalink; empty if neither is known.

    Some services state a slug percent-encoded, as in the permalink.
    """
    if post.slug:
        return unquote(post.slug) if post.permalink or post.audience is not None else post.slug
    if not post.permalink:
        return ""
    try:
        path = urlsplit(post.permalink).path
    except ValueError:
        return ""
    return _ENDING.sub("", unquote(path.rstrip("/").rpartition("/")[2]))


def plain_name(name: str) -> str:
    """Return a name of ASCII letters, digits, hyphens and underscores, which every target accepts."""
    wanted = name.lower()
    return wanted if _PLAIN.fullmatch(wanted) else ""


def wordpress_name(name: str) -> str:
    """Return a name in any script, percent-encoded as WordPress writes and reads it."""
    wanted = unicodedata.normalize("NFC", name.lower())
    if CHANGED_BY_WORDPRESS.search(wanted) or wanted in _TAKEN_BY_WORDPRESS:
        return ""
    if any(unicodedata.category(char)[0] in "CZ" for char in wanted):
        return ""
    written = quote(wanted, safe="").lower()
    return written if len(written) <= ADDRESS_BYTES else ""


class UniqueNames:
    """Names for addresses: the entry's own if the target accepts it and it is free, else ``entry-ID``."""

    def __init__(self, spelling: Spelling = plain_name) -> None:
        self._spelling = spelling
        self._taken: set[str] = set()

    def fit(self, name: str, entry_id: str) -> str:
        """Return the name to write."""
        wanted = self._spelling(name)
        if not wanted or wanted in self._taken:
            wanted = f"entry-{plain_id(entry_id)}"
        while wanted in self._taken:
            wanted += "-2"
        self._taken.add(wanted)
        return wanted


def plain_id(entry_id: str) -> str:
    """Return an id in ASCII letters and digits, unchanged if it already is."""
    if re.fullmatch(r"[a-z0-9]{1,40}", entry_id):
        return entry_id
    return f"x{blake2b(entry_id.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"
