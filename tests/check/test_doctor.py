"""``doctor`` in real situations: lost disks, moved folders, new computers, refused locks and tokens, dead services."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pwd
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.archive.settings_file import note_archive
from exporter.check import mounts
from exporter.check.doctor import WORST_FIRST, Diagnosis, diagnose
from exporter.clock import timestamp
from exporter.errors import BlogExporterError
from exporter.schedule.plan import name_of
from exporter.schedule.schedulers import find
from tests.cli.conftest import Program
from tests.cli.test_status import append_run
from tests.support import faults, printed
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import ROOT, Runs, serving
from tests.support.schedulers import Machine, machine

__all__ = ["machine"]

SYSTEM = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
BLOG = "one.blog.example.jp"
AS_ROOT = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root mounts and changes users")


@pytest.fixture(scope="module")
def service() -> Iterator[DemoService]:
    with serving(generated_blog(4, 2, 0, blog_id=BLOG)) as served:
        yield served


@pytest.fixture
def root(program: Program, service: DemoService, tmp_path: Path, machine: Machine) -> Iterator[Path]:
    """An archive that was just backed up, on a machine without a scheduler."""
    service.before = None
    yield backed_up(program, service, tmp_path / "blog")
    service.before = None


def backed_up(program: Program, service: DemoService, place: Path) -> Path:
    done = program(
        "backup", BLOG, "--archive", place, "--base-url", service.base_url, "--assets", "none", "--no-site",
        "--no-markdown", "--retries", 0, "-q",
    )  # fmt: skip
    assert done.code == 0, done.err
    return place


def names(found: Diagnosis) -> dict[str, int]:
    """Return the names of the findings without the remark that this machine has no scheduler; run their commands."""
    printed.try_here("\n".join(each.command for each in found.findings), Path(os.environ["XDG_CONFIG_HOME"]).parent)
    shown = (each for each in found.findings if each.name != "no_schedule" or " print " not in each.command)
    return {each.name: each.exit_code for each in shown}


def command_of(found: Diagnosis, name: str) -> list[str]:
    """Return the arguments for a finding's command, which must be one of this program's."""
    program, *words = shlex.split(next(each.command for each in found.findings if each.name == name))
    assert program == "blog-exporter"
    return words


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def disk(place: Path, *options: str) -> Iterator[Path]:
    """Mount an empty file system in memory."""
    place.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", ",".join(("mode=0700", *options)), "tmpfs", place], check=True, env=SYSTEM
    )
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True, env=SYSTEM)


def fill(path: Path) -> None:
    """Write zeros until the disk is full."""
    with path.open("wb", 0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


def test_all_is_well_and_nothing_is_changed(program: Program, root: Path, machine: Machine) -> None:
    shown = program("doctor", root)
    assert (shown.code, shown.out.splitlines()[0], shown.err) == (0, "No problems, but see below.", "")
    assert "- No nightly backup is scheduled." in shown.out
    assert "Install cron, such as with apt install cron. Or print" in " ".join(shown.out.split())
    machine.has("crontab")
    assert program("schedule", "install", root).code == 0
    before = content(root)
    shown = program("doctor", root)
    assert (shown.code, shown.out.splitlines()[0], shown.err) == (0, "All is well.", "")
    assert content(root) == before
    assert program("doctor", root, "-q").out == ""
    found = program("doctor", root, "--json").json
    assert (found["exit_code"], found["problems"], found["blog_id"], found["offline"]) == (0, 0, BLOG, False)
    there = {each["name"]: (each["where"], each["exists"]) for each in found["places"]}
    assert there["archive"] == (str(root), True)
    assert there["settings"][1] is False
    assert there["configuration"][1] is True


def test_offline_sends_no_request(program: Program, service: DemoService, root: Path) -> None:
    seen = len(service.requests)
    assert program("doctor", root, "--offline").code == 0
    assert len(service.requests) == seen
    assert program("doctor", root).code == 0
    assert seen < len(service.requests) <= seen + 20


@pytest.mark.thorough
@AS_ROOT
def test_a_disk_that_is_not_mounted(
    program: Program, service: DemoService, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "fstab"
    table.write_text(f"# disks\ntmpfs {tmp_path}/my\\040disk tmpfs noauto 0 0\n")
    monkeypatch.setattr(mounts, "FSTAB", table)
    with disk(tmp_path / "my disk") as place:
        root = backed_up(program, service, place / "blog")
        shutil.copytree(root, tmp_path / "copy")
        assert names(diagnose(root)) == {}
        mount = mounts.mount_of(root)
        assert mount is not None
        assert (mount.point, mount.type, mount.is_remote) == (place, "tmpfs", False)
    note_archive(tmp_path / "copy")
    shown = program("doctor", root)
    assert shown.code == 10
    assert f"The disk for {root} is not mounted at {place}." in " ".join(shown.out.split())
    assert f"\n    sudo mount '{place}'\n" in shown.out
    assert f"A copy of the archive, which may be older, is in {tmp_path / 'copy'}." in " ".join(shown.out.split())
    shutil.rmtree(tmp_path / "copy")
    monkeypatch.setattr(mounts, "FSTAB", tmp_path / "none")
    assert "though an earlier backup wrote it there" in program("doctor", root).out


@pytest.mark.usefixtures("machine")
def test_a_disk_that_is_not_connected(program: Program) -> None:
    shown = program("doctor", "/media/nobody/MY DISK/blog")
    assert (shown.code, "/media/nobody/MY DISK is missing or empty" in " ".join(shown.out.split())) == (10, True)


@pytest.mark.parametrize(
    ("scheduler", "platform"), [("crontab", "linux"), ("launchctl", "darwin"), ("schtasks", "win32")]
)
def test_a_moved_archive(
    program: Program, root: Path, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    scheduler: str, platform: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("exporter.schedule.programs.PLATFORM", platform)
    machine.has(scheduler)
    assert program("schedule", "install", root).code == 0
    moved = tmp_path / "else where"
    root.rename(moved)
    found = diagnose(root)
    assert names(found)["moved"] == 10
    assert command_of(found, "moved") == ["doctor", str(moved)]
    monkeypatch.chdir(tmp_path)
    assert "no longer has its archive" in " ".join(program("doctor", "blog", "--offline").out.split())
    found = diagnose(moved)
    assert (names(found)["schedule_of_old_place"], found.exit_code) == (2, 2)
    first, second = next(each.command for each in found.findings if each.exit_code).split(" && ")
    for command in (first, second):
        assert program(*shlex.split(command)[1:]).code == 0
    assert names(diagnose(moved)) == {}
    places = {each["name"]: each["where"] for each in program("doctor", moved, "--json", "--offline").json["places"]}
    assert name_of(moved) in places["schedule"] or scheduler == "crontab"
    assert find(root) is None


def test_a_settings_file_that_names_the_old_place(program: Program, root: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[blogs.mine]\nblog_id = "{BLOG}"\narchive = "{tmp_path}/old"\n')
    found = diagnose(root, config=settings)
    assert names(found)["settings_of_old_place"] == 10
    shown = " ".join(program("doctor", "mine", "--config", settings).out.split())
    assert f"[blogs.mine] in {settings} names this folder" in shown


def test_a_new_computer(
    program: Program, service: DemoService, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new computer"))
    found = diagnose(root)
    assert names(found) == {"new_computer": 2}
    words = command_of(found, "new_computer")
    assert words[:2] == ["backup", str(root)]
    assert words[words.index("--base-url") + 1] == service.base_url
    assert program(*words).code == 0
    assert names(diagnose(root)) == {}


def test_a_settings_file_that_somebody_changed(program: Program, root: Path) -> None:
    with (root / "settings.toml").open("a") as file:
        file.write('site_title = "海"\n')
    assert program("backup", root, "-q").code == 2
    found = diagnose(root, offline=True)
    assert names(found)["settings_changed"] == 2
    assert program(*command_of(found, "settings_changed")).code == 0
    assert names(diagnose(root, offline=True)) == {}


def test_a_copy_on_the_same_computer(program: Program, root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    found = diagnose(copy, offline=True)
    assert names(found) == {"copy": 0}
    assert program(*command_of(found, "copy")).code == 0
    assert program("sync", root, tmp_path / "synced").code == 0
    assert names(diagnose(tmp_path / "synced", offline=True)) == {"copy": 0}


WITHOUT_LOCKS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
rules = ctypes.create_string_buffer(bytes.fromhex(sys.argv[1]))
assert libc.prctl(38, 1, 0, 0, 0) == 0
program = Program(len(rules.raw) // 8, ctypes.cast(rules, ctypes.c_void_p))
assert libc.prctl(22, 2, ctypes.byref(program)) == 0, os.strerror(ctypes.get_errno())
sys.exit(__import__("exporter.cli.main").cli.main.main(sys.argv[2:]))
"""
"""Runs the program under a kernel that answers ``flock`` as a disk without locks does (seccomp(2))."""


