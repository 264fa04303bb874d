"""Downloading a run's pictures and files: collect the addresses, read missing files, return their records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.crawl.assets.addresses import AddressCache, AddressCollection, FoundAddress, StoredRecords, Wanted
from exporter.crawl.assets.captured import ABSENT, CapturedFiles
from exporter.crawl.assets.file_check import HEAD_BYTES, Expected, NotTheFile, check_file, sniff
from exporter.crawl.assets.plan import (
    AssetAction,
    AssetDecision,
    AssetSettings,
    Attempt,
    AttemptLog,
    decide,
    interleave_hosts,
)
from exporter.crawl.assets.upload_rule import InferredRule, infer_file_url
from exporter.crawl.events import AssetEvent, AssetFailed, AssetRead, AssetsPlanned
from exporter.crawl.tasks import finish_in_thread, for_each
from exporter.errors import (
    AddressRefused,
    BadBody,
    BodyTooLarge,
    HostGivenUp,
    NotPublic,
    RetryableStatus,
    TransportError,
    Unreachable,
    UsageError,
)
from exporter.frozen import frozen
from exporter.http.address_guard import AddressGuard, states_private
from exporter.http.engine import Download
from exporter.http.transport import Statistics
from exporter.message import message, said, system_reason
from exporter.model.asset import Asset, AssetState
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.assets import AssetStore, PartialFile
    from exporter.clock import Clock
    from exporter.html.links import AddressPattern
    from exporter.http.engine import Downloader, Engine
    from exporter.service.interface import Records

_ENTRIES_PER_YIELD = 32
_PIECE_BYTES = 1024 * 1024
_OK, _NOT_MODIFIED = 200, 304
_GONE = frozenset({404, 410})
_ELSEWHERE = frozenset({401, 403, 404, 410, 451})
"""Statuses of files that a web archive may still have."""


@frozen
class Fetched:
    """The result of reading an address.

    Attributes:
        asset: its record, without ``refs``; ``sha256`` is ``None`` if it could not be read.
        answer: the last answer, if there was one.
        unchanged: whether the server answered that the stored file is unchanged.
        elsewhere: whether a web archive may have the file, which could not be read.
    """

    asset: Asset
    answer: Download | None = None
    unchanged: bool = False
    elsewhere: bool = False


class _Failed(Exception):
    """The reason why a file could not be read.

    Attributes:
        status: the answer's status, if there was one.
        state: the resulting state of the asset.
        elsewhere: whether a web archive may have the file.
        size: the size limit that was exceeded.
    """

    def __init__(
        self,
        reason: str,
        status: int | None = None,
        state: AssetState = AssetState.PENDING,
        *,
        elsewhere: bool = False,
        size: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.state = state
        self.elsewhere = elsewhere
        self.size = size


def check_fallback(pattern: str | None) -> None:
    """Check the address of a web archive.

    Raises:
        UsageError: the text is not an address with ``{url}`` in it.
    """
    if pattern is not None and ("{url}" not in pattern or not pattern.startswith(("http://", "https://"))):
        raise UsageError(
            message("--archive-fallback must be an address with {{url}} in it, such as https://HOST/{{url}}.")
        )


@frozen
class Fetcher:
    """Reads single files into the store; a failure is a result and not an exception.

    Attributes:
        downloader: sends the requests.
        store: receives the files.
        max_bytes: the largest file that it reads.
        fallback: a web archive's address with ``{url}`` in it; used for files that are gone.
        locate: returns the address to request in place of another one.
        captured: the files of the archive's captures, used for files that could not be read.
    """

    downloader: Downloader
    store: AssetStore
    max_bytes: int
    fallback: str | None
    locate: Callable[[str], str]
    captured: CapturedFiles | None = None

    async def fetch(
        self, url: str, expected: Expected, known: Download | None = None, *, public: bool = False
    ) -> Fetched:
        """Read the file at ``url``; ``known`` is the answer of the stored file.

        Only an address that is ``public`` may be sent to the web archive: it may publish what it is asked for.

        Raises:
            BlogExporterError: the file could not be written.
        """
        try:
            return await self._read(url, expected, known)
        except _Failed as error:
            failed = error
        if self.captured is not None and failed.state in ABSENT:
            asset = await finish_in_thread(partial(self.captured.fetch, url, expected))
            if asset is not None:
                return Fetched(asset)
        if public and failed.elsewhere and self.fallback is not None:
            source = self.fallback.replace("{url}", url)
            try:
                found = await self._read(source, expected, None)
                return Fetched(replace(found.asset, url=url, source=source), None)
            except _Failed:
                pass
        absent = Asset(url, failed.status, bytes=failed.size, error=said(failed), absence=failed.state)
        return Fetched(absent, elsewhere=failed.elsewhere)

    async def _read(self, url: str, expected: Expected, known: Download | None) -> Fetched:
        part = self.store.part(url)
        try:
            return await self._whole(url, part, expected, known)
        except NotTheFile as error:
            part.restart(None, None)
            raise _Failed(said(error), _OK, elsewhere=True) from None
        except NotPublic as error:
            stated = states_private(self.locate(url))
            raise _Failed(said(error), None, AssetState.REFUSED if stated else AssetState.PENDING) from None
        except AddressRefused as error:
            raise _Failed(said(error), None, AssetState.LOST) from None
        except BodyTooLarge as error:
            part.restart(None, None)
            raise _Failed(said(error), _OK, AssetState.LEFT_OUT, size=self.max_bytes) from None
        except TransportError as error:
            status = error.status if isinstance(error, RetryableStatus) else None
            raise _Failed(said(error), status, elsewhere=isinstance(error, Unreachable | HostGivenUp)) from None
        finally:
            part.close()

    async def _whole(
        self, url: str, part: PartialFile, expected: Expected, known: Download | None, before: str | None = None
    ) -> Fetched:
        """Read a file; one that may be truncated is read a second time, and accepted if both are the same."""
        answer = await self.downloader.read(self.locate(url), part, known=known)
        if answer.status == _NOT_MODIFIED and known is not None:
            return Fetched(Asset(url), answer, unchanged=True)
        if answer.status != _OK:
            state = AssetState.LOST if answer.status in _GONE else AssetState.PENDING
            raise _Failed(
                message("it answered {status}", status=answer.status),
                answer.status,
                state,
                elsewhere=answer.status in _ELSEWHERE,
            )
        try:
            return await self._keep(url, part, answer, expected, certain=answer.framed or part.sha256 == before)
        except BadBody:
            if before is not None:
                raise
            before = part.sha256
            part.restart(None, None)
        return await self._whole(url, part, expected, known, before)

    async def _keep(
        self, url: str, part: PartialFile, answer: Download, expected: Expected, *, certain: bool
    ) -> Fetched:
        facts = check_file(part.file, part.size, expected, certain=certain)
        asset = Asset(
            url,
            status=answer.status,
            content_type=facts.content_type,
            bytes=part.size,
            sha256=part.sha256,
            error=facts.doubt,
            width=facts.size.width if facts.size else None,
            height=facts.size.height if facts.size else None,
        )
        await asyncio.to_thread(self.store.keep, part, facts.content_type)
        return Fetched(asset, answer)


def keep_file(store: AssetStore, url: str, path: Path) -> Asset:
    """Store a copy of a file on this machine, and return its record.

    Raises:
        NoSpace: the disk is full.
        UsageError: the file cannot be read.
    """
    part = store.part(url)
    part.restart(None, None)
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                part.write(piece)
        part.file.seek(0)
        content_type = sniff(part.file.read(HEAD_BYTES))
        asset = Asset(url, content_type=content_type, bytes=part.size, sha256=part.sha256)
        store.keep(part, content_type)
    except OSError as error:
        raise UsageError("{path} cannot be read: {reason}.", path=path, reason=system_reason(error)) from error
    finally:
        part.close()
    return asset


def keep_original(store: AssetStore, url: str, content: bytes) -> dict[str, Any]:
    """Store an answer of the service as a file, and return its asset record.

    Raises:
        NoSpace: the disk is full.
    """
    part = store.part(url)
    try:
        part.restart(None, None)
        part.write(content)
        content_type = sniff(content[:HEAD_BYTES])
        asset = Asset(url, content_type=content_type, bytes=part.size, sha256=part.sha256)
        store.keep(part, content_type)
    finally:
        part.close()
    return asset.data()


@dataclass(slots=True)
class AssetResult:
    """The result of a download run.

    Attributes:
        records: the record of every address, by address, sorted.
        states: the state of each needed address, in the same order.
        absent: the needed addresses whose newest file is missing or doubtful, with the reasons of this run.
        uploads: the address of each uploaded file by its id; ``None`` if unknown.
        inferred: the rule for the addresses of uploads, if it was inferred.
        read: the number of files read.
        waiting: the number of lost files whose next attempt is not due yet.
        framed: the number of embedded pages and players of other services, which are not read.
        originals: the number of originals of embedded thumbnails in the archive.
        statistics: counts the traffic.
    """

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    states: dict[str, AssetState] = field(default_factory=dict)
    absent: list[Asset] = field(default_factory=list)
    uploads: dict[str, str | None] = field(default_factory=dict)
    inferred: InferredRule | None = None
    read: int = 0
    waiting: int = 0
    framed: int = 0
    originals: int = 0
    statistics: Statistics = field(default_factory=Statistics)


@dataclass
class AssetDownload:
    """Reads the files that the state about to be committed needs; the caller holds the archive's lock.

    Attributes:
        service: reads the records.
        records: that state; its ``assets`` are those of the newest version.
        store: receives the files.
        journal: the file with earlier attempts, ``.work/assets.jsonl``.
        settings: those of the run.
        engine: sends the requests.
        clock: the time of the run.
        emit: is called with events.
        captured: the files of the archive's captures.
        is_public: returns whether an entry is public. A web archive is asked only for pictures of public entries.
        withheld: the number of files that it was therefore not asked for, set by the run.

    Raises:
        UsageError: the archive fallback has no ``{url}``.
    """

    service: Records
    records: StoredRecords
    store: AssetStore
    journal: Path
    settings: AssetSettings
    engine: Engine
    clock: Clock
    emit: Callable[[AssetEvent], None] = lambda _: None
    captured: CapturedFiles | None = None
    is_public: Callable[[str], bool | None] = lambda _: False

    def __post_init__(self) -> None:
        settings = self.settings
        check_fallback(settings.archive_fallback)
        downloader = self.engine.downloader(
            AddressGuard(allow_private=settings.allow_private_network, service=settings.service_url),
            timeouts=settings.timeouts,
            max_bytes=settings.max_bytes,
            policy=settings.policy,
        )
        self._fetcher = Fetcher(
            downloader,
            self.store,
            settings.max_bytes,
            settings.archive_fallback,
            settings.locate or str,
            self.captured,
        )
        self._result = AssetResult(statistics=downloader.statistics)
        self._fetched: dict[str, Fetched] = {}
        self.withheld = 0

    async def run(self) -> AssetResult:
        """Run; afterwards the files are durable in the store. The next run resumes a cancelled one.

        Raises:
            UsageError: the pattern of file addresses names a field that no file record has.
            NoSpace: the disk is full; the files read so far are kept.
        """
        self._base = {url: Asset.from_raw(raw) for url, raw in self.records.scan(Kind.ASSETS)}
        shown = await self._embedded()
        inferred = None if self.settings.file_url else await asyncio.to_thread(self._infer, shown)
        await asyncio.to_thread(self.store.forget_damaged)
        self._log = AttemptLog(self.journal)
        try:
            if inferred is not None and not inferred.certain:
                await self._read(self._collect(shown, None))
                inferred = inferred if self._proves(inferred) else None
            self._result.inferred = inferred
            wanted = self._collect(shown, self.settings.file_url or (inferred.pattern if inferred else None))
            decisions = await self._read(wanted)
        finally:
            self._log.close()
            await finish_in_thread(self.store.sync)
        self._conclude(wanted, decisions)
        await finish_in_thread(lambda: self._log.finish(sorted(wanted)))
        await finish_in_thread(lambda: self.store.sweep(asset.url for asset in self._result.absent))
        return self._result

    async def _embedded(self) -> dict[str, list[FoundAddress]]:
        """Return the addresses in each entry."""
        records = self.records
        known = AddressCache(self.journal.with_name("embedded.jsonl"), self.settings.base, self.service)
        shown: dict[str, list[FoundAddress]] = {}
        for number, entry_id in enumerate(records.ids(Kind.ENTRIES)):
            identity = records.identity(Kind.ENTRIES, entry_id)
            shown[entry_id] = known.of(entry_id, identity, partial(records.load, Kind.ENTRIES, entry_id))
            if number % _ENTRIES_PER_YIELD == 0:
                await asyncio.sleep(0)
        await finish_in_thread(known.save)
        return shown

    def _infer(self, shown: dict[str, list[FoundAddress]]) -> InferredRule | None:
        """Infer the addresses of uploads from embedded addresses."""
        addresses = dict.fromkeys(url for shows in shown.values() for url, _ in shows)
        return infer_file_url(self.service, (raw for _, raw in self.records.scan(Kind.FILES)), addresses)

    def _proves(self, inferred: InferredRule) -> bool:
        """Return whether the files at embedded addresses have the sizes stated by the records of these uploads."""
        fetched = self._fetched
        found = {url: fetched[url].asset if url in fetched else self._base.get(url) for url in inferred.sizes}
        sizes = {url: asset.bytes for url, asset in found.items() if asset is not None and asset.sha256 is not None}
        return 2 * sum(size == inferred.sizes[url] for url, size in sizes.items()) > len(sizes)

    def _collect(self, shown: dict[str, list[FoundAddress]], pattern: AddressPattern | None) -> dict[str, Wanted]:
        collection = AddressCollection(self.service, pattern, inferred=self.settings.file_url is None)
        for file_id, raw in self.records.scan(Kind.FILES):
            collection.add_file(file_id, raw)
        for entry_id, shows in shown.items():
            collection.add_entry(entry_id, shows)
        self._result.uploads, self._result.framed = collection.uploads, len(collection.framed)
        return collection.wanted()

    def _decide(self, wanted: dict[str, Wanted]) -> dict[str, AssetDecision]:
        now = self.clock.now()
        decisions = {
            url: decide(each, self._base.get(url), self._log.attempts.get(url), self._has, self.settings, now)
            for url, each in wanted.items()
        }
        actions = [each.action for url, each in decisions.items() if wanted[url].original_of is None]
        planned, held = actions.count(AssetAction.READ), actions.count(AssetAction.KEEP)
        self._result.waiting = actions.count(AssetAction.WAIT)
        self.emit(AssetsPlanned(planned, held, self._result.waiting))
        return decisions

    def _has(self, asset: Asset) -> bool:
        stored = self.store.find(asset.sha256) if asset.sha256 is not None else None
        return stored is not None and asset.bytes in {None, stored.size}

    async def _read(self, wanted: dict[str, Wanted]) -> dict[str, AssetDecision]:
        """Read the planned files that this run has not read yet; return the decision for each address."""
        decisions = self._decide(wanted)
        planned = (url for url, decision in decisions.items() if decision.action is AssetAction.READ)

        async def read(url: str) -> None:
            known = self._known(decisions[url], self._log.attempts.get(url))
            public = any(map(self.is_public, wanted[url].entries))
            fetched = await self._fetcher.fetch(url, wanted[url].expected, known, public=public)
            self._fetched[url] = fetched
            self.withheld += self.settings.archive_fallback is not None and not public and fetched.elsewhere
            self._note(wanted[url], decisions[url], self._fetched[url])

        todo = list(interleave_hosts(url for url in planned if url not in self._fetched))
        await for_each(todo, read, self.settings.concurrency)
        return decisions

    def _note(self, wanted: Wanted, decision: AssetDecision, found: Fetched) -> None:
        failed = not found.unchanged and found.asset.sha256 is None
        if wanted.original_of is not None:
            self._result.read += not failed
        elif failed:
            self.emit(AssetFailed(wanted.url, found.asset.error or ""))
        else:
            self._result.read += 1
            self.emit(AssetRead(wanted.url, found.asset.bytes or 0))
        before = self._log.attempts.get(wanted.url)
        now = self.clock.now()
        lost = failed and found.asset.state is AssetState.LOST
        if failed and before is not None:
            asset = before.asset if self._has(before.asset) else replace(found.asset, refs=())
            self._log.add(replace(before, asset=asset, tries=before.tries + 1 if lost else 0, tried_at=now))
            return
        asset = decision.asset if found.unchanged and decision.asset is not None else found.asset
        answer = found.answer or Download(0)
        self._log.add(Attempt(replace(asset, refs=()), int(lost), now, answer.etag, answer.last_modified, wanted.stamp))

    def _known(self, decision: AssetDecision, note: Attempt | None) -> Download | None:
        """Return the stored file's answer for a conditional request."""
        asset = decision.asset
        if asset is None or asset.state is AssetState.DOUBTFUL or not self._has(asset) or note is None:
            return None
        return Download(200, etag=note.etag, last_modified=note.last_modified)

    def _conclude(self, wanted: dict[str, Wanted], decisions: dict[str, AssetDecision]) -> None:
        """Make the record of each address; one that failed again in the same way keeps its record."""
        for url in sorted({*wanted, *self._base}):
            if url in wanted and wanted[url].original_of is not None:
                self._conclude_original(wanted[url], decisions[url].asset)
                continue
            known = decisions[url].asset if url in decisions else self._base[url]
            fetched = self._fetched.get(url)
            found = None if fetched is None or fetched.unchanged else fetched.asset
            if found is not None and (known is None or self._replaces(found, known)):
                same = known is not None and (known.sha256, known.error) == (found.sha256, found.error)
                known = replace(found, accepted=same and known is not None and known.accepted)
            if known is not None and known.state is AssetState.DOUBTFUL and self.settings.accept_doubtful:
                known = replace(known, accepted=True)
            if url in wanted:
                self._judge(url, decisions[url].action, known, found)
            if known is not None:
                refs = wanted[url].refs if url in wanted else ()
                record = replace(known, url=url, refs=refs, original_of=None)
                self._result.records[url] = record.data()

    def _conclude_original(self, wanted: Wanted, known: Asset | None) -> None:
        """Make the record of a thumbnail's original if the archive has its file."""
        fetched = self._fetched.get(wanted.url)
        asset = known if fetched is None or fetched.unchanged or fetched.asset.sha256 is None else fetched.asset
        if asset is not None and self._has(asset):
            self._result.originals += 1
            self._result.records[wanted.url] = replace(
                asset, url=wanted.url, refs=wanted.refs, original_of=wanted.original_of
            ).data()
        elif wanted.url in self._base:
            self._result.records[wanted.url] = replace(self._base[wanted.url], refs=wanted.refs).data()

    def _replaces(self, found: Asset, known: Asset) -> bool:
        """Return whether a result changes a record. A failure does not if the record has content or the same state."""
        return found.sha256 is not None or (known.sha256 is None and known.state is not found.state)

    def _judge(self, url: str, action: AssetAction, known: Asset | None, failure: Asset | None) -> None:
        """Set the state of a needed address."""
        missing = known is None or not self._has(known)
        if action is AssetAction.SKIP:
            state = AssetState.LEFT_OUT
        elif action is AssetAction.WAIT:
            state = AssetState.LOST
        elif failure is not None and failure.sha256 is None and (missing or failure.state is AssetState.PENDING):
            # A file that was replaced at the service and could not be read again is not saved.
            state = failure.state
        else:
            state = AssetState.PENDING if known is None or missing else known.state
        self._result.states[url] = state
        if state is not AssetState.SAVED:
            self._result.absent.append(replace(failure or known or Asset(url), url=url))
