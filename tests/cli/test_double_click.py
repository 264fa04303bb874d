"""The start without a command: help in a terminal and from a script, the window by a double-click."""

from __future__ import annotations

import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from tests.support.runs import Run, Runs
from tests.window.opened import until
from tests.window.running import environment

NAME = str(Path(sys.executable).parent / "blog-exporter")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a double-click on Windows is told by its console")


def start(
    runs: Runs, home: Path, *, built: bool, stdin: int | None = None, display: dict[str, str] | None = None
) -> Run:
    """Start the program without a command."""
    return runs.start(
        name=NAME, frozen=built, environ={**environment(home), "BROWSER": "true", **(display or {})},
        without=[name for name in ("DISPLAY", "WAYLAND_DISPLAY") if name not in (display or {})], folder=home, stdin=stdin,
    )  # fmt: skip


@pytest.mark.parametrize("display", [{"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}])
def test_a_double_click_opens_the_window_and_prints_no_address(
    runs: Runs, tmp_path: Path, display: dict[str, str]
) -> None:
    note = tmp_path / "state" / "blog-exporter" / "window" / "window.json"
    run = start(runs, tmp_path, built=True, display=display)
    until(lambda: note.exists() or run.is_over, "the window is open")
    assert not run.is_over
    run.signal(signal.SIGINT)
    done = run.wait()
    assert done.out == ""
    assert "http" not in done.err
    assert not note.exists()


def test_without_a_display_the_built_program_shows_its_help(runs: Runs, tmp_path: Path) -> None:
    """So does a line of a crontab that names no command."""
    done = start(runs, tmp_path, built=True).wait()
    assert done.code == 2
    assert "Usage: blog-exporter" in done.err


def test_with_a_terminal_the_built_program_shows_its_help(runs: Runs, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    done = start(runs, tmp_path, built=True, stdin=theirs, display={"DISPLAY": ":0"}).wait()
    os.close(ours)
    os.close(theirs)
    assert done.code == 2
    assert "Usage: blog-exporter" in done.err


def test_an_installed_program_never_opens_the_window_by_itself(runs: Runs, tmp_path: Path) -> None:
    done = start(runs, tmp_path, built=False, display={"DISPLAY": ":0"}).wait()
    assert done.code == 2
    assert "Usage: blog-exporter" in done.err
