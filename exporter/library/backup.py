"""A backup as an asynchronous iterator of events: lock, recovery, the run and the views."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar
from urllib.parse import urlsplit

from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.atomic import remove_folder
from exporter.archive.documents import append_run
from exporter.archive.latest import LatestCheck, LatestView, check_latest, read_record
from exporter.archive.layout import Layout
from exporter.archive.lock import BACKUP, ArchiveLock
from exporter.archive.names import add_name, later_ids
from exporter.archive.reader import damaged_in_latest, is_archive, read_info
from exporter.archive.settings_file import read_archive_settings
from exporter.arguments import argument, checked, wrong
from exporter.clock import Clock, SystemClock, timestamp
from exporter.crawl.assets.download import check_fallback
from exporter.crawl.assets.plan import AssetMode, AssetSettings
from exporter.crawl.backup import BackupRun
from exporter.crawl.events import Event, OptionsProven
from exporter.crawl.freshness import Refresh
from exporter.crawl.ingest import BackupSettings
from exporter.crawl.outcome import Outcome
from exporter.crawl.tasks import finish_in_thread
from exporter.errors import ArchiveDamaged, ArchiveLocked, BlogExporterError, Interrupted, UsageError
from exporter.frozen import frozen
from exporter.html.links import AddressPattern
from exporter.html.local_links import by_first_name
from exporter.http.body import prepare_memory
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine, ServiceClient
from exporter.http.recording import AnswerMemory, ExchangeRecorder
from exporter.http.retry import REFUSED_RETRIES, RetryEvent, RetryPolicy
from exporter.library.naming import PresentName
from exporter.library.views import LatestRefreshed, LatestRepaired, finish_forgetting, refresh_latest, wanted_views
from exporter.login.source import credentials_for
from exporter.message import message, suggested
from exporter.model.publication import Declared
from exporter.service.declarations import BLOG_V1
from exporter.service.export_file import ExportFile
from exporter.service.interface import BlogService, Records
from exporter.service.registry import SERVICES, service_of, way_of
from exporter.settings import Settings

if TYPE_CHECKING:
    from exporter.source.export_files import ExportFiles

T = TypeVar("T")

_LOCK_POLL_SECONDS: Final = 0.2
_NOT_RECORDED: Final = (ArchiveLocked, Interrupted)
"""Another run has the archive and writes its own line, or a person ended this one."""
_BLOG_ID: Final = re.compile(r"[^\s/:?#@\\\x00-\x1f\x7f]{1,255}(?::[0-9]{1,5})?(?:/[^\s/?#\\\x00-\x1f\x7f]+)*")
_A_SETTING: Final = message("a setting is wrong; run the backup at a terminal to see which")


BackupEvent = Event | LatestRepaired | LatestRefreshed


@frozen
class OpenService:
    """A blog, its service, and the client that sends the requests."""

    blog_id: str
    service: BlogService
    client: ServiceClient


@checked
@asynccontextmanager
async def open_service(
    blog_id: str,
    settings: Settings,
    *,
    files: ExportFiles | None = None,
    renamed_to: str | None = None,
    engine: Engine | None = None,
    longest_pause: float = float("inf"),
    known: bool = False,
    warn: Callable[[str], None] = lambda _: None,
    on_retry: Callable[[RetryEvent], None] = lambda _: None,
) -> AsyncIterator[OpenService]:
    """Yield the service of a blog as the settings describe it.

    Args:
        blog_id: the blog, such as ``NAME.blog.example.jp``.
        settings: the address, the token, time-outs and retries.
        files: the export files to read instead of a service.
        renamed_to: the ID that the service knows the blog by, if it is not ``blog_id``.
        engine: sends the requests. The blogs of one engine share connections and rate limits. ``None`` makes a new one.
        longest_pause: the longest ``Retry-After`` in seconds that is obeyed; a longer one is an error.
        known: whether the service is known to exist, see :func:`is_known_service`. The first connection to another one
            is repeated for seconds only if it is refused.
        warn: called with a sentence if the token would travel unencrypted, or others can read a stored sign-in.
        on_retry: called when a retry was scheduled.

    Raises:
        UsageError: the address, the token or a limit is invalid, or a service that reads files gets no file.
    """
    if files is not None:
        from exporter.source.export_files import ExportFiles  # noqa: PLC0415 - an API needs no files
        from exporter.source.file_index import FileClient  # noqa: PLC0415 - an API needs no index

        argument("files", files, ExportFiles)

        async with contextlib.nullcontext(engine) if engine is not None else Engine() as shared:
            format_ = files.format.of(settings).of_file(await finish_in_thread(files.digest))
            yield OpenService(blog_id, format_, FileClient(files, format_, shared))
        return
    service = way_of(settings, settings.service)
    if renamed_to not in {None, blog_id}:
        service = service.renamed(renamed_to)
    if isinstance(service, ExportFile):
        raise UsageError(
            "The archive of {blog_id} was made from an export file. Name a newer file: {command}",
            blog_id=blog_id,
            command=suggested("backup", "FILE", "--archive", "DIR"),
        )
    if settings.base_url is None:
        raise UsageError("The service of {blog_id} is unknown. Name it with --base-url or --profile.", blog_id=blog_id)
    timeouts = Timeouts(
        connect=settings.connect_timeout.total_seconds(),
        read=settings.read_timeout.total_seconds(),
        total=settings.total_timeout.total_seconds(),
    )
    async with contextlib.nullcontext(engine) if engine is not None else Engine() as shared:
        client = shared.client(
            service.request_base(settings.base_url),
            credentials_for(settings, shared, warn=warn),
            timeouts=timeouts,
            max_body=settings.max_body,
            policy=RetryPolicy(
                retries=settings.retries,
                give_up_after=settings.give_up_after.total_seconds(),
                max_retry_after=longest_pause,
                refused_retries=None if known else REFUSED_RETRIES,
            ),
            concurrency=settings.concurrency,
            rate=settings.rate,
            on_retry=on_retry,
            recorder=_recorder(settings) if settings.warc else None,
            masks_secrets=True,
        )
        yield OpenService(blog_id, service, client)


def is_known_service(archive: Path, base_url: str | None) -> bool:
    """Return whether an earlier run saved the blog from this host, or began the archive with an answer from it."""
    if base_url is None or not is_archive(Layout(archive)):
        return False
    known: list[object] = []
    with contextlib.suppress(BlogExporterError):  # reported by the backup
        known.append(read_archive_settings(archive).values.get("base_url"))
        reader = Archive.open(archive)
        known += [reader.manifest(number).base_url for number in reader.versions()[-1:]]
    return urlsplit(base_url)[:2] in [urlsplit(each)[:2] for each in known if isinstance(each, str)]


def _recorder(settings: Settings) -> ExchangeRecorder:
    return ExchangeRecorder(AnswerMemory(settings.max_body), settings.auth_header, settings.auth_query or "")


def require_blog_id(text: str, archive: Path) -> None:
    """Refuse to begin an archive for a text that no service knows a blog by, such as an address.

    Raises:
        UsageError: it is no host or name, with a port and folders if the service needs them.
    """
    if is_archive(Layout(archive)):
        return
    if not _BLOG_ID.fullmatch(text) or ".." in text:
        reason = message("the ID of a blog is expected, such as name.blog.example.jp, without https://")
        raise wrong("blog_id", text, ValueError(reason))


@checked
def backup(
    archive: Path | str,
    service: OpenService,
    settings: Settings,
    *,
    accept_removals: bool = False,
    accept_join: bool = False,
    retry_lost: bool = False,
    accept_doubtful: bool = False,
    dry_run: bool = False,
    clock: Clock | None = None,
    recorded_url: str | None = None,
    name: PresentName | None = None,
    locate: Callable[[str], str] | None = None,
    declared: Declared | None = None,
) -> Backup:
    """Back up a blog into an archive. Nothing happens until you iterate over the returned :class:`Backup`.

    Args:
        archive: the archive's folder; the first run that gets an answer makes it.
        service: the blog's service, see :func:`open_service`.
        settings: what to read, and which views to keep.
        accept_removals: record removals even if a large part of the blog is gone.
        accept_join: join a second source even if it has hardly any entry of the archive.
        retry_lost: request pictures again that were gone.
        accept_doubtful: confirm stored pictures that contradict their records.
        dry_run: only read the lists; write nothing, not even a lock.
        clock: the time of day to record.
        recorded_url: the service's address to record in the archive.
        name: the name by which the service is asked, if the archive exists.
        locate: maps a picture's address to the one to request, such as a copy of a dead host.
        declared: the owner's declarations about flags, by default those in the settings. They decide which exchanges
            ``warc`` keeps.

    Raises:
        UsageError: the archive belongs to another blog, or a setting is invalid.
    """
    archive = Path(archive)
    require_blog_id(service.blog_id, archive)
    writer.require_place(archive, service.blog_id)
    is_closing = settings.closing is not None  # content that is not read today may be gone tomorrow
    locate = locate or _at_new_host(archive, service.blog_id)
    check_fallback(settings.archive_fallback)
    assets = AssetSettings(
        base=f"https://{service.blog_id}/",
        mode=AssetMode(settings.assets),
        file_url=None if settings.file_url is None else AddressPattern(settings.file_url, "file_url"),
        archive_fallback=settings.archive_fallback,
        allow_private_network=settings.allow_private_network,
        service_url=settings.base_url,
        concurrency=settings.concurrency,
        max_bytes=settings.max_asset_size,
        retry_lost=retry_lost or is_closing,
        accept_doubtful=accept_doubtful,
        skipped_hosts=settings.skip_asset_hosts,
        locate=locate,
    )
    run_settings = BackupSettings(
        service.blog_id,
        recorded_url or _address_of(service) or settings.base_url or "",
        concurrency=settings.concurrency,
        refresh=Refresh.ALL if is_closing else Refresh(settings.refresh),
        max_age=settings.max_age,
        accept_removals=accept_removals,
        dry_run=dry_run,
        resume_max_age=settings.resume_max_age,
        assets=None if settings.assets == "none" else assets,
        strict_assets=settings.strict_assets,
        declared=declared or _records_of(archive, service.service, settings).declared(settings),
        operator=settings.operator or "",
    )
    run = BackupRun(
        archive,
        service.service,
        service.client,
        run_settings,
        clock or SystemClock(),
        read_as=lambda name: service_of(settings, name),
        accept_join=accept_join,
        is_new_name=name is not None and not name.is_known,
    )
    views = [] if dry_run else wanted_views(settings, archive, _records_of(archive, service.service, settings))
    return Backup(run, views, settings.wait_lock.total_seconds(), name)


def _at_new_host(archive: Path, blog_id: str) -> Callable[[str], str] | None:
    """Return a function that asks the new host of a renamed blog for pictures at the old ones; ``None`` for others."""
    later = later_ids(Layout(archive))
    if not later:
        return None
    old = sorted({blog_id, *later[:-1]} - {later[-1]}, key=len, reverse=True)
    return lambda url: by_first_name(url, dict.fromkeys(old, later[-1]))


def _records_of(archive: Path, service: BlogService, settings: Settings) -> Records:
    """Return the reader of an archive's records. The archive may have begun with another service."""
    held = read_info(Layout(archive)).service or BLOG_V1.name if is_archive(Layout(archive)) else service.name
    if held not in SERVICES:
        return way_of(settings, held)  # refuses a service that only a newer program knows
    return service if service.name == held and not service.may_be_joined else service_of(settings, held)


