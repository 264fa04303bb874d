"""Run processes in turns and measure their cost: wall-clock seconds, processor seconds, and peak memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Literal

from benchmarks import PEERS
from benchmarks.content import BLOG_ID, BlogSize
from benchmarks.table import Goal, Row

_LAUNCHER = Path(__file__).with_name("launcher.py")
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
_MEMORY = Path("/dev/shm")
_MOST_BYTES = 2 << 30
# An installed program has compiled files, so these processes may write and use them.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One process from start to end: seconds, processor seconds, peak bytes, and its output."""

    wall: float
    cpu: float
    peak: int
    said: bytes = b""

    @property
    def json(self) -> Any:
        """Its first line of output, one JSON object; after a failure, a second object with the error follows."""
        return json.loads(self.said.splitlines()[0])


Step = Callable[[], Sample]
Steps = dict[str, Step | Sequence[str]]
Samples = Mapping[str, Sequence[Sample]]


def python(module: str, *arguments: object) -> list[str]:
    """Return the command that runs a module with this Python."""
    return [sys.executable, "-m", module, *map(str, arguments)]


def ours(*arguments: object) -> list[str]:
    """Return the command that runs this program."""
    return python("exporter", *arguments)


PLAIN = ("--no-markdown", "--no-site")
"""The options of a backup without views."""


def backup(base_url: str, archive: Path, options: Sequence[str] = ()) -> list[str]:
    """Return the command of a backup that reads no pictures unless the options say so."""
    assets = () if any(option.startswith("--assets") for option in options) else ("--assets=none",)
    # Each round removes the archive, and a backup without --new would report it as missing.
    given = (f"--archive={archive}", f"--base-url={base_url}", "--new", *assets, *options)
    return ours("backup", BLOG_ID, *given, "--json", "-q")


def run(command: Sequence[str], codes: Collection[int] = (0,)) -> Sample:
    """Run a command and return its cost.

    Args:
        command: a program with its arguments.
        codes: the exit codes to accept.

    Raises:
        RuntimeError: the command failed; its messages went to standard error.
    """
    read_end, write_end = os.pipe()
    # A process starts with the peak memory of its parent, and this process may be large.
    small = [sys.executable, "-I", "-S", str(_LAUNCHER), str(write_end), *command]
    with os.fdopen(read_end, "rb") as report:
        process = subprocess.Popen(small, stdout=subprocess.PIPE, pass_fds=[write_end], env=_ENVIRONMENT)
        os.close(write_end)
        said, _ = process.communicate()
        cost = json.loads(report.read())
    if process.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Sample(cost["wall"], cost["cpu"], cost["peak"] * _RSS_UNIT, said)


class Service:
    """The running service of :mod:`benchmarks.service`: its base URL, and a way to edit its blog."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.base_url = self._line()

    def edit(self) -> None:
        """Edit the first entry."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def serving(size: BlogSize, *options: str) -> Iterator[Service]:
    """Run the service in a separate process."""
    command = python("benchmarks.service", *size.options(), *options)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Service(process)
        assert process.stdin is not None
        process.stdin.close()


@dataclass(slots=True)
class Bench:
    """The settings that all measurements of a run share.

    Attributes:
        rounds: how often each command runs.
        place: a folder on a disk for backups.
        small: use the short form's sizes, and compare the lowest costs of all rounds.
        missing: the peers that are not installed here.
    """

    rounds: int
    place: Path
    small: bool = False
    missing: set[str] = field(default_factory=set)

    def size(self, full: int, small: int) -> int:
        """Return the size for this run."""
        return small if self.small else full

    @contextmanager
    def memory(self) -> Iterator[Path]:
        """Yield a new folder in memory, so that no disk is measured; if memory is too small, on a disk."""
        most = self.size(_MOST_BYTES, _MOST_BYTES // 8)
        in_memory = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > most
        with TemporaryDirectory(prefix="bench-", dir=_MEMORY if in_memory else self.place) as folder:
            yield Path(folder)

    def anew(self, command: Callable[[Path], Sequence[str]], folder: Path | None = None) -> Step:
        """Return a step that runs a command for a new folder, which is removed afterwards."""

        def step() -> Sample:
            with TemporaryDirectory(dir=folder or self.place) as place:
                return run(command(Path(place) / "new"))

        return step

    def cleared(self, command: Sequence[str], made: Path) -> Step:
        """Return a step that runs a command and then removes its output."""

        def step() -> Sample:
            sample = run(command)
            shutil.rmtree(made)
            return sample

        return step

    def turns(self, steps: Steps, most: int = 99) -> Samples:
        """Run all steps in turns, at most ``most`` rounds; each round starts with another step."""
        samples: dict[str, list[Sample]] = {name: [] for name in steps}
        order = list(steps.items())
        for turn in range(min(self.rounds, most)):
            at = turn % len(order)
            for name, step in order[at:] + order[:at]:
                samples[name].append(step() if callable(step) else run(step))
        return samples

    def ratio(self, samples: Samples, name: str, against: str, cost: Literal["wall", "cpu"]) -> float:
        """Return the cost of one command divided by the cost of another.

        This is the median over the rounds, so that a busy period of the machine affects both commands. The short
        form compares the lowest costs, on which other work on the machine has hardly any effect.
        """
        pairs = [
            (getattr(one, cost), getattr(two, cost)) for one, two in zip(samples[name], samples[against], strict=True)
        ]
        if self.small:
            return float(min(one for one, _ in pairs) / min(two for _, two in pairs))
        return float(median(one / two for one, two in pairs))

    def row(self, samples: Samples, name: str, against: str, goal: Goal | None = None, note: str = "") -> Row:
        """Return the table row that compares one command with another; goals apply to full sizes only."""
        taken = samples[name]
        return Row(
            name,
            against,
            self.ratio(samples, name, against, "wall"),
            self.ratio(samples, name, against, "cpu"),
            median(each.wall for each in taken),
            median(each.cpu for each in taken),
            max(each.peak for each in taken),
            Goal() if goal is None or self.small else goal,
            note,
        )

    def peer(self, name: str, program: str, *, everywhere: bool = False) -> str | None:
        """Return the path of an installed program from this machine or :data:`PEERS`; ``None`` if it is missing.

        The short form uses only programs that every machine has, because its ratios are compared across machines.
        """
        if self.small and not everywhere:
            return None
        found = shutil.which(program) or shutil.which(program, path=PEERS / "bin")
        if found is None:
            self.missing.add(name)
        return found
