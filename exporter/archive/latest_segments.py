"""The six files of ``latest/``: written in one pass over a state and its changes.

``.work/latest.rows`` holds the id, identity, version and length of each line, so that a state is built without reading
the lines. A block has up to 1,024 lines of the same kind: a head, ids, identities (32 bytes each), versions and lengths
(32 bits each). Ids are numbers of 64 bits, or else a JSON list. The file is valid if ``.work/latest.json`` names its
hash. Each record is compared with its identity when it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import sys
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import segment_name
from exporter.archive.lines import as_latest, latest_head, put_head
from exporter.archive.state import DIGEST_BYTES, State, key_of_id, precedes
from exporter.errors import ArchiveDamaged, BlogExporterError
from exporter.message import message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exporter.archive.atomic import HashingFile
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import Key

ROWS_HASH: Final = f"rows_sha256_{sys.byteorder}"
"""The member of ``.work/latest.json`` with the hash; numbers are stored in the byte order of this machine."""

_BLOCK_HEAD: Final = struct.Struct("=BBII")
"""The kind, whether the ids are numbers, the number of lines, the number of bytes of ids."""
_LINES_PER_BLOCK: Final = 1024
_KINDS: Final = tuple(Kind)


class RowsWriter:
    """Writes the file of rows; the lines come in their order, one kind after the other."""

    def __init__(self, file: HashingFile) -> None:
        self._file = file
        self._kind = Kind.ENTRIES
        self._ids: list[Key] = []
        self._identities = bytearray()
        self._versions = array("I")
        self._lengths = array("I")

    def add(self, kind: Kind, key: Key, identity: bytes, version: int, length: int) -> None:
        """Add a line."""
        ids = self._ids
        if ids and (len(ids) == _LINES_PER_BLOCK or kind is not self._kind or type(key) is not type(ids[0])):
            self.flush()
        self._kind = kind
        self._ids.append(key)
        self._identities += identity
        self._versions.append(version)
        self._lengths.append(length)

    def flush(self) -> None:
        """Write the current block."""
        if not self._ids:
            return
        numbers = [key for key in self._ids if isinstance(key, int)]
        ids = array("Q", numbers).tobytes() if numbers else lossless_json.dumps(self._ids)
        self._file.write(_BLOCK_HEAD.pack(_KINDS.index(self._kind), bool(numbers), len(self._ids), len(ids)))
        for column in (ids, bytes(self._identities), self._versions.tobytes(), self._lengths.tobytes()):
            self._file.write(column)
        self._ids, self._identities = [], bytearray()
        self._versions, self._lengths = array("I"), array("I")


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
    offsets = dict.fromkeys(Kind, 0)
    try:
        with path.open("rb") as file:
            while head := _take(file, _BLOCK_HEAD.size, running):
                which, numbers, count, size = _BLOCK_HEAD.unpack(head)
                kind = _KINDS[which]
                ids, identities, versions, lengths = (
                    _take(file, wanted, running) for wanted in (size, count * DIGEST_BYTES, count * 4, count * 4)
                )
                keys: Any = array("Q", ids) if numbers else lossless_json.loads(ids)
                state.kinds[kind].extend(
                    keys, identities, array("I", versions), segments[kind][0], offsets[kind], array("I", lengths)
                )
                offsets[kind] += sum(array("I", lengths))
    except (OSError, ValueError, TypeError, LookupError, struct.error):
        return False
    return running.hexdigest() == sha256 and all(offsets[kind] == stat.st_size for kind, (_, stat) in segments.items())


def _take(file: BinaryIO, size: int, running: hashlib._Hash) -> bytes:
    """Read this number of bytes or the rest; a wrong size in the file cannot use up the memory."""
    data = file.read(min(size, os.fstat(file.fileno()).st_size))
    running.update(data)
    return data


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
        raise ArchiveDamaged(message("{folder} was changed while it was in use; run rebuild.", folder=self.folder))


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
