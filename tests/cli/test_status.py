"""``status`` and ``verify`` report failed runs and all damage, even several kinds at once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.layout import CAPTURE_RUNS, Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.manifest import ArchiveInfo
from exporter.clock import timestamp
from exporter.model.kinds import Kind
from tests.archive.builder import CREATED
from tests.cli.conftest import Program, Result
from tests.support import faults
from tests.support.generated import generated_blog
from tests.support.runs import Runs, backup_command, serving


def append_run(root: Path, **changed: Any) -> None:
    """Append a line like the newest one of an archive."""
    line = {**next(Archive.open(root).newest_runs()), **changed}
    with (root / "runs.jsonl").open("ab") as runs:
        runs.write(lossless_json.dumps(line) + b"\n")


def now() -> datetime:
    return datetime.now(UTC)


@pytest.mark.parametrize(
    ("outcome", "said"), [("failed", "failed"), ("refused", "was refused"), ("interrupted", "was interrupted")]
)
def test_a_last_run_without_success_is_exit_7(outcome: str, said: str, archive: Path, program: Program) -> None:
    assert program("status", archive).code == 0
    append_run(archive, outcome=outcome, error="the service failed", completeness=None, finished_at=timestamp(now()))
    status = program("status", archive)
    assert status.code == 7
    assert f"{said}: the service failed" in status.err
    assert "As of the last run that finished:\nComplete:" in status.out
    assert program("status", archive, "-q", "--max-age", "36000d").code == 7
    append_run(archive, outcome="unchanged", error=None, finished_at=timestamp(now()))
    assert program("status", archive, "--max-age", "1d").code == 0


def test_a_real_failure_and_a_real_refusal_are_exit_7(program: Program, tmp_path: Path) -> None:
    root, blog = tmp_path / "archive", generated_blog(20)
    with serving(blog) as service:
        backup = backup_command(service, root, "--assets", "none")
        again = (*backup, "--no-site", "--no-markdown", "--retries", 0)
        assert program(*again).code == 0
        assert program("status", root, "-q").code == 0
        service.before = faults.status(500)
        assert program(*again).code == 20
        assert program("status", root, "-q").code == 7
        service.before = None
        for number in range(1, 15):
            del blog.entries[number]
        assert program(*again).code == 4
        assert "was refused" in program("status", root, "-q").err
        assert program("status", root, "-q").code == 7
        assert program(*again, "--accept-removals").code == 0
        assert program("status", root, "-q").code == 0


def test_a_first_run_that_saved_nothing_is_exit_7(program: Program, tmp_path: Path) -> None:
    root, blog = tmp_path / "archive", generated_blog(5)
    with serving(blog) as service:
        order = backup_command(service, root, "--retries", 0)
        hits = 0

        async def expire(request: Any) -> Any:
            nonlocal hits
            hits += 1
            # The token that opened the lists expires before the first entry.
            return await faults.status(401)(request) if hits > 4 else None

        service.before = expire
        assert program(*order, "--assets", "none").code == 12
    assert (root / "archive.json").exists()
    status = program("status", root, "--json")
    assert status.code == 7
    assert json.loads(status.out.splitlines()[0])["newest"] is None


def test_a_killed_run_is_exit_7_until_the_next_one(runs: Runs, tmp_path: Path, program: Program) -> None:
    root, blog = tmp_path / "archive", generated_blog(30)
    with serving(blog) as service:
        order = backup_command(service, root, "--assets", "none", "--no-site")
        assert runs.run(*order).code == 0
        service.before = faults.only("entry/get", faults.hang)
        seen = len(service.requests)
        run = runs.start(*order)
        until = time.monotonic() + 60
        while not any(request.path.endswith("entry/get") for request in service.requests[seen:]):
            assert time.monotonic() < until
            time.sleep(0.01)
        run.signal(signal.SIGKILL)
        assert run.wait().code == -signal.SIGKILL
        service.before = None
        status = program("status", root, "-q")
        assert (status.code, "did not finish" in status.err) == (7, True)
        assert runs.run(*order).code == 0
        assert program("status", root, "-q").code == 0


@pytest.mark.parametrize("part", ["latest", "latest/site", "latest/entries.jsonl"])
def test_a_missing_part_of_latest_is_exit_3(part: str, archive: Path, program: Program) -> None:
    gone = archive / part
    (shutil.rmtree if gone.is_dir() else os.remove)(gone)
    status = program("status", archive)
    said = status.out + status.err
    assert (status.code, said.count(f"({part})")) == (3, 1)
    assert status.out.startswith("latest/ INCOMPLETE · last success ")
    assert f"blog-exporter rebuild {archive}\n" in status.err
    assert part in program("verify", archive, "--quick").out
    doctor = program("doctor", archive, "--offline", "--json").json
    assert [each["exit_code"] for each in doctor["findings"] if each["name"] == "views_missing"] == [3]
    assert program("rebuild", archive).code == 0
    assert program("status", archive).code == 0


@pytest.mark.parametrize("stands", ["a file", "a link"])
def test_what_stands_in_the_place_of_latest_is_said_once(
    stands: str, archive: Path, program: Program, tmp_path: Path
) -> None:
    shutil.rmtree(archive / "latest")
    if stands == "a file":
        (archive / "latest").write_text("mine")
    else:
        (archive / "latest").symlink_to(tmp_path, target_is_directory=True)
    status = program("status", archive)
    assert (status.code, "incomplete (latest)." in status.err) == (3, True)
    assert program("verify", archive, "--quick").out.count("latest-stale") == 1


def test_what_nobody_asked_for_in_latest_is_not_missing(archive: Path, program: Program, tmp_path: Path) -> None:
    for words in (("rebuild", "--no-site"), ("rebuild", "--at", "1"), ("rebuild", "--no-site", "--no-markdown")):
        assert program(words[0], archive, *words[1:]).code == 0
        assert program("status", archive).code == 0, words
    assert program("sync", archive, tmp_path / "copy").code == 0
    assert program("status", tmp_path / "copy").code == 0
    for quick in ((), ("--quick",)):
        assert "latest" not in program("verify", tmp_path / "copy", *quick).out
    shutil.rmtree(archive / ".work")
    assert program("status", archive).code == 0


def test_each_reason_is_said_once(program: Program, tmp_path: Path) -> None:
    root, blog = tmp_path / "archive", generated_blog(3)
    with serving(blog) as service:
        order = backup_command(service, root, "--assets", "none", "--no-site", "--no-markdown", "--retries", 0)
        service.before = faults.only("entry_id=2", faults.status(500))
        assert program(*order).code == 3
        partial = program("status", root)
        assert (partial.code, (partial.out + partial.err).count("answered 500")) == (3, 1)
        assert "answered 500" in program("status", root, "-q").err
        service.before = faults.status(500)
        assert program(*order).code == 20
    failed = program("status", root)
    assert (failed.code, failed.out.count("service is busy"), failed.err.count("service is busy")) == (7, 1, 1)


def test_an_interrupted_first_backup_is_said_once_and_can_go_on(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    with serving(generated_blog(3)) as service:
        order = backup_command(service, root, "--assets", "none", "--no-site", "--retries", 0)
        service.before = faults.after(4, faults.status(401))
        assert program(*order).code == 12
        status = program("status", root)
        assert (status.code, "As of the last run" in status.out, "Missing" in status.out) == (7, False, False)
        doctor = program("doctor", root, "--offline")
        assert (doctor.code, doctor.out.splitlines()[0]) == (7, "1 problem")
        assert "not complete" not in doctor.out
        assert "another computer" not in doctor.out
        service.before = None
        for words in (("show", root, "entries", "1"), ("verify", root)):
            assert program(*words).err.rstrip().endswith(f"Back up: blog-exporter backup {root}")
        assert program("backup", root, "-q").code == 0
    assert program("status", root).code == 0


def test_a_run_dated_in_the_future_does_not_disable_max_age(archive: Path, program: Program) -> None:
    append_run(archive, finished_at="2037-01-01T00:00:00Z")
    status = program("status", archive, "--max-age", "2d")
    assert status.code == 6
    assert "dated in the future (2037-01-01T09:00:00+09:00)" in status.err
    append_run(archive, finished_at=timestamp(now() - timedelta(days=3)))
    status = program("status", archive, "--max-age", "2d")
    assert (status.code, "more than 2d ago" in status.err) == (6, True)
    append_run(archive, finished_at=timestamp(now() + timedelta(seconds=30)))
    assert program("status", archive, "--max-age", "2d").code == 0


def test_quiet_status_prints_nothing_when_all_is_well(archive: Path, program: Program) -> None:
    status = program("status", archive, "-q")
    assert (status.code, status.out, status.err) == (0, "", "")
    assert len(program("status", archive).out.splitlines()) >= 4


@pytest.mark.parametrize("options", [(), ("--quick",)])
def test_a_missing_folder_of_pictures_is_damage(options: tuple[str, ...], archive: Path, program: Program) -> None:
    program("verify", archive)
    shutil.rmtree(archive / "assets")
    found = program("verify", archive, "--json", *options)
    assert found.code == 13
    codes = {each["code"] for each in json.loads(found.out.splitlines()[0])["findings"]}
    assert codes == {"asset-missing"}


@pytest.mark.parametrize("options", [(), ("--quick",)])
def test_one_missing_picture_of_an_older_version_is_damage(
    options: tuple[str, ...], archive: Path, program: Program
) -> None:
    program("verify", archive)
    stored = next(path for path in sorted((archive / "assets").rglob("*")) if path.is_file())
    stored.unlink()
    found = program("verify", archive, *options)
    assert (found.code, stored.name in found.out) == (13, True)


@pytest.mark.parametrize("complete", [True, False])
def test_an_emptied_segment_is_damage_in_every_line_of_status(complete: bool, archive: Path, program: Program) -> None:
    if not complete:
        runs = archive / "runs.jsonl"
        runs.write_bytes(runs.read_bytes().replace(b'"complete":true', b'"complete":false'))
        assert program("status", archive).code == 3
    (archive / "versions/000001/entries.jsonl").write_bytes(b"")
    found = program("status", archive)
    assert (found.code, found.out.split()[0]) == (13, "DAMAGED")
    assert "versions/000001/entries.jsonl" in found.err
    document = json.loads(program("status", archive, "--json").out.splitlines()[0])
    assert document["damaged"] == ["versions/000001/entries.jsonl"]


@pytest.mark.parametrize("damaged", list(Kind))
def test_damage_of_one_kind_hides_no_other(damaged: Kind, archive: Path, program: Program) -> None:
    segment = next(
        path
        for number in Archive.open(archive).versions()
        if (path := archive / f"versions/{number:06d}/{damaged}.jsonl").stat().st_size
    )
    data = bytearray(segment.read_bytes())
    data[len(data) - 20] ^= 1
    segment.write_bytes(data)
    pictures = sorted(path for path in (archive / "assets").rglob("*") if path.is_file())
    pictures[0].unlink()
    pictures[1].write_bytes(pictures[1].read_bytes()[:-1])
    latest = archive / "latest/comments.jsonl"
    latest.write_bytes(latest.read_bytes()[:-10])
    page = archive / "latest/site/about.html"
    page.write_bytes(b"")
    with (archive / "runs.jsonl").open("ab") as runs:
        runs.write(b"[]\n")
    found = program("verify", archive, "--json")
    assert found.code == 13
    codes = {each["code"] for each in json.loads(found.out.splitlines()[0])["findings"]}
    expected = {"line-damaged", "segment-damaged", "asset-damaged", "latest-damaged", "view-damaged", "runs-damaged"}
    assert codes >= expected
    # A damaged asset record names no picture, but the record's own damage is found.
    assert "asset-missing" in codes or damaged is Kind.ASSETS


@pytest.mark.parametrize(
    ("hours", "changed", "code", "line"),
    [
        (6, {}, 0, "OK · last success 6 h ago · 60 entries · 49 pictures and files"),
        (80, {}, 6, "STALE · last success 3 days ago · 60 entries · 49 pictures and files"),
        (1, {"outcome": "failed", "completeness": None}, 7, "FAILED · last success "),
    ],
)
def test_one_line_comes_first(
    hours: int, changed: dict[str, Any], code: int, line: str, archive: Path, program: Program
) -> None:
    append_run(archive, **{"outcome": "unchanged", **changed}, finished_at=timestamp(now() - timedelta(hours=hours)))
    done = program("status", archive, "--max-age", "2d")
    assert done.code == code
    assert done.out.splitlines()[0].startswith(line)


def test_an_incomplete_archive_names_missing_records_in_its_first_line(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    with serving(generated_blog(5)) as service:
        service.before = faults.only("entry_id=3", faults.status(404))
        assert program(*backup_command(service, root, "--assets", "none", "--no-site", "--retries", 0)).code == 3
    assert program("status", root).out.startswith(
        "INCOMPLETE · last success just now · 4 of 5 entries · 0 pictures and files\n"
    )


def test_a_first_backup_under_way_is_reported(runs: Runs, tmp_path: Path, program: Program) -> None:
    root = tmp_path / "archive"
    with serving(generated_blog(5)) as service:
        service.before = faults.hang
        run = runs.start(*backup_command(service, root, "--assets", "none"))
        wait_for(lambda: service.requests)
        begun = program("status", root)
        run.signal(signal.SIGKILL)
        run.wait()
        service.before = faults.only("entry/get", faults.hang)
        run = runs.start(*backup_command(service, root, "--assets", "none"))
        wait_for(lambda: any(request.path.endswith("entry/get") for request in service.requests))
        wait_for((root / "archive.json").is_file)
        reading = program("status", root)
        metrics = program("status", root, "--prometheus")
        run.signal(signal.SIGKILL)
        run.wait()
        service.before = None
    assert (begun.code, "has just begun, and still waits for the service" in begun.err) == (10, True)
    assert (reading.code, reading.out.splitlines()[0]) == (3, "FIRST BACKUP UNDER WAY")
    assert "is under way, by process" in reading.err
    assert "blog_exporter_running{" in metrics.out
    assert program("status", root).code == 10


@contextmanager
def writing(root: Path, work: str) -> Iterator[None]:
    """Hold the lock of an archive, as a command does for this work."""
    with ArchiveLock(Layout(root).lock) as lock:
        lock.acquire(now(), work=work)
        yield


def empty(root: Path) -> Layout:
    """Create an archive without a version."""
    layout = Layout(root)
    writer.create(layout, ArchiveInfo("sea.example", CREATED))
    return layout


def first_and_last(result: Result) -> tuple[int, str, str]:
    """Return the exit code, and the first and the last line of the answer."""
    lines = result.out.splitlines()
    return result.code, lines[0].partition(" ·")[0], lines[-1].partition(" since")[0]


_BY: Final = f"by process {os.getpid()}"
_WRITERS: Final = {
    "backup": ("OK, a backup is running", f"A backup is running, {_BY}"),
    "capture": ("OK", f"A capture is running, {_BY}"),
    "": ("OK", f"Being written {_BY}"),
}


def test_status_names_the_work_that_is_under_way(archive: Path, program: Program) -> None:
    for work, said in _WRITERS.items():
        with writing(archive, work):
            assert first_and_last(program("status", archive)) == (0, *said)
            document = program("status", archive, "--json").json
            metrics = program("status", archive, "--prometheus").out
        assert (document["writer"].get("work", ""), document["interrupted_run"]) == (work, False)
        assert f"}} {int(work == 'backup')}\n" in metrics.partition("# TYPE blog_exporter_running")[2].partition("#")[0]


def test_a_checkpoint_belongs_to_a_running_backup_and_else_to_a_killed_one(archive: Path, program: Program) -> None:
    Layout(archive).checkpoint.mkdir(parents=True)
    for work, code in (("backup", 0), ("capture", 7), ("", 7)):
        with writing(archive, work):
            found = program("status", archive)
            document = json.loads(program("status", archive, "--json").out.splitlines()[0])
        unfinished = bool(code)
        assert (found.code, document["interrupted_run"]) == (code, unfinished), work
        assert ("A run did not finish" in found.out, "did not finish" in found.err) == (False, unfinished)
        assert "The next backup resumes it:" not in found.err
    assert "The next backup resumes it:" in program("status", archive).err


def test_no_backup_is_advised_while_one_runs(archive: Path, program: Program) -> None:
    append_run(archive, finished_at=timestamp(now() - timedelta(days=3)))
    order = ("status", archive, "--max-age", "2d")
    with writing(archive, "backup"):
        running = program(*order)
        assert program("doctor", archive, "--offline").out.count("Back up:") == 0
    assert first_and_last(running) == (6, "STALE, a backup is running", f"A backup is running, {_BY}")
    assert ("more than 2d ago." in running.err, "Back up:" in running.err) == (True, False)
    assert "Back up:" in program(*order).err


def test_only_a_backup_is_a_first_backup(program: Program, tmp_path: Path) -> None:
    begun, captured = empty(tmp_path / "begun"), empty(tmp_path / "captured")
    captured.captures.mkdir()
    line = {"finished_at": timestamp(now()), "outcome": "failed", "exit_code": 20}
    (captured.root / CAPTURE_RUNS).write_text(f"{json.dumps(line)}\n", "utf-8")
    for work, first in (
        ("backup", "FIRST BACKUP UNDER WAY"),
        ("capture", "NOTHING SAVED YET"),
        ("", "NOTHING SAVED YET"),
    ):
        with writing(tmp_path / "begun", work), writing(tmp_path / "captured", work), writing(tmp_path / "new", work):
            found, other = program("status", begun.root), program("status", captured.root)
            new = program("status", tmp_path / "new")
        assert first_and_last(found)[:2] == (3, first)
        assert ("The first backup of sea.example is under way" in found.err) == (work == "backup")
        assert first_and_last(other)[:2] == (3, first if work == "backup" else "INCOMPLETE")
        assert (new.code, "The first backup into" in new.err) == (10, work == "backup")


def test_metrics_come_with_the_exit_code_of_status(program: Program, archive: Path) -> None:
    well = program("status", archive, "--prometheus")
    assert (well.code, well.err) == (0, "")
    assert well.out.startswith("# HELP blog_exporter_status ")
    append_run(archive, outcome="failed", error="the service failed", completeness=None, finished_at=timestamp(now()))
    failed = program("status", archive, "--prometheus", "-q")
    assert failed.code == 7
    assert failed.out.splitlines()[2].endswith("} 7")
    assert program("status", archive, "--prometheus", "--json").code == 2


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
