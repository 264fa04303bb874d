"""Tell a blog's own addresses and posts from others, and read a post's id in its address. Pure.

An id comes from the address alone. So a post keeps it, and a gone post can still be requested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import urlsplit

from exporter.html.links import absolute
from exporter.service.declarations import AUTO_RULES, NO_RULES
from exporter.service.public_site.page_rules import PageRules, rules_for_host, rules_named

MAX_ID_CHARACTERS: Final = 900
_TRACKING: Final = re.compile(r"(?:utm_[a-z]+|fbclid|gclid|yclid)=[^&]*&?", re.IGNORECASE)
_FILES: Final = re.compile(
    r".*\.(?:avif|bmp|css|doc|docx|gif|gz|ico|jpe?g|js|json|m4a|mov|mp3|mp4|pdf|png|rdf|rss|svg|txt|webp|xlsx?|xml|zip)",
    re.IGNORECASE,
)
_NUMBERED: Final = (
    r"(?:(?:.*/)?(?:(?:index|list|top|archives?)[_-]?|page[_-])[0-9]{1,5}\.(?:s?html?|php|aspx?|cgi)"
    r"|(?:.*/)?(?:archives?|date|month|monthly|log|blog-date|past|backnumber)[/_-](?:date[/_-])?(?:19|20)[0-9]{2}"
    r"(?:/|[/_-]?(?:0[1-9]|1[0-2])(?:[_-][0-9]{1,3})?(?:\.(?:s?html?|php)|/|/index\.html?)?)?"
    r"|(?:.*/)?(?:archives?|backnumber|past|monthly|allposts|all-posts|entrylist|sitemap)\.(?:s?html?|php)"
    r"|(?:.*/)?pages?[/_-]?[0-9]{1,5}/?)"
)
"""Lists by number or month, as programs write them that make static pages."""
_LISTS: Final = re.compile(
    r"(?:(?:.*/)?(?:category|categories|tag|tags|author|authors|topics?|page|feed|search|comments|label)/.*"
    r"|(?:.*/)?(?:archives?|categories|tags|authors|posts?|blog|feed|search|login|contact)/?"
    r"|(?:archives?/)?[12][0-9]{3}(?:/[0-9]{1,2}){0,2}/?"
    rf"|{_NUMBERED}"
    r"|(?:wp-(?:admin|content|includes|json)/.*|wp-login\.php.*)"
    r"|(?:.*\?)(?:cat|tag|author|paged|page|pg|s|q|replytocom|share)=.*"
    r"|(?:.*\?)(?:m|y|month)=[0-9]+(?:&.*)?"
    r"|(?:.*\?)(?:ym|date)=[12][0-9]{3}-?[01][0-9])",
    re.IGNORECASE,
)
"""Addresses that usual programs have for lists of posts, searches and their own pages."""


@dataclass(frozen=True, slots=True)
class SitePaths:
    """Tells a blog's own addresses from others.

    Attributes:
        origin: the address that requests go to, such as ``https://blog.example``.
        authorities: the hosts, with a port if it is unusual, under which the blog's pages are known.
        home: the path of its home, such as ``/`` or ``/user/``.
        rules: of its service; ``None`` if it is unknown.
    """

    origin: str
    authorities: frozenset[str]
    home: str = "/"
    rules: PageRules | None = None

    @property
    def home_address(self) -> str:
        """The address of the home page."""
        return self.origin + self.home

    def path_of(self, address: str, base: str = "") -> str | None:
        """Return the path and query of an address on the blog's host; ``None`` for any other address.

        Args:
            address: as written on a page or in a feed.
            base: the page's address, for relative ones.
        """
        found = absolute(address, base or self.home_address)
        if found is None:
            return None
        parts = urlsplit(found)
        if parts.netloc.rpartition("@")[2].removeprefix("www.") not in self.authorities or "@" in parts.netloc:
            return None
        query = _TRACKING.sub("", parts.query).rstrip("&")
        return parts.path + (f"?{query}" if query else "")

    def inside(self, path: str | None) -> str | None:
        """Return a path relative to the blog's home; ``None`` if it is elsewhere on the host."""
        if path is None:
            return None
        if path == self.home.rstrip("/"):
            return ""
        return path[len(self.home) :] if path.startswith(self.home) else None

    def post_at(self, address: str, base: str = "") -> str | None:
        """Return the id of the post at an address; ``None`` if the address is not that of a post."""
        place = self.inside(self.path_of(address, base))
        if not place:
            return None
        if self.rules is not None:
            found = self.rules.id_of(place)
        else:
            found = None if _FILES.fullmatch(place.partition("?")[0]) or _LISTS.fullmatch(place) else place
        return found if found and len(found) <= MAX_ID_CHARACTERS else None

    def post_path(self, post_id: str) -> str | None:
        """Return the path and query of the post with an id; ``None`` if no post of this blog can have it."""
        if self.rules is not None:
            place = self.rules.place_of(post_id)
            return None if place is None else self.home + place
        path = self.home + post_id
        return path if self.path_of(self.origin + path) == path else None

    def list_at(self, address: str, base: str = "") -> str | None:
        """Return the path of a list page at an address; ``None`` if it is no list page."""
        path = self.path_of(address, base)
        place = self.inside(path)
        if path is None or place is None:
            return None
        if self.rules is not None:
            pattern = self.rules.list_pages
            return path if pattern is not None and pattern.fullmatch(place) else None
        return path if _PAGED.fullmatch(place) or _is_numbered(path, base) else None


def _is_numbered(path: str, base: str) -> bool:
    """Return whether an address is a page in the list at ``base``, by a number in its query such as ``?page=2``."""
    place, _, query = path.partition("?")
    return place == urlsplit(base).path and _NUMBER.fullmatch(query) is not None


_NUMBER: Final = re.compile(r"(?:paged?|pg|offset|start|pageno|page_no|currentpage)=[0-9]{1,6}", re.IGNORECASE)
_PAGED: Final = re.compile(
    rf"(?:(?:.*/)?page/[0-9]{{1,5}}/?|\?(?:paged?|pg)=[0-9]{{1,5}}|\?(?:m|ym|month|date)=[12][0-9]{{3}}-?[01][0-9]"
    rf"|(?:archives?/)?[12][0-9]{{3}}(?:/[0-9]{{1,2}})?/?|archives?/?|{_NUMBERED})",
    re.IGNORECASE,
)
"""List pages of usual programs that show posts by number or month; days and tags repeat them."""


@cache
def site_paths(blog_id: str, base_url: str | None, rules_name: str) -> SitePaths:
    """Return the addresses of a blog. Its id is its host, or its host and path on a host of many blogs."""
    host, _, folder = blog_id.partition("/")
    origin = f"https://{host}"
    authorities = {host.lower().removeprefix("www.")}
    if base_url:
        parts = urlsplit(base_url)
        origin = f"{parts.scheme}://{parts.netloc}"
        authorities.add(parts.netloc.lower().removeprefix("www."))
    rules = _rules(rules_name, host.lower().partition(":")[0])
    home = f"/{folder.strip('/')}/" if folder.strip("/") else "/"
    return SitePaths(origin, frozenset(authorities), home, rules)


def _rules(name: str, host: str) -> PageRules | None:
    if name == NO_RULES:
        return None
    return rules_for_host(host) if name == AUTO_RULES else rules_named(name)
