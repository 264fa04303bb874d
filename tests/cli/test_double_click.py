"""The start without a command: help in a terminal and from a script, the window by a double-click."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.window.opened import until
from tests.window.running import environment

BUILT = "import sys; sys.frozen = {built}; sys.argv = sys.argv[:1]; from exporter.cli.main import run; run()"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a double-click on Windows is told by its console")


def start(
    home: Path, *, built: bool, stdin: int = subprocess.DEVNULL, environ: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    named = {name: value for name, value in environment(home).items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", BUILT.format(built=built)],
        env={**named, "BROWSER": "true", **(environ or {})}, cwd=home, stdin=stdin, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("environ", [{"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}])
def test_a_double_click_opens_the_window_and_prints_no_address(tmp_path: Path, environ: dict[str, str]) -> None:
    note = tmp_path / "state" / "blog-exporter" / "window" / "window.json"
    process = start(tmp_path, built=True, environ=environ)
    try:
        until(lambda: note.exists() or process.poll() is not None, "the window is open")
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == ""
    assert "http" not in err
    assert not note.exists()


def test_without_a_display_the_built_program_shows_its_help(tmp_path: Path) -> None:
    """So does a line of a crontab that names no command."""
    process = start(tmp_path, built=True)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Usage: blog-exporter" in err


def test_with_a_terminal_the_built_program_shows_its_help(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = start(tmp_path, built=True, stdin=theirs, environ={"DISPLAY": ":0"})
    _, err = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 2
    assert "Usage: blog-exporter" in err


def test_an_installed_program_never_opens_the_window_by_itself(tmp_path: Path) -> None:
    process = start(tmp_path, built=False, environ={"DISPLAY": ":0"})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Usage: blog-exporter" in err
