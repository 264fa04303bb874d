"""The pictures and files of one run: collect the addresses, read what is missing, and return a record for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.crawl.assets.address_cache import AddressCache
from exporter.crawl.assets.addresses import AddressCollection, FoundAddress, StoredRecords, Wanted
from exporter.crawl.assets.attempts import Attempt, AttemptLog
from exporter.crawl.assets.fetch import Fetched, Fetcher, check_fallback
from exporter.crawl.assets.plan import AssetAction, AssetChoice, AssetDecision, AssetMode, decide, interleave_hosts
from exporter.crawl.assets.upload_rule import InferredRule, infer_file_url
from exporter.crawl.concurrency import finish_in_thread, for_each
from exporter.crawl.events import AssetEvent, AssetFailed, AssetRead, AssetsPlanned
from exporter.http.address_guard import AddressGuard
from exporter.http.deadline import Timeouts
from exporter.http.engine import DOWNLOAD_POLICY, DOWNLOAD_TIMEOUTS, Download
from exporter.http.retry import RetryPolicy
from exporter.http.transport import Statistics
from exporter.model.asset import Asset, AssetState
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.assets import AssetStore
    from exporter.clock import Clock
    from exporter.html.links import AddressPattern
    from exporter.http.engine import Engine
    from exporter.service.interface import Records

_GIVE_WAY_EVERY = 32


@dataclass(frozen=True, slots=True)
class AssetSettings:
    """How the pictures and files of a blog are read.

    Attributes:
        base: the blog's address, such as ``https://BLOG_ID/``; relative addresses start from it.
        mode: which files are read.
        file_url: where uploaded files are served; ``None`` to infer it from embedded addresses, if they show it.
        archive_fallback: the address of a web archive with ``{url}`` in it; ``None`` to ask none.
        allow_private_network: let addresses lead to private networks and any port.
        service_url: the service's address; its own host and port are allowed in any case.
        concurrency: most files read at a time.
        timeouts: of one request.
        max_bytes: the largest file that is read.
        policy: of trying again within this run.
        retry_lost: try lost files again although their time has not come.
        skipped_hosts: hosts whose files are left out, those of their subdomains too.
        accept_doubtful: keep stored files that contradict what is known of them, and ask for them no more.
        recheck: read all stored files first, also those that have not changed since they were right; what is damaged is
            read from the web again.
        locate: says where an address is really asked for, such as a copy of a host that is gone; ``None`` for itself.
    """

    base: str
    mode: AssetMode = AssetMode.LINKED
    file_url: AddressPattern | None = None
    archive_fallback: str | None = None
    allow_private_network: bool = False
    service_url: str | None = None
    concurrency: int = 8
    timeouts: Timeouts = DOWNLOAD_TIMEOUTS
    max_bytes: int = 100_000_000
    policy: RetryPolicy = DOWNLOAD_POLICY
    retry_lost: bool = False
    skipped_hosts: frozenset[str] = frozenset()
    accept_doubtful: bool = False
    recheck: bool = False
    locate: Callable[[str], str] | None = None

    @property
    def choice(self) -> AssetChoice:
        """Which files are asked for."""
        return AssetChoice(self.mode, self.skipped_hosts, self.max_bytes, self.retry_lost, self.accept_doubtful)


@dataclass(slots=True)
class AssetResult:
    """What a run did.

    Attributes:
        records: the record of every address, new, changed or as it was, by address in the order of its text.
        states: what became of each address somebody needs, in the same order.
        absent: the addresses somebody needs whose newest file is not in the archive or is doubtful, with the reasons of
            this run.
        uploads: the address of each uploaded file by its id; ``None`` where it is not known.
        inferred: where uploads are served, where embedded addresses had to show it.
        read: how many files were read.
        waiting: how many of the lost ones were not tried, as their time has not come.
        framed: how many addresses of pages and of players of other services are embedded, which are not read.
        statistics: what was sent and received.
    """

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    states: dict[str, AssetState] = field(default_factory=dict)
    absent: list[Asset] = field(default_factory=list)
    uploads: dict[str, str | None] = field(default_factory=dict)
    inferred: InferredRule | None = None
    read: int = 0
    waiting: int = 0
    framed: int = 0
    statistics: Statistics = field(default_factory=Statistics)


class AssetRun:
    """Reads what the state about to be committed needs; the caller holds the archive's lock.

    Args:
        service: reads the records.
        records: that state; its ``assets`` are those of the newest version.
        store: where files go.
        journal: the file that remembers what was tried, ``.work/assets.jsonl``.
        settings: how to read.
        engine: sends the requests.
        clock: the time of the run.
        emit: is called with what happens.

    Raises:
        UsageError: the archive fallback has no ``{url}``.
    """

    def __init__(
        self,
        service: Records,
        records: StoredRecords,
        store: AssetStore,
        journal: Path,
        settings: AssetSettings,
        engine: Engine,
        clock: Clock,
        emit: Callable[[AssetEvent], None] = lambda _: None,
    ) -> None:
        check_fallback(settings.archive_fallback)
        self._service = service
        self._records = records
        self._store = store
        self._journal_path = journal
        self._settings = settings
        self._clock = clock
        self._emit = emit
        downloader = engine.downloader(
            AddressGuard(allow_private=settings.allow_private_network, service=settings.service_url),
            timeouts=settings.timeouts,
            max_bytes=settings.max_bytes,
            policy=settings.policy,
        )
        self._fetcher = Fetcher(downloader, store, settings.max_bytes, settings.archive_fallback, settings.locate)
        self._result = AssetResult(statistics=downloader.statistics)

    async def run(self) -> AssetResult:
        """Do it. What was read is durable in the store when this returns; the next run resumes a cancelled one.

        Raises:
            UsageError: the pattern of file addresses names a field that no file record has.
            NoSpace: the disk is full; what was read so far is kept.
        """
        base = {url: Asset.from_raw(raw) for url, raw in self._records.scan(Kind.ASSETS)}
        shown = await self._embedded()
        inferred = None if self._settings.file_url else await asyncio.to_thread(self._infer, shown)
        await asyncio.to_thread(self._store.forget_damaged, quick=not self._settings.recheck)
        journal = AttemptLog(self._journal_path)
        fetched: dict[str, Fetched] = {}
        try:
            if inferred is not None and not inferred.certain:
                await self._read(self._collect(shown, None), base, journal, fetched)
                inferred = inferred if self._proves(inferred, base, fetched) else None
            self._result.inferred = inferred
            wanted = self._collect(shown, self._settings.file_url or (inferred.pattern if inferred else None))
            decisions = await self._read(wanted, base, journal, fetched)
        finally:
            journal.close()
            await finish_in_thread(self._store.sync)
        self._conclude(wanted, base, decisions, fetched)
        await finish_in_thread(lambda: journal.finish([url for url in self._result.records if wanted.get(url)]))
        await finish_in_thread(lambda: self._store.sweep(asset.url for asset in self._result.absent))
        return self._result

    async def _embedded(self) -> dict[str, list[FoundAddress]]:
        """Return what each entry embeds."""
        records = self._records
        known = AddressCache(self._journal_path.with_name("embedded.jsonl"), self._settings.base, self._service)
        shown: dict[str, list[FoundAddress]] = {}
        for number, entry_id in enumerate(records.ids(Kind.ENTRIES)):
            identity = records.identity(Kind.ENTRIES, entry_id)
            shown[entry_id] = known.of(entry_id, identity, partial(records.load, Kind.ENTRIES, entry_id))
            if number % _GIVE_WAY_EVERY == 0:
                await asyncio.sleep(0)
        await finish_in_thread(known.save)
        return shown

    def _infer(self, shown: dict[str, list[FoundAddress]]) -> InferredRule | None:
        """Infer from what entries embed where uploads are served."""
        addresses = dict.fromkeys(url for shows in shown.values() for url, _ in shows)
        return infer_file_url(self._service, (raw for _, raw in self._records.scan(Kind.FILES)), addresses)

    def _proves(self, inferred: InferredRule, base: dict[str, Asset], fetched: dict[str, Fetched]) -> bool:
        """Return whether what is at embedded addresses has the sizes that the records of these uploads say."""
        found = {url: fetched[url].asset if url in fetched else base.get(url) for url in inferred.sizes}
        sizes = {url: asset.bytes for url, asset in found.items() if asset is not None and asset.sha256 is not None}
        return 2 * sum(size == inferred.sizes[url] for url, size in sizes.items()) > len(sizes)

    def _collect(self, shown: dict[str, list[FoundAddress]], pattern: AddressPattern | None) -> dict[str, Wanted]:
        collection = AddressCollection(self._service, pattern, inferred=self._settings.file_url is None)
        for file_id, raw in self._records.scan(Kind.FILES):
            collection.add_file(file_id, raw)
        for entry_id, shows in shown.items():
            collection.add_entry(entry_id, shows)
        self._result.uploads, self._result.framed = collection.uploads, len(collection.framed)
        return collection.wanted()

    def _decide(
        self, wanted: dict[str, Wanted], base: dict[str, Asset], journal: AttemptLog
    ) -> dict[str, AssetDecision]:
        now, choice = self._clock.now(), self._settings.choice
        decisions = {
            url: decide(each, base.get(url), journal.attempts.get(url), self._has, choice, now)
            for url, each in wanted.items()
        }
        actions = [decision.action for decision in decisions.values()]
        self._result.waiting = actions.count(AssetAction.WAIT)
        self._emit(
            AssetsPlanned(actions.count(AssetAction.READ), actions.count(AssetAction.KEEP), self._result.waiting)
        )
        return decisions

    def _has(self, asset: Asset) -> bool:
        stored = self._store.find(asset.sha256) if asset.sha256 is not None else None
        return stored is not None and asset.bytes in {None, stored.size}

    async def _read(
        self, wanted: dict[str, Wanted], base: dict[str, Asset], journal: AttemptLog, fetched: dict[str, Fetched]
    ) -> dict[str, AssetDecision]:
        """Read what is to be read and was not yet, into ``fetched``; return what was decided about each address."""
        decisions = self._decide(wanted, base, journal)
        todo = interleave_hosts(
            url for url, decision in decisions.items() if decision.action is AssetAction.READ and url not in fetched
        )

        async def read(url: str) -> None:
            found = await self._fetcher.fetch(
                url, wanted[url].expected, self._known(decisions[url], journal.attempts.get(url))
            )
            fetched[url] = found
            self._note(wanted[url], decisions[url], found, journal)

        await for_each(list(todo), read, self._settings.concurrency)
        return decisions

    def _note(self, wanted: Wanted, decision: AssetDecision, found: Fetched, journal: AttemptLog) -> None:
        failed = not found.unchanged and found.asset.sha256 is None
        if failed:
            self._emit(AssetFailed(wanted.url, found.asset.error or ""))
        else:
            self._result.read += 1
            self._emit(AssetRead(wanted.url, found.asset.bytes or 0))
        before = journal.attempts.get(wanted.url)
        now = self._clock.now()
        lost = failed and found.asset.state is AssetState.LOST
        if failed and before is not None:
            asset = before.asset if self._has(before.asset) else replace(found.asset, refs=())
            journal.add(replace(before, asset=asset, tries=before.tries + 1 if lost else 0, tried_at=now))
            return
        asset = decision.asset if found.unchanged and decision.asset is not None else found.asset
        answer = found.answer or Download(0)
        journal.add(Attempt(replace(asset, refs=()), int(lost), now, answer.etag, answer.last_modified, wanted.stamp))

    def _known(self, decision: AssetDecision, note: Attempt | None) -> Download | None:
        """Return the answer that the file in the archive came with, to ask whether it is still right."""
        asset = decision.asset
        if asset is None or asset.state is AssetState.DOUBTFUL or not self._has(asset) or note is None:
            return None
        return Download(200, etag=note.etag, last_modified=note.last_modified)

    def _conclude(
        self,
        wanted: dict[str, Wanted],
        base: dict[str, Asset],
        decisions: dict[str, AssetDecision],
        fetched: dict[str, Fetched],
    ) -> None:
        """Make the record of each address; one that failed again in the same way keeps the record it has."""
        for url in sorted({*wanted, *base}):
            known = decisions[url].asset if url in decisions else base[url]
            found = fetched[url].asset if url in fetched and not fetched[url].unchanged else None
            if found is not None and (
                known is None or found.sha256 is not None or not self._need_not_change(known, found)
            ):
                kept = known is not None and (known.accepted, known.sha256, known.error) == (
                    True,
                    found.sha256,
                    found.error,
                )
                known = replace(found, accepted=kept)
            if known is not None and known.state is AssetState.DOUBTFUL and self._settings.accept_doubtful:
                known = replace(known, accepted=True)
            if url in wanted:
                self._judge(url, decisions[url].action, known, found)
            if known is not None:
                record = replace(known, url=url, refs=wanted[url].refs if url in wanted else ())
                self._result.records[url] = record.data()

    def _need_not_change(self, known: Asset, failure: Asset) -> bool:
        """Return whether a record need not change for a failure: it has the content, or failed in the same way."""
        return known.sha256 is not None or known.state is failure.state

    def _judge(self, url: str, action: AssetAction, known: Asset | None, failure: Asset | None) -> None:
        """Attempt what became of an address somebody needs."""
        missing = known is None or not self._has(known)
        if action is AssetAction.SKIP:
            state = AssetState.LEFT_OUT
        elif action is AssetAction.WAIT:
            state = AssetState.LOST
        elif failure is not None and failure.sha256 is None and (missing or failure.state is AssetState.PENDING):
            # A file that was replaced at the service and could not be read again counts as not saved.
            state = failure.state
        else:
            state = AssetState.PENDING if known is None or missing else known.state
        self._result.states[url] = state
        if state is not AssetState.SAVED:
            self._result.absent.append(replace(failure or known or Asset(url), url=url))
