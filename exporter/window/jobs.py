"""Jobs: commands that the window runs as child processes, which outlive it.

A job is one command line of this program, and has a folder. Its process holds the lock in the folder while it runs, so
a window that was started later knows whether it still runs. Its events (:mod:`exporter.cli.events`) and its answer
(``--json``) go to files, which the pages about it read.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final

from exporter.archive import atomic
from exporter.archive.lock import ArchiveLock
from exporter.cli import events
from exporter.clock import SystemClock, timestamp
from exporter.errors import ArchiveLocked, UsageError
from exporter.message import message

if sys.platform == "win32":
    _INTERRUPT = signal.CTRL_BREAK_EVENT
    _APART: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _INTERRUPT = signal.SIGINT
    _APART: Final[dict[str, Any]] = {"start_new_session": True}

JOB: Final = "job.json"
SAID: Final = "said.jsonl"
ANSWER: Final = "answer.json"
EXIT: Final = "exit.json"
_LOCK: Final = "lock"
_KEPT_JOBS: Final = 50
_MAX_LINES: Final = 200
_MAX_ANSWER_BYTES: Final = 1 << 24
_STARTING_SECONDS: Final = 20.0
"""The time that the process of an earlier window may need until it takes its lock; imports alone can take seconds."""
_ASKED_SECONDS: Final = 2.0
"""A job waits so long for its lock: the window holds it for a moment when it tests whether the job runs."""
_MAX_SAID_BYTES: Final = 1 << 18
"""Only the end of the file is read: a hostile blog can make the file long, and the newest events come last."""


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A sentence of a command.

    Attributes:
        event: ``said``, ``notice``, ``warning`` or ``error``.
        text: in the window's language.
    """

    event: str
    text: str


