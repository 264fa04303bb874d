"""The scope of a capture: the blog's pages, the files that they need, and the addresses that are left out. Pure.

The blog's pages are on its host, below its path. Pages that only a visitor's action makes (a sign-in, an answer to a
comment, a search, another order) are left out, and so are the endless ones. Each left-out address has a reason, which
the capture counts and names. The addresses of entries in the archive are never left out by their form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum, auto
from typing import Final, NamedTuple

from exporter.html.links import is_picture
from exporter.html.page_references import ReferenceRole
from exporter.html.web_address import WebAddress, parsed
from exporter.message import Message, message

MAX_QUERIES_OF_A_FORM: Final = 500
"""Addresses that differ only in the values of a query. More are made by a script, such as a calendar or a filter."""
MAX_DATES_OF_A_FORM: Final = 2_000
"""Lists by day or month that differ only in the date."""
MAX_REQUISITE_STEPS: Final = 6
"""Steps from a page to a file: a style sheet, its imports, and their fonts need four."""
_MAX_SEGMENTS: Final = 16
_MAX_REPEATS: Final = 3
_MAX_CHARACTERS: Final = 2_000
_FIRST_YEAR: Final = 1995


class AddressKind(StrEnum):
    """The two kinds of addresses that are asked."""

    PAGE = auto()
    REQUISITE = auto()


class LeftOut(StrEnum):
    """Why an address of the blog is left out."""

    SIGN_IN = "sign_in"
    PROGRAM = "program"
    REPLY = "reply"
    SHARE = "share"
    SEARCH = "search"
    ORDER = "order"
    SESSION = "session"
    COMMENT_FEED = "comment_feed"
    ENDLESS = "endless"
    TOO_MANY = "too_many"
    OTHER_BLOG = "other_blog"
    SKIPPED_HOST = "skipped_host"
    ROBOTS = "robots"
    TOO_DEEP = "too_deep"
    FORGOTTEN = "forgotten"


REASONS: Final[dict[LeftOut, Message]] = {
    LeftOut.SIGN_IN: message("pages for signing in or for the owner"),
    LeftOut.PROGRAM: message("addresses for programs"),
    LeftOut.REPLY: message("forms for answers to comments"),
    LeftOut.SHARE: message("links for sharing or printing"),
    LeftOut.SEARCH: message("searches"),
    LeftOut.ORDER: message("the same lists in another order"),
    LeftOut.SESSION: message("addresses of a single visit"),
    LeftOut.COMMENT_FEED: message("feeds of single pages"),
    LeftOut.ENDLESS: message("addresses without end"),
    LeftOut.TOO_MANY: message("addresses of one form beyond the limit"),
    LeftOut.OTHER_BLOG: message("pages of other blogs on this host"),
    LeftOut.SKIPPED_HOST: message("files of hosts that a setting skips"),
    LeftOut.ROBOTS: message("addresses that robots.txt forbids"),
    LeftOut.TOO_DEEP: message("files that only other files need, too many steps away"),
    LeftOut.FORGOTTEN: message("addresses that show forgotten records"),
}
"""The words for each reason, in the plural."""


class WantedAddress(NamedTuple):
    """An address to ask, and its kind."""

    url: str
    kind: AddressKind


_SIGN_IN: Final = re.compile(
    r"(?:.*/)?(?:wp-login\.php|wp-admin|wp-signup\.php|wp-register\.php|wp-activate\.php|admin|administrator|login|logout"
    r"|log-in|log-out|sign-?in|sign-?up|sign-?out|register|registration|auth|oauth|mypage|dashboard|lost-?password"
    r"|my-account|cart|checkout)(?:[/.].*)?",
    re.IGNORECASE,
)
_PROGRAM: Final = re.compile(
    r"(?:.*/)?(?:xmlrpc\.php|wp-json(?:/.*)?|wp-trackback\.php|trackback/?|wp-comments-post\.php|wp-cron\.php"
    r"|mt-(?:comments|tb|search|cp)\.cgi(?:/.*)?|cgi-bin/.*|embed/?|oembed/?|amp/?)",
    re.IGNORECASE,
)
_SHARE: Final = re.compile(
    r"(?:.*/)?(?:share|sharer|tweet|print|printer|sendto|email|tell-?a-?friend)/?", re.IGNORECASE
)
_SEARCH: Final = re.compile(r"(?:.*/)?search(?:/.*|\.(?:php|cgi|html?))?", re.IGNORECASE)
_FEED: Final = re.compile(r".+/(?:feed|rss|atom)(?:/(?:atom|rss2?|rdf))?/?", re.IGNORECASE)
_QUERY_REASONS: Final[dict[str, LeftOut]] = {
    **dict.fromkeys(
        ("replytocom", "reply", "reply_to", "replyto", "comment_reply", "parent_comment", "quote", "unapproved"),
        LeftOut.REPLY,
    ),
    **dict.fromkeys(("share", "print", "printable", "email", "nb", "like", "openidserver"), LeftOut.SHARE),
    **dict.fromkeys(("s", "q", "search", "keyword", "keywords", "query", "word"), LeftOut.SEARCH),
    **dict.fromkeys(("sort", "sortby", "sort_by", "order", "orderby", "order_by", "dir", "direction"), LeftOut.ORDER),
    **dict.fromkeys(
        ("phpsessid", "sid", "jsessionid", "session", "sessionid", "session_id", "_wpnonce", "nonce", "csrf", "token"),
        LeftOut.SESSION,
    ),
    **dict.fromkeys(("action", "add-to-cart", "redirect_to", "login", "logout"), LeftOut.SIGN_IN),
}
_NUMBERING: Final = frozenset(
    {"p", "page_id", "paged", "page", "eid", "id", "no", "num", "entry", "article", "attachment_id", "cat", "category"}
    | {"cid", "start", "offset", "tag_id", "post", "pid"}
)
"""Names of parameters that select a post or a page of a list by number."""
_TRACKING: Final = re.compile(r"(?:utm_[a-z]+|fbclid|gclid|yclid|mc_[ce]id|_ga)=[^&]*&?", re.IGNORECASE)
_DATED: Final = re.compile(
    r"(?:[^?]*/)?(?P<year>19[0-9]{2}|2[01][0-9]{2})"
    r"(?:/?(?:0[1-9]|1[0-2])(?:/?(?:0[1-9]|[12][0-9]|3[01]))?|-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)"
    r"(?:/(?:page/)?[0-9]{1,4})?(?:\.html?)?/?"
)
"""A path that ends with a month or a day: a list, and not one of the entries. Other numbers are ids."""
_DIGITS: Final = re.compile(r"[0-9]+")


@dataclass
class CaptureScope:
    """Decides about addresses; counts the forms that scripts can make without end.

    Attributes:
        home: the final address of the home page, whose scheme and host are used for all pages.
        this_year: the year of the capture: lists of later years do not exist.
        names: the blog's further hosts, with a port if it is unusual.
        skipped_hosts: hosts whose files are left out.
    """

    home: str
    this_year: int
    names: frozenset[str] = frozenset()
    skipped_hosts: frozenset[str] = frozenset()
    _forms: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        found = parsed(self.home)
        if found is None:
            raise ValueError(self.home)
        self._home = found
        self._folder = found.path[: found.path.rfind("/") + 1]
        self._authorities = {_without_www(each) for each in (found.authority, *self.names)}

    @property
    def description(self) -> list[str]:
        """The prefixes of its pages' addresses, for people and for ``capture.json``."""
        hosts = [self._home.authority, *sorted(self.names - {self._home.authority})]
        return [f"{self._home.scheme}://{host}{self._folder}" for host in hosts]

    def moved_to(self, home: str) -> CaptureScope:
        """Return the scope after the home page led to another spelling of its address or to another host."""
        names = self.names | {self._home.authority}
        return replace(self, home=home, names=frozenset(names), _forms=self._forms)

    def own(self, url: str) -> str | None:
        """Return the one spelling of an address of the blog; ``None`` if it is on another host or in another folder.

        ``www`` and the scheme make no difference for blogs. Parameters that only count where visitors came from are
        dropped.
        """
        found = parsed(url)
        if found is None or not self._is_own_host(found) or not self._is_inside(found):
            return None
        return str(self._spelled(found))

    def is_own_host(self, url: str) -> bool:
        """Return whether an address is on a host of the blog."""
        found = parsed(url)
        return found is not None and self._is_own_host(found)

    def link(self, url: str) -> WantedAddress | LeftOut | None:
        """Decide about the target of a link on a page; ``None`` for the page of another site."""
        found = parsed(url)
        if found is None:
            return None
        if is_picture(url):
            return self.requisite(url)
        if not self._is_own_host(found):
            return None
        if not self._is_inside(found):
            return LeftOut.OTHER_BLOG
        found = self._spelled(found)
        return self._reason(found) or WantedAddress(str(found), AddressKind.PAGE)

    def requisite(self, url: str, steps: int = 1) -> WantedAddress | LeftOut | None:
        """Decide about a file that a page, or a file ``steps`` away from a page, needs; ``None`` for no address."""
        found = parsed(url)
        if found is None:
            return None
        if found.authority.partition(":")[0] in self.skipped_hosts:
            return LeftOut.SKIPPED_HOST
        if steps > MAX_REQUISITE_STEPS:
            return LeftOut.TOO_DEEP
        if len(url) > _MAX_CHARACTERS or _repeats(found.path):
            return LeftOut.ENDLESS
        if self._is_own_host(found):
            found = found._replace(scheme=self._home.scheme, authority=self._home.authority)
        return WantedAddress(str(found), AddressKind.REQUISITE)

    def reference(
        self, url: str, role: ReferenceRole, *, steps: int, of_home: bool = False
    ) -> WantedAddress | LeftOut | None:
        """Decide about a reference of a page (``steps`` 0) or of a file that a page needs."""
        if role is ReferenceRole.LINK:
            return self.link(url) if steps == 0 else None
        if role is ReferenceRole.FEED:
            own = self.own(url) if steps == 0 else None
            if own is None:
                return None
            return WantedAddress(own, AddressKind.PAGE) if of_home else LeftOut.COMMENT_FEED
        if role is ReferenceRole.FRAME and steps == 0 and self.own(url) is not None:
            return self.link(url)
        return self.requisite(url, steps + 1)

    def count(self, url: str) -> LeftOut | None:
        """Count a new page; return the reason to leave it out if scripts have made too many of its form.

        Each address must be counted once, also those that an interrupted run had found.
        """
        found = parsed(url)
        if found is None:
            return None
        place = found.path[len(self._folder) :]
        if found.query is not None:
            names = sorted(_names(found.query))
            if len(names) == 1 and names[0] in _NUMBERING:
                return None
            form, most = f"{_DIGITS.sub('0', place)}?{'&'.join(names)}", MAX_QUERIES_OF_A_FORM
        elif _DATED.fullmatch(place):
            form, most = _DIGITS.sub("0", place), MAX_DATES_OF_A_FORM
        else:
            return None
        self._forms[form] += 1
        return LeftOut.TOO_MANY if self._forms[form] > most else None

    def _is_own_host(self, address: WebAddress) -> bool:
        return _without_www(address.authority) in self._authorities

    def _is_inside(self, address: WebAddress) -> bool:
        return address.path.startswith(self._folder) or address.path == self._folder.rstrip("/")

    def _spelled(self, address: WebAddress) -> WebAddress:
        query = address.query
        if query:
            query = _TRACKING.sub("", query).rstrip("&")
        return WebAddress(self._home.scheme, self._home.authority, address.path, query or None)

    def _reason(self, address: WebAddress) -> LeftOut | None:
        """Return the reason to leave out a page by its form."""
        place = address.path[len(self._folder) :]
        for pattern, reason in (
            (_SIGN_IN, LeftOut.SIGN_IN),
            (_PROGRAM, LeftOut.PROGRAM),
            (_SEARCH, LeftOut.SEARCH),
            (_SHARE, LeftOut.SHARE),
            (_FEED, LeftOut.COMMENT_FEED),
        ):
            if pattern.fullmatch(place):
                return reason
        for name in _names(address.query):
            found = _QUERY_REASONS.get(name)
            if found is not None:
                return found
        if len(str(address)) > _MAX_CHARACTERS or _repeats(address.path):
            return LeftOut.ENDLESS
        dated = _DATED.fullmatch(place) if address.query is None else None
        if dated is not None and not _FIRST_YEAR <= int(dated["year"]) <= self.this_year + 1:
            return LeftOut.ENDLESS
        return None


def _names(query: str | None) -> Iterable[str]:
    return (part.partition("=")[0].lower() for part in (query or "").split("&") if part)


def _repeats(path: str) -> bool:
    """Return whether a path is too deep, or has a part that returns, as relative links on error pages make."""
    segments = [each for each in path.split("/") if each]
    if len(segments) > _MAX_SEGMENTS:
        return True
    counts = Counter(each for each in segments if not each.isdigit())
    return any(count > _MAX_REPEATS for count in counts.values())


def _without_www(authority: str) -> str:
    return authority.removeprefix("www.")
