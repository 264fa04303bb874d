"""A book for e-readers (EPUB 3), the oldest post first: one for the whole blog, or one for each year. Pure.

The chapters are written as the posts are read; the table of contents, the cover and the list of files come last,
because they depend on all chapters.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date
from hashlib import sha256
from itertools import chain, groupby
from math import sqrt
from typing import Final, NamedTuple

from exporter.export.book_cover import chosen_picture
from exporter.export.epub_chapter import FOREIGN, BookLinks, BookPages, chapter_name
from exporter.export.epub_pages import page_id, with_page_breaks
from exporter.export.epub_xhtml import FOLD
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, Copy, ExportFile, Packed
from exporter.export.media import Media
from exporter.export.parts import FOR_READERS, Part
from exporter.export.post_html import report_bodies
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.html.text import collapse
from exporter.message import message
from exporter.text import visible

_PALETTES: Final = (
    ("#16324f", "#f3e9d2", "#e2725b"),
    ("#23403a", "#f1eedd", "#e0b04c"),
    ("#4a2545", "#f6ece3", "#dd8a70"),
    ("#f4efe6", "#24364b", "#c65d3b"),
    ("#1f2a36", "#ecf0ea", "#7fb7a6"),
    ("#5b2333", "#f7f1e8", "#e9b872"),
)
_WIDTH: Final = 1200
_HEIGHT: Final = 1800
_MARGIN: Final = 130
_CHART_TOP: Final = 820
_CHART_BOTTOM: Final = 1560
_MAX_YEARS: Final = 31
_LARGE_TITLE_WIDTH: Final = 18
_MAX_TITLE_LINES: Final = 4
_BREAKS: Final = frozenset(" .-/")
_LONG_WORD_CHARACTERS: Final = 11


class Line(NamedTuple):
    """A line of the title and its height."""

    text: str
    y: int


class Dot(NamedTuple):
    """A circle, in units of a page of 1,200 to 1,800."""

    x: float
    y: float
    radius: float


class Cover(NamedTuple):
    """A cover's parts: colours, the lines and letter size for the title, and the years.

    ``years`` is empty for a book without entries; ``dots`` has a row for each year, or each month of a single year.
    """

    paper: str
    ink: str
    accent: str
    lines: list[Line]
    size: int
    years: str
    dots: list[Dot]


def cover(title: str, blog_id: str, days: Iterable[date]) -> Cover:
    """Return the cover; the same blog always has the same colours."""
    digest = sha256(blog_id.encode("utf-8", "surrogatepass")).digest()
    paper, ink, accent = _PALETTES[digest[0] % len(_PALETTES)]
    counts = Counter(days)
    years = sorted({each.year for each in counts})
    size = 120 if _width(title) <= _LARGE_TITLE_WIDTH else 88
    texts = _broken(title, (_WIDTH - 2 * _MARGIN) / size * 2)
    lines = [Line(text, 260 + round(size * (1.05 + 1.35 * place))) for place, text in enumerate(texts)]
    span = "" if not years else str(years[0]) if len(years) == 1 else f"{years[0]}–{years[-1]}"
    return Cover(paper, ink, accent, lines, size, span, _dots(counts, years))


def _dots(counts: Counter[date], years: list[int]) -> list[Dot]:
    cells: Counter[tuple[int, int]] = Counter()
    if len(years) == 1:
        rows, columns = 12, 31
        for each, count in counts.items():
            cells[each.month - 1, each.day - 1] += count
    else:
        shown = years[-_MAX_YEARS:]
        rows, columns = len(shown), 12
        for each, count in counts.items():
            if each.year in shown:
                cells[shown.index(each.year), each.month - 1] += count
    most = max(cells.values(), default=1)
    wide, high = (_WIDTH - 2 * _MARGIN) / columns, min(110.0, (_CHART_BOTTOM - _CHART_TOP) / max(rows, 1))
    largest = min(wide, high) * 0.46
    top = _CHART_BOTTOM - rows * high
    return [
        Dot(
            round(_MARGIN + (column + 0.5) * wide, 1),
            round(top + (row + 0.5) * high, 1),
            round(max(largest * sqrt(cells[row, column] / most), 3.0), 1),
        )
        for row in range(rows)
        for column in range(columns)
    ]


def _broken(title: str, room: float) -> list[str]:
    """Break a title into a few lines, between words if possible."""
    lines = [""]
    for word in _pieces(title):
        if lines[-1] and _width(lines[-1] + word.rstrip()) > room:
            lines.append("")
        lines[-1] += word
    shown = [line.strip() for line in lines[:_MAX_TITLE_LINES]]
    return shown if len(lines) <= _MAX_TITLE_LINES else [*shown[:-1], f"{shown[-1][:-1]}…"]


def _pieces(title: str) -> list[str]:
    """Return the pieces between which a line may be broken: words, parts of addresses, and wide characters."""
    pieces = [""]
    for char in title:
        before = pieces[-1][-1:]
        if _is_wide(char) or _is_wide(before) or before in _BREAKS or len(pieces[-1]) > _LONG_WORD_CHARACTERS:
            pieces.append("")
        pieces[-1] += char
    return pieces


def _is_wide(char: str) -> bool:
    return char != "" and unicodedata.east_asian_width(char) in {"W", "F"}


def _width(text: str) -> int:
    """Return a text's width in halves of a wide character."""
    return sum(2 if _is_wide(char) else 1 for char in text)


