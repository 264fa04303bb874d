"""Receive many pictures: each is verified while it is written below ``.work/``, and gets its name once it is durable.

Waiting for the disk after each of thousands of small files would take most of the time. So some hundred files become
durable together. A power cut or a kill loses at most these, and the next sync sends them again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.archive import atomic
from exporter.archive.layout import asset_digest
from exporter.archive.safe_files import HeldFolder
from exporter.copies.transfer import in_parallel, pieces_of, receive_asset
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.copies.contents import SecondCopy

_MOST_ALONE: Final = 64
"""Up to this number, each file is made durable by itself."""
_FILES_TOGETHER: Final = 256
_BYTES_TOGETHER: Final = 64 << 20
_NAMES_PER_JOB: Final = 16
_BYTES_PER_JOB: Final = 1 << 20


class _Received(NamedTuple):
    """A picture: its name, its size, and its name below ``.work/``; a damaged one has neither."""

    name: str
    size: int | None
    incoming: str


def receive_assets(copy: SecondCopy, names: list[str], layout: Layout) -> Iterator[tuple[str, int | None]]:
    """Put pictures into an archive, and yield the name and the size of each; ``None`` if it is damaged.

    At the end of the iteration, the content of all is durable, but not their names.
    """
    if len(names) <= _MOST_ALONE:
        yield from in_parallel(partial(receive_asset, copy, name, layout) for name in names)
        return
    with HeldFolder(layout.work) as work:
        waiting: list[_Received] = []
        for some in in_parallel(partial(_receive, copy, job, work) for job in _jobs(copy, names)):
            waiting += (each for each in some if each.size is not None)
            if len(waiting) >= _FILES_TOGETHER or sum(each.size or 0 for each in waiting) >= _BYTES_TOGETHER:
                _name(layout, work, waiting)
                waiting = []
            yield from ((each.name, each.size) for each in some)
        _name(layout, work, waiting)


def _jobs(copy: SecondCopy, names: Iterable[str]) -> Iterator[list[str]]:
    """Yield the names in lists: a thread for each of many small files would cost more than the copying."""
    job: list[str] = []
    size = 0
    for name in names:
        job.append(name)
        size += copy.objects[name].size or _BYTES_PER_JOB
        if len(job) == _NAMES_PER_JOB or size >= _BYTES_PER_JOB:
            yield job
            job, size = [], 0
    if job:
        yield job


def _receive(copy: SecondCopy, names: Iterable[str], work: HeldFolder) -> list[_Received]:
    """Write pictures below ``.work/``, not yet durable."""
    return [_received(copy, name, work) for name in names]


def _received(copy: SecondCopy, name: str, work: HeldFolder) -> _Received:
    incoming = f"incoming-{secrets.token_hex(8)}"
    size = copy.objects[name].size
    digest = hashlib.sha256()
    total = 0
    right = False
    try:
        with atomic.translated(work.path):
            handle = work.create(incoming, atomic.FILE_MODE)
            try:
                for piece in pieces_of(copy.store, name):
                    atomic.write_all(handle, piece)
                    digest.update(piece)
                    total += len(piece)
                    if size is not None and total > size:
                        break
            finally:
                os.close(handle)
        right = digest.hexdigest() == asset_digest(name) and size in {None, total}
    except ArchiveDamaged:
        right = False
    finally:
        if not right:
            with suppress(OSError):
                (work.path / incoming).unlink(missing_ok=True)
    return _Received(name, total if right else None, incoming)


def _name(layout: Layout, work: HeldFolder, received: list[_Received]) -> None:
    """Make the content of pictures durable, and move them to their places."""
    with atomic.translated(layout.assets):
        atomic.sync_all(work.path, [f"{work.path}/{each.incoming}" for each in received], handle=work.handle)
        for folder, some in groupby(sorted(received), key=lambda each: each.name.rpartition("/")[0]):
            place = layout.root.joinpath(*folder.split("/"))
            atomic.make_folder(place)
            with HeldFolder(place) as there:
                for each in some:
                    work.move(each.incoming, there, each.name.rpartition("/")[2])
