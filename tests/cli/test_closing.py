"""``--closing``: everything is read and requested again, and content outside the service is reported."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import click
import pytest

from exporter.cli.main import cli
from exporter.cli.summary import closing_lines
from exporter.clock import SystemClock
from exporter.demo.content import demo_blog
from exporter.notify.closing import ClosingReport, Countdown, Outside, Unseen
from tests.cli.conftest import Program, Result
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import ROOT, backup_command, serving

END = "2026-12-31"


class Calendar:
    """The program's clock with a time of day that only tests change."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = datetime(2026, 12, 1, 18, 17, tzinfo=UTC)
        patch.setattr(SystemClock, "now", lambda _: self.now)

    def move_to(self, month: int, day: int) -> None:
        self.now = self.now.replace(month=month, day=day)


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> Calendar:
    return Calendar(monkeypatch)


def test_the_closing_day_and_content_outside_are_reported(program: Program, tmp_path: Path, calendar: Calendar) -> None:
    root, blog = tmp_path / "archive", demo_blog()
    with DemoService(blog).run_in_thread() as service:
        run = backup_command(
            service, root, "--file-url", service.base_url + "/v1/blog/user/{user_id}/{mtime}", "--assets", "files",
            "--allow-private-network", "--no-site", "--no-markdown", "--closing", END, "--retries", 0,
        )  # fmt: skip
        service.before = faults.only("entry_id=50", faults.status(404))
        first = program(*run)
        calendar.now += timedelta(days=1)
        second = program(*run)
        shown = program("status", root, "--closing", END)
        document = program("status", root, "--closing", END, "--json")
    assert first.code == second.code == 3
    assert f"The service closes on {END}, in 29 days: schedule a backup every night." in first.err
    assert (
        f"The service closes on {END}, in 28 days: about 29 backups to come, at the pace of the last ones."
        in second.err
    )
    assert "Only you can save these, and they are saved: 1 private entry, 0 drafts." in first.err
    assert "since the meaning of the service's flags is not declared: see inspect DIR." in first.err
    assert "Read without signing in: drafts and private entries may be missing." in first.err
    assert "Not in the archive yet:\n" in first.err
    assert "  - 1 entry: not saved yet; every backup tries it again (" in first.err
    assert f"The service closes on {END}, in 28 days" in shown.out
    assert document.answer_before_error["closing"] == {"date": END, "days": 28, "backups": 29}


def test_declared_flags_identify_drafts_and_a_token_counts_as_signed_in(
    program: Program, tmp_path: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "tok3n")
    monkeypatch.setenv("BLOG_EXPORTER_PUBLIC_OPEN_FLG", "1")
    monkeypatch.setenv("BLOG_EXPORTER_PERIOD_FLG_PUBLIC", "yes")
    with DemoService(demo_blog()).run_in_thread() as service:
        done = program(
            *backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "--closing", END)
        )
    assert "Only you can save these, and they are saved: 1 private entry, 3 drafts." in done.err
    assert "not known" not in done.err
    assert "signing in" not in done.err
    assert "Everything that you asked for is in the archive." in done.err
    assert calendar.now.year == 2026


def test_everything_is_read_and_the_lost_are_asked_for_every_time(
    program: Program, tmp_path: Path, calendar: Calendar
) -> None:
    root, blog = tmp_path / "archive", demo_blog()
    with DemoService(blog).run_in_thread() as service:
        files = "/v1/blog/user"
        run = backup_command(
            service, root, "--file-url", service.base_url + files + "/{user_id}/{mtime}", "--assets", "files",
            "--allow-private-network", "--no-site", "--no-markdown", "--retries", 0,
        )  # fmt: skip
        gone = next(iter(path for path in map(str, blog.pictures) if files in path)).partition(files)[2]
        service.before = faults.only(gone, faults.status(404))
        assert program(*run).code == 0

        def asked(*options: object) -> tuple[Result, int, int]:
            calendar.now += timedelta(minutes=10)
            seen = len(service.requests)
            done = program(*run, *options)
            paths = [request.path for request in service.requests[seen:]]
            return done, sum(path.endswith("entry/get") for path in paths), sum(gone in path for path in paths)

        asked()  # the next run requests a lost file again, later runs at growing intervals
        _, entries, lost = asked("--refresh", "changed")
        assert (entries, lost) == (0, 0)
        calendar.now += timedelta(days=8)  # more than max_age
        assert asked("--refresh", "changed")[1] == 2  # the entries that only comments refer to
        assert asked("--refresh", "changed")[1] == 0
        for _ in range(2):
            done, entries, lost = asked("--refresh", "changed", "--closing", END)
            assert (done.code, entries, lost) == (0, len(blog.entries), 1)
            assert "  - 1 picture or file: gone; every backup tries it again (" in done.err
            assert "A web archive may have the pictures that are gone: --archive-fallback asks one." in done.err
        service.before = None
        done, _, lost = asked("--closing", END)
        assert lost == 1
        assert "gone; every backup tries it again" not in done.err


