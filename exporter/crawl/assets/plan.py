"""The plan for each picture or file: keep, read, wait or skip, from the settings and earlier attempts."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from exporter import lossless_json
from exporter.archive import atomic
from exporter.clock import timestamp
from exporter.crawl.assets.addresses import Wanted
from exporter.frozen import frozen
from exporter.http.deadline import Timeouts
from exporter.http.engine import DOWNLOAD_POLICY, DOWNLOAD_TIMEOUTS
from exporter.http.retry import RetryPolicy
from exporter.model.asset import Asset, AssetState

if TYPE_CHECKING:
    from exporter.html.links import AddressPattern

_FIRST_GAP = timedelta(hours=12)
_MAX_GAP = timedelta(days=30)


class AssetMode(StrEnum):
    """Which files are read: what entries embed and every upload, only what entries embed, uploads only, or none."""

    LINKED = "linked"
    EMBEDDED = "embedded"
    FILES = "files"
    NONE = "none"


class AssetAction(Enum):
    """The action for an address."""

    KEEP = auto()
    """Its file is in the archive."""
    READ = auto()
    """It is read or tried again."""
    WAIT = auto()
    """It is lost, and its next attempt is not due yet."""
    SKIP = auto()
    """A setting leaves it out."""


@frozen
class AssetSettings:
    """The settings for a blog's pictures and files.

    Attributes:
        base: the blog's address, such as ``https://BLOG_ID/``, used to resolve relative addresses.
        mode: which files are read.
        file_url: the addresses of uploaded files; ``None`` to infer them from embedded addresses.
        archive_fallback: the address of a web archive with ``{url}`` in it; ``None`` for no web archive.
        allow_private_network: permit addresses in private networks and on any port.
        service_url: the service's address, whose host and port are always permitted.
        concurrency: files that are read at a time.
        timeouts: of one request.
        max_bytes: the largest file that is read.
        policy: for retries within this run.
        retry_lost: try lost files again before their next attempt is due.
        skipped_hosts: hosts, in lower case, whose files are left out, including their subdomains.
        accept_doubtful: keep stored files that contradict the file list, and do not request them again.
        locate: returns the address to request in place of another one, such as a copy of a host that is gone.
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
    locate: Callable[[str], str] | None = None

    def leaves_out(self, wanted: Wanted) -> bool:
        """Return whether the settings leave out a file."""
        unwanted = {AssetMode.NONE: True, AssetMode.FILES: not wanted.files, AssetMode.EMBEDDED: not wanted.entries}
        return unwanted.get(self.mode, False) or self._skips(wanted.url)

    def _skips(self, url: str) -> bool:
        host = (urlsplit(url).hostname or "") if self.skipped_hosts else ""
        return any(host == skipped or host.endswith(f".{skipped}") for skipped in self.skipped_hosts)


@frozen
class Attempt:
    """The newest attempt to read an address.

    Attributes:
        asset: its result, without ``refs``.
        tries: how often in a row the file was gone; 0 after a success.
        tried_at: the time of the attempt.
        etag: as sent with the file, like ``last_modified``.
        stamp: changes with the file records of this address; see ``Wanted.stamp``.
    """

    asset: Asset
    tries: int
    tried_at: datetime
    etag: str | None = None
    last_modified: str | None = None
    stamp: str = ""

    @property
    def due_at(self) -> datetime:
        """The time of the next attempt for a lost file: at once after the first time, then with growing gaps."""
        return self.tried_at + retry_gap(self.tries)

    def document(self) -> dict[str, Any]:
        """Return its line."""
        return {
            "asset": self.asset.data(),
            "tries": self.tries,
            "tried_at": timestamp(self.tried_at),
            "etag": self.etag,
            "last_modified": self.last_modified,
            "stamp": self.stamp,
        }

    @classmethod
    def from_document(cls, value: Any) -> Attempt:
        """Read a line.

        Raises:
            KeyError, TypeError, ValueError: the line is invalid.
        """
        tried_at = datetime.fromisoformat(value["tried_at"]).astimezone(UTC)
        asset = Asset.from_raw(value["asset"])
        return cls(asset, int(value["tries"]), tried_at, value["etag"], value["last_modified"], value["stamp"])


