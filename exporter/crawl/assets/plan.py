"""What is to be done about each address: what the archive has, what was tried, and what the blog needs now. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto
from urllib.parse import urlsplit

from exporter.crawl.assets.collect import Wanted
from exporter.crawl.assets.journal import Note
from exporter.model.asset import Asset


class Mode(StrEnum):
    """Which files are read: everything entries show and every upload, uploads only, or none."""

    LINKED = "linked"
    FILES = "files"
    NONE = "none"


class Action(Enum):
    """What is done about an address."""

    KEEP = auto()
    """Its file is in the archive."""
    READ = auto()
    """It is read, or tried again."""
    WAIT = auto()
    """It failed before, and its time has not come."""
    SKIP = auto()
    """It is not asked for by these settings."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done about an address, and what is known of it so far (``None``: nothing)."""

    action: Action
    asset: Asset | None


def decide(
    wanted: Wanted,
    base: Asset | None,
    note: Note | None,
    has: Callable[[Asset], bool],
    *,
    mode: Mode,
    now: datetime,
    retry_now: bool = False,
) -> Decision:
    """Decide about one address.

    Args:
        wanted: who needs it.
        base: its record in the newest version.
        note: what was tried before.
        has: whether the archive holds an asset's file.
        mode: which files are asked for.
        now: the time of the run.
        retry_now: try lost files again although their time has not come.
    """
    tried = note.asset if note is not None else None
    held = next((asset for asset in (base, tried) if asset is not None and has(asset)), None)
    due = retry_now or note is None or note.due_at <= now
    if held is not None:
        outdated = note is not None and bool(wanted.stamp) and note.stamp not in {"", wanted.stamp}
        return Decision(Action.READ if outdated and due and mode is not Mode.NONE else Action.KEEP, held)
    known = base or tried
    if mode is Mode.NONE or (mode is Mode.FILES and not wanted.files):
        return Decision(Action.SKIP, known)
    return Decision(Action.READ if due else Action.WAIT, known)


def spread(urls: Iterable[str]) -> Iterator[str]:
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
