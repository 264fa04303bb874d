"""The posts in a blog's captures: their pages, the pages to leave out, and the lists of a WACZ file. Pure.

Posts are found in the captures by their old addresses. If an entry is not public now, its page is left
out, although everybody could see it when it was captured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from exporter import lossless_json
from exporter.archive.captures import Capture
from exporter.errors import ArchiveDamaged
from exporter.export.entry_page import t
from exporter.export.interface import ExportOptions
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.html.links import absolute
from exporter.html.text import collapse
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.text import without_surrogates
from exporter.warc.cdxj import TIMESTAMP, CaptureIndex, IndexLine, surt
from exporter.warc.records import warc_date
from exporter.warc.wacz import PageLine

RENDERED_ORIGIN: Final = "https://rendered.blog-exporter.invalid"
"""Pages that this program made have addresses that no server can have (RFC 2606)."""
PAGES: Final = "pages"
_EMPTY_DIGEST: Final = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
_MAX_PAGE_LINE_BYTES: Final = 1 << 20
_GOOD: Final = range(200, 300)
_MOVED: Final = range(300, 400)
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9.-]+")


def old_addresses_of(raw: Raw, options: ExportOptions) -> Iterator[str]:
    """Yield the addresses that an entry's record states or that the patterns make of it."""
    post = options.service.post(raw)
    stated = (absolute(each.permalink, "") for each in (post, *post.others) if each.permalink)
    filled = (pattern.fill(raw) for pattern in options.old_urls)
    yield from filter(None, [*stated, *filled])


class PostAddresses:
    """The index keys of the posts in this export and of all other entries of the blog.

    Args:
        posts: the posts of the export.
        outside: all records of all other entries, in any version.
    """

    def __init__(self, posts: Posts, outside: Iterable[Raw] = ()) -> None:
        self._posts: dict[str, str] = {}
        self._hidden: set[str] = set()
        for entry_id, raw in self._records(posts, outside):
            for address in old_addresses_of(raw, posts.options):
                if entry_id in posts:
                    self._posts.setdefault(surt(address), entry_id)
                else:
                    self._hidden.add(surt(address))
        self._hidden -= self._posts.keys()

    @staticmethod
    def _records(posts: Posts, outside: Iterable[Raw]) -> Iterator[tuple[str, Raw]]:
        yield from posts.records.scan(Kind.ENTRIES)
        for entry_id, raw in posts.records.scan(Kind.ENTRY_LIST):
            if posts.records.identity(Kind.ENTRIES, entry_id) is None:
                yield entry_id, raw
        yield from (("", raw) for raw in outside)

    def post_at(self, key: str) -> str | None:
        """Return the id of the post with an index key; ``None`` for any other page."""
        return self._posts.get(key)

    def is_hidden(self, url: str, key: str) -> bool:
        """Return whether an address, with any query, is that of an entry outside this export."""
        return bool(self._hidden) and (
            key in self._hidden or ("?" in key and surt(url.partition("?")[0]) in self._hidden)
        )


@dataclass(slots=True)
class FoundPages:
    """The pages that the captures have of the blog's entries.

    Attributes:
        posts: the newest page of each post, by the post's id. If a page only led elsewhere, this is the redirect.
        withheld: the records to leave out: pages of entries outside this export, and records with the same payload.
        main: the newest page of the first address of the scope.
    """

    posts: dict[str, IndexLine] = field(default_factory=dict)
    withheld: frozenset[IndexLine] = frozenset()
    main: IndexLine | None = None


def find_pages(captures: Sequence[Capture], addresses: PostAddresses, main: str = "") -> FoundPages:
    """Return the pages of entries in the captures; reads the indexes from end to end, once or twice.

    Args:
        captures: the oldest first.
        addresses: of the entries.
        main: the address of the first page.
    """
    found = FoundPages()
    main_key = surt(main) if main else ""
    withheld: set[IndexLine] = set()
    for line in _lines(captures):
        entry_id = addresses.post_at(line.key)
        if entry_id is not None and _is_better(line, found.posts.get(entry_id)):
            found.posts[entry_id] = line
        if line.key == main_key and line.status in _GOOD and _is_better(line, found.main):
            found.main = line
        if line.status < _MOVED.stop and addresses.is_hidden(line.url, line.key):
            withheld.add(line)
    digests = {line.digest for line in withheld} - {_EMPTY_DIGEST}
    if digests:
        same = [line for line in _lines(captures) if line.digest in digests]
        # A server may answer a removed page with its first page, which then holds nothing of the entry.
        public = {line.digest for line in same if line.key == main_key or addresses.post_at(line.key) is not None}
        withheld = {line for line in withheld.union(same) if line.digest not in public}
    found.withheld = frozenset(withheld)
    return found


