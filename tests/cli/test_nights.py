"""``init``, ``status`` and ``doctor`` agree with the scheduler about the nights, and its command makes a backup."""

from __future__ import annotations

import io
import json
import os
import plistlib
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from exporter.clock import SystemClock
from exporter.schedule.plan import name_of
from tests.cli.conftest import Program
from tests.schedule.test_formats import TASKS, as_cron_reads, as_systemd_reads, as_windows_reads
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import serving
from tests.support.schedulers import Machine, machine

__all__ = ["machine"]

ADDRESS = "https://generated.blog.example.jp/"
PLATFORMS = {"cron": "linux", "systemd": "linux", "launchd": "darwin", "schtasks": "win32"}
PROGRAMS = {"cron": "crontab", "systemd": "systemctl", "launchd": "launchctl", "schtasks": "schtasks"}
NONE = "No nightly backup is scheduled."


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(generated_blog(3, 1, 1)) as served:
        yield served


@pytest.fixture(autouse=True)
def home(program: Program, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert program.__name__ == "run"  # the variables below replace those of that fixture
    folder = machine.folder / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(machine.folder / "config"))
    return folder


def words_in(machine: Machine, scheduler: str, root: Path) -> tuple[str, ...]:
    """Return the command that a scheduler would start at night, as that scheduler reads its own store."""
    name = name_of(root)
    if scheduler == "cron":
        nightly = next(line for line in machine.table.read_text().splitlines() if re.match("[0-9]", line))
        return ("/bin/sh", "-c", as_cron_reads(nightly.partition("  ")[2]))
    if scheduler == "systemd":
        assert f"--user enable {name}.timer" in machine.calls("systemctl")
        return as_systemd_reads(
            (machine.units / f"{name}.service").read_text().partition("ExecStart=:")[2].split("\n")[0]
        )
    if scheduler == "launchd":
        return tuple(plistlib.loads((machine.folder / "agents" / f"{name}.plist").read_bytes())["ProgramArguments"])
    task = ET.fromstring((machine.folder / "tasks" / f"{name}.xml").read_bytes().decode("utf-16"))
    command, arguments = (task.findtext(f".//{TASKS}Exec/{TASKS}{each}") or "" for each in ("Command", "Arguments"))
    return (command, *as_windows_reads(arguments))


