"""An archive has one writer at a time, readers never wait, and a killed writer blocks no one."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.demo.content import Blog
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Run, Runs, backup_command, findings, folded, held, serving


@pytest.fixture
def blog() -> Blog:
    return generated_blog(30, 5, 5)


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog) as running:
        yield running


def held_up(runs: Runs, service: DemoService, blog: Blog, root: Path) -> Run:
    """Start a run, and return it while it waits for an answer."""
    service.requests.clear()
    service.before = faults.only("entry_id=7", faults.hang)
    run = runs.start(*backup_command(service, root, "--assets", "embedded", "--no-site"))
    while not any(each.params.get("entry_id") == "7" for each in service.requests):
        time.sleep(0.01)
    return run


def test_a_second_writer_is_turned_away(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    command = backup_command(service, root, "--assets", "embedded", "--no-site")
    assert runs.run(*command).code == 0
    run = held_up(runs, service, blog, root)
    done = runs.run(*command)
    assert done.code == 11
    assert re.search(rf"being written by process {run.pid} on \S+ since \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ;", done.err)
    assert "--wait-lock" in done.err

    # Commands that only read do not wait.
    for reading in (("verify", root), ("status", root), ("log", root), ("show", root, "entry", "3")):
        assert runs.run(*reading).code == 0, reading
    assert f"process {run.pid} since" in runs.run("status", root).out

    # A killed writer releases the lock.
    run.signal(signal.SIGKILL)
    assert run.wait().code == -signal.SIGKILL
    status = runs.run("status", root, "--json")
    assert status.code == 7
    assert (status.answer_before_error["writer"], status.answer_before_error["interrupted_run"]) == (None, True)
    service.before = None
    assert runs.run(*command).code == 0
    assert folded(root) == held(blog)


def test_waiting_for_the_lock(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    run = held_up(runs, service, blog, root)
    command = backup_command(service, root, "--assets", "embedded", "--no-site")
    begun = time.monotonic()
    assert runs.run(*command, "--wait-lock", "0.5s").code == 11
    assert 0.5 <= time.monotonic() - begun < 10

    service.before = None
    ended = threading.Timer(0.5, run.signal, (signal.SIGTERM,))
    ended.start()
    done = runs.run(*command, "--wait-lock", "10m")
    assert done.code == 0
    assert re.search(r"Resuming the run of 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\+09:00: ", done.err)
    assert run.wait().code == 143
    ended.join()
    assert folded(root) == held(blog)
    assert findings(root) == []


def test_many_first_runs_at_once_leave_one_whole_archive(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    command = backup_command(service, root, "--assets", "embedded", "--no-site")
    first = runs.start(*command)
    second = runs.start(*command)
    codes = {first.wait().code, second.wait().code}
    assert codes in ({0}, {0, 11})
    assert folded(root) == held(blog)
    assert findings(root) == []


def test_a_lock_in_a_removed_folder_is_not_taken_for_the_new_one(tmp_path: Path) -> None:
    """A first run that fails removes its folder, even while others wait for its lock."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from exporter.archive.lock import ArchiveLock  # noqa: PLC0415
    from exporter.errors import ArchiveLocked  # noqa: PLC0415

    path = tmp_path / "archive/.work/lock"
    now = datetime.now(UTC)
    first = ArchiveLock(path)
    first.acquire(now)
    waiting = ArchiveLock(path)
    got: list[float] = []

    def wait() -> None:
        waiting.acquire(now, 10.0)
        got.append(time.monotonic())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    path.unlink()
    path.parent.rmdir()
    path.parent.parent.rmdir()
    first.release()
    thread.join()
    with pytest.raises(ArchiveLocked, match=f"process {os.getpid()}"):
        ArchiveLock(path).acquire(now)
    waiting.release()
