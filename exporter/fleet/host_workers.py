"""Save the blogs of several services in worker processes; all blogs of a host belong to one process.

So one process sends all requests to a host, and can keep its budget alone. The hosts are divided into groups, one for
each worker. For each group, ``.work/hosts`` in the fleet's folder holds ``N.todo``, to which the main
process appends blogs, and ``N.done``, to which the worker appends how each attempt ended. Both are JSON lines, so they
outlive any process: a new worker reads the remaining blogs, and the next run records the attempts of a killed one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import InnerPath
from exporter.clock import Clock, SystemClock
from exporter.errors import BlogExporterError, Interrupted, Terminated, UsageError
from exporter.fleet.capturing import BlogCapturer, budget_of_pages
from exporter.fleet.ledger import CAPTURES, FILE_NAME, BlogAttempt, DueBlog, FleetLedger
from exporter.fleet.overview import fleet_lock
from exporter.fleet.pool import Died, Raised, WorkerPool, worker_died_error
from exporter.fleet.saving import BlogSaver, rare_collections, settings_for
from exporter.http.address_guard import check_base_url, origin_of
from exporter.http.engine import Engine
from exporter.message import message, message_n
from exporter.settings import Settings

_POLL_SECONDS: Final = 0.1
_PROGRESS_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 0.8
"""Time for attempts to end cleanly when the run is stopped; the command itself ends within two seconds."""
_LOCK_SECONDS: Final = 60.0
"""How long to wait for a worker that another run left behind; it notices within a second."""
_MAX_DEATHS: Final = 10
_STOPPED: Final = frozenset({Interrupted.exit_code, Terminated.exit_code})


class HostTask(NamedTuple):
    """The task of one worker: a group of hosts. It may go to another machine, so it holds no secret.

    Attributes:
        root: the fleet's folder.
        group: the group's number.
        at_once: the most blogs at a time.
        holder: the content of the fleet's lock; the worker stops when it changes.
        options: settings of all blogs, as text.
        config: the settings file to read, on each machine.
        ledger: the ledger's file, which names the finished blogs.
        after_kill: whether the run before was killed, so that its last requests may have just arrived.
    """

    root: Path
    group: int
    at_once: int
    holder: Mapping[str, Any]
    options: Mapping[str, str]
    config: Path | None
    ledger: str = FILE_NAME
    after_kill: bool = False


class _Files:
    """The files of one group."""

    def __init__(self, root: Path, ledger: str, group: int) -> None:
        folder = _folder(root, ledger)
        self.todo = folder / f"{group}.todo"
        self.done = folder / f"{group}.done"
        self.progress = folder / f"{group}.progress"
        self.lock = ArchiveLock(folder / f"{group}.lock")


def _folder(root: Path, ledger: str) -> InnerPath:
    return InnerPath.rooted(root).joinpath(".work", "capture-hosts" if ledger == CAPTURES else "hosts")


def saver_of(task: HostTask, engine: Engine, clock: Clock, worker: str = "") -> BlogSaver:
    """Return what saves the blogs of a task in this process."""
    kind = BlogCapturer if task.ledger == CAPTURES else BlogSaver

    def settings_of(blog: DueBlog) -> Settings:
        return settings_for(blog, task.options, task.config)

    return kind(task.root, engine, settings_of, clock, task.at_once, worker)


class _Lines:
    """Reads the lines that were appended to a file since the last time."""

    def __init__(self, path: InnerPath) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> Iterator[Any]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data: bytes = file.read()
        except FileNotFoundError:
            return
        end = data.rfind(b"\n") + 1
        self._offset += end
        for line in data[:end].split(b"\n")[:-1]:
            yield lossless_json.loads(line)


def _append(path: InnerPath, values: Iterable[Any]) -> None:
    with atomic.translated(path):
        atomic.append_line(path, b"".join(lossless_json.dumps(value) + b"\n" for value in values))


def hosts_of(blogs: Iterable[DueBlog], settings_of: Callable[[DueBlog], Settings], ledger: str = FILE_NAME) -> set[str]:
    """Return the origins of some blogs' services, or the names under which a service's pages share a budget.

    Blogs of one domain with the same settings of their lines are resolved once. A blog with wrong settings has no
    service; the attempt to save it says why.
    """
    alike = {(blog.blog_id.partition(".")[2], blog.alike): blog for blog in blogs}
    return {_origin(blog, settings_of, ledger) for blog in alike.values()} - {""}


def _origin(blog: DueBlog, settings_of: Callable[[DueBlog], Settings], ledger: str) -> str:
    try:
        settings = settings_of(blog)
        if ledger == CAPTURES:
            return budget_of_pages(blog, settings)
        return origin_of(check_base_url(settings.base_url or ""))
    except UsageError:
        return ""


class HostWorkers:
    """Implements :class:`~exporter.fleet.fleet_run.Backups` with one worker for each group of hosts.

    Args:
        pool: runs the workers; it must be entered already.
        groups: the number of workers, at most the pool's slots.
        task: the fields that all groups share.
        settings_of: returns a blog's settings, including those of its line; raises a UsageError.
    """

    def __init__(
        self, pool: WorkerPool, groups: int, task: HostTask, settings_of: Callable[[DueBlog], Settings]
    ) -> None:
        self._pool = pool
        self._tasks = [task._replace(group=group) for group in range(groups)]
        self._settings_of = settings_of
        self._at_once = task.at_once
        self._files = [_Files(task.root, task.ledger, group) for group in range(groups)]
        self._done = [_Lines(files.done) for files in self._files]
        self._lines = [0] * groups
        self._groups: dict[str, int] = {}
        self._open: dict[tuple[int, int], tuple[DueBlog, float]] = {}
        self._deaths: Counter[int] = Counter()
        self._early_ends: Counter[int] = Counter()
        self._sent: dict[int, int] = {}
        self._reported: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()
        self._running: set[int] = set()
        self._stop: Interrupted | None = None
        self._deadline = 0.0
        self.dashboard = pool.dashboard

    async def __aenter__(self) -> Self:
        folder = _folder(self._tasks[0].root, self._tasks[0].ledger)
        with atomic.translated(folder):
            atomic.make_folder(folder)
        for group in range(len(self._tasks)):
            self._begin(group)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._say(end=True)
        deadline = time.monotonic() + _GRACE_SECONDS
        while self._running and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            with contextlib.suppress(BlogExporterError):  # an earlier error says it
                self._running -= {number for number, _ in self._pool.done(0)}
        if not self._running and not self._open:
            folder = _folder(self._tasks[0].root, self._tasks[0].ledger)
            with atomic.translated(folder):
                atomic.remove_folder(folder)

    @property
    def free_slots(self) -> int:
        """The number of blogs that can be started now."""
        return self._at_once - len(self._open)

    @property
    def under_way(self) -> Collection[int]:
        """The number of requests sent for each blog that is being saved, as of a second ago."""
        return [self._sent.get(blog.number, 0) for blog, _ in self._open.values()]

    @property
    def requests(self) -> int:
        """The number of requests sent so far, as of a second ago."""
        return sum((self._reported | self._counted).values())

    def start(self, blogs: Sequence[DueBlog]) -> None:
        """Start saving blogs, each in the worker of its host."""
        now = time.time()
        added: dict[int, list[Any]] = {}
        for blog in blogs:
            origin = _origin(blog, self._settings_of, self._tasks[0].ledger)
            group = self._groups.setdefault(origin, len(self._groups) % len(self._tasks))
            line, self._lines[group] = self._lines[group], self._lines[group] + 1
            self._open[group, line] = blog, now
            added.setdefault(group, []).append({"line": line, "blog": astuple(blog)})
        for group, values in added.items():
            _append(self._files[group].todo, values)

    def stop(self, error: Interrupted) -> None:
        """End all attempts soon and in order."""
        if self._stop is None:
            self._stop = error
            self._deadline = time.monotonic() + _GRACE_SECONDS
            self._say(stop=str(error))

    async def ended(self, seconds: float) -> list[BlogAttempt]:
        """Return all attempts that have ended, after waiting up to ``seconds`` for the first.

        Raises:
            BlogExporterError: the workers cannot run.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = [attempt for group in range(len(self._tasks)) for attempt in self._ended_in(group)]
            found += self._after_deaths()
            if self._stop is not None and time.monotonic() >= self._deadline:
                error = self._stop
                found += self._give_up(list(self._open), error.exit_code, type(error).__name__, str(error))
            if found or time.monotonic() >= deadline:
                return found
            await asyncio.sleep(_POLL_SECONDS)

    def _say(self, **words: Any) -> None:
        for files in self._files:
            _append(files.todo, [words])

    def _begin(self, group: int) -> None:
        self._running.add(group)
        self._pool.submit(group, save_hosts, self._tasks[group])

    def _ended_in(self, group: int) -> Iterator[BlogAttempt]:
        """Yield the attempts that a worker noted since the last time, and update the progress."""
        with contextlib.suppress(OSError, lossless_json.NotJson):
            progress: Any = lossless_json.loads(self._files[group].progress.read_bytes())
            name = progress["worker"]
            self._reported[name] = max(self._reported[name], progress["requests"])
            self._sent.update(progress["sent"])
        again: list[DueBlog] = []
        for line, _, *fields in self._done[group].read():
            attempt = BlogAttempt.of_row(fields)
            blog, _ = self._open.pop((group, line), (None, 0.0))
            if blog is None:
                continue
            self._sent.pop(attempt.blog, None)
            self._counted[attempt.worker] += attempt.requests
            if attempt.exit_code in _STOPPED and self._stop is None:
                again.append(blog)  # the worker was stopped, not the run
            else:
                self._deaths.pop(attempt.blog, None)
                yield attempt
        if again:
            self.start(again)

    def _after_deaths(self) -> Iterator[BlogAttempt]:
        """Restart the tasks of dead workers, without the blogs that repeatedly kill workers."""
        for group, outcome in self._pool.done(0):
            self._running.discard(group)
            if isinstance(outcome, Raised):
                raise outcome.error
            if self._stop is not None:
                continue
            if isinstance(outcome, Died):
                begun = {key: blog.number for key, (blog, _) in self._open.items() if key[0] == group}
                self._deaths.update(begun.values())
                fatal = [key for key, number in begun.items() if self._deaths[number] >= _MAX_DEATHS]
                _append(self._files[group].todo, [{"drop": line} for _, line in fatal])
                reason = message_n(
                    "{n:,} worker died while it saved this blog.",
                    "{n:,} workers died while they saved this blog.",
                    _MAX_DEATHS,
                )
                yield from self._give_up(fatal, BlogExporterError.exit_code, "WorkerDied", reason)
            else:
                self._early_ends[group] += 1
                if self._early_ends[group] >= _MAX_DEATHS:
                    raise worker_died_error("")
            self._begin(group)

    def _give_up(self, keys: Iterable[tuple[int, int]], exit_code: int, kind: str, reason: str) -> list[BlogAttempt]:
        now = time.time()
        ended = [self._open.pop(key) for key in keys]
        for blog, _ in ended:
            self._deaths.pop(blog.number, None)
        return [BlogAttempt(blog.number, begun, now, exit_code, kind, reason) for blog, begun in ended]


