"""One page of HTML with everything in it, to read, print and keep: the oldest post first, the pictures inside. Pure.

Bodies are made by what makes them for the offline site, so nothing in the page runs, and opening it asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from html import escape
from typing import Final

from exporter.export.entry_page import UNTITLED, day
from exporter.export.file_names import safe_id
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, Copy, ExportFile, Inline
from exporter.export.media import Media
from exporter.export.post_html import report_bodies
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.report import Report
from exporter.export.words import Reason
from exporter.export.xml import visible_xml
from exporter.html.links import commenter_link
from exporter.html.page_body import BodyWriter
from exporter.html.page_sanitizer import ID_PREFIX
from exporter.html.pages import page_head
from exporter.html.text import collapse
from exporter.model.asset import extension_of, openable

_STYLE: Final = """
body { max-width: 40em; margin: 2em auto; padding: 0 1em; font: 1em/1.9 serif; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid #999; padding: .2em .6em; }
article { border-top: 1px solid #999; margin-top: 3em; padding-top: 1em; }
aside { margin-left: 1em; font-size: .9em; }
.as-typed { white-space: pre-wrap; }
.lost { font-size: .9em; }
@media print { article { break-before: page; } nav { break-after: page; } a { color: inherit; text-decoration: none; } }
""".strip()
_PIXELS: Final = frozenset(f"image/{name}" for name in ("avif", "bmp", "gif", "jpeg", "png", "webp"))
"""What is a picture and nothing more: in an SVG an untrusted script may wait for whoever opens it alone."""
_TYPES: Final = {extension_of(kind): kind for kind in _PIXELS}
_STORED: Final = r"(assets/[0-9a-f]{2}/[0-9a-f]{64}\.[a-z0-9]{1,8})"
_BEFORE: Final = r"""(?:[^<>"]|"[^"]*")*?"""
_PLACE: Final = re.compile(rf'(?<=<img ){_BEFORE}src="{_STORED}"')
_TAG: Final = re.compile(r"""<[a-z][a-z0-9]*(?: [a-z]+="[^"]*")+>""")
_LINK: Final = re.compile(rf'(?<=<a ){_BEFORE}href="{_STORED}"')


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the page, and the files it links to."""
    linked: dict[str, None] = {}
    yield Content(f"book-{posts.options.label}.html", _chunks(posts, Media(posts, _place_of), linked))
    yield from (Copy(path, path) for path in linked)


def _chunks(posts: Posts, media: Media, linked: dict[str, None]) -> Iterator[bytes | Inline]:
    title = escape(posts.blog_id)
    yield f"{page_head(title, _STYLE)}<nav>\n<ol>\n".encode()
    for post in posts.by_date():
        yield f'<li><a href="{_place_of(post.id)}">{_title(post)}</a> {day(post.record.date)}</li>\n'.encode()
    yield b"</ol>\n</nav>\n"
    base = f"https://{posts.blog_id}/"

    def local_path(address: str) -> str | None:
        found = media.find(address)
        return None if found is None else found.source

    def drawn(path: str) -> bool:
        return _ending(path) in _TYPES

    def place(address: str) -> str | None:
        entry_id = media.own_post(address)
        if entry_id is None:
            return None
        place = media.place_in(entry_id, address)
        return _place_of(entry_id) if place is None else f"{_place_of(entry_id)}-{place}"

    bodies = BodyWriter(local_path, base, alone=True, page_of=place, drawn=drawn)
    for post in posts.by_date():
        article = _article(post, posts, media, bodies)
        linked.update((found[1], None) for found in _LINK.finditer(article))
        yield from _with_pictures(article)
        posts.report.wrote(len(post.comments), post.category)
    yield b"</body>\n</html>\n"


def _place_of(entry_id: str) -> str:
    return f"#e{safe_id(entry_id)}"


def _article(post: ExportPost, posts: Posts, media: Media, bodies: BodyWriter) -> str:
    report_bodies(post, posts.report)
    lead = collapse(post.record.more_title)
    facts = " · ".join(filter(None, [day(post.record.date), escape(post.category)]))
    parts = [
        f'<article id="e{safe_id(post.id)}">',
        f"<h2>{_title(post)}</h2>",
        f"<p>{facts}</p>",
        f"<div>{_body(post.record.body, post, media, bodies)}</div>",
        f"<h3>{escape(lead)}</h3>" if lead else "",
        f"<div>{_body(post.record.more, post, media, bodies)}</div>" if post.record.more else "",
        f"<h3>コメント ({len(post.comments)})</h3>" if post.comments else "",
        *(_comment(found, bodies) for found in post.comments),
        "</article>",
        "",
    ]
    article = visible_xml("\n".join(parts)).text
    _account(
        post, media, posts.report, {place[1] for pattern in (_PLACE, _LINK) for place in pattern.finditer(article)}
    )
    return article


def _body(source: str, post: ExportPost, media: Media, bodies: BodyWriter) -> str:
    """Return a body whose ids, where links lead to them, are those of its entry alone: many entries have a ``fn1``."""
    html = bodies.html(source, "", media.places(post))
    place = _place_of(post.id)

    def in_tag(tag: re.Match[str]) -> str:
        own = tag[0].replace(f' id="{ID_PREFIX}', f' id="{place[1:]}-')
        return own.replace(f' href="#{ID_PREFIX}', f' href="{place}-')

    return _TAG.sub(in_tag, html)


def _account(post: ExportPost, media: Media, report: Report, paths: Container[str]) -> None:
    """Report the pictures and files of a post, given where the archive has those that the page holds or links to."""
    written = set()
    for picture in media.pictures(post):
        if picture.source in paths:
            written.add(picture.name)
        elif picture.source is not None and not (_ending(picture.source) in _TYPES or openable(picture.source)):
            report.picture(picture.asset.url, Reason.ACTIVE_FILE, referred=True)
    media.account(post, Reason.NOT_SHOWN, written=written, referred=False)


def _comment(found: PostComment, bodies: BodyWriter) -> str:
    comment = found.comment
    name = escape(collapse(comment.name))
    url = commenter_link(comment.url) or ""
    shown = f'<a href="{escape(url)}" rel="nofollow noopener noreferrer">{name or escape(url)}</a>' if url else name
    head = " · ".join(filter(None, [shown, day(comment.date)]))
    title = escape(collapse(comment.title), quote=False)
    said = f"<p><b>{title}</b></p>\n" if title else ""
    return f"<aside>\n<p>{head}</p>\n{said}<div>{bodies.html(comment.text, '')}</div>\n</aside>"


def _with_pictures(html: str) -> Iterator[bytes | Inline]:
    """Put the pictures' content where their paths are: only tags can have these, since the text's ``<`` is escaped."""
    at = 0
    for place in _PLACE.finditer(html):
        yield html[at : place.start(1)].encode()
        at = place.end(1)
        path = place[1]
        yield f"data:{_TYPES[_ending(path)]};base64,".encode()
        yield Inline(path)
    yield html[at:].encode()


def _ending(path: str) -> str:
    return path.rpartition(".")[2]


def _title(post: ExportPost) -> str:
    return escape(visible_xml(post.title).text) or UNTITLED


FORMAT: Final = Format(
    "people: one page to print, with the pictures in it; it loads nothing", export, media=False, shows=Comments.BODY
)
