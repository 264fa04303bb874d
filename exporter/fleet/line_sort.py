"""Sort any number of lines by their bytes, in files of a folder: memory stays flat.

Lines are collected and written as sorted files. A merge reads at most 64 of these at a time, so that no limit on open
files is reached; more of them are first merged into longer ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from heapq import merge
from pathlib import Path
from typing import Final

from exporter.archive import atomic

MAX_BYTES: Final = 32 * 1024 * 1024
_OBJECT_BYTES: Final = 64
"""The memory of a line in addition to its characters."""
_MERGED_FILES: Final = 64


class SortedLines:
    """Collects lines, then yields them in order; equal lines all stay.

    Args:
        folder: an existing folder for the files, removed by the caller.
        most_bytes: the memory of collected lines.
    """

    def __init__(self, folder: Path, most_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._lines: list[bytes] = []
        self._bytes = 0
        self._levels: list[list[Path]] = []
        self._made = 0

    def add(self, line: bytes) -> None:
        """Add a line with its line feed.

        Raises:
            NoSpace: the disk is full.
        """
        self._lines.append(line)
        self._bytes += len(line) + _OBJECT_BYTES
        if self._bytes > self._most_bytes:
            self._lines.sort()
            self.add_file(self._written(self._lines))
            self._lines, self._bytes = [], 0

    def add_file(self, path: Path) -> None:
        """Add the lines of a file that is sorted already; the file is removed when it has been merged."""
        level = 0
        while True:
            if len(self._levels) == level:
                self._levels.append([])
            self._levels[level].append(path)
            if len(self._levels[level]) < _MERGED_FILES:
                return
            files, self._levels[level] = self._levels[level], []
            with ExitStack() as opened:
                path = self._written(_merged(files, opened))
            for each in files:
                each.unlink()
            level += 1

    def __iter__(self) -> Iterator[bytes]:
        """Yield all lines in the order of their bytes.

        Raises:
            NoSpace: the disk is full.
        """
        self._lines.sort()
        files = [path for level in self._levels for path in level]
        while len(files) > _MERGED_FILES:
            some, files = files[:_MERGED_FILES], files[_MERGED_FILES:]
            with ExitStack() as opened:
                files.append(self._written(_merged(some, opened)))
        with ExitStack() as opened:
            yield from merge(_merged(files, opened), self._lines)

    def _written(self, lines: Iterator[bytes] | list[bytes]) -> Path:
        self._made += 1
        path = self._folder / f"sorted-{self._made}"
        with atomic.translated(path), path.open("wb") as file:
            file.writelines(lines)
        return path


def _merged(files: list[Path], opened: ExitStack) -> Iterator[bytes]:
    return merge(*[opened.enter_context(path.open("rb")) for path in files])