def refusing(call: int, error: int) -> str:
    """Return a filter for seccomp(2) that fails one system call."""
    load, equal, end = 0x20, 0x15, 0x06
    allowed, failed = 0x7FFF0000, 0x00050000 | error
    rules = [(load, 0, 0, 0), (equal, 0, 1, call), (end, 0, 0, failed), (end, 0, 0, allowed)]
    return b"".join(struct.pack("HBBI", *rule) for rule in rules).hex()


def test_a_disk_whose_locks_fail(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", fail)
    found = diagnose(root, offline=True)
    assert found.exit_code == 2
    assert any("has no locks (No locks available)" in each.said for each in found.findings)
    assert not [path for path in (root / ".work").iterdir() if path.name.startswith("doctor")]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux" or struct.calcsize("P") != 8, reason="the numbers are those of Linux")
def test_a_disk_without_locks(root: Path) -> None:
    flock, no_locks = {"x86_64": 73, "aarch64": 32}[os.uname().machine], 37
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS, refusing(flock, no_locks), "doctor", str(root), "--offline"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "")
    assert "has no locks (No locks available), so no backup can be saved there" in " ".join(done.stdout.split())
    assert not [path for path in (root / ".work").iterdir() if path.name.startswith("doctor")]


@pytest.mark.thorough
@AS_ROOT
def test_a_full_disk_and_a_read_only_one(
    program: Program, service: DemoService, tmp_path: Path, machine: Machine
) -> None:
    with disk(tmp_path / "disk", "size=60m") as place:
        root = backed_up(program, service, place / "blog")
        assert names(diagnose(root)) == {}
        (place / "others").write_bytes(bytes(45_000_000))
        nearly = diagnose(root)
        assert names(nearly) == {"disk_full": 28}
        assert "is nearly full: a backup may need" in nearly.findings[0].said
        fill(place / "more")
        shown = program("doctor", root)
        assert (shown.code, "is full: No space left on device" in " ".join(shown.out.split())) == (28, True)
        (place / "others").unlink()
        subprocess.run(["mount", "-o", "remount,ro", place], check=True, env=SYSTEM)
        before = content(root)
        shown = program("doctor", root)
        assert (shown.code, "is on a read-only disk. It can be read" in " ".join(shown.out.split())) == (2, True)
        assert content(root) == before


