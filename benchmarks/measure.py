"""Running a process and learning what it cost: time on the clock, time on the processor, memory at its peak."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from benchmarks.blog_size import BlogSize

Cost = Literal["wall", "cpu"]
_LAUNCHER = Path(__file__).with_name("launcher.py")
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """One process from its start to its end: seconds, seconds, bytes, and the number of requests it says it sent."""

    wall: float
    cpu: float
    peak: int
    requests: int

    def per_request(self, cost: Cost) -> float:
        """Return the seconds a request cost, of either kind."""
        return (self.wall if cost == "wall" else self.cpu) / self.requests


@dataclass(frozen=True, slots=True)
class Cores:
    """Where the service and where its clients run; ``None`` where processes cannot be pinned or there is one core."""

    service: int | None = None
    client: int | None = None

    @classmethod
    def of_this_machine(cls) -> Cores:
        """Take the first and the last core there is."""
        if not hasattr(os, "sched_getaffinity"):
            return cls()
        cores = sorted(os.sched_getaffinity(0))
        return cls(cores[0], cores[-1]) if len(cores) > 1 else cls()


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Let processes started inside the block run on one core only."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def running_service(size: BlogSize, core: int | None) -> Iterator[str]:
    """Run the service of :mod:`benchmarks.service` in its own process and yield its base URL."""
    command = [sys.executable, "-m", "benchmarks.service", *size.options()]
    with pinned(core), subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        yield service.stdout.readline().strip()
        service.stdin.close()


def measure(command: Sequence[str], core: int | None) -> Sample:
    """Run a command that prints a JSON object with its number of ``requests``, and return what it cost.

    Raises:
        RuntimeError: the command failed; its messages went to standard error.
    """
    cost, said = run(command, core)
    return replace(cost, requests=int(json.loads(said)["requests"]))


def run(command: Sequence[str], core: int | None) -> tuple[Sample, bytes]:
    """Run a command, and return what it cost, with 0 requests, and what it printed.

    Raises:
        RuntimeError: the command failed; its messages went to standard error.
    """
    read_end, write_end = os.pipe()
    # A process starts with the peak of the one that it was forked from, and this one may be large.
    small = [sys.executable, "-I", "-S", str(_LAUNCHER), str(write_end), *command]
    with pinned(core), os.fdopen(read_end, "rb") as report:
        process = subprocess.Popen(small, stdout=subprocess.PIPE, pass_fds=[write_end])
        os.close(write_end)
        said, _ = process.communicate()
        cost = json.loads(report.read())
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Sample(cost["wall"], cost["cpu"], cost["peak"] * _RSS_UNIT, 0), said
