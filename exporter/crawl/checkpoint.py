"""What a run under way has read, in ``.work/checkpoint/``: append only, one file for each kind.

A file holds finished ``put`` lines, which a commit copies into the version as they are, and journal lines that say how
far the lists and the entries have come. A journal line follows the records it speaks of, and only with it do they
count: a torn tail costs no more than what was in flight. ``meta.json`` says for which blog, settings and parent
version it is.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.lines import put_line
from exporter.clock import timestamp
from exporter.message import both, message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.lossless_json import Frozen

_META = "meta.json"
_BUFFER = 4 << 10
"""Hundreds of runs may be under way, with six files each; every page and every entry is flushed anyway."""
_JOURNAL = b'{"journal":'
_WORDS = {
    "blog_id": message("of another blog"),
    "base_url": message("from another address"),
    "settings": message("with other settings"),
    "parent": message("on top of another version"),
    "parent_sha256": message("on top of another version"),
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a checkpoint is good for: only a run that agrees in all of these resumes it."""

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
        self._open = Lock()
        with atomic.translated(path):
            atomic.cut_torn_tail(path)
            self._file = atomic.open_private(path, "ab", _BUFFER)
            self.size = self._file.tell()
            self._synced = 0

    def put(self, record_id: str, frozen: Frozen) -> tuple[int, int]:
        """Append a record; returns the offset and length of its line. It counts once a journal line follows."""
        return self._append(put_line(record_id, frozen))

    def journal(self, note: dict[str, Any] | bytes) -> tuple[int, int]:
        """Append a note about how far the run has come, and hand all to the operating system; returns its place.

        From then on it outlives this process, so that a killed run loses only what was in flight.

        Args:
            note: a JSON object, or one as it is written.
        """
        text = note if isinstance(note, bytes) else lossless_json.dumps(note)
        place = self._append(_JOURNAL + text + b"}\n")
        self.flush()
        return place

    def _append(self, line: bytes) -> tuple[int, int]:
        offset = self.size
        try:  # once for every record, where a context manager would cost as much as the write
            self._file.write(line)
        except OSError as error:
            raise atomic.translate(error, self.path) from error
        self.size += len(line)
        return offset, len(line)

    def flush(self) -> None:
        """Hand what was appended to the operating system."""
        try:
            self._file.flush()
        except OSError as error:
            raise atomic.translate(error, self.path) from error

    def sync(self) -> None:
        """Make what was flushed outlive a power cut; may run in another thread, also while the file is closed."""
        size = self.size
        with self._open, atomic.translated(self.path):
            if not self._file.closed and size != self._synced:
                os.fsync(self._file.fileno())
                self._synced = size

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield what was appended, each line with its offset."""
        self.flush()
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                yield offset, line
                offset += len(line)

    def cut(self, size: int) -> None:
        """Forget what follows the first ``size`` bytes."""
        with atomic.translated(self.path):
            self._file.truncate(size)
        self.size = size
        self._synced = min(size, self._synced)

    def close(self) -> None:
        """Close the file, also when its last bytes cannot be written."""
        with self._open, contextlib.suppress(OSError):
            self._file.close()


def note_of(line: bytes) -> dict[str, Any] | None:
    """Return a journal line's note, or ``None`` when the line is a record."""
    if not line.startswith(_JOURNAL):
        return None
    return dict(lossless_json.loads(line)["journal"])


class Checkpoint:
    """The checkpoint of one run: begun or resumed, and discarded once the run is committed."""

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
            meta = lossless_json.dumps(purpose.document(started_at), pretty=True)
            atomic.write_file(folder / _META, meta + b"\n")
        return cls(folder, started_at)

    @classmethod
    def resume(cls, folder: Path, purpose: Purpose, now: datetime, max_age: timedelta) -> Self | str | None:
        """Resume the checkpoint that is there.

        Returns:
            The checkpoint; or in a few words why it cannot be used; or ``None`` when there is none.
        """
        meta = read_meta(folder)
        if meta is None:
            return None
        try:
            started_at = str(meta["started_at"])
            age = now - datetime.fromisoformat(started_at)
        except (KeyError, TypeError, ValueError):
            return message("it cannot be read")
        wanted = purpose.document(started_at)
        differing = [_WORDS[name] for name, value in wanted.items() if meta.get(name) != value]
        if differing:
            return message("it was made {how}", how=both(dict.fromkeys(differing)))
        if age > max_age:
            return message("it is from {started_at}, older than --resume-max-age", started_at=started_at)
        if age < -_CLOCKS_DIFFER:
            return message("it is from {started_at}, which is yet to come", started_at=started_at)
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
        drop(self.folder)


_CLOCKS_DIFFER = timedelta(minutes=5)


def read_meta(folder: Path) -> dict[str, Any] | None:
    """Return what ``meta.json`` says; ``None`` when there is no checkpoint, nothing when it cannot be read."""
    try:
        value = lossless_json.loads((folder / _META).read_bytes())
    except OSError:
        return None
    except lossless_json.NotJson:
        return {}
    return dict(value) if isinstance(value, dict) else {}


def drop(folder: Path) -> None:
    """Remove a checkpoint in one step: a half-removed one would look like one that knows less than it did."""
    gone = folder.with_name("checkpoint.old")
    with atomic.translated(folder):
        atomic.remove_folder(gone)
        with contextlib.suppress(FileNotFoundError):
            folder.rename(gone)
        atomic.remove_folder(gone)


def set_aside(folder: Path) -> None:
    """Move a checkpoint that cannot be used out of the way, in the place of one set aside before."""
    old = folder.with_name("checkpoint.aside")
    with atomic.translated(folder):
        atomic.remove_folder(old)
        folder.rename(old)
