"""An archive's state: the existing records, and the file and offset of each record's line.

Records stay on disk; memory holds only their ids, and their hashes and offsets in flat arrays.
"""

from __future__ import annotations

import os
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from io import BufferedReader
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Final

from exporter.archive.lines import (
    PUT,
    ParsedRecords,
    RecordLine,
    as_latest,
    intact_data,
    latest_head,
    put_head,
    put_line,
    record_in,
    split,
)
from exporter.archive.safe_files import HeldFolder, inner
from exporter.archive.segments import damaged_file
from exporter.errors import ArchiveDamaged
from exporter.message import message, said, system_reason
from exporter.model.kinds import Kind, sort_key

_OPEN_FILES = 64


class SegmentFiles:
    """The files that hold lines, opened when first read, at most 64 at a time.

    A pinned file stays open: ``latest/`` may be replaced while a caller reads it.
    """

    def __init__(self) -> None:
        self._paths: list[Path] = []
        self._numbers: dict[Path, int] = {}
        self._open: OrderedDict[int, int] = OrderedDict()
        self._pinned: dict[int, int] = {}

    def add(self, path: Path) -> int:
        """Return a file's number, which is new for a new path."""
        number = self._numbers.setdefault(path, len(self._paths))
        if number == len(self._paths):
            self._paths.append(path)
        return number

    def pin(self, path: Path) -> tuple[int, os.stat_result]:
        """Keep a file open; return its number and its state."""
        number = self.add(path)
        if number not in self._pinned:
            self._pinned[number] = _open(path)
        return number, os.fstat(self._pinned[number])

    def stream(self, number: int, folder: HeldFolder | None = None) -> BufferedReader:
        """Open a file at its beginning, within an open folder if given; the caller closes it."""
        pinned = self._pinned.get(number)
        if pinned is None:
            path = self._paths[number]
            return os.fdopen(_open(path) if folder is None else folder.descriptor(path.name), "rb")
        file = os.fdopen(os.dup(pinned), "rb")
        file.seek(0)
        return file

    def read(self, number: int, offset: int, length: int) -> bytes:
        """Read ``length`` bytes at ``offset``."""
        handle = self._handle(number)
        if hasattr(os, "pread"):
            return os.pread(handle, length, offset)
        os.lseek(handle, offset, os.SEEK_SET)
        return os.read(handle, length)

    def _handle(self, number: int) -> int:
        handle = self._pinned.get(number)
        if handle is None:
            handle = self._open.pop(number, None)
            if handle is None:
                handle = _open(self._paths[number])
                if len(self._open) >= _OPEN_FILES:
                    os.close(self._open.popitem(last=False)[1])
            self._open[number] = handle
        return handle

    def close(self) -> None:
        """Close all files; those that were not pinned open again when read."""
        for handle in (*self._open.values(), *self._pinned.values()):
            os.close(handle)
        self._open.clear()
        self._pinned.clear()


def _open(path: Path) -> int:
    return inner(path).descriptor(os.O_RDONLY)


_DIGEST_BYTES: Final = 32


