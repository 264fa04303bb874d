"""Find a blog's AtomPub by its host, its home page, or the documents that this page names. Pure.

A page may name the service document itself (``rel="service"``), or a document of Really Simple Discovery
(``rel="EditURI"``). Hatena Blog's pages have no such link, but their ``html`` element names the blog and its owner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin, urlsplit

from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.service.atompub.xml_documents import decoded, parsed
from exporter.service.declarations import ATOMPUB, HATENA, LIVEDOOR
from exporter.service.discovery import Exploration, HomePage, WayIn
from exporter.text import printable
from exporter.xml.tree import NotXml, XmlElement

_HEAD_CHARACTERS: Final = 200_000
_MAX_LINKS: Final = 200
_RANK: Final = 40
"""Behind feeds and pages, since nothing can be read without a sign-in."""
_HATENA_AUTHOR: Final = re.compile(r"https?://(?:www|profile)\.hatena\.ne\.jp/([A-Za-z][A-Za-z0-9_-]{1,31})/")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_HOST: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}")
_SERVICE_TYPES: Final = frozenset({"application/atomsvc+xml", "application/atomserv+xml"})
_ATOM_APIS: Final = frozenset({"atom", "atompub", "atom publishing protocol"})
_SIGN_IN: Final = message("everything needs a sign-in, which also gives drafts and the unrendered text")
_NO_COMMENTS: Final = message("it has no comments; the blog's pages and its export file do")
_NO_AUDIENCE: Final = message("it does not say whether the blog is public: state it with the setting atompub_audience")
_NEWEST: Final = message("only the 20 newest entries are documented; the export file of the blog has all")


@dataclass
class _Head(HTMLParser):
    """The facts of a page's head."""

    html: dict[str, str] = field(default_factory=dict)
    links: list[dict[str, str]] = field(default_factory=list)
    title: str = ""
    _in_title: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "html" and not self.html:
            self.html = named
        elif tag == "link" and len(self.links) < _MAX_LINKS:
            self.links.append(named)
        self._in_title = tag == "title" and not self.title

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data

    def handle_endtag(self, _tag: str) -> None:
        self._in_title = False

    def first(self, relation: str, types: frozenset[str] = frozenset()) -> str:
        """Return the address in the first link with a relation whose media type, if stated, is one of these."""
        for each in self.links:
            kind = each.get("type", "").partition(";")[0].strip().lower()
            if relation in each.get("rel", "").lower().split() and (not types or not kind or kind in types):
                return each.get("href", "").strip()
        return ""


def explore(home: HomePage) -> Exploration | None:
    """Return an exploration of a home page; ``None`` if nothing there points to AtomPub."""
    host = (urlsplit(home.url).hostname or "").lower()
    head = _Head()
    head.feed(home.html[:_HEAD_CHARACTERS])
    blog = head.html.get("data-blog", "").lower()
    if HATENA.is_of(host) or HATENA.is_of(blog):
        return _at_once(_hatena(host if HATENA.is_of(host) else blog, head))
    if LIVEDOOR.is_of(host):
        return _at_once(_livedoor(host, home.url, head))
    service, simple = head.first("service", _SERVICE_TYPES), head.first("edituri")
    if not service and not simple:
        return None
    return _documents(home, head, service, simple)


def _at_once(way: WayIn) -> Exploration:
    """Return an exploration without a request."""
    yield from ()
    return way


def _hatena(blog: str, head: _Head) -> WayIn:
    author = _HATENA_AUTHOR.match(head.first("author"))
    owner = head.html.get("data-blog-owner", "") or (author[1] if author is not None else "")
    settings = {"profile": HATENA.name}
    if _WORD.fullmatch(owner):
        settings["atompub_owner"] = owner
    lacks = [_SIGN_IN, _NO_COMMENTS]
    public = head.html.get("data-blog-is-public")
    if public is None:
        lacks.append(_NO_AUDIENCE)
    elif public != "1":
        settings["atompub_audience"] = "members"
    title = head.html.get("data-blog-name", "") or head.title
    return _way(HATENA.settings["base_url"], blog, message("Hatena Blog AtomPub"), title, tuple(lacks), settings)


def _livedoor(host: str, url: str, head: _Head) -> WayIn:
    settings = {"profile": LIVEDOOR.name}
    folder = urlsplit(url).path.strip("/").partition("/")[0]
    if host == "blog.livedoor.jp" and _WORD.fullmatch(folder):
        settings["atompub_name"] = folder
    lacks = (_SIGN_IN, _NEWEST, _NO_COMMENTS, _NO_AUDIENCE)
    return _way(LIVEDOOR.settings["base_url"], host, message("livedoor Blog AtomPub"), head.title, lacks, settings)


def _documents(home: HomePage, head: _Head, service: str, simple: str) -> Exploration:
    """Read the document of Really Simple Discovery if the page names no service document."""
    address = _absolute(home.url, service)
    if not address:
        place = _absolute(home.url, simple)
        here, there = urlsplit(home.url), urlsplit(place)
        if not place or there.netloc.lower() != here.netloc.lower():
            return None
        params = {} if not there.query else {"rsd": ""}
        if there.query not in {"", "rsd"}:
            return None
        answer = yield Request("rsd", there.path or "/", params, {"Accept": "application/rsd+xml, application/xml"})
        address = _absolute(home.url, _stated_api(answer))
    host = (urlsplit(home.url).hostname or "").lower()
    if not address or not _HOST.fullmatch(host):
        return None
    return _way(address, host, "AtomPub", head.title, (_SIGN_IN, _NO_COMMENTS, _NO_AUDIENCE), {})


def _stated_api(answer: Response | None) -> str:
    """Return the address of the Atom interface in a document of Really Simple Discovery; empty without one."""
    if answer is None or answer.status != 200:
        return ""
    try:
        root = parsed(decoded(answer.body, answer.headers.get("content-type", "")), answer.objects).root
    except NotXml:
        return ""
    waiting: list[XmlElement] = [root]
    while waiting:
        element = waiting.pop(0)
        stated = element.attributes
        if element.name.rpartition("}")[2] == "api" and stated.get("name", "").strip().lower() in _ATOM_APIS:
            return stated.get("apiLink", "").strip()
        waiting += list(element)
    return ""


def _absolute(base: str, address: str) -> str:
    """Return an address on the web, without a password or a fragment, or an empty text."""
    if not address:
        return ""
    try:
        parts = urlsplit(urljoin(base, address))
        host = parts.hostname
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc:
        return ""
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{parts.query}" if parts.query else "")


def _way(
    base_url: str, blog: str, label: str, title: str, lacks: tuple[str, ...], settings: Mapping[str, str]
) -> WayIn:
    return WayIn(
        ATOMPUB.name, base_url, blog, label, printable(title.strip(), 200), lacks=lacks, rank=_RANK, settings=settings
    )
