"""The list of a public blog's posts: robots.txt, home page, sitemaps, feeds and, if these leave gaps, list pages. Pure.

The pages are read one after another, because each one decides which follow, and a post counts where it is found first.
So a list item depends on the sitemaps and not on the changing window of a feed.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from exporter.html.selection import PageElement, parse_page
from exporter.html.tree import TooComplex
from exporter.message import listed, message, message_n, said
from exporter.model.exchange import Request, Response
from exporter.service.answers import refusal
from exporter.service.interface import Call, Cursor, Page, PageFacts
from exporter.service.public_site.feeds import MAX_ITEMS, Feed, FeedItem, NoFeed, read_feed
from exporter.service.public_site.paths import SitePaths
from exporter.service.public_site.robots import Robots, read_robots
from exporter.service.public_site.sitemaps import NoSitemap, read_sitemap
from exporter.service.public_site.text import decode_page
from exporter.text import printable

MAX_FEED_PAGES: Final = 1_000
MAX_SITEMAPS: Final = 2_000
MAX_LIST_PAGES: Final = 3_000
MAX_BARREN_PAGES: Final = 10
"""List pages in a row without a new post. After them, no other list page is expected to have one."""
_MAX_FEED_BYTES: Final = 16 * 1024 * 1024
_MAX_NOTES: Final = 50
_NAMED: Final = 3
_SHOWN_CHARACTERS: Final = 200
_PAGED_FEED_ITEMS: Final = 10
"""Items on a full feed page; WordPress' default is 10."""
_FEED_TYPES: Final = ("application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml")
_ACCEPT: Final = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
_OF_COMMENTS: Final = re.compile(r"comment|コメント", re.IGNORECASE)
_NEXT: Final = re.compile(
    r"[\s<«‹←(\[]*(?:(?:次|前|古い|過去)の?(?:ページ|頁|記事一覧|[0-9]+件)|(?:次|前)へ|次|(?:以前|過去|古い)の(?:記事|投稿)|もっと(?:見る|読む)"
    r"|過去ログ|バックナンバー|アーカイブ|archives?"
    r"|(?:older|previous|next|more)\s*(?:posts?|entries|pages?|articles?)?|[>»›→])[\s>»›→)\]]*",
    re.IGNORECASE,
)
"""The whole text of a link from one list page to the next."""
_LEAST_ALIKE: Final = 2
"""Known posts with addresses of one shape, from which on a link of this shape is one to a post."""
_ENDS_WITH_COUNT: Final = re.compile(r"[(（\[]\s*([0-9]{1,6})\s*[)）\]]\s*\Z")
_POST_LINKS: Final = (
    "a[rel~=bookmark]", ".h-entry a.u-url", ".hentry .entry-title a", ".entry-title a", "article h1 a", "article h2 a",
    ".post-title a", "h2 a", "h3 a",
)  # fmt: skip
USUAL_FEEDS: Final = ("feed", "index.rdf", "atom.xml", "rss.xml", "index.xml", "feed.json")
_USUAL_SITEMAPS: Final = ("sitemap.xml", "sitemap_index.xml", "wp-sitemap.xml")
_OK: Final = 200
_MISSING: Final = frozenset({404, 410})


@dataclass
class SiteReading:
    """What one run has learned about a site; shared by its list and its posts.

    Attributes:
        robots: the rules of the site.
        feed_items: the items of feeds, by the ids of their posts.
        notes: sentences for people, each once.
    """

    robots: Robots = field(default_factory=Robots)
    feed_items: dict[str, FeedItem] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    _feed_bytes: int = 0

    def note(self, sentence: str) -> None:
        """Add a sentence, up to a limit."""
        if len(self.notes) < _MAX_NOTES:
            self.notes[sentence] = None

    def keep_item(self, post_id: str, item: FeedItem) -> None:
        """Keep an item, up to a limit."""
        size = len(item.content) + len(item.source)
        if post_id not in self.feed_items and self._feed_bytes + size <= _MAX_FEED_BYTES:
            self._feed_bytes += size
            self.feed_items[post_id] = item