@pytest.mark.thorough
@AS_ROOT
def test_an_archive_of_another_user(
    program: Program, service: DemoService, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / "home"))
    monkeypatch.setenv("PATH", "")
    try:
        root = backed_up(program, service, folder / "blog")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        diagnose(root, offline=True)  # imports every module while this user can still read it
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            found = diagnose(root, offline=True)
        finally:
            os.seteuid(0)
        assert names(found) == {"wrong_owner": 2, "open_to_others": 0}
        assert found.findings[0].said.startswith(f"{root} belongs to root, and you are nobody")
        assert found.findings[0].command == f"sudo chown -R nobody {root}"
        assert found.findings[1].command == f"chmod -R go= {root}"
        root.chmod(0o700)
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            assert names(diagnose(root, offline=True)) == {"unreadable": 2}
        finally:
            os.seteuid(0)
    finally:
        shutil.rmtree(folder)


def test_a_scheduler_that_does_not_run_or_starts_a_lost_program(
    program: Program, root: Path, machine: Machine, tmp_path: Path
) -> None:
    machine.has("crontab")
    assert command_of(diagnose(root, offline=True), "no_schedule") == ["schedule", "install", str(root)]
    token = tmp_path / "to ken%"
    token.write_text("x")
    assert program("schedule", "install", root, "--token-file", token).code == 0
    assert names(diagnose(root, offline=True)) == {}
    machine.runs("sshd")
    assert names(diagnose(root, offline=True)) == {"scheduler_stopped": 2}
    machine.runs("crond")
    token.unlink()
    found = diagnose(root, offline=True)
    assert names(found) == {"schedule_broken": 2}
    assert str(token) in found.findings[0].said
    table = machine.table.read_text()
    machine.table.write_text(table.replace(str(Path(sys.executable).parent), "/opt/gone"))
    assert "needs /opt/gone/blog-exporter, which no longer exists" in diagnose(root, offline=True).findings[0].said
    machine.table.write_text(table.replace("# END", "# Ende"))
    assert "schedule_unreadable" in names(diagnose(root, offline=True))


