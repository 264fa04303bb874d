"""The views kept in ``latest/``, and bringing it up to date: the one place that joins archive and exporters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exporter.archive.latest import View, is_current, read_record, write_latest
from exporter.archive.layout import Layout
from exporter.cli.settings import Settings, assumptions_of
from exporter.exporters.markdown import MarkdownView
from exporter.render.addresses import AddressPattern

if TYPE_CHECKING:
    from exporter.archive.reader import ArchiveReader


def refresh_latest(reader: ArchiveReader, views: list[View], *, force: bool = False) -> int | None:
    """Bring ``latest/`` to the newest version; returns how many files were made, ``None`` when all was as it should be.

    The caller holds the archive's lock. With ``force`` the versions are folded and everything is made again.
    """
    newest = reader.newest()
    if newest is None or (not force and is_current(reader.layout, newest, views)):
        return None
    state = reader.fold(newest) if force else reader.state()
    return write_latest(reader.layout, state, views, reuse=not force)


def chosen_views(settings: Settings, root: Path, *, markdown: bool = True) -> list[View]:
    """Return the views to keep of the archive at ``root``.

    Where no setting says how the blog's own addresses are made, they are as when ``latest/`` was last written.
    """
    if not markdown:
        return []
    pattern = settings["entry_url"] or read_record(Layout(root)).get("options", {}).get("entry_url")
    patterns = [] if pattern is None else [AddressPattern(pattern, "entry_url")]
    view = MarkdownView(assumptions_of(settings), patterns)
    options = {} if pattern is None else {"entry_url": pattern}
    return [View(view.name, view.edition, view.files, options)]
