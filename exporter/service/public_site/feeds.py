"""Feeds: RSS 0.9 to 2.0, RSS 1.0 (RDF), Atom and JSON Feed, and links to their further pages (RFC 5005). Pure.

Libraries for feeds convert times to UTC, sanitize texts and drop unknown elements. An archive must keep all of these,
so each item here keeps its XML as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from lxml import etree

from exporter.lossless_json import NotJson, dumps, loads
from exporter.message import message
from exporter.service.public_site.safe_xml import UnsafeXml, children, local, namespace, read_xml, text_of

MAX_ITEMS: Final = 20_000
"""Items of one feed that are read; feeds of whole blogs have some thousand."""
_CONTENT: Final = "http://purl.org/rss/1.0/modules/content/"
_ATOM: Final = frozenset({"http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"})
_ITEMS: Final = frozenset({"item", "entry"})
_HISTORY: Final = "http://purl.org/syndication/history/1.0"


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
    """

    form: str
    title: str = ""
    home: str = ""
    items: list[FeedItem] = field(default_factory=list)
    next: str = ""
    complete: bool = False
    mended: bool = False


def read_feed(text: str) -> Feed:
    """Return the feed in a text.

    Raises:
        NoFeed: it is none, or it is not safe to read.
    """
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return _json_feed(start)
    try:
        document = read_xml(text)
    except UnsafeXml as error:
        raise NoFeed(*error.args) from error
    root, name = document.root, local(document.root)
    if name == "feed":
        return _atom(root, mended=document.mended)
    if name in {"rdf", "rss"}:
        return _rss(root, mended=document.mended)
    raise NoFeed(message("it is no feed"))


def _rss(root: etree._Element, *, mended: bool) -> Feed:
    """Read RSS: in RSS 1.0 the items follow the channel, in the others they are inside."""
    channel = next(children(root, "channel"), root)
    form = "RSS 1.0" if local(root) == "rdf" else f"RSS {root.get('version') or '2.0'}"
    items = [_rss_item(each) for place in dict.fromkeys((root, channel)) for each in children(place, "item")]
    return Feed(
        form,
        " ".join(text_of(next(children(channel, "title"), None)).split()),
        next((text_of(each).strip() for each in children(channel, "link") if text_of(each).strip()), ""),
        items[:MAX_ITEMS],
        _following(channel) or _following(root),
        _is_complete(channel),
        mended or len(items) > MAX_ITEMS,
    )


def _rss_item(item: etree._Element) -> FeedItem:
    found: dict[str, str] = {}
    categories: list[str] = []
    for child in item:
        name, value = local(child), text_of(child).strip()
        if name in {"category", "subject"} and value:
            categories.append(value)
        elif name == "encoded" and namespace(child) == _CONTENT:
            found.setdefault("content", text_of(child))
        elif name and value:
            found.setdefault("author" if name == "creator" else name, value)
    link = found.get("link", "")
    guid = next(children(item, "guid"), None)
    if not link and guid is not None and guid.get("isPermaLink", "true").lower() != "false":
        link = found.get("guid", "")
    about = next((value for name, value in item.attrib.items() if str(name).endswith("}about")), "")
    return FeedItem(
        link or str(about),
        found.get("title", ""),
        found.get("pubdate") or found.get("date", ""),
        found.get("modified") or found.get("updated", ""),
        found.get("author", ""),
        tuple(dict.fromkeys(categories)),
        found.get("content", ""),
        found.get("description", ""),
        _source(item),
    )


def _atom(root: etree._Element, *, mended: bool) -> Feed:
    entries = list(children(root, "entry"))
    return Feed(
        "Atom",
        " ".join(text_of(next(children(root, "title"), None)).split()),
        _link(root, "alternate"),
        [_atom_entry(each) for each in entries[:MAX_ITEMS]],
        _following(root),
        _is_complete(root),
        mended or len(entries) > MAX_ITEMS,
    )


def _atom_entry(entry: etree._Element) -> FeedItem:
    texts = {local(child): text_of(child).strip() for child in reversed(entry) if local(child)}
    author = next(children(entry, "author"), None)
    categories = (each.get("label") or each.get("term") or "" for each in children(entry, "category"))
    return FeedItem(
        _link(entry, "alternate"),
        _markup(next(children(entry, "title"), None)),
        texts.get("published") or texts.get("issued", ""),
        texts.get("updated") or texts.get("modified", ""),
        text_of(next(children(author, "name"), None)).strip() if author is not None else "",
        tuple(dict.fromkeys(filter(None, categories))),
        _markup(next(children(entry, "content"), None)),
        _markup(next(children(entry, "summary"), None)),
        _source(entry),
    )


def _markup(element: etree._Element | None) -> str:
    """Return an Atom text as HTML (RFC 4287, section 3.1): escaped HTML, XHTML, or text."""
    if element is None:
        return ""
    kind = (element.get("type") or "text").lower()
    if kind in {"xhtml", "application/xhtml+xml"} and len(element):
        inner = element[0] if len(element) == 1 and local(element[0]) == "div" else element
        parts = [escape(inner.text or "", quote=False)]
        parts += [etree.tostring(child, encoding="unicode", method="html", with_tail=True) for child in inner]
        return "".join(parts).strip()
    text = text_of(element).strip()
    return escape(text, quote=False) if kind in {"text", "text/plain"} and local(element) != "title" else text


def _link(element: etree._Element, rel: str) -> str:
    links = [each for each in children(element, "link") if (each.get("rel") or "alternate").lower() == rel]
    links.sort(key=lambda each: "html" not in (each.get("type") or "html"))
    return next((each.get("href") or "" for each in links), "").strip()


def _following(element: etree._Element) -> str:
    """Return the next page of a paged feed, or the archive before this document (RFC 5005, sections 3 and 4)."""
    links = [each for each in children(element, "link") if each.get("href") and namespace(each) in _ATOM]
    by_rel = {(each.get("rel") or "").lower(): (each.get("href") or "").strip() for each in reversed(links)}
    return by_rel.get("next") or by_rel.get("prev-archive") or ""


def _is_complete(element: etree._Element) -> bool:
    return any(namespace(each) == _HISTORY for each in children(element, "complete"))


def _source(element: etree._Element) -> str:
    return etree.tostring(element, encoding="unicode", with_tail=False)


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
        mended=len(value["items"]) > MAX_ITEMS,
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
