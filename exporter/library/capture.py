"""A capture of a blog's public pages as an asynchronous iterator of events: addresses, lock, and the run."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.atomic import remove_folder
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.reader import is_archive
from exporter.archive.state import State
from exporter.capture.events import CaptureEvent
from exporter.capture.outcome import CaptureOutcome, CaptureSettings
from exporter.capture.run import CaptureRun
from exporter.clock import Clock, SystemClock
from exporter.crawl.tasks import finish_in_thread
from exporter.errors import ArchiveLocked, BlogExporterError, UsageError
from exporter.export.own_links import infer_entry_url
from exporter.html.links import AddressPattern, absolute, host_of
from exporter.html.web_address import parsed
from exporter.http.deadline import Timeouts
from exporter.http.engine import USER_AGENT, Engine
from exporter.http.retry import RetryEvent, RetryPolicy
from exporter.library.views import present_views, refresh_latest
from exporter.model.kinds import Kind
from exporter.model.records import Audience, Raw
from exporter.service.interface import Records
from exporter.service.public_site.paths import site_paths
from exporter.service.public_site.source import PublicSite
from exporter.service.registry import DEFAULT_SERVICE, service_of
from exporter.settings import Origin, Settings
from exporter.text import printable

_LOCK_POLL_SECONDS: Final = 0.2
_MAX_RETRIES: Final = 3
"""Every later capture tries a page again, as with pictures."""
_RETRY_BASE_SECONDS: Final = 0.5
_RETRY_CEILING_SECONDS: Final = 10.0
_LONGEST_FOREIGN_PAUSE_SECONDS: Final = 120.0
_SAMPLED_ENTRIES: Final = 200
_CHOSEN: Final = frozenset({Origin.OPTION, Origin.VARIABLE, Origin.BLOG, Origin.FILE, Origin.ARCHIVE})
"""Where a person sets a limit. Those of a profile are for the API of a service, not for its pages."""


def capture(
    archive: Path,
    blog_id: str,
    settings: Settings,
    engine: Engine,
    *,
    dry_run: bool = False,
    clock: Clock | None = None,
    on_retry: Callable[[RetryEvent], None] = lambda _: None,
) -> PageCapture:
    """Capture the public pages of a blog into an archive. Nothing happens until you iterate over the result.

    Args:
        archive: the archive's folder; a new one is made when the blog answers.
        blog_id: the blog.
        settings: the limits, and where the blog is.
        engine: sends the requests. With the engine of a backup, both share the limits of each host.
        dry_run: only read robots.txt, the home page, sitemaps and feeds; write nothing.
        clock: the time of the records.
        on_retry: called when a retry was scheduled.

    Raises:
        UsageError: the archive belongs to another blog, or nothing says where the blog's pages are.
        NoArchive: the folder holds other files.
    """
    writer.require_place(archive, blog_id)
    home = home_of(archive, blog_id, settings)
    how = CaptureSettings(
        blog_id,
        home,
        concurrency=_own(settings, "concurrency"),
        rate=_own(settings, "rate"),
        obey_robots=settings.get("obey_robots"),
        max_pages=settings.capture_max_pages,
        max_size=settings.capture_max_size,
        max_time=None if settings.capture_max_time is None else settings.capture_max_time.total_seconds(),
        max_bytes=settings.max_asset_size,
        allow_private=settings.allow_private_network,
        skipped_hosts=settings.skip_asset_hosts,
        user_agent=settings.user_agent or USER_AGENT,
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
    service = None if settings.service in {None, DEFAULT_SERVICE.name} else settings.service
    run = CaptureRun(
        archive, engine, how, clock or SystemClock(), lambda: list(entry_addresses(archive, settings)), service
    )
    return PageCapture(run, settings.wait_lock.total_seconds(), lambda: _link_captures(archive, settings))


def _link_captures(root: Path, settings: Settings) -> None:
    """Let the site link to a new capture; only the pages that gain a link are made again."""
    archive = Archive.open(root)
    if archive.newest() is not None:
        refresh_latest(archive, present_views(settings, root))


def _own(settings: Settings, name: str) -> Any:
    """Return a limit that a person set, or else that of public pages."""
    if settings.sources.get(name) is not None and settings.sources[name].origin in _CHOSEN:
        return settings.get(name)
    default = PublicSite.defaults[name]
    return int(default) if name == "concurrency" else float(default)


def home_of(archive: Path, blog_id: str, settings: Settings) -> str:
    """Return the address of a blog's home page.

    A setting states it, or the blog was read at it. Otherwise it is on the host that the entries' addresses name, and
    last it is the blog's ID.

    Raises:
        UsageError: the setting is no address, or nothing names a host.
    """
    if settings.home_url is not None:
        found = parsed(settings.home_url)
        if found is None:
            raise UsageError(
                "home_url must be a web address such as https://blog.example.jp/, not {text}.",
                text=printable(settings.home_url, 200),
            )
        return str(found._replace(query=None))
    if settings.service == PublicSite.name and settings.base_url is not None:
        return site_paths(blog_id, settings.base_url, settings.get("page_rules")).home_address
    host, _, folder = blog_id.partition("/")
    path = f"/{folder.strip('/')}/" if folder.strip("/") else "/"
    base = urlsplit(settings.base_url or "")
    if base.hostname == host.partition(":")[0]:
        return f"{base.scheme}://{base.netloc}{path}"
    named = _named_origin(archive, settings)
    if named is not None and host_of(named) != host:
        return f"{named}/"
    if "." not in host:
        raise UsageError(
            "Nothing says where the pages of {blog_id} are. Name the home page with --home-url.",
            blog_id=printable(blog_id, 120),
        )
    return f"{'https' if named is None else named.partition(':')[0]}://{host}{path}"


def _named_origin(archive: Path, settings: Settings) -> str | None:
    """Return the scheme and host that most of the first entries' addresses have; ``None`` if they have none."""
    origins: Counter[str] = Counter()
    for number, url in enumerate(entry_addresses(archive, settings)):
        place = parsed(url)
        if place is not None:
            origins[f"{place.scheme}://{place.authority}"] += 1
        if number >= _SAMPLED_ENTRIES:
            break
    return origins.most_common(1)[0][0] if origins else None


