"""Installed schedules, run by the real programs: a user's systemd, cron with its crontab, and their own checks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from exporter.schedule.cron import Cron
from exporter.schedule.formats import systemd_service, systemd_timer
from exporter.schedule.plan import NightPlan
from tests.cli.test_cron import cron
from tests.schedule.conftest import STRANGE
from tests.support.generated import generated_blog
from tests.support.runs import serving

__all__ = ["cron"]
pytestmark = pytest.mark.importers

PROGRAM = Path(sys.executable).with_name("blog-exporter")
PATIENCE_SECONDS = 150
"""cron reads its tables once a minute, and starts jobs at the full minute."""
WITNESS = f"""#!{sys.executable}
import json, os, pathlib, sys
told = pathlib.Path(__file__).with_name("told")
told.with_suffix(".new").write_text(json.dumps(sys.argv))
told.with_suffix(".new").rename(told)
sys.exit(int(os.environ.get("ENDS_WITH", "0")))
"""
"""Replaces the program: writes down its arguments."""
MANAGER = """
mount -t tmpfs tmpfs /run/systemd && mkdir /run/systemd/system || exit 1
/usr/lib/systemd/systemd --user --log-target=console > "$FOLDER/log" 2>&1 &
while ! systemctl --user is-system-running --wait > /dev/null 2>&1 && [ -d /proc/$! ]; do sleep 0.1; done
touch "$FOLDER/ready"
wait
"""
"""Starts a user's systemd on a machine without systemd, in a separate mount namespace."""


def witness(folder: Path) -> Path:
    """Make a program that replaces the real one."""
    folder.mkdir(parents=True)
    program = folder / "blog-exporter"
    program.write_text(WITNESS)
    program.chmod(0o700)
    return program


def strange_plans(folder: Path, at: datetime, *, inert_program: bool = False) -> list[NightPlan]:
    """Make plans for programs and archives whose paths are hard to quote."""
    plans = []
    for number, name in enumerate(STRANGE):
        program = witness(folder / str(number) / (re.sub("[\\\\\"']", "x", name) if inert_program else name))
        archive = program.parent / name
        words = (str(program), "backup", str(archive), "--quiet")
        plans.append(NightPlan(archive, "me.blog.example.jp", words, at.time()))
    return plans


def told(plan: NightPlan) -> Path:
    return Path(plan.command[0]).with_name("told")


@pytest.mark.usefixtures("cron")
def test_cron_starts_every_program_as_planned(tmp_path: Path) -> None:
    before = subprocess.run(["crontab", "-l"], capture_output=True).stdout
    plans = strange_plans(
        tmp_path, datetime.now().astimezone() + timedelta(minutes=2 if datetime.now().astimezone().second > 45 else 1)
    )
    try:
        for plan in plans:
            Cron().install(plan)
        until = time.monotonic() + PATIENCE_SECONDS
        while not all(told(plan).exists() for plan in plans):
            assert time.monotonic() < until, [str(told(plan)) for plan in plans if not told(plan).exists()]
            time.sleep(0.2)
    finally:
        for plan in plans:
            Cron().remove(plan.name)
    assert [json.loads(told(plan).read_text()) for plan in plans] == [list(plan.command) for plan in plans]
    assert subprocess.run(["crontab", "-l"], capture_output=True).stdout == before


def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    assert shutil.which("systemd-analyze"), "systemd is not installed; .ci/install gets it"
    units = tmp_path / "units"
    units.mkdir()
    for plan in strange_plans(tmp_path, datetime.now().astimezone(), inert_program=True):
        (units / f"{plan.name}.service").write_text(systemd_service(plan))
        (units / f"{plan.name}.timer").write_text(systemd_timer(plan))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", *sorted(units.iterdir())], capture_output=True, text=True
    )
    assert (verified.returncode, verified.stderr) == (0, "")


