"""Notifications to cron, a monitor and a command after a backup; none changes the exit code."""

from __future__ import annotations

import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from exporter.cli.notify import notifying
from exporter.cli.output import Output
from exporter.clock import SystemClock
from exporter.demo.content import fields
from exporter.settings import resolve
from tests.cli.conftest import Program, Result
from tests.notify.conftest import FakeMonitor, monitor
from tests.support import faults
from tests.support.generated import generated_blog
from tests.support.runs import backup_command, serving

__all__ = ["monitor"]

WITNESS = (
    "import os, sys; file = open({!r}, 'a'); e = os.environ.get; "
    "print(e('BLOG_EXPORTER_EVENT'), e('BLOG_EXPORTER_EXIT_CODE'), e('BLOG_EXPORTER_BLOG'), "
    "e('BLOG_EXPORTER_MESSAGE') == sys.stdin.read().strip(), sep='|', file=file)"
)


def witness(file: Path) -> str:
    return shlex.join([sys.executable, "-c", WITNESS.format(str(file))])


def test_pings_of_good_and_bad_runs(program: Program, tmp_path: Path, monitor: FakeMonitor) -> None:
    blog = generated_blog(5)
    title = str(fields(blog.entries[3])["title"])
    with serving(blog) as service:
        run = (*backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "--retries", 0), "-q")
        run = (*run, "--ping-url", monitor.url)
        assert program(*run).code == 0
        service.before = faults.only("entry_id=3", faults.status(404))
        assert program(*run).code == 3
        service.before = faults.status(503)
        assert program(*run).code == 20
        service.before = faults.status(401)
        assert program(*run).code == 12
        service.before = faults.status(400)
        assert program(*run).code == 20
    assert monitor.paths == ["/start", "", *["/start", "/fail"] * 4]
    ends = [ping.body for ping in monitor.pings[1::2]]
    assert ends == [
        f"exit 0: {blog.blog_id} is saved",
        f"exit 3: {blog.blog_id}: not saved: 1 entry",
        f"exit 20: {blog.blog_id}: the service failed",
        f"exit 12: {blog.blog_id}: not authorised: sign in again",
        f"exit 20: {blog.blog_id}: the service failed",
    ]
    assert title not in "".join(ends)
    rids = [ping.query["rid"][0] for ping in monitor.pings]
    assert rids[::2] == rids[1::2]
    assert len(set(rids)) == 5


def test_a_dry_run_notifies_no_one(program: Program, tmp_path: Path, monitor: FakeMonitor) -> None:
    with serving(generated_blog(3)) as service:
        run = backup_command(service, tmp_path / "archive", "--dry-run", "-q", "--ping-url", monitor.url)
        assert program(*run).code == 0
    assert monitor.pings == []


def test_a_wrong_address_ends_before_anything_is_read(program: Program, tmp_path: Path) -> None:
    with serving(generated_blog(3)) as service:
        done = program(*backup_command(service, tmp_path / "archive", "--ping-url", "hc-ping.com/uuid"))
        assert (done.code, service.requests) == (2, [])
    assert "the ping URL must look like https://HOST" in done.err


def test_a_monitor_that_fails_is_a_warning_once(program: Program, tmp_path: Path, monitor: FakeMonitor) -> None:
    monitor.statuses = [404] * 4
    with serving(generated_blog(3)) as service:
        run = backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "--ping-url", monitor.url)
        first, second, third = (program(*run, "-q") for _ in range(3))
        assert (first.code, second.code, third.code) == (0, 0, 0)
    assert first.err.count("\n") == 1
    assert "Cannot reach the monitor at 127.0.0.1" in first.err
    assert "/check" not in first.err
    assert second.err == ""
    assert "is well again" in third.err


def test_cron_gets_one_message_about_a_week_without_the_service(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 11, 1, 18, 17, tzinfo=UTC)
    monkeypatch.setattr(SystemClock, "now", lambda _: now)
    root, called = tmp_path / "archive", tmp_path / "called"
    with serving(generated_blog(5)) as service:
        options = ("--assets", "none", "--no-site", "--retries", 0, "-q", "--on-failure", witness(called))
        run = backup_command(service, root, *options)

        def night(fault: Any) -> Result:
            nonlocal now
            now += timedelta(days=1)
            service.before = fault
            return program(*run)

        well = [night(None), night(None)]
        down = [night(faults.status(503)) for _ in range(8)]
        again = [night(None), night(None)]
    assert [(done.code, done.err) for done in well] == [(0, ""), (0, "")]
    assert [done.code for done in down] == [20] * 8
    assert [bool(done.err) for done in down] == [True, *[False] * 6, True]
    assert down[0].err.startswith("blog-exporter: error: ")
    assert "has had the following trouble since 2026-11-05.\n" in down[7].err
    assert again[0].err.endswith("is well again: this backup succeeded. The trouble began on 2026-11-05.\n")
    assert again[1].err == ""
    rows = [line.split("|") for line in called.read_text().splitlines()]
    assert [row[:2] for row in rows] == [["failed", "20"], ["reminder", "20"], ["healed", "0"]]
    assert {row[3] for row in rows} == {"True"}


