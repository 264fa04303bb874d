"""Exports of a blog of 10,000 entries, against a short script that writes a page for each with Jinja2."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import SCRIPTS
from benchmarks.archives import build
from benchmarks.content import BlogSize
from benchmarks.measure import Bench, Steps, ours
from benchmarks.table import Goal, Row

LOOP = "plain Jinja2 loop"
_GOALS = {"hugo": 7.0, "wxr": 5.0, "epub": 9.0, "jekyll": 7.0}


def make_archive(root: Path, entries: int, *, real: bool = False) -> None:
    """Make an archive with this number of entries and twice as many comments, with its ``latest/`` but no views."""
    build(root, BlogSize(entries, 2 * entries, 0), real=real)


def loop(archive: Path, out: Path) -> list[str]:
    """Return the command of the short script."""
    return [sys.executable, str(SCRIPTS / "jinja_site.py"), str(archive), str(out)]


def export(name: str, archive: Path, out: Path) -> list[str]:
    """Return the command of an export of all public records."""
    return ours("export", name, archive, out, "--public-open-flg=1", "--visible-delete-flg=f", "--quiet")


def exports(bench: Bench) -> Iterator[Row]:
    """Measure the exports that should be fast, in seconds of processor time, with all files in memory."""
    entries = bench.size(10_000, 1_000)
    with bench.memory() as folder:
        archive = folder / "archive"
        make_archive(archive, entries)
        steps: Steps = {LOOP: bench.anew(partial(loop, archive), folder)}
        for name in _GOALS:
            steps[f"export {name}"] = bench.anew(partial(export, name, archive), folder)
        samples = bench.turns(steps, most=3)
    for name, most in _GOALS.items():
        yield bench.row(samples, f"export {name}", LOOP, Goal(cpu_s=most), f"{entries:,} entries")
