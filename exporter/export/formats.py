"""How a format is declared, and the registries with every format and target by name. Pure.

A format's module declares it, and is imported when it is used. The facts about targets are in
:mod:`exporter.export.targets`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from exporter.export.interface import Comments, ExportFile, ExportOptions, RecordSource
from exporter.export.media import POST_NAME
from exporter.export.names import Spelling, wordpress_name
from exporter.export.parts import Part
from exporter.export.posts import Newest, Posts
from exporter.export.report import Report
from exporter.export.targets import TARGETS, Target
from exporter.message import message
from exporter.model.asset import Asset
from exporter.model.kinds import Kind

OfPosts = Callable[[Posts], Iterator[ExportFile]]
"""Makes the files of posts: the same posts and options give the same bytes, in memory that does not grow with them.

Every post is reported with :meth:`~exporter.export.posts.Posts.wrote` once a file contains it, and every change for
the target with :meth:`~exporter.export.report.Report.changed`.
"""

OfArchive = Callable[[RecordSource, ExportOptions, Report], Iterator[ExportFile]]
"""Makes the files for everything in an archive, including private entries."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format; a module of this package declares one as ``FORMAT``.

    Attributes:
        help: the programs that read it, in a few words.
        export: makes it of posts.
        export_archive: makes it of the whole archive instead.
        holds_back: whether it can carry a comment that must not be shown yet.
        drafts: whether what takes it holds a draft back from readers.
        bodies: whether bodies can be Markdown or HTML.
        wordpress: whether WordPress imports it, so that bodies can be in its blocks.
        comments: whether it contains comments by default.
        shows: the default place of comments in a format for readers; ``None`` for any other.
        beside: the folder for files that accompany the pages of a site.
        media: whether it takes the options about the place of pictures.
        pictures: whether it shows entries, and so their pictures or the addresses of these.
        splits: whether it can be several files of a limited size.
        titled: whether it has a title, as books do.
        book: whether it is a book, which has a title, a language and a direction of writing.
        printed: whether its pages have a size.
        target: the target whose limits it keeps.
        names: the spelling of entry names in addresses, if it writes them.
        holds: the parts of the records that it holds; the report counts the others.
    """

    help: str
    export: OfPosts | None = None
    export_archive: OfArchive | None = None
    holds_back: bool = False
    drafts: bool = False
    bodies: bool = False
    wordpress: bool = False
    comments: bool = True
    shows: Comments | None = None
    beside: str = ""
    media: bool = True
    pictures: bool = True
    splits: bool = False
    titled: bool = False
    book: bool = False
    printed: bool = False
    target: Target | None = None
    names: Spelling | None = None
    holds: frozenset[Part] = frozenset()

    @property
    def whole(self) -> bool:
        """Whether it exports the archive unchanged, with everything private."""
        return self.export_archive is not None

    @property
    def mails(self) -> bool:
        """Whether it holds the mail addresses of commenters."""
        return self.comments and Part.EMAIL in self.holds

    def files(
        self, records: RecordSource, options: ExportOptions, report: Report, newest: Newest | None = None
    ) -> Iterator[ExportFile]:
        """Yield the files of an export of these records; with the newest state if these are older."""
        if self.export_archive is not None:
            yield from self.export_archive(records, options, report)
        elif self.export is not None:
            if self.target is not None:
                options = options.aimed_at(self.target)
            options = replace(options, comments=None if self.shows is None else options.comments or self.shows)
            posts = Posts(
                records,
                options,
                report,
                holds_back=self.holds_back,
                newest=newest,
                spelling=self._spelling(options),
                holds=self.holds,
            )
            if self.mails and posts.mails:
                report.tell_mails(posts.mails)
            yield from self.export(posts)
            if options.comments is Comments.SIDECAR:
                # Imported here to load it only if requested.
                yield from importlib.import_module("exporter.export.sidecar").sidecar(posts, self.beside)
        report.count_files((Asset.from_raw(raw) for _, raw in records.scan(Kind.ASSETS)), held=self.pictures)

    def _spelling(self, options: ExportOptions) -> Spelling | None:
        """Return the spelling of names in addresses, also for a named target; ``None`` if the format writes none."""
        if self.names is None and (options.new_url is None or POST_NAME not in options.new_url.fields):
            return None
        aim = None if options.target is None else FORMATS[options.target.form].names
        # Only WordPress holds names in any script, so the other spelling of the two fits both.
        return next((each for each in (self.names, aim) if each not in {None, wordpress_name}), wordpress_name)


class _Formats(Mapping[str, Format]):
    """The formats; looking up their names imports none of them."""

    _modules: Final = {
        "wxr": "wxr",
        "movabletype": "movabletype",
        "blogger-atom": "blogger",
        "ghost": "ghost",
        "sqlite": "sqlite",
        "parquet": "parquet_table",
        "epub": "epub",
        "pdf": "pdf",
        "html": "html_book",
        "atom": "feeds",
        "jsonfeed": "feeds:JSON_FEED",
        "csv": "csv_table",
        "jsonl": "jsonl",
        "redirects": "redirects",
        "bagit": "bagit",
        "hugo": "hugo",
        "jekyll": "jekyll",
        "pelican": "pelican",
        "markdown": "markdown",
    }

    def __getitem__(self, name: str) -> Format:
        module, _, declared = self._modules[name].partition(":")
        found: Format = getattr(importlib.import_module(f"exporter.export.{module}"), declared or "FORMAT")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


WACZ: Final = "wacz"
"""The name of the format of captures; it holds no records, so it is not among :data:`FORMATS`."""

FORMATS: Final = _Formats()
"""Every format by its name."""


class _Named(Mapping[str, Format]):
    """The formats and the targets; a target is its format with limits."""

    def __getitem__(self, name: str) -> Format:
        target = TARGETS.get(name)
        if target is None:
            return FORMATS[name]
        return replace(
            FORMATS[target.form], help=message("{title} ({form})", title=target.title, form=target.form), target=target
        )

    def __iter__(self) -> Iterator[str]:
        yield from FORMATS
        yield from TARGETS

    def __len__(self) -> int:
        return len(FORMATS) + len(TARGETS)


NAMED: Final = _Named()
"""Every format and every target by its name."""
