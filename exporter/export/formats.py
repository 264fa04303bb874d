"""The formats and the known targets: what each is for, and where its module is. Pure."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from exporter.export.interface import Exporter, ExportFile, ExportOptions, RecordSource, WholeExporter
from exporter.export.posts import Newest, Posts
from exporter.export.report import Report


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        module: the module below ``exporter.export`` whose ``export`` makes it.
        help: what takes it, in a few words.
        holds_back: whether it can carry a comment that must not be shown yet.
        drafts: whether what takes it holds a draft back from readers.
        bodies: whether bodies can be Markdown or HTML.
        comments: whether it carries comments at all.
        of_posts: whether it is made of posts; otherwise of the archive as a whole, or of addresses.
        streams: whether entries are written while they are read.
        whole: whether it takes the archive as it stands, with all that is private.
        book: whether it is a book, which has a title, a language and a direction of writing.
        media: whether pictures can be in a folder beside it, or at an address of one's own.
        splits: whether it can be split into files of a largest size.
        targets: the services with known limits that read it.
    """

    module: str
    help: str
    holds_back: bool = False
    drafts: bool = False
    bodies: bool = False
    comments: bool = True
    of_posts: bool = True
    streams: bool = True
    whole: bool = False
    book: bool = False
    media: bool = True
    splits: bool = False
    targets: tuple[str, ...] = ()

    def load(self) -> Exporter:
        """Import the format's module and return its exporter; it must be made of posts."""
        return cast("Exporter", self._export())

    def files(
        self, records: RecordSource, options: ExportOptions, report: Report, newest: Newest | None = None
    ) -> Iterator[ExportFile]:
        """Yield the files of an export of these records; with the newest state where these are older."""
        if self.whole:
            return cast("WholeExporter", self._export())(records, options, report)
        posts = Posts(records, options, report, holds_back=self.holds_back, newest=newest)
        return self.load()(posts, options, report)

    def _export(self) -> object:
        return importlib.import_module(f"exporter.export.{self.module}").export


FORMATS: Final[dict[str, Format]] = {
    "wxr": Format("wxr", "WordPress, Hatena (WXR 1.2)", holds_back=True, drafts=True, splits=True, targets=("hatena",)),
    "movabletype": Format(
        "movabletype",
        "Hatena, livedoor, Ameba, FC2, Seesaa, WordPress (MT import format)",
        drafts=True,
        splits=True,
        targets=("hatena",),
    ),
    "ghost": Format("ghost", "Ghost: a ZIP with its JSON and the pictures", drafts=True),
    "sqlite": Format("sqlite", "Datasette and SQL: tables with full-text search", streams=False),
    "parquet": Format("parquet", "DuckDB, pandas and other programs: two tables in Parquet", streams=False),
    "epub": Format("epub.book", "e-readers: a book (EPUB 3) with its pictures", book=True, media=False),
    "html": Format("book", "people: one page to print, with the pictures in it; it loads nothing", media=False),
    "atom": Format("atom", "feed readers, and whatever reads Atom 1.0", comments=False, splits=True),
    "jsonfeed": Format("jsonfeed", "feed readers, and whatever reads JSON Feed 1.1", comments=False),
    "csv": Format("table", "Excel and other spreadsheets: a row for each entry", comments=False, media=False),
    "jsonl": Format("jsonl", "programs: a flat JSON object on each line"),
    "redirects": Format(
        "redirects", "nginx, Apache, Netlify: old addresses to new ones", comments=False, of_posts=False, media=False
    ),
    "bagit": Format(
        "bagit", "libraries and vaults: the whole archive as a bag (RFC 8493)", of_posts=False, whole=True, media=False
    ),
    "hugo": Format("hugo", "Hugo: page bundles with their pictures", drafts=True, bodies=True),
    "jekyll": Format("jekyll", "Jekyll, GitHub Pages", drafts=True, bodies=True),
    "pelican": Format("pelican", "Pelican", drafts=True, bodies=True),
    "markdown": Format("plain", "Eleventy, Astro and others: Markdown with front matter", drafts=True, bodies=True),
}
"""Every format by its name."""


@dataclass(frozen=True, slots=True)
class Target:
    """The known limits of a service's import: the most entries and bytes in one file."""

    max_entries: int
    max_bytes: int


TARGETS: Final[dict[str, Target]] = {
    # Files must stay under 5,000 entries and under 100 MB, or the import stops half way.
    "hatena": Target(4_999, 99_000_000),
}
