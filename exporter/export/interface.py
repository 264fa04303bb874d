"""The input, options and output files of an export; paths are relative to its folder. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Protocol

from exporter.arguments import fit_fields, wrong
from exporter.errors import UsageError
from exporter.export.targets import Target
from exporter.html.links import AddressPattern
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.service.registry import DEFAULT_SERVICE
from exporter.setting_types import OneOf, WholeNumber, accepted

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path


class Side(StrEnum):
    """The entries of an export; no file ever contains entries of two sides."""

    PUBLIC = "public"
    REST = "private"
    """All others: private entries, and drafts unless they have a separate side."""
    DRAFTS = "drafts"
    """Entries that are not private, if every entry becomes a draft; then no entry is public."""


class Comments(StrEnum):
    """The place of comments in an export for readers."""

    BODY = "body"
    """Below the entry."""
    SIDECAR = "sidecar"
    """In separate files, for a script or a service that shows them."""
    NONE = "none"


class Paper(StrEnum):
    """The size of a printed book's pages."""

    A5 = "a5"
    """148 by 210 mm."""
    B6 = "b6"
    """128 by 182 mm, the Japanese size."""


class Preset(StrEnum):
    """Target program of a Markdown export."""

    PLAIN = "plain"
    ASTRO = "astro"
    ELEVENTY = "eleventy"
    OBSIDIAN = "obsidian"


_MAX_LIMIT: Final = 10**15
_RULES: Final[dict[str, Callable[[str], Any]]] = {
    "body": OneOf("markdown", "html"),
    "wordpress_body": OneOf("html", "blocks", "plain"),
    "max_entries": WholeNumber(0, _MAX_LIMIT),
    "max_bytes": WholeNumber(0, _MAX_LIMIT),
}


def check_days(since: date | None, until: date | None) -> None:
    """Refuse two days between which there is no day.

    Raises:
        UsageError: names them.
    """
    if since is not None and until is not None and since > until:
        raise UsageError(
            "No day is both in --since {since} and in --until {until}; swap them.", since=since, until=until
        )


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of one export.

    Raises:
        UsageError: a field has another type, or a value that its option refuses. The message names the field.

    Attributes:
        declared: the owner's declarations about the flags.
        side: which entries.
        as_of: when the version was read, also the export's own date; the clock is not read.
        since: the first day, by the entry's date.
        until: the last day.
        category: entries need this name among their categories.
        tag: entries need this tag.
        hidden_comments: also write comments that are not visible, if the target can hold them back.
        body: ``markdown`` or ``html``, for formats with a choice.
        wordpress_body: the form of bodies for WordPress: ``html``, one block that shows them unchanged; ``blocks``, for
            its block editor; ``plain``, for homes
            without blocks. Empty for the target's default; the default target is WordPress.
        media_base_url: the future folder address for pictures, with a final slash.
        media_folder: whether the pictures are written into the export.
        max_entries: the most entries in a file; 0 for no limit.
        max_bytes: the most bytes in a file; 0 for no limit.
        without_addresses: whether the mail addresses of commenters stay out of formats that hold them.
        old_urls: how the addresses of the old blog's entries are made.
        new_url: how those of the new home are made.
        title: the title of a book; by default the blog's id.
        language: the language of a book (BCP 47).
        by_year: whether each year becomes a separate book.
        vertical: whether a book's lines run from top to bottom.
        paper: the size of a printed book's pages; ``None`` for A5.
        cover: a picture for a book's cover, by its address or by an entry's id; then the entry's first picture is used.
        comments: the place of comments in formats with a choice; ``None`` for the default of the format.
        preset: target program of a Markdown export.
        target: the service whose limits apply, if one is named.
        service: reads the records.
    """

    declared: Declared = field(default_factory=Declared)
    side: Side = Side.PUBLIC
    as_of: datetime | None = None
    since: date | None = None
    until: date | None = None
    category: str | None = None
    tag: str | None = None
    hidden_comments: bool = False
    body: str = "markdown"
    wordpress_body: str = ""
    media_base_url: str = ""
    media_folder: bool = False
    max_entries: int = 0
    max_bytes: int = 0
    without_addresses: bool = False
    old_urls: tuple[AddressPattern, ...] = ()
    new_url: AddressPattern | None = None
    title: str = ""
    language: str = "ja"
    by_year: bool = False
    vertical: bool = False
    paper: Paper | None = None
    cover: str = ""
    comments: Comments | None = None
    preset: Preset = Preset.PLAIN
    target: Target | None = None
    service: Records = DEFAULT_SERVICE

    def __post_init__(self) -> None:
        fit_fields(self)
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in _RULES and value != each.default:
                try:
                    accepted(_RULES[each.name], value)
                except ValueError as error:
                    raise wrong(each.name, value, error) from None
        if self.as_of is not None and self.as_of.tzinfo is None:
            raise wrong("as_of", self.as_of, ValueError(message("a time with a time zone is expected")))
        check_days(self.since, self.until)

    def aimed_at(self, target: Target) -> ExportOptions:
        """Return options with a target's limits, unless the user gave others."""
        return replace(
            self,
            target=target,
            max_entries=self.max_entries or target.max_entries,
            max_bytes=self.max_bytes or target.max_bytes,
        )

    @property
    def body_style(self) -> str:
        """How a target gets bodies that may be WordPress: as ``wordpress_body`` says."""
        return self.wordpress_body or ("html" if self.target is None or self.target.blocks else "plain")

    @property
    def label(self) -> str:
        """The side's name in file names, so that the wrong file is not published by mistake."""
        if self.side is Side.REST:
            return "NOT-PUBLIC"
        return f"{self.side}-with-hidden-comments" if self.hidden_comments else str(self.side)


