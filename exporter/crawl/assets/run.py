"""The pictures and files of one run: collect the addresses, read what is missing, and return a record for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.api.download import Download, Downloader, DownloadLimits, Resolver
from exporter.api.guard import AddressGuard
from exporter.api.hosts import PICTURE_POLICY, DownloadStatistics, Hosts
from exporter.api.retry import RetryPolicy
from exporter.crawl.assets.collect import Collection, Records, Wanted
from exporter.crawl.assets.embeddings import Embeddings
from exporter.crawl.assets.events import AssetEvent, AssetFailed, AssetRead, AssetsPlanned
from exporter.crawl.assets.fetch import Fetched, Fetcher, check_fallback
from exporter.crawl.assets.journal import Journal, Note
from exporter.crawl.assets.plan import Action, Decision, Mode, decide, spread
from exporter.crawl.tasks import together
from exporter.model.asset import Asset
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.assets import AssetStore
    from exporter.clock import Clock
    from exporter.render.addresses import AddressPattern

_GIVE_WAY_EVERY = 32


@dataclass(frozen=True, slots=True)
class AssetSettings:
    """How the pictures and files of a blog are read.

    Attributes:
        base: the blog's address, such as ``https://BLOG_ID/``; relative addresses start from it.
        mode: which files are read.
        file_url: where uploaded files are served; ``None`` when that is not known.
        archive_fallback: the address of a web archive with ``{url}`` in it; ``None`` to ask none.
        allow_private_network: let addresses lead to private networks and any port.
        concurrency: most files read at a time.
        per_host: most at a time from one host.
        rate: most requests per second to one host; ``None`` for no such limit.
        limits: of one download.
        policy: of trying again within this run.
        retry_now: try lost files again although their time has not come.
        recheck: read all stored files first, also those that have not changed since they were right; what is damaged is
            read from the web again.
        locate: says where an address is really asked for, such as a copy of a host that is gone; ``None`` for itself.
    """

    base: str
    mode: Mode = Mode.LINKED
    file_url: AddressPattern | None = None
    archive_fallback: str | None = None
    allow_private_network: bool = False
    concurrency: int = 8
    per_host: int = 6
    rate: float | None = None
    limits: DownloadLimits = field(default_factory=DownloadLimits)
    policy: RetryPolicy = PICTURE_POLICY
    retry_now: bool = False
    recheck: bool = False
    locate: Callable[[str], str] | None = None


@dataclass(slots=True)
class AssetResult:
    """What a run did.

    Attributes:
        records: the record of every address, new, changed or as it was, by address in the order of its text.
        lost: the addresses somebody needs whose file is not in the archive, in the same order.
        read: how many files were read.
        waiting: how many of the lost ones were not tried, as their time has not come.
        statistics: what was sent and received.
    """

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    lost: list[Asset] = field(default_factory=list)
    read: int = 0
    waiting: int = 0
    statistics: DownloadStatistics = field(default_factory=DownloadStatistics)


class AssetRun:
    """Reads what the state about to be committed needs; the caller holds the archive's lock.

    Args:
        records: that state; its ``assets`` are those of the newest version.
        store: where files go.
        journal: the file that remembers what was tried, ``.work/assets.jsonl``.
        settings: how to read.
        clock: the time of the run.
        emit: is told what happens.
        resolver: stands in for the system's name lookup.

    Raises:
        UsageError: the archive fallback has no ``{url}``.
    """

    def __init__(
        self,
        records: Records,
        store: AssetStore,
        journal: Path,
        settings: AssetSettings,
        clock: Clock,
        emit: Callable[[AssetEvent], None] = lambda _: None,
        *,
        resolver: Resolver | None = None,
    ) -> None:
        check_fallback(settings.archive_fallback)
        self._records = records
        self._store = store
        self._journal_path = journal
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._resolver = resolver
        self._result = AssetResult()

    async def run(self) -> AssetResult:
        """Do it. What was read is durable in the store when this returns; a cancelled run goes on where it was.

        Raises:
            UsageError: the pattern of file addresses names a field that no file record has.
            NoSpace: the disk is full; what was read so far is kept.
        """
        wanted = await self._collect()
        base = {url: Asset.from_raw(raw) for url, raw in self._records.scan(Kind.ASSETS)}
        await asyncio.to_thread(self._store.forget_damaged, quick=not self._settings.recheck)
        journal = Journal(self._journal_path)
        try:
            decisions = self._decide(wanted, base, journal)
            fetched = await self._read(wanted, decisions, journal)
        finally:
            journal.close()
            await asyncio.to_thread(self._store.sync)
        self._conclude(wanted, base, decisions, fetched)
        journal.finish([url for url in self._result.records if wanted.get(url)])
        self._store.sweep(asset.url for asset in self._result.lost)
        return self._result

    async def _collect(self) -> dict[str, Wanted]:
        records = self._records
        collection = Collection(self._settings.file_url)
        for file_id, raw in records.scan(Kind.FILES):
            collection.add_file(file_id, raw)
        known = Embeddings(self._journal_path.with_name("embedded.jsonl"), self._settings.base)
        for number, entry_id in enumerate(records.ids(Kind.ENTRIES)):
            identity = records.identity(Kind.ENTRIES, entry_id)
            collection.add_entry(entry_id, known.of(entry_id, identity, partial(records.load, Kind.ENTRIES, entry_id)))
            if number % _GIVE_WAY_EVERY == 0:
                await asyncio.sleep(0)
        known.save()
        return collection.wanted()

    def _decide(self, wanted: dict[str, Wanted], base: dict[str, Asset], journal: Journal) -> dict[str, Decision]:
        now = self._clock.now()
        decisions = {
            url: decide(
                each,
                base.get(url),
                journal.notes.get(url),
                self._has,
                mode=self._settings.mode,
                now=now,
                retry_now=self._settings.retry_now,
            )
            for url, each in wanted.items()
        }
        actions = [decision.action for decision in decisions.values()]
        self._result.waiting = actions.count(Action.WAIT)
        self._emit(AssetsPlanned(actions.count(Action.READ), actions.count(Action.KEEP), self._result.waiting))
        return decisions

    def _has(self, asset: Asset) -> bool:
        stored = self._store.find(asset.sha256) if asset.sha256 is not None else None
        return stored is not None and asset.bytes in {None, stored.size}

    async def _read(
        self, wanted: dict[str, Wanted], decisions: dict[str, Decision], journal: Journal
    ) -> dict[str, Fetched]:
        todo = spread(url for url, decision in decisions.items() if decision.action is Action.READ)
        fetched: dict[str, Fetched] = {}
        settings = self._settings
        guard = AddressGuard(allow_private=settings.allow_private_network)
        downloader = Downloader(settings.limits, guard, resolver=self._resolver)
        hosts = Hosts(downloader, self._clock, per_host=settings.per_host, rate=settings.rate, policy=settings.policy)
        fetcher = Fetcher(hosts, self._store, settings.archive_fallback, settings.locate)

        async def work(urls: Iterator[str]) -> None:
            for url in urls:
                found = await fetcher.fetch(
                    url, wanted[url].expected, self._known(decisions[url], journal.notes.get(url))
                )
                fetched[url] = found
                self._note(wanted[url], decisions[url], found, journal)

        try:
            await together(work(todo) for _ in range(settings.concurrency))
        finally:
            await downloader.close()
            self._result.statistics = hosts.statistics
        return fetched

    def _note(self, wanted: Wanted, decision: Decision, found: Fetched, journal: Journal) -> None:
        failed = not found.unchanged and found.asset.sha256 is None
        if failed:
            self._emit(AssetFailed(wanted.url, found.asset.error or ""))
        else:
            self._result.read += 1
            self._emit(AssetRead(wanted.url, found.asset.bytes or 0))
        before = journal.notes.get(wanted.url)
        now = self._clock.now()
        if failed and before is not None:
            asset = before.asset if self._has(before.asset) else replace(found.asset, refs=())
            journal.add(replace(before, asset=asset, tries=before.tries + 1, tried_at=now))
            return
        asset = decision.asset if found.unchanged and decision.asset is not None else found.asset
        answer = found.answer or Download(0)
        journal.add(Note(replace(asset, refs=()), int(failed), now, answer.etag, answer.last_modified, wanted.stamp))

    def _known(self, decision: Decision, note: Note | None) -> Download | None:
        """Return the answer that the file in the archive came with, to ask whether it is still right."""
        if decision.asset is None or not self._has(decision.asset) or note is None:
            return None
        return Download(200, etag=note.etag, last_modified=note.last_modified)

    def _conclude(
        self,
        wanted: dict[str, Wanted],
        base: dict[str, Asset],
        decisions: dict[str, Decision],
        fetched: dict[str, Fetched],
    ) -> None:
        """Make the record of each address; one that failed again keeps the record it has."""
        for url in sorted({*wanted, *base}):
            known = decisions[url].asset if url in decisions else base[url]
            found = fetched.get(url)
            if found is not None and (known is None or found.asset.sha256 is not None):
                known = found.asset
            if known is None:
                continue
            record = replace(known, url=url, refs=wanted[url].refs if url in wanted else ())
            self._result.records[url] = record.data()
            if record.refs and not self._has(record):
                self._result.lost.append(record)
