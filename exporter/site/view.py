"""The offline site of a state, as a view of ``latest/`` or as a copy in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.export.interface import Content, Copy, ExportFile, RecordSource, ViewFile
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
_SCRIPT_WORDS: Final = (
    "results", "searching", "no_results", "show_more", "in_comment", "all", "year_facet", "categories", "load_error",
    "private", "gone", "untitled", "uncategorised", "undated", "orphans", "close", "previous", "next", "continue",
    "search", "similar", "hit_before", "hit_after", "hits_clear",
    "copy_code", "copied", "text_settings", "text_sign", "text_face", "text_sans", "text_serif", "text_size",
    "text_small", "text_medium", "text_large", "text_largest", "text_way", "text_horizontal", "text_vertical",
    "picture", "picture_before", "picture_after",
)  # fmt: skip


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
    words = {name: site.words[name] for name in _SCRIPT_WORDS}
    yield ViewFile("data/words.js", fingerprint(repr(words)), lambda: data_script("words", "", words))


def copied_site(view: SiteView, records: RecordSource) -> Iterator[ExportFile]:
    """Yield the files of a site made with ``SiteOptions(assets="")``, and after them its pictures."""
    for file in view.files(records):
        yield Content(file.path, iter([file.render()]))
    paths = {Asset.from_raw(raw).path for _, raw in records.scan(Kind.ASSETS)} | view.former_files()
    for path in sorted(path for path in paths if path is not None):
        yield Copy(path, path)
