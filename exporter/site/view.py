"""Which links of a body may lead to other entries, found without parsing it, so that pages follow what they link to.

What this overlooks leads to the entry's address on the web until its page is made for another reason. Pure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unicodedata import unidata_version

from exporter.export.interface import Content, Copy, ExportFile, RecordSource, ViewFile
from exporter.html.links import AddressPattern, absolute
from exporter.html.local_links import AssetMap, EntryAddresses, stored_path
from exporter.html.page_body import BodyWriter
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.service.interface import Records
from exporter.site.catalogue import Catalogue, fingerprint
from exporter.site.options import NAME, SiteOptions, edition
from exporter.site.pages.entry import comment_files, entry_files
from exporter.site.pages.gallery import gallery_files
from exporter.site.pages.history import past_files
from exporter.site.pages.lists import list_files
from exporter.site.pages.page import Site
from exporter.site.pages.statistics import statistics_files
from exporter.site.pictures import Pictures
from exporter.site.search_data import SearchData, case_table, script
from exporter.site.templating import Pages

if TYPE_CHECKING:
    from exporter.site.history import HistorySource

_LINK: Final = re.compile(r"href\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


def linked_addresses(source: str, patterns: Sequence[AddressPattern], base: str) -> tuple[str, ...]:
    """Return what the body's links say, as far as one of the patterns could have made it.

    Args:
        source: a body as it was sent.
        patterns: how the blog's addresses of entries are made.
        base: the blog's address, which relative addresses start from.
    """
    if not patterns or "href" not in source.lower():
        return ()
    links = dict.fromkeys(html.unescape(next(filter(None, found), "")) for found in _LINK.findall(source))
    return tuple(link for link in links if _fits(link, patterns, base))


def _fits(link: str, patterns: Sequence[AddressPattern], base: str) -> bool:
    spellings = {absolute(link, base), absolute(link.partition("?")[0], base)} - {None}
    return any(pattern.fits(address) for address in spellings if address for pattern in patterns)


_HERE: Final = Path(__file__).parent
_SCRIPT_WORDS: Final = (
    "results", "searching", "no_results", "show_more", "in_comment", "all", "year_facet", "categories", "load_error",
    "private", "gone", "untitled", "uncategorised", "undated", "orphans", "close", "previous", "next", "continue",
)  # fmt: skip


class SiteView:
    """Implements :class:`~exporter.export.interface.View`; holds some hundred bytes for each record, no texts."""

    name = NAME

    def __init__(
        self,
        service: Records,
        history: HistorySource | None = None,
        options: SiteOptions = SiteOptions(),  # noqa: B008  frozen
    ) -> None:
        self._service = service
        self._history = history
        self._options = options

    @property
    def edition(self) -> str:
        """What changes whenever the same records would give other files."""
        return edition(self._service, self._options)

    def files(self, records: RecordSource) -> Iterator[ViewFile]:
        """Yield every file of the site."""
        site = self._site(records)
        yield from chain(
            _static(site),
            SearchData(site).files(entry_files(site)),
            list_files(site),
            comment_files(site),
            gallery_files(site),
            statistics_files(site),
            past_files(site),
        )

    def _site(self, records: RecordSource) -> Site:
        options = self._options
        pages = Pages(options, records.blog_id)
        base = options.base or f"https://{records.blog_id}/"
        assets = [raw for _, raw in records.scan(Kind.ASSETS)]
        patterns = [AddressPattern(text, "entry_url") for text in options.entry_addresses]
        catalogue = Catalogue(
            records, self._service, self._history, lambda source: linked_addresses(source, patterns, base)
        )
        entries = EntryAddresses(patterns, catalogue.entries() if patterns else (), base)

        def page_of(address: str) -> str | None:
            entry_id = entries.entry_of(address) if patterns else None
            return None if entry_id is None else catalogue.by_id[entry_id].page

        local_path = AssetMap(assets, base).local_path
        bodies = BodyWriter(local_path, base, options.language, prefix=options.assets, page_of=page_of)
        return Site(options, catalogue, pages, bodies, Pictures(assets), page_of, patterns)


def _static(site: Site) -> Iterator[ViewFile]:
    for path in sorted((_HERE / "static").iterdir()):
        data = path.read_bytes()
        yield ViewFile(f"static/{path.name}", sha256(data).digest(), partial(bytes, data))
    words = {name: site.pages.words[name] for name in _SCRIPT_WORDS}
    yield ViewFile("data/words.js", fingerprint(repr(words)), lambda: script("words", "", words))
    yield ViewFile("data/folds.js", fingerprint(unidata_version), lambda: script("folds", "", case_table()))
    yield site.file(
        "search.html", "search.html", ["search"], lambda: {"title": site.pages.words["search"], "current": "search"}
    )


def copied_site(view: SiteView, records: RecordSource) -> Iterator[ExportFile]:
    """Yield the files of a site made with ``SiteOptions(assets="")``, and after them its pictures."""
    for file in view.files(records):
        yield Content(file.path, iter([file.render()]))
    for path in _stored(raw for _, raw in records.scan(Kind.ASSETS)):
        yield Copy(path, path)


def _stored(assets: Iterable[dict[str, object]]) -> list[str]:
    return sorted({path for raw in assets if (path := stored_path(Asset.from_raw(raw))) is not None})
