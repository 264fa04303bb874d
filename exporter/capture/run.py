"""A capture as a whole: open the work folder, ask everything, seal the records as a folder of the archive."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from exporter.archive import writer
from exporter.archive.captures import append_capture_run
from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.archive.reader import is_archive, read_info
from exporter.capture.crawler import Crawler
from exporter.capture.events import CaptureEvent, CaptureResumed, CaptureStarted
from exporter.capture.frontier import AddressState
from exporter.capture.outcome import CaptureOutcome, CaptureSettings, EntryAddress
from exporter.capture.result import fill_in
from exporter.capture.work import FOLDER, CaptureWork
from exporter.clock import Clock, timestamp
from exporter.crawl.tasks import finish_in_thread
from exporter.errors import BlogExporterError, Interrupted, NoMemory
from exporter.http.address_guard import AddressGuard
from exporter.http.transport import Statistics
from exporter.message import said
from exporter.service.declarations import BLOG_V1
from exporter.warc.shown import ShownRecords

if TYPE_CHECKING:
    from exporter.http.engine import Capturer, Engine


@dataclass
class CaptureRun:
    """A capture of a blog's public pages.

    Attributes:
        root: the archive, or the folder for a new one; the caller holds its lock.
        engine: sends the requests; its budget is shared with other work on the same hosts.
        settings: those of the capture.
        clock: the time of the records.
        permalinks: returns the addresses of the archive's entries; called in a thread.
        service: the type of service that ``archive.json`` names if the capture begins an archive.
        outcome: the result, complete when :meth:`events` has ended.
        statistics: counts the requests so far.
    """

    root: Path
    engine: Engine
    settings: CaptureSettings
    clock: Clock
    permalinks: Callable[[], Iterable[EntryAddress]] = tuple
    service: str | None = None
    outcome: CaptureOutcome = field(init=False)
    statistics: Statistics = field(init=False)

    def __post_init__(self) -> None:
        self._layout = Layout(self.root)
        self._queue: deque[CaptureEvent] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._end: BlogExporterError | None = None
        self._concluding = False
        self.outcome = CaptureOutcome(timestamp(self.clock.now()), self.settings.home)
        self.statistics = Statistics()

    def stop(self, error: BlogExporterError) -> None:
        """End the capture soon and keep its records; ``events`` then raises ``error``."""
        self._end = error
        if self._task is not None and not self._concluding:
            self._task.cancel()

    async def events(self) -> AsyncGenerator[CaptureEvent, None]:
        """Run and yield events.

        Raises:
            BlogExporterError: the capture failed; ``outcome`` is complete nevertheless.
        """
        self._task = asyncio.create_task(self._recorded())
        self._task.add_done_callback(lambda _: self._wake.set())
        try:
            while not self._task.done() or self._queue:
                while self._queue:
                    yield self._queue.popleft()
                if not self._task.done():
                    await self._wake.wait()
                    self._wake.clear()
        finally:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, BlogExporterError):
                await self._task
        await self._task

    def _emit(self, event: CaptureEvent) -> None:
        self._queue.append(event)
        self._wake.set()

    async def _recorded(self) -> None:
        """Run, and write the run's line in any case."""
        try:
            await self._run()
        except asyncio.CancelledError:
            if self._end is None:
                raise
            await self._finish("interrupted" if isinstance(self._end, Interrupted) else "failed", self._end)
            raise self._end from None
        except BlogExporterError as error:
            await self._finish("interrupted" if isinstance(error, Interrupted) else "failed", error)
            raise
        except MemoryError:
            full = NoMemory()
            await self._finish("failed", full)
            raise full from None
        partial = self.outcome.partial()
        whole = "unchanged" if self.outcome.capture is None else "captured"
        if self.settings.dry_run:
            whole = "planned"
        await self._finish(whole if partial is None else "partial", partial)

    async def _finish(self, outcome: str, error: BlogExporterError | None) -> None:
        """Fill in the outcome and write the run's line."""
        done = self.outcome
        done.outcome, done.finished_at = outcome, timestamp(self.clock.now())
        done.exit_code, done.error = (0, None) if error is None else (error.exit_code, said(error))
        self._concluding = True
        if is_archive(self._layout) and not self.settings.dry_run:
            await finish_in_thread(lambda: append_capture_run(self._layout, done.line()))

    async def _run(self) -> None:
        if self._end is not None:
            raise self._end
        settings, done = self.settings, self.outcome
        with contextlib.ExitStack() as opened:
            folder = Path(self._layout.work / FOLDER)
            if settings.dry_run:
                folder = Path(opened.enter_context(TemporaryDirectory()))
            work = CaptureWork.open(self._layout, folder, settings, self.clock.now(), self._forgotten())
            opened.callback(work.close)
            done.resumed_from = work.resumed_from
            self._emit(CaptureStarted(settings.blog_id, settings.home))
            if work.resumed_from is not None:
                self._emit(CaptureResumed(work.resumed_from, work.frontier.count(AddressState.DONE)))
            capturer = self._capturer()
            self.statistics = capturer.statistics
            crawler = Crawler(
                work, capturer, self.engine, settings, self.clock, self.permalinks, self._emit, self._create
            )
            try:
                await crawler.run()
            finally:
                work.close_segments()
                statistics = capturer.statistics
                done.requests, done.retries, done.bytes = statistics.requests, statistics.retries, statistics.bytes
                done.home, done.finished_at = crawler.scope.home, timestamp(self.clock.now())
                fill_in(done, work, crawler.limits.values(), most_pages=settings.most_pages)
            if self._end is not None:
                raise self._end
            self._concluding = True
            if not settings.dry_run:
                work.seal(self._layout, settings, done, crawler.scope.description)

    def _forgotten(self) -> ShownRecords:
        """Return the records that stay out.

        Raises:
            ArchiveDamaged: the notes about them cannot be read.
        """
        if not is_archive(self._layout):
            return ShownRecords()
        return ShownRecords.of(self._layout, read_info(self._layout).service or BLOG_V1.name)

    def _capturer(self) -> Capturer:
        settings = self.settings
        return self.engine.capturer(
            AddressGuard(allow_private=settings.allow_private, service=settings.home if settings.trusts_home else None),
            timeouts=settings.timeouts,
            max_bytes=settings.max_bytes,
            policy=settings.policy,
            user_agent=settings.user_agent,
            on_retry=settings.on_retry,
        )

    def _create(self) -> None:
        """Create the archive when the blog has answered, if it does not exist."""
        if not self.settings.dry_run and not is_archive(self._layout):
            info = ArchiveInfo(self.settings.blog_id, timestamp(self.clock.now()), service=self.service)
            writer.create(self._layout, info)
