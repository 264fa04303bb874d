"""The results of reading pictures and files: their records in the ledger, and their counts by state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive.assets import AssetStore
from exporter.crawl.assets.download import AssetDownload, AssetResult
from exporter.crawl.assets.plan import AssetMode
from exporter.frozen import frozen
from exporter.message import stored_as
from exporter.model.asset import Asset, AssetState
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.crawl.ledger import Ledger, PendingState

_ONLY_SWEEP = 1
_MIN_MISSING_UPLOADS: Final = 3
"""Missing uploads after which the rule for their addresses is doubted."""


@frozen
class AbsentAsset:
    """A needed picture or file that is missing from the archive or doubtful.

    Attributes:
        url: its address.
        state: its state.
        reason: the failure in this or an earlier run.
        known: whether an earlier run already recorded this state.
    """

    url: str
    state: AssetState
    reason: str
    known: bool


@frozen
class Tally:
    """Numbers of files by state."""

    saved: int = 0
    pending: int = 0
    lost: int = 0
    left_out: int = 0
    refused: int = 0
    doubtful: int = 0

    @classmethod
    def of(cls, states: Iterable[AssetState]) -> Tally:
        """Count the states."""
        counts = dict.fromkeys(AssetState, 0)
        for state in states:
            counts[state] += 1
        return cls(*(counts[state] for state in AssetState))

    @property
    def listed(self) -> int:
        """The total."""
        return self.saved + self.pending + self.lost + self.left_out + self.refused + self.doubtful

    def document(self) -> dict[str, Any]:
        """Return the JSON of the manifest; ``refused`` and ``doubtful`` only if not 0."""
        left_out = {"pending": self.pending, "lost": self.lost, "by_choice": self.left_out}
        left_out |= {"refused": self.refused} if self.refused else {}
        left_out |= {"doubtful": self.doubtful} if self.doubtful else {}
        return {"listed": self.listed, "saved": self.saved, "left_out": left_out}


@frozen
class AssetSummary:
    """The results of a run for pictures and files.

    Attributes:
        read: the number of files read by this run.
        addresses: the needed addresses by state.
        uploads: the uploaded files by state.
        nameless: the ids of requested uploads without a known address.
        shadowed: the ids of uploads at whose address another upload is served.
        doubted: addresses of uploads that answer 404 and are pending, because their rule may be wrong.
        absent: the addresses whose newest file is missing or doubtful.
        bytes_saved: the size of the saved uploads.
        file_url: the rule for the addresses of uploads, ``None`` if unknown.
        inferred: the number of embedded addresses that the rule was inferred from; 0 if it was given.
        framed: the number of embedded pages and players of other services, which are not read.
        originals: the number of originals of embedded thumbnails in the archive.
        requests: sent by this run, to all hosts.
        bytes: received by this run.
    """

    read: int = 0
    addresses: Tally = Tally()
    uploads: Tally = Tally()
    nameless: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()
    doubted: frozenset[str] = frozenset()
    absent: tuple[AbsentAsset, ...] = ()
    bytes_saved: int = 0
    file_url: str | None = None
    inferred: int = 0
    framed: int = 0
    originals: int = 0
    requests: int = 0
    bytes: int = 0

    def of(self, state: AssetState) -> list[AbsentAsset]:
        """Return the absent files in a state."""
        return [absent for absent in self.absent if absent.state is state]

    @property
    def newly_lost(self) -> list[AbsentAsset]:
        """The files that this run was the first to find lost."""
        return [lost for lost in self.of(AssetState.LOST) if not lost.known]

    def document(self) -> dict[str, Any]:
        """Return the JSON for ``runs.jsonl``, which names each lost file once."""
        return {
            "read": self.read,
            **self.addresses.document(),
            "shadowed": list(self.shadowed),
            "newly_lost": [{"url": lost.url, **stored_as("reason", lost.reason)} for lost in self.newly_lost],
            "file_url": self.file_url,
            "file_url_inferred_from": self.inferred,
            **({"framed": self.framed} if self.framed else {}),
            **({"originals": self.originals} if self.originals else {}),
            "requests": self.requests,
            "bytes": self.bytes,
        }


async def read_assets(download: AssetDownload, ledger: Ledger) -> AssetSummary:
    """Read the files that the state about to be committed needs, and put their records into the ledger.

    Raises:
        UsageError: the pattern of file addresses names a field that no file record has.
        NoSpace: the disk is full; the files read so far are kept.
    """
    records, settings = download.records, download.settings
    result = await download.run()
    before = {url: Asset.from_raw(raw).state for url, raw in records.scan(Kind.ASSETS)}
    for url, data in result.records.items():
        ledger.observe(url, lossless_json.freeze(data), _ONLY_SWEEP)
    states, doubted = _states(result)
    uploads = {file_id: _state_of(url, states, settings.mode) for file_id, url in result.uploads.items()}
    shadowed = _shadowed(download, result)
    uploads.update(dict.fromkeys(shadowed, AssetState.LOST))
    saved = {url for file_id, url in result.uploads.items() if uploads[file_id] is AssetState.SAVED}
    pattern = settings.file_url or (result.inferred.pattern if result.inferred else None)
    return AssetSummary(
        read=result.read,
        addresses=Tally.of(states.values()),
        uploads=Tally.of(uploads.values()),
        shadowed=tuple(shadowed),
        nameless=tuple(
            file_id for file_id, url in result.uploads.items() if url is None and uploads[file_id] is AssetState.PENDING
        ),
        doubted=doubted,
        absent=tuple(
            AbsentAsset(each.url, states[each.url], each.reason or "", before.get(each.url) is states[each.url])
            for each in result.absent
        ),
        bytes_saved=sum(result.records[url]["bytes"] or 0 for url in saved if url is not None),
        file_url=None if pattern is None else pattern.text,
        inferred=result.inferred.matches if result.inferred else 0,
        framed=result.framed,
        originals=result.originals,
        requests=result.statistics.requests,
        bytes=result.statistics.bytes,
    )


def unread_assets(layout: Layout, records: PendingState) -> AssetSummary:
    """Return the summary of a run that reads no files: files of earlier runs are saved, the others left out."""
    store = AssetStore(layout)
    held: dict[str, AssetState] = {}
    doubtful: list[AbsentAsset] = []
    states: list[AssetState] = []
    size = 0
    for _, raw in records.scan(Kind.ASSETS):
        asset = Asset.from_raw(raw)
        saved = asset.sha256 is not None and store.find(asset.sha256) is not None
        if asset.refs and asset.original_of is None:
            states.append(asset.state if saved else AssetState.LEFT_OUT)
            if states[-1] is AssetState.DOUBTFUL:
                doubtful.append(AbsentAsset(asset.url, asset.state, asset.reason or "", known=True))
        if saved and asset.ids("file"):
            held.update(dict.fromkeys(asset.ids("file"), asset.state))
            size += asset.bytes or 0
    uploads = [held.get(each, AssetState.LEFT_OUT) for each in records.ids(Kind.FILES)]
    return AssetSummary(addresses=Tally.of(states), uploads=Tally.of(uploads), absent=tuple(doubtful), bytes_saved=size)


def _state_of(url: str | None, states: dict[str, AssetState], mode: AssetMode) -> AssetState:
    """Return an upload's state; its address may be unknown."""
    if url is not None:
        return states[url]
    return AssetState.LEFT_OUT if mode is AssetMode.EMBEDDED else AssetState.PENDING


