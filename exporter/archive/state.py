"""An archive's state: the existing records, and the file and offset of each record's line.

Records stay on disk; memory holds only their ids, hashes and offsets, in flat arrays: 13 bytes for an id instead of the
110 bytes of a dictionary.
"""

from __future__ import annotations

import heapq
import os
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from io import BufferedReader
from itertools import accumulate, chain, islice
from operator import ge
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, overload

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

if TYPE_CHECKING:
    from collections.abc import Iterator

Key = int | str
"""An id for look-ups: a plain decimal number as a number, any other text unchanged."""

_IDS_PER_CHUNK: Final = 512
"""The most ids in one pair of arrays, few enough to insert one quickly."""
_DIGITS: Final = 19
"""The most digits of a number that always fits into 64 bits."""


def key_of_id(record_id: str) -> Key:
    """Return the key of an id; ``str`` converts it back."""
    if len(record_id) <= _DIGITS and record_id.isdecimal():
        number = int(record_id)
        if str(number) == record_id:
            return number
    return record_id


def in_order(key: Key) -> tuple[int, int, str]:
    """Return the value that keys are sorted by, which gives the order of their ids."""
    return (0, key, str(key)) if isinstance(key, int) else sort_key(key)


def precedes(one: Key, other: Key) -> bool:
    """Return whether one key comes before another."""
    if isinstance(one, int) and isinstance(other, int):
        return one < other
    return in_order(one) < in_order(other)


