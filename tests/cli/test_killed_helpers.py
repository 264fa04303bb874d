"""A backup saves the same archive with the same ``latest/`` if the system kills its helper processes or starts none.

A backup that is killed itself between its version and ``latest/`` is named by ``status``, and the next run goes on.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from exporter.clock import SystemClock
from exporter.demo.content import demo_blog, later_changes
from exporter.library import views
from exporter.site import thumbnails
from exporter.worker import Worker
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Runs, backup_command, serving

_SUBMIT: Final = Worker.submit
_MOMENTS: Final = 20
_FIRST_DAY: Final = datetime(2026, 7, 1, tzinfo=UTC)
_TREE = dict[str, bytes]


@dataclass
class Helpers:
    """The helper processes of runs: counts the calls sent to them, and kills one right after it got its call."""

    kill_at: int = 0
    calls: int = 0
    killed: int = 0

    def submit(self, worker: Worker, function: Callable[..., Any] | str, *args: Any) -> None:
        """Replace :meth:`exporter.worker.Worker.submit`."""
        _SUBMIT(worker, function, *args)
        self.calls += 1
        if self.calls == self.kill_at:
            assert worker._process is not None
            os.kill(worker._process.pid, signal.SIGKILL)
            self.killed += 1


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> Helpers:
    """Let two processors work, so that a run has helpers for its pages and for its pictures."""
    found = Helpers()
    for module in (views, thumbnails):
        monkeypatch.setattr(module, "processors", lambda: 2)
    monkeypatch.setattr(views.with_help, "__defaults__", (5,))
    monkeypatch.setattr(Worker, "has_room", True)

    def submit(worker: Worker, function: Callable[..., Any] | str, *args: Any) -> None:
        found.submit(worker, function, *args)

    monkeypatch.setattr(Worker, "submit", submit)
    return found


@dataclass
class Night:
    """A backup that can be repeated: its command, the archive before it, and ``latest/`` after it without a kill."""

    command: tuple[object, ...]
    root: Path
    before: Path | None
    undisturbed: _TREE
    calls: int

    def begin(self) -> None:
        """Put the archive into the state before the backup."""
        shutil.rmtree(self.root)
        if self.before is not None:
            shutil.copytree(self.before, self.root, symlinks=True)


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(demo_blog()) as running:
        yield running


def _started_none(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def _latest(root: Path) -> _TREE:
    folder = root / "latest"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=["first", "later"])
def night(
    request: pytest.FixtureRequest,
    service: DemoService,
    program: Program,
    helpers: Helpers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Night:
    root, before = tmp_path / "archive", None
    files = service.base_url + "/v1/blog/user/{user_id}/{mtime}"
    how = ("--assets", "files", "--file-url", files, "--allow-private-network", "--retries", 1)
    command = backup_command(service, root, *how)
    monkeypatch.setattr(SystemClock, "now", lambda _: _FIRST_DAY)
    assert program(*command).code == 0
    if request.param == "later":
        before = tmp_path / "before"
        shutil.copytree(root, before, symlinks=True)
        later_changes(next(iter(service.blogs.values())))
        # Another title changes all pages.
        command, helpers.calls = (*command, "--title", "潮の日記"), 0
        monkeypatch.setattr(SystemClock, "now", lambda _: _FIRST_DAY + timedelta(days=1))
        assert program(*command).code == 0
    return Night(command, root, before, _latest(root), helpers.calls)


@pytest.mark.parametrize(
    "moment",
    [pytest.param(n, marks=() if n == _MOMENTS // 2 else pytest.mark.thorough) for n in range(_MOMENTS)],
)
def test_a_helper_that_is_killed_changes_nothing(moment: int, night: Night, helpers: Helpers, program: Program) -> None:
    night.begin()
    helpers.calls, helpers.kill_at = 0, 1 + moment * (night.calls - 1) // (_MOMENTS - 1)
    done = program(*night.command)
    assert (done.code, helpers.killed) == (0, 1), done.err
    assert _latest(night.root) == night.undisturbed
    assert (program("status", night.root).code, program("verify", night.root).code) == (0, 0)
    assert program("backup", night.root, "-q").code == 0
    assert _latest(night.root) == night.undisturbed


@pytest.mark.parametrize("ends", ["does not start", "is killed each time"])
@pytest.mark.parametrize("night", ["first"], indirect=True)
def test_pictures_without_a_helper_are_named_and_made_by_the_next_run(
    ends: str, night: Night, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    night.begin()

    def submit(worker: Worker, function: Callable[..., Any] | str, *args: Any) -> None:
        _SUBMIT(worker, function, *args)
        assert worker._process is not None
        os.kill(worker._process.pid, signal.SIGSTOP)
        os.kill(worker._process.pid, signal.SIGKILL)

    with monkeypatch.context() as patched:
        if ends == "does not start":
            patched.setattr("exporter.worker.subprocess.Popen", _started_none)
        else:
            patched.setattr(Worker, "submit", submit)
        done = program(*night.command, "--json")
        assert done.code == 3
        assert done.json["missing_views"] == ["latest/site/thumbnails"]
        assert program("rebuild", night.root).code == 3
    status = program("status", night.root)
    assert (status.code, "(latest/site/thumbnails)" in status.err) == (3, True)
    assert "latest/site/thumbnails" in program("verify", night.root).out
    assert "(latest/site/thumbnails)" in " ".join(program("doctor", night.root, "--offline").out.split())
    assert program("backup", night.root, "-q").code == 0
    assert program("status", night.root).code == 0
    assert _latest(night.root) == night.undisturbed


def test_a_run_that_is_killed_before_the_views_is_named_and_the_next_one_makes_them(
    runs: Runs, program: Program, tmp_path: Path
) -> None:
    root = tmp_path / "archive"
    with serving(generated_blog(5)) as service:
        order = backup_command(service, root, "--assets", "none", "--no-site")
        assert runs.run(*order, kill_after=root / "runs.jsonl").code == -signal.SIGKILL
        assert not (root / "latest").exists()
        status = program("status", root)
        assert (status.code, status.out.partition(" · ")[0]) == (3, "latest/ INCOMPLETE")
        assert "latest/ of generated.blog.example.jp" in status.err
        assert "is missing, old or incomplete (latest). The next backup makes it" in status.err
        assert f"blog-exporter rebuild {root}" in status.err
        for quick in ((), ("--quick",)):
            assert "latest: it is missing" in program("verify", root, *quick).out
        found = program("doctor", root, "--offline").out
        assert f"blog-exporter rebuild {root}" in found
        again = runs.run("backup", root)
        assert (again.code, program("status", root).code) == (0, 0), again.err
        assert "latest/" in again.err
        assert (root / "latest" / "markdown" / "index.md").exists()
