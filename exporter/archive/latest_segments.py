"""The six files of ``latest/``: written in one pass over a state and its changes.

``.work/latest.rows`` holds the id, identity, version and length of each line as JSON, so that a state is built without
reading the lines. It is valid if ``.work/latest.json`` names its hash. Each record is compared with its identity when
it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import segment_name
from exporter.archive.lines import as_latest, latest_head, put_head
from exporter.archive.state import State
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

ROWS_HASH: Final = "rows_sha256"
"""The member of ``.work/latest.json`` with the hash of ``.work/latest.rows``."""


def write_rows(path: InnerPath, state: State) -> str:
    """Write the file of rows for a state of :class:`SegmentsWriter`; return its SHA-256 in hexadecimal."""
    data = lossless_json.dumps({kind: rows.columns() for kind, rows in state.kinds.items()})
    atomic.write_file(path, data)
    return hashlib.sha256(data).hexdigest()


def read_rows(
    path: InnerPath, sha256: str | None, state: State, segments: Mapping[Kind, tuple[int, os.stat_result]]
) -> bool:
    """Fill a state from the file; return false if the file is not valid. Then the state is useless.

    Args:
        path: the file.
        sha256: its hash, if one was noted.
        state: an empty state.
        segments: by kind the number of its file, and the state of the file.
    """
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            return False
        columns = lossless_json.values(data)
        return all(
            state.kinds[kind].fill(columns[kind], number) == stat.st_size for kind, (number, stat) in segments.items()
        )
    except (OSError, ValueError, TypeError, LookupError, OverflowError):
        return False


Stamp = tuple[int, int]
"""A file's size in bytes and its time of change in nanoseconds. (``ctime`` changes with every link.)"""


def stamp_of(stat: os.stat_result) -> Stamp:
    """Return a file's stamp."""
    return stat.st_size, stat.st_mtime_ns


class ChangedLine(NamedTuple):
    """A new or changed record, or a tombstone.

    Attributes:
        record_id: the record's id.
        line: the line.
        identity: the hash of the record's state; ``None`` for a tombstone.
    """

    record_id: str
    line: bytes
    identity: bytes | None


class SegmentFile(NamedTuple):
    """One file: its name, its SHA-256 in hexadecimal, its stamp."""

    name: str
    sha256: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Segments:
    """The six files in ``.work/`` before they are moved to ``latest/``.

    Attributes:
        folder: their folder.
        files: the files.
        state: the state that they show.
    """

    folder: InnerPath
    files: tuple[SegmentFile, ...]
    state: State

    def opened(self) -> State:
        """Return the state with its files open, so that it can be read even after they were moved.

        Raises:
            OSError: the files are gone.
        """
        for file in self.files:
            self.state.segments.pin(self.folder / file.name)
        return self.state

    def move(self, folder: InnerPath) -> Iterator[SegmentFile]:
        """Move the files into a folder, and yield them."""
        for file in self.files:
            (self.folder / file.name).rename(folder / file.name)
            yield file
        self.folder.rmdir()


class SegmentsWriter:
    """Writes the six files for a state and a version's changes while the version is written.

    An error is raised at the end, so that the version is written even if ``latest/`` cannot be.

    Args:
        layout: the archive, whose lock the caller holds.
        state: the state before.
        version: the version that makes the changes.
    """

    def __init__(self, layout: Layout, state: State, version: int) -> None:
        self._before = state
        self._state = State(state.blog_id, version)
        self._folder = layout.work / "latest.next"
        self._opened = contextlib.ExitStack()
        self._files: list[SegmentFile] = []
        self._failure: OSError | BlogExporterError | None = None
        self._attempt(self._open)

    def _attempt(self, step: Callable[..., None], *arguments: Any) -> None:
        """Run a step, unless an earlier one failed."""
        if self._failure is None:
            try:
                step(*arguments)
            except (OSError, BlogExporterError) as error:
                self._failure = error
                self.discard()

    def _open(self) -> None:
        atomic.remove_folder(self._folder)
        atomic.make_folder(self._folder)

    def passing(self, kind: Kind, changes: Iterable[ChangedLine] = ()) -> Iterator[bytes]:
        """Yield the sorted lines of the changes and write the file for their kind at the same time."""
        self._attempt(self._begin, kind)
        for change in changes:
            self._attempt(self._take, change)
            yield change.line
        self._attempt(self._end)

    def _begin(self, kind: Kind) -> None:
        self._kind = kind
        self._path = self._folder / segment_name(kind)
        self._file = self._opened.enter_context(atomic.hashing(self._path))
        self._segment = self._state.segments.add(self._path)
        self._unchanged = self._before.kinds[kind].ordered()
        self._next = next(self._unchanged, None)

    def _take(self, change: ChangedLine) -> None:
        order = sort_key(change.record_id)
        while self._next is not None and sort_key(self._next[0]) < order:
            self._keep(*self._next)
        if self._next is not None and self._next[0] == change.record_id:
            self._next = next(self._unchanged, None)
        if change.identity is None:
            return
        version, head = self._state.version, put_head(change.record_id)
        if change.line.startswith(head):
            line = latest_head(change.record_id, version) + change.line[len(head) :]
        else:
            line = as_latest(change.line, version)
        self._put(change.record_id, change.identity, version, line)

    def _keep(self, record_id: str, row: int) -> None:
        records = self._before.kinds[self._kind]
        line = self._before.latest_line(self._kind, record_id, row)
        self._put(record_id, records.identity(row), records.version(row), line)
        self._next = next(self._unchanged, None)

    def _put(self, record_id: str, identity: bytes, version: int, line: bytes) -> None:
        place = self._segment, self._file.size, len(line)
        self._file.write(line)
        self._state.kinds[self._kind].put(record_id, identity, version, place)

    def _end(self) -> None:
        while self._next is not None:
            self._keep(*self._next)
        digest = self._file.close(sync=False)
        self._files.append(SegmentFile(self._path.name, digest, stamp_of(self._path.lstat())))

    def close(self) -> Segments:
        """Finish the files, which are not durable yet.

        Raises:
            OSError, BlogExporterError: a file could not be read or written, and the six files do not exist.
        """
        if self._failure is not None:
            raise self._failure
        return Segments(self._folder, tuple(self._files), self._state)

    def discard(self) -> None:
        """Remove the files: the version may need the disk space."""
        self._opened.close()
        with contextlib.suppress(OSError):
            atomic.remove_folder(self._folder)


def write_segments(layout: Layout, state: State) -> Segments:
    """Write the six files for an unchanged state.

    Raises:
        OSError, ArchiveDamaged: a file could not be read or written.
    """
    writer = SegmentsWriter(layout, state, state.version)
    for kind in Kind:
        for _ in writer.passing(kind):
            pass
    return writer.close()