def test_quiet_backups_report_when_the_day_is_near(program: Program, tmp_path: Path, calendar: Calendar) -> None:
    with serving(generated_blog(5)) as service:
        run = backup_command(service, tmp_path / "archive", "--assets", "none", "--no-site", "--retries", 0)
        run = (*run, "-q", "--closing", END)
        said = {}
        service.before = faults.only("entry_id=3", faults.status(404))
        for night in (1, 2, 17, 18, 19, 20, 24, 25, 28, 30, 31):
            calendar.move_to(12, night)
            said[night] = program(*run).err
        service.before = None
        calendar.now += timedelta(hours=1)
        said[32] = program(*run).err
        service.before = faults.reset
        calendar.now += timedelta(days=1)
        said[33] = program(*run).err
        calendar.now += timedelta(days=1)
        said[34] = program(*run).err
    told = [night for night, text in said.items() if text]
    assert told == [1, 17, 24, 28, 30, 31, 33], said
    assert "in 6 days: " in said[24]
    assert "1 thing is not in the archive yet." in said[24]
    assert "The closing day, 2026-12-31, is over: the service may be gone. Keep the archive on two disks" in said[31]
    assert "the service may be gone" in said[33]
    assert "error: " in said[33]


def test_an_invalid_day_is_refused(program: Program, tmp_path: Path) -> None:
    with serving(generated_blog(1)) as service:
        done = program(*backup_command(service, tmp_path / "archive", "--closing", "31.12.2026"))
    assert (done.code, "a day such as 2026-12-31 is expected" in done.err) == (2, True)


def test_only_the_first_of_many_reasons_are_named() -> None:
    many = [Outside("files", "left_out", "", 20 - number) for number in range(12)]
    report = ClosingReport(Countdown(date(2026, 12, 31), 0, None), many, Unseen(), signed_in=True)
    first, unseen, *lines = closing_lines(report, has_fallback=True)
    assert first == f"The service closes today, on {END}."
    assert unseen.startswith("No draft and no private entry was seen")
    assert lines[1] == "  - 20 uploads: left out by a setting"
    assert lines[-1] == "  … and 19 more."
    assert len(lines) == 12


@pytest.mark.parametrize("page", ["closing.md", "closing.ja.md", "notifications.md"])
def test_every_command_on_the_page_is_valid(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = re.findall(r"^ *(?:\$ )?blog-exporter ([^>\n]*)", text, re.MULTILINE)
    assert len(lines) >= 3
    for line in lines:
        command: click.Command = cli
        words = shlex.split(line)
        context = None
        while isinstance(command, click.Group):
            found = command.get_command(context or click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        command.make_context(line, words)


def test_both_pages_have_the_same_commands() -> None:
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("closing.md", "closing.ja.md")]
    english, japanese = (re.findall(r"^ +blog-exporter .*", page, re.MULTILINE) for page in pages)
    assert english == japanese


def test_a_web_archive_is_asked_only_after_the_flags_are_declared(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blog = demo_blog()
    with DemoService(blog).run_in_thread() as service:
        pictures = tuple(map(str, blog.pictures))
        service.before = faults.only(next(iter(blog.pictures)), faults.status(404))
        run = backup_command(
            service, tmp_path / "archive", "--allow-private-network", "--no-site", "--no-markdown", "--retries", 0,
            "--file-url", service.base_url + "/v1/blog/user/{user_id}/{mtime}", "--retry-lost",
            "--archive-fallback", service.base_url + "/web/{url}",
        )  # fmt: skip

        def asked() -> list[str]:
            return [each.path for each in service.requests if each.path.startswith("/web/")]

        assert "The web archive was not asked for " in program(*run).err
        assert (asked(), len(pictures) > 1) == ([], True)
        monkeypatch.setenv("BLOG_EXPORTER_PUBLIC_OPEN_FLG", "1")
        monkeypatch.setenv("BLOG_EXPORTER_PERIOD_FLG_PUBLIC", "yes")
        program(*run)
        assert asked()
