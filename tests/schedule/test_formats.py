"""Each scheduler's file contains the plan's words with any characters; a separate parser reads them."""

from __future__ import annotations

import plistlib
import re
import shlex
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.errors import UsageError
from exporter.schedule.formats import cron_lines, launchd_plist, systemd_service, systemd_timer, windows_task
from exporter.schedule.plan import NightPlan, name_of, plan_for
from tests.schedule.conftest import STRANGE, plan_of

TASKS = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


def as_cron_reads(command: str) -> str:
    """Return the command that cron passes to the shell: by crontab(5), and byte by byte as its source does."""
    given, escaped = "", False
    for each in command:
        if escaped:
            given = given[:-1] + each if each in "%\\" else given + each
            escaped = False
            continue
        escaped = each == "\\"
        if each == "%":
            return given
        given += each
    return given


def test_cron_gets_every_word(plan: NightPlan) -> None:
    nightly, hourly = cron_lines(plan).splitlines()
    when, _, command = nightly.partition("  ")
    assert when == "7 3 * * *"
    assert tuple(shlex.split(as_cron_reads(command))) == plan.command
    when, _, command = hourly.partition("  ")
    assert when == "37 * * * *"
    assert tuple(shlex.split(as_cron_reads(command))) == (*plan.command, "--unless-newer", "26h")


def test_a_line_that_cron_would_cut_is_refused() -> None:
    with pytest.raises(UsageError, match="1,000 bytes"):
        cron_lines(plan_of("あ" * 300))


def as_systemd_reads(line: str) -> tuple[str, ...]:
    """Return the words of a quoted line, by systemd.service(5) and systemd.syntax(7)."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    return tuple(re.sub(r"\\(.)", r"\1", word).replace("%%", "%") for word in words)


def test_systemd_gets_every_word(plan: NightPlan) -> None:
    if set(plan.command[0]) & set("\\\"'"):
        with pytest.raises(UsageError, match="a quote or a backslash"):
            systemd_service(plan)
        plan = replace(plan, command=("/usr/bin/blog-exporter", *plan.command[1:]))
    (line,) = re.findall(r"^ExecStart=:(.*)$", systemd_service(plan), re.MULTILINE)
    assert as_systemd_reads(line) == plan.command


def test_systemd_repeats_temporary_failures_and_missed_runs() -> None:
    service, timer = systemd_service(plan_of("blog")), systemd_timer(plan_of("blog"))
    (never,) = re.findall(r"^RestartPreventExitStatus=(.*)$", service, re.MULTILINE)
    assert "20" not in never.split()
    assert {"1", "2", "3", "4", "11", "12", "13", "28"} < set(never.split())
    assert "OnCalendar=*-*-* 03:07:00\n" in timer
    assert "Persistent=true\n" in timer
    assert "RandomizedDelaySec=15min\n" in timer


def test_launchd_gets_every_word(plan: NightPlan) -> None:
    agent = plistlib.loads(launchd_plist(plan, "/home/me/log").encode())
    assert tuple(agent["ProgramArguments"]) == (*plan.command, "--unless-newer", "3h")
    assert agent["StartCalendarInterval"] == {"Hour": 3, "Minute": 7}
    assert agent["RunAtLoad"] is True


def as_windows_reads(line: str) -> list[str]:
    """Return the words of a command line, by the rules of Microsoft's C runtime."""
    words = []
    for found in re.finditer(r'(?:[^\s"]|"(?:[^"\\]|\\+(?!")|\\.)*")+', line):
        word = re.sub(
            r'(\\+)("|$)', lambda run: "\\" * (len(run[1]) // 2) + "\0" * (len(run[1]) % 2) + run[2], found[0]
        )
        words.append(word.replace('\0"', "\0").replace('"', "").replace("\0", '"'))
    return words


@pytest.mark.parametrize("name", [name for name in STRANGE if "\\" not in name])
def test_windows_gets_every_word(name: str) -> None:
    plan = plan_of(name)
    task = ET.fromstring(windows_task(plan))
    assert task.findtext(f".//{TASKS}Exec/{TASKS}Command") == plan.command[0]
    assert as_windows_reads(task.findtext(f".//{TASKS}Arguments") or "") == list(plan.command[1:])
    assert task.findtext(f".//{TASKS}StartBoundary") == "2026-01-01T03:07:00"
    assert task.findtext(f".//{TASKS}StartWhenAvailable") == "true"


def test_a_plan_names_the_program_and_every_path_in_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_for(Path("blog"), "me.blog.example.jp", at="23:59")
    assert Path(plan.command[0]).is_absolute()
    assert plan.archive == tmp_path / "blog"
    assert plan.command[1:] == ("backup", str(tmp_path / "blog"), "--wait-lock", "1h", "--quiet")
    assert f"{plan.at:%H:%M}" == "23:59"


def test_the_nightly_command_has_the_current_language(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("exporter.schedule.plan.current_language", lambda: "ja")
    assert plan_for(tmp_path, "me.blog.example.jp").command[2:5] == (str(tmp_path), "--lang", "ja")


def test_a_program_that_has_no_script_is_started_as_a_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert plan_for(tmp_path, "blog").command[:4] == (str(tmp_path / "python"), "-P", "-m", "exporter")


def test_the_minute_of_an_archive_never_changes(tmp_path: Path) -> None:
    times = {plan_for(tmp_path / str(number), "blog").at for number in range(50)}
    assert {each.hour for each in times} == {3}
    assert len(times) > 20
    assert plan_for(tmp_path / "7", "blog") == plan_for(tmp_path / "7", "blog")


def test_names_are_unique_to_archives_and_valid_for_every_scheduler() -> None:
    names = [name_of(Path(path)) for path in ("/a/Blog", "/b/Blog", "/a/日記", "/a/" + "x" * 200)]
    assert len(set(names)) == 4
    assert all(re.fullmatch("blog-exporter(-[a-z0-9]+)+", name) and len(name) < 64 for name in names)


@pytest.mark.parametrize("at", ["24:00", "3", "03:60", "", "3am", "-1:00"])
def test_an_invalid_time_is_refused(tmp_path: Path, at: str) -> None:
    with pytest.raises(UsageError, match="is not a time of day: give one such as 03:17"):
        plan_for(tmp_path, "blog", at=at)


@pytest.mark.parametrize("name", ["a\nb", "a\x00b", "a\u2028b", "a\udcffb", "a\x1bb"])
def test_a_path_that_breaks_lines_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="schedulers do not accept"):
        plan_for(tmp_path / name.replace("\x00", "\x01"), "blog")
