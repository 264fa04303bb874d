"""A window in a separate process, as a person starts it, or in a thread, with a home and a crontab for the test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from exporter.window.jobs import Job, Jobs
from tests.support.runs import ROOT, Zygote, unmeasured
from tests.support.schedulers import CRONTAB
from tests.window.forked_jobs import forked_jobs
from tests.window.in_thread import running_window

PATIENCE_SECONDS = 240.0
"""Programs start slowly on a loaded machine."""


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait until something holds, and return it."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := holds()):
        assert time.monotonic() < end, what
        time.sleep(0.1)
    return found


@dataclass
class Opened:
    """A window that runs.

    Attributes:
        home: the person's home folder.
        address: the first page's, with the secret.
    """

    home: Path
    address: str

    @property
    def origin(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def crontab(self) -> str:
        """The content of the person's crontab."""
        path = self.home / "machine" / "table"
        return path.read_text("utf-8") if path.exists() else ""

    @property
    def jobs(self) -> Jobs:
        return Jobs(state_folder(self.home) / "jobs")

    def newest(self, about: str) -> Job:
        """Wait until a job of this kind exists, and return the newest."""
        found = until(lambda: [job for job in self.jobs.all() if job.about.split()[0] == about], f"a job: {about}")
        return found[0]  # type: ignore[no-any-return]


@dataclass
class OpenedProcess(Opened):
    """A window in a separate process.

    Attributes:
        process: the window's.
    """

    process: subprocess.Popen[str]

    def kill(self) -> None:
        """End the window as a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def state_folder(home: Path) -> Path:
    return home / ".state" / "blog-exporter" / "window"


def environment(home: Path) -> dict[str, str]:
    """Return a person's environment: this home, no keyring, and a crontab in ``machine/table``."""
    programs = home / "machine" / "bin"
    if not programs.exists():
        programs.mkdir(parents=True)
        crontab = programs / "crontab"
        crontab.write_text(CRONTAB.format(folder=home / "machine"))
        crontab.chmod(0o700)
    return {
        **unmeasured(),
        "HOME": str(home), "PATH": str(programs), "TZ": "Asia/Tokyo",
        "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".data"),
        "XDG_STATE_HOME": str(home / ".state"), "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "exporter", *map(str, words)]


@contextmanager
def opened_in_thread(home: Path, zygote: Zygote, language: str = "en") -> Iterator[Opened]:
    """Start the window in a thread of this process, and fork its jobs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(home).items():
            patch.setenv(name, value)
        with forked_jobs(zygote), running_window(state_folder(home), language=language) as window:
            yield Opened(home, window.url)
            assert window.warnings == []


@contextmanager
def opened(home: Path, language: str = "ja") -> Iterator[OpenedProcess]:
    """Start the window, and end it and its jobs afterwards."""
    process = subprocess.Popen(
        command("app", "--no-open", "--lang", language),
        env=environment(home), cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    window = OpenedProcess(home, process.stdout.readline().strip(), process)
    try:
        assert window.address.startswith("http://127.0.0.1:"), window.address
        yield window
    finally:
        for job in window.jobs.running():
            job.stop()
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)
        until(lambda: not window.jobs.running(), "the jobs end")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
