"""The real command's peak memory with a hostile service, which runs in a separate process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.runs import ROOT, all_findings, lines_of_runs, unmeasured
from tests.torture.hostile_service import BLOG_ID, ENTRIES

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = [pytest.mark.thorough, pytest.mark.no_cover]

KIB_A_MB = 1_000_000 / 1024
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small process in between, because Linux adds the parent's memory at the fork to the child's peak."""


@contextmanager
def hostile(case: str) -> Iterator[str]:
    """Start the service, and yield its base URL."""
    command = [sys.executable, "-m", "tests.torture.hostile_service", case]
    with subprocess.Popen(command, cwd=ROOT, env=unmeasured(), stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        try:
            yield f"http://127.0.0.1:{service.stdout.readline().strip()}"
        finally:
            service.kill()


@dataclass(frozen=True)
class Measured:
    """A run's exit code, its messages, and its largest resident memory in MB."""

    code: int
    err: str
    peak: float


def backup(base_url: str, root: Path, *options: str, limit: int | None = None) -> Measured:
    """Run the command; ``limit`` bounds its address space, in bytes."""
    command = [
        sys.executable, "-m", "exporter", "backup", BLOG_ID, "--base-url", base_url, "--archive", str(root),
        "--assets", "none", "--no-site", "--retries", "1", *options,
    ]  # fmt: skip
    if limit is not None:
        command = ["prlimit", f"--as={limit}", *command]
    said = root.with_suffix(".stderr")
    environ = {**unmeasured(), "XDG_CONFIG_HOME": str(root.parent / "no-config")}
    with said.open("wb") as err:
        launched = subprocess.run(
            [sys.executable, "-c", LAUNCHER, *command],
            cwd=ROOT,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=err,
            check=True,
        )
    code, kib = launched.stdout.split()
    return Measured(int(code), said.read_text(), int(kib) / KIB_A_MB)


@pytest.mark.parametrize(
    ("case", "most"),
    [
        ("gzip bombs", 120),
        ("pages of 404", 120),
        ("endless", 200),
        ("endless refusal", 120),
        ("long message", 200),
        ("heavy JSON", 300),
        ("many refusals", 200),
    ],
)
def test_unreadable_answers_cost_little_memory(case: str, most: int, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    with hostile(case) as base_url:
        done = backup(base_url, root)
    assert done.code == 3, done.err
    assert done.peak < most
    assert lines_of_runs(root)[-1]["completeness"]["entries"]["listed"] == ENTRIES[case][0]
    assert all_findings(root) == []


def test_pages_read_ahead_share_the_memory_with_the_page_whose_turn_it_is(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    with hostile("heavy pages") as base_url:
        done = backup(base_url, root, "--dry-run", "--concurrency", "32")
    assert done.code == 3, done.err  # the filling records have no ids
    assert "12 entries   12 new" in done.err
    assert "12 uploads   12 new" in done.err
    assert done.peak < 300


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is a program of Linux")
@pytest.mark.parametrize("megabytes", [40, 60, 70])
def test_a_process_that_may_have_no_more_memory_says_so_in_one_line(megabytes: int, tmp_path: Path) -> None:
    with hostile("many refusals") as base_url:
        done = backup(base_url, tmp_path / "archive", "-q", limit=megabytes * 1_000_000)
    assert done.code == 28, done.err
    assert done.err.count("\n") == 1
    assert "ulimit -v" in done.err


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is a program of Linux")
@pytest.mark.parametrize("megabytes", range(42, 56, 4))
def test_memory_that_ends_while_the_program_starts_is_one_line(megabytes: int, tmp_path: Path) -> None:
    done = backup("http://127.0.0.1:9", tmp_path / "archive", "-q", limit=megabytes * 1_000_000)
    assert "Traceback" not in done.err
    assert (done.code, done.err.count("\n")) == (28, 1), done.err
