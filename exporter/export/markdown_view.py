"""The Markdown view: a page for each entry, indexes by year, and lists of records without a page."""

from __future__ import annotations

import marshal
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from exporter.export.comment_index import CommentTable
from exporter.export.entry_page import (
    RENDERER_VERSION,
    day,
    heading,
    plain,
    render_comments,
    render_entry,
    t,
)
from exporter.export.interface import RecordSource, RemotePage, ViewFile
from exporter.export.names import page_path
from exporter.html.links import AddressPattern, absolute
from exporter.html.local_links import ArchiveLinks, AssetMap, EntryAddresses
from exporter.html.markdown_escape import link_target
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.model.records import PostKind, Raw
from exporter.service.interface import Records
from exporter.service.registry import DEFAULT_SERVICE
from exporter.text import visible

UNDATED: Final = "undated"
ORPHANS: Final = "orphan-comments.md"
INDEX: Final = "index.md"
PAGES: Final = "pages"
"""The folder of entries that are pages."""

_MAX_TITLE_CHARACTERS: Final = 200
_PLACE: Final = "latest/markdown"
"""The view's folder in the archive; its pages link to the files in ``assets/`` from there."""


class _Page(NamedTuple):
    """The facts held for each entry.

    Attributes:
        entry_id: its id.
        path: of its page; empty if it has none.
        day: when it was written; empty if undated.
        title: the shown part of its title.
        permalink: its own address in the blog, if its service states it.
    """

    entry_id: str
    path: str
    day: str
    title: str
    permalink: str = ""


class _Pages:
    """The pages of all entries, each as the bytes of its facts, which take half the memory of these objects."""

    def __init__(self, pages: Iterable[_Page]) -> None:
        self._rows = [marshal.dumps(tuple(page)) for page in pages]

    def __iter__(self) -> Iterator[_Page]:
        return map(self._read, range(len(self._rows)))

    def _read(self, number: int) -> _Page:
        return _Page(*marshal.loads(self._rows[number]))  # noqa: S302 - written above

    def by_year(self) -> dict[str, array[int]]:
        """Return the numbers of pages by the first folder of their path; the undated and :data:`PAGES` come last."""
        years: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        for number, page in enumerate(self):
            years[page.path.split("/", 1)[0]].append(number)
        return {year: years[year] for year in sorted(years, key=_year_order)}

    def by_day(self, numbers: Iterable[int]) -> list[_Page]:
        """Return some pages in the order of their days."""
        return sorted(map(self._read, numbers), key=lambda page: page.day)


class _Around(NamedTuple):
    """The data that all pages need: the service that reads records, and the targets of links."""

    service: Records
    links: ArchiveLinks