def _lines(captures: Sequence[Capture]) -> Iterator[IndexLine]:
    return (line for capture in captures for line in CaptureIndex(capture.index))


def _is_better(line: IndexLine, known: IndexLine | None) -> bool:
    """Return whether a line shows a page better: an answer before a redirect, then the newest."""
    if line.status not in _GOOD and line.status not in _MOVED:
        return False
    if known is None:
        return True
    good, known_good = line.status in _GOOD, known.status in _GOOD
    return (good, line.timestamp) > (known_good, known.timestamp)


def post_pages(
    posts: Posts, found: FoundPages, rendered: Callable[[ExportPost], PageLine] | None = None
) -> Iterator[PageLine]:
    """Yield the line of each post, the newest post first, and report every post.

    Args:
        posts: the posts of the export.
        found: their pages in the captures.
        rendered: returns the line for a page that this program made, for posts without a captured one.
    """
    for post in posts.by_date(newest_first=True):
        line = found.posts.get(post.id)
        if line is not None:
            posts.wrote(post, 0, body=False)
            posts.leave_comments(post, Reason.AS_CAPTURED)
            yield PageLine(line.url, line.timestamp, title_of(post), {"date": _date_of(post)})
        elif rendered is not None:
            yield rendered(post)
        else:
            posts.report.left("entries", Reason.NOT_CAPTURED, post.id)
            posts.leave_comments(post, Reason.ENTRY_LEFT_OUT)


def title_of(post: ExportPost) -> str:
    """Return a post's title on one line, as any reader of JSON takes it."""
    return without_surrogates(post.title)[0] or t("(untitled)")


def _date_of(post: ExportPost) -> str | None:
    return None if post.record.date is None else post.when.isoformat()


def rendered_line(post: ExportPost, url: str, moment: datetime) -> PageLine:
    """Return the line of a page that this program made; its title says so."""
    title = t("{title} (made from the archive, not captured)", title=title_of(post))
    more = {"date": _date_of(post), "rendered": True}
    return PageLine(url, moment.astimezone(UTC).strftime(TIMESTAMP), title, more)


def rendered_url(posts: Posts, entry_id: str) -> str:
    """Return the address of a page that this program made."""
    return f"{RENDERED_ORIGIN}/{quote(posts.blog_id, safe='')}/{quote(entry_id, safe='')}.html"


def rendered_name(blog_id: str) -> str:
    """Return the name of the WARC file with the pages that this program made."""
    return f"{_NOT_IN_NAMES.sub('-', blog_id)}-rendered.warc.gz"


def other_pages(captures: Sequence[Capture], found: FoundPages) -> Iterator[PageLine]:
    """Yield the lines of all other captured pages, in the order of the captures.

    Raises:
        ArchiveDamaged: a list of pages holds something else.
    """
    listed = {(line.url, line.timestamp) for line in found.posts.values()}
    listed |= {(line.url, line.timestamp) for line in found.withheld}
    for capture in captures:
        for page in _captured_pages(capture):
            if (page.url, page.timestamp) not in listed:
                yield page


def _captured_pages(capture: Capture) -> Iterator[PageLine]:
    with capture.pages.open("rb") as file:
        while data := file.readline(_MAX_PAGE_LINE_BYTES):
            try:
                raw: Any = lossless_json.loads(data)
                moment = datetime.fromisoformat(raw["ts"]) if "url" in raw else None
            except (lossless_json.NotJson, ValueError, TypeError, KeyError) as error:
                raise ArchiveDamaged("{path} holds a line that is no page.", path=capture.pages) from error
            if moment is not None and raw.get("status", 200) in _GOOD:
                url, title = str(raw["url"]), collapse(str(raw.get("title") or ""))
                stamp = moment.astimezone(UTC).strftime(TIMESTAMP)
                yield PageLine(url, stamp, without_surrogates(title)[0] or url)


def times_of(captures: Sequence[Capture]) -> list[datetime]:
    """Return when each capture was finished, without impossible times."""
    found = []
    for capture in captures:
        try:
            moment = datetime.fromisoformat(capture.info().finished_at)
        except ValueError:
            continue
        found.append(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    return found


def created(moments: Iterable[datetime]) -> str:
    """Return the newest time as a package states it."""
    return warc_date(max(moments))
