"""Programs that answer as ``crontab``, ``systemctl``, ``launchctl`` and ``schtasks`` do, in a folder of a test.

Within the test's process, functions replace the first two, because each start of a program takes time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

CRONTAB = """#!/bin/sh
echo "$@" >> '{folder}/crontab.calls'
[ -e '{folder}/refuses' ] && {{ echo 'you are not allowed to use this program' >&2; exit 1; }}
case "$1" in
-l) [ -e '{folder}/table' ] || {{ echo 'no crontab for me' >&2; exit 1; }}; /bin/cat '{folder}/table'
    [ -e '{folder}/busy' ] && echo '1 1 * * * another' >> '{folder}/table'; exit 0;;
-r) /bin/rm '{folder}/table';;
-) /bin/cat > '{folder}/table'; [ -e '{folder}/adds' ] && echo '# added' >> '{folder}/table'; exit 0;;
esac
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> '{folder}/systemctl.calls'
[ -e '{folder}/refuses' ] && [ "$2" = enable ] && {{ echo 'Unit is masked.' >&2; exit 1; }}
case "$2 $4" in
"show --property=NextElapseUSecRealtime") echo 'Mon 2026-11-23 03:22:02 UTC';;
esac
exit 0
"""
LAUNCHCTL = """#!/bin/sh
echo "$@" >> '{folder}/launchctl.calls'
name="${{2##*/}}"
case "$1 $2" in
"print gui/"*/*) [ -e "{folder}/agents/$name.plist" ];;
"print gui/"*) exit 0;;
"bootstrap gui/"*) [ -e '{folder}/refuses' ] && {{ echo 'Bootstrap failed: 5: Input/output error' >&2; exit 5; }}
    [ -e "{folder}/agents/${{3##*/}}" ] && {{ echo 'Bootstrap failed: 37: Operation already in progress' >&2; exit 37; }}
    /bin/mkdir -p '{folder}/agents' && /bin/cp "$3" '{folder}/agents/';;
"bootout gui/"*) /bin/rm "{folder}/agents/$name.plist";;
"enable gui/"*) exit 0;;
*) exit 64;;
esac
"""
"""Keeps the loaded agents in the folder ``agents``."""
SCHTASKS = """#!/bin/sh
echo "$@" >> '{folder}/schtasks.calls'
[ "$1" = '/?' ] && exit 0
task='{folder}/tasks/'"$3.xml"
case "$1 $2 $4 $6" in
"/Create /TN /XML /F") [ -e '{folder}/refuses' ] && {{ echo 'ERROR: Access is denied.' >&2; exit 1; }}
    /bin/mkdir -p '{folder}/tasks' && /bin/cp "$5" "$task";;
"/Query /TN /XML ") [ -e "$task" ] || {{ echo 'ERROR: The system cannot find the file specified.' >&2; exit 1; }}
    /bin/cat "$task";;
"/Delete /TN /F ") /bin/rm "$task";;
*) exit 64;;
esac
"""
"""Keeps the tasks in the folder ``tasks``."""
PROGRAMS = {"crontab": CRONTAB, "systemctl": SYSTEMCTL, "launchctl": LAUNCHCTL, "schtasks": SCHTASKS}


_DAEMON = """
import sys
open("/proc/self/comm", "w").write("crond")
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def cron_daemon() -> Iterator[None]:
    """Start a process that has cron's name and does nothing."""
    process = subprocess.Popen([sys.executable, "-c", _DAEMON], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield


def list_processes(proc: Path, *names: str) -> None:
    """Fill a folder in place of ``/proc``: it has the first process, and these."""
    shutil.rmtree(proc, ignore_errors=True)
    for number, name in enumerate(("init", *names), 1):
        process = proc / str(number)
        process.mkdir(parents=True)
        (process / "comm").write_text(f"{name}\n")


@dataclass(frozen=True)
class Machine:
    """A machine with the schedulers of a test."""

    folder: Path

    @property
    def table(self) -> Path:
        """The crontab."""
        return self.folder / "table"

    @property
    def units(self) -> Path:
        """The folder of the user's units."""
        return self.folder / "config" / "systemd" / "user"

    def has(self, *programs: str) -> None:
        """Install schedulers."""
        for name in programs:
            path = self.folder / "bin" / name
            path.write_text(PROGRAMS[name].format(folder=self.folder))
            path.chmod(0o700)

    def runs(self, *names: str) -> None:
        """Let only these processes run, in addition to the first one."""
        list_processes(self.folder / "proc", *names)

    def calls(self, program: str) -> list[str]:
        """Return the arguments of each call of a program."""
        path = self.folder / f"{program}.calls"
        return path.read_text().splitlines() if path.exists() else []

    def answer(self, *words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes] | None:
        """Answer as the program of a test does, without a process."""
        program, *arguments = words
        path = self.folder / "bin" / program
        if str(path.parent) not in os.environ["PATH"].split(os.pathsep) or not path.exists():
            return None
        if program in ("launchctl", "schtasks"):
            return subprocess.run(words, capture_output=True)
        with (self.folder / f"{program}.calls").open("a") as calls:
            calls.write(" ".join(arguments) + "\n")
        code, out, err = (self._crontab if program == "crontab" else self._systemctl)(arguments, given or b"")
        return subprocess.CompletedProcess(words, code, out, err)

    def _is(self, state: str) -> bool:
        return (self.folder / state).exists()

    def _crontab(self, words: list[str], given: bytes) -> tuple[int, bytes, bytes]:
        if self._is("refuses"):
            return 1, b"", b"you are not allowed to use this program\n"
        if words == ["-l"] and not self.table.exists():
            return 1, b"", b"no crontab for me\n"
        before = self.table.read_bytes() if self.table.exists() else b""
        if words == ["-l"] and self._is("busy"):
            self.table.write_bytes(before + b"1 1 * * * another\n")
        elif words == ["-r"]:
            self.table.unlink()
        elif words == ["-"]:
            self.table.write_bytes(given + b"# added\n" * self._is("adds"))
        return 0, before if words == ["-l"] else b"", b""

    def _systemctl(self, words: list[str], _given: bytes) -> tuple[int, bytes, bytes]:
        if self._is("refuses") and words[1:2] == ["enable"]:
            return 1, b"", b"Unit is masked.\n"
        is_asked = words[1:2] == ["show"] and words[3:4] == ["--property=NextElapseUSecRealtime"]
        return 0, b"Mon 2026-11-23 03:22:02 UTC\n" if is_asked else b"", b""

    def now(self, state: str) -> None:
        """Let a program fail (``refuses``), report a table in use (``busy``), or add a line (``adds``)."""
        (self.folder / state).touch()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine without any scheduler and with nothing else in its PATH; it starts no process for them."""
    made = _made(tmp_path / "machine", monkeypatch)
    monkeypatch.setattr("exporter.schedule.programs.run", made.answer)
    return made


@pytest.fixture
def machine_with_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The same machine, whose schedulers are started."""
    return _made(tmp_path / "machine", monkeypatch)


def _made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(folder / "bin"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.delenv("BLOG_EXPORTER_TOKEN", raising=False)
    monkeypatch.setattr("exporter.schedule.cron.PROC", folder / "proc")
    made = Machine(folder)
    made.runs("sshd", "crond")
    return made