def entry_addresses(archive: Path, settings: Settings) -> Iterator[str]:
    """Yield the addresses of the entries in an archive's newest state, without entries known to be private.

    A service states them, or a pattern builds them: the setting ``entry_url``, that of a known service, or the one that
    the links between entries show.
    """
    if not Archive.exists(archive):
        return
    reader = Archive.open(archive)
    if reader.newest() is None:
        return
    service = service_of(settings, reader.info.service)
    with contextlib.closing(reader.state()) as state:
        build = address_builder(state, service, settings)
        for entry_id, raw in state.scan(Kind.ENTRIES):
            post = service.post(raw)
            if post.private is True or post.audience not in {None, Audience.PUBLIC}:
                continue
            stated = absolute(post.permalink, f"https://{reader.info.blog_id}/") if post.permalink else None
            url = stated or build(entry_id, raw)
            if url is not None:
                yield url


def address_builder(state: State, service: Records, settings: Settings) -> Callable[[str, Raw], str | None]:
    """Return what builds the address of an entry that does not state it, from its id and record."""
    if settings.entry_url is not None:
        pattern = AddressPattern(settings.entry_url, "entry_url")
        return lambda _, raw: pattern.fill(raw)
    if service.name == DEFAULT_SERVICE.name:
        paths = site_paths(state.blog_id, None, "auto")
        if paths.rules is not None:
            return lambda entry_id, _: None if (path := paths.post_path(entry_id)) is None else paths.origin + path
        inferred = infer_entry_url(service, state)
        if inferred is not None:
            return lambda _, raw: inferred.pattern.fill(raw)
    return lambda _, __: None


@dataclass
class PageCapture:
    """A capture. Iterating over it does the work and yields the events.

    With ``async with``, leaving the loop early releases the archive's lock at once. Iterating raises a
    :class:`~exporter.errors.BlogExporterError` if the capture failed. If only some addresses could not be read, it ends
    normally and ``outcome.exit_code`` is 3.

    Attributes:
        run: the run, whose archive is locked meanwhile.
        wait: how long to wait for the lock, in seconds.
        link: called under the lock after a new capture, to link it from the site.
    """

    run: CaptureRun
    wait: float
    link: Callable[[], None] = lambda: None

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
            async with aclosing(self.run.events()) as events:
                async for event in events:
                    yield event
            if self.outcome.capture is not None:
                await finish_in_thread(self.link)

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
            lock.acquire(self.run.clock.now())
        except ArchiveLocked:
            if time.monotonic() >= deadline:
                raise
            return False
        return True
