"""One page of HTML with everything in it, to read, print and keep: by year, oldest first, pictures inside. Pure.

The site's code makes the bodies, so they look the same by day and by night. Nothing in the page runs or loads anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from datetime import datetime
from html import escape
from itertools import groupby
from typing import Final

from exporter.export.csv_table import rough_text
from exporter.export.entry_page import t
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, Copy, ExportFile, Inline
from exporter.export.media import Media
from exporter.export.names import safe_id
from exporter.export.parts import FOR_READERS, Part
from exporter.export.post_html import comment_marks, post_facts, report_bodies, visible_xml
from exporter.export.posts import ExportPost, Posts, ThreadedPostComment
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.html.dates import Dates
from exporter.html.links import commenter_link
from exporter.html.page_body import BodyWriter
from exporter.html.page_sanitizer import ID_PREFIX
from exporter.html.pages import page_end, page_start
from exporter.html.text import collapse
from exporter.message import message
from exporter.model.asset import extension_of, openable

_PIXELS: Final = frozenset(f"image/{name}" for name in ("avif", "bmp", "gif", "jpeg", "png", "webp"))
"""Media types that contain only a picture; an SVG may contain a script that runs when it is opened alone."""
_TYPES: Final = {extension_of(kind): kind for kind in _PIXELS}
_DATES: Final = Dates("ja")
_MAX_LEVEL: Final = 10
"""Deeper answers are in the list of their parent."""
_STORED: Final = r"(assets/[0-9a-f]{2}/[0-9a-f]{64}\.[a-z0-9]{1,8})"
_BEFORE: Final = r"""(?:[^<>"]|"[^"]*")*?"""
_PLACE: Final = re.compile(rf'(?<=<img ){_BEFORE}src="{_STORED}"')
_TAG: Final = re.compile(r"""<[a-z][a-z0-9]*(?: [a-z]+="[^"]*")*>""")
_SCROLLING: Final = ("<pre", "<table")
_LINK: Final = re.compile(rf'(?<=<a ){_BEFORE}href="{_STORED}"')


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the page, and the files it links to."""
    linked: dict[str, None] = {}
    yield Content(f"book-{posts.options.label}.html", _chunks(posts, Media(posts, _place_of), linked))
    yield from (Copy(path, path) for path in linked)


def _chunks(posts: Posts, media: Media, linked: dict[str, None]) -> Iterator[bytes | Inline]:
    title = visible_xml(posts.title).text
    count = t("Entries: {n}", n=len(posts))
    head = f'<header class="title home">\n<h1>{escape(title)}</h1>\n<p class="faint">{count}</p>\n</header>\n'
    yield f"{page_start(title, title)}{head}<nav>\n".encode()
    for year, found in groupby(posts.by_date(), _year_of):
        yield f'<h2><a href="#y{year}">{year}年</a></h2>\n<ul class="lines">\n'.encode()
        for post in found:
            link = f'<a href="{_place_of(post.id)}">{_title(post)}</a>'
            yield f'<li class="line">{_day(post.record.date)} {link}</li>\n'.encode()
        yield b"</ul>\n"
    yield b"</nav>\n"

    def place(address: str) -> str | None:
        entry_id = media.own_post(address)
        if entry_id is None:
            return None
        place = media.place_in(entry_id, address)
        return _place_of(entry_id) if place is None else f"{_place_of(entry_id)}-{place}"

    bodies = _bodies(posts, media, place)
    for year, found in groupby(posts.by_date(), _year_of):
        yield f'<h2 class="book-year" id="y{year}">{year}年</h2>\n'.encode()
        for post in found:
            article = _article(post, posts, media, bodies)
            linked.update((link[1], None) for link in _LINK.finditer(article))
            yield from _with_pictures(article)
            posts.wrote(post)
    yield page_end().encode()


def _bodies(
    posts: Posts, media: Media, page_of: Callable[[str], str | None], *, linked_files: bool = True
) -> BodyWriter:
    def drawn(path: str) -> bool:
        return _ending(path) in _TYPES

    def local_path(address: str) -> str | None:
        found = media.find(address)
        path = None if found is None else found.source
        return path if path is None or linked_files or drawn(path) else None

    return BodyWriter(local_path, f"https://{posts.blog_id}/", alone=True, page_of=page_of, drawn=drawn)


class SinglePages:
    """Makes a page of one post, with its pictures inside. Links to posts and to other files keep their old addresses.

    Args:
        posts: the posts.
        note: a sentence at the head of each page.
    """

    def __init__(self, posts: Posts, note: str) -> None:
        self._posts = posts
        self._note = note
        self._media = Media(posts)
        self._bodies = _bodies(posts, self._media, lambda _: None, linked_files=False)

    def chunks(self, post: ExportPost) -> Iterator[bytes | Inline]:
        """Yield the content of the page, and report the post as written."""
        title = visible_xml(self._posts.title).text
        head = page_start(visible_xml(post.title).text or t("(untitled)"), title)
        article = _article(post, self._posts, self._media, self._bodies)
        yield f'{head}<p class="notice">{escape(self._note)}</p>\n'.encode()
        yield from _with_pictures(article)
        self._posts.wrote(post)
        yield page_end().encode()


def _year_of(post: ExportPost) -> int:
    return post.when.year


def _day(date: datetime | None) -> str:
    """Return a day as the site writes it; empty if there is none."""
    return "" if date is None else f'<time datetime="{date:%Y-%m-%d}">{_DATES.day(date)}</time>'


def _place_of(entry_id: str) -> str:
    return f"#e{safe_id(entry_id)}"


def _article(post: ExportPost, posts: Posts, media: Media, bodies: BodyWriter) -> str:
    report_bodies(post, posts.report)
    lead = collapse(post.record.more_title)
    facts = " · ".join(filter(None, [_day(post.record.date), *map(escape, post_facts(post))]))
    parts = [
        f'<article class="bound" id="e{safe_id(post.id)}">',
        f'<header class="title">\n<p class="when">{facts}</p>\n<h2>{_title(post)}</h2>\n</header>',
        f'<div class="body">{_opening(post, media, bodies)}{_body(post.record.body, post, media, bodies)}</div>',
        f"<h3>{escape(lead)}</h3>" if lead else "",
        f'<div class="body">{_body(post.record.more, post, media, bodies)}</div>' if post.record.more else "",
        _comments(post, bodies) if post.comments else "",
        "</article>",
        "",
    ]
    article = visible_xml("\n".join(parts)).text
    _account(
        post, media, posts.report, {place[1] for pattern in (_PLACE, _LINK) for place in pattern.finditer(article)}
    )
    return article


def _body(source: str, post: ExportPost, media: Media, bodies: BodyWriter) -> str:
    """Return a body whose linked ids are unique to its entry: many entries have a ``fn1``.

    Wide parts can be scrolled with the keyboard, because no script checks their width.
    """
    html = bodies.html(source, "", media.places(post), colours=True)
    place = _place_of(post.id)

    def in_tag(tag: re.Match[str]) -> str:
        own = tag[0].replace(f' id="{ID_PREFIX}', f' id="{place[1:]}-')
        if own.startswith(_SCROLLING):
            own = f'{own[:-1]} tabindex="0">'
        return own.replace(f' href="#{ID_PREFIX}', f' href="{place}-')

    return _TAG.sub(in_tag, html)


def _account(post: ExportPost, media: Media, report: Report, paths: Container[str]) -> None:
    """Report a post's pictures and files, given the archive paths that the page embeds or links."""
    written = set()
    for picture in media.pictures(post):
        if picture.source in paths:
            written.add(picture.name)
        elif picture.source is not None and not (_ending(picture.source) in _TYPES or openable(picture.source)):
            report.picture(picture.asset.url, Reason.ACTIVE_FILE, referred=True)
    media.account(post, Reason.NOT_SHOWN, written=written, referred=False)


def _opening(post: ExportPost, media: Media, bodies: BodyWriter) -> str:
    """Return a post's summary, and its featured picture unless its text shows it too."""
    excerpt = escape(collapse(rough_text(post.record.excerpt)), quote=False)
    opening = f"<p>{excerpt}</p><hr>" if excerpt else ""
    found = media.featured(post)
    if found is None or found.name in {each.name for each in media.shown(post)}:
        return opening
    alt = (found.info.alt or found.info.title or "") if found.info is not None else ""
    image = f'<p><img src="{escape(post.record.featured)}" alt="{escape(collapse(alt))}"></p>'
    return f"{opening}{bodies.html(image, '')}"


def _comments(post: ExportPost, bodies: BodyWriter) -> str:
    """Return the comments, with the answers to each one in a list of their own."""
    rows: list[str] = []
    before = 0
    for each in post.threads():
        level = min(each.level, before + 1, _MAX_LEVEL)
        if level > before:
            rows.append('<ol class="replies">')
        elif rows:
            rows.append("</li>" + "\n</ol>\n</li>" * (before - level))
        rows.append(_comment(each, bodies))
        before = level
    rows.append("</li>" + "\n</ol>\n</li>" * before)
    heading = t("Comments ({n})", n=len(post.comments))
    return f'<section class="comments">\n<h3>{heading}</h3>\n<ol>\n{chr(10).join(rows)}\n</ol>\n</section>'


def _comment(threaded: ThreadedPostComment, bodies: BodyWriter) -> str:
    """Return a comment whose element the caller ends."""
    found = threaded.found
    comment = found.comment
    name = escape(collapse(comment.name))
    url = commenter_link(comment.url) or ""
    shown = f'<a href="{escape(url)}" rel="nofollow noopener noreferrer">{name or escape(url)}</a>' if url else name
    marks = (escape(mark, quote=False) for mark in comment_marks(comment, threaded.answers))
    head = " · ".join(filter(None, [shown, _day(comment.date), *marks]))
    title = escape(collapse(comment.title), quote=False)
    said = f'<p class="subject">{title}</p>\n' if title else ""
    body = f'<div class="body">{bodies.html(comment.text, "")}</div>'
    return f'<li class="comment">\n<p class="by">{head}</p>\n{said}{body}'


def _with_pictures(html: str) -> Iterator[bytes | Inline]:
    """Replace the paths of pictures by their content; only tags have paths, because the text's ``<`` is escaped."""
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
    return escape(visible_xml(post.title).text) or t("(untitled)")


FORMAT: Final = Format(
    message("people: one page to print, with the pictures in it; it loads nothing"),
    export,
    media=False,
    titled=True,
    shows=Comments.BODY,
    holds=FOR_READERS - {Part.PAGE, Part.ADDRESS},
)
