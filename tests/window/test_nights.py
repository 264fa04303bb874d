"""The window's pages agree with the scheduler about the nights, from the first backup on."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from exporter.schedule.plan import name_of, plan_for
from exporter.schedule.schedulers import install
from tests.support.runs import Zygote
from tests.support.schedulers import Machine, cron_daemon, machine_with_programs
from tests.window.in_thread import Running
from tests.window.opened import opened_in_thread
from tests.window.test_pages import BLOG_ID, Reader, home, service

__all__ = ["home", "machine_with_programs", "service"]

SCHEDULERS = {"schtasks": "win32", None: "linux", "launchd": "darwin", "cron": "linux", "systemd": "linux"}
PROGRAMS = {"cron": "crontab", "systemd": "systemctl", "launchd": "launchctl", "schtasks": "schtasks"}
NONE = "No nightly backup is scheduled."


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.sample(2)
def test_the_first_backup_says_whether_a_night_follows(
    machine_with_programs: Machine, home: Path, zygote: Zygote, monkeypatch: pytest.MonkeyPatch, scheduler: str | None
) -> None:
    machine = machine_with_programs
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", SCHEDULERS[scheduler])
    monkeypatch.setattr("exporter.schedule.cron.PROC", Path("/proc"))
    if scheduler is not None:
        machine.has(PROGRAMS[scheduler])
    with cron_daemon() if scheduler == "cron" else nullcontext(), opened_in_thread(home, zygote) as window:
        reader = Reader(window)
        place, page = reader.settled(reader.send("look", address=f"https://{BLOG_ID}/")[1])
        assert ("Yes, at a quiet minute of the night" in page) == (scheduler is not None)
        assert ("Nothing on this machine can start a backup every night" in page) == (scheduler is None)
        form = {"title": "海の日記", "place": "~/blogs/海 50%", "assets": "none"}
        _, place, _ = reader.send(place.replace("found", "begin"), when="night", **form)
        place, page = reader.settled(place)
        assert "Everything is saved" in page
        stored = [each for each in home.rglob(f"*{name_of(home / 'blogs' / '海 50%')}*") if each.suffix != ".log"]
        assert bool(stored or window.crontab) == (scheduler is not None)
        plan = reader.get(f"{place}/schedule")
        for shown in (page, reader.get(), plan):
            assert (NONE in shown) == (scheduler is None)
            assert ("Next backup: " in shown) == (scheduler is not None)
        assert ("Back up every night" in plan) == (scheduler is not None)
        assert ("Nothing on this machine can start a backup every night" in plan) == (scheduler is None)
        if scheduler is None:
            return
        assert f"by {scheduler}" in page
        _, there, _ = reader.send(f"{place}/schedule", task="remove")
        _, page = reader.settled(there)
        assert NONE in page
        assert NONE in reader.get(place)


def test_a_scheduler_that_does_not_run_promises_no_night(
    machine_with_programs: Machine, running: Running, archive: Path
) -> None:
    machine_with_programs.has("crontab")
    install(plan_for(archive, BLOG_ID))
    for names, starts in ((("sshd",), False), (("sshd", "crond"), True)):
        machine_with_programs.runs(*names)
        page = running.get(running.page_of(archive, "/schedule")).words
        assert ("Next backup: " in page, "The nightly backup does not start" in page) == (starts, not starts)
        assert ("cron has the schedule, but is not running" in page) == (not starts)