def test_new_missing_content_is_reported_and_recovered_content_is_not(program: Program, tmp_path: Path) -> None:
    with serving(generated_blog(6)) as service:
        run = backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "--retries", 0, "-q")
        first = [faults.only("entry_id=3", faults.status(404))]
        both = [*first, faults.only("entry_id=4", faults.status(404))]
        said = []
        for strikes in (first, first, both, first, []):
            service.before = faults.first_of(*strikes)
            done = program(*run)
            assert done.code == (3 if strikes else 0)
            said.append(done.err)
    assert [bool(err) for err in said] == [True, False, True, False, True]
    assert "incomplete: 1 entry not saved (entries 3" in said[0]
    assert "incomplete: 2 entries not saved" in said[2]


def test_all_output_appears_with_json_without_quiet_and_before_the_first_archive(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(generated_blog(5)) as service:
        run = backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "--retries", 0)
        service.before = faults.status(503)
        assert [bool(program(*run, "-q").err) for _ in range(2)] == [True, True]
        service.before = None
        assert program(*run, "-q").code == 0
        service.before = faults.status(503)
        for options in ((), ("-q", "--json"), ()):
            assert "error: " in program(*run, *options).err
        assert program(*run, "-q").err == ""
        monkeypatch.setenv("BLOG_EXPORTER_REMIND_AFTER", "0s")
        every = program(*run, "-q").err
        assert "has had the following trouble since" in every


def test_a_command_that_fails_is_a_warning(program: Program, tmp_path: Path) -> None:
    with serving(generated_blog(3)) as service:
        service.before = faults.status(503)
        run = backup_command(service, tmp_path / "archive", "--retries", 0, "-q", "--on-failure", "false")
        done = program(*run)
    assert done.code == 20
    assert "warning: The command of on_failure failed: it ended with 1." in done.err


def test_a_failing_monitor_is_reported_by_the_command(program: Program, tmp_path: Path, monitor: FakeMonitor) -> None:
    monitor.statuses = [404] * 2
    read = tmp_path / "read"
    with serving(generated_blog(3)) as service:
        run = backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "-q")
        assert program(*run, "--ping-url", monitor.url, "--on-failure", f"tee {read}").code == 0
    assert "cannot reach the monitor: " in read.read_text()


def test_an_unexpected_error_is_reported(tmp_path: Path, monitor: FakeMonitor) -> None:
    settings = resolve({"ping_url": monitor.url}, environ={})
    with (
        pytest.raises(ZeroDivisionError),
        notifying(tmp_path / "archive", "a.blog.example.jp", settings, Output(verbosity=-1), SystemClock()),
    ):
        raise ZeroDivisionError("秘密")
    assert [(ping.path, ping.body) for ping in monitor.pings] == [("/fail", "exit 1: a.blog.example.jp: it failed")]


def test_a_command_with_open_quotes_is_refused(program: Program, tmp_path: Path) -> None:
    with serving(generated_blog(3)) as service:
        done = program(*backup_command(service, tmp_path / "archive", "--on-failure", "mail 'me"))
    assert (done.code, "a command is expected, with its quotes closed" in done.err) == (2, True)


def test_a_locked_archive_is_neither_success_nor_failure(
    program: Program, tmp_path: Path, monitor: FakeMonitor
) -> None:
    from exporter.archive.layout import Layout  # noqa: PLC0415
    from exporter.archive.lock import ArchiveLock  # noqa: PLC0415

    root = tmp_path / "archive"
    with serving(generated_blog(3)) as service:
        run = backup_command(service, root, "--assets", "none", "--no-site", "-q", "--ping-url", monitor.url)
        assert program(*run).code == 0
        with ArchiveLock(Layout(root).lock) as lock:
            lock.acquire(datetime.now(UTC))
            assert program(*run).code == 11
    assert monitor.paths == ["/start", "", "/start", "/log"]
    assert "another backup" in monitor.pings[-1].body
