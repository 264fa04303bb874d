"""Whether a job of the window still runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.archive import atomic
from exporter.window import jobs
from exporter.window.jobs import Jobs
from tests.support.runs import Runs
from tests.window.forked_jobs import ForkedJob


def test_a_process_that_ends_before_it_reports_has_failed_at_once(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ForkedJob] = []

    def silent(folder: Path, *, asks: bool) -> ForkedJob:
        assert not asks
        for name in (jobs.ANSWER, jobs.SAID):
            atomic.open_private(folder / name).close()
        started.append(ForkedJob(runs.start("--version")))
        return started[-1]

    monkeypatch.setattr(jobs, "_started", silent)
    known = Jobs(tmp_path / "jobs")
    job = known.start(["status", "x"], about="x", language="en")
    assert started[0].wait() == 0
    again = known.get(job.id)
    assert again is not None
    for each in (job, again, known.newest("")):
        assert each is not None
        state = each.state()
        assert (state.running, state.exit_code) == (False, None)
    assert known.running() == []
    assert known.start(["status", "x"], about="x", language="en").id != job.id
