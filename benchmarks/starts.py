"""The duration of short commands in each language, against Python with a few standard modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.archives import build
from benchmarks.content import BlogSize
from benchmarks.measure import Bench, Steps, ours
from benchmarks.table import Goal, Row

_PYTHON = "import argparse, json, dataclasses"
_LANGUAGES = {"en": "", "ja": ", in Japanese"}
_TIMES = 3


def starts(bench: Bench) -> Iterator[Row]:
    """Measure whole processes in three times as many rounds as usual, because they are so short."""
    with bench.memory() as folder:
        archive = folder / "archive"
        build(archive, BlogSize(100, 100, 10), 3)
        commands: dict[str, tuple[float, list[object]]] = {
            "--help": (2.5, ["--help"]),
            "backup --help": (4.0, ["backup", "--help"]),
            "status": (4.0, ["status", archive]),
            "show": (4.0, ["show", archive, "entry", 42]),
        }
        goals = {name + words: most for name, (most, _) in commands.items() for words in _LANGUAGES.values()}
        goals["--help"] = 2.0
        steps: Steps = {
            name + words: ours("--lang", language, *arguments)
            for name, (_, arguments) in commands.items()
            for language, words in _LANGUAGES.items()
        }
        steps[_PYTHON] = [sys.executable, "-c", _PYTHON]
        bench.turns(steps, most=1)
        taken = [bench.turns(steps) for _ in range(_TIMES)]
    samples = {name: [each for turn in taken for each in turn[name]] for name in taken[0]}
    for name, most in goals.items():
        yield bench.row(samples, name, _PYTHON, Goal(wall=most, cpu=most))
