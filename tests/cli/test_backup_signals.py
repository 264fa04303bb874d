"""SIGINT and SIGTERM end a backup within two seconds, and everything that was read is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import nh3
import pytest
from aiohttp import web

from exporter.cli.signals import Signals, catch_signals
from exporter.demo.content import Blog
from exporter.errors import Interrupted, Terminated
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Runs, all_findings, backup_command, findings, folded, held, lines_of_runs, serving

SOON = 20.0
"""Two seconds, and more for a busy machine. Without the signal, each of these processes would wait for a minute or more."""
IN_TIME = pytest.mark.parametrize("in_time", [False, pytest.param(True, marks=pytest.mark.thorough)])
"""Whether the time is also measured, which a busy machine makes longer."""
CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture
def blog() -> Blog:
    return generated_blog(60, 5, 5)


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog) as running:
        yield running


def wait_until(condition: object, seconds: float = 30.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@IN_TIME
@pytest.mark.parametrize(("number", "code"), CODES)
@pytest.mark.sample(1)
def test_a_signal_while_answers_hang(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, number: signal.Signals, code: int, in_time: bool
) -> None:
    root = tmp_path / "archive"
    command = backup_command(service, root, "--assets", "embedded", "--no-site")

    async def hang_later(request: web.Request) -> web.StreamResponse | None:
        return await faults.hang(request) if int(request.query.get("entry_id", 99)) <= 30 else None

    service.before = hang_later
    run = runs.start(*command)
    wait_until(lambda: sum(each.path.endswith("entry/get") for each in service.requests) >= 38)
    time.sleep(0.2)
    begun = time.monotonic()
    run.signal(number)
    done = run.wait()
    assert not in_time or time.monotonic() - begun < SOON
    assert done.code == code
    word = "Interrupted" if number is signal.SIGINT else "Terminated"
    assert f"error: {word}; what was read is kept; run the same command again to resume." in done.err
    assert [line["outcome"] for line in lines_of_runs(root)] == ["interrupted"]
    service.before = None
    service.requests.clear()
    done = runs.run(*command)
    assert done.code == 0
    assert "are kept as they were then" in done.err
    assert 30 <= sum(each.path.endswith("entry/get") for each in service.requests) < 60
    assert folded(root) == held(blog)


@pytest.mark.parametrize(("number", "code"), CODES)
@pytest.mark.sample(1)
def test_a_signal_at_a_write_of_a_view(runs: Runs, tmp_path: Path, number: signal.Signals, code: int) -> None:
    """The version is already saved; the next run updates ``latest/``."""
    root = tmp_path / "archive"
    with serving(generated_blog(8)) as service:
        whole = runs.run(*backup_command(service, tmp_path / "whole"))
        assert whole.code == 0
        command = backup_command(service, root)
        done = runs.run(*command, kill_at=whole.calls * 2 // 3, kill_with=number)
        assert done.code == code
        assert findings(root) == []
        assert not (root / ".work/latest.new").exists()
        assert [line["outcome"] for line in lines_of_runs(root)] == ["saved"]
        assert runs.run(*command).code == 0
        assert all_findings(root) == []
        assert len(list((root / "latest/markdown").glob("*/*/*.md"))) == 8
        assert len(list((root / "latest/site/entry").iterdir())) == 8


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "code", "view"), [(*CODES[0], "markdown"), (*CODES[1], "site/entry")])
def test_a_signal_while_views_are_made(
    runs: Runs, tmp_path: Path, number: signal.Signals, code: int, view: str
) -> None:
    """The version is already saved; the next run updates ``latest/``."""
    root = tmp_path / "archive"
    blog = generated_blog(600)
    with serving(blog) as service:
        command = backup_command(service, root, "--concurrency", 32)
        run = runs.start(*command)
        wait_until((root / ".work/latest.new" / view).is_dir)
        run.signal(number)
        done = run.wait()
        assert done.code == code
        assert findings(root) == []
        assert not (root / ".work/latest.new").exists()
        assert [line["outcome"] for line in lines_of_runs(root)] == ["saved"]
        assert not (root / "latest/site").exists()  # it did not finish the views first
        assert runs.run(*command).code == 0
        assert all_findings(root) == []
        assert len(list((root / "latest/markdown").glob("*/*/*.md"))) == 600
        assert len(list((root / "latest/site/entry").iterdir())) == 600


@IN_TIME
@pytest.mark.parametrize(("number", "code"), CODES)
@pytest.mark.sample(1)
def test_a_signal_while_waiting_for_the_lock(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, number: signal.Signals, code: int, in_time: bool
) -> None:
    root = tmp_path / "archive"
    command = backup_command(service, root, "--assets", "embedded", "--no-site")
    assert runs.run(*command).code == 0
    import fcntl  # noqa: PLC0415

    with (root / ".work/lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = runs.start(*command, "--wait-lock", "10m")
        time.sleep(0.5)
        begun = time.monotonic()
        run.signal(number)
        assert run.wait().code == code
        assert not in_time or time.monotonic() - begun < SOON


SCRIPT = """
import sys, time
from exporter.cli import signals
from exporter.cli.signals import catch_signals
from exporter.errors import Interrupted
signals._PATIENCE_SECONDS = float(sys.argv[1])
with catch_signals():
    word = "ready"
    while True:
        try:
            print(word, flush=True)
            time.sleep(60)
        except Interrupted:
            word = "interrupted"