def test_a_night_that_did_not_run(program: Program, root: Path, machine: Machine) -> None:
    machine.has("crontab")
    assert program("schedule", "install", root).code == 0
    later = datetime.now(UTC) + timedelta(hours=27)
    assert names(diagnose(root, offline=True, now=later)) == {}
    found = diagnose(root, offline=True, now=later + timedelta(hours=2))
    assert (names(found), command_of(found, "night_missed")) == ({"night_missed": 6}, ["backup", str(root)])


def test_a_killed_run(runs: Runs, program: Program, service: DemoService, root: Path) -> None:
    service.before = faults.only("entry/get", faults.hang)
    seen = len(service.requests)
    words = ("backup", BLOG, "--archive", root, "--base-url", service.base_url, "--assets", "none", "--no-site")
    run = runs.start(*words)
    until = time.monotonic() + 120
    while not any(request.path.endswith("entry/get") for request in service.requests[seen:]):
        assert time.monotonic() < until
        time.sleep(0.01)
    run.signal(signal.SIGKILL)
    run.wait()
    service.before = None
    found = diagnose(root)
    assert (names(found)["last_run_died"], found.exit_code) == (7, 7)
    assert program(*command_of(found, "last_run_died"), "-q").code == 0
    assert names(diagnose(root)) == {}


def test_a_failed_run_and_a_run_in_the_future(program: Program, service: DemoService, root: Path) -> None:
    service.before = faults.status(500)
    assert program("backup", root, "--retries", 0, "-q").code == 20
    service.before = None
    found = diagnose(root)
    assert names(found)["last_run_failed"] == 7
    assert program(*command_of(found, "last_run_failed"), "-q").code == 0
    append_run(root, finished_at=timestamp(datetime.now(UTC) + timedelta(days=400)))
    assert names(diagnose(root)) == {"in_the_future": 6}


def test_a_clock_that_the_service_contradicts(service: DemoService, root: Path) -> None:
    async def yesterday(request: Any) -> Any:
        if not request.path.endswith("/user"):
            return None
        return web.json_response({"id": "x", "nickname": "n"}, headers={"Date": "Mon, 02 Nov 2020 03:00:00 GMT"})

    service.before = yesterday
    found = diagnose(root)
    assert names(found) == {"clock": 6}
    assert "seconds ahead" in found.findings[0].said


@pytest.mark.parametrize(
    ("code", "name", "exit_code", "said"),
    [
        (401, "token_missing", 12, "requires a token, but you have set none"),
        (403, "token_missing", 12, "requires a token, but you have set none"),
        (404, "blog_gone", 20, f"127.0.0.1 no longer has {BLOG}: it answers every request with HTTP 404"),
        (410, "blog_gone", 20, "HTTP 410"),
        (500, "service_silent", 20, "answered 500"),
    ],
)
def test_a_service_that_refuses(
    service: DemoService, root: Path, code: int, name: str, exit_code: int, said: str
) -> None:
    service.before = faults.status(code)
    found = diagnose(root)
    assert names(found) == {name: exit_code}
    assert said in found.findings[0].said
    assert found.findings[0].advice


def test_a_refused_token_names_its_place(service: DemoService, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "old")
    service.before = faults.status(401)
    withheld = diagnose(root).findings[0]
    assert withheld.name == "token_withheld"
    assert withheld.said.endswith("the one that you have (variable BLOG_EXPORTER_TOKEN) is not sent to it.")
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN_FOR", service.base_url)
    assert diagnose(root).findings[0].said == "The service refuses the token (variable BLOG_EXPORTER_TOKEN)."


