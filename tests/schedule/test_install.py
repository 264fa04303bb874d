"""A schedule is installed with this machine's scheduler, only once, and everything else stays unchanged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import datetime, time
from pathlib import Path

import pytest

from exporter.errors import UsageError
from exporter.schedule import programs, schedulers
from exporter.schedule.formats import windows_task
from exporter.schedule.plan import NightPlan, next_time, plan_for
from exporter.schedule.schedulers import best, find, install, remove
from exporter.schedule.schtasks import words_of
from tests.schedule.conftest import STRANGE, plan_of
from tests.support.schedulers import Machine

OTHERS = "MAILTO=me@example.jp\r\n# 日記\n0 4 * * *  /bin/true \\%  # mine\n\n\t\n".encode() + b"# \xff\xfe\n"


@pytest.fixture
def mine(tmp_path: Path) -> NightPlan:
    """A plan for a blog."""
    return plan_for(tmp_path / "日記 50%", "me.blog.example.jp", at="03:17")


def test_the_better_scheduler_is_chosen(machine: Machine) -> None:
    assert best() is None
    machine.has("crontab")
    assert best() == "cron"
    machine.has("systemctl")
    assert best() == "systemd"


@pytest.mark.parametrize(
    ("platform", "says"),
    [
        ("linux", "there is no cron, and no systemd runs"),
        ("darwin", "launchd does it only"),
        ("win32", "schtasks, the program"),
    ],
)
def test_without_a_scheduler_the_message_says_what_to_do(
    machine: Machine, mine: NightPlan, monkeypatch: pytest.MonkeyPatch, platform: str, says: str
) -> None:
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", platform)
    with pytest.raises(UsageError, match=says):
        install(mine)
    with pytest.raises(UsageError, match="no cron that you may use"):
        install(mine, "cron")
    assert remove(mine.archive) == []
    assert find(mine.archive) is None


def test_a_program_is_started_in_english_with_its_input(
    machine_with_programs: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = machine_with_programs.folder / "bin" / "crontab"
    program.write_text('#!/bin/sh\necho "$LC_ALL $*" >&2\n/bin/cat\nexit 3\n')
    program.chmod(0o700)
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    done = programs.run("crontab", "-", given=OTHERS)
    assert done is not None
    assert (done.returncode, done.stdout, done.stderr) == (3, OTHERS, b"C -\n")
    assert programs.run("systemctl", "--user") is None


@pytest.mark.thorough
def test_the_functions_answer_as_the_programs_do(machine_with_programs: Machine) -> None:
    """Each answer is that of a program, and leaves the same files."""
    steps: list[tuple[str, list[str], bytes | None]] = [
        ("", ["crontab", "-l"], None),
        ("", ["crontab", "-"], OTHERS),
        ("", ["crontab", "-l"], None),
        ("busy", ["crontab", "-l"], None),
        ("adds", ["crontab", "-"], b"x\n"),
        ("", ["crontab", "-r"], None),
        ("", ["systemctl", "--user", "show", "--property=Version"], None),
        ("", ["systemctl", "--user", "show", "x.timer", "--property=NextElapseUSecRealtime", "--value"], None),
        ("refuses", ["systemctl", "--user", "enable", "x.timer"], None),
        ("refuses", ["systemctl", "--user", "daemon-reload"], None),
        ("refuses", ["crontab", "-l"], None),
    ]

    def seen(answer: Callable[..., subprocess.CompletedProcess[bytes] | None]) -> list[object]:
        found: list[object] = []
        for state, words, given in steps:
            if state:
                machine_with_programs.now(state)
            done = answer(*words, given=given)
            assert done is not None
            table = machine_with_programs.table
            found.append((done.returncode, done.stdout, done.stderr, table.read_bytes() if table.exists() else None))
        for name in ("busy", "adds", "refuses"):
            (machine_with_programs.folder / name).unlink()
        return [*found, machine_with_programs.calls("crontab"), machine_with_programs.calls("systemctl")]

    machine_with_programs.has("crontab", "systemctl")
    true = seen(programs.run)
    for name in ("crontab.calls", "systemctl.calls"):
        (machine_with_programs.folder / name).unlink()
    assert seen(machine_with_programs.answer) == true


@pytest.mark.thorough
def test_a_real_program_keeps_the_crontab(machine_with_programs: Machine, mine: NightPlan) -> None:
    test_removing_the_schedule_restores_the_crontab(machine_with_programs, mine, OTHERS)


@pytest.mark.parametrize("before", [None, b"", OTHERS])
def test_removing_the_schedule_restores_the_crontab(machine: Machine, mine: NightPlan, before: bytes | None) -> None:
    machine.has("crontab")
    if before is not None:
        machine.table.write_bytes(before)
    known = install(mine)
    once = machine.table.read_bytes()
    assert once.startswith(before or b"")
    assert install(mine) == known
    assert machine.table.read_bytes() == once
    assert once.count(b"\n17 3 * * *  ") == 1
    assert (known.scheduler, known.next[-5:]) == ("cron", "03:17")
    assert find(mine.archive) == known
    assert remove(mine.archive) == ["cron"]
    assert machine.table.exists() == bool(before)
    assert not before or machine.table.read_bytes() == before
    assert remove(mine.archive) == []


def test_two_archives_have_a_block_each(machine: Machine, tmp_path: Path) -> None:
    machine.has("crontab")
    machine.table.write_bytes(b"0 1 * * * last line without an end")
    plans = [plan_for(tmp_path / name / "blog", "me.blog.example.jp", at="4:05") for name in "ab"]
    for plan in plans:
        install(plan)
    install(plan_for(tmp_path / "a" / "blog", "me.blog.example.jp", at="5:06"))
    known = find(plans[0].archive)
    assert known is not None
    assert known.next.endswith("05:06")
    assert remove(plans[0].archive) == ["cron"]
    known = find(plans[1].archive)
    assert known is not None
    assert known.next.endswith("04:05")
    assert str(plans[1].archive) in known.command
    assert machine.table.read_bytes().startswith(b"0 1 * * * last line without an end\n# BEGIN blog-exporter-blog-")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"# END", b"# end"),
        (b"# BEGIN", b"#"),
        (b"17 3 * * *  ", b"@daily "),
        (b"# BEGIN", b"# END"),
        (b"# END", b"# BEGIN"),
    ],
)
def test_an_edited_block_is_not_changed(machine: Machine, mine: NightPlan, old: bytes, new: bytes) -> None:
    machine.has("crontab")
    install(mine)
    spoilt = machine.table.read_bytes().replace(old, new)
    machine.table.write_bytes(spoilt)
    with pytest.raises(UsageError, match="crontab were changed"):
        find(mine.archive)
    if b"@daily" not in spoilt:
        with pytest.raises(UsageError, match="crontab were changed"):
            install(mine)
        with pytest.raises(UsageError, match="crontab were changed"):
            remove(mine.archive)
    assert machine.table.read_bytes() == spoilt


def test_a_crontab_that_changes_meanwhile_is_not_overwritten(machine: Machine, mine: NightPlan) -> None:
    machine.has("crontab")
    machine.table.write_bytes(OTHERS)
    machine.now("busy")
    with pytest.raises(UsageError, match="changed your crontab just now"):
        install(mine)
    assert machine.table.read_bytes().replace(b"1 1 * * * another\n", b"") == OTHERS
    assert "-" not in machine.calls("crontab")


def test_a_crontab_that_differs_after_writing_is_reported(machine: Machine, mine: NightPlan) -> None:
    machine.has("crontab")
    machine.now("adds")
    with pytest.raises(UsageError, match="shows others"):
        install(mine)


def test_a_refusal_by_cron_is_reported(machine: Machine, mine: NightPlan) -> None:
    machine.has("crontab")
    machine.now("refuses")
    with pytest.raises(UsageError, match="no cron that you may use"):
        install(mine, "cron")


def test_two_systemd_units_are_installed_and_removed(machine: Machine, mine: NightPlan) -> None:
    machine.has("systemctl", "crontab")
    install(mine, "cron")
    known = install(mine)
    assert (known.scheduler, known.next) == ("systemd", "Mon 2026-11-23 03:22:02 UTC")
    assert str(mine.archive).replace("%", "%%") in known.command
    assert not machine.table.exists()
    assert sorted(path.name for path in machine.units.iterdir()) == [f"{mine.name}.service", f"{mine.name}.timer"]
    assert f"--user enable {mine.name}.timer" in machine.calls("systemctl")
    install(mine)
    assert len(list(machine.units.iterdir())) == 2
    assert remove(mine.archive) == ["systemd"]
    assert list(machine.units.iterdir()) == []
    assert f"--user disable --now {mine.name}.timer" in machine.calls("systemctl")
    assert find(mine.archive) is None


def test_a_refusal_by_systemd_leaves_no_unit(machine: Machine, mine: NightPlan) -> None:
    machine.has("systemctl")
    machine.now("refuses")
    with pytest.raises(UsageError, match=r"systemctl refused.*Unit is masked"):
        install(mine)
    assert list(machine.units.iterdir()) == []


def test_a_unit_of_another_program_is_kept(machine: Machine, mine: NightPlan) -> None:
    machine.has("systemctl")
    machine.units.mkdir(parents=True)
    theirs = machine.units / f"{mine.name}.timer"
    theirs.write_text("[Timer]\n")
    for attempt in (lambda: install(mine), lambda: remove(mine.archive)):
        with pytest.raises(UsageError, match="is not ours"):
            attempt()
    assert theirs.read_text() == "[Timer]\n"
    assert list(machine.units.iterdir()) == [theirs]


def test_the_next_time_is_today_or_tomorrow() -> None:
    noon = datetime(2026, 12, 31, 12, 0).astimezone()
    assert next_time(time(12, 1), noon).day == 31
    assert next_time(time(12, 0), noon).day == 1


OTHERS_OF = {"launchd": ("darwin", "launchctl", "agents", ".plist"), "schtasks": ("win32", "schtasks", "tasks", ".xml")}


@pytest.fixture(params=OTHERS_OF)
def other(request: pytest.FixtureRequest, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of launchd or Task Scheduler, on a machine that has it; a file for each schedule."""
    platform, program, store, suffix = OTHERS_OF[request.param]
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", platform)
    monkeypatch.setenv("HOME", str(machine.folder / "home"))
    machine.has(program)
    return machine.folder / store / f"*{suffix}"


