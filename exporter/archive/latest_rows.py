"""``.work/latest.rows``: what a state has to know of each line of ``latest/``, so that nobody looks at them all.

Blocks of at most 1,024 lines of one kind, in the order of the lines: a head, then their ids, identities (32 bytes
each), versions and lengths (32 bits each). Ids are numbers of 64 bits, or else a JSON list. What is read counts once
its hash is the one that ``.work/latest.json`` names; and a record is compared with its identity like any other.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from array import array
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from exporter import lossless_json
from exporter.archive.state import DIGEST
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.archive.atomic import HashingFile
    from exporter.archive.ids import Key
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State

ROWS_HASH: Final = f"rows_sha256_{sys.byteorder}"
"""The hash's name in ``.work/latest.json``: numbers are written as this machine has them in memory."""

_HEAD: Final = struct.Struct("=BBII")
"""Which kind, whether the ids are numbers, how many lines, how many bytes of ids."""
_BLOCK: Final = 1024
_KINDS: Final = tuple(Kind)


class RowsWriter:
    """Writes the file; lines are noted in their order, one kind after the other."""

    def __init__(self, file: HashingFile) -> None:
        self._file = file
        self._kind = Kind.ENTRIES
        self._ids: list[Key] = []
        self._identities = bytearray()
        self._versions = array("I")
        self._lengths = array("I")

    def add(self, kind: Kind, key: Key, identity: bytes, version: int, length: int) -> None:
        """Note a line."""
        ids = self._ids
        if ids and (len(ids) == _BLOCK or kind is not self._kind or type(key) is not type(ids[0])):
            self.flush()
        self._kind = kind
        self._ids.append(key)
        self._identities += identity
        self._versions.append(version)
        self._lengths.append(length)

    def flush(self) -> None:
        """Write the block under way."""
        if not self._ids:
            return
        numbers = [key for key in self._ids if isinstance(key, int)]
        ids = array("Q", numbers).tobytes() if numbers else lossless_json.dumps(self._ids)
        self._file.write(_HEAD.pack(_KINDS.index(self._kind), bool(numbers), len(self._ids), len(ids)))
        for column in (ids, bytes(self._identities), self._versions.tobytes(), self._lengths.tobytes()):
            self._file.write(column)
        self._ids, self._identities = [], bytearray()
        self._versions, self._lengths = array("I"), array("I")


def read_rows(
    path: InnerPath, sha256: str | None, state: State, segments: Mapping[Kind, tuple[int, os.stat_result]]
) -> bool:
    """Fill a state from the file; false where it is not what was written, and the state is then of no use.

    Args:
        path: the file.
        sha256: its hash, where one was noted.
        state: an empty one.
        segments: by kind the number of its file, and what the system says of it.
    """
    running = hashlib.sha256()
    offsets = dict.fromkeys(Kind, 0)
    try:
        with path.open("rb") as file:
            while head := _take(file, _HEAD.size, running):
                which, numbers, count, size = _HEAD.unpack(head)
                kind = _KINDS[which]
                ids, identities, versions, lengths = (
                    _take(file, wanted, running) for wanted in (size, count * DIGEST, count * 4, count * 4)
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
    """Read so many bytes, or those that there are; no memory is asked for others."""
    data = file.read(min(size, os.fstat(file.fileno()).st_size))
    running.update(data)
    return data
