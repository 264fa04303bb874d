"""The offline site of a state, as a view of ``latest/`` or as a copy in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.export.interface import Content, Copy, ExportFile, RecordSource, ViewFile
from exporter.message import message, message_in_context
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.service.interface import Records
from exporter.site.catalogue import fingerprint
from exporter.site.facts import SiteFacts
from exporter.site.options import NAME, SiteOptions, edition
from exporter.site.pages.comments import comment_files
from exporter.site.pages.entry import entry_files
from exporter.site.pages.gallery import gallery_files
from exporter.site.pages.history import history_files
from exporter.site.pages.home import home_files
from exporter.site.pages.lists import list_files
from exporter.site.pages.site import Site
from exporter.site.pages.statistics import statistics_files
from exporter.site.search_data import search_files
from exporter.site.templating import data_script
from exporter.site.thumbnails import Thumbnails

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.site.history import ArchiveHistory

_STATIC: Final = Path(__file__).parent / "static"
_PAST: Final = "past.js"
_SCRIPT_WORDS: Final = {
    "results": message("{n} found", n="%d"),
    "searching": message("Searching…"),
    "no_results": message("Nothing was found."),
    "show_more": message("Show more"),
    "in_comment": message("Comment"),
    "all": message_in_context("site", "All"),
    "year_facet": message("Year"),
    "categories": message("Categories"),
    "load_error": message("The search data could not be read."),
    "private": message("Private"),
    "gone": message("Entries gone upstream"),
    "untitled": message("(untitled)"),
    "uncategorised": message("No category"),
    "undated": message("Entries without a date"),
    "orphans": message("Comments without an entry"),
    "close": message("Close"),
    "previous": message("Previous entry"),
    "next": message("Next entry"),
    "continue": message("Continue reading"),
    "search": message("Search"),
    "similar": message("Similar spellings too: {n}", n="%d"),
    "hit_before": message("Previous place"),
    "hit_after": message("Next place"),
    "hits_clear": message("Clear the marks"),
    "copy_code": message("Copy"),
    "copied": message("Copied"),
    "text_settings": message("Text settings"),
    "text_sign": message("Aa"),
    "text_face": message("Typeface"),
    "text_sans": message("Sans serif"),
    "text_serif": message("Serif"),
    "text_size": message("Size"),
    "text_small": message("Small"),
    "text_medium": message("Medium"),
    "text_large": message("Large"),
    "text_largest": message("Largest"),
    "text_way": message("Direction"),
    "text_horizontal": message("Horizontal"),
    "text_vertical": message("Vertical"),
    "picture": message_in_context("site", "Picture"),
    "picture_before": message("Previous picture"),
    "picture_after": message("Next picture"),
}


class SiteView:
    """Implements :class:`~exporter.export.interface.View`; holds some hundred bytes for each record, no texts.

    Args:
        service: reads the records.
        history: of the archive; without it, what is gone and what changed is not shown.
        options: what the site is to be like.
        layout: of the archive, where what is found is to be kept for the next time.
        thumbnails: of the pictures; by default there are none.
    """

    name = NAME

    def __init__(
        self,
        service: Records,
        history: ArchiveHistory | None = None,
        options: SiteOptions = SiteOptions(),  # noqa: B008  frozen
        layout: Layout | None = None,
        thumbnails: Thumbnails | None = None,
    ) -> None:
        self._service = service
        self._history = history
        self._options = options
        self._layout = layout
        self._thumbnails = Thumbnails() if thumbnails is None else thumbnails

    @property
    def edition(self) -> str:
        """What changes whenever the same records would give other files."""
        return edition(self._service, self._options)

    def files(self, records: RecordSource) -> Iterator[ViewFile]:
        """Yield every file of the site."""
        with SiteFacts(records, self._layout, self.edition) as facts:
            site = Site(records, self._service, self._history, self._options, facts, self._thumbnails)
            yield from chain(
                self._thumbnails.files(picture.path for picture in site.pictures.all),
                _static_files(site),
                home_files(site),
                search_files(site, entry_files(site)),
                list_files(site),
                comment_files(site),
                gallery_files(site),
                statistics_files(site),
                history_files(site),
            )

    def former_files(self) -> set[str | None]:
        """Return the paths of the files that others replaced, which pages of the past show."""
        replaced = {} if self._history is None else self._history.replaced
        return {path for stored in replaced.values() for _, path in stored}


def _static_files(site: Site) -> Iterator[ViewFile]:
    for path in sorted(_STATIC.iterdir()):
        if site.options.public and path.name == _PAST:
            continue
        data = path.read_bytes()
        yield ViewFile(f"static/{path.name}", sha256(data).digest(), partial(bytes, data))
    words = {name: site.say(text) for name, text in _SCRIPT_WORDS.items()}
    yield ViewFile("data/words.js", fingerprint(repr(words)), lambda: data_script("words", "", words))


def copied_site(view: SiteView, records: RecordSource) -> Iterator[ExportFile]:
    """Yield the files of a site made with ``SiteOptions(assets="")``, and after them its pictures."""
    for file in view.files(records):
        yield Content(file.path, iter([file.render()]))
    paths = {Asset.from_raw(raw).path for _, raw in records.scan(Kind.ASSETS)} | view.former_files()
    for path in sorted(path for path in paths if path is not None):
        yield Copy(path, path)
