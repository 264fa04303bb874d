"""Saves blogs in this process, each by the same call as ``backup``, all with one engine."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Protocol, Self
from weakref import WeakValueDictionary

from exporter.archive.archive import Archive
from exporter.archive.atomic import make_folder, translated
from exporter.archive.fleet_folder import archive_place, archives_by_later_id
from exporter.archive.reader import ids_at
from exporter.archive.settings_file import option_words
from exporter.clock import Clock
from exporter.errors import ArchiveDamaged, BlogExporterError, Interrupted, LongPause, NoArchive, UsageError
from exporter.fleet.blog_list import ALLOWED_IN_LISTS
from exporter.fleet.ledger import BlogAttempt, DueBlog
from exporter.fleet.pool import error_of
from exporter.http.engine import Engine
from exporter.http.transport import Statistics
from exporter.library.backup import backup, open_service
from exporter.library.naming import present_name
from exporter.message import CommandLine, listed, said, suggested
from exporter.setting_sources import Origin
from exporter.settings import SETTINGS, Settings, resolve

_MAX_REASON_CHARACTERS: Final = 2000
_COLLECTIONS: Final = (5_000, 10, 10)


NOT_OBEYED: Final = ("capture", "closing", "on_failure", "ping_url", "remind_after", "seal")
"""The settings that ``backup`` obeys and a fleet's run does not."""


class StoppableRun(Protocol):
    """A backup or a capture under way."""

    def stop(self, error: BlogExporterError, /) -> None:
        """End it soon and cleanly; the next one resumes."""


class Result(NamedTuple):
    """How saving a blog ended, as the command for it alone would.

    Attributes:
        exit_code: 0 or 3, or another one if the blog is saved.
        error: the sentence about what is missing.
        version: the number of what it added to the archive.
        gap: the class of the error that makes it incomplete.
    """

    exit_code: int
    error: str | None
    version: int | None
    gap: str | None


