"""Comments in files next to the pages, as JSON for scripts and as XML for Disqus. Pure.

Disqus describes its format at https://help.disqus.com/en/articles/1717222-custom-xml-import-format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from exporter.export.interface import Content
from exporter.export.media import address_of
from exporter.export.post_html import cdata, comment_html, escaped, report_bodies
from exporter.export.posts import ExportPost, PostComment, Posts, comment_record
from exporter.export.reasons import Reason
from exporter.html.links import commenter_link
from exporter.html.text import collapse, text_of
from exporter.text import without_surrogates

_MIN_COMMENT_CHARACTERS: Final = 3
"""The minimum length of a comment in Disqus."""
_HEAD: Final = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dsq="http://www.disqus.com/"
  xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:wp="http://wordpress.org/export/1.0/">
<channel>
"""


def sidecar(posts: Posts, folder: str) -> Iterator[Content]:
    """Yield the comments as two files in a folder of the export; the pages then contain none."""
    place = f"{folder}/" if folder else ""
    yield Content(f"{place}comments-{posts.options.label}.json", _json(posts))
    yield Content(f"{place}comments-disqus-{posts.options.label}.xml", _disqus(posts))


def _json(posts: Posts) -> Iterator[bytes]:
    yield b'{"comments": ['
    end = b"\n"
    for post in posts.commented():
        address = address_of(posts, post)
        report_bodies(post, posts.report, bodies=False)
        for found in post.comments:
            record = {
                **comment_record(post.id, found),
                "html": comment_html(found.comment),
                "entry_title": post.title,
                "entry_url": address,
            }
            text, replaced = without_surrogates(json.dumps(record, ensure_ascii=False))
            posts.report.changed("comments", Reason.SURROGATES, found.comment.id, replaced)
            yield end + text.encode()
            end = b",\n"
        posts.report.written["comments"] += len(post.comments)
    yield b"\n]}\n"


def _disqus(posts: Posts) -> Iterator[bytes]:
    yield _HEAD.encode()
    for post in posts.commented():
        yield "\n".join(_thread(post, posts)).encode() + b"\n"
    yield b"</channel>\n</rss>\n"


def _thread(post: ExportPost, posts: Posts) -> Iterator[str]:
    address = address_of(posts, post)
    if address is None or address.startswith("/"):
        posts.report.limit(Reason.NO_ADDRESS, post.id)
    yield "<item>"
    yield f"<title>{escaped(post.title)}</title>"
    yield f"<link>{escaped(address or '')}</link>"
    yield "<content:encoded></content:encoded>"
    yield f"<dsq:thread_identifier>{escaped(post.id)}</dsq:thread_identifier>"
    yield f"<wp:post_date_gmt>{_gmt(post.when)}</wp:post_date_gmt>"
    yield "<wp:comment_status>open</wp:comment_status>"
    parents = {each.found.comment.id: each.answers.id for each in post.threads() if each.answers is not None}
    for found in post.comments:
        if len(text_of(found.comment.text).strip()) < _MIN_COMMENT_CHARACTERS:
            posts.report.limit(Reason.COMMENT_SHORT, post.id)
        yield from _comment(found, parents.get(found.comment.id))
    yield "</item>"


def _comment(found: PostComment, parent: str | None) -> Iterator[str]:
    comment = found.comment
    name = collapse(comment.name)
    facts: dict[str, Any] = {
        "id": escaped(comment.id),
        "author": cdata(name),
        # Without an address of his own a commenter would be given the name of another.
        "author_email": f"{sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}@commenter.invalid",
        "author_url": escaped(commenter_link(comment.url) or ""),
        "author_IP": "",
        "date_gmt": _gmt(found.when),
        "content": cdata(comment_html(comment)),
        "approved": int(found.visible),
        "parent": 0 if parent is None else escaped(parent),
    }
    yield "<wp:comment>"
    for field, value in facts.items():
        yield f"<wp:comment_{field}>{value}</wp:comment_{field}>"
    yield "</wp:comment>"


def _gmt(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