"""


def stubborn(patience: float) -> subprocess.Popen[str]:
    """Start a process that ignores requests to end; ``patience`` is the seconds until the first one ends it."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(patience)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize(
    ("number", "code", "in_time"),
    [(*CODES[1], False), *(pytest.param(*row, True, marks=pytest.mark.thorough) for row in CODES)],
)
def test_a_process_that_ignores_the_signal_is_ended(number: signal.Signals, code: int, in_time: bool) -> None:
    process = stubborn(1.7)
    begun = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate()
    seconds = time.monotonic() - begun
    assert seconds > 1.0
    assert not in_time or seconds < SOON
    assert (process.returncode, out) == (code, "interrupted\n")
    assert err.count("\n") == 1
    assert "what was read is kept" in err


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [(15, 2, 130), *(pytest.param(*row, marks=pytest.mark.thorough) for row in ((2, 2, 130), (15, 15, 143)))],
)
def test_a_second_signal_ends_at_once(first: int, second: int, code: int) -> None:
    process = stubborn(600.0)
    assert process.stdout is not None
    process.send_signal(first)
    assert process.stdout.readline() == "interrupted\n"
    process.send_signal(second)
    process.communicate(timeout=300)
    assert process.returncode == code


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), catch_signals():
        os.kill(os.getpid(), signal.SIGTERM)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_is_not_lost_in_foreign_code(capfd: pytest.CaptureFixture[str]) -> None:
    """The sanitizer calls Python from Rust, which does not pass exceptions on."""
    came: list[str] = []

    def look(tag: str, _attribute: str, value: str) -> str:
        if not came:
            came.append(tag)
            os.kill(os.getpid(), signal.SIGINT)
        return value

    with pytest.raises(Interrupted), catch_signals():
        nh3.clean('<a href="https://a.example/">a</a>' * 3, attribute_filter=look)
    assert came == ["a"]
    assert "Traceback" not in capfd.readouterr().err


async def test_a_running_loop_receives_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[Interrupted] = []
    with catch_signals() as signals:
        with signals.passed_to(received.append):
            os.kill(os.getpid(), signal.SIGINT)
            while not received:
                await _turn()
        assert type(received[0]) is Interrupted
        with signals.passed_to(received.append):
            assert len(received) == 2, "a signal before the run is passed on to it"


async def _turn() -> None:
    import asyncio  # noqa: PLC0415

    await asyncio.sleep(0)


def test_outside_of_the_main_thread_nothing_is_caught() -> None:
    found: list[Signals] = []

    def use() -> None:
        with catch_signals() as signals:
            found.append(signals)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(found) == 1
    assert signal.getsignal(signal.SIGTERM) is before
