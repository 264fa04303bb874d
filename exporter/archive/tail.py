"""Reading the newest lines of a file that only grows, without reading the old ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from exporter.archive.inside import inner
from exporter.archive.plain import LARGEST_DOCUMENT, TooLarge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FIRST_BLOCK = 1 << 14


def newest_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, the newest first, without their line feeds; a torn last line is passed over.

    Raises:
        OSError: the file cannot be read.
        TooLarge: a line has more bytes than any line of a run.
    """
    with inner(path).open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        block, head, torn = _FIRST_BLOCK, b"", True
        while position:
            if len(head) > LARGEST_DOCUMENT:
                raise TooLarge(str(path), LARGEST_DOCUMENT)
            start = max(0, position - block)
            file.seek(start)
            head, *lines = (file.read(position - start) + head).split(b"\n")
            if torn and lines:
                lines.pop()
                torn = False
            yield from reversed(lines)
            # Growing blocks keep the cost of a very long line to its length.
            position, block = start, block * 2
        if not torn:
            yield head