class _Chapter(NamedTuple):
    file: str
    name: str
    day: date
    pages: range


@dataclass(frozen=True, slots=True)
class _Group:
    """A group in the table of contents: its chapters, which must be read before the next group, and its first page."""

    label: str
    file: str
    chapters: Iterable[_Chapter]


@dataclass(slots=True)
class _Book:
    """A book during writing: its title, its year (0 for all), and its chapters until now."""

    title: str
    year: int
    chapters: list[_Chapter] = field(default_factory=list)

    def opens_year(self, post: ExportPost) -> bool:
        """Return whether a post is the first of its year, in a book of several years."""
        return not self.year and (not self.chapters or self.chapters[-1].day.year != post.when.year)

    def files(self) -> Iterator[str]:
        """Yield the names of the pages in reading order."""
        for year, chapters in groupby(self.chapters, lambda chapter: chapter.day.year):
            if not self.year:
                yield _year_name(year)
            yield from (chapter.file for chapter in chapters)

    def pages(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the address of every page."""
        for chapter in self.chapters:
            yield from ((number, f"{chapter.file}#{page_id(number)}") for number in chapter.pages)


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the book, or the books of the years."""
    return _Binder(posts).books()


class _Binder:
    """Makes the books of one export."""

    def __init__(self, posts: Posts) -> None:
        self._posts = posts
        self._options = posts.options
        self._report = posts.report
        self._media = Media(posts)
        self._pages = BookPages(posts.options)
        self._title = posts.title
        self._author = collapse(posts.author) or posts.blog_id
        self._cover = chosen_picture(posts, self._media)

    def books(self) -> Iterator[ExportFile]:
        """Yield each book as a ZIP whose members are made while it is written."""
        label = self._options.label
        if not self._options.by_year:
            book = _Book(self._title, 0)
            yield Packed(
                f"book-{label}.epub", self._members(book, self._posts.by_date(), self._posts.__contains__), large=False
            )
            return
        years = {post.id: post.when.year for post in self._posts} if self._options.old_urls else {}
        for year, found in groupby(self._posts.by_date(), lambda post: post.when.year):
            book = _Book(f"{self._title} {year}", year)
            holds = {entry_id for entry_id, of_year in years.items() if of_year == year}.__contains__
            yield Packed(f"book-{year:04}-{label}.epub", self._members(book, found, holds), large=False)

    def _members(
        self, book: _Book, posts: Iterable[ExportPost], holds: Callable[[str], bool]
    ) -> Iterator[Content | Copy]:
        links = BookLinks(self._posts, self._media, holds)
        # The media type must be at a fixed offset (OCF 3.2, section 4.3).
        yield Content("mimetype", [b"application/epub+zip"], stored=True)
        yield Content("META-INF/container.xml", [self._plain("container.xml")])
        yield Content("EPUB/style.css", [self._plain("style.css")])
        for post in posts:
            if book.opens_year(post):
                year = post.when.year
                yield Content(f"EPUB/{_year_name(year)}", [self._pages.year(year).text.encode()])
            yield Content(f"EPUB/{chapter_name(post.id)}", [self._chapter(book, post, links)])
            yield from links.members()
        if any(kind in FOREIGN for kind in links.pictures.values()):
            yield Content("EPUB/no-picture.svg", [self._plain("no-picture.svg")])
        yield from self._frame(book, links)

    def _plain(self, template: str, **values: object) -> bytes:
        return self._pages.page(template, **values).text.encode()

    def _chapter(self, book: _Book, post: ExportPost, links: BookLinks) -> bytes:
        report, before = self._report, links.dropped
        page = self._pages.chapter(post, links)
        report_bodies(post, report)
        self._posts.wrote(post)
        for address in links.inline:
            report.picture(address)
        links.inline.clear()
        self._media.account(post, Reason.NO_PICTURE, written=links.pictures, home=links.home)
        report.changed("entries", Reason.NOT_IN_BOOKS, post.id, page.characters)
        report.changed("entries", Reason.LINKS_DROPPED, post.id, links.dropped - before)
        report.changed("entries", Reason.FOLDS_OPENED, post.id, page.text.count(FOLD))
        name = visible(post.title)[0] or self._pages.t("(untitled)")
        first = book.chapters[-1].pages.stop if book.chapters else 1
        text, following = with_page_breaks(page.text, first)
        book.chapters.append(_Chapter(chapter_name(post.id), name, post.when.date(), range(first, following)))
        return text.encode()

    def _frame(self, book: _Book, links: BookLinks) -> Iterator[Content | Copy]:
        """Yield the files about the whole book."""
        t = self._pages.t
        common = {"title": book.title, "author": self._author}
        picture = None if self._cover is None else links.picture(self._cover.asset.url)
        yield from links.members()
        art = cover(book.title, self._posts.blog_id, (chapter.day for chapter in book.chapters))
        if picture is None:
            yield Content("EPUB/cover.svg", [self._plain("cover.svg", cover=art, **common)])
        yield Content("EPUB/cover.xhtml", [self._plain("cover.xhtml", picture=picture or "cover.svg", **common)])
        first = next(self._groups(book), None)
        names = {"contents_label": t("Contents"), "cover_label": t("Cover"), "pages_label": t("Pages")}
        nav = self._plain("nav.xhtml", groups=self._groups(book), first=first, pages=book.pages(), **names)
        yield Content("EPUB/nav.xhtml", [nav])
        scope = f"{self._options.label}/{book.year or 'all'}"
        package = self._plain(
            "package.opf",
            **common,
            identifier=f"tag:{self._posts.blog_id},1970-01-01:book/{scope}",
            blog_id=self._posts.blog_id,
            modified=f"{self._posts.newest().astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            accessibility=t("Pictures have the descriptions that the blog gave them."),
            cover=picture or "cover.svg",
            cover_is_drawn=picture is None,
            paged=bool(book.chapters),
            files=book.files,
            pictures=links.pictures.items(),
            foreign=FOREIGN,
            needs_fallback=any(kind in FOREIGN for kind in links.pictures.values()),
        )
        yield Content("EPUB/package.opf", [package])

    def _groups(self, book: _Book) -> Iterator[_Group]:
        """Yield the contents: by year, or by month in the book of one year."""
        for (year, month), found in groupby(
            book.chapters, lambda chapter: (chapter.day.year, chapter.day.month if book.year else 0)
        ):
            opening = next(found)
            chapters = chain([opening], found)  # noqa: B031  what next() took is put back
            if book.year:
                yield _Group(self._pages.month_name(year, month), opening.file, chapters)
            else:
                yield _Group(self._pages.year_name(year), _year_name(year), chapters)


def _year_name(year: int) -> str:
    return f"year-{year:04}.xhtml"


FORMAT: Final = Format(
    message("e-readers: a book (EPUB 3) with its pictures"),
    export,
    book=True,
    media=False,
    shows=Comments.BODY,
    holds=FOR_READERS - {Part.PAGE, Part.ADDRESS},
)
