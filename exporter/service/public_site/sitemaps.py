"""Sitemaps: XML, indexes of sitemaps, gzip and plain text (sitemaps.org). Pure.

Ultimate Sitemap Parser sends requests itself, past the limits and the retries of this program, so it is not used.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from exporter.message import message
from exporter.service.public_site.text import decode_page
from exporter.xml.reader import Vocabulary
from exporter.xml.tree import NotXml, XmlDocument

MAX_ADDRESSES: Final = 50_000
"""sitemaps.org permits no more in one sitemap or index."""
MAX_BYTES: Final = 50 * 1024 * 1024
"""The largest sitemap that sitemaps.org permits, uncompressed."""
_GZIP: Final = b"\x1f\x8b"
_GZIP_OR_ZLIB: Final = 47
_PLAIN: Final = re.compile(r"https?://\S+", re.IGNORECASE)
_ENTRIES: Final = frozenset({"url", "sitemap"})
_VOCABULARY: Final = Vocabulary(
    frozenset({"urlset", "sitemapindex"}), _ENTRIES, frozenset({"loc", "lastmod", "changefreq", "priority"})
)
_LEAST_SHARED: Final = 5
"""Addresses from which on a shared time of change is doubted."""


class NoSitemap(ValueError):
    """The answer is no sitemap that can be read."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """A sitemap or an index.

    Attributes:
        pages: the addresses of pages as written, each with its ``lastmod`` as written or an empty text.
        maps: the addresses of further sitemaps.
        problem: why a part is missing; empty if nothing is.
    """

    pages: list[tuple[str, str]] = field(default_factory=list)
    maps: list[str] = field(default_factory=list)
    problem: str = ""


def read_sitemap(body: bytes, content_type: str = "") -> Sitemap:
    """Return the sitemap in an answer.

    Raises:
        NoSitemap: the answer is no sitemap, or it is not safe to read.
    """
    problem = ""
    if body.startswith(_GZIP):
        body, problem = _expanded(body)
    text = decode_page(body, content_type).text
    if "<" not in text:
        return _plain(text, problem)
    document = XmlDocument(text, _VOCABULARY)
    maps: list[str] = []
    pages: list[tuple[str, str]] = []
    try:
        for each in document.each(_ENTRIES):
            loc = next((child for child in each if child.local == "loc"), None)
            place = "" if loc is None or loc is document.cut else loc.text.strip()
            if place and each.local == "sitemap":
                maps.append(place)
            elif place:
                changed = next((child.text.strip() for child in each if child.local == "lastmod"), "")
                pages.append((place, changed))
            if max(len(maps), len(pages)) > MAX_ADDRESSES:
                break
        is_index = document.root.local == "sitemapindex"
    except NotXml as error:
        raise NoSitemap(message("it is no sitemap")) from error
    if document.is_partial and not problem:
        problem = message("its XML is broken, so a part may be missing")
    return Sitemap(maps=maps[:MAX_ADDRESSES], problem=problem) if is_index else _cut(pages, problem)


def _plain(text: str, problem: str) -> Sitemap:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pages = [(line, "") for line in lines if _PLAIN.fullmatch(line)]
    if not pages or len(pages) < len(lines):
        raise NoSitemap(message("it is no sitemap"))
    return _cut(pages, problem)


def _cut(pages: list[tuple[str, str]], problem: str) -> Sitemap:
    if len(pages) > MAX_ADDRESSES:
        problem = message("it has more than {most:,} addresses, and the others are left out", most=MAX_ADDRESSES)
    pages = pages[:MAX_ADDRESSES]
    return Sitemap(pages if _believable(pages) else [(place, "") for place, _ in pages], problem=problem)


def _believable(pages: list[tuple[str, str]]) -> bool:
    """Return whether the times of change are those of the pages.

    Many services write the time at which the sitemap was made for every page. Such a time would make every page look
    changed each night.
    """
    stated = [lastmod for _, lastmod in pages if lastmod]
    if len(stated) < _LEAST_SHARED:
        return True
    ((_, most),) = Counter(map(_moment, stated)).most_common(1)
    return most * 2 <= len(stated)


def _moment(lastmod: str) -> str:
    """Return a time of change to the hour, in which a sitemap is made."""
    try:
        found = datetime.fromisoformat(lastmod)
    except ValueError:
        return lastmod
    return found.strftime("%Y-%m-%dT%H") if len(lastmod) > len("2020-01-01") else lastmod


def _expanded(body: bytes) -> tuple[bytes, str]:
    reader = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        found = reader.decompress(body, MAX_BYTES + 1)
    except zlib.error as error:
        raise NoSitemap(message("it is no gzip file")) from error
    if len(found) > MAX_BYTES:
        raise NoSitemap(message("it expands to more than {most:,} bytes", most=MAX_BYTES))
    return found, "" if reader.eof else message("its gzip data ends too early")
