"""Child processes: results come in order, limits hold, and neither a crash nor a hostile result harms the parent."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from exporter.worker import Worker, WorkerFailed, WorkerGone, serve


class _Hostile:
    """Its pickle runs a program in the process that reads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch taken-over",)


def _hostile_result() -> object:
    return _Hostile()


def _larger_than(most: int) -> int:
    return len(bytearray(most + 1))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """A worker whose process serves several tests."""
    with Worker(memory=300_000_000) as started:
        yield started


def test_results_come_in_the_order_of_the_calls(worker: Worker) -> None:
    for number in range(9):
        worker.submit(divmod, number, 2)
    assert [worker.result() for _ in range(9)] == [divmod(number, 2) for number in range(9)]


def test_a_function_may_be_named(worker: Worker) -> None:
    assert worker.call("exporter.text:width", "海a") == 3


def test_an_error_is_named_and_the_process_continues(worker: Worker) -> None:
    worker.submit(int, "x")
    worker.submit(int, "7")
    with pytest.raises(WorkerFailed, match="ValueError: invalid literal"):
        worker.result()
    assert worker.result() == 7


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits data")
def test_memory_is_limited(worker: Worker) -> None:
    assert worker.call(_larger_than, 100_000_000) == 100_000_001
    with pytest.raises(WorkerFailed, match="MemoryError"):
        worker.call(_larger_than, 400_000_000)


def _kill(_: object) -> None:
    signal.raise_signal(signal.SIGKILL)


@pytest.mark.thorough
def test_a_crash_is_named_and_the_next_call_has_a_new_process_with_the_shared_value() -> None:
    with Worker(shared=[1, 2]) as worker:
        with pytest.raises(WorkerGone, match="it ended with -9"):
            worker.call(_kill)
        assert worker.call(sum, 10) == 13
        assert worker.call(len) == 2


def _killed_once(marker: str) -> str:
    try:
        Path(marker).mkdir()
    except FileExistsError:
        return "done"
    signal.raise_signal(signal.SIGKILL)
    return "killed"


def test_a_call_whose_process_is_killed_is_sent_to_a_new_one(tmp_path: Path) -> None:
    with Worker() as worker:
        assert worker.call(_killed_once, str(tmp_path / "marker")) == "done"


def test_a_system_that_starts_no_process_or_thread_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    with Worker() as worker, monkeypatch.context() as patched:
        patched.setattr("exporter.worker.Thread.start", refused)
        with pytest.raises(WorkerGone, match="can't start new thread"):
            worker.call(int, "7")
        patched.undo()
        assert worker.call(int, "7") == 7


def test_a_call_to_a_process_that_has_crashed_fails() -> None:
    with Worker() as worker:
        worker.submit(os._exit, 7)
        with pytest.raises(WorkerFailed, match="it ended with 7") as raised:
            worker.submit(len, bytes(1 << 20))
    assert not isinstance(raised.value, WorkerGone), "its end is the call's own fault"


@pytest.mark.thorough
def test_a_call_that_takes_too_long_is_killed() -> None:
    with Worker() as worker:
        with pytest.raises(TimeoutError):
            worker.call(time.sleep, 3600, seconds=0.1)
        assert worker.call(int, "7") == 7
        worker.submit(time.sleep, 3600)


def test_a_result_that_would_run_code_here_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("exporter.worker._EXIT_SECONDS", 0.1)
    with Worker() as worker, pytest.raises(WorkerFailed):
        worker.call(_hostile_result)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("system", [sys.platform, pytest.param("another", marks=pytest.mark.thorough)])
def test_it_accepts_no_more_than_its_pipe_holds(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with Worker() as worker:
        room = [worker.has_room]
        worker.submit(len, bytes(1 << 20))
        room.append(worker.has_room)
        worker.result()
        for _ in range(16):
            room.append(worker.has_room)
            worker.submit(time.sleep, 3600)
        room.append(worker.has_room)
    assert room == [True, False, *[True] * 16, False]


_KILLED = """
import os, time
from exporter.worker import Worker
worker = Worker()
print(worker.call(os.getpid), flush=True)
time.sleep(3600)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _KILLED], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        child = int(killed.stdout.readline())
        killed.kill()
    deadline = time.monotonic() + 60
    while _runs(child):
        assert time.monotonic() < deadline, "the child still runs"
        time.sleep(0.01)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_child_process() -> None:
    source, sink = BytesIO(), BytesIO()
    for value in [(1 << 40, 5), (max, (3,)), ("builtins:max", (8,)), (max, ("x",))]:
        pickle.dump(value, source)
    source.seek(0)
    serve(source, sink)
    sink.seek(0)
    assert [pickle.load(sink) for _ in range(2)] == [(True, 5), (True, 8)]
    succeeded, reason = pickle.load(sink)
    assert not succeeded
    assert reason.startswith("TypeError: ")


@pytest.mark.thorough
def test_a_process_that_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with Worker() as worker, pytest.raises(WorkerFailed, match="No such file"):
        worker.call(int, "7")
