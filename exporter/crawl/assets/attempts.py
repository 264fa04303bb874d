"""What was tried and when, in ``.work/assets.jsonl``: kept apart from the records, so that trying again changes none.

Append only while a run is under way, so that a run that was killed reads nothing twice; written anew when one ends.
Without it every lost file is tried again at once, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive import atomic
from exporter.clock import timestamp
from exporter.model.asset import Asset

_FIRST_GAP = timedelta(hours=12)
_LONGEST_GAP = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The newest attempt at an address.

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
            KeyError, TypeError, ValueError: it is none.
        """
        tried_at = datetime.fromisoformat(value["tried_at"]).astimezone(UTC)
        asset = Asset.from_raw(value["asset"])
        return cls(asset, int(value["tries"]), tried_at, value["etag"], value["last_modified"], value["stamp"])


def retry_gap(tries: int) -> timedelta:
    """Return how long to wait before asking again for what was lost so often in a row: 0, 12 h, 1, 2, 4 … 30 days."""
    if tries < 2:
        return timedelta(0)
    return min(_LONGEST_GAP, _FIRST_GAP * (1 << min(tries - 2, 16)))


class AttemptLog:
    """The newest attempt at each address, by address in ``attempts``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.attempts: dict[str, Attempt] = {}
        self._load()
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.cut_torn_tail(path)
            self._file = atomic.open_private(path, "ab")

    def add(self, attempt: Attempt) -> None:
        """Remember an attempt; it outlives this process at once."""
        self.attempts[attempt.asset.url] = attempt
        with atomic.translated(self._path):
            self._file.write(lossless_json.dumps(attempt.document()) + b"\n")
            self._file.flush()

    def finish(self, keep: Iterable[str]) -> None:
        """Write it anew with the attempts at these addresses, one line for each, and close it."""
        self._file.close()
        lines = [lossless_json.dumps(self.attempts[url].document()) + b"\n" for url in keep if url in self.attempts]
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
                attempt = Attempt.from_document(lossless_json.loads(line))
            except (lossless_json.NotJson, KeyError, TypeError, ValueError):
                continue
            self.attempts[attempt.asset.url] = attempt
