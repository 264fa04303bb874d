"""The six files of ``latest/``: written in one pass over a state and its changes.

``.work/latest.rows`` holds the id, identity, version and length of each line, so that a state is built without reading
the lines. Each row is a JSON list for up to 1,024 lines of the same kind: the kind, ids, identities, versions and
lengths. Ids that are numbers are written as numbers. The file is valid if ``.work/latest.json`` names its hash. Each
record is compared with its identity when it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import segment_name
from exporter.archive.lines import as_latest, latest_head, put_head
from exporter.archive.state import State, key_of_id, precedes
from exporter.errors import ArchiveDamaged, BlogExporterError
from exporter.frozen import frozen
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exporter.archive.atomic import HashingFile
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import Key

ROWS_HASH: Final = "rows_sha256"
"""The member of ``.work/latest.json`` with the hash of the file of rows."""
_LINES_PER_BLOCK: Final = 1024
_MAX_BLOCK_BYTES: Final = 4 << 20


class RowsWriter:
    """Writes the file of rows; the lines come in their order, one kind after the other."""

    def __init__(self, file: HashingFile) -> None:
        self._file = file
        self._kind = Kind.ENTRIES
        self._rows: list[tuple[Key, str, int, int]] = []

    def add(self, kind: Kind, key: Key, identity: bytes, version: int, length: int) -> None:
        """Add a line."""
        if len(self._rows) == _LINES_PER_BLOCK or kind is not self._kind:
            self.flush()
        self._kind = kind
        self._rows.append((key, identity.hex(), version, length))

    def flush(self) -> None:
        """Write the current block."""
        if self._rows:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            self._file.write(lossless_json.dumps([self._kind, *columns]) + b"\n")
            self._rows = []


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
    running = hashlib.sha256()
    sizes = dict.fromkeys(Kind, 0)
    try:
        with path.open("rb") as file:
            while block := file.readline(_MAX_BLOCK_BYTES):
                running.update(block)
                kind, *columns = lossless_json.values(block)
                sizes[kind] += state.kinds[kind].extend(segments[kind][0], sizes[kind], *columns)
    except (OSError, OverflowError, ValueError, TypeError, LookupError):
        return False
    return running.hexdigest() == sha256 and all(sizes[kind] == stat.st_size for kind, (_, stat) in segments.items())


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


@frozen
class Segments:
    """The six files in ``.work/`` before they are moved to ``latest/``, with the rows of their lines.

    Attributes:
        version: the version that they show.
        folder: their folder.
        files: the files.
        rows: the file of rows, and its SHA-256.
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
        """Return the state that they show. It can be read even after they were moved.

        Raises:
            ArchiveDamaged: the files are gone.
        """
        state = State(blog_id, self.version)
        if read_rows(*self.rows, state, {kind: state.segments.pin(self.folder / segment_name(kind)) for kind in Kind}):
            return state
        state.close()
        raise ArchiveDamaged("{folder} was changed while it was in use; run rebuild.", folder=self.folder)


class SegmentsWriter:
    """Writes the six files for a state and a version's changes while the version is written.

    An error is raised at the end, so that the version is written even if ``latest/`` cannot be.

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
        self._rows_file = self._opened.enter_context(atomic.hashing(self._rows_path))
        self._rows = RowsWriter(self._rows_file)

    def passing(self, kind: Kind, changes: Iterable[ChangedLine] = ()) -> Iterator[bytes]:
        """Yield the sorted lines of the changes and write the file for their kind at the same time."""
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
            OSError, BlogExporterError: a file could not be read or written, and the six files do not exist.
        """
        if self._failure is not None:
            raise self._failure
        self._rows.flush()
        rows = self._rows_path, self._rows_file.close(sync=False)
        return Segments(self._version, self._folder, tuple(self._files), rows)

    def discard(self) -> None:
        """Remove the files: the version may need the disk space."""
        self._opened.close()
        with contextlib.suppress(OSError):
            atomic.remove_folder(self._folder)
            atomic.remove_folder(self._rows_path)


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