class MarkdownView:
    """Makes the view, byte for byte the same for the same records; holds a path, a day and a title for each entry.

    Args:
        service: reads the records.
        entry_urls: how the blog's own addresses of entries are made, so that links between entries stay inside.

    Attributes:
        replaced: how many characters of the pages rendered so far had to become U+FFFD.
    """

    name = "markdown"

    def __init__(self, service: Records = DEFAULT_SERVICE, entry_urls: Sequence[AddressPattern] = ()) -> None:
        self._service = service
        self._entry_urls = tuple(entry_urls)
        self.replaced = 0

    @property
    def edition(self) -> str:
        """Changes whenever the same records would give other files."""
        patterns = " ".join(pattern.text for pattern in self._entry_urls)
        return f"{RENDERER_VERSION} {self._service.timezone} {patterns}".rstrip()

    def files(self, records: RecordSource) -> Iterator[ViewFile]:
        """Yield the entries' pages in the order of their ids, then the indexes."""
        comments = self._comments_by_entry(records)
        pages = _Pages(self._described(entry_id, raw) for entry_id, raw in records.scan(Kind.ENTRIES))
        links_to, assets = self._surroundings(records, pages)
        around = _Around(self._service, links_to)
        addressed = [
            f"{page.entry_id}\0{page.path}".encode("utf-8", "surrogatepass")
            for page in pages
            if self._entry_urls or page.permalink
        ]
        links = _hash(addressed) if addressed else b""
        del addressed
        for page in pages:
            cm_ids = comments.of(page.entry_id)
            parts = [
                *_identities(records, Kind.ENTRIES, [page.entry_id]),
                *_identities(records, Kind.ENTRY_LIST, [page.entry_id]),
                *_identities(records, Kind.COMMENTS, cm_ids),
                *_identities(records, Kind.ASSETS, assets.get(page.entry_id, [])),
                links,
            ]
            remote = RemotePage(around, _render, partial(_parts, records, page, cm_ids), self._finish)
            yield ViewFile(page.path, _hash(parts), partial(_render_here, remote), remote)
        years = pages.by_year()
        for year, numbers in years.items():
            yield _file(f"{year}/{INDEX}", partial(_year_index, year, pages, numbers))
        ownerless = (owner for owner in comments.entries() if records.identity(Kind.ENTRIES, owner) is None)
        orphans = [cm_id for owner in ownerless for cm_id in comments.of(owner)]
        if orphans:
            identities = _identities(records, Kind.COMMENTS, orphans)
            yield ViewFile(ORPHANS, _hash(identities), partial(self._orphans, records, orphans))
        unread = list(self._unread(records))
        totals = {year: len(numbers) for year, numbers in years.items()}
        yield _file(INDEX, partial(_top_index, records.blog_id, totals, unread, len(orphans)))

    def _described(self, entry_id: str, raw: dict[str, Any]) -> _Page:
        post = self._service.post(raw)
        path = page_path(post.date, post.title, entry_id)
        if post.kind is PostKind.PAGE:
            path = f"{PAGES}/{path.rpartition('/')[2]}"
        return _Page(entry_id, path, day(post.date), post.title[:_MAX_TITLE_CHARACTERS], post.permalink)

    def _surroundings(self, records: RecordSource, pages: Iterable[_Page]) -> tuple[ArchiveLinks, dict[str, list[str]]]:
        """Return the link targets of pages, and for each entry the addresses of its assets."""
        base = f"https://{records.blog_id}/"
        needed: defaultdict[str, list[str]] = defaultdict(list)
        found = []
        for url, raw in records.scan(Kind.ASSETS):
            found.append(raw)
            for entry_id in Asset.from_raw(raw).ids("entry"):
                needed[entry_id].append(url)
        entries = records.scan(Kind.ENTRIES) if self._entry_urls else ()
        addresses = EntryAddresses(self._entry_urls, entries, base, records.names)
        for page in pages:
            if page.permalink and (address := absolute(page.permalink, base)):
                addresses.add(page.entry_id, address)
        addressed = (page for page in pages if self._entry_urls or page.permalink)
        paths = {page.entry_id: f"{_PLACE}/{page.path}" for page in addressed}
        return ArchiveLinks(AssetMap(found, base), addresses, paths), needed

    def _comments_by_entry(self, records: RecordSource) -> CommentTable:
        found = CommentTable()
        for cm_id, raw in records.scan(Kind.COMMENTS):
            found.add(self._service.post_id(raw), cm_id)
        return found

    def _finish(self, rendered: tuple[str, int]) -> bytes:
        text, replaced = rendered
        self.replaced += replaced
        return text.encode()

    def _orphans(self, records: RecordSource, cm_ids: list[str]) -> bytes:
        lead = t("The entries of these comments are not in the archive.")
        comments = render_comments([self._service.comment(raw) for raw in _loaded(records, cm_ids)])
        return f"{heading(1, t('Comments without an entry', 'Markdown'))}\n\n{lead}\n\n{comments.text}\n".encode()

    def _unread(self, records: RecordSource) -> Iterator[_Page]:
        for entry_id in records.ids(Kind.ENTRY_LIST):
            if records.identity(Kind.ENTRIES, entry_id) is None:
                item = self._service.post(None, records.load(Kind.ENTRY_LIST, entry_id))
                yield _Page(entry_id, "", day(item.listed_on or item.date), item.title[:_MAX_TITLE_CHARACTERS])


