"""A book to print (PDF), the oldest post first: one for the whole blog, or one for each year. Pure.

A book that would be too thick to bind is divided into volumes. So no part of the program holds more than one of them.
The pages are HTML with the parts of printed books: half-title, title page, contents, a page for each year, the
entries, and a colophon. :mod:`exporter.typeset` sets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

from exporter.export.book_cover import chosen_picture
from exporter.export.epub_chapter import BookPages
from exporter.export.epub_xhtml import FOLD
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, Copy, ExportFile, Paper, Typeset
from exporter.export.media import Media, PostPicture
from exporter.export.names import plain_id
from exporter.export.parts import FOR_READERS, Part
from exporter.export.pdf_chapter import PrintLinks, is_simple, only_paragraphs, printed, weight
from exporter.export.post_html import report_bodies
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.html.text import collapse
from exporter.message import message
from exporter.text import visible

_MAX_PAGES: Final = 400
"""The most pages in a volume, by their expected number: a thicker book is hard to bind and to hold."""


class _Measures(NamedTuple):
    """A page's sizes in millimetres: the letter, the pitch of lines, how many of each, and the margins.

    ``inner`` is the margin at the spine, ``outer`` the one at the fore edge.
    """

    width: float
    height: float
    letter: float
    pitch: float
    characters: int
    lines: int
    inner: float
    outer: float
    top: float
    bottom: float


def _measures(paper: Paper, *, vertical: bool) -> _Measures:
    """Return the sizes of a page: the outer margin and the bottom margin take the rest."""
    width, height, letter, pitch, characters, lines, inner, top = (_VERTICAL if vertical else _HORIZONTAL)[paper]
    along, across = letter * characters, pitch * lines
    wide, high = (across, along) if vertical else (along, across)
    outer, bottom = round(width - inner - wide, 3), round(height - top - high, 3)
    return _Measures(width, height, letter, pitch, characters, lines, inner, outer, top, bottom)


_HORIZONTAL: Final[dict[Paper, tuple[float, float, float, float, int, int, float, float]]] = {
    Paper.A5: (148, 210, 3.25, 5.7, 35, 28, 18, 24),
    Paper.B6: (128, 182, 3.125, 5.4, 31, 25, 16.5, 22.5),
}
_VERTICAL: Final[dict[Paper, tuple[float, float, float, float, int, int, float, float]]] = {
    Paper.A5: (148, 210, 3.25, 6.0, 50, 18, 20, 23),
    Paper.B6: (128, 182, 3.125, 5.7, 44, 16, 18.5, 21),
}


class _Line(NamedTuple):
    """A line of the contents."""

    place: str
    name: str
    day: date


@dataclass(slots=True)
class _Volume:
    """A volume while it is made: its title, its year (0 for all), its number, and its entries until now."""

    title: str
    year: int
    number: int
    first: ExportPost
    lines: list[_Line] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    comments: int = 0
    is_last: bool = True


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the book's volumes, or those of the books of the years."""
    return _Printer(posts).volumes()


