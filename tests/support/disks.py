"""Small disks of their own, and what is left on them when the power goes.

A disk is a file with a file system in it, mounted through a loop device. A cut is a copy of that file at an instant: it
holds what the file system had handed to the device by then, and nothing of what only stood in the system's memory. So
that a copy is of one instant, the run that writes is stopped meanwhile, and the file is copied until two copies in a row
are the same: the system's own threads may still be writing. This is a disk that keeps whatever it was given, in order;
one that loses or mixes up what it has confirmed is not modelled.
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
    """Stand in for :func:`os.fsync` where nothing depends on what a power cut would leave: check the descriptor alone."""
    os.fstat(handle)


class NoDisk(Exception):
    """This machine lets nobody make and mount a disk of this kind; the message says what failed."""


class Disk:
    """A file with a file system of ``kind`` in it."""

    def __init__(self, file: Path, kind: str) -> None:
        self.file = file
        self.kind = kind

    @classmethod
    def make(cls, file: Path, kind: str) -> Disk:
        """Make an empty one.

        Raises:
            NoDisk: the program that makes such file systems is missing, or failed.
        """
        with file.open("wb") as made:
            made.truncate(_SIZE)
        _call(f"mkfs.{kind}", "-q", str(file))
        return cls(file, kind)

    @contextmanager
    def mounted(self, place: Path) -> Iterator[Path]:
        """Mount it while the block lasts; the journal of one that was cut is played back first.

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
        """Return what is left of it if the power goes now; whoever writes to it has been stopped."""
        again = file.with_name(f"{file.name}.again")
        _copy(self.file, file)
        for _ in range(100):
            _copy(self.file, again)
            if filecmp.cmp(file, again, shallow=False):
                again.unlink()
                return Disk(file, self.kind)
            again.replace(file)
        raise AssertionError("the disk never came to rest")


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--sparse=always", source, target], check=True)


def _unmount(place: Path) -> None:
    # Whoever was killed a moment ago may still be on the way out.
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