def _parts(records: RecordSource, page: _Page, cm_ids: list[str]) -> tuple[str, Raw | None, Raw | None, list[Raw]]:
    """Read the raw records for a page: its path, its entry, the list item, and the comments."""
    entry, item = (records.load(kind, page.entry_id) for kind in (Kind.ENTRIES, Kind.ENTRY_LIST))
    return page.path, entry, item, _loaded(records, cm_ids)


def _loaded(records: RecordSource, cm_ids: Iterable[str]) -> list[Raw]:
    raws = (records.load(Kind.COMMENTS, cm_id) for cm_id in cm_ids)
    return [raw for raw in raws if raw is not None]


def _render(around: _Around, path: str, entry: Raw | None, item: Raw | None, comments: list[Raw]) -> tuple[str, int]:
    """Return a page and how many characters in it had to become U+FFFD."""
    post = around.service.post(entry or {}, item)
    answers = [around.service.comment(raw) for raw in comments]
    page = render_entry(post, answers, lambda body: around.links.localise(body, f"{_PLACE}/{path}"))
    return page.text, page.replaced


def _render_here(page: RemotePage) -> bytes:
    return page.finish(page.call(page.around, *page.parts()))


def _year_order(year: str) -> tuple[bool, str]:
    return year == PAGES, year


def _year_index(year: str, pages: _Pages, numbers: Iterable[int]) -> bytes:
    lines = [heading(1, _year_name(year)), ""]
    month = ""
    for page in pages.by_day(numbers):
        if year != PAGES and page.day[:7] != month:
            month = page.day[:7]
            lines += ["", heading(2, month), ""] if len(lines) > 2 else [heading(2, month), ""]
        target = link_target(quote(page.path.split("/", 1)[1]), "")
        lines.append(f"- {_dated(page.day)}[{_title(page, in_brackets=True)}]({target})")
    return _encoded(lines)


def _top_index(blog_id: str, totals: Mapping[str, int], unread: list[_Page], orphans: int) -> bytes:
    total = sum(number for year, number in totals.items() if year != PAGES)
    lines = [heading(1, blog_id or t("(untitled)")), "", t("Entries: {n}", n=f"{total:,}"), ""]
    lines += [f"- [{_year_name(year)}]({quote(year)}/{INDEX}) ({number:,})" for year, number in totals.items()]
    if orphans:
        lines += ["", f"[{t('Comments without an entry', 'Markdown')}]({ORPHANS}) ({orphans:,})"]
    if unread:
        lines += ["", heading(2, f"{t('Listed, but could not be read')} ({len(unread):,})"), ""]
        lines += [f"- {_dated(page.day)}{_title(page)} (entry_id {plain(page.entry_id)})" for page in unread]
    return _encoded(lines)


def _year_name(year: str) -> str:
    if year == PAGES:
        return t("Pages", "kind of entry")
    return t("Entries without a date") if year == UNDATED else f"{year}年"


def _dated(shown: str) -> str:
    return f"{shown} " if shown else ""


def _title(page: _Page, *, in_brackets: bool = False) -> str:
    return plain(page.title, in_brackets=in_brackets) or t("(untitled)")


def _encoded(lines: list[str]) -> bytes:
    text, _ = visible("\n".join(lines))
    return f"{text}\n".encode()


def _file(path: str, render: Callable[[], bytes]) -> ViewFile:
    """Return a small file whose fingerprint is that of its content."""
    return ViewFile(path, sha256(render()).digest(), render)


def _identities(records: RecordSource, kind: Kind, ids: Iterable[str]) -> list[bytes]:
    return [records.identity(kind, record_id) or b"-" for record_id in ids]


def _hash(identities: Iterable[bytes]) -> bytes:
    digest = sha256(f"page {RENDERER_VERSION}".encode())
    for identity in identities:
        digest.update(len(identity).to_bytes(1, "big") + identity)
    return digest.digest()
