"""When each entry was last read and with which validators, kept in ``.work/freshness.jsonl`` between runs.

Only ever saves work: without it every entry is read, unconditionally.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from exporter import codec
from exporter.api.client import Validators
from exporter.archive import atomic
from exporter.clock import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(slots=True)
class Freshness:
    """What is remembered: for each entry id the time it was last read, and its validators where it had some."""

    last_read: dict[str, datetime] = field(default_factory=dict)
    validators: dict[str, Validators] = field(default_factory=dict)

    def note(self, entry_id: str, now: datetime, validators: Validators) -> None:
        """Remember that an entry was read just now."""
        self.last_read[entry_id] = now
        if validators.headers:
            self.validators[entry_id] = validators
        else:
            self.validators.pop(entry_id, None)

    @classmethod
    def load(cls, path: Path, sealed: str | None) -> Freshness:
        """Read what an earlier run remembered.

        Nothing when it is not there, damaged, or not about the version whose manifest has the SHA-256 ``sealed``:
        a validator must belong to the very state the archive holds, or a change would pass unnoticed.
        """
        found = cls()
        try:
            with path.open("rb") as lines:
                if sealed is None or codec.loads(next(lines, b"null")) != {"manifest_sha256": sealed}:
                    return found
                for line in lines:
                    entry_id, read, etag, last_modified = codec.loads(line)
                    found.last_read[entry_id] = datetime.fromisoformat(read)
                    if etag is not None or last_modified is not None:
                        found.validators[entry_id] = Validators(etag, last_modified)
        except (OSError, codec.NotJson, TypeError, ValueError):
            return cls()
        return found

    def save(self, path: Path, sealed: str, keep: Iterable[str]) -> None:
        """Write it for the entries in ``keep``, as part of the version whose manifest has the SHA-256 ``sealed``."""
        with atomic.translated(path):
            atomic.write_lines(path, self._lines(sealed, keep))

    def _lines(self, sealed: str, keep: Iterable[str]) -> Iterator[bytes]:
        yield codec.dumps({"manifest_sha256": sealed}) + b"\n"
        for entry_id in keep:
            read = self.last_read.get(entry_id)
            if read is not None:
                validators = self.validators.get(entry_id, _NONE)
                yield codec.dumps([entry_id, timestamp(read), validators.etag, validators.last_modified]) + b"\n"


_NONE = Validators()