@contextmanager
def rare_collections() -> Iterator[None]:
    """Run garbage collection less often inside the block, because hundreds of blogs are in memory.

    Each collection scans all their objects and frees almost nothing. A higher threshold would take more memory.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def settings_for(blog: DueBlog, options: Mapping[str, str], config: Path | None) -> Settings:
    """Merge the operator's settings with a blog's settings from the list.

    Args:
        blog: as the ledger holds it, with the list's settings.
        options: the options of the command line.
        config: the settings file of the command line.

    Raises:
        UsageError: a setting is wrong or not allowed in a list.
    """
    if wrong := sorted(blog.settings.keys() - ALLOWED_IN_LISTS):
        raise UsageError(
            "The list sets {names} for {blog}, which a list may not.", names=listed(wrong), blog=blog.blog_id
        )
    return resolve(options, found=blog.settings, config=config, blog_id=blog.blog_id)


def require_obeyed(settings: Settings) -> None:
    """Refuse settings that only ``backup`` obeys, so that it ignores no setting silently.

    Raises:
        UsageError: there is one.
    """
    for name in NOT_OBEYED:
        if settings.get(name) != SETTINGS[name].default_value:
            raise UsageError(
                "{place} has no effect in fleet run: only backup obeys it. Remove it, or name another settings file "
                "with --config.",
                place=settings.sources[name].place(name),
            )


@dataclass(eq=False)
class BlogSaver:
    """Implements :class:`~exporter.fleet.fleet_run.Backups`: each blog is a task of the running event loop.

    Leaving it cancels all tasks. A subclass replaces :meth:`_run`, which saves one blog.

    Args:
        root: the fleet's folder.
        engine: sends all requests.
        settings_of: returns a blog's settings, including those of its line; raises a UsageError.
        clock: the time of day.
        at_once: the most blogs at a time.
        worker: names this process in the ledger.
    """

    root: Path
    engine: Engine
    settings_of: Callable[[DueBlog], Settings]
    clock: Clock
    at_once: int
    worker: str = ""
    dashboard = None

    def __post_init__(self) -> None:
        self._statistics: dict[int, Callable[[], Statistics]] = {}
        self._running: dict[int, StoppableRun] = {}
        self._turns: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._services: dict[int, str] = {}
        self._pauses: dict[str, tuple[float, LongPause]] = {}
        self._past = 0
        self._end: Interrupted | None = None
        self._tasks: set[asyncio.Task[BlogAttempt]] = set()
        self._ended: asyncio.Queue[BlogAttempt] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def free_slots(self) -> int:
        """The number of blogs that can be started now."""
        return self.at_once - len(self._tasks)

    @property
    def sent(self) -> Mapping[int, int]:
        """The number of requests sent so far for each blog that is being saved, by its number in the ledger."""
        return {number: statistics().requests for number, statistics in self._statistics.items()}

    @property
    def under_way(self) -> Collection[int]:
        """The number of requests sent so far for each blog that is being saved."""
        return self.sent.values()

    @property
    def requests(self) -> int:
        """The number of requests sent so far for all blogs, without those for pictures on other hosts."""
        return self._past + sum(self.under_way)

    def start(self, blogs: Sequence[DueBlog]) -> None:
        """Start saving blogs."""
        for blog in blogs:
            task = asyncio.create_task(self.save(blog))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[BlogAttempt]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._ended.put_nowait(task.result())

    async def ended(self, seconds: float) -> list[BlogAttempt]:
        """Return all attempts that have ended, after waiting up to ``seconds`` for the first."""
        try:
            async with asyncio.timeout(seconds):
                found = [await self._ended.get()]
        except TimeoutError:
            return []
        while not self._ended.empty():
            found.append(self._ended.get_nowait())
        return found

    def stop(self, error: Interrupted) -> None:
        """Stop all attempts cleanly, and start no more."""
        self._end = error
        for running in self._running.values():
            running.stop(error)

    async def save(self, blog: DueBlog) -> BlogAttempt:
        """Back up a blog into its archive; the attempt holds any error.

        If a service requests a longer pause than a backup waits, no other blog of it is started until the pause ends.
        """
        started = self.clock.now().timestamp()
        version: int | None = None
        error: BlogExporterError | None = None
        code, reason, kind = 0, None, None
        try:
            code, reason, version, kind = await self._run(blog)
        except Exception as failure:  # noqa: BLE001 - whatever it is, the other blogs have their turn
            error = self._paused(blog.number, error_of(failure))
        finally:
            self._services.pop(blog.number, None)
            sent = self._statistics.pop(blog.number, Statistics)()
            self._past += sent.requests
        if error is not None:
            reason = said(error)
        return BlogAttempt(
            blog.number,
            started,
            self.clock.now().timestamp(),
            code if error is None else error.exit_code,
            kind if error is None else type(error).__name__,
            reason if reason is None or len(reason) <= _MAX_REASON_CHARACTERS else reason[:_MAX_REASON_CHARACTERS],
            version,
            sent.requests,
            sent.retries,
            sent.bytes,
            self.worker,
        )

    def _paused(self, number: int, failure: BlogExporterError) -> BlogExporterError:
        """Record a long pause that a service requests, and stop its other backups; return the error for the blog."""
        service = self._services.get(number, "")
        if isinstance(failure, LongPause):
            self._pauses[service] = self.clock.monotonic() + failure.seconds, failure
            for other, name in self._services.items():
                if name == service and other in self._running:
                    self._running[other].stop(Interrupted(str(failure)))
        elif isinstance(failure, Interrupted) and self._end is None:
            return self._pause_of(service) or failure
        return failure

    def _pause_of(self, service: str) -> LongPause | None:
        until, wish = self._pauses.get(service, (0.0, None))
        return wish if self.clock.monotonic() < until else None

    async def _run(self, blog: DueBlog) -> Result:
        """Save a blog, or fail."""
        settings = self._begin(blog, budget_of_service)
        require_obeyed(settings)
        blog_id, name = self._first_id(blog), present_name(self._path(blog), settings)
        renamed_to = None if name is None else name.blog_id
        async with open_service(blog_id, settings, renamed_to=renamed_to, engine=self.engine, known=True) as service:
            reads = service.service
            if settings.warc and reads.is_undeclared(reads.declared(settings)):
                raise UsageError(
                    "Nothing says which entries are public, so --warc would keep no exchange: leave out warc, or add "
                    "the settings of these options to the list. {hint}",
                    hint=reads.flag_hint,
                )
            self._statistics[blog.number] = lambda: service.client.statistics
            place = self._place(blog, self._anew("backup", blog, settings))
            # A list may have two names of a blog, and then its archive is saved twice.
            turn = self._turns.setdefault(place, asyncio.Lock())
            async with turn:
                if self._end is not None:
                    raise self._end
                async with backup(place, service, settings, clock=self.clock, name=name) as run:
                    with self._stoppable(blog, run):
                        async for _ in run:
                            pass
        outcome = run.outcome
        return Result(outcome.exit_code, outcome.error, outcome.version, outcome.gap)

    def _begin(self, blog: DueBlog, budget: Callable[[DueBlog, Settings], str]) -> Settings:
        """Return the settings of a blog, unless the run has ended or its service requests a pause.

        Raises:
            BlogExporterError: it has, or does.
        """
        if self._end is not None:
            raise self._end
        settings = self.settings_of(blog)
        service = budget(blog, settings)
        if wish := self._pause_of(service):
            raise wish
        self._services[blog.number] = service
        return settings

    def _anew(self, command: str, blog: DueBlog, settings: Settings) -> CommandLine:
        """Return the command that begins the archive of a blog again, with the addresses that only the fleet knows."""
        words: list[str] = []
        for name in ("base_url", "service", "home_url"):
            value, source = getattr(settings, name), settings.sources.get(name)
            if value and source is not None and source.origin not in {Origin.PROFILE, Origin.DEFAULT}:
                words += option_words(name, value)
        return suggested(command, blog.blog_id, "--archive", self._path(blog), "--new", *words)

    def _path(self, blog: DueBlog) -> Path:
        """Return the folder of a blog's archive; its list may name the blog by a later ID."""
        place = archive_place(self.root, blog.blog_id)
        return place if Archive.exists(place) else self._by_later_id.get(blog.blog_id, place)

    def _first_id(self, blog: DueBlog) -> str:
        """Return the first ID of a listed blog."""
        ids = ids_at(self._path(blog))
        return ids[0] if blog.blog_id in ids else blog.blog_id

    @cached_property
    def _by_later_id(self) -> dict[str, Path]:
        """The archives of renamed blogs, by their later IDs. It is read once, if a listed blog has no archive yet."""
        return archives_by_later_id(self.root)

    def _place(self, blog: DueBlog, command: str) -> Path:
        """Return the folder of a blog's archive, whose parent exists; ``command`` begins a new archive there."""
        place = self._path(blog)
        for folder in (place.parent, place):
            if folder.is_symlink():
                raise ArchiveDamaged("{path} is a link, which is not followed: remove it.", path=folder)
        if blog.saved and not Archive.exists(place):
            raise NoArchive(
                "The archive in {path} is missing, though an earlier run saved it there. Connect its disk, or "
                "bring the folder back. To begin a new archive there: {command}",
                path=place,
                command=command,
            )
        with translated(place.parent):
            make_folder(place.parent)
        return place

    @contextmanager
    def _stoppable(self, blog: DueBlog, run: StoppableRun) -> Iterator[None]:
        """Let :meth:`stop` end a run inside the block."""
        self._running[blog.number] = run
        try:
            yield
        finally:
            del self._running[blog.number]


def budget_of_service(_blog: DueBlog, settings: Settings) -> str:
    """Return the name that blogs share if one service answers for all of them."""
    return settings.base_url or ""
