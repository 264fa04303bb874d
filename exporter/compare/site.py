"""Any site as a new home: the pages that its sitemap or its feed lists.

Sitemaps and feeds are untrusted. Regular expressions find the addresses in them, so no document can attack an XML
parser. Only addresses on the site's own host are requested.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from exporter.compare.addresses import follow
from exporter.compare.pages import read_page
from exporter.compare.pictures import PictureReader, each_of
from exporter.compare.posts import Aspect, HomeState, NewPost, Unchecked
from exporter.errors import ServiceError
from exporter.html.links import absolute, host_of
from exporter.html.tree import TooComplex
from exporter.http.engine import Client
from exporter.message import message, said
from exporter.model.exchange import Request, Response

_SITEMAPS: Final = ("sitemap.xml", "sitemap_index.xml", "wp-sitemap.xml", "sitemap-index.xml")
_FEEDS: Final = ("index.xml", "feed/", "feed.xml", "atom.xml", "rss.xml", "feeds/all.atom.xml")
_LOCATION: Final = re.compile(r"<loc>\s*(?:<!\[CDATA\[)?([^<\]]{1,8000})", re.IGNORECASE)
_ITEM_LINK: Final = re.compile(
    r"<link>\s*(?:<!\[CDATA\[)?\s*([^<\]\s]{1,8000})|<link\s[^<>]*?\bhref=[\"']([^\"']{1,8000})"
)
_FEED_LINK: Final = re.compile(r"<link\s[^<>]*application/(?:rss|atom)\+xml[^<>]*>", re.IGNORECASE)
_HREF: Final = re.compile(r"\bhref=[\"']?([^\"'\s>]+)")
_ROBOTS: Final = re.compile(r"^sitemap:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_CHARSET: Final = re.compile(r"charset=[\"']?([A-Za-z0-9_.:-]{1,40})")
_SITEMAPS_READ: Final = 100
_PAGES_READ: Final = 50_000
_NEWEST_ONLY: Final = message("the site has a feed and no sitemap, and a feed may list the newest entries only")
_TOO_MANY: Final = message("the site lists more than {n:,} pages", n=_PAGES_READ)
_PUBLIC_ONLY: Final = message("a site shows public entries only")
_NO_PAGE: Final = re.compile(r"\.(?:jpe?g|png|gif|webp|svg|pdf|xml|css|js|zip|mp[34]|ico)$", re.IGNORECASE)


@dataclass(slots=True)
class _Listed:
    """The addresses of pages, and the reason why some may be missing."""

    pages: dict[str, None] = field(default_factory=dict)
    partial: str = ""


class SiteHome:
    """A site.

    Args:
        client: sends requests to the site's host only.
        address: the address of the site, its sitemap or its feed.
        pictures: reads its pictures.
        progress: called with the number of pages read.
    """

    def __init__(self, client: Client, address: str, pictures: PictureReader, progress: Callable[[int], None]) -> None:
        self._client = client
        self._address = address
        self._origin = client.origin
        self.pictures = pictures.read
        self._progress = progress
        self._unread: Counter[str] = Counter()

    async def read(self) -> HomeState:
        """Read all listed pages.

        Raises:
            ServiceError: the site has neither a sitemap nor a feed, lists nothing, or does not answer.
        """
        listed = await self._listed()
        if not listed.pages:
            raise ServiceError(
                "{place} lists no page on its own host. Is it built for another host?", place=self._client.sender.place
            )
        posts: dict[str, NewPost] = {}

        async def read(address: str) -> None:
            try:
                text = await self._text(address)
                if text is None:
                    self._unread[message("listed but missing")] += 1
                else:
                    posts[address] = read_page(text, address)
                    self._progress(len(posts))
            except TooComplex:
                self._unread[message("too large or too complex to be read")] += 1
            except ServiceError as error:
                self._unread[said(error)] += 1

        await each_of(list(listed.pages), read)
        unread = [
            Unchecked(Aspect.TEXT, count, message("pages: {why}", why=why)) for why, count in self._unread.items()
        ]
        in_order = [posts[address] for address in listed.pages if address in posts]
        return HomeState("site", in_order, unread, _PUBLIC_ONLY, listed.partial, host_of(self._origin))

    async def follow(self, addresses: Sequence[str]) -> Mapping[str, str]:
        """Return where old addresses lead, if their paths are requested from this site."""
        return await follow(self._client, addresses)

    async def _listed(self) -> _Listed:
        if self._address.endswith((".xml", ".rss", ".atom")):
            text = await self._text(self._address)
            return await self._of_document(text or "", [self._address])
        base = self._address.rstrip("/") + "/"
        robots = await self._text(f"{self._origin}/robots.txt")
        named = [each for found in _ROBOTS.findall(robots or "") if (each := absolute(found, base)) is not None]
        for place in dict.fromkeys([*named, *(base + name for name in _SITEMAPS)]):
            text = await self._text(place)
            if text is not None and _LOCATION.search(text):
                return await self._of_document(text, [place])
        front = await self._text(base) or ""
        hrefs = [found[1] for link in _FEED_LINK.findall(front) if (found := _HREF.search(link)) is not None]
        feeds = [each for href in hrefs if (each := absolute(unescape(href), base)) is not None]
        for place in dict.fromkeys([*feeds, *(base + name for name in _FEEDS)]):
            text = await self._text(place)
            if text is not None and ("<rss" in text or "<feed" in text):
                return await self._of_document(text, [place])
        raise ServiceError(
            "{place} has neither a sitemap nor a feed: name the address of one.", place=self._client.sender.place
        )

    async def _of_document(self, text: str, seen: list[str]) -> _Listed:
        """Return the pages in a sitemap, an index of sitemaps or a feed."""
        listed = _Listed()
        waiting = [text]
        while waiting:
            text = waiting.pop(0)
            is_feed = "<rss" in text or "<feed" in text
            locations = [a or b for a, b in _ITEM_LINK.findall(text)] if is_feed else _LOCATION.findall(text)
            listed.partial = listed.partial or (_NEWEST_ONLY if is_feed else "")
            for location in locations:
                address = absolute(unescape(location.strip()), self._origin)
                if address is None or not address.startswith(f"{self._origin}/"):
                    continue
                if "<sitemapindex" in text and address not in seen and len(seen) < _SITEMAPS_READ:
                    seen.append(address)
                    waiting.append(await self._text(address) or "")
                elif "<sitemapindex" not in text and not _NO_PAGE.search(urlsplit(address).path):
                    listed.pages[address] = None
            if len(listed.pages) > _PAGES_READ:
                return _Listed(dict.fromkeys(list(listed.pages)[:_PAGES_READ]), _TOO_MANY)
        return listed

    async def _text(self, address: str) -> str | None:
        """Return the text at an address of the site; ``None`` if the status is not 200."""
        parts = urlsplit(address)
        request = Request("a page", parts.path or "/", dict(parse_qsl(parts.query)), {"Accept": "*/*"})

        def read(response: Response) -> str | None:
            return decoded(response) if response.status == 200 else None

        return await self._client.fetch(request, read, probe=True)


def decoded(response: Response) -> str:
    """Return a page's text, decoded as its headers or head state, else as UTF-8."""
    said = _CHARSET.search(response.headers.get("content-type", "")) or _CHARSET.search(
        response.body[:2048].decode("ascii", "replace")
    )
    try:
        return response.body.decode(said[1] if said is not None else "utf-8", "replace")
    except LookupError:
        return response.body.decode("utf-8", "replace")