@dataclass
class JobState:
    """How far a job is.

    Attributes:
        running: whether its process runs.
        exit_code: of the ended process; ``None`` while it runs, or if it was killed.
        rows: the newest counts: ``name``, ``done``, ``total`` (``None`` if unknown), and perhaps ``kind``.
        seconds_left: the expected time to the end; ``None`` if unknown.
        lines: the newest sentences.
        facts: the events ``way`` and ``finding`` of a check.
        answers: the answer for people, line by line.
        opens: the address that it asks a browser to open; empty without one.
        question: the question that it waits for an answer to; empty without one.
        error: the sentence of the error that ended it; empty without one.
    """

    running: bool = False
    exit_code: int | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    seconds_left: float | None = None
    lines: list[SaidLine] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    opens: str = ""
    question: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A command that the window runs or ran.

    Attributes:
        id: its name in addresses.
        words: the command line without the program's name.
        about: the kind of its work, such as ``backup``; see :meth:`Jobs.newest`.
        place: the archive's folder; empty if it works on no archive.
        started: the time in ISO 8601 with the offset.
        folder: its files.
        child: its process, if this window started it.
    """

    id: str
    words: tuple[str, ...]
    about: str
    place: str
    started: str
    folder: Path
    child: subprocess.Popen[bytes] | None = field(default=None, repr=False, compare=False)

    def state(self) -> JobState:
        """Read how far it is."""
        state = JobState()
        for event in _events(self.folder / SAID):
            _apply(state, event)
        # Before the exit code: a job that ends between the two looks as if it ran, not as if it had been killed.
        running = self._is_running()
        ended = _read(self.folder / EXIT)
        state.exit_code = ended.get("exit_code") if isinstance(ended.get("exit_code"), int) else None
        state.running = state.exit_code is None and running
        return state

    def answer(self) -> dict[str, Any]:
        """Return the last document that ``--json`` printed; empty without one."""
        try:
            with (self.folder / ANSWER).open("rb") as file:
                data = file.read(_MAX_ANSWER_BYTES)
            value = json.loads(data.splitlines()[-1])
        except (OSError, ValueError, IndexError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def stop(self) -> None:
        """Ask its process to end soon and cleanly, as Ctrl-C does. The same command resumes a backup."""
        lock = ArchiveLock(self.folder / _LOCK)
        pid = lock.holder().get("pid")
        # After a kill, the number may belong to another process.
        if isinstance(pid, int) and lock.is_held():
            with suppress(OSError):
                os.kill(pid, _INTERRUPT)

    def _is_running(self) -> bool:
        if ArchiveLock(self.folder / _LOCK).is_held():
            return True
        if self.child is not None:
            return self.child.poll() is None
        try:
            said = (self.folder / SAID).stat()
        except OSError:
            return False
        return said.st_size == 0 and SystemClock().now().timestamp() - said.st_mtime < _STARTING_SECONDS


class Jobs:
    """The commands that the window runs.

    Args:
        folder: for their files; only this user can read it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._starting = Lock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._asking: dict[str, IO[bytes]] = {}

    def start(self, words: Sequence[str], *, about: str, place: str = "", language: str, asks: bool = False) -> Job:
        """Start a command, with ``--json`` and the language added. If a job runs it already, return that job.

        If the command ``asks`` questions, :meth:`reply` answers them.
        """
        with self._starting:
            same = (job for job in self.all() if job.words == tuple(words) and job.state().running)
            return next(same, None) or self._new(words, about, place, language, asks=asks)

    def _new(self, words: Sequence[str], about: str, place: str, language: str, *, asks: bool) -> Job:
        self._remove_old()
        name = f"{SystemClock().now():%Y%m%d%H%M%S%f}-{secrets.token_hex(6)}"
        folder = self._folder / name
        started = timestamp(SystemClock().now())
        note = {"words": list(words), "about": about, "place": place, "started": started, "language": language}
        with atomic.translated(folder):
            atomic.make_folder(folder)
            atomic.write_file(folder / JOB, json.dumps(note, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            child = _started(folder, asks=asks)
            self._children[name] = child
            if child.stdin is not None:
                self._asking[name] = child.stdin
        return Job(name, tuple(words), about, place, started, folder, child)

    def reply(self, job: Job, text: str) -> bool:
        """Answer the question of a job that this window started; return whether it waited for one."""
        way = self._asking.get(job.id)
        if way is None:
            return False
        try:
            way.write(f"{' '.join(text.split())}\n".encode("utf-8", "replace"))
            way.flush()
        except OSError:
            return False
        return True

    def get(self, name: str) -> Job | None:
        """Return a job by its name."""
        if not name.replace("-", "").isalnum() or not name.isascii():
            return None
        folder = self._folder / name
        note = _read(folder / JOB)
        words = note.get("words")
        if not isinstance(words, list):
            return None
        about, place, started = (str(note.get(key, "")) for key in ("about", "place", "started"))
        return Job(name, tuple(map(str, words)), about, place, started, folder, self._children.get(name))

    def all(self) -> list[Job]:
        """Return all known jobs, the newest first."""
        for child in list(self._children.values()):
            child.poll()  # a process that nobody waits for would stay as a zombie
        try:
            names = sorted((each.name for each in self._folder.iterdir()), reverse=True)
        except OSError:
            return []
        return [job for name in names if (job := self.get(name)) is not None]

    def newest(self, place: str, about: str = "") -> Job | None:
        """Return the newest job about an archive; ``about`` chooses a kind."""
        return next((job for job in self.all() if job.place == place and about in ("", job.about)), None)

    def running(self) -> list[Job]:
        """Return the jobs whose processes run."""
        return [job for job in self.all() if job.state().running]

    def _remove_old(self) -> None:
        for job in self.all()[_KEPT_JOBS:]:
            if not job.state().running:
                self._children.pop(job.id, None)
                shutil.rmtree(job.folder, ignore_errors=True)


def run_job(folder: Path) -> int:
    """Run a job's command in this process, and write its exit code to a file.

    Raises:
        UsageError: the folder is no job, or its command runs already.
    """
    from exporter.cli.main import main  # noqa: PLC0415 - the window itself runs no command

    note = _read(folder / JOB)
    words = note.get("words")
    if not isinstance(words, list):
        raise UsageError(message("This folder is not a job of the window."))
    with ArchiveLock(folder / _LOCK) as lock:
        try:
            lock.acquire(SystemClock().now(), wait=_ASKED_SECONDS)
        except ArchiveLocked:
            raise UsageError(message("This job of the window runs already.")) from None
        code = main([*map(str, words), "--json", "--lang", str(note.get("language", "en"))])
        atomic.write_file(folder / EXIT, json.dumps({"exit_code": code}).encode())
    return code


def own_program() -> list[str]:
    """Return the words that start this program: a frozen one is its own interpreter."""
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-P", "-m", "exporter"]


def _started(folder: Path, *, asks: bool) -> subprocess.Popen[bytes]:
    words = [*own_program(), "app", "--job", str(folder)]
    environment = {**os.environ, events.VARIABLE: "json"}
    with atomic.open_private(folder / ANSWER) as answer, atomic.open_private(folder / SAID) as said:
        return subprocess.Popen(  # noqa: S603 - this program itself, with a folder of its own
            words,
            stdin=subprocess.PIPE if asks else subprocess.DEVNULL,
            stdout=answer,
            stderr=said,
            env=environment,
            cwd=Path.home(),
            **_APART,
        )


def _events(path: Path) -> list[dict[str, Any]]:
    """Return the events in a file. Any other line, such as a traceback's, becomes a sentence."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - _MAX_SAID_BYTES)
            file.seek(start)
            text = file.read(_MAX_SAID_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    found = []
    for line in text.split("\n")[1 if start else 0 :]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = {"event": "said", "text": line}
        if isinstance(value, dict):
            found.append(value)
    return found


def _apply(state: JobState, event: dict[str, Any]) -> None:
    """Change a state by an event."""
    name, text = event.get("event"), str(event.get("text", ""))
    if name == "progress":
        rows, left = event.get("rows"), event.get("seconds_left")
        state.rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        state.seconds_left = float(left) if isinstance(left, int | float) else None
    elif name == "answer":
        state.answers = [*state.answers[1 - _MAX_LINES :], text]
    elif name in ("way", "finding"):
        state.facts = [*state.facts[1 - _MAX_LINES :], event]
    elif name == "question":
        state.question = text
    elif name == "open" and str(event.get("url", "")).startswith(("http://", "https://")):
        state.opens = str(event["url"])
    elif name in ("said", "notice", "warning", "error"):
        if name == "error":
            state.error = text
        if text.strip():
            state.lines = [*state.lines[1 - _MAX_LINES :], SaidLine(str(name), text)]


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