@pytest.mark.parametrize(
    ("scheduler", "asked"),
    [
        *zip(PLATFORMS, (True, False, False, True), strict=True),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in zip(PLATFORMS, (False, True, True, False), strict=True)
        ),
    ],
)
def test_a_promised_night_is_in_the_scheduler_and_makes_a_backup(
    program: Program, machine: Machine, service: DemoService, home: Path, monkeypatch: pytest.MonkeyPatch,
    scheduler: str, asked: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", PLATFORMS[scheduler])
    machine.has(PROGRAMS[scheduler])
    monkeypatch.setattr("exporter.schedule.systemd._LINGER", home / "linger")
    root = home / '日記 50% & it\'s "mine"'
    words = ["init", ADDRESS, "--base-url", service.base_url, "--assets", "none", "--archive", root, "--json"]
    if asked:
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n03:05\n"))
    with pytest.MonkeyPatch.context() as patch:
        yesterday = datetime.now(UTC) - timedelta(days=1)
        patch.setattr(SystemClock, "now", lambda _: yesterday)
        done = program(*words, *([] if asked else ["--yes"]))
    assert done.code == 0, done.err
    assert f"Saved every night by {scheduler}; next: 20" in done.err or scheduler == "systemd"
    assert "Your blog is safe in" in done.err
    assert ("It runs only while you are signed in" in done.err) == (scheduler != "cron")
    assert (NONE in done.err, done.json["nightly"]["starts"]) == (False, True)
    document = program("status", root, "--json").json["nightly"]
    assert document == done.json["nightly"]
    assert (document["scheduler"], document["command"]) == (scheduler, "")
    assert document["next"].endswith("03:05") or not asked or scheduler == "systemd"
    assert program("status", root).out.splitlines()[-1] == f"Next backup: {document['next']}, by {scheduler}"
    assert "No nightly backup" not in program("doctor", root, "--offline").out
    started = words_in(machine, scheduler, root)
    done_at_night = subprocess.run(started, capture_output=True, text=True, env=dict(os.environ))
    assert (done_at_night.returncode, done_at_night.stdout, done_at_night.stderr) == (0, "", "")
    assert json.loads((root / "runs.jsonl").read_text("utf-8").splitlines()[-1])["outcome"] == "unchanged"
    assert len((root / "runs.jsonl").read_text("utf-8").splitlines()) == 2


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_a_machine_without_a_scheduler_promises_no_night(
    program: Program, machine: Machine, service: DemoService, home: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", platform)
    root = home / "blog"
    done = program(
        "init", ADDRESS, "--base-url", service.base_url, "--archive", root, "--assets", "none", "--yes", "--json"
    )
    assert (done.code, done.json["exit_code"]) == (0, 0), done.err
    assert f"{NONE} Nothing on this machine can start a backup every night" in done.err
    assert "Your blog as it is now is safe in" in done.err
    assert "Your blog is safe" not in done.err
    document: dict[str, Any] = program("status", root, "--json").json["nightly"]
    assert document == done.json["nightly"]
    assert document == {"starts": False, "scheduler": None, "next": None, "said": NONE, "command": ""}
    line = program("status", root).out.splitlines()[-1]
    assert line.startswith(f"{NONE} Nothing on this machine")
    printed = program(*shlex.split(line.partition("another scheduler: ")[2])[1:])
    assert (printed.code, str(root) in printed.out) == (0, True), printed.err
    form = {"linux": " * * *  /", "darwin": "<plist ", "win32": "<Task "}[platform]
    assert form in printed.out
    shown = program("doctor", root, "--offline")
    assert (shown.code, shown.out.splitlines()[0]) == (0, "No problems, but see below.")
    assert f"\n    blog-exporter schedule print {root}\n" in shown.out
    assert f"- {NONE}" in shown.out
    status = program("schedule", "status", root)
    assert (status.code, f"scheduled for {root}. Nothing on this machine" in status.err) == (5, True)


def test_a_night_that_nobody_wanted_is_named_and_no_fault(
    program: Program, machine: Machine, service: DemoService, home: Path
) -> None:
    machine.has("crontab")
    words = ["init", ADDRESS, "--base-url", service.base_url, "--archive", home / "blog", "--assets", "none", "--yes"]
    done = program(*words, "--at", "never")
    command = f"blog-exporter schedule install {home / 'blog'}"
    assert (done.code, "warning" in done.err, "Your blog is safe" in done.err) == (0, False, False)
    assert f"No nightly backup is scheduled, as you chose. To schedule it: {command}" in done.err
    assert program("status", home / "blog").out.splitlines()[-1] == f"{NONE} To schedule it: {command}"
    assert program(*shlex.split(command)[1:]).code == 0
    assert program("status", home / "blog", "--json").json["nightly"]["starts"] is True
    again = program(*words, "--at", "never")
    assert "Saved every night by cron" in again.err


def test_a_scheduler_that_does_not_run_promises_no_night(
    program: Program, machine: Machine, service: DemoService, home: Path
) -> None:
    machine.has("crontab")
    machine.runs("sshd")
    root = home / "blog"
    words = ["init", ADDRESS, "--base-url", service.base_url, "--archive", root, "--assets", "none", "--yes", "--json"]
    done = program(*words)
    assert (done.code, done.json["nightly"]["starts"], done.json["nightly"]["scheduler"]) == (0, False, "cron")
    assert "cron has the schedule, but is not running" in done.err
    assert "Saved every night" not in done.err
    assert program("status", root).out.splitlines()[-1].startswith("cron has the schedule, but is not running")
    assert "is backed up every night" not in program("schedule", "install", root).out
    machine.now("refuses")
    machine.runs("crond")
    done = program(*words, "--at", "04:05")
    assert (done.code, "No nightly backup is scheduled." in done.err) == (0, True)


def test_the_address_of_the_last_backup_is_enough_for_the_advice_to_schedule_the_next(
    program: Program, machine: Machine, service: DemoService, home: Path
) -> None:
    machine.has("crontab")
    root = home / "blog"
    words = ["--base-url", service.base_url, "--archive", root, "--assets", "none", "--no-site"]
    assert program("backup", "generated.blog.example.jp", *words).code == 0
    command = f"blog-exporter schedule install {root}"
    assert program("status", root).out.splitlines()[-1] == f"{NONE} To schedule it: {command}"
    assert program("status", root, "--json").json["nightly"]["command"] == command
    assert program("sync", root, home / "copy").code == 0
    assert program("status", home / "copy").out.splitlines()[-1] == NONE


def test_a_schedule_whose_program_is_gone_promises_no_night(
    program: Program, machine: Machine, service: DemoService, home: Path
) -> None:
    machine.has("crontab")
    root = home / "blog"
    words = ["--base-url", service.base_url, "--archive", root, "--assets", "none", "--yes"]
    assert program("init", ADDRESS, *words).code == 0
    machine.table.write_text(machine.table.read_text().replace("  /", "  /gone/"))
    shown = [program("status", root), program("init", ADDRESS, *words), program("doctor", root, "--offline")]
    for each in shown:
        said = " ".join((each.out + each.err).split())
        assert "The nightly schedule needs /gone/" in said
        assert f"blog-exporter schedule install {root}" in said
        assert "Next backup: " not in said
        assert "Saved every night" not in said
    assert shown[2].out.splitlines()[0] == "1 problem"
    assert program("status", root, "--json").json["nightly"]["starts"] is False


def test_a_home_folder_that_cannot_be_read_has_no_agents(
    program: Program, machine: Machine, archive: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable = f"/{'home' * 99}"
    monkeypatch.setenv("HOME", unreadable)
    status = program("status", archive)
    assert (status.code, status.out.splitlines()[-1]) == (0, NONE)
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", "darwin")
    status = program("status", archive)
    assert (status.code, unreadable in status.out.splitlines()[-1]) == (0, True)


def test_a_cron_that_refuses_the_user_is_not_called_missing(
    program: Program, machine: Machine, service: DemoService, home: Path
) -> None:
    machine.has("crontab")
    machine.now("refuses")
    root = home / "blog"
    words = ["--base-url", service.base_url, "--archive", root, "--assets", "none"]
    said = "crontab refuses you (you are not allowed to use this program)"
    done = program("init", ADDRESS, *words, "--yes")
    shown = [program("status", root), program("schedule", "status", root), program("schedule", "install", root)]
    assert [each.code for each in (done, *shown)] == [0, 0, 5, 2]
    for each in (done, *shown):
        assert said in each.out + each.err
        assert "there is no cron" not in each.out + each.err


def test_init_refuses_another_folder_for_a_blog_that_has_one(
    program: Program, machine: Machine, service: DemoService, home: Path
) -> None:
    words = ["init", ADDRESS, "--base-url", service.base_url, "--assets", "none", "--yes", "--archive"]
    assert program(*words, home / "blog").code == 0
    other = program(*words, home / "other")
    assert (other.code, f"names {home / 'blog'} as the archive of generated.blog.example.jp" in other.err) == (2, True)
    assert not (home / "other").exists()
    assert program(*words, home / "blog").code == 0


def test_export_files_and_archives_of_a_fleet_need_no_night_of_their_own(
    program: Program, machine: Machine, service: DemoService, home: Path
) -> None:
    machine.has("crontab")
    file = home / "blog.txt"
    head = "AUTHOR: me\nTITLE: 海\nSTATUS: Publish\nDATE: 01/02/2020 03:04:05"
    file.write_text(f"{head}\n-----\nBODY:\n<p>潮</p>\n-----\n--------\n", "utf-8")
    done = program("init", file, "--archive", home / "from file", "--yes", "--json")
    assert (done.code, done.json["nightly"]) == (0, None), done.err
    assert "Your blog as in this file is safe in" in done.err
    assert f"{NONE[:-1]}, because files do not change." in done.err
    assert program("status", home / "from file", "--json").json["nightly"] is None
    assert NONE not in program("status", home / "from file").out
    member = home / "fleet" / "ab" / "generated.blog.example.jp"
    words = ["--base-url", service.base_url, "--archive", member, "--assets", "none"]
    assert program("backup", "generated.blog.example.jp", *words).code == 0
    assert NONE in program("status", member).out
    assert NONE in program("doctor", member, "--offline").out
    (home / "fleet" / "fleet.sqlite").touch()
    assert program("status", member, "--json").json["nightly"] is None
    assert NONE not in program("status", member).out + program("doctor", member, "--offline").out
