"""The records that a run has read so far, in ``.work/checkpoint/``: append only, one file for each kind.

A file contains finished ``put`` lines, which a commit copies unchanged into the version, and journal lines about the
progress of lists and entries. Records count only with the journal line that follows them, so a truncated file loses no
more than the unfinished requests. ``meta.json`` names the blog, the settings and the parent version.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict
from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from exporter import __version__, lossless_json
from exporter.archive import atomic
from exporter.archive.lines import put_line
from exporter.clock import timestamp
from exporter.frozen import frozen
from exporter.message import both, message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.lossless_json import Frozen

_META = "meta.json"
_CLOCK_TOLERANCE = timedelta(minutes=5)
_BUFFER_BYTES = 4 << 10
"""Small, because hundreds of runs may have six files each, and every page and entry is flushed anyway."""
_JOURNAL = b'{"journal":'
_DIFFERENCES = {
    "blog_id": message("of another blog"),
    "base_url": message("from another address"),
    "settings": message("with other settings"),
    "parent": message("on top of another version"),
    "parent_sha256": message("on top of another version"),
}


@frozen
class Purpose:
    """The identity of a run; only a run that agrees in all fields can resume a checkpoint."""

    blog_id: str
    base_url: str
    settings: dict[str, Any]
    parent: int | None
    parent_sha256: str | None

    def document(self, started_at: str) -> dict[str, Any]:
        """Return the content of ``meta.json``."""
        return {**asdict(self), "started_at": started_at}

    def reading(self) -> dict[str, Any]:
        """Return what must be equal in two runs, so that both read the same records from the same answer."""
        settings = {name: value for name, value in self.settings.items() if name not in {"refresh", "warc"}}
        return {"program": __version__, "blog_id": self.blog_id, "base_url": self.base_url, "settings": settings}


class Spool:
    """One append-only file of the checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = Lock()
        with atomic.translated(path):
            atomic.cut_torn_tail(path)
            self._file = atomic.open_private(path, "ab", _BUFFER_BYTES)
            self.size = self._file.tell()
            self._synced = 0

    def put(self, record_id: str, frozen: Frozen) -> tuple[int, int]:
        """Append a record and return the offset and length of its line; it counts once a journal line follows."""
        return self._append(put_line(record_id, frozen))

    def journal(self, note: dict[str, Any]) -> tuple[int, int]:
        """Append a note about the run's progress, flush everything to the operating system, and return as for a record.

        From then on the note outlives this process, so that a killed run loses only unfinished requests.
        """
        place = self._append(_JOURNAL + lossless_json.dumps(note) + b"}\n")
        self.flush()
        return place

    def _append(self, line: bytes) -> tuple[int, int]:
        offset = self.size
        try:  # for every record a context manager would cost as much as the write
            self._file.write(line)
        except OSError as error:
            raise atomic.translate(error, self.path) from error
        self.size += len(line)
        return offset, len(line)

    def flush(self) -> None:
        """Flush appended lines to the operating system."""
        try:
            self._file.flush()
        except OSError as error:
            raise atomic.translate(error, self.path) from error

    def sync(self) -> None:
        """Make flushed lines durable; may run in another thread while the file is being closed."""
        size = self.size
        with self._open, atomic.translated(self.path):
            if not self._file.closed and size != self._synced:
                os.fsync(self._file.fileno())
                self._synced = size

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the appended lines with their offsets."""
        self.flush()
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                yield offset, line
                offset += len(line)

    def cut(self, size: int) -> None:
        """Remove everything after the first ``size`` bytes."""
        with atomic.translated(self.path):
            self._file.truncate(size)
        self.size = size
        self._synced = min(size, self._synced)

    def close(self) -> None:
        """Close the file, even if its last bytes cannot be written."""
        with self._open, contextlib.suppress(OSError):
            self._file.close()


def note_of(line: bytes) -> dict[str, Any] | None:
    """Return a journal line's note, or ``None`` if the line is a record."""
    if not line.startswith(_JOURNAL):
        return None
    return dict(lossless_json.loads(line)["journal"])


class Checkpoint:
    """The checkpoint of one run; it is begun or resumed, and discarded after the commit."""

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
        """Resume an existing checkpoint.

        Returns:
            The checkpoint, the reason why it cannot be used, or ``None`` if there is no checkpoint.
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
        differing = [_DIFFERENCES[name] for name, value in wanted.items() if meta.get(name) != value]
        if differing:
            return message("it was made {how}", how=both(dict.fromkeys(differing)))
        if age > max_age:
            return message("it is from {started_at}, older than resume_max_age", started_at=started_at)
        if age < -_CLOCK_TOLERANCE:
            return message("it is from {started_at}, which is yet to come", started_at=started_at)
        return cls(folder, started_at)

    def flush(self) -> None:
        """Flush everything to the operating system."""
        for spool in self.spools.values():
            spool.flush()

    def sync(self) -> None:
        """Make everything flushed durable."""
        for spool in self.spools.values():
            spool.sync()

    def close(self) -> None:
        """Close the files and leave the folder for the next run."""
        for spool in self.spools.values():
            spool.close()

    def discard(self) -> None:
        """Remove the checkpoint, because its contents are committed or useless."""
        self.close()
        drop(self.folder)


def read_meta(folder: Path) -> dict[str, Any] | None:
    """Return the content of ``meta.json``: ``None`` without a checkpoint, empty if the file cannot be read."""
    try:
        value = lossless_json.loads((folder / _META).read_bytes())
    except OSError:
        return None
    except lossless_json.NotJson:
        return {}
    return dict(value) if isinstance(value, dict) else {}


def drop(folder: Path) -> None:
    """Remove a checkpoint atomically, because a partly removed one would look like an earlier state."""
    gone = folder.with_name("checkpoint.old")
    with atomic.translated(folder):
        atomic.remove_folder(gone)
        with contextlib.suppress(FileNotFoundError):
            folder.rename(gone)
        atomic.remove_folder(gone)


def set_aside(folder: Path) -> None:
    """Move an unusable checkpoint out of the way; it replaces one moved before."""
    old = folder.with_name("checkpoint.aside")
    with atomic.translated(folder):
        atomic.remove_folder(old)
        folder.rename(old)
