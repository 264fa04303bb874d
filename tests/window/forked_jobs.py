"""A window's jobs as forks of the test's fork server, so that a job need not import the program again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.archive import atomic
from exporter.cli import events
from exporter.window import jobs
from tests.support.runs import Run, Runs, Zygote

_PATIENCE_SECONDS = 240.0


class ForkedJob:
    """A job under way; it answers as a process that :mod:`subprocess` started."""

    stdin = None

    def __init__(self, run: Run) -> None:
        self._run = run
        self._code: int | None = None

    def poll(self) -> int | None:
        return self.wait() if self._run.is_over else None

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._code = self._run.wait(timeout or _PATIENCE_SECONDS).code
        return self._code


@contextmanager
def forked_jobs(zygote: Zygote) -> Iterator[None]:
    """Fork the jobs that are started in this context; a job that asks is still a new process."""
    real = jobs._started
    with (
        tempfile.TemporaryDirectory() as folder,
        Runs(Path(folder), zygote) as runs,
        pytest.MonkeyPatch.context() as patch,
    ):
        started: list[ForkedJob] = []

        def start(job: Path, *, asks: bool) -> object:
            if asks:
                return real(job, asks=asks)
            environ = {**os.environ, events.VARIABLE: "json"}
            with atomic.open_private(job / jobs.ANSWER) as answer, atomic.open_private(job / jobs.SAID) as said:
                run = runs.start(
                    "app", "--job", job, environ=environ, folder=Path.home(), stdout=answer.fileno(), stderr=said.fileno()
                )  # fmt: skip
            started.append(ForkedJob(run))
            return started[-1]

        patch.setattr(jobs, "_started", start)
        yield
        for each in started:
            each.wait()