class KindState:
    """The records of one kind: a row for each id, with the record's identity, version and place in flat arrays."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._identities = bytearray()
        self._versions, self._segments, self._lengths = array("I"), array("I"), array("I")
        self._offsets = array("Q")

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def row(self, record_id: str) -> int | None:
        """Return the row of a record."""
        return self._rows.get(record_id)

    def put(self, record_id: str, identity: bytes, version: int, place: tuple[int, int, int]) -> int:
        """Set a record with its identity, its version and ``(segment, offset, length)``; return its row."""
        segment, offset, length = place
        row = self._rows.setdefault(record_id, len(self._lengths))
        if row == len(self._lengths):
            self._identities += identity
            self._versions.append(version)
            self._segments.append(segment)
            self._offsets.append(offset)
            self._lengths.append(length)
        else:
            self._identities[row * _DIGEST_BYTES : (row + 1) * _DIGEST_BYTES] = identity
            self._versions[row], self._segments[row] = version, segment
            self._offsets[row], self._lengths[row] = offset, length
        return row

    def remove(self, record_id: str) -> None:
        """Remove a record; a missing one is fine."""
        self._rows.pop(record_id, None)

    def identity(self, row: int) -> bytes:
        """Return the hash that distinguishes the record's states, 32 bytes."""
        return bytes(self._identities[row * _DIGEST_BYTES : (row + 1) * _DIGEST_BYTES])

    def version(self, row: int) -> int:
        """Return the version that holds the record's line."""
        return self._versions[row]

    def place(self, row: int) -> tuple[int, int, int]:
        """Return ``(segment, offset, length)`` of the record's line."""
        return self._segments[row], self._offsets[row], self._lengths[row]

    def ids(self) -> list[str]:
        """Return the ids in order: numbers first, then other ids as text."""
        return sorted(self._rows, key=sort_key)

    def ordered(self) -> Iterator[tuple[str, int]]:
        """Yield the ids in order, each with its row."""
        return ((record_id, self._rows[record_id]) for record_id in self.ids())

    def columns(self) -> dict[str, Any]:
        """Return ids, identities, versions and lengths as JSON. Only for a state whose lines follow each other."""
        return {
            "ids": list(self._rows),
            "identities": self._identities.hex(),
            "versions": self._versions.tolist(),
            "lengths": self._lengths.tolist(),
        }

    def fill(self, columns: Mapping[str, Any], segment: int) -> int:
        """Fill an empty state with such columns, untrusted, for the lines of one segment; return its size in bytes.

        Raises:
            LookupError, OverflowError, TypeError, ValueError: the columns are invalid.
        """
        ids = columns["ids"]
        self._rows = {record_id: row for row, record_id in enumerate(ids) if isinstance(record_id, str)}
        self._identities = bytearray.fromhex(columns["identities"])
        self._versions, self._lengths = array("I", columns["versions"]), array("I", columns["lengths"])
        if {len(self._rows), len(self._versions), len(self._lengths), len(self._identities) // _DIGEST_BYTES} != {
            len(ids)
        }:
            raise ValueError(message("the columns differ in length"))
        self._segments = array("I", [segment]) * len(ids)
        self._offsets = array("Q", islice(accumulate(self._lengths, initial=0), len(ids)))
        return sum(self._lengths)


RecordFallback = Callable[[Kind, str, bytes], RecordLine | None]
"""Looks for an undamaged record elsewhere in the archive by its kind, id and identity."""


