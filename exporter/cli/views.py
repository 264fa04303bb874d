"""The views kept in ``latest/``, and bringing it up to date: the one place that joins archive and exporters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.latest import Looked, View, is_current, look, write_latest
from exporter.archive.layout import Layout
from exporter.cli.settings import Settings, assumptions_of
from exporter.cli.site_view import kept_options, site_view
from exporter.render.addresses import AddressPattern

if TYPE_CHECKING:
    from exporter.archive.reader import ArchiveReader

NAMES: Final = ("markdown", "site")
"""The folders of the views, and the settings that turn each off."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What was made: how many files of views, and how many characters in them had to become U+FFFD."""

    files: int = 0
    replaced: int = 0


def refresh_latest(
    reader: ArchiveReader,
    views: list[View],
    *,
    force: bool = False,
    at: int | None = None,
    looked: Looked | None = None,
) -> Refreshed:
    """Bring ``latest/`` to the newest version, or to version ``at``; what is damaged there is made again.

    The caller holds the archive's lock. With ``force`` the versions are folded and everything is made again.
    ``looked`` is what a look at ``latest/`` found, by a caller that has looked already.
    """
    layout = reader.layout
    number = reader.newest() if at is None else at
    if number is None:
        return Refreshed()
    if force:
        made = write_latest(layout, reader.fold(number), views, reuse=False)
    else:
        found = look(layout) if looked is None else looked
        if found.whole and is_current(layout, number, views):
            return Refreshed()
        made = write_latest(layout, reader.state(number), views, damaged=found.damaged)
    return Refreshed(made, sum(view.replaced() for view in views))


def chosen_views(settings: Settings, root: Path) -> list[View]:
    """Return the views the settings ask to keep of the archive at ``root``."""
    return _views(settings, root, [name for name in NAMES if settings[name]])


def standing_views(settings: Settings, root: Path, *, also: Collection[str] = ()) -> list[View]:
    """Return the views that are in ``latest/`` now, for commands that add or drop none but ``also``."""
    latest = Layout(root).latest
    return _views(settings, root, [name for name in NAMES if name in also or (latest / name).is_dir()])


def _views(settings: Settings, root: Path, names: Collection[str]) -> list[View]:
    makers = {"markdown": _markdown, "site": site_view}
    return [makers[name](settings, root) for name in names]


def _markdown(settings: Settings, root: Path) -> View:
    """Where no setting says how the blog's own addresses are made, they are as when ``latest/`` was last written."""
    from exporter.exporters.markdown import MarkdownView  # noqa: PLC0415 - what renders is needed where it is kept only

    pattern = settings["entry_url"] or kept_options(root).get("entry_url")
    patterns = [] if pattern is None else [AddressPattern(pattern, "entry_url")]
    view = MarkdownView(assumptions_of(settings), patterns)
    options = {} if pattern is None else {"entry_url": pattern}
    return View(view.name, view.edition, view.files, options, lambda: view.replaced)
