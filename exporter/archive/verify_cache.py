"""Files that were read and found right, noted in a file of ``.work/``, so that a later look can pass them over.

A file counts as the same while its size, its time of change and its inode are. Without the note everything is read.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from exporter import lossless_json
from exporter.archive import atomic
from exporter.errors import BlogExporterError

if TYPE_CHECKING:
    import os

    from exporter.archive.layout import Layout

_Stamp = tuple[int, int, int]


class ChecksumCache:
    """The stamps of files by their path relative to the archive.

    Args:
        layout: the archive.
        record: the note's name in ``.work/``.
        quick: believe what an earlier look saw.
    """

    def __init__(self, layout: Layout, record: str = "verified.jsonl", *, quick: bool) -> None:
        self.quick = quick
        self._path = layout.work / record
        self._before = self._load() if quick else {}
        self._now: dict[str, _Stamp] = {}

    def passes(self, name: str, stat: os.stat_result) -> bool:
        """Tell whether a file may be passed over, because it was right and has not changed since."""
        if self._before.get(name) != _stamp(stat):
            return False
        self.note(name, stat)
        return True

    def note(self, name: str, stat: os.stat_result) -> None:
        """Remember a file that was just read and is right; may be called from any thread."""
        self._now[name] = _stamp(stat)

    def new(self) -> list[str]:
        """Return the files that were read now: what is noted of them is to reach the disk after they do."""
        return [name for name, stamp in self._now.items() if self._before.get(name) != stamp]

    def save(self) -> None:
        """Keep it for the next time, where the archive can be written."""
        lines = [lossless_json.dumps([name, *stamp]) for name, stamp in self._now.items()]
        with contextlib.suppress(OSError, BlogExporterError), atomic.translated(self._path):
            atomic.make_folder(self._path.parent)
            atomic.write_file(self._path, b"\n".join(lines))

    def _load(self) -> dict[str, _Stamp]:
        found: dict[str, _Stamp] = {}
        try:
            # Read in one piece, which takes a fifth of the time that ten thousand lines take.
            for name, size, changed, inode in lossless_json.loads(
                b"[" + b",".join(self._path.read_bytes().splitlines()) + b"]"
            ):
                found[str(name)] = (int(size), int(changed), int(inode))
        except (OSError, lossless_json.NotJson, TypeError, ValueError):
            return {}
        return found


def _stamp(stat: os.stat_result) -> _Stamp:
    return (stat.st_size, stat.st_ctime_ns, stat.st_ino)
