"""One backup run: resume or begin, harvest, judge, commit, and leave a line about it.

The run yields events and leaves what it did in ``outcome``; whoever consumes them decides what to show.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from exporter.archive import writer
from exporter.archive.latest import file_sha256
from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo, KindCounts, RecordProblem
from exporter.archive.reader import ArchiveReader
from exporter.archive.state import State
from exporter.clock import timestamp
from exporter.crawl import commit
from exporter.crawl.checkpoint import Checkpoint, Purpose, set_aside
from exporter.crawl.completeness import assess
from exporter.crawl.events import Committed, Event, PageRead, Planned, Resumed, SetAside, Started
from exporter.crawl.freshness import Freshness
from exporter.crawl.harvest import Harvest, ReadingSettings
from exporter.crawl.removals import Removals, find_removals, refuse_mass_disappearance
from exporter.errors import BlogExporterError, Incomplete, Interrupted
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.api.client import BlogApi
    from exporter.clock import Clock

_FLUSH_SECONDS = 0.5
_SYNC_EVERY = 2


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run is asked to do, beside how it reads the service."""

    blog_id: str
    base_url: str
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    accept_removals: bool = False
    dry_run: bool = False
    resume_max_age: timedelta = timedelta(hours=24)


@dataclass(slots=True)
class Outcome:
    """What a run did; ``version`` is the version it made, ``None`` when it made none."""

    started_at: str
    finished_at: str = ""
    outcome: str = "failed"
    exit_code: int = 1
    error: str | None = None
    version: int | None = None
    resumed_from: str | None = None
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    sweeps: int = 0
    counts: dict[str, KindCounts] = field(default_factory=dict)
    completeness: dict[str, Any] | None = None
    problems: list[RecordProblem] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        """Return the run's line in ``runs.jsonl``."""
        return asdict(self)


