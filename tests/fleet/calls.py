"""Calls for worker processes: some return, some die, some never end. It imports little, as each process imports it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from exporter.archive.archive import Archive
from exporter.fleet.work import Done
from exporter.worker import processors


def doubled(number: int) -> tuple[int, int, int]:
    """Return twice the number, the process ID, and the number of processors it may use."""
    return 2 * number, os.getpid(), processors()


def refused(number: int) -> int:
    if number == 3:
        raise ValueError("no threes")
    return number


def deadly(folder: Path, number: int) -> int:
    """Kill this process for every seventh number; for 14 only the first time."""
    met = folder / str(number)
    if number % 7 == 0 and not (number == 14 and met.exists()):
        met.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def slow(folder: Path, number: int) -> int:
    """Run for ten minutes, and clean up when asked to end."""
    (folder / f"begun-{number}").touch()
    try:
        time.sleep(600)
        (folder / f"ended-{number}").touch()
    finally:
        (folder / f"tidied-{number}").touch()
    return number


def deaf(folder: Path, number: int) -> int:
    """Run for ten minutes, and ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / f"begun-{number}-{os.getpid()}").touch()
    time.sleep(600)
    (folder / f"ended-{number}").touch()
    return number


def buried(number: int, how: str) -> int:
    assert how in {"SIGKILL", ""}
    return -number


def first_quick(folder: Path, number: int) -> int:
    return slow(folder, number) if number else number


def waiting(gate: Path, number: int) -> int:
    """Return 0 at once, and any other number only after the gate file exists."""
    end = time.monotonic() + 30
    while number and not gate.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    return number


def killed_by(blog_id: str, archive: Archive, _options: None) -> Done:
    """Kill this process at the archive of one blog."""
    if archive.info.blog_id == blog_id:
        os.kill(os.getpid(), signal.SIGKILL)
    return Done(made=True)
