"""What an archive is made of: regular files and folders, none of them endless."""

from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import stat_result

LARGEST_DOCUMENT: Final = 64 << 20
"""The most bytes that ``archive.json`` and a manifest are read with; those of a large blog have some thousands."""
LARGEST_CACHE: Final = 1 << 30
"""The most bytes that a file of ``.work/`` is read with as a whole; beyond it the file is as if it were not there."""
_KINDS: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotPlain(OSError):
    """A link, or something else that is no regular file or folder, where an archive has one.

    Attributes:
        kind: what is there, such as "a link".
    """

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(errno.ELOOP, f"it is {kind}", path)
        self.kind = kind


class TooLarge(OSError):
    """A file with more bytes than any of its kind has."""

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(errno.EINVAL, f"it has more than {limit >> 20} MiB, as none of its kind has", path)


def is_hollow(found: stat_result) -> bool:
    """Tell whether a file claims far more bytes than the disk holds of it: a terabyte of holes takes no room.

    A file system that compresses holds a twentieth of such text as an archive has, never a thousandth.
    """
    if found.st_size <= LARGEST_CACHE:
        return False
    blocks: int = getattr(found, "st_blocks", found.st_size)
    return blocks * 512 < found.st_size // 1000


def kind_of(mode: int) -> str:
    """Say in words what a mode of ``stat`` is of, "a link" for a link; ``""`` for a regular file."""
    return next((words for test, words in _KINDS if test(mode)), "")
