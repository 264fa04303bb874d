"""The lock between real processes: held, waited for, and released when its holder dies."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.lock import ArchiveLock
from exporter.errors import ArchiveLocked, UsageError
from tests.archive.builder import open_files

NOW = datetime(2026, 1, 31, 12, 34, 56, tzinfo=UTC)
HOLDER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from exporter.archive.lock import ArchiveLock
with ArchiveLock(Path(sys.argv[1])) as lock:
    lock.acquire(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), wait=30)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive/.work/lock"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its standard input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_another_process_is_refused_until_the_holder_is_killed(path: Path, holder: subprocess.Popen[str]) -> None:
    before = open_files()
    with pytest.raises(ArchiveLocked) as caught:
        ArchiveLock(path).acquire(NOW)
    message = str(caught.value)
    assert message.startswith(f"{path.parent.parent} is being written by process {holder.pid} on ")
    assert "since 2026-01-02T03:04:05Z; wait for it to end, or use --wait-lock." in message
    assert "\n" not in message
    with pytest.raises(ArchiveLocked):
        ArchiveLock(path).acquire(NOW, wait=0.01)
    assert open_files() == before
    assert ArchiveLock(path).holder()["pid"] == holder.pid
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert ArchiveLock(path).holder() == {}
    with ArchiveLock(path) as lock:
        lock.acquire(NOW)
        assert lock.holder()["pid"] == os.getpid()
        assert lock.holder_was_killed


def test_waiting_ends_when_the_holder_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []
    with ArchiveLock(path) as holder, ArchiveLock(path) as waiting:
        holder.acquire(NOW)

        def sleep(seconds: float) -> None:
            assert holder.is_held()
            waits.append(seconds)
            if len(waits) == 3:
                holder.release()

        monkeypatch.setattr("exporter.archive.lock.time.sleep", sleep)
        waiting.acquire(NOW, wait=3600)
        assert waits == [0.2] * 3
        assert not waiting.holder_was_killed


def test_it_can_be_taken_again_after_release(path: Path) -> None:
    for _ in range(2):
        with ArchiveLock(path) as lock:
            lock.acquire(NOW)
            assert not lock.holder_was_killed
            note = json.loads(path.read_bytes())
            assert note["since"] == "2026-01-31T12:34:56Z"
            assert re.fullmatch(r"\S+", note["host"])
        assert path.read_bytes() == b""


def test_two_in_one_process_exclude_each_other(path: Path) -> None:
    with ArchiveLock(path) as lock:
        lock.acquire(NOW)
        with pytest.raises(ArchiveLocked, match=f"process {os.getpid()} "):
            ArchiveLock(path).acquire(NOW)


@pytest.mark.parametrize("note", [b"", b"torn", b"[1]"])
def test_a_holder_without_a_readable_note_is_another_process(path: Path, note: bytes) -> None:
    with ArchiveLock(path) as lock:
        lock.acquire(NOW)
        path.write_bytes(note)
        with pytest.raises(ArchiveLocked, match="is being written by another process;"):
            ArchiveLock(path).acquire(NOW)


@pytest.mark.parametrize(
    ("pid", "host", "shown"),
    [(10**30, socket.gethostname(), True), (1, "another.example", True), ("1", socket.gethostname(), True),
     (os.getpid(), socket.gethostname(), True), (2**22 + 1, socket.gethostname(), False)],
    ids=["huge", "elsewhere", "text", "this", "dead"],
)  # fmt: skip
def test_only_a_process_of_this_machine_is_known_to_be_dead(path: Path, pid: object, host: str, shown: bool) -> None:
    path.parent.mkdir(parents=True)
    note = {"pid": pid, "host": host, "since": "2026-01-02T03:04:05Z"}
    path.write_text(json.dumps(note))
    assert ArchiveLock(path).holder() == (note if shown else {})


def test_a_lock_without_its_file_locks_nothing(path: Path) -> None:
    with ArchiveLock(path) as first, ArchiveLock(path) as second:
        first.acquire(NOW)
        shutil.rmtree(path.parent)
        second.acquire(NOW)
        assert second.holder()["pid"] == os.getpid()
        with pytest.raises(ArchiveLocked):
            ArchiveLock(path).acquire(NOW)


def test_a_missing_lock_has_no_holder(path: Path) -> None:
    assert ArchiveLock(path).holder() == {}
    ArchiveLock(path).release()


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(b"")
    with pytest.raises(UsageError, match="Cannot access"):
        ArchiveLock(tmp_path / "archive/.work/lock").acquire(NOW)


def test_a_file_system_without_locks_is_not_another_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_handle: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(UsageError, match="The file system may not support locks"):
        ArchiveLock(tmp_path / ".work/lock").acquire(NOW)
