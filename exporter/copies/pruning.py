"""Prune a copy like its archive, so that every state can be read at every instant.

A store cannot exchange two folders in one step. Instead, each reader first reads a note, ``versions.new.json``:

1. ``building``: other writers stop. The prune stores the new versions in ``versions.new/``; readers use ``versions/``.
2. ``built``: readers use ``versions.new/``. The prune removes ``versions/`` and stores the new versions there, then
   removes unneeded pictures.
3. ``installed``: readers use ``versions/``. The prune removes ``versions.new/``, then the note.

The next prune completes an interrupted one. If its process may still run, the note is respected for a day.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.archive.layout import SUMS, asset_digest, segment_name
from exporter.archive.lock import is_running
from exporter.clock import SystemClock, timestamp
from exporter.copies.contents import (
    NEW_VERSIONS,
    PARTS,
    PRUNING,
    VERSIONS,
    Relation,
    SecondCopy,
    changed_meanwhile,
    part_name,
    relate,
)
from exporter.copies.push import Push
from exporter.copies.store import Store, checked_content, content_of
from exporter.copies.transfer import TransferCount, in_parallel
from exporter.errors import ArchiveLocked, DamagedObject
from exporter.model.kinds import Kind
from exporter.text import printable

_NOTE_LIFETIME: Final = timedelta(days=1)
_HASH: Final = re.compile(rb"[0-9a-f]{64}")


def push_to_prune(archive: Archive, store: Store) -> Push:
    """Complete an interrupted prune, and return a transfer that may prune the copy.

    Raises:
        ArchiveLocked: another writer is pruning the copy. See also :class:`~exporter.copies.push.Push`.
    """
    push = Push(archive, store, pruning=True)
    if push.copy.pruning is not None:
        CopyPrune(push).recover()
        push = Push(archive, store, pruning=True)
    return push


class CopyPrune:
    """A prune of a copy.

    Args:
        push: the transfer from the pruned archive, made with ``pruning``.

    Raises:
        ArchiveLocked: another writer is pruning the copy.
    """

    def __init__(self, push: Push) -> None:
        self._push = push
        self._store = push.store
        self._require_no_other(push.copy.pruning)

    def run(self, tally: TransferCount) -> None:
        """Prune the copy.

        Raises:
            ArchiveLocked: another writer has changed the copy.
        """
        note = _note("building")
        self._replace_note(note, self._push.copy)
        copy = SecondCopy(self._store)
        try:
            if relate(self._push.history, copy).relation is not Relation.PRUNED:
                raise changed_meanwhile(self._store.place)
            self._require_unlocked(copy)
            self._clear(NEW_VERSIONS, copy)
            for number in self._push.numbers:
                self._push.send_version(number, PARTS, tally, NEW_VERSIONS)
            built = SecondCopy(self._store)
            if built.numbers() != copy.numbers() or built.pruning != note:
                raise changed_meanwhile(self._store.place)
        except ArchiveLocked:
            self._store.remove(PRUNING)
            raise
        self._replace_note(_note("built"), built)
        self._complete()

    def recover(self) -> None:
        """Complete an interrupted prune, or undo it if the new versions are incomplete."""
        if self._push.copy.folder == NEW_VERSIONS:
            self._complete()
        else:
            self._clear(NEW_VERSIONS, self._push.copy)
            self._store.remove(PRUNING)

    def _complete(self) -> None:
        """Store the new versions in ``versions/``, and remove unneeded objects."""
        copy = SecondCopy(self._store)
        self._clear(VERSIONS, copy)
        needed: set[bytes] = set()
        for number in copy.numbers():
            self._install(copy, number, needed)
        self._remove(name for name in copy.assets() if (asset_digest(name) or "").encode() not in needed)
        self._replace_note(_note("installed"), copy)
        self._clear(NEW_VERSIONS, copy)
        self._store.remove(PRUNING)

    def _install(self, copy: SecondCopy, number: int, needed: set[bytes]) -> None:
        """Store a new version in ``versions/``, and add the hashes of its pictures to ``needed``."""
        files = copy.manifest(number)[1].files
        for part in PARTS:
            name = copy.part(number, part)
            if part in files:
                size, digest = files[part].bytes, files[part].sha256
                content = checked_content(
                    size, digest, partial(self._store.read, name), partial(DamagedObject, self._store.place, name)
                )
                if part == segment_name(Kind.ASSETS):
                    needed.update(_HASH.findall(content.read()))
            else:
                content = content_of(copy.document(name))
            self._store.create(part_name(number, part), content)

    def _clear(self, folder: str, copy: SecondCopy) -> None:
        self._remove(name for name in copy.objects if name.startswith(f"{folder}/"))

    def _remove(self, names: Iterable[str]) -> None:
        for _ in in_parallel(partial(self._store.remove, name) for name in names):
            pass

    def _replace_note(self, note: bytes, copy: SecondCopy) -> None:
        there = copy.objects.get(PRUNING)
        if not self._store.replace(PRUNING, note, None if there is None else there.tag):
            raise changed_meanwhile(self._store.place)

    def _require_unlocked(self, copy: SecondCopy) -> None:
        """Refuse a place that does not remove objects. The test uses a file that can be stored again."""
        name = copy.part(copy.numbers()[0], SUMS)
        content = content_of(copy.document(name))
        self._store.remove(name)
        if not self._store.create(name, content):
            raise ArchiveLocked(
                "The versions in {place} are locked and cannot be removed: prune it when their locks have ended, "
                "or name another place.",
                place=self._store.place,
            )

    def _require_no_other(self, note: bytes | None) -> None:
        """Refuse if the process that wrote the note may be running."""
        if note is None:
            return
        who, host, since = _read_note(note)
        if is_running(who, host) and SystemClock().now() - since < _NOTE_LIFETIME:
            raise ArchiveLocked(
                "Process {pid} on {host} is pruning {place} since {since}: wait for its end.",
                place=self._store.place,
                pid=who,
                host=printable(host, 100),
                since=timestamp(since),
            )


def _note(step: str) -> bytes:
    note = {"step": step, "pid": os.getpid(), "host": socket.gethostname(), "since": timestamp(SystemClock().now())}
    return lossless_json.dumps(note) + b"\n"


def _read_note(note: bytes) -> tuple[int, str, datetime]:
    """Return process, host and time of a note; an invalid note is old and has no process."""
    try:
        found = lossless_json.loads(note)
        since = datetime.fromisoformat(found["since"])
        return int(found["pid"]), str(found["host"]), since if since.tzinfo else since.replace(tzinfo=UTC)
    except (lossless_json.NotJson, LookupError, TypeError, ValueError):
        return 0, "", datetime.fromtimestamp(0, UTC)