def recover(root: Path, ledger: FleetLedger) -> None:
    """Record the attempts that workers noted for a killed run, after all these workers have ended.

    Raises:
        ArchiveLocked: one of them is still running.
        ArchiveDamaged: no worker can have written the notes.
    """
    folder = _folder(root, ledger.name)
    if folder.kind() is None:
        return
    clock = SystemClock()
    attempts: list[tuple[str, BlogAttempt]] = []
    for name in folder.names():
        if name.endswith(".lock"):
            with ArchiveLock(folder / name) as lock:
                lock.acquire(clock.now(), wait=_LOCK_SECONDS)
    for name in folder.names():
        if name.endswith(".done"):
            with contextlib.suppress(lossless_json.NotJson, TypeError, ValueError):
                attempts += [
                    (blog_id, BlogAttempt.of_row(fields)) for _, blog_id, *fields in _Lines(folder / name).read()
                ]
    ledger.recover(attempts, clock.now().timestamp())
    with atomic.translated(folder):
        atomic.remove_folder(folder)


def save_hosts(task: HostTask) -> None:
    """Save the blogs of a group of hosts until the main process sends no more; runs in a worker."""
    lock = _Files(task.root, task.ledger, task.group).lock
    with lock:
        # Another worker may still hold it: one that the cluster believes dead, or one of a run that was killed.
        lock.acquire(SystemClock().now(), wait=_LOCK_SECONDS)
        asyncio.run(_save_hosts(task._replace(after_kill=task.after_kill or lock.holder_was_killed)))


