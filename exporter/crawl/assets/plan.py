"""What was tried and when, in ``.work/assets.jsonl``: kept apart from the records, so that trying again changes none.

Append only while a run is under way, so that a run that was killed reads nothing twice; written anew when one ends.
Without it every lost file is tried again at once, and nothing else changes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from exporter import lossless_json
from exporter.archive import atomic
from exporter.clock import timestamp
from exporter.crawl.assets.addresses import Wanted
from exporter.model.asset import Asset, AssetState

_FIRST_GAP = timedelta(hours=12)
_LONGEST_GAP = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Note:
    """What is remembered of one address.

    Attributes:
        asset: what became of it the last time, without ``refs``.
        tries: how often in a row it was found to be gone; 0 after a success.
        tried_at: when it was last tried.
        etag: of the file, as the server sent it.
        last_modified: the same.
        stamp: what changes when a file record that means this address does; see ``Wanted.stamp``.
    """

    asset: Asset
    tries: int
    tried_at: datetime
    etag: str | None = None
    last_modified: str | None = None
    stamp: str = ""

    @property
    def due_at(self) -> datetime:
        """When a lost file is to be tried again: on the next run after the first time, then with growing gaps."""
        return self.tried_at + gap(self.tries)

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
    def from_document(cls, value: Any) -> Note:
        """Read a line.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        tried_at = datetime.fromisoformat(value["tried_at"]).astimezone(UTC)
        asset = Asset.from_raw(value["asset"])
        return cls(asset, int(value["tries"]), tried_at, value["etag"], value["last_modified"], value["stamp"])


def gap(tries: int) -> timedelta:
    """Return how long to wait before asking again for what was lost so often in a row: 0, 12 h, 1, 2, 4 … 30 days."""
    if tries < 2:
        return timedelta(0)
    return min(_LONGEST_GAP, _FIRST_GAP * (1 << min(tries - 2, 16)))


class Journal:
    """The notes of all addresses; ``notes`` by address."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.notes: dict[str, Note] = {}
        self._load()
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.cut_torn_tail(path)
            self._file = atomic.open_private(path, "ab")

    def add(self, note: Note) -> None:
        """Remember a note; it outlives this process at once."""
        self.notes[note.asset.url] = note
        with atomic.translated(self._path):
            self._file.write(lossless_json.dumps(note.document()) + b"\n")
            self._file.flush()

    def finish(self, keep: Iterable[str]) -> None:
        """Write it anew with the notes of these addresses, one line for each, and close it."""
        self._file.close()
        lines = [lossless_json.dumps(self.notes[url].document()) + b"\n" for url in keep if url in self.notes]
        with atomic.translated(self._path):
            atomic.write_file(self._path, b"".join(lines))

    def close(self) -> None:
        """Close it as it is."""
        self._file.close()

    def _load(self) -> None:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                note = Note.from_document(lossless_json.loads(line))
            except (lossless_json.NotJson, KeyError, TypeError, ValueError):
                continue
            self.notes[note.asset.url] = note


class Mode(StrEnum):
    """Which files are read: what entries embed and every upload, only what entries embed, uploads only, or none."""

    LINKED = "linked"
    EMBEDDED = "embedded"
    FILES = "files"
    NONE = "none"


class Action(Enum):
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
class Choice:
    """What the settings ask for.

    Attributes:
        mode: which files are read.
        skipped_hosts: hosts, in lower case, whose files are left out, those of their subdomains too.
        max_bytes: the largest file that is read.
        retry_lost: try lost files again although their time has not come.
    """

    mode: Mode = Mode.LINKED
    skipped_hosts: frozenset[str] = frozenset()
    max_bytes: int = 100_000_000
    retry_lost: bool = False

    def leaves_out(self, wanted: Wanted) -> bool:
        """Tell whether a file is not to be read."""
        unwanted = {Mode.NONE: True, Mode.FILES: not wanted.files, Mode.EMBEDDED: not wanted.entries}
        return unwanted.get(self.mode, False) or self._skips(wanted.url)

    def _skips(self, url: str) -> bool:
        host = (urlsplit(url).hostname or "") if self.skipped_hosts else ""
        return any(host == skipped or host.endswith(f".{skipped}") for skipped in self.skipped_hosts)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done about an address, and what is known of it so far (``None``: nothing)."""

    action: Action
    asset: Asset | None


def decide(
    wanted: Wanted, base: Asset | None, note: Note | None, has: Callable[[Asset], bool], choice: Choice, now: datetime
) -> Decision:
    """Decide about one address.

    Args:
        wanted: who needs it.
        base: its record in the newest version.
        note: what was tried before.
        has: whether the archive holds an asset's file.
        choice: what the settings ask for.
        now: the time of the run.
    """
    tried = note.asset if note is not None else None
    held = next((asset for asset in (base, tried) if asset is not None and has(asset)), None)
    left_out = choice.leaves_out(wanted)
    waits = note is not None and note.tries > 0 and note.due_at > now and not choice.retry_lost
    if held is not None:
        outdated = note is not None and bool(wanted.stamp) and note.stamp not in {"", wanted.stamp}
        return Decision(Action.READ if outdated and not left_out and not waits else Action.KEEP, held)
    known = base or tried
    if left_out:
        return Decision(Action.SKIP, known)
    newest = tried or base
    if newest is not None and newest.state is AssetState.LEFT_OUT and (newest.bytes or 0) >= choice.max_bytes:
        return Decision(Action.SKIP, newest)
    lost = newest is not None and newest.state is AssetState.LOST
    return Decision(Action.WAIT if lost and waits else Action.READ, known)


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