def stored(other: Path) -> list[str]:
    return sorted(each.stem for each in other.parent.glob(other.name))


def test_launchd_and_task_scheduler_keep_one_schedule_for_each_archive(
    machine: Machine, other: Path, mine: NightPlan, tmp_path: Path
) -> None:
    scheduler = best()
    assert scheduler in OTHERS_OF
    plans = [plan_for(tmp_path / name / "日記 50% & co", "me.blog.example.jp", at="4:05") for name in "ab"]
    assert find(plans[0].archive) is None
    assert remove(plans[0].archive) == []
    for plan in (*plans, plans[0]):
        known = install(plan)
        assert (known.scheduler, known.next[-5:], known.words[: len(plan.command)]) == (
            scheduler,
            "04:05",
            plan.command,
        )
        assert schedulers.trouble(known) is None
    assert stored(other) == sorted(plan.name for plan in plans)
    moved = install(plan_for(plans[0].archive, "me.blog.example.jp", at="5:06"))
    assert (moved.next[-5:], find(plans[0].archive)) == ("05:06", moved)
    assert remove(plans[0].archive) == [scheduler]
    assert (stored(other), find(plans[0].archive)) == ([plans[1].name], None)
    assert remove(plans[1].archive) == [scheduler]
    assert (stored(other), remove(plans[1].archive)) == ([], [])
    machine.now("refuses")
    with pytest.raises(UsageError, match=r"refused, and nothing was scheduled: (Bootstrap failed|ERROR: Access)"):
        install(mine)
    assert (find(mine.archive), stored(other)) == (None, [])


