"""One backup run: resume or begin, read, check, commit, and append a line to ``runs.jsonl``.

The run yields events and records its result in ``outcome``; the consumer decides what to display.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.assets import AssetStore
from exporter.archive.checks import file_sha256
from exporter.archive.forgotten import Suppressed, read_notes
from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo, RecordProblem
from exporter.archive.prune import remove_unreferenced
from exporter.archive.reader import is_archive, is_read_again, known_damage, remember_damage
from exporter.archive.repair import Damage, RepairedFile, find_damage, readable_state, repair, restore_documents
from exporter.archive.state import State
from exporter.clock import timestamp
from exporter.crawl import commit
from exporter.crawl.another_blog import refuse_another_blog
from exporter.crawl.api_capture import finish_staged
from exporter.crawl.assets.captured import CapturedFiles
from exporter.crawl.assets.download import AssetDownload, keep_file, keep_original
from exporter.crawl.assets.summary import AssetSummary, read_assets, unread_assets
from exporter.crawl.checkpoint import Checkpoint, Purpose, set_aside
from exporter.crawl.commit import Healing, finish_commit
from exporter.crawl.events import (
    ClockDiffers,
    Event,
    OptionsProven,
    PageRead,
    RecordsJoined,
    Resumed,
    SetAside,
    SourceNotes,
    Started,
)
from exporter.crawl.freshness import Freshness
from exporter.crawl.ingest import BackupSettings, Ingest
from exporter.crawl.join import Join, ServiceView
from exporter.crawl.kept_out import KeptOut
from exporter.crawl.ledger import Ledger, PendingState
from exporter.crawl.outcome import Outcome, assess, incomplete, later_run, still_damaged, unread_before
from exporter.crawl.publicity import EntryPublication, Publicity
from exporter.crawl.recording import RunRecording
from exporter.crawl.removals import Removals, find_removals, is_notice, leave_out, refuse_mass_disappearance
from exporter.crawl.seen_pages import SeenPages
from exporter.crawl.tasks import finish_in_thread
from exporter.errors import (
    AnotherBlog,
    BlogExporterError,
    Interrupted,
    MassDisappearance,
    NoMemory,
    RunRefused,
    UsageError,
)
from exporter.message import listed, message, message_n, said
from exporter.model.kinds import Kind
from exporter.service.declarations import BLOG_V1
from exporter.service.joined import JoinedRecords
from exporter.service.stated import StatedService
from exporter.text import printable
from exporter.warc.shown import ShownRecords

if TYPE_CHECKING:
    from exporter.archive.latest_segments import ChangedLine, Segments
    from exporter.archive.safe_files import InnerPath
    from exporter.clock import Clock
    from exporter.http.engine import ServiceClient
    from exporter.service.interface import BlogService, Records

_SYNC_SECONDS = 1.0
_SYNCER = ThreadPoolExecutor(1, "checkpoints")
"""One thread for the checkpoints of all runs, because hundreds would occupy the threads that commits need."""
_NOTES_SHOWN = 10
_MANIFESTS_CHECKED = 16
"""Newest manifests whose hashes every run checks, because the views read them."""


class RunReading(NamedTuple):
    """The result of reading the service.

    Attributes:
        ledgers: the records to commit.
        removals: the records to remove.
        gone: the records that the service no longer has, by its own ids.
        join: joins them with the records of other services, if there are any.
    """

    ledgers: Mapping[Kind, Ledger]
    removals: Removals
    gone: Mapping[Kind, Collection[str]]
    join: Join | None = None


@dataclass
class BackupRun:
    """A run that fills an archive from a blog service.

    Attributes:
        root: the archive or the folder for a new one; the caller holds its lock.
        service: reads the blog.
        client: sends the service's requests.
        settings: those of this run.
        clock: the time of the run.
        outcome: the result of the run; complete when :meth:`events` has ended.
        read_as: returns the reader of records for an archive that began with the service of this name. Without it, a
            run cannot join records of another service.
        accept_join: whether it may join a service that has hardly any entry of the archive, or other ones.
        is_new_name: whether the archive does not know the name by which it reads the blog.
        segments: the six files of ``latest/`` for the new version, if they could be written.
    """

    root: Path
    service: BlogService
    client: ServiceClient
    settings: BackupSettings
    clock: Clock
    segments: Segments | None = None
    read_as: Callable[[str], Records] | None = None
    accept_join: bool = False
    is_new_name: bool = False

    def __post_init__(self) -> None:
        self._layout = Layout(self.root)
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._creating: asyncio.Task[None] | None = None
        self._end: BlogExporterError | None = None
        self._answered = False
        self._concluding = False
        self._recording = RunRecording(self._layout, self.client, self.settings, self.clock)
        self._joins: JoinedRecords | None = None
        self._sources: list[str] | None = None
        self._ingest: Ingest | None = None
        self.outcome = Outcome(timestamp(self.clock.now()))

    def stop(self, error: BlogExporterError) -> None:
        """End the run soon and keep its checkpoint; ``events`` then raises ``error``.

        A commit that has begun is finished first, and so is the run's line.
        """
        self._end = error
        if self._task is not None and not self._concluding:
            self._task.cancel()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run and yield events.

        Raises:
            BlogExporterError: the run failed; ``outcome`` is complete nevertheless.
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
            await self._created()
        await self._task

    def _emit(self, event: Event) -> None:
        if isinstance(event, PageRead) and not self._answered:
            # An archive and a checkpoint are only created for a service that answers.
            self._answered = True
            if not self.settings.dry_run and not is_archive(self._layout):
                service = None if self.service.name == BLOG_V1.name else self.service.name
                info = ArchiveInfo(self.settings.blog_id, timestamp(self.clock.now()), service=service)
                self._creating = asyncio.create_task(self._create(info))
        self._queue.append(event)
        self._wake.set()

    async def _create(self, info: ArchiveInfo) -> None:
        """Create the archive while reading continues; a failure ends the run."""
        try:
            await finish_in_thread(lambda: writer.create(self._layout, info))
        except BlogExporterError as error:
            self.stop(error)
        else:
            self._emit(OptionsProven())

    async def _created(self) -> None:
        """Wait until the archive is created, if that has begun."""
        if self._creating is not None:
            await asyncio.wait([self._creating])

    async def _recorded(self) -> None:
        """Run, and write the run's line in any case."""
        try:
            await self._run()
        except asyncio.CancelledError:
            if self._end is None:
                raise
            await self._finish("interrupted" if isinstance(self._end, Interrupted) else "failed", self._end)
            raise self._end from None
        except RunRefused as error:
            await self._finish("refused", error)
            raise
        except BlogExporterError as error:
            await self._finish("interrupted" if isinstance(error, Interrupted) else "failed", error)
            raise
        except MemoryError:
            full = NoMemory()
            await self._finish("failed", full)
            raise full from None
        damaged = still_damaged(self._layout.root, self.outcome.damaged)
        partial = damaged or self._recording.without_space() or incomplete(self.outcome.problems)
        whole = "unchanged" if self.outcome.version is None else "saved"
        await self._finish(whole if partial is None else "partial", partial)
        if self._end is not None:
            raise self._end

    async def _finish(self, outcome: str, error: BlogExporterError | None) -> None:
        """Fill in the outcome and write the run's line."""
        done = self.outcome
        statistics = self.client.statistics
        done.outcome, done.finished_at = outcome, timestamp(self.clock.now())
        done.from_file = None if self.client.source is None else True
        done.exit_code, done.error = (0, None) if error is None else (error.exit_code, said(error))
        done.requests, done.retries, done.bytes = statistics.requests, statistics.retries, statistics.bytes
        self._concluding = True
        await self._created()
        if is_archive(self._layout) and not self.settings.dry_run:
            await finish_in_thread(lambda: writer.append_run(self._layout, done.line()))

    async def _run(self) -> None:
        if self._end is not None:
            raise self._end
        settings = self.settings
        async with contextlib.AsyncExitStack() as opened:
            state, first, damage, later = await finish_in_thread(
                self._open_archive, close=lambda found: found[0].close()
            )
            opened.callback(state.close)
            parent = state.version or None
            sealed = self._sealed(parent)
            recorded = self.client.recorder is not None
            purpose = settings.purpose(self.service.options, parent, sealed, recorded=recorded)
            view = None if self._joins is None else await self._view(self._joins, state, opened, purpose)
            base = state if view is None else view.state
            await self._prepare(opened, base)
            self._emit(Started(self.settings.blog_id, parent))
            if later is not None:
                self._emit(ClockDiffers(timestamp(self.clock.now()), run_before=later))
            checkpoint = await opened.enter_async_context(self._checkpoint(purpose))
            await self._recording.begin(checkpoint, opened)
            freshness = Freshness(self._freshness_file(), sealed)
            pages = SeenPages(self._layout, purpose, checkpoint.spools)
            opened.callback(pages.close)
            ingest = self._ingest = self._ingest_of(checkpoint, base, freshness, pages)
            opened.callback(self._left, ingest)
            await finish_in_thread(ingest.restore)
            if self.outcome.resumed_from is not None:
                self._emit(Resumed(self.outcome.resumed_from, ingest.restored))
            async with self._syncing(checkpoint):
                if settings.dry_run:
                    await self._rehearse(ingest)
                    return
                read = await self._read(ingest, view, damage, first)
                ledgers, removals = read.ledgers, read.removals
                await self._created()
                await self._read_assets(ledgers, state, removals)
                await self._keep_originals(ingest, ledgers)
                for ledger in ledgers.values():
                    ledger.spool.flush()
                await self._recording.write(self._publicity(ingest, read, state))
            self.client.forget_probe()  # it holds all that was read, and the views need the memory
            if self._end is not None:
                raise self._end
            self._concluding = True
            await self._commit(ingest, ledgers, removals, state, damage)
            await self._recording.seal(self.outcome)
            if damage.lines:
                self._restored(await finish_in_thread(lambda: list(repair(Archive.open(self._layout.root)))))
            await finish_in_thread(lambda: self._remember_damage(damage))
            newest = self._sealed(self.outcome.version or parent)
            if newest is not None:
                listed = ingest.ledgers[Kind.ENTRY_LIST].seen_in(len(ingest.sweeps))
                await finish_in_thread(lambda: freshness.save(newest, [*listed, *ingest.missing]))
                await finish_in_thread(pages.save)

    def _ingest_of(self, checkpoint: Checkpoint, base: State, freshness: Freshness, pages: SeenPages) -> Ingest:
        """Return the ingest, which reads the service and compares it with ``base``."""
        store, notes = AssetStore(self._layout), read_notes(self._layout)
        return Ingest(
            self.service,
            self.client,
            checkpoint,
            base,
            self.settings,
            freshness,
            self.clock,
            self._emit,
            lambda original: asyncio.to_thread(keep_original, store, original.url, original.content),
            kept_out=KeptOut(Suppressed(notes), ShownRecords.of(self._layout, self.service.name)),
            pages=pages if self.service.capabilities.pages_in_body else None,
            check=self._check_blog,
        )

    def _check_blog(self, ingest: Ingest) -> None:
        # A notice in place of all pages is named as that.
        if not self.accept_join and (self.settings.accept_removals or not is_notice(ingest)):
            refuse_another_blog(ingest, is_new_name=self.is_new_name)

    async def _read(self, ingest: Ingest, view: ServiceView | None, damage: Damage, first: list[str]) -> RunReading:
        """Read the service, and return the new and changed records and the removed ones.

        Raises:
            AnotherBlog: the entries contradict the archive.
            MassDisappearance: a large part of the blog is absent.
        """
        if view is None:
            ingest.distrust(damage.records)
            await ingest.run([*damage.records[Kind.ENTRIES], *first])
        else:
            await ingest.run()
        self._note_reading()
        self._check_blog(ingest)
        if not self.settings.accept_removals:
            refuse_mass_disappearance(ingest)
        removals = await find_removals(ingest, self.settings.concurrency)
        await finish_in_thread(lambda: leave_out(ingest))
        if view is None:
            return RunReading(ingest.ledgers, removals, removals.evidence)
        join = await self._join(view, ingest, removals)
        return RunReading(join.ledgers, join.removals, removals.evidence, join)

    def _freshness_file(self) -> InnerPath:
        """Return the file with the times of earlier readings: one for each service, because their ids differ."""
        known = self._layout.freshness
        return known if self._joins is None else known.with_name(f"{self.service.name}-{known.name}")

    async def _view(
        self, joins: JoinedRecords, state: State, opened: contextlib.AsyncExitStack, purpose: Purpose
    ) -> ServiceView:
        """Open the archive's records from this run's service, and the files for joined records."""
        folder = Path(self._layout.work / "joined")
        if self.settings.dry_run:
            folder = Path(opened.enter_context(TemporaryDirectory())) / "joined"
        checkpoint = Checkpoint.begin(folder, purpose, self.clock.now())
        opened.callback(checkpoint.discard)
        view = await finish_in_thread(lambda: ServiceView(joins, self.service, state, checkpoint))
        opened.callback(view.state.close)
        return view

    def _publicity(self, ingest: Ingest, read: RunReading, state: State) -> Publicity:
        """Return the rules for which answers of this run are public, after everything was read."""
        now, declared = self.clock.now(), self.settings.declared
        ingest.checkpoint.flush()
        records = PendingState(ingest.state, ingest.ledgers, read.gone)
        others = []
        if read.join is not None and self._joins is not None:
            joined = PendingState(state, read.ledgers, read.removals.evidence)
            others.append(EntryPublication(self._joins, joined, declared, now, read.join.entry_ids))
        entries = EntryPublication(self.service, records, declared, now)
        return Publicity(entries, others, self.service.capabilities.open_to_all)

    async def _join(self, view: ServiceView, ingest: Ingest, removed: Removals) -> Join:
        """Join the run's records with those that other services gave the archive."""
        join = Join(view, ingest, accept=self.accept_join)
        await finish_in_thread(lambda: join.run(removed))
        report = join.report
        self.outcome.joined = report.document(self.service.name)
        self._emit(
            RecordsJoined(
                self.service.name, report.matched, report.new, report.only_archived, report.withdrawn,
                tuple(report.conflicts), report.more_conflicts,
            )
        )  # fmt: skip
        return join

    async def _prepare(self, opened: contextlib.AsyncExitStack, state: State) -> None:
        """Read an export file into its index, if the run has one."""
        source = self.client.source
        if source is None:
            return
        folder = Path(self._layout.work)
        if self.settings.dry_run:
            folder = Path(opened.enter_context(TemporaryDirectory()))
        opened.callback(source.close)
        cancelled: list[BlogExporterError] = []

        def check() -> None:
            if self._end is not None or cancelled:
                raise self._end or cancelled[0]

        stop = Interrupted(message("The backup was cancelled. The records read so far are kept."))
        await finish_in_thread(lambda: source.prepare(folder, check, state), stop=lambda: cancelled.append(stop))
        if source.notes:
            self._emit(SourceNotes(tuple(source.notes[:_NOTES_SHOWN]), len(source.notes[_NOTES_SHOWN:])))

    def _left(self, ingest: Ingest) -> None:
        """Record facts about the reading, complete or not."""
        self.outcome.sweeps = len(ingest.sweeps)
        self.outcome.service_time = ingest.service_time
        ingest.close()

    def _open_archive(self) -> tuple[State, list[str], Damage, str | None]:
        """Return the newest state, the entries that could not be read for it, its damage, and :func:`later_run`.

        An interrupted commit is finished first.
        """
        if not is_archive(self._layout):
            return State(self.settings.blog_id), [], Damage(), None
        reader = Archive.open(self._layout.root)
        later = later_run(reader, self.clock.now())
        held = reader.info.service or BLOG_V1.name
        if held != self.service.name:
            self._join_with(held)
        if self.settings.dry_run:
            self._note_sources(reader)
            return reader.state(), unread_before(reader), Damage(), later
        documents = [path for path in known_damage(reader) if not is_read_again(path)]
        self._restored(restore_documents(self._layout, None if documents else _MANIFESTS_CHECKED))
        finish_commit(reader)
        finish_staged(self._layout)
        if reader.newest() is None:
            return reader.state(), unread_before(reader), Damage(), later
        self._note_sources(reader)
        state = readable_state(reader)
        damage = find_damage(reader, state, self.clock.now())
        if damage.lines and self._restored(restore_documents(self._layout)):
            damage = find_damage(reader, state, self.clock.now())
        return state, unread_before(reader), damage, later

    def _join_with(self, held: str) -> None:
        """Prepare to join this run's service with an archive that began with the service ``held``.

        Raises:
            UsageError: the two cannot be joined.
        """
        reads = None if self.read_as is None else self.read_as(held)
        if not isinstance(reads, JoinedRecords) or not isinstance(self.service, StatedService):
            raise UsageError(
                "{root} is of the blog service {held!r}, which cannot be joined with {service}. Name another folder "
                "with --archive.",
                root=self._layout.root,
                held=printable(held, 60),
                service=self.service.name,
            )
        self._joins = reads
        self._sources = sorted({held, self.service.name})

    def _note_sources(self, reader: Archive) -> None:
        """Join with the other services that fed the archive so far, which the newest manifest names."""
        newest = reader.newest()
        sources = reader.manifest(newest).sources if newest is not None else None
        if sources is not None:
            self._join_with(reader.info.service or BLOG_V1.name)
            self._sources = sorted({*sources, self.service.name})

    def _restored(self, repaired: Iterable[RepairedFile]) -> bool:
        """Record the restored files, and return whether there were any."""
        found = list(repaired)
        self.outcome.restored += [each.path for each in found if each.restored]
        left = [each.path for each in found if not each.restored]
        damaged = [path for path in self.outcome.damaged if path not in self.outcome.restored]
        self.outcome.damaged = [*damaged, *(path for path in left if path not in damaged)]
        return len(found) > len(left)

    def _remember_damage(self, damage: Damage) -> None:
        """Record the damage that this run leaves behind, for ``status`` and the next run."""
        damage.remember()
        if not is_archive(self._layout):
            return
        reader = Archive.open(self._layout.root)
        left = filter(is_read_again, known_damage(reader))
        remember_damage(self._layout, {*left, *damage.files, *self.outcome.damaged})
        self.outcome.damaged = [path for path in known_damage(reader) if path not in self.outcome.restored]
        remember_damage(self._layout, self.outcome.damaged)

    def _sealed(self, version: int | None) -> str | None:
        return None if version is None else file_sha256(self._layout.manifest(version))

    @contextlib.asynccontextmanager
    async def _syncing(self, checkpoint: Checkpoint) -> AsyncIterator[None]:
        """Make the checkpoint durable every second; a failure ends the run."""

        def write() -> None:
            # The exchanges first: notes in the checkpoint say that their pages and entries were read.
            self._recording.sync()
            checkpoint.sync()

        async def sync() -> None:
            try:
                while True:
                    await asyncio.sleep(_SYNC_SECONDS)
                    await asyncio.get_running_loop().run_in_executor(_SYNCER, write)
            except BlogExporterError as error:
                self.stop(error)

        ticker = asyncio.create_task(sync())
        try:
            yield
        finally:
            ticker.cancel()
            await asyncio.gather(ticker, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def _checkpoint(self, purpose: Purpose) -> AsyncIterator[Checkpoint]:
        """Open the checkpoint; a failed block keeps it, unless the run was refused or read nothing."""
        if self.settings.dry_run:
            with TemporaryDirectory() as folder:
                checkpoint = Checkpoint.begin(Path(folder) / "checkpoint", purpose, self.clock.now())
                with contextlib.closing(checkpoint):
                    yield checkpoint
            return
        checkpoint, unusable = await finish_in_thread(
            lambda: self._open_checkpoint(purpose), close=lambda found: self._leave(found[0])
        )
        if unusable is not None:
            self._emit(SetAside(unusable))
        try:
            yield checkpoint
        except (AnotherBlog, MassDisappearance):
            checkpoint.discard()
            await finish_in_thread(self._remove_originals)
            raise
        except BaseException:
            self._leave(checkpoint)
            raise
        await finish_in_thread(checkpoint.discard)

    def _remove_originals(self) -> None:
        """Remove the pages that a refused run has kept, because they may be a stranger's."""
        if self._ingest is not None and self._ingest.kept:
            remove_unreferenced(self._layout, self._ingest.kept)

    def _leave(self, checkpoint: Checkpoint) -> None:
        if not self._answered and self.outcome.resumed_from is None:
            checkpoint.discard()
        checkpoint.close()

    def _open_checkpoint(self, purpose: Purpose) -> tuple[Checkpoint, str | None]:
        """Return the checkpoint, and the reason why an existing one could not be used."""
        folder = self._layout.checkpoint
        found = Checkpoint.resume(folder, purpose, self.clock.now(), self.settings.resume_max_age)
        if isinstance(found, Checkpoint):
            self.outcome.resumed_from = found.started_at
            return found, None
        if found is not None:
            set_aside(folder)
        return Checkpoint.begin(folder, purpose, self.clock.now()), found

    async def _rehearse(self, ingest: Ingest) -> None:
        """Sweep the lists once and report the changes that a run would find, without reading entries."""
        results = await ingest.sweep(1)
        self._check_blog(ingest)
        for kind, result in results.items():
            ledger = ingest.ledgers[kind]
            gone = list(ledger.absent_since(1)) if result.complete else []
            self.outcome.counts[str(kind)] = commit.count(ledger, {key: {} for key in gone})
        self.outcome.problems = [
            RecordProblem(str(kind), None, text) for kind, result in results.items() for text in result.problems
        ]

    async def _read_assets(self, ledgers: Mapping[Kind, Ledger], state: State, removals: Removals) -> None:
        records = PendingState(state, ledgers, removals.evidence)
        if self.settings.assets is None:
            self.outcome.assets = unread_assets(self._layout, records)
            return
        store, service = AssetStore(self._layout), self._joins or self.service
        download = AssetDownload(
            service,
            records,
            store,
            self._layout.work / "assets.jsonl",
            self.settings.assets,
            self.client.engine,
            self.clock,
            self._emit,
            CapturedFiles.of(self._layout, store, self.settings.assets.max_bytes),
            EntryPublication(service, records, self.settings.declared, self.clock.now()).is_public,
        )
        self.outcome.assets = await read_assets(download, ledgers[Kind.ASSETS])
        if download.withheld:
            text = message_n(
                "The web archive was not asked for {n:,} file: no entry that shows it is known to be public.",
                "The web archive was not asked for {n:,} files: no entry that shows them is known to be public.",
                download.withheld,
            )
            self._emit(SourceNotes((text,)))

    def _note_reading(self) -> None:
        notes = list(self.service.notes)
        if echoes := self.client.echoes:
            notes.append(
                message(
                    "Answers to {operations} hold the token that the run sent; the archive has *** in its place.",
                    operations=listed(sorted(echoes)),
                )
            )
        if notes:
            self._emit(SourceNotes(tuple(notes[:_NOTES_SHOWN]), len(notes[_NOTES_SHOWN:])))

    async def _keep_originals(self, ingest: Ingest, ledgers: Mapping[Kind, Ledger]) -> None:
        """Store the export files as assets, byte for byte, and record the answers that were stored before."""
        source, store = self.client.source, AssetStore(self._layout)
        for url, record in ingest.originals.items():
            ledgers[Kind.ASSETS].observe(url, lossless_json.freeze(record), 1)
        if ingest.originals:
            await finish_in_thread(store.sync)
        if source is None:
            return
        left_out = ingest.kept_out.entries or ingest.kept_out.comments
        if left_out or any(result.forgotten for result in ingest.sweeps[-1].values()):
            return  # the file contains a forgotten record
        for url, path in source.originals.items():
            asset = await finish_in_thread(partial(keep_file, store, url, path))
            ledgers[Kind.ASSETS].observe(url, lossless_json.freeze(asset.data()), 1)
        await finish_in_thread(store.sync)

    async def _commit(
        self, ingest: Ingest, ledgers: Mapping[Kind, Ledger], removals: Removals, state: State, damage: Damage
    ) -> None:
        parent = state.version or None
        healing = Healing.of(damage, ledgers, removals)
        counts = {kind: commit.count(ledgers[kind], removals.of(kind)) for kind in Kind}
        completeness, problems = assess(ingest, self.outcome.assets or AssetSummary())
        source = self.client.source
        losses = source.losses if source else ()
        problems += [RecordProblem(str(Kind.ENTRIES), None, text, lasting=True) for text in losses]
        done = self.outcome
        done.counts = {str(kind): found for kind, found in counts.items()}
        done.problems = [*problems, *healing.problems]
        done.completeness = {**completeness, "complete": not done.problems}
        done.healed = healing.records
        if parent is None or commit.has_changes(counts) or healing.lines or healing.records:
            gone = {kind: {**healing.tombstones(kind), **removals.of(kind)} for kind in Kind}
            draft = writer.VersionDraft(
                parent=parent,
                base_url=self.settings.base_url,
                started_at=done.started_at,
                finished_at=timestamp(self.clock.now()),
                counts=counts,
                completeness=done.completeness,
                problems=done.problems,
                healed=[line.document() for line in healing.lines] if healing.lines or healing.records else None,
                sources=self._sources,
            )
            changes = {kind: self._unless_ended(commit.changes(ledgers[kind], gone[kind])) for kind in Kind}
            shown = None if damage.found else state
            made, self.segments = await finish_in_thread(
                lambda: commit.write_version(self._layout, draft, changes, shown)
            )
            done.version = made.version

    def _unless_ended(self, changes: Iterable[ChangedLine]) -> Iterator[ChangedLine]:
        for change in changes:
            if self._end is not None:
                raise self._end
            yield change
