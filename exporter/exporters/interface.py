"""The interface between an archive and what is made of it: records in, files to write out.

A :class:`View` is rebuilt beside the archive whenever it changes; an :class:`Exporter` is run once, on request, for a
place to move to. Neither touches the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

from exporter.model.kinds import Kind

if TYPE_CHECKING:
    import sqlite3

    from exporter.exporters.options import ExportOptions
    from exporter.exporters.posts import Posts
    from exporter.exporters.report import Report


@dataclass(frozen=True, slots=True)
class ViewFile:
    """One file of a view.

    Attributes:
        path: relative to the view's folder, with forward slashes.
        fingerprint: 32 bytes that change whenever the content would, so that an unchanged file need not be rendered.
        render: makes the content.
    """

    path: str
    fingerprint: bytes
    render: Callable[[], bytes]


class RecordSource(Protocol):
    """One state of an archive, as views read it; records come from disk on demand."""

    @property
    def blog_id(self) -> str:
        """The blog's id, its domain."""

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids of all records of a kind, by :func:`~exporter.model.kinds.sort_key`."""

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return 32 bytes that change with the record; ``None`` when there is no such record."""

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a record's raw object; ``None`` when there is no such record."""

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the id and raw object of every record of a kind, in the order of :meth:`ids`."""


class View(Protocol):
    """Something people read, made from records only: the same records give the same files, byte for byte."""

    @property
    def name(self) -> str:
        """The view's folder."""

    def files(self, records: RecordSource) -> Iterable[ViewFile]:
        """Yield every file of the view; files of the folder that are not among them are no longer part of it."""


@dataclass(frozen=True, slots=True)
class Inline:
    """A file of the archive in base64, in the middle of a file of the export; ``source`` is relative to the archive."""

    source: str


@dataclass(frozen=True, slots=True)
class Content:
    """A file of an export, made while it is written.

    Attributes:
        path: relative to the export's folder, with forward slashes.
        chunks: the content; to be read to its end before the next file is asked for.
        stored: whether it stays as it is where it is a member of a ZIP.
    """

    path: str
    chunks: Iterable[bytes | Inline]
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A file of an export that the archive holds already.

    Attributes:
        path: relative to the export's folder.
        source: relative to the archive.
    """

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A ZIP file.

    Attributes:
        path: relative to the export's folder.
        members: the files in it, in their order, their paths relative to its root.
        large: whether a member may pass 2 GiB, which takes fields that some readers of ZIP files do not know.
    """

    path: str
    members: Iterable[Content | Copy]
    large: bool = True


@dataclass(frozen=True, slots=True)
class Database:
    """An SQLite file.

    Attributes:
        path: relative to the export's folder.
        build: fills a new database.
    """

    path: str
    build: Callable[[sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class Filled:
    """A file that a library writes.

    Attributes:
        path: relative to the export's folder.
        fill: writes the content, from its beginning to its end.
    """

    path: str
    fill: Callable[[BinaryIO], None]


@dataclass(frozen=True, slots=True)
class Whole:
    """Every file the archive is made of, without what runs keep for themselves.

    Attributes:
        folder: what they are copied into, relative to the export's folder.
    """

    folder: str


class WrittenFile(NamedTuple):
    """A file of an export: its path in the export's folder, its bytes, its SHA-256 in hexadecimal."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A file about the files that were written before it.

    Attributes:
        path: relative to the export's folder.
        chunks: makes the content from these files, in their order.
    """

    path: str
    chunks: Callable[[Sequence[WrittenFile]], Iterable[bytes]]


ExportFile = Content | Copy | Packed | Database | Filled | Whole | Summary


class Exporter(Protocol):
    """A format: the same posts and options give the same files, byte for byte, in memory that does not grow with them.

    Every post is reported with :meth:`~exporter.exporters.report.Report.wrote` once it is in a file, and whatever had
    to be changed for the target with :meth:`~exporter.exporters.report.Report.changed`.
    """

    def __call__(self, posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
        """Yield the files."""


class WholeExporter(Protocol):
    """A format that takes the archive as it stands: nothing is chosen, so what is private is in it."""

    def __call__(self, records: RecordSource, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
        """Yield the files."""