class State:
    """All records as of ``version``, and the ``RecordSource`` of views and exports.

    Every record is compared with its hash when it is read; a damaged one comes from ``fallback`` or is refused.
    """

    def __init__(
        self, blog_id: str, version: int = 0, fallback: RecordFallback = lambda _kind, _id, _identity: None
    ) -> None:
        self.blog_id = blog_id
        self.version = version
        self.segments = SegmentFiles()
        self.fallback = fallback
        self.parsed = ParsedRecords()
        self.kinds: dict[Kind, KindState] = {kind: KindState() for kind in Kind}

    def fold(
        self,
        path: Path,
        kind: Kind,
        version: int,
        *,
        folder: HeldFolder | None = None,
        lines: Iterable[bytes] | None = None,
        forgives: Callable[[int], bool] = lambda _: False,
    ) -> tuple[int, int]:
        """Apply the lines of one file and return how many lines and bytes it has.

        Args:
            path: a version's segment, or a pinned one of ``latest/``.
            kind: the kind of its records.
            version: the version that it belongs to.
            folder: the open folder that contains the file.
            lines: its lines, if the caller has read them already.
            forgives: returns for a line's number whether the line may be skipped if it is damaged, since a later
                version holds its record again; 0 stands for the whole file.

        Raises:
            ArchiveDamaged: a line cannot be read; the message names the file and the line.
        """
        state = self.kinds[kind]
        offset = number = 0
        try:
            segment = self.segments.add(path)
            with self.segments.stream(segment, folder) if lines is None else nullcontext(lines) as file:
                for number, text in enumerate(file, 1):
                    try:
                        line = split(text, version)
                    except ValueError as error:
                        if not forgives(number):
                            fault = message("line {count}: {fault}", count=number, fault=said(error))
                            raise damaged_file(path, fault) from error
                    else:
                        if line.removed:
                            state.remove(line.record_id)
                        else:
                            state.put(
                                line.record_id, line.identity, line.version or version, (segment, offset, len(text))
                            )
                    offset += len(text)
        except OSError as error:
            if not forgives(0):
                reason = system_reason(error)
                raise damaged_file(path, message("it cannot be read: {reason}", reason=reason)) from error
        return number, offset

    def ids(self, kind: Kind) -> list[str]:
        """Return the sorted ids of a kind."""
        return self.kinds[kind].ids()

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return the hash of the record's state; ``None`` if the record does not exist."""
        row = self.kinds[kind].row(record_id)
        return None if row is None else self.kinds[kind].identity(row)

    def line(self, kind: Kind, record_id: str) -> RecordLine | None:
        """Read a record's line with the version that holds it; ``None`` if the record does not exist."""
        state = self.kinds[kind]
        row = state.row(record_id)
        if row is None:
            return None
        return self._checked(kind, record_id, row, self.segments.read(*state.place(row)))[1]

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Read a record's raw object; ``None`` if the record does not exist."""
        state = self.kinds[kind]
        row = state.row(record_id)
        return None if row is None else self._record(kind, record_id, row, self.segments.read(*state.place(row)))

    def lines(self, kind: Kind) -> Iterator[RecordLine]:
        """Read the lines of a kind in the order of their ids."""
        state = self.kinds[kind]
        for record_id, row in state.ordered():
            yield self._checked(kind, record_id, row, self.segments.read(*state.place(row)))[1]

    def latest_lines(self, kind: Kind) -> Iterator[bytes]:
        """Write the lines of ``latest/`` for a kind of this state, sorted by id."""
        for record_id, row in self.kinds[kind].ordered():
            yield self.latest_line(kind, record_id, row)

    def latest_line(self, kind: Kind, record_id: str, row: int) -> bytes:
        """Write the line of ``latest/`` for a record; best called in the order of the ids.

        Raises:
            ArchiveDamaged: the record does not match its hash, and the archive has no other copy.
        """
        state = self.kinds[kind]
        text = self.segments.read(*state.place(row))
        shown = latest_head(record_id, state.version(row))
        head = put_head(record_id) if text.startswith(PUT) else shown
        if intact_data(text, head, state.identity(row)) is not None:
            return text if head is shown else shown + text[len(head) :]
        return as_latest(self._checked(kind, record_id, row, text)[0], state.version(row))

    def _checked(self, kind: Kind, record_id: str, row: int, text: bytes) -> tuple[bytes, RecordLine]:
        """Return text and members of a line that matches its hash, from the fallback if necessary.

        Raises:
            ArchiveDamaged: there is no undamaged line.
        """
        state = self.kinds[kind]
        identity, version = state.identity(row), state.version(row)
        try:
            line = split(text, version)
            fault = line.fault()
        except ValueError as error:
            fault = said(error)
        else:
            if fault is None and line.identity == identity and line.record_id == record_id:
                return text, line
        intact = self.fallback(kind, record_id, identity)
        if intact is None:
            raise ArchiveDamaged(
                message(
                    "{kind} {record_id} of version {version} is damaged: {fault}. Run backup, which reads the record "
                    "again, or verify --repair.",
                    kind=kind,
                    record_id=record_id,
                    version=version,
                    fault=fault or message("it is another record"),
                )
            )
        return put_line(record_id, intact.frozen), intact._replace(version=version)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Read the raw objects of a kind in the order of their ids."""
        state = self.kinds[kind]
        for record_id, row in state.ordered():
            yield record_id, self._record(kind, record_id, row, self.segments.read(*state.place(row)))

    def _record(self, kind: Kind, record_id: str, row: int, text: bytes) -> dict[str, Any]:
        """Parse a line. Only records of the newest version are kept, since several views ask for them."""
        state = self.kinds[kind]
        identity, version = state.identity(row), state.version(row)
        head = put_head(record_id) if text.startswith(PUT) else latest_head(record_id, version)
        data = intact_data(text, head, identity) or self._checked(kind, record_id, row, text)[1].data
        return self.parsed.record(record_id, identity, data) if version == self.version else record_in(record_id, data)

    def close(self) -> None:
        """Close the files; reading opens them again."""
        self.segments.close()