class ListOptions(NamedTuple):
    """The settings of the list.

    Attributes:
        obey_robots: whether robots.txt is obeyed.
        walk: whether list pages are read: ``auto`` if sitemaps and feeds leave gaps, ``always`` or ``never``.
        max_posts: the most posts.
    """

    obey_robots: bool = True
    walk: str = "auto"
    max_posts: int = 200_000


def page_request(path: str, headers: Iterable[tuple[str, str]] = ()) -> Request:
    """Return the request for a path with a query; messages name the path."""
    place, _, query = path.partition("?")
    return Request(printable(path, _SHOWN_CHARACTERS), place, {}, {**_ACCEPT, **dict(headers)}, query=query)


def feed_links(home: PageElement) -> list[str]:
    """Return the feeds' addresses that a page states, as written, without comment feeds."""
    return [
        each.attribute("href")
        for each in home.select("link[rel~=alternate]")
        if each.attribute("type").lower() in _FEED_TYPES
        and not _OF_COMMENTS.search(each.attribute("title") + each.attribute("href"))
    ]


class SiteList:
    """Reads the list page by page; a cursor is a word for the page's kind, and its path."""

    def __init__(self, paths: SitePaths, options: ListOptions, reading: SiteReading) -> None:
        self._paths = paths
        self._options = options
        self._reading = reading
        self._queue: deque[str] = deque(["robots"])
        self._stages: Iterator[None] = self._follow()
        self._asked: set[str] = set(self._queue)
        self._under_way: str | None = None
        self._posts: set[int] = set()
        self._ended = False
        self._home: PageElement | None = None
        self._links: list[str] = []
        self._stated: dict[str, int] = {}
        self._feeds_read = 0
        self._whole_feed = False
        self._in_sitemaps = 0
        self._indexed_maps: set[str] = set()
        self._lost_maps = 0
        self._barren = 0
        self._beyond: set[str] = set()
        self._shapes: Counter[str] = Counter()
        self._elsewhere: dict[str, int] = {}
        self._forbidden: list[str] = []
        self._forbidden_posts: set[int] = set()
        self._wordpress = False
        self._counts = {"map": 0, "feed": 0, "list": 0}
        self._problems: list[str] = []

    @property
    def finished(self) -> bool:
        """Whether no page is left."""
        return self._ended and self._under_way is None

    @property
    def complete(self) -> bool:
        """Whether everything was read without a problem."""
        return self.finished and not self.problems

    @property
    def provable(self) -> bool:
        """False: no page states how many posts there are."""
        return False

    @property
    def doubts(self) -> list[str]:
        """None: no page states a number of pages."""
        return []

    @property
    def problems(self) -> list[str]:
        """Sentences about pages that could not be read, and posts that are missing."""
        found = list(self._problems)
        if self._forbidden:
            found.append(
                message_n(
                    "robots.txt forbids this program {n:,} entry, which is left out ({addresses}); "
                    "if the blog is yours, set obey_robots to no",
                    "robots.txt forbids this program {n:,} entries, which are left out ({addresses}); "
                    "if the blog is yours, set obey_robots to no",
                    len(self._forbidden_posts),
                    addresses=listed(self._forbidden),
                )
            )
        if not self.finished or found:
            return found
        if not self._posts:
            return [
                message(
                    "no entry was found at {address}: check the address, or name the service with page_rules",
                    address=printable(self._paths.home_address, _SHOWN_CHARACTERS),
                )
            ]
        stated = sum(self._stated.values())
        if stated > len(self._posts):
            found.append(
                message(
                    "the blog's own list of months counts {stated:,} entries, and {found:,} were found; entries for "
                    "members may be among them",
                    stated=stated,
                    found=len(self._posts),
                )
            )
        return found

    def wanted(self, _window: int) -> list[Cursor]:
        """Return the next page, unless one is under way."""
        if self._under_way is not None or self._ended:
            return []
        self._under_way = self._queue.popleft()
        return [self._under_way]

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""
        kind, _, path = str(cursor).partition(" ")
        request, parse = self._request(kind, path)
        return Call(request, lambda response: parse(request, response, path))

    def _request(self, kind: str, path: str) -> tuple[Request, Callable[[Request, Response, str], Page]]:
        match kind:
            case "robots":
                return page_request("/robots.txt"), self._read_robots
            case "map":
                return page_request(path), self._read_map
            case "feed":
                return page_request(path), self._read_feed
            case "list":
                return page_request(path), self._read_list
            case _:
                return page_request(self._paths.home), self._read_home

    def accept(self, _facts: PageFacts) -> None:
        """Go on after a page."""
        self._under_way = None
        self._advance()

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Note that a page could not be read; without robots.txt and the home page nothing more is requested."""
        del missing
        self._under_way = None
        kind, _, path = str(cursor).partition(" ")
        if kind == "robots" and not self._options.obey_robots:
            self._advance()
            return
        name = {"robots": "robots.txt", "home": message("the home page")}.get(kind, path)
        self._problems.append(
            message(
                "{address} could not be read: {reason}; run again",
                address=printable(name, _SHOWN_CHARACTERS),
                reason=reason,
            )
        )
        if kind in {"robots", "home"}:
            self._ended = True
        else:
            self._advance()

    def _advance(self) -> None:
        """Fill the queue from the next ways until it has a page or the list ends."""
        while not self._queue:
            try:
                next(self._stages)
            except StopIteration:
                self._ended = True
                self._conclude()
                return

    def _follow(self) -> Iterator[None]:
        """Yield after each way that was added to the queue."""
        self._ask("home", self._paths.home)
        yield
        if not self._permits(self._paths.home):
            return
        yield from self._follow_sitemaps()
        yield from self._follow_feeds()
        if self._needs_lists():
            rules = self._paths.rules
            for start in rules.lists if rules is not None else ("",):
                self._ask("list", self._paths.home + start)
                yield

    def _follow_sitemaps(self) -> Iterator[None]:
        paths = self._paths
        for place in self._reading.robots.sitemaps:
            # A host of many blogs states the sitemaps of all of them.
            if paths.home == "/" or paths.inside(paths.path_of(place)) is not None:
                self._ask_address("map", place)
        yield
        for guess in paths.rules.sitemaps if paths.rules is not None else _USUAL_SITEMAPS:
            if self._in_sitemaps:
                break
            self._ask("map", paths.home + guess)
            yield

    def _follow_feeds(self) -> Iterator[None]:
        usual = self._paths.rules.feeds if self._paths.rules is not None else USUAL_FEEDS
        for place in (*self._links, *(self._paths.home_address + each for each in usual)):
            if self._feeds_read:
                break
            self._ask_address("feed", place)
            yield

    def _needs_lists(self) -> bool:
        if self._options.walk != "auto":
            return self._options.walk == "always"
        covered = (bool(self._in_sitemaps) and not self._lost_maps) or self._whole_feed
        if covered and self._home is not None:
            covered = not self._shows_others(self._home)
        return not covered or sum(self._stated.values()) > len(self._posts)

    def _shows_others(self, home: PageElement) -> bool:
        """Return whether the home page has links to posts that sitemaps and feeds lack, as if these were old."""
        base = self._paths.home_address
        for post_id in {self._paths.post_at(each, base) for each in self._post_links(home, base)} - {None}:
            path = self._paths.post_path(post_id or "")
            if hash(post_id) not in self._posts and path is not None and self._permits(path):
                return True
        return False

    def _conclude(self) -> None:
        for place, count in sorted(self._elsewhere.items())[:_NAMED]:
            self._reading.note(
                message_n(
                    "{n:,} address on {host} is left out: only the blog's own host is read",
                    "{n:,} addresses on {host} are left out: only the blog's own host is read",
                    count,
                    host=place,
                )
            )

    def _ask_address(self, kind: str, address: str) -> None:
        """Add a page at an absolute address to the queue; one on another host is named."""
        path = self._paths.path_of(address)
        if path is None:
            self._reading.note(
                message("{address} is on another host and left out", address=printable(address, _SHOWN_CHARACTERS))
            )
        else:
            self._ask(kind, path)

    def _ask(self, kind: str, path: str) -> None:
        """Add a page to the queue, once, if the site permits it."""
        cursor = "home" if kind == "home" else f"{kind} {path}"
        if cursor in self._asked:
            return
        limit = {"map": MAX_SITEMAPS, "feed": MAX_FEED_PAGES, "list": MAX_LIST_PAGES}.get(kind)
        if limit is not None:
            self._counts[kind] += 1
            if self._counts[kind] > limit:
                if self._counts[kind] == limit + 1:
                    self._problems.append(
                        message("more than {most:,} pages of the kind {kind} are not read", most=limit, kind=kind)
                    )
                return
        self._asked.add(cursor)
        if not self._permits(path):
            what = message(
                "robots.txt forbids {address}, so it is not read", address=printable(path, _SHOWN_CHARACTERS)
            )
            if kind in {"home", "list"}:
                self._problems.append(message("{what}; if the blog is yours, set obey_robots to no", what=what))
            else:
                self._reading.note(what)
            return
        self._queue.append(cursor)

    def _permits(self, path: str) -> bool:
        return not self._options.obey_robots or self._reading.robots.permits(self._paths.origin + path)

    def _read_robots(self, request: Request, response: Response, _path: str) -> Page:
        """Read robots.txt; a site without one permits everything (RFC 9309, section 2.3.1)."""
        if response.status >= 500 and self._options.obey_robots:
            raise refusal(request, response, message("without it nothing is requested"))
        if response.status == _OK:
            self._reading.robots = read_robots(response.body)
        return Page([], pause=self._reading.robots.delay if self._options.obey_robots else None)

    def _read_home(self, request: Request, response: Response, _path: str) -> Page:
        if response.status != _OK:
            raise refusal(request, response, message("it is no blog's home page"))
        text = decode_page(response.body, response.headers.get("content-type", "")).text
        try:
            self._home = parse_page(text)
        except TooComplex as error:
            self._reading.note(said(error))
            return Page([])
        self._look_at_home(self._home)
        return Page([])

    def _look_at_home(self, home: PageElement) -> None:
        base = self._paths.home_address
        generator = home.first("meta[name=generator]")
        self._wordpress = generator is not None and "wordpress" in generator.attribute("content").lower()
        for address in feed_links(home):
            path = self._paths.path_of(address, base)
            self._links.append(self._paths.origin + path if path is not None else address)
        counts = self._paths.rules.counts if self._paths.rules is not None else None
        for each in home.select("a[href]") if counts is not None else ():
            place = self._paths.inside(self._paths.path_of(each.attribute("href"), base))
            counted = _ENDS_WITH_COUNT.search(each.text())
            if place is not None and counted is not None and counts is not None and counts.fullmatch(place):
                self._stated[place] = int(counted[1])

    def _read_map(self, _request: Request, response: Response, path: str) -> Page:
        if response.status != _OK:
            if path in self._indexed_maps:
                self._lose_map(path, message("it answered {status}", status=response.status))
            return self._without(path, response)
        try:
            found = read_sitemap(response.body, response.headers.get("content-type", ""))
        except NoSitemap as error:
            if path in self._indexed_maps:
                self._lose_map(path, said(error))
            self._reading.note(
                message("{address}: {reason}", address=printable(path, _SHOWN_CHARACTERS), reason=said(error))
            )
            return Page([])
        if found.problem:
            self._problems.append(
                message("{address}: {reason}", address=printable(path, _SHOWN_CHARACTERS), reason=found.problem)
            )
        for place in found.maps:
            self._indexed_maps.add(self._paths.path_of(place) or "")
            self._ask_address("map", place)
        items: list[Any] = []
        for place, lastmod in found.pages:
            self._add(items, place, lastmod)
        self._in_sitemaps += len(items)
        return Page(items)

    def _lose_map(self, path: str, reason: str) -> None:
        """Note that a sitemap in an index could not be read, so that posts may be missing."""
        self._lost_maps += 1
        address = printable(path, _SHOWN_CHARACTERS)
        self._problems.append(message("the sitemap {address} is not read: {reason}", address=address, reason=reason))

    def _read_feed(self, _request: Request, response: Response, path: str) -> Page:
        if response.status != _OK:
            self._whole_feed = self._whole_feed or (self._feeds_read > 1 and response.status in _MISSING)
            return self._without(path, response)
        try:
            feed = read_feed(decode_page(response.body, response.headers.get("content-type", "")).text)
        except NoFeed as error:
            self._reading.note(
                message("{address}: {reason}", address=printable(path, _SHOWN_CHARACTERS), reason=said(error))
            )
            return Page([])
        if feed.mended:
            self._reading.note(
                message("{address} is broken XML, and items may be missing", address=printable(path, _SHOWN_CHARACTERS))
            )
        if feed.cut:
            self._reading.note(
                message(
                    "the feed {address} has more than {most:,} items, and the others are left out",
                    address=printable(path, _SHOWN_CHARACTERS),
                    most=MAX_ITEMS,
                )
            )
        self._feeds_read += 1
        items: list[Any] = []
        known = 0
        for item in feed.items:
            post_id = self._paths.post_at(item.link)
            if post_id is not None:
                self._reading.keep_item(post_id, item)
            known += not self._add(items, item.link, "")
        self._follow_feed(feed, path, new=len(items), known=known)
        return Page(items)

    def _follow_feed(self, feed: Feed, path: str, *, new: int, known: int) -> None:
        """Request a feed's next page, unless this one has only posts that sitemaps have."""
        if feed.complete and not feed.cut:
            self._whole_feed = True
        elif feed.next and (new or self._feeds_read == 1):
            self._ask_address("feed", self._absolute(feed.next, path))
        elif self._wordpress and new and len(feed.items) >= _PAGED_FEED_ITEMS:
            # WordPress counts the pages of its feeds by a parameter and answers 404 after the last one.
            place, _, _ = path.partition("?")
            self._ask("feed", f"{place}?paged={self._feeds_read + 1}")
        else:
            self._whole_feed = self._whole_feed or (self._feeds_read > 1 and not known)

    def _absolute(self, address: str, path: str) -> str:
        found = self._paths.path_of(address, self._paths.origin + path)
        return address if found is None else self._paths.origin + found

    def _read_list(self, _request: Request, response: Response, path: str) -> Page:
        if response.status != _OK:
            if response.status not in {404, 410}:
                self._problems.append(
                    message(
                        "{address} answered {status}",
                        address=printable(path, _SHOWN_CHARACTERS),
                        status=response.status,
                    )
                )
            return Page([])
        address = self._paths.origin + path
        try:
            root = parse_page(decode_page(response.body, response.headers.get("content-type", "")).text)
        except TooComplex as error:
            self._problems.append(
                message("{address}: {reason}", address=printable(path, _SHOWN_CHARACTERS), reason=said(error))
            )
            return Page([])
        items: list[Any] = []
        links = list(self._post_links(root, address))
        for link in links:
            self._add(items, link, "", base=address)
        # Without rules, lists that repeat known posts may still lead to others.
        alive = bool(items) or (self._paths.rules is None and bool(links))
        self._barren = 0 if alive else self._barren + 1
        short = sum(self._stated.values()) > len(self._posts)
        if self._barren >= MAX_BARREN_PAGES and not (short and self._barren < 5 * MAX_BARREN_PAGES):
            self._leave_lists()
            return Page(items)
        for place in self._following(root, address):
            if not alive and f"list {place}" not in self._asked:
                self._beyond.add(f"list {place}")
            self._ask("list", place)
        return Page(items)

    def _following(self, root: PageElement, address: str) -> Iterator[str]:
        """Yield the other list pages that a list page links; the next one may have any address."""
        for each in [*root.select("link[rel~=next], a[rel~=next]"), *root.select("a[href]")]:
            target = each.attribute("href")
            place = self._paths.list_at(target, address)
            if place is None and self._paths.rules is None and _says_next(each):
                path = self._paths.path_of(target, address)
                place = path if self._paths.inside(path) else None
            if place is not None:
                yield place

    def _leave_lists(self) -> None:
        """Request no other list page; it is a problem if pages with posts link one."""
        left = [each for each in self._queue if each.startswith("list ")]
        self._queue = deque(each for each in self._queue if not each.startswith("list "))
        missed = [each for each in left if each not in self._beyond] if self._paths.rules is None else []
        if missed:
            self._problems.append(
                message_n(
                    "{n:,} list page was not followed, because the {most} before it had no entry ({addresses})",
                    "{n:,} list pages were not followed, because the {most} before them had no entry ({addresses})",
                    len(missed),
                    most=MAX_BARREN_PAGES,
                    addresses=listed(printable(each[5:], 80) for each in missed[:_NAMED]),
                )
            )

    def _post_links(self, root: PageElement, address: str) -> Iterator[str]:
        """Yield the links to posts; without rules those that themes mark as such, or that look like known posts."""
        if self._paths.rules is not None:
            yield from (each.attribute("href") for each in root.select("a[href]"))
            return
        for selector in _POST_LINKS:
            found = [
                target
                for each in root.select(selector)
                if not _says_next(each) and self._paths.post_at(target := each.attribute("href"), address)
            ]
            if found:
                yield from found
                break
        for each in root.select("a[href]"):
            post_id = self._paths.post_at(each.attribute("href"), address)
            if post_id is not None and not _says_next(each) and self._shapes[_shape(post_id)] >= _LEAST_ALIKE:
                yield each.attribute("href")

    def _without(self, path: str, response: Response) -> Page:
        if response.status not in _MISSING:
            self._reading.note(
                message(
                    "{address} answered {status}", address=printable(path, _SHOWN_CHARACTERS), status=response.status
                )
            )
        return Page([])

    def _add(self, items: list[Any], address: str, lastmod: str, *, base: str = "") -> bool:
        """Add a post to the items of a page; return whether it is new."""
        post_id = self._paths.post_at(address, base)
        path = None if post_id is None else self._paths.post_path(post_id)
        if post_id is None or path is None:
            self._note_other(address)
            return False
        mark = hash(post_id)
        if mark in self._posts:
            return False
        if len(self._posts) >= self._options.max_posts:
            most = message("more than {most:,} entries are not read: raise max_posts", most=self._options.max_posts)
            if most not in self._problems:
                self._problems.append(most)
            return False
        if not self._permits(path):
            if mark not in self._forbidden_posts and len(self._forbidden) < _NAMED:
                self._forbidden.append(printable(path, _SHOWN_CHARACTERS))
            self._forbidden_posts.add(mark)
            return False
        self._posts.add(mark)
        self._shapes[_shape(post_id)] += 1
        item = {"id": post_id, "url": self._paths.origin + path}
        items.append({**item, "lastmod": lastmod} if lastmod else item)
        return True

    def _note_other(self, address: str) -> None:
        found = re.match(r"https?://([^/?#]{1,100})", address, re.IGNORECASE)
        if found is not None and self._paths.path_of(address) is None and len(self._elsewhere) < 100:
            host = printable(found[1].lower(), 100)
            self._elsewhere[host] = self._elsewhere.get(host, 0) + 1


def _says_next(link: PageElement) -> bool:
    """Return whether a link on a list page leads to the next one."""
    if "next" in link.attribute("rel").lower().split():
        return True
    texts = [link.text(), link.attribute("aria-label"), link.attribute("title")]
    texts += [each.attribute("alt") for each in link.select("img")]
    return any(_NEXT.fullmatch(each) for each in texts if each)


def _shape(post_id: str) -> str:
    """Return the form of an address: its folders, with a mark for each number, and for a name below a folder."""
    place, _, query = post_id.partition("?")
    folders, _, name = place.rstrip("/").rpartition("/")
    stem, dot, extension = name.partition(".")
    has_number = any(each.isdigit() for each in stem)
    shown = re.sub("[0-9]+", "#", stem) if has_number or not folders else "*"
    return f"{re.sub('[0-9]+', '#', folders)}/{shown}{dot}{extension}?{re.sub('[0-9]+', '#', query)}"
