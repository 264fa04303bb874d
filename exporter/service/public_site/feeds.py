"""Feeds: RSS 0.9 to 2.0, RSS 1.0 (RDF), Atom and JSON Feed, and links to their further pages (RFC 5005). Pure.

Libraries for feeds convert times to UTC, sanitize texts and drop unknown elements. An archive must keep all of these,
so each item here keeps its XML as it was.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from exporter.lossless_json import NotJson, dumps, loads
from exporter.message import message
from exporter.xml import namespaces as known
from exporter.xml.reader import Vocabulary
from exporter.xml.tree import NotXml, XmlDocument, XmlElement

MAX_ITEMS: Final = 20_000
"""Items of one feed that are read; feeds of whole blogs have some thousand."""
_ATOM: Final = frozenset({known.ATOM, known.ATOM_03})
_ITEMS: Final = frozenset({"item", "entry"})
_VOCABULARY: Final = Vocabulary(
    frozenset({"rss", "rdf", "feed"}),
    _ITEMS | {"channel"},
    frozenset(
        re.split(
            " ",
            "category comments content content:encoded created dc:creator dc:date dc:subject description guid id "
            "issued link modified pubDate published summary title updated",
        )
    ),
)
_BLANKS: Final = re.compile(r"\s+")


class NoFeed(ValueError):
    """The text is no feed that can be read."""


@dataclass(frozen=True, slots=True)
class FeedItem:
    """An item of a feed.

    Attributes:
        link: the address of its page, as written.
        title: its title, as HTML or text.
        published: its date, as written.
        updated: the date of its last change, as written.
        author: the name of its writer.
        categories: its categories or tags, in order.
        content: its full text as HTML; empty if the feed has a summary only.
        summary: its summary as HTML or text.
        source: the item as XML or JSON text.
    """

    link: str
    title: str = ""
    published: str = ""
    updated: str = ""
    author: str = ""
    categories: tuple[str, ...] = ()
    content: str = ""
    summary: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """A page of a feed.

    Attributes:
        form: its format for people, such as ``RSS 2.0``.
        title: the blog's title.
        home: the address of the blog, as written.
        items: in its order.
        next: the address of the next page, or of the archive before this one; empty if there is none.
        complete: whether it states that it holds every entry (RFC 5005, section 2).
        mended: whether it was broken, so that items may be missing.
        cut: whether it has more than ``MAX_ITEMS`` items, and only the first ones are in ``items``.
    """

    form: str
    title: str = ""
    home: str = ""
    items: list[FeedItem] = field(default_factory=list)
    next: str = ""
    complete: bool = False
    mended: bool = False
    cut: bool = False


def read_feed(text: str) -> Feed:
    """Return the feed in a text.

    Raises:
        NoFeed: it is not a feed, or it is too large.
    """
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return _json_feed(start)
    document = XmlDocument(text, _VOCABULARY)
    items: list[FeedItem] = []
    full = False
    try:
        for each in document.each(_ITEMS):
            full = len(items) >= MAX_ITEMS
            if full:
                break
            read = _rss_item if each.local == "item" else _atom_entry
            items.append(read(each, document.standalone(each)))
        root = document.root
    except NotXml as error:
        raise NoFeed(*error.args) from error
    if root.local == "feed":
        form, channel = "Atom", root
    else:
        channel = _first(root, "channel") or root
        form = "RSS 1.0" if root.local == "rdf" else f"RSS {root.attributes.get('version') or '2.0'}"
    links = [_link(root, "alternate")] if form == "Atom" else map(_text, _all(channel, "link"))
    return Feed(
        form,
        " ".join(_text(_first(channel, "title")).split()),
        next(filter(None, links), ""),
        items,
        _following(channel) or _following(root),
        _is_complete(channel),
        mended=document.is_partial and not full,
        cut=full,
    )


def _all(element: XmlElement, *names: str) -> list[XmlElement]:
    """Return the child elements with one of these names, preferring the element's own namespace.

    Extensions repeat the names of RSS and Atom, such as ``media:title`` and ``itunes:author``.
    """
    found = [each for each in element if each.local in names]
    return [each for each in found if each.namespace == element.namespace] or found


def _first(element: XmlElement, *names: str) -> XmlElement | None:
    return next(iter(_all(element, *names)), None)


def _text(element: XmlElement | None) -> str:
    return "" if element is None else element.text.strip()


def _rss_item(item: XmlElement, source: str) -> FeedItem:
    """Read an item of RSS: its own elements, and those that Dublin Core and others add."""
    found: dict[str, str] = {}
    categories: list[str] = []
    order = (item.namespace, known.DUBLIN_CORE, known.TERMS)
    for child in sorted(item, key=lambda each: order.index(each.namespace) if each.namespace in order else len(order)):
        name, value = child.local, _text(child)
        if name in {"category", "subject"} and value:
            categories.append(value)
        elif name == "encoded" and child.namespace == known.CONTENT:
            found.setdefault(name, _markup(child))
        elif name in {"body", "div"} and child.namespace == known.XHTML:
            found.setdefault(name, child.html().strip())
        elif value:
            found.setdefault(name, _markup(child) if name == "description" else value)
    link = found.get("link", "")
    guid = _first(item, "guid")
    if not link and guid is not None and guid.attributes.get("isPermaLink", "true").lower() != "false":
        link = found.get("guid", "")
    about = next((value for name, value in item.attributes.items() if name.endswith("}about")), "")
    return FeedItem(
        link or about,
        found.get("title", ""),
        found.get("pubdate") or found.get("date", ""),
        found.get("modified") or found.get("updated", ""),
        found.get("creator") or found.get("author", ""),
        tuple(dict.fromkeys(categories)),
        found.get("encoded") or found.get("body") or found.get("div", ""),
        found.get("description", ""),
        source,
    )


def _atom_entry(entry: XmlElement, source: str) -> FeedItem:
    texts = {name: _text(_first(entry, name)) for name in ("published", "issued", "created", "updated", "modified")}
    author = _first(entry, "author")
    categories = (each.attributes.get("label") or each.attributes.get("term") for each in _all(entry, "category"))
    named = (*categories, *(each.text.strip() for each in entry if each.local == "subject"))
    return FeedItem(
        _link(entry, "alternate"),
        _markup(_first(entry, "title")),
        texts["published"] or texts["issued"] or texts["created"],
        texts["updated"] or texts["modified"],
        "" if author is None else _text(_first(author, "name")),
        tuple(dict.fromkeys(filter(None, named))),
        _markup(_first(entry, "content")),
        _markup(_first(entry, "summary")),
        source,
    )


def _markup(element: XmlElement | None) -> str:
    """Return a text as HTML: escaped HTML, elements, text or Base64.

    Atom 1.0 states this by ``type`` (RFC 4287, sections 3.1 and 4.1.3.3), Atom 0.3 also by ``mode``. RSS does not,
    and some feeds forget to escape their HTML.
    """
    if element is None:
        return ""
    kind = element.attributes.get("type", "").partition(";")[0].strip().lower()
    mode = element.attributes.get("mode", "").lower()
    if any(True for _ in element):
        only = [part for part in element.parts if not isinstance(part, str) or part.strip()]
        inner = only[0] if len(only) == 1 and kind in {"xhtml", "application/xhtml+xml"} else element
        inner = element if isinstance(inner, str) or inner.local != "div" else inner
        return inner.html().strip()
    text = element.text.strip()
    binary = "/" in kind and not kind.startswith("text/") and not kind.endswith(("+xml", "/xml"))
    if mode == "base64" or (binary and not mode and element.namespace == known.ATOM):
        try:
            text = base64.b64decode(_BLANKS.sub("", text), validate=True).decode().strip()
        except (binascii.Error, UnicodeError):
            return ""
    elif mode == "escaped" and kind != "text/plain":
        return text
    plain = kind in {"text", "text/plain"} or (not kind and element.local in {"content", "summary"})
    if element.local == "title":
        # Titles have references also where their type says that they have none, but no tags.
        is_text = element.namespace in _ATOM and kind in {"", "text", "text/plain"}
        return text.replace("<", "&lt;").replace(">", "&gt;") if is_text else text
    return escape(text, quote=False) if plain else text


def _link(element: XmlElement, rel: str) -> str:
    links = [each.attributes for each in _all(element, "link")]
    links = [each for each in links if each.get("rel", "alternate").lower() == rel]
    links.sort(key=lambda each: "html" not in each.get("type", "html"))
    return next((each.get("href", "") for each in links), "").strip()


def _following(element: XmlElement) -> str:
    """Return the next page of a paged feed, or the archive before this document (RFC 5005, sections 3 and 4)."""
    links = [each.attributes for each in element if each.local == "link" and each.namespace in _ATOM]
    by_rel = {each.get("rel", "").lower(): each.get("href", "").strip() for each in reversed(links)}
    return by_rel.get("next") or by_rel.get("prev-archive") or ""


def _is_complete(element: XmlElement) -> bool:
    return any(each.local == "complete" and each.namespace == known.HISTORY for each in element)


def _json_feed(text: str) -> Feed:
    """Read a JSON Feed (jsonfeed.org, version 1.1)."""
    try:
        value = loads(text.encode("utf-8", "surrogatepass"))
    except NotJson as error:
        raise NoFeed(message("it is no feed")) from error
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        raise NoFeed(message("it is no feed"))
    items = [each for each in value["items"][:MAX_ITEMS] if isinstance(each, dict)]
    return Feed(
        "JSON Feed",
        _said(value, "title"),
        _said(value, "home_page_url"),
        list(_json_items(items)),
        _said(value, "next_url"),
        cut=len(value["items"]) > MAX_ITEMS,
    )


def _json_items(items: list[dict[str, Any]]) -> Iterator[FeedItem]:
    for item in items:
        authors = item.get("authors") if isinstance(item.get("authors"), list) else [item.get("author")]
        names = [_said(each, "name") for each in authors or () if isinstance(each, dict)]
        tags = item.get("tags") if isinstance(item.get("tags"), list) else []
        text = _said(item, "content_text")
        yield FeedItem(
            _said(item, "url") or _said(item, "id"),
            escape(_said(item, "title"), quote=False),
            _said(item, "date_published"),
            _said(item, "date_modified"),
            next(filter(None, names), ""),
            tuple(dict.fromkeys(each for each in tags or () if isinstance(each, str) and each)),
            _said(item, "content_html") or escape(text, quote=False).replace("\n", "<br>\n"),
            escape(_said(item, "summary"), quote=False),
            _json_source(item),
        )


def _json_source(item: dict[str, Any]) -> str:
    return dumps(item).decode("utf-8", "backslashreplace")


def _said(value: Any, name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return str(found) if isinstance(found, str) else ""
