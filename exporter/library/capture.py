"""A capture of a blog's public pages as an asynchronous iterator of events: addresses, lock, and the run."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.atomic import remove_folder
from exporter.archive.layout import Layout
from exporter.archive.lock import CAPTURE, ArchiveLock
from exporter.archive.manifest import FROM_FILE
from exporter.archive.reader import is_archive
from exporter.arguments import checked
from exporter.capture.events import AssetsCompleted, CaptureEvent
from exporter.capture.outcome import CaptureOutcome, CaptureSettings
from exporter.capture.run import CaptureRun
from exporter.clock import Clock, SystemClock
from exporter.crawl.tasks import finish_in_thread
from exporter.errors import ArchiveDamaged, ArchiveLocked, BlogExporterError, RunRefused
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryEvent, RetryPolicy
from exporter.http.user_agent import user_agent_of
from exporter.library.backup import require_blog_id
from exporter.library.blog_addresses import entry_addresses, home_of
from exporter.library.captured_assets import CompletedAssets, complete_assets
from exporter.library.running import run_alone
from exporter.library.status import SUCCESSES
from exporter.library.views import finish_forgetting, present_views, refresh_latest
from exporter.message import suggested
from exporter.service.declarations import BLOG_V1, PUBLIC_SITE
from exporter.setting_sources import Origin
from exporter.settings import SETTINGS, Settings

_LOCK_POLL_SECONDS: Final = 0.2
_MAX_RETRIES: Final = 3
"""Every later capture tries a page again, as with pictures."""
_RETRY_BASE_SECONDS: Final = 0.5
_RETRY_CEILING_SECONDS: Final = 10.0
_LONGEST_FOREIGN_PAUSE_SECONDS: Final = 120.0
_CHOSEN: Final = frozenset({Origin.OPTION, Origin.VARIABLE, Origin.BLOG, Origin.FILE, Origin.ARCHIVE})
"""The sources of limits that a person sets. A profile's limits are for a service's API, not for its pages."""


@checked
def capture(
    archive: Path | str,
    blog_id: str,
    settings: Settings,
    engine: Engine,
    *,
    dry_run: bool = False,
    trusts_home: bool = True,
    clock: Clock | None = None,
    on_retry: Callable[[RetryEvent], None] = lambda _: None,
) -> PageCapture:
    """Capture the public pages of a blog into an archive. Nothing happens until you iterate over the result.

    Args:
        archive: the archive's folder; a new one is made when the blog answers.
        blog_id: the blog.
        settings: the limits, and the blog's addresses.
        engine: sends the requests. If it is the backup's engine, both share each host's limits.
        dry_run: only read robots.txt, the home page, sitemaps and feeds; write nothing.
        trusts_home: whether the home page may be at a private address; false if a stranger may have named it.
        clock: the time of the records.
        on_retry: called when a retry was scheduled.

    Raises:
        UsageError: the archive belongs to another blog, or nothing says where the blog's pages are.
        NoArchive: the folder holds other files.
        RunRefused: the last backup was refused, so the pages may be those of another blog.
    """
    archive = Path(archive)
    require_blog_id(blog_id, archive)
    writer.require_place(archive, blog_id)
    _refuse_after_refusal(archive)
    home = home_of(archive, blog_id, settings)
    how = CaptureSettings(
        blog_id,
        home,
        concurrency=_own(settings, "concurrency"),
        rate=_own(settings, "rate"),
        obey_robots=settings.get("obey_robots"),
        most_pages=settings.capture_max_pages,
        max_size=settings.capture_max_size,
        max_time=None if settings.capture_max_time is None else settings.capture_max_time.total_seconds(),
        max_bytes=settings.max_asset_size,
        allow_private=settings.allow_private_network,
        trusts_home=trusts_home,
        skipped_hosts=settings.skip_asset_hosts,
        user_agent=user_agent_of(settings.user_agent, settings.operator),
        operator=settings.operator or "",
        resume_max_age=settings.resume_max_age,
        longest_pause=settings.give_up_after.total_seconds(),
        dry_run=dry_run,
        timeouts=Timeouts(
            connect=settings.connect_timeout.total_seconds(), read=settings.read_timeout.total_seconds(), total=600.0
        ),
        policy=RetryPolicy(
            retries=min(_MAX_RETRIES, settings.retries),
            base=_RETRY_BASE_SECONDS,
            ceiling=_RETRY_CEILING_SECONDS,
            give_up_after=float("inf"),
            max_retry_after=_LONGEST_FOREIGN_PAUSE_SECONDS,
        ),
        on_retry=on_retry,
    )
    service = None if settings.service in {None, BLOG_V1.name} else settings.service
    run = CaptureRun(
        archive, engine, how, clock or SystemClock(), lambda: list(entry_addresses(archive, settings)), service
    )
    return PageCapture(run, settings.wait_lock.total_seconds(), settings)


@checked
def capture_blog(
    archive: Path | str,
    blog_id: str,
    settings: Settings,
    *,
    dry_run: bool = False,
    on_event: Callable[[CaptureEvent], None] = lambda _: None,
    on_retry: Callable[[RetryEvent], None] = lambda _: None,
) -> CaptureOutcome:
    """Capture the public pages of a blog, and return the outcome; its ``exit_code`` is 3 if some could not be read.

    Args:
        archive: the archive's folder; a new one is made when the blog answers.
        blog_id: the blog.
        settings: the limits, and the blog's addresses.
        dry_run: only read robots.txt, the home page, sitemaps and feeds; write nothing.
        on_event: called with each event.
        on_retry: called when a retry was scheduled.

    Raises:
        UsageError: as for :func:`capture`, or an event loop runs already.
        BlogExporterError: nothing was captured.
    """

    async def run() -> CaptureOutcome:
        async with (
            Engine() as engine,
            capture(archive, blog_id, settings, engine, dry_run=dry_run, on_retry=on_retry) as made,
        ):
            async for event in made:
                on_event(event)
        return made.outcome

    return run_alone(run, "capture_blog", "asyncio.to_thread")


def _refuse_after_refusal(archive: Path) -> None:
    runs = Archive.open(archive).newest_backups() if is_archive(Layout(archive)) else iter(())
    read = (run["outcome"] for run in runs if not run.get(FROM_FILE) and run["outcome"] in {*SUCCESSES, "refused"})
    if next(read, None) == "refused":
        raise RunRefused(
            "The last backup of {archive} that read the blog was refused, so the pages may be those of another blog. "
            "Nothing was recorded. See why, and how to accept them: {command}",
            archive=archive,
            command=suggested("backup", archive),
        )


def _own(settings: Settings, name: str) -> Any:
    """Return a limit that a person or a program set, or else that of public pages."""
    source, value = settings.sources.get(name), settings.get(name)
    if (value != SETTINGS[name].default_value) if source is None else source.origin in _CHOSEN:
        return value
    default = PUBLIC_SITE.defaults[name]
    return int(default) if name == "concurrency" else float(default)


@dataclass
class PageCapture:
    """A capture. Iterating over it does the work and yields the events.

    With ``async with``, leaving the loop early releases the archive's lock at once. Iterating raises a
    :class:`~exporter.errors.BlogExporterError` if the capture failed. If only some addresses could not be read, it ends
    normally and ``outcome.exit_code`` is 3.

    Attributes:
        run: the run, whose archive is locked meanwhile.
        wait: how long to wait for the lock, in seconds.
        settings: those of the blog.
    """

    run: CaptureRun
    wait: float
    settings: Settings

    def __post_init__(self) -> None:
        self._stopping = asyncio.Event()
        self._end: BlogExporterError | None = None
        self._events = self._unlocked() if self.run.settings.dry_run else self._locked_run()

    @property
    def outcome(self) -> CaptureOutcome:
        """The result, complete after the iteration, even a failed one."""
        return self.run.outcome

    def stop(self, error: BlogExporterError) -> None:
        """End the capture soon and cleanly. Iterating then raises ``error``; the next capture resumes."""
        self._end = error
        self._stopping.set()
        self.run.stop(error)

    def __aiter__(self) -> AsyncIterator[CaptureEvent]:
        return self._events

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.aclose()

    async def _unlocked(self) -> AsyncGenerator[CaptureEvent, None]:
        async with aclosing(self.run.events()) as events:
            async for event in events:
                yield event

    async def _locked_run(self) -> AsyncGenerator[CaptureEvent, None]:
        async with self._locked():
            await finish_in_thread(self._finish_forgetting)
            async with aclosing(self.run.events()) as events:
                async for event in events:
                    yield event
            completed = await finish_in_thread(self._complete)
            if completed.version is not None:
                yield AssetsCompleted(completed.addresses, completed.version)

    def _finish_forgetting(self) -> None:
        """Finish a removal of records that was interrupted."""
        if self.run.root.exists() and Archive.exists(self.run.root):
            finish_forgetting(Archive.open(self.run.root), present_views(self.settings, self.run.root))

    def _complete(self) -> CompletedAssets:
        """Complete the archive's pictures from its captures, and let the site link to a new one.

        Only the pages that gain a link or a picture are made again. A damaged archive is left to ``verify``.
        """
        if not Archive.exists(self.run.root):
            return CompletedAssets()
        with contextlib.suppress(ArchiveDamaged):
            archive = Archive.open(self.run.root)
            completed = complete_assets(archive, self.settings, self.run.clock)
            if completed.version is not None or (self.outcome.capture is not None and archive.newest() is not None):
                views = present_views(self.settings, self.run.root)
                refresh_latest(archive, views, segments=completed.segments)
            return completed
        return CompletedAssets()

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the archive's lock; remove the folder again if no archive was made."""
        root = self.run.root
        layout, made = Layout(root), not root.exists()
        deadline = time.monotonic() + self.wait
        with ArchiveLock(layout.lock) as lock:
            while not self._acquired(lock, deadline):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(_LOCK_POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
                        await self._stopping.wait()
                if self._end is not None:
                    raise self._end
            try:
                yield
            finally:
                if not is_archive(layout):
                    remove_folder(layout.work)
                    with contextlib.suppress(OSError):
                        if made:
                            root.rmdir()

    def _acquired(self, lock: ArchiveLock, deadline: float) -> bool:
        try:
            lock.acquire(self.run.clock.now(), work=CAPTURE)
        except ArchiveLocked:
            if time.monotonic() >= deadline:
                raise
            return False
        return True
