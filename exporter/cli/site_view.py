"""The offline site among the views of ``latest/``, with the title and language it was asked for once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.archive.latest import View, read_record
from exporter.archive.layout import Layout
from exporter.archive.reader import ArchiveReader
from exporter.cli.settings import Settings, assumptions_of
from exporter.site.history import ArchiveHistory
from exporter.site.options import SiteOptions
from exporter.site.view import SiteView

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.exporters.interface import ViewFile

TITLE, LANGUAGE = "site_title", "site_lang"
"""What the choices are called where ``latest/`` keeps them."""


def site_view(settings: Settings, root: Path, *, title: str | None = None, language: str | None = None) -> View:
    """Return the site of the archive at ``root`` as a view.

    What is not given is as when ``latest/`` was last written; at first, the blog's id and Japanese.
    """
    kept = read_record(Layout(root)).get("options", {})
    pattern = settings["entry_url"] or kept.get("entry_url")
    options = SiteOptions(
        title=title if title is not None else kept.get(TITLE, ""),
        language=language or kept.get(LANGUAGE, "ja"),
        entry_addresses=() if pattern is None else (pattern,),
    )
    assume = assumptions_of(settings)

    def files(state: State) -> Iterable[ViewFile]:
        return SiteView(assume, ArchiveHistory(ArchiveReader(root), state.version), options).files(state)

    chosen = {TITLE: options.title, LANGUAGE: options.language}
    return View(SiteView.name, SiteView(assume, options=options).edition, files, chosen)
