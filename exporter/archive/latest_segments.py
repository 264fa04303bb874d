"""The six files of ``latest/``, with the rows that stand for their lines: a state, and what changes it, in one pass."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter.archive import atomic
from exporter.archive.ids import key_of_id, precedes
from exporter.archive.latest_rows import RowsWriter, read_rows
from exporter.archive.layout import segment_name
from exporter.archive.lines import as_latest, latest_head, put_head
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged, BlogExporterError
from exporter.message import message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.archive.ids import Key
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

Stamp = tuple[int, int]
"""A file's size in bytes and its time of change in nanoseconds. (The inode's own time changes with every link.)"""


def stamp_of(stat: os.stat_result) -> Stamp:
    """Return a file's stamp."""
    return stat.st_size, stat.st_mtime_ns


class ChangedLine(NamedTuple):
    """A line of a version: of a record that is new or differs, or the tombstone of one that is gone.

    Attributes:
        record_id: the record's id.
        line: the line.
        identity: what the record's states are compared by; ``None`` for a tombstone.
    """

    record_id: str
    line: bytes
    identity: bytes | None


class SegmentFile(NamedTuple):
    """One of the six files: its name, its SHA-256 in hexadecimal, its stamp."""

    name: str
    sha256: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Segments:
    """The six files, written in ``.work/`` and not in their place yet, with the rows of their lines.

    Attributes:
        version: the version they show.
        folder: where they are.
        files: what was written.
        rows: the file of the rows, and its SHA-256.
    """

    version: int
    folder: InnerPath
    files: tuple[SegmentFile, ...]
    rows: tuple[InnerPath, str]

    def move(self, folder: InnerPath) -> Iterator[SegmentFile]:
        """Move the files into a folder, and yield them."""
        for file in self.files:
            (self.folder / file.name).rename(folder / file.name)
            yield file
        self.folder.rmdir()

    def state(self, blog_id: str) -> State:
        """Return the state that they show; it can be read from also when they were moved.

        Raises:
            ArchiveDamaged: they are not there any more.
        """
        state = State(blog_id, self.version)
        if read_rows(*self.rows, state, {kind: state.segments.pin(self.folder / segment_name(kind)) for kind in Kind}):
            return state
        state.close()
        raise ArchiveDamaged(message("{folder} was changed while it was in use; run rebuild.", folder=self.folder))


class SegmentsWriter:
    """Writes the six files for a state and the changes that a version makes of it, while these go by.

    What fails here is raised at the end, so that a version is written also where ``latest/`` cannot be.

    Args:
        layout: the archive, whose lock the caller holds.
        state: the state before.
        version: the version that makes the changes.
    """

    def __init__(self, layout: Layout, state: State, version: int) -> None:
        self._state = state
        self._version = version
        self._folder = layout.work / "latest.next"
        self._opened = contextlib.ExitStack()
        self._files: list[SegmentFile] = []
        self._failure: OSError | BlogExporterError | None = None
        self._rows_path = layout.work / "latest.new.rows"
        self._attempt(self._open)

    def _attempt(self, step: Callable[..., None], *arguments: Any) -> None:
        """Take a step, unless one failed before."""
        if self._failure is None:
            try:
                step(*arguments)
            except (OSError, BlogExporterError) as error:
                self._failure = error
                self.discard()

    def _open(self) -> None:
        atomic.remove_folder(self._folder)
        atomic.make_folder(self._folder)
        self._rows_file = self._opened.enter_context(atomic.hashing(self._rows_path))
        self._rows = RowsWriter(self._rows_file)

    def passing(self, kind: Kind, changes: Iterable[ChangedLine] = ()) -> Iterator[bytes]:
        """Yield the lines of the changes, which come in the order of ids, and write the file of a kind beside."""
        self._attempt(self._begin, kind)
        for change in changes:
            self._attempt(self._take, change)
            yield change.line
        self._attempt(self._end)

    def _begin(self, kind: Kind) -> None:
        self._kind = kind
        self._file = self._opened.enter_context(atomic.hashing(self._folder / segment_name(kind)))
        self._before = self._state.kinds[kind].keys.items()
        self._next = next(self._before, None)

    def _take(self, change: ChangedLine) -> None:
        key = key_of_id(change.record_id)
        while self._next is not None and precedes(self._next[0], key):
            self._keep(*self._next)
        if self._next is not None and self._next[0] == key:
            self._next = next(self._before, None)
        if change.identity is None:
            return
        head = put_head(change.record_id)
        if change.line.startswith(head):
            line = latest_head(change.record_id, self._version) + change.line[len(head) :]
        else:
            line = as_latest(change.line, self._version)
        self._put(key, change.identity, self._version, line)

    def _keep(self, key: Key, row: int) -> None:
        records = self._state.kinds[self._kind]
        line = self._state.latest_line(self._kind, str(key), row)
        self._put(key, records.identity(row), records.version(row), line)
        self._next = next(self._before, None)

    def _put(self, key: Key, identity: bytes, version: int, line: bytes) -> None:
        self._file.write(line)
        self._rows.add(self._kind, key, identity, version, len(line))

    def _end(self) -> None:
        while self._next is not None:
            self._keep(*self._next)
        digest = self._file.close(sync=False)
        path = self._folder / segment_name(self._kind)
        self._files.append(SegmentFile(path.name, digest, stamp_of(path.lstat())))

    def close(self) -> Segments:
        """Finish the files, which are not durable yet.

        Raises:
            OSError, BlogExporterError: something could not be read or written, and there are none.
        """
        if self._failure is not None:
            raise self._failure
        self._rows.flush()
        rows = self._rows_path, self._rows_file.close(sync=False)
        return Segments(self._version, self._folder, tuple(self._files), rows)

    def discard(self) -> None:
        """Remove what was written: room on the disk that a version may need."""
        self._opened.close()
        with contextlib.suppress(OSError):
            atomic.remove_folder(self._folder)
            atomic.remove_folder(self._rows_path)


def write_segments(layout: Layout, state: State) -> Segments:
    """Write the six files for a state as it is.

    Raises:
        OSError, ArchiveDamaged: something could not be read or written.
    """
    writer = SegmentsWriter(layout, state, state.version)
    for kind in Kind:
        for _ in writer.passing(kind):
            pass
    return writer.close()
