"""The offline site among the views of ``latest/``, with the title and language it was asked for once."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.archive import ArchiveReader
from exporter.archive.latest import Looked, View, is_current, look, read_record, write_latest
from exporter.archive.layout import Layout
from exporter.errors import UsageError
from exporter.html.links import AddressPattern
from exporter.service.records_v1 import service_of
from exporter.settings import Settings
from exporter.site.options import NAME, SiteOptions, edition

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.export.interface import ViewFile

_LANGUAGES: Final = ("ja", "en")


def kept_options(root: Path) -> dict[str, str]:
    """Return what the views in ``latest/`` of the archive at ``root`` were made with.

    It is kept in the archive, which may come from a stranger: what no setting would have allowed is passed over.
    """
    kept = read_record(Layout(root)).get("options", {})
    found = {name: value for name, value in kept.items() if isinstance(value, str)}
    if found.get("site_lang") not in _LANGUAGES:
        found.pop("site_lang", None)
    with contextlib.suppress(UsageError):
        AddressPattern(found.get("entry_url", ""), "entry_url")
        return found
    found.pop("entry_url", None)
    return found


def site_options(settings: Settings, root: Path) -> SiteOptions:
    """Return what the site of the archive at ``root`` is to be like.

    What no setting says is as when ``latest/`` was last written; at first, the blog's id and Japanese.
    """
    kept = kept_options(root)
    pattern = settings.entry_url or kept.get("entry_url")
    title, language = settings.site_title, settings.site_lang
    return SiteOptions(
        title=kept.get("site_title", "") if title is None else title,
        language=language or kept.get("site_lang", "ja"),
        entry_addresses=() if pattern is None else (pattern,),
    )


def site_view(settings: Settings, root: Path) -> View:
    """Return the site of the archive at ``root`` as a view; what makes its pages is imported when they are made."""
    options = site_options(settings, root)
    service = service_of(settings)

    def files(state: State) -> Iterable[ViewFile]:
        from exporter.site.history import ArchiveHistory  # noqa: PLC0415  most runs find nothing to make
        from exporter.site.view import SiteView  # noqa: PLC0415

        return SiteView(service, ArchiveHistory(ArchiveReader(root), state.version), options).files(state)

    def facts(version: int) -> str:
        from exporter.site.history import completeness_at  # noqa: PLC0415

        return repr(completeness_at(ArchiveReader(root), version))

    chosen = {"site_title": options.title, "site_lang": options.language}
    if options.entry_addresses:
        chosen["entry_url"] = options.entry_addresses[0]
    return View(NAME, edition(service, options), files, chosen, facts=facts)


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
    return _views(settings, root, [name for name in NAMES if getattr(settings, name)])


def standing_views(settings: Settings, root: Path, *, also: Collection[str] = ()) -> list[View]:
    """Return the views that are in ``latest/`` now, for commands that add or drop none but ``also``."""
    latest = Layout(root).latest
    return _views(settings, root, [name for name in NAMES if name in also or (latest / name).is_dir()])


def _views(settings: Settings, root: Path, names: Collection[str]) -> list[View]:
    makers = {"markdown": _markdown, "site": site_view}
    return [makers[name](settings, root) for name in names]


def _markdown(settings: Settings, root: Path) -> View:
    """Where no setting says how the blog's own addresses are made, they are as when ``latest/`` was last written."""
    from exporter.export.markdown import MarkdownView  # noqa: PLC0415 - what renders is needed where it is kept only

    pattern = settings.entry_url or kept_options(root).get("entry_url")
    patterns = [] if pattern is None else [AddressPattern(pattern, "entry_url")]
    view = MarkdownView(service_of(settings), patterns)
    options = {} if pattern is None else {"entry_url": pattern}
    return View(view.name, view.edition, view.files, options, lambda: view.replaced)
