"""Putting a whole new set of versions in the place of the old one, so that no reader ever meets a mixture.

Each manifest names the hash of the one before it, so folders cannot be replaced one by one: whatever the order, a kill
in between would leave a broken chain. The set is therefore built under ``.work/``, made durable, moved to
``versions.new/``, and exchanged with ``versions/`` in one step where the system can do that (Linux, macOS). Elsewhere
two renames do it; a kill between them leaves no ``versions/`` and a whole ``versions.new/``, which :func:`recover`
gives its name. While there is a ``versions/``, whatever stands beside it is worth nothing.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from exporter.archive import atomic

if TYPE_CHECKING:
    from exporter.archive.inside import InnerPath
    from exporter.archive.layout import Layout


def building_place(layout: Layout) -> InnerPath:
    """Return the folder under ``.work/`` where a new set of versions is built."""
    return layout.work / "new-versions"


def put_in_place(layout: Layout) -> None:
    """Put the finished set of :func:`building_place` in the place of ``versions/``; the caller holds the lock.

    Every file in it is durable already; its folders are made so here.
    """
    built, new, old = building_place(layout), _new(layout), _old(layout)
    for folder in (*built.iterdir(), built):
        atomic.sync_folder(folder)
    built.rename(new)
    atomic.sync_folder(layout.root)
    if not atomic.exchange(new, layout.versions):
        layout.versions.rename(old)
        with contextlib.suppress(FileNotFoundError):
            # A reader that met the gap may have closed it already.
            new.rename(layout.versions)
    atomic.sync_folder(layout.root)
    clear_aside(layout)


def recover(layout: Layout) -> None:
    """Give ``versions/`` its name where a kill took it away; needs no lock, and does nothing where it may not write."""
    if layout.versions.kind() is not None:
        return
    with contextlib.suppress(OSError):
        _new(layout).rename(layout.versions)
        atomic.sync_folder(layout.root)


def clear_aside(layout: Layout) -> None:
    """Remove what a prune left beside ``versions/``; the caller holds the lock."""
    recover(layout)
    if layout.versions.kind() is not None:
        for folder in (_new(layout), _old(layout), building_place(layout)):
            atomic.remove_folder(folder)


def is_under_way(layout: Layout) -> bool:
    """Tell whether a prune is writing, or was killed while it did."""
    return any(folder.kind() is not None for folder in (building_place(layout), _new(layout), _old(layout)))


def _new(layout: Layout) -> InnerPath:
    return layout.root / "versions.new"


def _old(layout: Layout) -> InnerPath:
    return layout.root / "versions.old"