class _Printer:
    """Makes the volumes of one export."""

    def __init__(self, posts: Posts) -> None:
        self._posts = posts
        self._options = posts.options
        self._report = posts.report
        self._media = Media(posts)
        self._pages = BookPages(posts.options, "pdf")
        self._title = posts.title
        self._author = collapse(posts.author) or posts.blog_id
        self._cover: PostPicture | None = chosen_picture(posts, self._media)

    def volumes(self) -> Iterator[ExportFile]:
        """Yield each volume; its members are made while it is written."""
        for year, found in groupby(self._posts.by_date(), lambda post: post.when.year if self._options.by_year else 0):
            left = iter(found)
            number, first = 1, next(left, None)
            while first is not None:
                title = f"{self._title} {year}" if year else self._title
                volume = _Volume(title, year, number, first)
                following: list[ExportPost] = []
                label = "-".join(filter(None, [f"{year:04}" if year else "", self._options.label]))
                name = f"book-{label}{f'-{number}' if number > 1 else ''}.pdf"
                scope = f"{label}/{number}"
                yield Typeset(
                    name,
                    self._members(volume, left, following),
                    f"tag:{self._posts.blog_id},1970-01-01:pdf/{scope}",
                    self._options.vertical,
                    partial(self._note_missing_letters, volume.ids),
                )
                number, first = number + 1, next(iter(following), None)

    def _note_missing_letters(self, ids: Mapping[str, str], place: str, times: int) -> None:
        """Report that an entry has letters that no installed font has; ``ids`` maps its place in the book to its ID."""
        self._report.changed("entries", Reason.NO_GLYPH, ids[place], times)

    def _members(
        self, volume: _Volume, left: Iterator[ExportPost], following: list[ExportPost]
    ) -> Iterator[Content | Copy]:
        links = PrintLinks(self._posts, self._media, self._posts.__contains__)
        yield Content("body.html", self._body(volume, left, following, links))
        yield from links.prints()
        yield Content("front.html", self._front(volume, links))
        yield from links.prints()
        measures = _measures(self._options.paper or Paper.A5, vertical=self._options.vertical)
        yield Content("style.css", [self._page("style.css", page=measures)])

    def _page(self, template: str, **values: object) -> bytes:
        return self._pages.page(template, **values).text.encode()

    def _body(
        self, volume: _Volume, left: Iterator[ExportPost], following: list[ExportPost], links: PrintLinks
    ) -> Iterator[bytes]:
        """Yield the entries until the volume is full; the next one goes into ``following``."""
        yield self._page("body.html", title=volume.title)
        pages, year = 0.0, 0
        posts = self._from(volume.first, left)
        for post in posts:
            if pages and pages > _MAX_PAGES:
                following.append(post)
                volume.is_last = False
                break
            if not volume.year and post.when.year != year:
                year = post.when.year
                yield self._page("year.html", year_label=self._pages.spelt(self._pages.year_name(year)))
            chapter = self._chapter(volume, post, links)
            pages += weight(chapter)
            yield chapter.encode()
        yield self._colophon(volume)

    @staticmethod
    def _from(first: ExportPost, left: Iterator[ExportPost]) -> Iterator[ExportPost]:
        yield first
        yield from left

    def _chapter(self, volume: _Volume, post: ExportPost, links: PrintLinks) -> str:
        report, before = self._report, links.dropped
        page = self._pages.chapter(post, links)
        report_bodies(post, report)
        text = page.text
        if not is_simple(text):
            text = only_paragraphs(text)
            report.changed("entries", Reason.ONLY_TEXT, post.id)
        self._posts.wrote(post)
        for address in links.inline:
            report.picture(address)
        links.inline.clear()
        self._media.account(post, Reason.NO_PICTURE, written=links.pictures, home=links.home)
        report.changed("entries", Reason.NOT_IN_BOOKS, post.id, page.characters)
        report.changed("entries", Reason.LINKS_DROPPED, post.id, links.dropped - before)
        report.changed("entries", Reason.FOLDS_OPENED, post.id, page.text.count(FOLD))
        place = plain_id(post.id)
        volume.lines.append(_Line(f"e{place}", visible(post.title)[0] or self._pages.t("(untitled)"), post.when.date()))
        volume.ids[f"e{place}"] = post.id
        volume.comments += len(post.comments)
        return printed(text, place, notes_at_foot=not self._options.vertical)

    def _front(self, volume: _Volume, links: PrintLinks) -> Iterator[bytes]:
        t = self._pages.t
        cover = None if self._cover is None else links.picture(self._cover.asset.url)
        yield self._page(
            "front.html",
            title=volume.title,
            author=self._author,
            span=self._span(volume),
            volume=self._volume_name(volume),
            cover=cover,
            contents_label=t("Contents"),
            groups=self._groups(volume.lines, by_month=bool(volume.year)),
        )

    def _volume_name(self, volume: _Volume) -> str:
        """Return the words for one of several volumes; empty for the only one."""
        return "" if volume.number == 1 and volume.is_last else self._pages.t("Volume {n}", n=volume.number)

    def _groups(self, lines: Iterable[_Line], *, by_month: bool) -> Iterator[tuple[str, list[_Line]]]:
        for (year, month), found in groupby(lines, lambda line: (line.day.year, line.day.month if by_month else 0)):
            name = self._pages.month_name(year, month) if by_month else self._pages.year_name(year)
            yield self._pages.spelt(name), list(found)

    def _span(self, volume: _Volume) -> str:
        years = sorted({line.day.year for line in volume.lines})
        return self._pages.spelt(str(years[0]) if len(years) == 1 else f"{years[0]}–{years[-1]}")

    def _colophon(self, volume: _Volume) -> bytes:
        t = self._pages.t
        days = [line.day for line in volume.lines]
        rows = [
            (t("Blog"), f"https://{self._posts.blog_id}/"),
            (t("Author"), self._author),
            (t("Entries"), f"{len(days):,}"),
            (t("Comments"), f"{volume.comments:,}"),
            (t("From"), self._pages.day(days[0])),
            (t("To"), self._pages.day(days[-1])),
        ]
        if self._options.as_of is not None:
            rows.append((t("Archived"), self._pages.day(self._options.as_of.date())))
        names = {"volume": self._volume_name(volume), "note": t("Made from an archive of the blog.")}
        return self._page("colophon.html", title=volume.title, rows=rows, **names)


FORMAT: Final = Format(
    message("print: a book (PDF) in A5 or B6 with its pictures"),
    export,
    book=True,
    printed=True,
    media=False,
    shows=Comments.BODY,
    holds=FOR_READERS - {Part.PAGE, Part.ADDRESS},
)
