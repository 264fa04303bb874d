"""``schedule`` and ``backup --unless-newer`` on the command line."""

from __future__ import annotations

import json
import plistlib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter.clock import timestamp
from tests.cli.conftest import Program
from tests.support.schedulers import Machine, machine

__all__ = ["machine"]

URL = ("--base-url", "http://127.0.0.1:9")


def test_install_status_and_remove(
    program: Program, machine: Machine, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("crontab")
    done = program("schedule", "status", archive)
    assert (done.code, done.out) == (5, "")
    assert done.err.endswith(f"No nightly backup is scheduled for {archive}.\n")  # nothing states its address
    with monkeypatch.context() as known:
        known.setenv("BLOG_EXPORTER_BASE_URL", URL[1])
        done = program("schedule", "status", archive)
    assert (done.code, done.out) == (5, "")
    assert f"blog-exporter schedule install {archive}" in done.err
    done = program("schedule", "install", archive, *URL, "--at", "03:17")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("shiodamari.blog.example.jp is backed up every night by cron; next: 20")
    done = program("schedule", "status", archive, "-v")
    assert done.code == 0
    assert "03:17, by cron\nLast run: 20" in done.out
    assert f"backup {archive} --base-url http://127.0.0.1:9" in done.err
    document = program("schedule", "status", archive, "--json").json
    assert (document["scheduler"], document["last_run"]["outcome"]) == ("cron", "saved")
    assert program("schedule", "remove", archive).out == "Removed from cron.\n"
    assert program("schedule", "remove", archive).out == f"Nothing was scheduled for {archive}.\n"
    assert program("schedule", "remove", archive, "--json").json == {"archive": str(archive), "removed": []}


def test_a_blog_that_has_no_archive_yet(
    program: Program, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("crontab")
    monkeypatch.chdir(tmp_path)
    done = program("schedule", "install", "me.blog.shinobi.jp", "--json")
    assert done.json["scheduler"] == "cron"
    assert f"backup me.blog.shinobi.jp --archive {tmp_path}/me.blog.shinobi.jp --wait-lock" in machine.table.read_text()
    assert program("schedule", "status", "me.blog.shinobi.jp").out.endswith("Last run: none yet\n")


def test_a_scheduler_that_does_not_run_is_reported(program: Program, machine: Machine, archive: Path) -> None:
    machine.has("crontab")
    machine.runs("sshd")
    for command in (("install", archive, *URL), ("status", archive)):
        done = program("schedule", *command)
        assert done.code == 0
        assert "cron has the schedule, but is not running on this machine" in done.err
    machine.runs("cron")
    assert program("schedule", "status", archive).err == ""
    (machine.folder / "proc" / "1" / "comm").unlink()  # some systems hide the processes of other users in /proc
    assert program("schedule", "status", archive).err == ""
    machine.has("systemctl")
    assert program("schedule", "install", archive, *URL).code == 0
    (machine.folder / "bin" / "systemctl").unlink()
    assert "systemd has the schedule, but is not running" in program("schedule", "status", archive).err


def test_other_words_are_distinguished_from_blog_ids(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for words, code, said in (
        (tmp_path / "file", 2, "is no export file that this program knows"),
        (tmp_path / "gone", 10, "does not exist"),
        ("https://me.blog.example.invalid/1", 20, "its name does not resolve"),
        ("http://me:s3cret@me.example.jp", 2, "Give the address without a user name and password"),
        ("s3://bucket/mine", 2, "blog-exporter sync s3://bucket/mine DIR"),
    ):
        done = program("backup", words)
        assert (done.code, said in done.err, "s3cret" in done.err) == (code, True, False)


def test_systemd_is_distinguished_from_a_session(program: Program, machine: Machine, archive: Path) -> None:
    machine.has("systemctl", "crontab")
    done = program("schedule", "install", archive, *URL)
    assert "by systemd; next: Mon 2026-11-23 03:22:02 UTC" in done.out
    assert "loginctl enable-linger" in done.err
    assert "by cron" in program("schedule", "install", archive, *URL, "--with", "cron").out
    assert list(machine.units.iterdir()) == []


def test_the_schedulers_can_read_the_printed_lines(program: Program, machine: Machine, archive: Path) -> None:
    def printed(kind: str) -> str:
        done = program("schedule", "print", archive, "--for", kind, *URL, "--at", "3:17")
        assert (done.code, done.err) == (0, "")
        return done.out

    assert printed("cron").startswith("17 3 * * *  /")
    assert printed("cron").count("\n") == 2
    assert "\n[Service]\n" in printed("systemd")
    assert plistlib.loads(printed("launchd").encode())["StartCalendarInterval"]["Hour"] == 3
    assert ET.fromstring(printed("schtasks")).tag.endswith("}Task")
    done = program("schedule", "print", archive, "--for", "systemd", *URL, "--json")
    assert [name.rpartition(".")[2] for name in done.json["files"]] == ["service", "timer"]
    assert machine.calls("crontab") == machine.calls("systemctl") == []


def test_paths_are_written_in_full_and_no_token_is(
    program: Program, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"token": "s3cret", "my.toml": 'base_url = "http://127.0.0.1:9"'}.items():
        Path(name).write_text(text)
        Path(name).chmod(0o600)
    done = program("schedule", "print", "archive", "--for", "cron", "--token-file", "token", "--config", "my.toml")
    assert f"backup {tmp_path}/archive --token-file {tmp_path}/token --config {tmp_path}/my.toml" in done.out
    assert (done.err, "s3cret" in done.out) == ("", False)
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "s3cret")
    done = program("schedule", "print", "archive", "--for", "cron", *URL)
    assert "schedulers do not know BLOG_EXPORTER_TOKEN" in done.err
    assert "s3cret" not in done.out + done.err


def test_invalid_schedules_are_reported(
    program: Program, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = program("schedule", "install", archive)
    assert (done.code, "give --base-url" in done.err) == (2, True)
    for address in ("http://me:s3cret@127.0.0.1:9", "http://127.0.0.1:9/?token=s3cret"):
        done = program("schedule", "print", archive, "--for", "cron", "--base-url", address)
        assert (done.code, done.out, "s3cret" in done.err) == (2, "", False)
    for place, code in ((tmp_path, 2), (tmp_path / "none", 10)):
        done = program("schedule", "print", place, "--for", "cron")
        assert (done.code, "blog" in done.err) == (code, True)
    for folder in ("/home/me/.cache/uv/archive-v0/x", "/private/var/folders/x/AppTranslocation/y/d/blog-exporter.app"):
        monkeypatch.setattr("sys.prefix", folder)
        assert "runs from a cache" in program("schedule", "print", archive, "--for", "cron", *URL).err


def test_a_blog_of_the_settings_file(program: Program, machine: Machine, tmp_path: Path) -> None:
    machine.has("crontab")
    config = tmp_path / "my.toml"
    config.write_text(f'[blogs.diary]\nblog_id = "me.blog.shinobi.jp"\narchive = "{tmp_path}/diary"\n')
    assert program("schedule", "install", "diary", "--config", config).code == 0
    assert f"backup diary --config {config} --wait-lock 1h" in machine.table.read_text()
    assert program("schedule", "status", tmp_path / "diary").code == 0
    assert program("schedule", "remove", "diary", "--config", config).out == "Removed from cron.\n"


Ended = Callable[..., None]


@pytest.fixture
def ended(archive: Path) -> Ended:
    """Replace the runs of the archive by these: outcome and age in hours, oldest first."""
    lines = archive.joinpath("runs.jsonl").read_text("utf-8").splitlines()

    def rewrite(*runs: tuple[str, float]) -> None:
        new = []
        for outcome, hours in runs:
            at = timestamp(datetime.now(UTC) - timedelta(hours=hours))
            new.append(json.dumps({**json.loads(lines[0]), "outcome": outcome, "finished_at": at}) + "\n")
        archive.joinpath("runs.jsonl").write_text("".join(new), "utf-8")

    return rewrite


@pytest.mark.parametrize(
    ("runs", "due"),
    [
        ([("saved", 19)], False),
        ([("partial", 19)], False),
        ([("saved", 21)], True),
        ([("saved", 21), ("failed", 3)], False),
        ([("saved", 21), ("failed", 5)], True),
        ([("saved", 21), ("interrupted", 0.1)], True),
        ([("saved", 19), ("failed", 5)], False),
        ([("unchanged", -0.01)], False),
        ([("unchanged", -2)], True),
        ([], True),
    ],
)
@pytest.mark.sample(2)
def test_a_blog_that_was_saved_or_tried_just_now_is_left_alone(
    program: Program, archive: Path, ended: Ended, runs: list[tuple[str, float]], due: bool
) -> None:
    ended(*runs)
    before = archive.joinpath("runs.jsonl").read_bytes()
    backup = ("backup", "shiodamari.blog.example.jp", "--archive", archive, *URL, "--retries", "0")
    done = program(*backup, "--unless-newer", "20h", "--quiet")
    assert (done.code, done.out) == (20 if due else 0, "")
    assert (done.err == "", archive.joinpath("runs.jsonl").read_bytes() == before) == (not due, not due)


def test_an_unneeded_backup_is_reported(program: Program, archive: Path, ended: Ended) -> None:
    ended(("saved", 1))
    backup = ("backup", "shiodamari.blog.example.jp", "--archive", archive, *URL, "--unless-newer")
    assert "Nothing to do: the blog was saved less than 20h ago" in program(*backup, "20h").err
    assert program(*backup, "20h", "--json").json["outcome"] == "skipped"
    done = program(*backup, "20")
    assert (done.code, "option --unless-newer is '20'" in done.err) == (2, True)
