"""Reading lines back from the files that hold them, without keeping any of these in memory."""

from __future__ import annotations

import os
from collections import OrderedDict
from io import BufferedReader, BytesIO
from pathlib import Path

from exporter.archive.inside import inner

_OPEN_FILES = 64
_BLOCK = 128 * 1024


class Segments:
    """The files that hold lines, opened when first read, at most 64 at a time.

    A pinned file stays open: ``latest/`` may be swapped for a newer one while it is being read.
    """

    def __init__(self) -> None:
        self._paths: list[Path] = []
        self._numbers: dict[Path, int] = {}
        self._open: OrderedDict[int, int] = OrderedDict()
        self._pinned: dict[int, int] = {}
        self._block_of = -1
        self._block_start = 0
        self._block = b""

    def add(self, path: Path, *, pin: bool = False) -> int:
        """Return the number of a file, a new one or the one it has."""
        number = self._numbers.setdefault(path, len(self._paths))
        if number == len(self._paths):
            self._paths.append(path)
        if pin and number not in self._pinned:
            self._pinned[number] = _open(path)
        return number

    def stream(self, number: int, within: int | None = None) -> BufferedReader | BytesIO:
        """Open a file from its beginning, in a folder that is held where there is one; the caller closes it."""
        pinned = self._pinned.get(number)
        if pinned is None:
            handle = _open(self._paths[number], within)
            if os.fstat(handle).st_size == 0:
                # So are most files of most versions, and a reader costs more than all the rest.
                os.close(handle)
                return BytesIO()
            return os.fdopen(handle, "rb")
        file = os.fdopen(os.dup(pinned), "rb")
        file.seek(0)
        return file

    def read(self, number: int, offset: int, length: int) -> bytes:
        """Read ``length`` bytes at ``offset`` of a file."""
        return self._pread(self._handle(number), length, offset)

    def read_near(self, number: int, offset: int, length: int) -> bytes:
        """Read ``length`` bytes at ``offset`` of a file, in blocks: for lines that stand close to those read before."""
        start = offset - offset % _BLOCK
        if start != self._block_start or number != self._block_of:
            self._block = self._pread(self._handle(number), _BLOCK, start)
            self._block_of, self._block_start = number, start
        line = self._block[offset - start : offset - start + length]
        return line if len(line) == length else self.read(number, offset, length)

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

    @staticmethod
    def _pread(handle: int, length: int, offset: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(handle, length, offset)
        os.lseek(handle, offset, os.SEEK_SET)
        return os.read(handle, length)

    def close(self) -> None:
        """Close everything; a file that was not pinned opens again when read."""
        for handle in (*self._open.values(), *self._pinned.values()):
            os.close(handle)
        self._open.clear()
        self._pinned.clear()
        self._block_of = -1


def _open(path: Path, within: int | None = None) -> int:
    return inner(path).descriptor(os.O_RDONLY, within=within)
