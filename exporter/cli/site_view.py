"""The offline site among the views of ``latest/``, with the title and language it was asked for once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.latest import View, read_record
from exporter.archive.layout import Layout
from exporter.archive.reader import ArchiveReader
from exporter.cli.settings import Settings, assumptions_of
from exporter.errors import UsageError
from exporter.render.addresses import AddressPattern
from exporter.site.edition import edition
from exporter.site.options import NAME, SiteOptions

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.exporters.interface import ViewFile


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
    pattern = settings["entry_url"] or kept.get("entry_url")
    title, language = settings["site_title"], settings["site_lang"]
    return SiteOptions(
        title=kept.get("site_title", "") if title is None else title,
        language=language or kept.get("site_lang", "ja"),
        entry_addresses=() if pattern is None else (pattern,),
    )


def site_view(settings: Settings, root: Path) -> View:
    """Return the site of the archive at ``root`` as a view; what makes its pages is imported when they are made."""
    options = site_options(settings, root)
    assume = assumptions_of(settings)

    def files(state: State) -> Iterable[ViewFile]:
        from exporter.site.history import ArchiveHistory  # noqa: PLC0415  most runs find nothing to make
        from exporter.site.view import SiteView  # noqa: PLC0415

        return SiteView(assume, ArchiveHistory(ArchiveReader(root), state.version), options).files(state)

    def facts(version: int) -> str:
        from exporter.site.history import completeness_at  # noqa: PLC0415

        return repr(completeness_at(ArchiveReader(root), version))

    chosen = {"site_title": options.title, "site_lang": options.language}
    if options.entry_addresses:
        chosen["entry_url"] = options.entry_addresses[0]
    return View(NAME, edition(assume, options), files, chosen, facts=facts)
