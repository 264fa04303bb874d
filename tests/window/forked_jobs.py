"""A window's jobs as forks of the test's fork server, so that a job need not import the program again."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.cli import events
from exporter.window import jobs
from tests.support.runs import Zygote

_PATIENCE_SECONDS = 240.0


class _ForkedJob:
    """A job under way; it answers as a process that :mod:`subprocess` started."""

    stdin = None

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        zygote.order(
            {
                "arguments": ["app", "--job", str(folder)],
                "kill_at": None, "file_size": None, "durable": False, "trace": None, "now": None,
                "environ": {**os.environ, events.VARIABLE: "json"},
                "folder": str(Path.home()),
                "stdout": str(folder / jobs.ANSWER),
                "stderr": str(folder / jobs.SAID),
                "calls": str(folder / "calls"),
            }
        )  # fmt: skip
        zygote.answer()
        self._code: int | None = None
        self._waiting = threading.Thread(target=self._wait, args=(zygote,))
        self._waiting.start()

    def _wait(self, zygote: Zygote) -> None:
        self._code = zygote.answer()

    def poll(self) -> int | None:
        return self._code

    def wait(self, timeout: float | None = None) -> int | None:
        self._waiting.join(timeout)
        return self._code


@contextmanager
def forked_jobs(zygote: Zygote) -> Iterator[None]:
    """Fork the jobs that are started in this context, one after another; a job that asks is still a new process."""
    started: list[_ForkedJob] = []
    real = jobs._started

    def start(folder: Path, *, asks: bool) -> object:
        if asks:
            return real(folder, asks=asks)
        for each in started:  # the fork server has one child at a time
            each.wait(_PATIENCE_SECONDS)
        for name in (jobs.ANSWER, jobs.SAID):
            (folder / name).touch(0o600)
        started.append(_ForkedJob(zygote, folder))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_started", start)
        yield
        for each in started:
            each.wait(_PATIENCE_SECONDS)