def test_a_service_that_is_unreachable_gone_or_closed(
    root: Path, monkeypatch: pytest.MonkeyPatch, service: DemoService
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_BASE_URL", "http://nowhere.invalid")
    found = diagnose(root)
    assert names(found) == {"service_silent": 20}
    assert "nowhere.invalid" in found.findings[0].said
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    found = diagnose(root)
    assert names(found) == {"proxy": 20}
    assert "a proxy (HTTPS_PROXY), which this program does not use" in found.findings[0].said
    monkeypatch.setenv("BLOG_EXPORTER_CLOSING", "2020-01-31")
    assert names(diagnose(root)) == {"service_closed": 20}
    monkeypatch.delenv("BLOG_EXPORTER_BASE_URL")
    assert names(diagnose(root)) == {"closing_date_passed": 0}


def test_a_service_that_moved_to_another_address(
    service: DemoService, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def moved(_: web.Request) -> web.Response:
        return web.Response(status=301, headers={"Location": "https://moved.example.jp/"})

    service.before = moved
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    found = diagnose(root)
    assert names(found) == {"service_moved": 20}
    assert "redirects to another origin, https://moved.example.jp" in found.findings[0].said
    assert "proxy" not in found.findings[0].said + found.findings[0].advice
    assert command_of(found, "service_moved") == ["backup", str(root), "--base-url", "NEW_ADDRESS"]


def test_a_damaged_archive(program: Program, root: Path) -> None:
    segment = root / "versions/000001/entries.jsonl"
    segment.write_bytes(segment.read_bytes()[:-5])
    found = diagnose(root, offline=True)
    assert (names(found)["damaged"], found.exit_code) == (13, 13)
    assert program(*command_of(found, "damaged")).code == 13
    assert program("verify", root, "--repair").code == 0
    assert names(diagnose(root, offline=True)) == {}


def test_an_archive_of_a_newer_format(root: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    newer.mkdir(mode=0o700)
    info = json.loads((root / "archive.json").read_bytes())
    (newer / "archive.json").write_text(json.dumps({**info, "format_version": 99}))
    found = diagnose(newer)
    assert names(found) == {"newer_format": 14}
    assert "blog-exporter" in found.findings[0].command


def test_a_folder_of_a_cloud_with_placeholders_and_conflicts(program: Program, root: Path, tmp_path: Path) -> None:
    place = tmp_path / "OneDrive - 個人用"
    place.mkdir()
    inside = place / "blog"
    root.rename(inside)
    assert names(diagnose(inside, offline=True)) == {"cloud_folder": 0}
    version = inside / "versions/000001"
    (version / ".entries.jsonl.icloud").write_bytes(b"bplist00")
    assert names(diagnose(inside, offline=True)) == {"only_in_the_cloud": 3, "cloud_folder": 0}
    (version / ".entries.jsonl.icloud").unlink()
    for name in (
        "entries (山田の競合コピー 2026-11-01).jsonl",
        "manifest.sync-conflict-20261101-010203-ABCDEFG.json",
        "comments-DESKTOP-1A2B3C4.jsonl",
        "entries 2.jsonl",
    ):
        copy = version / name
        copy.write_bytes(b"{}\n")
        found = diagnose(inside, offline=True)
        assert names(found) == {"conflict_copies": 13, "cloud_folder": 0}, name
        copy.unlink()
        assert program(*command_of(found, "conflict_copies")).code == 0
    shown = program("doctor", inside, "--offline")
    assert (shown.code, "a folder of OneDrive" in " ".join(shown.out.split())) == (0, True)


@pytest.mark.parametrize(
    ("line", "mount", "own_locks"),
    [
        (
            "36 25 0:45 / /mnt/nas\\040box rw,noatime - nfs4 10.0.0.9:/vol rw,vers=4.2,local_lock=none",
            ("/mnt/nas box", "nfs4"),
            False,
        ),
        ("36 25 0:45 / /mnt/nas rw - nfs 10.0.0.9:/vol rw,vers=3,nolock,local_lock=all", ("/mnt/nas", "nfs"), True),
        ("36 25 0:45 / /mnt/nas rw shared:1 - cifs //nas/blog rw,nobrl", ("/mnt/nas", "cifs"), True),
        ("70 61 0:51 / /mnt/c rw,noatime - 9p C:\\134 rw,dirsync,aname=drvfs;path=C:\\", ("/mnt/c", "9p"), True),
        ("70 61 0:51 / /home/me/far rw - fuse.sshfs me@host: rw,user_id=0", ("/home/me/far", "fuse.sshfs"), True),
    ],
)
def test_the_mounts_of_network_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, mount: tuple[str, str], *, own_locks: bool
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"25 1 8:1 / / rw - ext4 /dev/sda1 rw\nnonsense\n{line}\n")
    monkeypatch.setattr(mounts, "MOUNTS", table)
    found = mounts.mount_of(Path(mount[0]) / "blog")
    assert found is not None
    assert ((str(found.point), found.type), found.is_remote, found.locks_stay_here) == (mount, True, own_locks)
    other = mounts.mount_of(Path("/srv/blog"))
    assert other is not None
    assert (other.type, other.is_remote) == ("ext4", False)


@pytest.mark.thorough
def test_two_programs_on_the_path(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old"
    old.mkdir()
    program = old / "blog-exporter"
    program.write_text("#!/bin/sh\necho 'blog-exporter, version 0.9.1'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{old}")
    found = diagnose(root, offline=True)
    assert names(found)["several_programs"] == 0
    (root / "blog-exporter").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (root / "blog-exporter").chmod(0o755)
    monkeypatch.setenv("PATH", f".::{Path(sys.executable).parent}:{old}")
    monkeypatch.chdir(root)
    found = diagnose(root, offline=True)
    assert not (tmp_path / "started").exists()
    assert f"{program} (0.9.1)" in next(each.said for each in found.findings if each.name == "several_programs")


@pytest.mark.parametrize(
    "run",
    [
        {"finished_at": "nonsense"},
        {"finished_at": "2026-01-01T00:00:00"},
        {"finished_at": None},
        {"outcome": ["saved"]},
        {"outcome": "failed", "error": 7},
        {"completeness": {"complete": False}, "problems": [{"kind": "entries"}]},
        {"completeness": {"complete": False}, "problems": [{"kind": 1, "id": {}, "reason": "\x1b[2J"}]},
    ],
)
def test_no_hostile_line_of_a_run_ends_it(program: Program, root: Path, run: dict[str, Any]) -> None:
    append_run(root, **run)
    shown = program("doctor", root, "--offline")
    assert shown.code in {0, *WORST_FIRST}
    assert shown.err == ""
    assert "\x1b" not in shown.out


USUAL = {"archive.json": "noise", "versions": "link", "runs.jsonl": "fifo", ".work": "link", "settings.toml": "huge"}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        pytest.param(name, how, marks=[] if USUAL.get(name) == how else pytest.mark.thorough)
        for name in ("archive.json", "versions", "runs.jsonl", ".work", "latest", "settings.toml", "assets")
        for how in ("link", "fifo", "folder", "noise", "huge")
    ],
)
def test_no_hostile_archive_ends_it(root: Path, name: str, how: str, tmp_path: Path) -> None:
    path = root / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    match how:
        case "link":
            path.symlink_to(outside)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "noise":
            path.write_bytes(b'{"format": [[["\x1b[2J\xff' * 50)
        case "huge":
            with path.open("wb") as file:
                file.truncate(1 << 41)
    found = diagnose(root, offline=True)
    assert list(outside.iterdir()) == []
    assert all("\x1b" not in f"{each.said}{each.advice}{each.command}" for each in found.findings)
    assert all(each.exit_code in {0, *WORST_FIRST} for each in found.findings)


def test_every_exit_code_of_an_error_can_be_that_of_a_finding() -> None:
    def codes(of: type[BlogExporterError]) -> set[int]:
        return {of.exit_code}.union(*(codes(child) for child in of.__subclasses__()))

    assert codes(BlogExporterError) <= {*WORST_FIRST, 5, 11, 15, 130, 143}


def test_a_log_of_runs_that_is_a_link_is_damage(root: Path) -> None:
    (root / "runs.jsonl").rename(root.parent / "runs.jsonl")
    (root / "runs.jsonl").symlink_to(root.parent / "runs.jsonl")
    found = diagnose(root, offline=True)
    assert names(found)["damaged"] == 13
    assert "runs.jsonl is a link" in found.findings[0].said