class IdRows:
    """Keys to rows. Numbers are in sorted arrays for binary search; the rest, which is rare, is in a dictionary."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._keys: list[array[int]] = []
        self._rows: list[array[int]] = []
        self._numbers = 0
        self._others: dict[str, int] = {}

    def __len__(self) -> int:
        return self._numbers + len(self._others)

    def find(self, key: Key) -> int | None:
        """Return the row of a key."""
        if type(key) is str:
            return self._others.get(key)
        at = bisect_right(self._firsts, key) - 1
        if at < 0:
            return None
        keys = self._keys[at]
        place = bisect_left(keys, key)
        return self._rows[at][place] if place < len(keys) and keys[place] == key else None

    def add(self, key: Key, row: int) -> None:
        """Add a new key."""
        if isinstance(key, str):
            self._others[key] = row
            return
        self._numbers += 1
        at = max(0, bisect_right(self._firsts, key) - 1)
        if not self._keys or (len(self._keys[at]) == _IDS_PER_CHUNK and key > self._keys[at][-1]):
            # Keys that come in order fill one chunk after the other instead of leaving half-filled ones.
            self._insert(at + 1, array("Q", (key,)), array("I", (row,)))
            return
        keys, rows = self._keys[at], self._rows[at]
        place = bisect_left(keys, key)
        self._firsts[at] = min(key, self._firsts[at])
        keys.insert(place, key)
        rows.insert(place, row)
        if len(keys) > _IDS_PER_CHUNK:
            half = _IDS_PER_CHUNK // 2
            self._insert(at + 1, keys[half:], rows[half:])
            del keys[half:], rows[half:]

    def extend(self, keys: array[int], row: int) -> None:
        """Add sorted numbers, all above the existing ones, with the rows from ``row`` on.

        Raises:
            ValueError: they are not sorted.
        """
        if any(map(ge, keys, islice(keys, 1, None))) or (keys and self._keys and keys[0] <= self._keys[-1][-1]):
            raise ValueError(message("ids are not in order"))
        for at in range(0, len(keys), _IDS_PER_CHUNK):
            piece = keys[at : at + _IDS_PER_CHUNK]
            self._insert(len(self._keys), piece, array("I", range(row + at, row + at + len(piece))))
        self._numbers += len(keys)

    def _insert(self, at: int, keys: array[int], rows: array[int]) -> None:
        self._firsts.insert(at, keys[0])
        self._keys.insert(at, keys)
        self._rows.insert(at, rows)

    def remove(self, key: Key) -> None:
        """Remove a key; a missing key is fine."""
        if self.find(key) is None:
            return
        if isinstance(key, str):
            del self._others[key]
            return
        self._numbers -= 1
        at = bisect_right(self._firsts, key) - 1
        keys, rows = self._keys[at], self._rows[at]
        place = bisect_left(keys, key)
        del keys[place], rows[place]
        if not keys:
            del self._firsts[at], self._keys[at], self._rows[at]

    def items(self) -> Iterator[tuple[Key, int]]:
        """Yield the keys in order, each with its row."""
        numbers: Iterator[tuple[Key, int]] = chain.from_iterable(map(zip, self._keys, self._rows))
        others = sorted(self._others.items(), key=lambda item: sort_key(item[0]))
        if others and in_order(others[0][0])[0] == 0:
            # Numbers of more than 64 bits, or with leading zeros, sort among the others.
            return heapq.merge(numbers, others, key=lambda item: in_order(item[0]))
        return chain(numbers, others)


class Ids(Sequence[str]):
    """The ids of records in their order, made from their keys when they are read; it equals a list of the same ids."""

    __hash__ = None  # type: ignore[assignment]  # like a list, which it equals

    def __init__(self, keys: IdRows) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return (str(key) for key, _ in self._keys.items())

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """Return the id at a place, or those of a slice; all ids before it are read."""
        return list(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Ids) and list(self) == list(other)


def merged(one: IdRows, other: IdRows) -> Iterator[tuple[Key, int | None, int | None]]:
    """Yield the keys of both in order, each with its rows."""
    left, right = one.items(), other.items()
    first, second = next(left, None), next(right, None)
    while first is not None and second is not None:
        if first[0] == second[0]:
            yield first[0], first[1], second[1]
            first, second = next(left, None), next(right, None)
        elif precedes(first[0], second[0]):
            yield first[0], first[1], None
            first = next(left, None)
        else:
            yield second[0], None, second[1]
            second = next(right, None)
    for key, row in left if first is None else chain((first,), left):
        yield key, row, None
    for key, row in right if second is None else chain((second,), right):
        yield key, None, row


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
"""Bytes of an identity."""


class KindState:
    """The records of one kind: a row for each key, with the record's identity, version and place in flat arrays."""

    def __init__(self) -> None:
        self.keys = IdRows()
        self._identities = bytearray()
        self._versions, self._segments, self._lengths = array("I"), array("I"), array("I")
        self._offsets = array("Q")

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, record_id: str) -> bool:
        return self.row(record_id) is not None

    def row(self, record_id: str) -> int | None:
        """Return the row of a record."""
        return self.keys.find(key_of_id(record_id))

    def rows(self) -> int:
        """Return how many rows were ever made; all row numbers are below it."""
        return len(self._lengths)

    def put(self, record_id: str, identity: bytes, version: int, place: tuple[int, int, int]) -> int:
        """Set a record with its identity, its version and ``(segment, offset, length)``; return its row."""
        key = key_of_id(record_id)
        return self.put_at(key, self.keys.find(key), identity, version, place)

    def put_at(self, key: Key, row: int | None, identity: bytes, version: int, place: tuple[int, int, int]) -> int:
        """Set a record as :meth:`put` does, in its row; ``None`` if it has none."""
        segment, offset, length = place
        if row is None:
            row = len(self._lengths)
            self.keys.add(key, row)
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

    def identity(self, row: int) -> bytes:
        """Return the hash that distinguishes the record's states, 32 bytes."""
        return bytes(self._identities[row * _DIGEST_BYTES : (row + 1) * _DIGEST_BYTES])

    def ordered(self) -> Iterator[tuple[str, int]]:
        """Yield the ids and their rows, sorted by number, ids that are no number last."""
        return ((str(key), row) for key, row in self.keys.items())

    def ids(self) -> Iterator[str]:
        """Yield the ids, sorted by number, ids that are no number last."""
        return (str(key) for key, _ in self.keys.items())

    def extend(
        self, segment: int, offset: int, keys: list[Key], identities: list[str], versions: list[int], lengths: list[int]
    ) -> int:
        """Add new records whose lines follow each other in one segment from ``offset`` on; return their bytes.

        Raises:
            OverflowError, TypeError, ValueError: the columns differ in length or type, or the ids are not sorted or not
                canonical.
        """
        first, digests, added = self.rows(), bytes.fromhex("".join(identities)), array("I", lengths)
        if not len(keys) == len(versions) == len(added) == len(digests) / _DIGEST_BYTES:
            raise ValueError(message("the columns differ in length"))
        if all(type(key) is int for key in keys):
            self.keys.extend(array("Q", cast("list[int]", keys)), first)
        else:
            for row, key in enumerate(keys, first):
                if key_of_id(str(key)) != key or self.keys.find(key) is not None:
                    raise ValueError(message("an id occurs twice"))
                self.keys.add(key, row)
        self._identities += digests
        self._versions.extend(versions)
        self._segments += array("I", [segment]) * len(keys)
        self._offsets += array("Q", islice(accumulate(added, initial=offset), len(keys)))
        self._lengths += added
        return sum(added)

    def remove(self, record_id: str) -> None:
        """Remove a record; a missing one is fine."""
        self.keys.remove(key_of_id(record_id))

    def version(self, row: int) -> int:
        """Return the version that holds the record's line."""
        return self._versions[row]

    def place(self, row: int) -> tuple[int, int, int]:
        """Return ``(segment, offset, length)`` of the record's line."""
        return self._segments[row], self._offsets[row], self._lengths[row]


RecordFallback = Callable[[Kind, str, bytes], RecordLine | None]
"""Looks for an undamaged record elsewhere in the archive by its kind, id and identity."""


class State:
    """All records as of ``version``, and the ``RecordSource`` of views and exports.

    Every record is compared with its hash when it is read; a damaged one comes from ``fallback`` or is refused.

    Attributes:
        names: the first ID of the blog by each later one, oldest first.
    """

    def __init__(
        self, blog_id: str, version: int = 0, fallback: RecordFallback = lambda _kind, _id, _identity: None
    ) -> None:
        self.blog_id = blog_id
        self.names: Mapping[str, str] = {}
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
                            place = segment, offset, len(text)
                            state.put(line.record_id, line.identity, line.version or version, place)
                    offset += len(text)
        except OSError as error:
            if not forgives(0):
                reason = system_reason(error)
                raise damaged_file(path, message("it cannot be read: {reason}", reason=reason)) from error
        return number, offset

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the sorted ids of a kind."""
        return Ids(self.kinds[kind].keys)

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
                "{kind} {record_id} of version {version} is damaged: {fault}. Run backup, which reads the record "
                "again, or verify --repair.",
                kind=kind,
                record_id=record_id,
                version=version,
                fault=fault or message("it is another record"),
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
