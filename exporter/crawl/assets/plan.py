"""What is done about each address of a picture or file: kept, read, left for later, or left out. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto
from urllib.parse import urlsplit

from exporter.crawl.assets.addresses import Wanted
from exporter.crawl.assets.attempts import Attempt
from exporter.model.asset import Asset, AssetState


class AssetMode(StrEnum):
    """Which files are read: what entries embed and every upload, only what entries embed, uploads only, or none."""

    LINKED = "linked"
    EMBEDDED = "embedded"
    FILES = "files"
    NONE = "none"


class AssetAction(Enum):
    """What is done about an address."""

    KEEP = auto()
    """Its file is in the archive."""
    READ = auto()
    """It is read, or tried again."""
    WAIT = auto()
    """It is lost, and the time to try it again has not come."""
    SKIP = auto()
    """A setting leaves it out."""


@dataclass(frozen=True, slots=True)
class AssetChoice:
    """What the settings ask for.

    Attributes:
        mode: which files are read.
        skipped_hosts: hosts, in lower case, whose files are left out, those of their subdomains too.
        max_bytes: the largest file that is read.
        retry_lost: try lost files again although their time has not come.
        accept_doubtful: keep stored files that contradict what is known of them, and ask for them no more.
    """

    mode: AssetMode = AssetMode.LINKED
    skipped_hosts: frozenset[str] = frozenset()
    max_bytes: int = 100_000_000
    retry_lost: bool = False
    accept_doubtful: bool = False

    def leaves_out(self, wanted: Wanted) -> bool:
        """Return whether a file is not to be read."""
        unwanted = {AssetMode.NONE: True, AssetMode.FILES: not wanted.files, AssetMode.EMBEDDED: not wanted.entries}
        return unwanted.get(self.mode, False) or self._skips(wanted.url)

    def _skips(self, url: str) -> bool:
        host = (urlsplit(url).hostname or "") if self.skipped_hosts else ""
        return any(host == skipped or host.endswith(f".{skipped}") for skipped in self.skipped_hosts)


@dataclass(frozen=True, slots=True)
class AssetDecision:
    """What is done about an address, and what is known of it so far (``None``: nothing)."""

    action: AssetAction
    asset: Asset | None


def decide(
    wanted: Wanted,
    base: Asset | None,
    attempt: Attempt | None,
    has: Callable[[Asset], bool],
    choice: AssetChoice,
    now: datetime,
) -> AssetDecision:
    """Decide about one address.

    Args:
        wanted: who needs it.
        base: its record in the newest version.
        attempt: what was tried before.
        has: whether the archive holds an asset's file.
        choice: what the settings ask for.
        now: the time of the run.
    """
    tried = attempt.asset if attempt is not None else None
    held = next((asset for asset in (base, tried) if asset is not None and has(asset)), None)
    left_out = choice.leaves_out(wanted)
    waits = attempt is not None and attempt.tries > 0 and attempt.due_at > now and not choice.retry_lost
    if held is not None:
        outdated = attempt is not None and bool(wanted.stamp) and attempt.stamp not in {"", wanted.stamp}
        doubtful = held.state is AssetState.DOUBTFUL and not choice.accept_doubtful
        again = (outdated or doubtful) and not left_out and not waits
        return AssetDecision(AssetAction.READ if again else AssetAction.KEEP, held)
    known = base or tried
    if left_out:
        return AssetDecision(AssetAction.SKIP, known)
    newest = tried or base
    if newest is not None and newest.state is AssetState.LEFT_OUT and (newest.bytes or 0) >= choice.max_bytes:
        return AssetDecision(AssetAction.SKIP, newest)
    lost = newest is not None and newest.state is AssetState.LOST
    return AssetDecision(AssetAction.WAIT if lost and waits else AssetAction.READ, known)


def interleave_hosts(urls: Iterable[str]) -> Iterator[str]:
    """Yield addresses in turn from each host, so that one slow host does not hold up the others."""
    hosts: defaultdict[str, deque[str]] = defaultdict(deque)
    for url in urls:
        hosts[urlsplit(url).netloc].append(url)
    turns = deque(hosts.values())
    while turns:
        turn = turns.popleft()
        yield turn.popleft()
        if turn:
            turns.append(turn)
