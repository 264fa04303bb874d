"""One row for each entry, for spreadsheets: CSV that Excel opens as UTF-8, without cells that Excel would run. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from exporter.export.formats import Format
from exporter.export.interface import Content, ExportFile
from exporter.export.media import Media, new_address, old_addresses
from exporter.export.parts import EVERYTHING
from exporter.export.posts import ExportPost, Posts, shown_path
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.html.embedded import Use, embedded
from exporter.html.ready import ready
from exporter.html.text import text_of
from exporter.html.tree import too_large
from exporter.message import message
from exporter.text import visible

COLUMNS: Final = (
    "entry_id", "date", "title", "category", "status", "url", "new_url", "characters", "pictures", "comments",
    "last_update", "name", "text",
    "kind", "audience", "categories", "tags", "author", "permalink", "excerpt", "featured",
)  # fmt: skip
CELL_CHARACTERS: Final = 32_767
"""What Excel reads of a cell."""

_FORMULA = re.compile(r"[\s\x00-\x20\ufeff\u200b\u3000]*[=+\-@|%＝＋－＠]|[\t\r\n]")
_BOM: Final = b"\xef\xbb\xbf"
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"<br[^<>]*>|</p\s*>", re.IGNORECASE)


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield one file; its lines end as Excel wants them."""
    yield Content(f"entries-{posts.options.label}.csv", _rows(posts))


def _rows(posts: Posts) -> Iterator[bytes]:
    yield _BOM + _row(list(COLUMNS))
    media = Media(posts)
    for post in posts:
        media.account(post, Reason.NO_PICTURES, referred=False, links=False)
        cells = [_safe(cell, post, posts.report) for cell in _cells(post, posts)]
        posts.wrote(post, 0)
        posts.leave_comments(post, Reason.ROWS_OF_ENTRIES)
        yield _row(cells)


def _cells(post: ExportPost, posts: Posts) -> list[str]:
    entry = post.record
    text = rough_text(f"{entry.body}\n{entry.more_title}\n{entry.more}")
    shown = sum(found.use is Use.SHOWN for body in (entry.body, entry.more) for found in embedded(ready(body)))
    return [
        post.id,
        "" if entry.date is None else f"{entry.date:%Y-%m-%d %H:%M:%S}",
        post.title,
        post.category,
        str(post.status),
        next(old_addresses(post, posts.options), ""),
        new_address(posts, post.id) or "",
        str(len(text)),
        str(shown),
        str(len(post.comments)),
        "" if entry.updated is None else f"{entry.updated:%Y-%m-%d %H:%M:%S}",
        entry.slug,
        text,
        str(entry.kind),
        str(entry.audience or ""),
        "; ".join(map(shown_path, post.categories)),
        "; ".join(post.tags),
        post.author,
        entry.permalink,
        rough_text(entry.excerpt),
        entry.featured,
    ]


def rough_text(html: str) -> str:
    """Return the text of HTML with a line end after each break and paragraph; good enough to search and count."""
    if too_large(html):
        return text_of(html)
    text = unescape(_TAG.sub("", _BREAK.sub("\n", html)))
    return "\n".join(filter(None, map(str.strip, text.splitlines())))


def _safe(cell: str, post: ExportPost, report: Report) -> str:
    """Return a cell that is text to a spreadsheet: a text that looks like a formula gets an apostrophe."""
    text, replaced = visible(cell.replace("\r\n", "\n").replace("\r", "\n"))
    report.changed("entries", Reason.NOT_IN_TEXT, post.id, replaced)
    if _FORMULA.match(text) and not text.removeprefix("-").isdecimal():
        report.changed("entries", Reason.FORMULA, post.id)
        text = f"'{text}"
    if len(text) > CELL_CHARACTERS:
        report.changed("entries", Reason.CELL_CUT.at(CELL_CHARACTERS), post.id)
        text = text[:CELL_CHARACTERS]
    return text


def _row(cells: list[str]) -> bytes:
    quoted = (cell.replace('"', '""') for cell in cells)
    return ",".join(f'"{cell}"' for cell in quoted).encode() + b"\r\n"


FORMAT: Final = Format(
    message("Excel and other spreadsheets: a row for each entry"),
    export,
    comments=False,
    media=False,
    holds=EVERYTHING,
)
