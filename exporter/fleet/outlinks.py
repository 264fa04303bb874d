"""The addresses outside the blogs of a fleet that their public entries and captured pages link to or embed.

They are a list of seeds for other crawlers. An address that only a private entry names is never among them: also not if
an old capture has it, from a time when the entry was public. Of each captured address only the newest record counts.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from exporter.archive.archive import Archive
from exporter.archive.captures import captures
from exporter.archive.fleet_folder import archive_named
from exporter.errors import BadBody, BodyTooLarge
from exporter.export.wacz import PostAddresses
from exporter.fleet.line_sort import SortedLines
from exporter.fleet.pool import WorkerPool
from exporter.fleet.public_posts import public_posts
from exporter.fleet.work import ArchiveResult, Done, JobOptions, work_over
from exporter.html.embedded import embedded
from exporter.html.links import host_of
from exporter.html.page_references import page_references, sheet_references
from exporter.html.web_address import parsed, web_address
from exporter.http.address_guard import states_private
from exporter.model.kinds import Kind
from exporter.model.records import Post
from exporter.service.public_site.text import decode_page
from exporter.warc.cdxj import REVISIT, CaptureIndex, IndexLine
from exporter.warc.http_message import decoded
from exporter.warc.lookup import CapturedRecord, CaptureLookup

_LINES: Final = "lines"
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_GOOD: Final = range(200, 300)
_READ: Final = _HTML | {"text/css", REVISIT}
_MAX_CONTENT_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outlink:
    """An address outside the blogs.

    Attributes:
        url: the address, as a browser requests it.
        count: how many entries or captured pages name it: for each blog, the larger of the two numbers.
        blogs: how many blogs name it.
        first_blog: the first of these by its ID.
    """

    url: str
    count: int
    blogs: int
    first_blog: str


@dataclass(frozen=True, slots=True)
class OutlinkOptions:
    """How the addresses of an archive are found.

    Attributes:
        job: the settings.
        root: the fleet's folder: addresses on the hosts of its blogs are left out.
    """

    job: JobOptions
    root: Path


class Outlinks:
    """Finds the outlinks of a fleet.

    Args:
        root: the fleet's folder.
        settings: say which entries are public.
        pool: reads the archives.
        folder: an existing folder for temporary files.
    """

    def __init__(self, root: Path, settings: JobOptions, pool: WorkerPool, folder: Path) -> None:
        self._root = root
        self._settings = settings
        self._pool = pool
        self._lines = SortedLines(folder)

    def results(self) -> Iterator[ArchiveResult]:
        """Read all archives, and yield the result for each; afterwards this object yields the addresses.

        Raises:
            UsageError: nothing says which entries are public.
            NoSpace: the disk is full.
        """
        options = OutlinkOptions(self._settings, self._root)
        with closing(work_over(self._root, outlinks_of, options, self._pool, of_captures=True)) as results:
            for result in results:
                packed: bytes = result.facts.pop(_LINES, b"")
                for line in zlib.decompress(packed).splitlines(keepends=True) if packed else ():
                    self._lines.add(line)
                yield result

    def __iter__(self) -> Iterator[Outlink]:
        """Yield the addresses in the order of their bytes."""
        rows = (line.decode("ascii").rstrip("\n").split(" ") for line in self._lines)
        for url, found in groupby(rows, lambda row: row[0]):
            count = blogs = 0
            first = ""
            for _, number, blog_id in found:
                count += int(number)
                blogs += 1
                first = min(first or blog_id, blog_id)
            yield Outlink(url, count, blogs, first)


def outlinks_of(archive: Archive, options: OutlinkOptions) -> Done:
    """Find the outlinks of one archive, as sorted and compressed lines: address, count, blog."""
    found = _Blog(archive, options)
    if archive.newest() is not None:
        found.read_entries()
    found.read_captures()
    lines = sorted(f"{url} {count} {archive.info.blog_id}\n".encode() for url, count in found.counts())
    return Done(True, {"outlinks": len(lines), _LINES: zlib.compress(b"".join(lines), 1)})


class _Blog:
    """The addresses of one blog, with the number of entries and of captured pages that name each."""

    def __init__(self, archive: Archive, options: OutlinkOptions) -> None:
        self._archive = archive
        self._options = options
        self._scopes = tuple(scope for capture in captures(archive.layout) for scope in capture.info().scope)
        self._hosts: dict[str, bool] = {}
        self._in_entries: Counter[str] = Counter()
        self._in_pages: Counter[str] = Counter()
        self._hidden: set[str] = set()
        self._places: PostAddresses | None = None

    def counts(self) -> Iterator[tuple[str, int]]:
        """Yield each address with its count."""
        for url in self._in_entries | self._in_pages:
            if url in self._in_entries or url not in self._hidden:
                yield url, max(self._in_entries[url], self._in_pages[url])

    def read_entries(self) -> None:
        """Read the addresses of the entries in the newest version.

        Raises:
            UsageError: nothing says which entries are public.
        """
        with public_posts(self._archive, self._options.job) as found:
            self._places = found.addresses()
            service = found.posts.options.service
            for entry_id, raw in found.state.scan(Kind.ENTRIES):
                if entry_id in found.posts:
                    self._in_entries.update(self._named_by(service.post(raw)))
            for earlier in found.outside():
                self._hidden.update(self._named_by(service.post(earlier)))

    def _named_by(self, post: Post) -> Iterator[str]:
        base = parsed(post.permalink) or parsed(f"https://{self._archive.info.blog_id}/")
        for body in (post.body, post.more):
            for each in embedded(body):
                found = web_address(each.text, base)
                if found is not None and self._is_outside(str(found)):
                    yield str(found)

    def read_captures(self) -> None:
        """Read the addresses of the captured pages and style sheets.

        Raises:
            ArchiveDamaged: an index or a record cannot be read.
        """
        lookup = CaptureLookup(self._archive.layout)
        with TemporaryDirectory() as folder:
            for record in newest_records(self._archive, Path(folder)):
                line = record.line
                is_hidden = self._places is not None and self._places.is_hidden(line.url, line.key)
                if line.status in _GOOD and line.mime in _READ and not is_hidden:
                    self._in_pages.update(filter(self._is_outside, _named_in(lookup, record)))

    def _is_outside(self, url: str) -> bool:
        """Return whether an address is on the public web and in no blog of the fleet."""
        host = host_of(url)
        if host not in self._hosts:
            own = host == self._archive.info.blog_id or archive_named(self._options.root, host) is not None
            self._hosts[host] = not host or own or states_private(f"https://{host}/")
        return (
            not self._hosts[host]
            and "@" not in url.partition("://")[2].partition("/")[0]
            and not url.startswith(self._scopes)
        )


def newest_records(archive: Archive, folder: Path) -> Iterator[CapturedRecord]:
    """Yield the newest record of each captured address; an archive may have thousands of captures.

    Args:
        archive: the archive.
        folder: an existing folder for temporary files.

    Raises:
        ArchiveDamaged: an index cannot be read.
    """
    numbered = {capture.number: capture for capture in captures(archive.layout) if capture.info().kind == "pages"}
    lines = SortedLines(folder)
    for number, capture in numbered.items():
        for line in CaptureIndex(capture.index):
            lines.add(b"%b %012d\n" % (line.encode().rstrip(b"\n"), number))

    def record(text: bytes) -> CapturedRecord:
        line, _, number = text.rpartition(b" ")
        return CapturedRecord(numbered[int(number)], IndexLine.decode(line))

    for _, found in groupby(map(record, lines), lambda each: each.line.key):
        newest: dict[str, CapturedRecord] = {}
        for each in found:
            known = newest.get(each.line.url)
            if known is None or _age(each) >= _age(known):
                newest[each.line.url] = each
        yield from newest.values()


def _age(record: CapturedRecord) -> tuple[str, int, int]:
    return record.line.timestamp, record.capture.number, record.line.offset


def _named_in(lookup: CaptureLookup, record: CapturedRecord) -> set[str]:
    """Return the addresses in a captured page or style sheet; none in any other file."""
    with lookup.replay(record) as replay:
        kind = replay.head.media_type
        if kind not in _READ:
            return set()
        try:
            body = decoded(replay.payload, replay.head.get("content-encoding"), _MAX_CONTENT_BYTES)
        except (BadBody, BodyTooLarge):
            return set()
        page = decode_page(body, replay.head.get("content-type"))
    if kind == "text/css":
        return set(sheet_references(page.text, record.line.url).found)
    return set(page_references(page.text, record.line.url, encoding=page.encoding).found)
