"""The references in a recorded page, style sheet, picture, feed or sitemap. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from exporter import lossless_json
from exporter.html.page_references import PageReferences, ReferenceRole, page_references, sheet_references
from exporter.html.web_address import parsed, web_address
from exporter.message import message, said
from exporter.service.public_site.feeds import NoFeed, read_feed
from exporter.service.public_site.robots import MAX_BYTES
from exporter.service.public_site.sitemaps import NoSitemap, read_sitemap
from exporter.service.public_site.text import decode_page

MAX_CONTENT_BYTES: Final = 32 * 1024 * 1024
"""The largest page, style sheet or sitemap that is searched for references; a larger one is only recorded."""
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_XML: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/xml", "text/xml"}
)
_MANIFESTS: Final = frozenset({"application/manifest+json", "application/x-web-app-manifest+json"})
_JSON_FEED: Final = "application/feed+json"
_ROBOTS: Final = "/robots.txt"
_SLASHES: Final = 3
"""The slashes of an address at the root of its host."""
_GZIP: Final = b"\x1f\x8b"
_ROOT: Final = re.compile(r"<(?:[A-Za-z]+:)?(urlset|sitemapindex|rss|feed|RDF|html|svg)\b", re.IGNORECASE)
_SHEET: Final = re.compile(r"<\?xml-stylesheet\b[^>]{0,500}?\bhref\s*=\s*[\"']([^\"']{1,2000})[\"']")
_SCANNED: Final = 4_096
_MAX_ICONS: Final = 50


@dataclass
class ContentReferences:
    """The references of an answer.

    Attributes:
        found: the addresses with their roles.
        maps: further sitemaps.
        title: of a page.
        is_page: whether it is a page for people.
        robots: the text of a robots.txt; ``None`` for any other answer.
        note: why addresses may be missing; empty if none are.
    """

    found: dict[str, ReferenceRole] = field(default_factory=dict)
    maps: list[str] = field(default_factory=list)
    title: str = ""
    is_page: bool = False
    robots: str | None = None
    note: str = ""


def is_read(media_type: str, url: str) -> bool:
    """Return whether an answer of this type can have references. Otherwise its content need not be decoded."""
    return (
        not media_type
        or media_type in _HTML | _XML | _MANIFESTS | {_JSON_FEED, "text/css", "image/svg+xml", "text/plain"}
        or url.endswith((".xml.gz", ".webmanifest", _ROBOTS))
    )


def read_references(body: bytes, media_type: str, content_type: str, url: str) -> ContentReferences:
    """Return the references in an answer.

    Args:
        body: the content, decoded.
        media_type: its type in lower case.
        content_type: the whole header.
        url: its address.
    """
    if url.endswith(_ROBOTS) and url.count("/") == _SLASHES:
        return ContentReferences(robots=body[:MAX_BYTES].decode("utf-8", "replace"))
    if body.startswith(_GZIP):
        return _sitemap(body, content_type, url) if ".xml" in url else ContentReferences()
    if media_type == "text/css":
        return _of(sheet_references(decode_page(body, content_type).text, url))
    if media_type in _MANIFESTS or url.endswith(".webmanifest"):
        return _manifest(body, url)
    if media_type == "text/plain":
        is_map = url.endswith(".txt") and "sitemap" in url
        return _sitemap(body, content_type, url) if is_map else ContentReferences()
    page = decode_page(body, content_type)
    root = _ROOT.search(page.text[:_SCANNED])
    name = root[1].lower() if root is not None else ""
    if name in {"urlset", "sitemapindex"}:
        return _sitemap(body, content_type, url)
    if name in {"rss", "feed", "rdf"} or media_type == _JSON_FEED:
        return _feed(page.text, url)
    if media_type in _HTML or name in {"html", "svg"} or (not media_type and "<" in page.text[:_SCANNED]):
        result = _of(page_references(page.text, url, encoding=page.encoding))
        result.is_page = media_type != "image/svg+xml" and name != "svg"
        return result
    return ContentReferences()


def _of(references: PageReferences) -> ContentReferences:
    note = message("it names more addresses than are read") if references.is_cut else ""
    return ContentReferences(references.found, title=references.title, note=note)


def _sitemap(body: bytes, content_type: str, url: str) -> ContentReferences:
    try:
        found = read_sitemap(body, content_type)
    except NoSitemap as error:
        return ContentReferences(note=said(error))
    pages = dict.fromkeys(filter(None, (_absolute(place, url) for place, _ in found.pages)), ReferenceRole.LINK)
    return ContentReferences(
        pages, [each for place in found.maps if (each := _absolute(place, url))], note=found.problem
    )


def _feed(text: str, url: str) -> ContentReferences:
    result = ContentReferences()
    sheet = _SHEET.search(text[:_SCANNED])
    if sheet is not None and (place := _absolute(sheet[1], url)):
        result.found[place] = ReferenceRole.SHEET
    try:
        feed = read_feed(text)
    except NoFeed as error:
        result.note = said(error)
        return result
    for each in (*(item.link for item in feed.items), feed.next):
        if each and (place := _absolute(each, url)):
            result.found.setdefault(place, ReferenceRole.LINK)
    return result


def _manifest(body: bytes, url: str) -> ContentReferences:
    """Return the icons in a web app manifest (W3C, section 1.9)."""
    try:
        value = lossless_json.loads(body)
    except lossless_json.NotJson:
        return ContentReferences()
    icons = value.get("icons") if isinstance(value, dict) else None
    found: dict[str, ReferenceRole] = {}
    for icon in icons[:_MAX_ICONS] if isinstance(icons, list) else ():
        source = icon.get("src") if isinstance(icon, dict) else None
        if isinstance(source, str) and (place := _absolute(source, url)):
            found[place] = ReferenceRole.PART
    return ContentReferences(found)


def _absolute(text: str, base: str) -> str | None:
    found = web_address(text, parsed(base))
    return None if found is None else str(found)
