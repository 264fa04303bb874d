"""A pytest plugin that shows what tests cost: ``python -m pytest -n auto -p tests.support.costs``.

Its table has a row for each folder of tests: cases, functions, processes that the tests started, and seconds of CPU
time, with those of ended child processes. A fork server is one start, however many runs it forks.
"""

from __future__ import annotations

import resource
import sys
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final, cast

import pytest

from tests.support.runs import Zygote

_STARTS: Final = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "os.spawn")
_SLOWEST: Final = 60
_started = 0


@dataclass
class Cost:
    """What some cases cost together."""

    cases: int = 0
    starts: int = 0
    seconds: float = 0.0
    functions: set[str] = field(default_factory=set)


_folders: defaultdict[str, Cost] = defaultdict(Cost)
_functions: defaultdict[str, Cost] = defaultdict(Cost)


def _count(event: str, _: object, starts: tuple[str, ...] = _STARTS) -> None:
    global _started  # noqa: PLW0603 - audit hooks keep no state of their own
    if event in starts:
        _started += 1


sys.addaudithook(_count)


def _cpu_seconds() -> float:
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return Zygote.seconds + sum(each.ru_utime + each.ru_stime for each in spent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note where the counters were before the first fixture of a test."""
    item.stash[_BEFORE] = (_cpu_seconds(), _started)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a phase's cost to its report, which also reaches the main process of xdist."""
    report = yield
    seconds, starts = item.stash[_BEFORE]
    item.stash[_BEFORE] = now = (_cpu_seconds(), _started)
    report.user_properties = [("cost", (now[0] - seconds, now[1] - starts))]
    return report


_BEFORE: Final = pytest.StashKey[tuple[float, int]]()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a report to the table."""
    seconds, starts = cast("tuple[float, int]", dict(report.user_properties)["cost"])
    file, *_ = report.nodeid.split("::")
    function, *_ = report.nodeid.split("[")
    for cost in (_folders[file.rpartition("/")[0]], _functions[function]):
        cost.cases += report.when == "setup"
        cost.starts += starts
        cost.seconds += seconds
        cost.functions.add(function)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables of folders, of the most expensive functions, and of all that start processes."""
    terminalreporter.section("costs")
    total = Cost()
    for cost in _folders.values():
        total.cases += cost.cases
        total.starts += cost.starts
        total.seconds += cost.seconds
        total.functions |= cost.functions
    _rows(terminalreporter, {**dict(sorted(_folders.items())), "all": total})
    dearest = sorted(_functions.items(), key=lambda row: -row[1].seconds)[:_SLOWEST]
    starting = sorted((row for row in _functions.items() if row[1].starts), key=lambda row: -row[1].starts)
    for table in (dearest, starting):
        terminalreporter.write_line("")
        _rows(terminalreporter, dict(table))


def _rows(reporter: pytest.TerminalReporter, rows: dict[str, Cost]) -> None:
    reporter.write_line(f"{'cases':>7} {'functions':>9} {'starts':>6} {'CPU s':>7}")
    for name, cost in rows.items():
        reporter.write_line(f"{cost.cases:7} {len(cost.functions):9} {cost.starts:6} {cost.seconds:7.1f}  {name}")