def _shadowed(download: AssetDownload, result: AssetResult) -> list[str]:
    """Return the uploads that cannot be read because another upload of another size is served at their address.

    Uploads of the same second may share an address that contains the time.
    """
    sharing: defaultdict[str, list[str]] = defaultdict(list)
    for file_id, url in result.uploads.items():
        if url is not None and result.states[url] is AssetState.SAVED:
            sharing[url].append(file_id)
    found = []
    for url, file_ids in sharing.items():
        if len(file_ids) > 1:
            sizes = {
                each: download.service.upload(download.records.load(Kind.FILES, each) or {}).bytes for each in file_ids
            }
            served = result.records[url]["bytes"]
            if served in sizes.values():
                found += [each for each, size in sizes.items() if size not in {None, served}]
    return found


def _states(result: AssetResult) -> tuple[dict[str, AssetState], frozenset[str]]:
    """Return the state of each address, and the addresses of uploads whose rule is doubted.

    The service lists these uploads, but no entry contains their addresses. If a rule finds no upload at all, or an
    inferred rule finds fewer than it misses, the rule is more likely wrong than the uploads gone.
    """
    states = dict(result.states)
    by_rule = {url for url in result.uploads.values() if url is not None}
    lost = [url for url in by_rule if states[url] is AssetState.LOST and not _is_embedded(result.records[url])]
    found = sum(states[url] is AssetState.SAVED for url in by_rule)
    if len(lost) < _MIN_MISSING_UPLOADS or found >= (len(lost) if result.inferred else 1):
        return states, frozenset()
    states.update(dict.fromkeys(lost, AssetState.PENDING))
    return states, frozenset(lost)


def _is_embedded(record: dict[str, Any]) -> bool:
    return any("entry" in ref for ref in record["refs"])
