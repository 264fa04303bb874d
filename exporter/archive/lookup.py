"""Single records of the newest state, found in ``latest/`` by halving: its files are in the order of the ids.

So a record costs a few reads of its file, whatever the blog's size, and no state is built.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO, Final

from exporter.archive.lines import RecordLine, fold_facts, split
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from exporter.archive.layout import Layout

_LAST: Final = (2, 0, "")
"""Comes after the key of any id."""


class LatestLines:
    """The lines of ``latest/`` as it is when this is made; close it.

    Raises:
        OSError: a file cannot be opened.
    """

    def __init__(self, layout: Layout) -> None:
        with ExitStack() as opened:
            self._files: dict[Kind, BinaryIO] = {
                kind: opened.enter_context(layout.latest_segment(kind).open("rb")) for kind in Kind
            }
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def line(self, kind: Kind, record_id: str) -> RecordLine | None:
        """Return a record's line; ``None`` where it is not there, or not as it was written."""
        file = self._files[kind]

        def key(offset: int) -> tuple[int, int, str]:
            text = _line_from(file, offset)
            return sort_key(fold_facts(text)[0]) if text else _LAST

        try:
            line = split(_line_from(file, bisect_left(range(file.seek(0, 2)), sort_key(record_id), key=key)))
        except (OSError, ValueError):
            return None
        return line if line.record_id == record_id and line.fault() is None else None


def _line_from(file: BinaryIO, offset: int) -> bytes:
    """Return the first line that begins at ``offset`` or behind it; empty at the end."""
    file.seek(max(0, offset - 1))
    if offset:
        file.readline()
    return file.readline()