def records_of(archive: Path, settings: Settings) -> Records:
    """Return the reader of an archive's records. The archive need not exist yet."""
    return _records_of(archive, way_of(settings, settings.service), settings)


def _address_of(service: OpenService) -> str:
    """Return the address of export files for the archive; empty for a service."""
    source = service.client.source
    return "" if source is None else next(iter(source.originals), "")


@dataclass
class Backup:
    """A backup. Iterating over it does the work and yields the events.

    With ``async with``, leaving the loop early releases the archive's lock at once. Iterating raises a
    :class:`~exporter.errors.BlogExporterError` if the backup failed. If only some records could not be read, it ends
    normally and ``outcome.exit_code`` is 3.

    Attributes:
        run: the run, whose archive is locked meanwhile.
        views: the views to keep.
        wait: how long to wait for the lock, in seconds.
        name: the name by which the blog is read, if its archive exists.
        refreshed: the views made again in ``latest/``.
    """

    run: BackupRun
    views: list[LatestView]
    wait: float
    name: PresentName | None = None
    refreshed: LatestRefreshed = field(default_factory=LatestRefreshed)

    def __post_init__(self) -> None:
        self._root = self.run.root
        self._stopping = asyncio.Event()
        self._end: BlogExporterError | None = None
        self._events = self._dry_run() if self.run.settings.dry_run else self._whole_run()

    @property
    def outcome(self) -> Outcome:
        """The result of the run. It is complete after the iteration, even if the run failed."""
        return self.run.outcome

    @checked
    def stop(self, error: BlogExporterError) -> None:
        """End the backup soon and cleanly. Iterating then raises ``error``; the next run resumes."""
        self._end = error
        self._stopping.set()
        self.run.stop(error)

    def __aiter__(self) -> AsyncIterator[BackupEvent]:
        return self._events

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.aclose()

    async def _dry_run(self) -> AsyncGenerator[BackupEvent, None]:
        prepare_memory()
        async with aclosing(self.run.events()) as events:
            async for event in events:
                yield event

    async def _whole_run(self) -> AsyncGenerator[BackupEvent, None]:
        prepare_memory()
        async with self._locked():
            looked, repaired = await self._in_thread(self._catch_up)
            if repaired:
                yield LatestRepaired(repaired)
            proven = False
            async with aclosing(self.run.events()) as events:
                async for event in events:
                    proven = proven or isinstance(event, OptionsProven)
                    yield event
            self._record_name()
            if not proven:
                yield OptionsProven()
            self.refreshed = await self._in_thread(lambda: self._refresh(Archive.open(self._root), looked))
            yield self.refreshed

    def _record_name(self) -> None:
        line = None if self.name is None else self.name.line(timestamp(self.run.clock.now()))
        if line is not None:
            add_name(Layout(self._root), line)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the archive's lock; remove the folder again if no archive was made."""
        layout = Layout(self._root)
        made = not self._root.exists()
        deadline = time.monotonic() + self.wait
        with ArchiveLock(layout.lock) as lock:
            while not self._acquired(lock, deadline):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(_LOCK_POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
                        await self._stopping.wait()
                self._require_not_stopped()
            writer.clean_leftovers(layout)
            try:
                yield
            finally:
                writer.clean_leftovers(layout)
                if not is_archive(layout):
                    remove_folder(layout.work)
                    with contextlib.suppress(OSError):
                        if made:
                            self._root.rmdir()

    def _acquired(self, lock: ArchiveLock, deadline: float) -> bool:
        try:
            lock.acquire(self.run.clock.now(), work=BACKUP)
        except ArchiveLocked:
            if time.monotonic() >= deadline:
                raise
            return False
        return True

    def _catch_up(self) -> tuple[LatestCheck, int]:
        """Bring ``latest/`` up to date after a run that crashed, and make its damaged files again.

        This happens before any request, because the service may be down. Returns the remaining damage, and the number
        of repaired files.
        """
        layout = Layout(self._root)
        if not is_archive(layout):
            return LatestCheck(), 0
        reader = Archive.open(self._root)
        finish_forgetting(reader, self.views)
        looked = check_latest(layout, damaged_in_latest(layout))
        if looked.whole and read_record(layout).get("version") == reader.newest():
            return looked, 0
        try:
            self._refresh(reader, looked)
        except ArchiveDamaged:  # the following run repairs it and refreshes latest/
            return looked, 0
        return LatestCheck(), len(looked.damaged)

    def _refresh(self, reader: Archive, looked: LatestCheck) -> LatestRefreshed:
        return refresh_latest(
            reader, self.views, looked=looked, segments=self.run.segments, check=self._require_not_stopped
        )

    def _require_not_stopped(self) -> None:
        if self._end is not None:
            raise self._end

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Do blocking work in a thread; it ends soon when the backup is cancelled."""

        def stop() -> None:
            self._end = self._end or Interrupted(message("The backup was cancelled. The records read so far are kept."))

        result = await finish_in_thread(work, stop=stop)
        self._require_not_stopped()
        return result


@contextmanager
def recording_refusal(root: Path, *, unattended: bool, dry_run: bool) -> Iterator[None]:
    """Do a backup; if it fails without a line in ``runs.jsonl``, write one.

    A wrong setting or a missing sign-in ends a backup before it reads anything. Without this line ``status`` would
    report the last run that began, night after night.

    Args:
        root: the archive, which need not exist.
        unattended: whether ``-q`` was given. Otherwise a usage error is a typing error and not recorded.
        dry_run: whether nothing may be written.
    """
    if dry_run:
        yield
        return
    layout, begun = Layout(root), SystemClock().now()
    size = _runs_size(layout)
    try:
        yield
    except BlogExporterError as error:
        typed = isinstance(error, UsageError) and not unattended
        if not typed and not isinstance(error, _NOT_RECORDED):
            with contextlib.suppress(BlogExporterError, OSError):
                _record_refusal(layout, error, timestamp(begun), size)
        raise


def _runs_size(layout: Layout) -> int:
    try:
        return layout.runs.lstat().st_size
    except OSError:
        return 0


def _record_refusal(layout: Layout, error: BlogExporterError, begun: str, size: int) -> None:
    if not is_archive(layout):
        return
    now = SystemClock().now()
    with ArchiveLock(layout.lock) as lock:
        lock.acquire(now)
        if _runs_size(layout) == size:
            # The message may quote a secret that the user typed, and no secret may reach the archive.
            reason = _A_SETTING if isinstance(error, UsageError) else str(error)
            append_run(layout, Outcome(begun, timestamp(now), exit_code=error.exit_code, error=reason).line())
