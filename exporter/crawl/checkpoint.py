"""What a run under way has read, in ``.work/checkpoint/``: append only, one file for each kind.

A file holds finished ``put`` lines, which a commit copies into the version as they are, and journal lines
(``page``, ``read``) that say how far the lists and the entries have come. Both stand in the order they were written, so
a torn tail costs only what was in flight. ``meta.json`` says for which blog, settings and parent version it is.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from exporter import codec
from exporter.archive import atomic
from exporter.archive.lines import put_line
from exporter.clock import timestamp
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.codec import Frozen

_META = "meta.json"
_JOURNAL = b'{"journal":'


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a checkpoint is good for: it is gone on with only by a run that agrees in all of these."""

    blog_id: str
    base_url: str
    settings: dict[str, Any]
    parent: int | None
    parent_sha256: str | None

    def document(self, started_at: str) -> dict[str, Any]:
        """Return the content of ``meta.json``."""
        return {
            "blog_id": self.blog_id,
            "base_url": self.base_url,
            "settings": self.settings,
            "parent": self.parent,
            "parent_sha256": self.parent_sha256,
            "started_at": started_at,
        }


class Spool:
    """One append-only file of the checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with atomic.translated(path):
            atomic.cut_torn_tail(path)
            self._file = atomic.open_private(path, "ab")
            self.size = self._file.tell()

    def put(self, record_id: str, frozen: Frozen) -> tuple[int, int]:
        """Append a record; returns the offset and length of its line."""
        return self._append(put_line(record_id, frozen))

    def journal(self, note: dict[str, Any]) -> None:
        """Append a note about how far the run has come."""
        self._append(_JOURNAL + codec.dumps(note) + b"}\n")

    def _append(self, line: bytes) -> tuple[int, int]:
        offset = self.size
        with atomic.translated(self.path):
            self._file.write(line)
        self.size += len(line)
        return offset, len(line)

    def flush(self) -> None:
        """Hand what was appended to the operating system, so that it outlives this process."""
        with atomic.translated(self.path):
            self._file.flush()

    def sync(self) -> None:
        """Make what was flushed outlive a power cut."""
        with atomic.translated(self.path):
            os.fsync(self._file.fileno())

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield what was appended, each line with its offset."""
        self.flush()
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                yield offset, line
                offset += len(line)

    def close(self) -> None:
        """Close the file, also when its last bytes cannot be written."""
        with contextlib.suppress(OSError):
            self._file.close()


def note_of(line: bytes) -> dict[str, Any] | None:
    """Return a journal line's note, or ``None`` when the line is a record."""
    if not line.startswith(_JOURNAL):
        return None
    return dict(codec.loads(line)["journal"])


class Checkpoint:
    """The checkpoint of one run: opened new or gone on with, and discarded once the run is committed."""

    def __init__(self, folder: Path, started_at: str) -> None:
        self.folder = folder
        self.started_at = started_at
        self.spools = {kind: Spool(folder / f"{kind}.jsonl") for kind in Kind}

    @classmethod
    def begin(cls, folder: Path, purpose: Purpose, now: datetime) -> Self:
        """Start an empty checkpoint."""
        started_at = timestamp(now)
        with atomic.translated(folder):
            atomic.remove_folder(folder)
            atomic.make_folder(folder)
            meta = codec.dumps(purpose.document(started_at), pretty=True)
            atomic.write_file(folder / _META, meta + b"\n")
        return cls(folder, started_at)

    @classmethod
    def resume(cls, folder: Path, purpose: Purpose, now: datetime, max_age: timedelta) -> Self | str | None:
        """Go on with the checkpoint that is there.

        Returns:
            The checkpoint; or why it cannot be used; or ``None`` when there is none.
        """
        try:
            data = (folder / _META).read_bytes()
        except OSError:
            return None
        try:
            meta = codec.loads(data)
            started_at = str(meta["started_at"])
            age = now - datetime.fromisoformat(started_at)
        except (codec.NotJson, KeyError, TypeError, ValueError):
            return "it cannot be read"
        wanted = purpose.document(started_at)
        differing = [name for name, value in wanted.items() if meta.get(name) != value]
        if differing:
            return f"it was made with another {' and '.join(differing)}"
        if age > max_age or age < timedelta(0):
            return f"it is from {started_at}, older than --resume-max-age"
        return cls(folder, started_at)

    def flush(self) -> None:
        """Hand everything to the operating system."""
        for spool in self.spools.values():
            spool.flush()

    def sync(self) -> None:
        """Hand what was flushed to the disk."""
        for spool in self.spools.values():
            spool.sync()

    def close(self) -> None:
        """Close the files; the folder stays for the next run."""
        for spool in self.spools.values():
            spool.close()

    def discard(self) -> None:
        """Remove the checkpoint: what it held is committed, or worth nothing."""
        self.close()
        with atomic.translated(self.folder):
            atomic.remove_folder(self.folder)


def set_aside(folder: Path) -> None:
    """Move a checkpoint that cannot be used out of the way, in the place of one set aside before."""
    old = folder.with_name("checkpoint.aside")
    with atomic.translated(folder):
        atomic.remove_folder(old)
        folder.rename(old)