@contextmanager
def _user(tmp_path: Path) -> Iterator[dict[str, str]]:
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    (tmp_path / "home/.config").mkdir(parents=True)
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(run), "FOLDER": str(tmp_path),
        "BLOG_EXPORTER_LANG": "en",
    }  # fmt: skip
    manager = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", MANAGER], env=environ)
    try:
        until = time.monotonic() + 30
        while not (tmp_path / "ready").exists():
            assert time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.05)
        yield environ
    finally:
        subprocess.run(["systemctl", "--user", "exit"], env=environ, capture_output=True)
        manager.wait(30)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a user with a systemd."""
    assert os.geteuid() == 0, "a user's systemd needs its own mounts: run this test as root"
    with _user(tmp_path) as environ:
        yield environ


def systemctl(environ: dict[str, str], *words: str) -> str:
    done = subprocess.run(["systemctl", "--user", *words], env=environ, capture_output=True, text=True)
    return done.stdout + done.stderr


def units_of(environ: dict[str, str]) -> list[str]:
    return sorted(path.name for path in Path(environ["HOME"], ".config/systemd/user").glob("blog-exporter*"))


def test_systemd_backs_up_a_blog_every_night(user: dict[str, str], tmp_path: Path) -> None:
    blog, root = generated_blog(5, 3, 0), tmp_path / "日記 50% $HOME"
    token = tmp_path / "token"
    token.write_text("tok3n\n")
    token.chmod(0o600)

    def ours(*words: str) -> str:
        done = subprocess.run([PROGRAM, *words], env=user, capture_output=True, text=True, check=True)
        return done.stdout

    with serving(blog, require_token="tok3n") as service:
        options = ("--base-url", service.base_url, "--token-file", str(token), "--quiet")
        ours("backup", blog.blog_id, "--archive", str(root), *options)
        assert "every night by systemd; next: " in ours("schedule", "install", str(root), "--at", "03:17")
        service_unit, timer = units_of(user)
        assert " 03:" in ours("schedule", "status", str(root))
        assert timer in systemctl(user, "list-timers", "--all")
        systemctl(user, "start", "--wait", service_unit)
        result = systemctl(user, "show", service_unit, "--property=Result,ExecMainStatus")
        assert (result, (tmp_path / "log").read_text().count("error")) == ("Result=success\nExecMainStatus=0\n", 0)
    outcomes = [json.loads(line)["outcome"] for line in (root / "runs.jsonl").read_text("utf-8").splitlines()]
    assert outcomes == ["saved", "unchanged"]
    ours("schedule", "install", str(root), "--at", "03:18")
    assert units_of(user) == [service_unit, timer]
    assert ours("schedule", "remove", str(root)) == "Removed from systemd.\n"
    assert units_of(user) == []
    assert timer not in systemctl(user, "list-timers", "--all")


def test_systemd_starts_every_program_as_planned_and_repeats_temporary_failures(
    user: dict[str, str], tmp_path: Path
) -> None:
    folder = Path(user["HOME"], ".config/systemd/user")
    folder.mkdir(parents=True)
    plans = strange_plans(tmp_path / "plans", datetime.now().astimezone(), inert_program=True)
    for plan in plans:
        (folder / f"{plan.name}.service").write_text(systemd_service(plan))
    systemctl(user, "daemon-reload")
    for plan in plans:
        systemctl(user, "start", "--wait", f"{plan.name}.service")
    assert [json.loads(told(plan).read_text()) for plan in plans] == [list(plan.command) for plan in plans]
    for code, state in {"20": "SubState=auto-restart\n", "12": "SubState=failed\n", "0": "SubState=dead\n"}.items():
        systemctl(user, "set-environment", f"ENDS_WITH={code}")
        systemctl(user, "start", "--no-block", f"{plans[0].name}.service")
        shown, until = "", time.monotonic() + 10
        while shown != state and time.monotonic() < until:
            shown = systemctl(user, "show", f"{plans[0].name}.service", "--property=SubState")
            time.sleep(0.05)
        assert shown == state
        systemctl(user, "stop", f"{plans[0].name}.service")
        systemctl(user, "reset-failed")
