"""The offline site as a view in ``latest/`` or as a copy in a separate folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from exporter.archive.forgotten import shown_removals
from exporter.export.interface import Content, Copy, ExportFile, RecordSource, ViewFile
from exporter.export.posts import Visibility
from exporter.message import message, message_in_context
from exporter.model.asset import Asset, openable
from exporter.model.kinds import Kind
from exporter.model.labels import AUDIENCE_NAMES, KIND_NAMES
from exporter.model.publication import Declared, PostStatus
from exporter.service.interface import Records
from exporter.site import NAME, SiteOptions, edition
from exporter.site.captured import CapturedPages
from exporter.site.catalogue import fingerprint
from exporter.site.facts import SiteFacts
from exporter.site.pages.captures import capture_files
from exporter.site.pages.comments import comment_files
from exporter.site.pages.entry import entry_files
from exporter.site.pages.gallery import gallery_files
from exporter.site.pages.history import history_files
from exporter.site.pages.lists import home_files, list_files
from exporter.site.pages.reminders import reminder_files
from exporter.site.pages.site import Site
from exporter.site.pages.statistics import statistics_files
from exporter.site.search_data import search_files
from exporter.site.templating import data_script
from exporter.site.thumbnails import Thumbnails
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.export.posts import Newest
    from exporter.site.history import ArchiveHistory
    from exporter.site.library import Library


class PublicRecords:
    """The public records in a state, as the :class:`~exporter.export.interface.RecordSource` for a site.

    Entries are those :class:`~exporter.export.posts.Visibility` calls published, comments those of them that are
    visible, pictures those that published entries use, and files those such pictures were uploaded as.

    Attributes:
        left_out: how many records of each kind stay out.
    """

    def __init__(
        self,
        records: RecordSource,
        declared: Declared,
        as_of: datetime | None,
        service: Records,
        newest: Newest | None = None,
    ) -> None:
        self._records = records
        self._service = service
        self._visibility = Visibility(declared, as_of, service, newest)
        self.blog_id = records.blog_id
        self.names = records.names
        entries = dict.fromkeys(self._entries())
        self._assets = dict(self._used_by(entries))
        files = {file_id for asset in self._assets.values() for file_id in asset.ids("file")}
        self._ids: dict[Kind, dict[str, None]] = {
            Kind.ENTRIES: entries,
            Kind.ENTRY_LIST: dict.fromkeys(each for each in records.ids(Kind.ENTRY_LIST) if each in entries),
            Kind.COMMENTS: dict.fromkeys(self._comments(entries)),
            Kind.FILES: dict.fromkeys(each for each in records.ids(Kind.FILES) if each in files),
            Kind.USER: {},
            Kind.ASSETS: dict.fromkeys(self._assets),
        }
        self.left_out = {kind: len(records.ids(kind)) - len(self._ids[kind]) for kind in Kind}

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids of the public records in order."""
        return list(self._ids[kind])

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return what changes with the record; ``None`` if it is not public."""
        return self._records.identity(kind, record_id) if record_id in self._ids[kind] else None

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a record's raw object; ``None`` if it is not public."""
        if record_id not in self._ids[kind]:
            return None
        return self._assets[record_id].data() if kind is Kind.ASSETS else self._records.load(kind, record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the public records of a kind in the order of their ids."""
        for record_id in self._ids[kind]:
            raw = self.load(kind, record_id)
            if raw is not None:
                yield record_id, raw

    def _entries(self) -> Iterator[str]:
        for entry_id, raw in self._records.scan(Kind.ENTRIES):
            post = self._service.post(raw, self._records.load(Kind.ENTRY_LIST, entry_id))
            if self._visibility.entry(replace(post, id=entry_id)).status is PostStatus.PUBLISH:
                yield entry_id

    def _comments(self, entries: Collection[str]) -> Iterator[str]:
        for comment_id, raw in self._records.scan(Kind.COMMENTS):
            if self._service.post_id(raw) not in entries:
                continue
            if self._visibility.why_hidden(comment_id, self._service.comment(raw)) is None:
                yield comment_id

    def _used_by(self, entries: Collection[str]) -> Iterator[tuple[str, Asset]]:
        """Yield the assets that published entries use, without the entries that are not published.

        A file in which a browser would run a script is left out: on a host, it would run as the site's own.
        """
        for url, raw in self._records.scan(Kind.ASSETS):
            asset = Asset.from_raw(raw)
            users = [each for each in asset.ids("entry") if each in entries]
            if users and (asset.path is None or openable(asset.path)):
                refs = [{"entry": each} for each in users] + [{"file": each} for each in asset.ids("file")]
                yield url, Asset.from_raw({**asset.data(), "refs": refs})


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
    "wide_table": message("Table that can be scrolled sideways"),
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


@dataclass(frozen=True, slots=True)
class SiteView:
    """Makes the files of a site; holds some hundred bytes for each record, no texts.

    Attributes:
        service: reads the records.
        history: the archive's history; without it, removed records and changes are not shown.
        options: the options of the site.
        layout: the archive's layout, to store the facts for the next build.
        thumbnails: the thumbnails; by default the site has none.
        captured: the captures of the blog's public pages; by default the site names none.
        visibility: decides which entries a calendar for others may name. By default, only a public site has one.
        library: the blogs, if the records are those of several.
    """

    name: ClassVar[str] = NAME

    service: Records
    history: ArchiveHistory | None = None
    options: SiteOptions = field(default_factory=SiteOptions)
    layout: Layout | None = None
    thumbnails: Thumbnails = field(default_factory=Thumbnails)
    captured: CapturedPages = field(default_factory=CapturedPages)
    visibility: Visibility | None = None
    library: Library | None = None

    @property
    def edition(self) -> str:
        """What changes whenever the same records would give other files."""
        blogs = "" if self.library is None else repr([blog.shown for blog in self.library.blogs])
        return edition(self.service, self.options) + blogs

    def files(self, records: RecordSource) -> Iterator[ViewFile]:
        """Yield every file of the site."""
        with SiteFacts(records, self.layout, self.edition) as facts:
            site = Site(
                records,
                self.service,
                self.history,
                self.options,
                facts,
                self.thumbnails,
                self.captured,
                self.visibility,
                self.library,
                None if self.layout is None else shown_removals(self.layout),
            )
            yield from chain(
                self.thumbnails.files(picture.path for picture in site.pictures.all),
                _static_files(site),
                home_files(site),
                reminder_files(site),
                search_files(site, entry_files(site)),
                list_files(site),
                comment_files(site),
                gallery_files(site),
                statistics_files(site),
                history_files(site),
                capture_files(site),
            )

    def former_files(self) -> set[str | None]:
        """Return the paths of replaced files that pages from the past show."""
        replaced = {} if self.history is None else self.history.replaced
        return {path for stored in replaced.values() for _, path in stored}


def _static_files(site: Site) -> Iterator[ViewFile]:
    for path in sorted(_STATIC.iterdir()):
        if path.name == _PAST and (site.options.public or site.library is not None):
            continue
        data = path.read_bytes()
        yield ViewFile(f"static/{path.name}", sha256(data).digest(), partial(bytes, data))
    words: dict[str, Any] = {name: site.say(text) for name, text in _SCRIPT_WORDS.items()}
    if site.catalogue.labelled:
        words |= {f"audience_{name}": site.say(text) for name, text in AUDIENCE_NAMES.items()}
        words |= {f"kind_{name}": site.say(text) for name, text in KIND_NAMES.items()}
        words["no_author"] = site.t("(no name)")
        words["no_tag"] = site.t("No tag")
    if site.library is not None:
        words["blogs"] = [[visible(blog.title)[0], blog.colour] for blog in site.library.blogs]
    yield ViewFile("data/words.js", fingerprint(repr(words)), lambda: data_script("words", "", words))


def copied_site(view: SiteView, records: RecordSource, files: Iterable[ViewFile]) -> Iterator[ExportFile]:
    """Yield ``files`` of a site made with ``SiteOptions(assets="")`` and then its pictures."""
    for file in files:
        yield Content(file.path, iter([file.render()]))
    paths = {Asset.from_raw(raw).path for _, raw in records.scan(Kind.ASSETS)} | view.former_files()
    for path in sorted(path for path in paths if path is not None):
        yield Copy(path, path)