class BackupRun:
    """A run over the archive at ``root``, whose lock the caller holds."""

    def __init__(self, root: Path, api: BlogApi, settings: RunSettings, clock: Clock) -> None:
        self._layout = Layout(root)
        self._api = api
        self._settings = settings
        self._clock = clock
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stop: Interrupted | None = None
        self._harvest: Harvest | None = None
        self.outcome = Outcome(timestamp(clock.now()))

    def stop(self, error: Interrupted) -> None:
        """End the run soon, its checkpoint kept; ``events`` then raises ``error``."""
        self._stop = error
        if self._task is not None:
            self._task.cancel()

    async def events(self) -> AsyncIterator[Event]:
        """Do the run and yield what happens.

        Raises:
            BlogExporterError: whatever ended it; ``outcome`` is filled in all the same.
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

    def _emit(self, event: Event) -> None:
        if isinstance(event, PageRead) and not self._settings.dry_run and not self._layout.info.exists():
            # Only a service that answers is worth an archive.
            writer.create(self._layout, ArchiveInfo(self._settings.blog_id, timestamp(self._clock.now())))
        self._queue.append(event)
        self._wake.set()

    async def _recorded(self) -> None:
        """Do the run, and leave its line whatever happens."""
        try:
            await self._run()
        except asyncio.CancelledError:
            if self._stop is None:
                raise
            self._finish("interrupted", self._stop)
            raise self._stop from None
        except Incomplete as error:
            self._finish("partial", error)
        except BlogExporterError as error:
            self._finish("refused" if error.exit_code == 4 else "failed", error)
            raise
        else:
            self._finish("saved" if self.outcome.version else "unchanged", None)

    def _finish(self, outcome: str, error: BlogExporterError | None) -> None:
        done = self.outcome
        statistics = self._api.statistics
        done.outcome, done.finished_at = outcome, timestamp(self._clock.now())
        done.exit_code, done.error = (0, None) if error is None else (error.exit_code, str(error))
        done.requests, done.retries, done.bytes = statistics.requests, statistics.retries, statistics.bytes
        done.sweeps = len(self._harvest.sweeps) if self._harvest is not None else 0
        if self._layout.info.exists() and not self._settings.dry_run:
            writer.append_run(self._layout, done.line())

    async def _run(self) -> None:
        reader = ArchiveReader(self._layout.root) if self._layout.info.exists() else None
        state = State(self._settings.blog_id) if reader is None else reader.state()
        parent = state.version or None
        self._emit(Started(self._settings.blog_id, parent))
        with self._checkpoint(parent) as checkpoint:
            freshness = Freshness.load(self._layout.freshness)
            reading = self._settings.reading
            harvest = Harvest(self._api, checkpoint, state, reading, freshness, self._clock, self._emit)
            self._harvest = harvest
            harvest.restore()
            if self.outcome.resumed_from is not None:
                self._emit(Resumed(self.outcome.resumed_from, harvest.restored))
            ticker = asyncio.create_task(self._tick(checkpoint))
            try:
                if self._settings.dry_run:
                    await self._rehearse(harvest)
                    return
                await harvest.run(_unread_before(reader))
                if not self._settings.accept_removals:
                    refuse_mass_disappearance(harvest)
                removals = await find_removals(harvest, reading.window)
                checkpoint.flush()
                self._commit(harvest, removals, parent)
                freshness.save(self._layout.freshness, harvest.ledgers[Kind.ENTRY_LIST].seen_in(len(harvest.sweeps)))
            finally:
                ticker.cancel()
                await asyncio.gather(ticker, return_exceptions=True)
                harvest.close()
                state.close()
        problems = self.outcome.problems
        if problems:
            raise Incomplete(
                f"{len(problems)} thing(s) could not be read; run the same command again to try them first."
            )

    async def _tick(self, checkpoint: Checkpoint) -> None:
        """Hand what was read to the operating system twice a second, to the disk every second."""
        turn = 0
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            turn += 1
            checkpoint.flush()
            if turn % _SYNC_EVERY == 0:
                await asyncio.to_thread(checkpoint.sync)

    @contextlib.contextmanager
    def _checkpoint(self, parent: int | None) -> Iterator[Checkpoint]:
        """Open the checkpoint; it is discarded when the block ends well or the run was refused, else kept."""
        if self._settings.dry_run:
            with TemporaryDirectory() as folder:
                checkpoint = Checkpoint.begin(Path(folder) / "checkpoint", self._purpose(parent), self._clock.now())
                yield checkpoint
                checkpoint.close()
            return
        checkpoint = self._open_checkpoint(parent)
        try:
            yield checkpoint
        except BaseException as error:
            if isinstance(error, BlogExporterError) and error.exit_code == 4:
                checkpoint.discard()
            else:
                checkpoint.close()
            raise
        checkpoint.discard()

    def _open_checkpoint(self, parent: int | None) -> Checkpoint:
        folder = self._layout.checkpoint
        purpose = self._purpose(parent)
        found = Checkpoint.resume(folder, purpose, self._clock.now(), self._settings.resume_max_age)
        if isinstance(found, Checkpoint):
            self.outcome.resumed_from = found.started_at
            return found
        if found is not None:
            set_aside(folder)
            self._emit(SetAside(found))
        return Checkpoint.begin(folder, purpose, self._clock.now())

    def _purpose(self, parent: int | None) -> Purpose:
        reading = self._settings.reading
        assume = asdict(reading.assume)
        assume["timezone"] = str(assume["timezone"])
        sha256 = None if parent is None else file_sha256(self._layout.manifest(parent))
        settings = {"refresh": str(reading.refresh), **assume}
        return Purpose(self._settings.blog_id, self._settings.base_url, settings, parent, sha256)

    async def _rehearse(self, harvest: Harvest) -> None:
        """Sweep the lists once and say what a run would find; entries are not read."""
        results = await harvest.sweep(1)
        counts = {}
        for kind in results:
            ledger = harvest.ledgers[kind]
            gone = [key for key in ledger.base.ids() if ledger.seen(key) == 0] if results[kind].complete else []
            counts[kind] = commit.count(ledger, {key: {} for key in gone})
        self.outcome.counts = {str(kind): found for kind, found in counts.items()}
        self._emit(Planned(counts))

    def _commit(self, harvest: Harvest, removals: Removals, parent: int | None) -> None:
        counts = {kind: commit.count(harvest.ledgers[kind], removals.of(kind)) for kind in Kind}
        completeness, problems = assess(
            harvest.sweeps[-1],
            number_of_sweeps=len(harvest.sweeps),
            unread={key: str(error) for key, error in harvest.unread.items()},
            user=harvest.user_failure,
        )
        done = self.outcome
        done.counts = {str(kind): found for kind, found in counts.items()}
        done.completeness, done.problems = completeness, problems
        if parent is None or commit.has_changes(counts):
            draft = writer.Draft(
                parent=parent,
                base_url=self._settings.base_url,
                started_at=done.started_at,
                finished_at=timestamp(self._clock.now()),
                counts=counts,
                completeness=completeness,
                problems=problems,
                lines={kind: commit.lines(harvest.ledgers[kind], removals.of(kind)) for kind in Kind},
            )
            done.version = writer.commit(self._layout, draft).version
        self._emit(Committed(done.version, counts, completeness))


def _unread_before(reader: ArchiveReader | None) -> list[str]:
    """Return the entries that the newest run with a result could not read."""
    for run in reversed(reader.runs() if reader is not None else []):
        if run.get("completeness") is not None:
            return [
                problem["id"]
                for problem in run.get("problems", [])
                if problem.get("kind") == Kind.ENTRIES and isinstance(problem.get("id"), str)
            ]
    return []
