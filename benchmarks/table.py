"""The table of all measurements, and ``results.md``, which stores it with the versions of everything measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks import PEERS

RESULTS: Final = Path(__file__).with_name("results.md")
_MB = 1_000_000
_LIBRARIES = ("aiohttp", "orjson", "jinja2", "nh3", "selectolax", "PyYAML", "click", "requests")
_PROGRAMS = (
    "curl --version", "hugo version", "sha256sum --version", "node --version", "restic version", "git --version",
    "wget --version", "rclone --version", f"{PEERS}/bin/scrapy version", f"{PEERS}/bin/pelican --version",
)  # fmt: skip
_SHORT_FORM = "## The short form"
_SHORT_HEADING = """CPU ratios of `make bench-check`, which fails where one of them grows by more than a quarter.

| measure | against | CPU × |
|---|---|---|
"""
_SHORT_ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<against>[^|]+) \| (?P<ratio>[0-9.]+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Goal:
    """The upper limits: ratios of wall-clock and processor time, seconds of both, and millions of bytes."""

    wall: float | None = None
    cpu: float | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    peak_mb: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The cost of one command as a multiple of another's; ratios, seconds and bytes are ``None`` if not measured."""

    name: str
    against: str
    wall: float | None = None
    cpu: float | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    peak: int | None = None
    goal: Goal = Goal()
    note: str = ""

    def cells(self) -> list[str]:
        """Return the cells of the table."""
        peak_mb = None if self.peak is None else self.peak / _MB
        figures = (
            (self.wall, self.goal.wall, ".2f"),
            (self.cpu, self.goal.cpu, ".2f"),
            (self.wall_s, self.goal.wall_s, ".2f"),
            (self.cpu_s, self.goal.cpu_s, ".2f"),
            (peak_mb, self.goal.peak_mb, ".0f"),
        )
        return [self.name, self.against, *(_figure(*each) for each in figures), self.note]


def _figure(value: float | None, most: float | None, form: str) -> str:
    """Write a figure followed by its goal; a figure that misses the goal is bold."""
    if value is None:
        return ""
    shown = format(value, form)
    if most is None:
        return shown
    return f"{shown} (≤ {most:g})" if float(shown) <= most else f"**{shown}** (≤ {most:g})"


_HEADING = ["measure", "against", "wall ×", "CPU ×", "wall s", "CPU s", "peak MB", ""]


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table with aligned columns."""
    cells = [_HEADING, *(row.cells() for row in rows)]
    widths = [max(len(each[column]) for each in cells) for column in range(len(_HEADING))]
    for number, line in enumerate(cells):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def write_results(
    rows: Iterable[Row] | None, short: Iterable[Row], missing: Iterable[str] = (), path: Path | None = None
) -> None:
    """Store the table, and the short form's ratios for comparison with later runs.

    Args:
        rows: rows of the table; ``None`` to keep the stored table.
        short: rows of the short form.
        missing: the peers that were not installed.
        path: the file, by default :data:`RESULTS`.
    """
    file = path or RESULTS
    before = file.read_text("utf-8").partition(_SHORT_FORM)[0] if file.exists() else ""
    full = before if rows is None else "\n".join(_full(rows, missing))
    lines = (f"| {row.name} | {row.against} | {row.cpu:.3f} |\n" for row in short if row.cpu is not None)
    file.write_text(f"{full}{_SHORT_FORM}\n\n{_SHORT_HEADING}{''.join(lines)}", encoding="utf-8")


def _full(rows: Iterable[Row], missing: Iterable[str]) -> Iterator[str]:
    yield from ("# Results", "")
    yield from (f"Taken on {datetime.now(UTC):%Y-%m-%d} by `make bench`; see [README.md](README.md).", "")
    yield from (f"- {line}" for line in versions())
    left_out = ", ".join(sorted(missing))
    yield from ([f"- Left out, as not installed: {left_out}"] if left_out else [])
    yield from ("", *(line.rstrip() for line in table(rows)), "", "")


def recorded(path: Path | None = None) -> dict[tuple[str, str], float]:
    """Return the recorded ratios of the short form."""
    _, _, short = (path or RESULTS).read_text("utf-8").partition(_SHORT_FORM)
    return {(row["name"], row["against"]): float(row["ratio"]) for row in _SHORT_ROW.finditer(short)}


def versions() -> Iterator[str]:
    """Yield the machine, and the versions of Python, libraries and programs."""
    yield f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores"
    yield f"Python {sys.version.split()[0]}; {', '.join(f'{name} {version(name)}' for name in _LIBRARIES)}"
    yield "; ".join(said for program in _PROGRAMS if (said := _said(program.split())))


def _said(command: Sequence[str]) -> str:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    name = Path(command[0]).name
    said = " ".join(answer.splitlines()[0].split()[:3])
    return said if name.lower() in said.lower() else f"{name} {said}"
