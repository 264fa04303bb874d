"""Small real file systems, and their contents after a power cut.

A disk is a file with a file system in it, mounted through a loop device. A cut is a copy of that file at one instant.
It contains the blocks that the file system had written to the device by then, without those still in memory. To copy
one instant, the test stops the run that writes. It then copies the file until two copies in a row are the same, because
the system's own threads may still be writing. This models a disk that keeps all writes in order; it does not model a
disk that loses or reorders confirmed writes.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

KINDS: Final = ("ext4", "xfs", "btrfs")
_SIZE: Final = 320 * 1024 * 1024
"""The least that ``mkfs.xfs`` accepts is 300 MiB; the file is sparse."""

_OPTIONS: Final = {"xfs": "loop,nouuid"}


def without_waiting(handle: int) -> None:
    """Replace :func:`os.fsync` in tests without power cuts; only check the descriptor."""
    os.fstat(handle)


class NoDisk(Exception):
    """Nobody may make or mount a disk of this kind on this machine; the message says which command failed."""


class Disk:
    """A file with a file system of ``kind`` in it."""

    def __init__(self, file: Path, kind: str) -> None:
        self.file = file
        self.kind = kind

    @classmethod
    def make(cls, file: Path, kind: str) -> Disk:
        """Make an empty disk.

        Raises:
            NoDisk: the program that makes such file systems is missing, or failed.
        """
        with file.open("wb") as made:
            made.truncate(_SIZE)
        _call(f"mkfs.{kind}", "-q", str(file))
        return cls(file, kind)

    @contextmanager
    def mounted(self, place: Path) -> Iterator[Path]:
        """Mount it for the duration of the block; the file system first replays its journal.

        Raises:
            NoDisk: it cannot be mounted.
        """
        place.mkdir(exist_ok=True)
        _call("mount", "-t", self.kind, "-o", _OPTIONS.get(self.kind, "loop"), str(self.file), str(place))
        try:
            yield place
        finally:
            _unmount(place)

    def cut(self, file: Path) -> Disk:
        """Return the disk after a power cut at this moment; the caller has stopped the run that writes."""
        again = file.with_name(f"{file.name}.again")
        _copy(self.file, file)
        for _ in range(100):
            _copy(self.file, again)
            if filecmp.cmp(file, again, shallow=False):
                again.unlink()
                return Disk(file, self.kind)
            again.replace(file)
        raise AssertionError("the disk kept changing")


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--sparse=always", source, target], check=True)


def _unmount(place: Path) -> None:
    # A process that was just killed may still hold the disk.
    until = time.monotonic() + 30
    while subprocess.run(["umount", place], capture_output=True).returncode:
        assert time.monotonic() < until, f"{place} stays busy"
        time.sleep(0.1)


def _call(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise NoDisk(f"{command[0]} is not installed") from error
    if done.returncode:
        raise NoDisk(f"{' '.join(command[:3])}: {done.stderr.strip() or done.returncode}")