async def _save_hosts(task: HostTask) -> None:
    files = _Files(task.root, task.ledger, task.group)
    clock = SystemClock()
    name = f"{socket.gethostname()}:{os.getpid()}/{task.group}"
    todo, over = _Lines(files.todo), {line for line, *_ in _Lines(files.done).read()}
    lines: dict[int, tuple[int, str]] = {}
    ending = False
    next_look = clock.monotonic()

    with rare_collections():
        http = Engine(clock=clock, after_kill=task.after_kill)
        async with http, saver_of(task, http, clock, name) as saver:
            while not ending or lines:
                said = list(todo.read())
                over |= {each["drop"] for each in said if "drop" in each}
                blogs = {each["line"]: DueBlog(*each["blog"]) for each in said if "blog" in each}
                blogs = {line: blog for line, blog in blogs.items() if line not in over}
                lines.update({blog.number: (line, blog.blog_id) for line, blog in blogs.items()})
                saver.start(list(blogs.values()))
                reason = next((each["stop"] for each in said if "stop" in each), None)
                ending = ending or any("end" in each for each in said)
                now = clock.monotonic()
                if now >= next_look:
                    next_look = now + _PROGRESS_SECONDS
                    _note_progress(files.progress, name, saver)
                    if fleet_lock(task.root).holder() != task.holder:
                        reason = message("The run of this worker has ended.")
                if reason is not None:
                    ending = True
                    saver.stop(Interrupted(reason))
                ended = await saver.ended(_POLL_SECONDS)
                if ended:
                    over.update(lines[attempt.blog][0] for attempt in ended)
                    _append(files.done, [[*lines.pop(attempt.blog), *attempt.row()] for attempt in ended])
            _note_progress(files.progress, name, saver)


def _note_progress(path: InnerPath, name: str, saver: BlogSaver) -> None:
    note = {"worker": name, "requests": saver.requests, "sent": list(saver.sent.items())}
    temporary = path.with_name(f"{path.name}.new")
    with contextlib.suppress(OSError):  # only the display needs it
        temporary.unlink(missing_ok=True)
        atomic.write_small(temporary, lossless_json.dumps(note))
        temporary.replace(path)
