"""The pages that move, copy, plan and notify: each by forms alone, with the command that it shows."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.window.actions import document_of
from tests.move.home import Home, running_home
from tests.notify.conftest import FakeMonitor, monitor
from tests.support.runs import tree
from tests.support.schedulers import Machine, machine
from tests.window.in_thread import Running
from tests.window.opened import until
from tests.window.test_export_pages import keys
from tests.wordpress.fake import LOGIN, in_thread

__all__ = ["machine", "monitor"]

USER, PASSWORD = LOGIN


@pytest.fixture
def wordpress() -> Iterator[Home]:
    with in_thread(running_home()) as home:
        yield home


def test_a_move_is_tried_then_done_and_its_password_is_in_no_command(
    running: Running, archive: Path, wordpress: Home
) -> None:
    page = running.page_of(archive, "/move")
    public, visible = keys(running, archive)
    flags = [*(("public", key) for key in public), *(("visible", key) for key in visible)]
    form = [("task", "try"), ("home", wordpress.url), ("user", USER), ("password", PASSWORD), *flags]
    tried = running.ended(running.post(page, form))
    job = running.newest(archive, "move")
    assert (job.state().exit_code, job.words[-1], wordpress.writes) == (0, "--dry-run", [])
    assert f'name="job" value="{job.id}"' in tried.text
    file = Path(job.words[job.words.index("--new-home-token-file") + 1])
    assert file.read_text() == f"{PASSWORD}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    done = running.ended(running.post(page, [("task", "go"), ("job", job.id)]))
    moved = running.newest(archive, "move")
    assert moved.words == job.words[:-1]
    assert (len(wordpress.rest_posts), len(wordpress.rest_comments)) == (55, 144)
    assert document_of(moved)["sides"][0]["things"]["posts"]["made"] == 55
    assert "<td>55</td>" in done.text
    for folder in (running.window.folder / "jobs").iterdir():
        for path in folder.iterdir():
            assert PASSWORD.encode() not in path.read_bytes(), path
    assert PASSWORD not in done.text
    assert PASSWORD not in tried.text
    assert not running.post(page, [("task", "forget")]).text.count("Delete the kept password")
    assert not file.exists()


def test_a_move_without_its_answers_does_not_begin(running: Running, archive: Path) -> None:
    page = running.page_of(archive, "/move")
    whole = {"home": "https://new.example/", "user": "me", "password": "secret words"}
    wrong: list[dict[str, str]] = [
        {"home": ""}, {"home": "--to"}, {"home": "file:///etc/passwd"}, {"user": ""}, {"user": "a\nb"}, {"password": ""},
        {"password": "a\0b"}, {"task": "go"}, {"task": "go", "job": "../../x"}, {"task": "go", "job": "nothing"},
    ]  # fmt: skip
    for each in wrong:
        got = running.post(page, list((whole | each).items()))
        assert (got.status, 'role="alert"' in got.text) == (400, True), each
    assert running.window.jobs.all() == []
    running.post(page, list((whole | {"user": "--dry-run"}).items()))
    words = running.newest(archive).words
    assert "--new-home-user=--dry-run" in words
    assert words.count("--dry-run") == 1


def test_a_comparison_names_its_home(running: Running, archive: Path) -> None:
    page = running.page_of(archive, "/compare")
    for home in ("", "--json", "/etc", "https://"):
        assert running.post(page, [("home", home)]).status == 400, home
    assert running.window.jobs.all() == []
    got = running.ended(running.post(page, [("home", "http://127.0.0.1:9/")]))
    assert running.newest(archive).words[:3] == ("compare", str(archive), "http://127.0.0.1:9/")
    assert 'role="alert"' in got.text


def test_a_copy_is_made_listed_and_checked(running: Running, archive: Path, home: Path) -> None:
    page, place = running.page_of(archive, "/copies"), home / "disk" / "copy"
    made = running.ended(running.post(page, [("other", str(place))]))
    assert running.newest(archive, "copy").words == ("sync", str(archive), str(place))
    assert (place / "archive.json").is_file()
    assert str(place) in made.text
    assert "It has every version." in made.text
    running.ended(running.post(page, [("task", "verify"), ("place", str(place))]))
    job = running.newest(archive, "copy")
    assert (job.words, job.state().exit_code) == (("verify", str(place)), 0)
    assert "Last checked" in running.get(page).text


def test_the_page_of_an_archive_names_the_command_that_saves_it(running: Running, archive: Path) -> None:
    assert f"blog-exporter backup {archive}" in running.get(running.page_of(archive)).text


def test_places_that_are_no_copy_are_refused(running: Running, archive: Path, home: Path) -> None:
    page, before = running.page_of(archive, "/copies"), tree(archive)
    letters = home / "letters"
    letters.mkdir()
    (letters / "a.txt").write_text("mine")
    (home / "file").write_text("x")
    places = [
        "", archive, archive / "x", archive.parent, letters, home / "file", "s3://", "s3://UPPER/x", "s3://a b", "gs://b/x",
        "a\nb", "a\0b", "x" * 3000,
    ]  # fmt: skip
    for place in places:
        got = running.post(page, [("other", str(place))])
        assert (got.status, 'role="alert"' in got.text) == (400, True), place
    for readers in ("--prune", "age1x", "AGE-SECRET-KEY-1ABC"):
        assert running.post(page, [("other", str(home / "c")), ("readers", readers)]).status == 400
    assert running.post(page, [("task", "verify"), ("place", str(home))]).status == 400
    assert running.window.jobs.all() == []
    assert tree(archive) == before


def test_jobs_that_start_in_one_second_keep_their_order(running: Running, archive: Path) -> None:
    jobs = running.window.jobs
    for number in "1234":
        jobs.start(("show", str(archive), "entry", number), about="show", place=str(archive), language="en")
    assert [job.words[-1] for job in jobs.all()] == ["4", "3", "2", "1"]
    until(lambda: not jobs.running(), "the commands end")


def test_a_time_that_is_none_plans_no_night(machine: Machine, running: Running, archive: Path) -> None:
    page = running.page_of(archive, "/schedule")
    assert running.post(page, [("time", "25:00")]).status == 400
    assert running.window.jobs.all() == []
    running.post(page, [("time", "03:17")])
    assert running.newest(archive).words == ("schedule", "install", str(archive), "--at", "03:17")


@pytest.mark.thorough
def test_a_night_is_planned_and_ended(
    machine: Machine, running: Running, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("crontab")
    monkeypatch.setenv("BLOG_EXPORTER_BASE_URL", "http://127.0.0.1:9")
    page = running.page_of(archive, "/schedule")
    assert "No nightly backup is scheduled." in running.get(page).text
    for time in ("25:00", "--at", "3", "03:17\n"[:5] + "x"):
        assert running.post(page, [("time", time)]).status == 400, time
    planned = running.ended(running.post(page, [("time", "03:17")]))
    assert running.newest(archive).words == ("schedule", "install", str(archive), "--at", "03:17")
    assert "17 3 * * *" in machine.table.read_text()
    assert "03:17" in planned.text
    assert "Started by cron" in planned.text
    ended = running.ended(running.post(page, [("task", "remove")]))
    assert "No nightly backup is scheduled." in ended.text


def test_a_monitor_and_a_closing_day_are_kept_and_tried(
    running: Running, archive: Path, home: Path, monitor: FakeMonitor
) -> None:
    page, file = running.page_of(archive, "/notifications"), home / ".config" / "blog-exporter" / "blog-exporter.toml"
    assert running.post(page, [("task", "try")]).status == 400
    saved = running.post(page, [("task", "monitor"), ("url", monitor.url)])
    assert "In use: 127.0.0.1" in saved.text
    assert monitor.url not in saved.text
    assert "The monitor answered" in running.post(page, [("task", "try")]).text
    assert monitor.paths == ["/log"]
    running.post(page, [("task", "closing"), ("day", "2026-03-31")])
    text = file.read_text("utf-8")
    assert f'ping_url = "{monitor.url}"' in text
    assert 'closing = "2026-03-31"' in text
    assert text.count("[blogs.") == 1
    running.post(page, [("task", "monitor"), ("url", "")])
    running.post(page, [("task", "closing"), ("day", "")])
    assert "ping_url" not in file.read_text("utf-8")
    assert "closing =" not in file.read_text("utf-8")


def test_no_page_writes_a_command_into_the_settings(running: Running, archive: Path, home: Path) -> None:
    page, file = running.page_of(archive, "/notifications"), home / ".config" / "blog-exporter" / "blog-exporter.toml"
    forms = [
        {"task": "on_failure", "url": "touch /tmp/x"},
        {"task": "hook", "day": "x"},
        {"task": "closing", "day": '2026-03-31"\non_failure = "touch x'},
        {"task": "closing", "day": "next week"},
        {"task": "monitor", "url": 'https://x.example/"\non_failure = "touch x"'},
        {"task": "monitor", "url": "file:///etc/passwd"},
    ]
    for form in forms:
        assert running.post(page, list(form.items())).status == 400, form
    assert not file.exists()


def test_problems_are_named_with_what_mends_them(running: Running, archive: Path) -> None:
    page = running.page_of(archive, "/doctor")
    assert running.get(page).status == 200
    (archive / "latest" / "entries.jsonl").unlink()
    segment = archive / "versions" / "000001" / "entries.jsonl"
    segment.write_bytes(segment.read_bytes()[:-20])
    shown = running.get(page)
    assert shown.status == 200
    assert "card health bad" in shown.text
    assert "blog-exporter verify" in shown.text
    assert f"blog-exporter doctor {archive} --offline" in shown.text
