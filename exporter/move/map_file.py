"""The map of a move: the number in the new home of each record of the archive. JSON lines, append only.

The file is next to the archive, which a move never changes. It reveals which records a person changed in the new home.
A move finds its own records without it, by their keys in the new home (:mod:`exporter.move.home`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.lock import ArchiveLock
from exporter.clock import timestamp
from exporter.errors import ArchiveLocked, UsageError
from exporter.message import message

_FORMAT: Final = "blog-exporter move"
_VERSION: Final = 1
_DELETED: Final = 0
"""The number of a record that this program deleted again. WordPress begins at 1."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A record of the new home.

    Attributes:
        id: its number in the new home.
        url: its address there; empty if it has none.
        stored: its fingerprint after this program last changed it; empty if unknown.
        name: a post's name in its address, if the home gave it another one than it was sent.
    """

    id: int
    url: str = ""
    stored: str = ""
    name: str = ""


class MapFile:
    """The map of moving one blog to one home; only one process can have it open.

    Args:
        path: of the file; its lock file is next to it.
        blog_id: the blog.
        home: the address of the new home.
        now: the time of day.
        keep: whether to write; false for a dry run.

    Raises:
        UsageError: the file is no map, or belongs to another blog or home.
        ArchiveLocked: another process is moving the blog.
        NoSpace, BlogExporterError: it cannot be written.
    """

    def __init__(self, path: Path, blog_id: str, home: str, now: datetime, *, keep: bool = True) -> None:
        self.path = path
        self._head = {"format": _FORMAT, "version": _VERSION, "blog_id": blog_id, "home": home}
        self._known: dict[tuple[str, str], Mapped] = {}
        self._sending: dict[tuple[str, str], datetime] = {}
        self._file: BinaryIO | None = None
        self._lock = ArchiveLock(path.with_name(f".{path.name}.lock"))
        if path.exists() and not path.is_file():
            raise UsageError("{path} is not a file; name another with --map.", path=path)
        if keep:
            self._hold(now)
        try:
            with atomic.translated(path):
                self._open(keep=keep)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, *, keep: bool) -> None:
        if keep:
            atomic.cut_torn_tail(self.path)
        self._read()
        if keep:
            self._file = atomic.open_private(self.path, "ab")
            if not self.path.stat().st_size:
                self._append(self._head)
                atomic.sync_folder(self.path.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._file is not None:
                with atomic.translated(self.path):  # on a full disk, closing fails again
                    self._file.close()
        finally:
            self._lock.release()

    def of(self, kind: str, key: str) -> Mapped | None:
        """Return a record, or ``None`` if it was never moved."""
        return self._known.get((kind, key))

    def names(self, kind: str) -> dict[str, str]:
        """Return the names that the home gave to records in place of those it was sent, by key."""
        return {key: each.name for (of, key), each in self._known.items() if of == kind and each.name}

    def sending_since(self, kind: str, key: str) -> datetime | None:
        """Return when a record without a known answer was sent."""
        return self._sending.get((kind, key))

    def sending(self, kind: str, key: str, now: datetime) -> None:
        """Note that a record is about to be sent and may be in the new home from now on."""
        self._sending[kind, key] = now
        self._append({"kind": kind, "key": key, "sending": timestamp(now)})

    def made(self, kind: str, key: str, mapped: Mapped) -> None:
        """Note a record of the new home."""
        if self._known.get((kind, key)) != mapped or (kind, key) in self._sending:
            self._known[kind, key] = mapped
            values = (("url", mapped.url), ("stored", mapped.stored), ("name", mapped.name))
            more = {name: value for name, value in values if value}
            self._append({"kind": kind, "key": key, "id": mapped.id, **more})
        self._sending.pop((kind, key), None)

    def taken_back(self, kind: str, key: str) -> None:
        """Note that this program deleted a record in the new home again, so that a later run makes it anew."""
        self._known.pop((kind, key), None)
        self._sending.pop((kind, key), None)
        self._append({"kind": kind, "key": key, "id": _DELETED})

    def _hold(self, now: datetime) -> None:
        try:
            self._lock.acquire(now)
        except ArchiveLocked:
            raise ArchiveLocked(
                "{path} is being written by another move; wait for it to end.", path=self.path
            ) from None

    def _append(self, line: Mapping[str, Any]) -> None:
        if self._file is not None:
            with atomic.translated(self.path):
                self._file.write(lossless_json.dumps(line) + b"\n")
                self._file.flush()
                os.fsync(self._file.fileno())

    def _read(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for number, line in enumerate(file):
                if not line.endswith(b"\n"):
                    return  # a crash cut the last line
                try:
                    self._note(lossless_json.loads(line), first=not number)
                except (lossless_json.NotJson, AttributeError, OverflowError, TypeError, ValueError):
                    raise self._damaged(number) from None

    def _damaged(self, number: int) -> UsageError:
        if number == 0:
            return self._foreign({})
        return UsageError(
            "{path} is damaged in line {number}. Move the file away and run the same command again. "
            "The move finds its records in the new home, but not which of them people changed there "
            "since.",
            path=self.path,
            number=number + 1,
        )

    def _foreign(self, head: Mapping[str, Any]) -> UsageError:
        if head.get("format") != _FORMAT:
            return UsageError("{path} is not the map of a move; name another file with --map.", path=self.path)
        if head.get("version") != _VERSION:
            return UsageError("{path} was written by a newer version of the program; use that one.", path=self.path)
        return UsageError(
            "{path} is the map of {blog_id} moving to {home}; name another with --map.",
            path=self.path,
            blog_id=head.get("blog_id"),
            home=head.get("home"),
        )

    def _note(self, line: Any, *, first: bool) -> None:
        if first:
            if line != self._head:
                raise self._foreign(line)
            return
        kind, key, number = line.get("kind"), line.get("key"), line.get("id")
        if not isinstance(kind, str) or not isinstance(key, str):
            raise TypeError(message("no kind or no key"))
        if number == _DELETED:
            self._known.pop((kind, key), None)
            self._sending.pop((kind, key), None)
        elif isinstance(number, int):
            self._known[kind, key] = Mapped(number, *(str(line.get(name, "")) for name in ("url", "stored", "name")))
            self._sending.pop((kind, key), None)
        else:
            self._sending[kind, key] = datetime.fromisoformat(str(line.get("sending"))).astimezone(UTC)
