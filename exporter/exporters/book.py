"""One page of HTML with everything in it, to read, print and keep: the oldest post first, the pictures inside. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from exporter.exporters.bodies import comment_author, comment_html, comment_url, safe_body
from exporter.exporters.interface import Content, ExportFile, Inline
from exporter.exporters.media import Media, Picture
from exporter.exporters.options import ExportOptions
from exporter.exporters.posts import Post, PostComment, Posts
from exporter.exporters.report import Report
from exporter.exporters.xmltext import cleaned
from exporter.render.entry_page import UNTITLED, day
from exporter.render.runs import collapse
from exporter.render.slug import safe_id
from exporter.render.text import visible

_STYLE: Final = """
body { max-width: 40em; margin: 2em auto; padding: 0 1em; font: 1em/1.9 serif; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid #999; padding: .2em .6em; }
article { border-top: 1px solid #999; margin-top: 3em; padding-top: 1em; }
aside { margin-left: 1em; font-size: .9em; }
@media print { article { break-before: page; } nav { break-after: page; } a { color: inherit; text-decoration: none; } }
""".strip()
_HEAD: Final = """<!DOCTYPE html>
<html lang="ja">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<h1>{title}</h1>
<nav>
<ol>
"""
_WAY: Final = "inlined-picture/"
_PLACE: Final = re.compile(rf'"{_WAY}([^"]*)"')


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the page."""
    yield Content(f"book-{options.label}.html", _chunks(posts, Media(posts, options, _place_of), report))


def _chunks(posts: Posts, media: Media, report: Report) -> Iterator[bytes | Inline]:
    title = escape(posts.blog_id)
    yield _HEAD.format(title=title, style=_STYLE).encode()
    for post in posts.by_date():
        yield f'<li><a href="{_place_of(post.entry_id)}">{_title(post)}</a> {day(post.entry.date)}</li>\n'.encode()
    yield b"</ol>\n</nav>\n"
    for post in posts.by_date():
        yield from _with_pictures(_article(post, media, report), media, post, report)
        report.wrote(len(post.comments), post.category)
    yield b"</body>\n</html>\n"


def _place_of(entry_id: str) -> str:
    return f"#e{safe_id(entry_id)}"


def _article(post: Post, media: Media, report: Report) -> str:
    media.account(post, report, "the page shows it nowhere", referred=False)
    lead = collapse(post.entry.ps_title)
    facts = " · ".join(filter(None, [day(post.entry.date), escape(post.category)]))
    parts = [
        f'<article id="e{safe_id(post.entry_id)}">',
        f"<h2>{_title(post)}</h2>",
        f"<p>{facts}</p>",
        safe_body(media.rewritten(post.entry.entry_text, _WAY)),
        f"<h3>{escape(lead)}</h3>" if lead else "",
        safe_body(media.rewritten(post.entry.ps_text, _WAY)),
        f"<h3>コメント ({len(post.comments)})</h3>" if post.comments else "",
        *map(_comment, post.comments),
        "</article>",
        "",
    ]
    clean = cleaned(visible("\n".join(parts))[0])
    return clean.text


def _comment(found: PostComment) -> str:
    name = escape(comment_author(found.comment))
    url = comment_url(found.comment)
    shown = f'<a href="{escape(url)}" rel="nofollow">{name or escape(url)}</a>' if url else name
    head = " · ".join(filter(None, [shown, day(found.comment.regist_date)]))
    return f"<aside>\n<p>{head}</p>\n<div>{comment_html(found.comment)}</div>\n</aside>"


def _with_pictures(html: str, media: Media, post: Post, report: Report) -> Iterator[bytes | Inline]:
    """Put the pictures' content where their addresses are; whatever is none of them shows nothing."""
    pictures: dict[str, Picture] = {
        picture.name: picture for picture in media.pictures(post.entry.entry_text, post.entry.ps_text) if picture.source
    }
    at = 0
    for place in _PLACE.finditer(html):
        yield html[at : place.start()].encode()
        at = place.end()
        picture = pictures.get(place[1])
        if picture is None or picture.source is None:
            yield b'""'
            continue
        report.picture(picture.asset.url)
        yield f'"data:{picture.asset.content_type or "application/octet-stream"};base64,'.encode()
        yield Inline(picture.source)
        yield b'"'
    yield html[at:].encode()


def _title(post: Post) -> str:
    return escape(cleaned(visible(post.title)[0]).text) or UNTITLED