def retry_gap(tries: int) -> timedelta:
    """Return the wait after a file was lost this often in a row: 0, 12 hours, 1, 2, 4 … 30 days."""
    if tries < 2:
        return timedelta(0)
    return min(_MAX_GAP, _FIRST_GAP * (1 << min(tries - 2, 16)))


class AttemptLog:
    """The newest attempt for each address, in ``.work/assets.jsonl``; separate from the records, which stay unchanged.

    The file is append only during a run, so that a killed run reads nothing twice, and written again at its end.
    Without the file, every lost file is tried again at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.attempts: dict[str, Attempt] = {}
        self._load()
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.cut_torn_tail(path)
            self._file = atomic.open_private(path, "ab")

    def add(self, attempt: Attempt) -> None:
        """Record an attempt; it outlives this process at once."""
        self.attempts[attempt.asset.url] = attempt
        with atomic.translated(self._path):
            self._file.write(lossless_json.dumps(attempt.document()) + b"\n")
            self._file.flush()

    def finish(self, keep: Iterable[str]) -> None:
        """Write the file again with the attempts for these addresses, one line for each, and close it."""
        self._file.close()
        lines = [lossless_json.dumps(self.attempts[url].document()) + b"\n" for url in keep if url in self.attempts]
        with atomic.translated(self._path):
            atomic.write_file(self._path, b"".join(lines))

    def close(self) -> None:
        """Close the file without writing it again."""
        self._file.close()

    def _load(self) -> None:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                attempt = Attempt.from_document(lossless_json.loads(line))
            except (lossless_json.NotJson, KeyError, TypeError, ValueError):
                continue
            self.attempts[attempt.asset.url] = attempt


@frozen
class AssetDecision:
    """The action for an address, and its known record (``None``: unknown)."""

    action: AssetAction
    asset: Asset | None


def decide(
    wanted: Wanted,
    base: Asset | None,
    attempt: Attempt | None,
    has: Callable[[Asset], bool],
    settings: AssetSettings,
    now: datetime,
) -> AssetDecision:
    """Decide about one address.

    Args:
        wanted: the address.
        base: its record in the newest version.
        attempt: the newest attempt.
        has: returns whether the archive holds an asset's file.
        settings: those of the run.
        now: the time of the run.
    """
    tried = attempt.asset if attempt is not None else None
    held = next((asset for asset in (base, tried) if asset is not None and has(asset)), None)
    left_out = settings.leaves_out(wanted)
    waits = attempt is not None and attempt.tries > 0 and attempt.due_at > now and not settings.retry_lost
    if held is not None:
        outdated = attempt is not None and bool(wanted.stamp) and attempt.stamp not in {"", wanted.stamp}
        doubtful = held.state is AssetState.DOUBTFUL and not settings.accept_doubtful
        again = (outdated or doubtful) and not left_out and not waits
        return AssetDecision(AssetAction.READ if again else AssetAction.KEEP, held)
    known = base or tried
    if left_out:
        return AssetDecision(AssetAction.SKIP, known)
    newest = tried or base
    if newest is not None and newest.state is AssetState.LEFT_OUT and (newest.bytes or 0) >= settings.max_bytes:
        return AssetDecision(AssetAction.SKIP, newest)
    lost = newest is not None and newest.state is AssetState.LOST
    return AssetDecision(AssetAction.WAIT if lost and waits else AssetAction.READ, known)


def interleave_hosts(urls: Iterable[str]) -> Iterator[str]:
    """Yield addresses from each host in turn, so that a slow host does not delay the others."""
    hosts: defaultdict[str, deque[str]] = defaultdict(deque)
    for url in urls:
        hosts[urlsplit(url).netloc].append(url)
    turns = deque(hosts.values())
    while turns:
        turn = turns.popleft()
        yield turn.popleft()
        if turn:
            turns.append(turn)