def test_a_schedule_that_launchd_or_task_scheduler_does_not_start_is_reported(
    machine: Machine, other: Path, mine: NightPlan
) -> None:
    known = install(mine)
    if known.scheduler == "launchd":
        (machine.folder / "agents" / f"{mine.name}.plist").unlink()
        how = f"launchctl bootstrap gui/{os.getuid()} '{machine.folder}/home/Library/LaunchAgents/"
    else:
        task = machine.folder / "tasks" / f"{mine.name}.xml"
        text = task.read_text("utf-16").replace("<Priority>", "<Enabled>false</Enabled><Priority>")
        task.write_text(text, "utf-16")
        how = f"schtasks /Change /TN {mine.name} /ENABLE"
    assert how.replace("'", "") in (schedulers.trouble(known) or "").replace("'", "")


def test_what_another_program_or_an_editor_wrote_is_kept(machine: Machine, other: Path, mine: NightPlan) -> None:
    install(mine)
    file = machine.folder / "home" / "Library" / "LaunchAgents" / f"{mine.name}.plist"
    encoding = "utf-8"
    if best() == "schtasks":
        file, encoding = machine.folder / "tasks" / f"{mine.name}.xml", "utf-16"
    ours = file.read_text(encoding)
    theirs = ours.replace("made by blog-exporter schedule", "theirs")
    file.write_text(theirs, encoding)
    for attempt in (lambda: install(mine), lambda: remove(mine.archive)):
        with pytest.raises(UsageError, match="is not ours"):
            attempt()
    assert file.read_text(encoding) == theirs
    for old in ("StartCalendarInterval", "CalendarTrigger"):
        file.write_text(ours.replace(old, "Other"), encoding)
        if old in ours:
            with pytest.raises(UsageError, match="was changed"):
                find(mine.archive)
    file.write_text("<", encoding)
    with pytest.raises(UsageError, match=r"was changed|Cannot read the task"):
        find(mine.archive)


def test_a_task_with_characters_that_the_console_lacks_has_unknown_words(
    machine: Machine, mine: NightPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an English Windows, schtasks shows a question mark for each Japanese character."""
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", "win32")
    machine.has("schtasks")
    install(mine)
    task = machine.folder / "tasks" / f"{mine.name}.xml"
    task.write_bytes(task.read_text("utf-16").encode("cp1252", "replace"))
    known = find(mine.archive)
    assert known is not None
    assert (known.words, "??" in known.command) == ((), True)


@pytest.mark.parametrize("name", STRANGE)
def test_a_command_line_of_windows_is_read_as_it_was_written(name: str) -> None:
    words = ["backup", name, "", "a b", f"{name}\\", '"', f'x"{name}']
    assert words_of(subprocess.list2cmdline(words)) == words


@pytest.mark.parametrize("name", ["%TEMP%", "a$(Arg0)"])
def test_a_path_that_task_scheduler_would_replace_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="Task Scheduler would replace"):
        windows_task(plan_of(name))