@dataclass(frozen=True, slots=True)
class RemotePage:
    """The call by which another process renders a page; all parts can be pickled.

    Attributes:
        around: the object that all pages of a view share; it is sent once.
        call: a module's function. It gets ``around`` and the parts, and returns plain values; see
            :mod:`exporter.worker`.
        parts: reads the records of the page when it is sent.
        finish: makes the content from the function's result.
    """

    around: Any
    call: Callable[..., Any]
    parts: Callable[[], tuple[Any, ...]]
    finish: Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class ViewFile:
    """One file of a view.

    Attributes:
        path: relative to the view's folder, with forward slashes.
        fingerprint: 32 bytes that change whenever the content would, so that an unchanged file need not be rendered.
        render: makes the content.
        remote: how another process can make it; ``None`` if only this one can.
    """

    path: str
    fingerprint: bytes
    render: Callable[[], bytes]
    remote: RemotePage | None = None


class RecordSource(Protocol):
    """One state of an archive as views read it; records are read from disk on demand."""

    @property
    def blog_id(self) -> str:
        """The blog's id, its domain."""

    @property
    def names(self) -> Mapping[str, str]:
        """The first id of the blog by each later one, oldest first."""

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids for all records of a kind ordered by :func:`~exporter.model.kinds.sort_key`."""

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return 32 bytes that change with the record; ``None`` if there is no such record."""

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a record's raw object; ``None`` if there is no such record."""

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the id and raw object for every record of a kind in the order of :meth:`ids`."""


@dataclass(frozen=True, slots=True)
class Inline:
    """A file from the archive in base64, inside a file of the export; ``source`` is relative to the archive."""

    source: str


@dataclass(frozen=True, slots=True)
class Content:
    """A file made while it is written.

    Attributes:
        path: with forward slashes.
        chunks: the content, which must be read to its end before the next file is requested.
        stored: whether it stays uncompressed as a member of a ZIP.
    """

    path: str
    chunks: Iterable[bytes | Inline]
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that the archive holds already; ``source`` is relative to the archive."""

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A ZIP file of members in their order; only with ``large`` may one pass 2 GiB, which not all readers know."""

    path: str
    members: Iterable[Content | Copy]
    large: bool = True


@dataclass(frozen=True, slots=True)
class Database:
    """An SQLite file; ``build`` fills a new database."""

    path: str
    build: Callable[[sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class Filled:
    """A file that a library writes, from its beginning to its end."""

    path: str
    fill: Callable[[BinaryIO], None]


@dataclass(frozen=True, slots=True)
class Typeset:
    """A PDF that is set from pages and pictures.

    Attributes:
        path: with forward slashes.
        members: ``body.html``, the pictures in ``media``, ``front.html`` and ``style.css``, in this order, as
            :mod:`exporter.typeset` takes them. They are made while the file is written.
        identifier: the same for the same book, and different for any other.
        vertical: whether the lines run from top to bottom.
        missing: called with the id of each article in the body, and the number of its characters that no font has.
    """

    path: str
    members: Iterable[Content | Copy]
    identifier: str
    vertical: bool
    missing: Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class ArchiveCopy:
    """A folder with the archive's files, except for ``.work/`` and other derived files."""

    folder: str


class WrittenFile(NamedTuple):
    """A file that was written: its path, its bytes, its SHA-256 in hexadecimal."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A file about the files that were written before it, made of these in their order."""

    path: str
    chunks: Callable[[Sequence[WrittenFile]], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A file that the export being replaced has already.

    Attributes:
        source: the file.
        file: as that export wrote it.
    """

    source: Path
    file: WrittenFile

    @property
    def path(self) -> str:
        """The path, with forward slashes."""
        return self.file.path


ExportFile = Content | Copy | Packed | Database | Filled | Typeset | ArchiveCopy | Summary | Unchanged
