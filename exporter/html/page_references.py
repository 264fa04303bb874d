"""The files that a page needs to look as it does, and the pages that it links to. Pure.

The page is read as a tokenizer reads it, which also finds the files inside ``noscript``. The content of scripts is
never searched for addresses, because a guessed address would be a request for something that the page does not name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum, auto
from html import unescape
from typing import Final

from exporter.html.style_references import style_references
from exporter.html.tags import LAZY, LAZY_SETS, Attributes, candidates, is_like_an_address, tags
from exporter.html.web_address import WebAddress, parsed, web_address

MAX_REFERENCES: Final = 20_000
"""Addresses of each role that are taken from one page; the longest list pages of blogs have some thousand."""
_MAX_TITLE_CHARACTERS: Final = 500


class ReferenceRole(StrEnum):
    """How a page uses an address."""

    PART = auto()
    """A file that the page needs to look as it does."""
    SHEET = auto()
    """A style sheet, which can name further files."""
    FRAME = auto()
    """A page inside the page."""
    LINK = auto()
    """A page that a reader can go to."""
    FEED = auto()
    """A feed that the page states."""


@dataclass
class PageReferences:
    """The references of a page.

    Attributes:
        found: each address once, with its role; the first one counts.
        title: the text of the ``title`` element on one line; empty without one.
        is_cut: whether the page has more addresses than are taken.
    """

    found: dict[str, ReferenceRole] = field(default_factory=dict)
    title: str = ""
    is_cut: bool = False

    def of(self, *roles: ReferenceRole) -> list[str]:
        """Return the addresses with one of these roles, in the order of the page."""
        return [address for address, role in self.found.items() if role in roles]


LAZY_BACKGROUNDS: Final = ("data-bg", "data-background", "data-background-image", "data-lazy-background")
_PICTURES: Final = ("src", "lowsrc", "dynsrc")
_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "img": _PICTURES,
    "image": ("href", "xlink:href", "src"),
    "feimage": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "source": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "bgsound": ("src",),
    "script": ("src", "href", "xlink:href"),
    "body": ("background",),
    "table": ("background",),
    "tbody": ("background",),
    "thead": ("background",),
    "tr": ("background",),
    "td": ("background",),
    "th": ("background",),
}
WITH_LAZY: Final = frozenset({"img", "source", "video", "audio", "iframe", "embed"})
WITH_SETS: Final = frozenset({"img", "source"})
_PARAMETERS: Final = frozenset({"filename", "movie", "src", "url"})
_PART_RELS: Final = frozenset(
    {"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon", "fluid-icon"}
    | {"preload", "modulepreload", "manifest", "image_src"}
)
_LINK_RELS: Final = frozenset(
    {"next", "prev", "previous", "canonical", "first", "last", "start", "index", "up", "contents", "archives", "author"}
)
_FEED_TYPES: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
)
_META_PICTURES: Final = frozenset(
    {"og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src", "thumbnail", "image"}
    | {"msapplication-tileimage", "msapplication-square70x70logo", "msapplication-square150x150logo"}
    | {"msapplication-square310x310logo", "msapplication-wide310x150logo"}
)
REFRESH: Final = re.compile(r"\s*[0-9.]*\s*[;,]?\s*(?:url\s*=\s*)?(['\"]?)(.*)", re.IGNORECASE | re.DOTALL)
_WORTH: Final = re.compile(r"src|href|style|background|poster|data|content|value", re.IGNORECASE)


def page_references(html: str, address: str, *, encoding: str = "utf-8", most: int = MAX_REFERENCES) -> PageReferences:
    """Return the references of an HTML page or an SVG picture.

    Args:
        html: the decoded text.
        address: the address that it was read at.
        encoding: in which it was decoded, and in which a browser encodes queries.
        most: the most addresses with a role; further ones are ignored.
    """
    result = PageReferences()
    base = parsed(address)
    if base is None:
        return result
    counts: dict[ReferenceRole, int] = dict.fromkeys(ReferenceRole, 0)
    based = False
    for name, attributes, text in _elements(html):
        if name == "base" and not based and attributes.get("href"):
            base = web_address(attributes["href"], base, encoding) or base
            based = True
            continue
        if name == "title" and not result.title:
            result.title = " ".join(unescape(text[: 8 * _MAX_TITLE_CHARACTERS]).split())[:_MAX_TITLE_CHARACTERS]
        for written, role in _references(name, attributes, text):
            found = _resolved(written, base, encoding)
            if found is None or found in result.found:
                continue
            if counts[role] >= most:
                result.is_cut = True
                continue
            counts[role] += 1
            result.found[found] = role
    return result


def _resolved(text: str, base: WebAddress, encoding: str) -> str | None:
    if not text or text.lstrip()[:5].lower() in {"data:", "blob:", "about"} or text.startswith("#"):
        return None
    found = web_address(text, base, encoding)
    return None if found is None else str(found)


def _elements(html: str) -> Iterator[tuple[str, Attributes, str]]:
    """Yield the name, the attributes and, if it is text, the content of each element with a reference."""
    for tag in tags(html):
        text = html[tag.end : tag.after] if tag.name in {"style", "title"} else ""
        if text or (tag.rest and _WORTH.search(tag.rest)):
            yield tag.name, tag.attributes, text


def _references(name: str, attributes: Attributes, text: str) -> Iterator[tuple[str, ReferenceRole]]:
    """Yield an element's addresses as written, with their roles."""
    special = _SPECIAL.get(name)
    if special is not None:
        yield from special(attributes)
    for attribute in _PARTS.get(name, ()):
        if attribute in attributes:
            yield attributes[attribute], ReferenceRole.PART
    if name in WITH_SETS and "srcset" in attributes:
        yield from ((each, ReferenceRole.PART) for each in candidates(attributes["srcset"]))
    yield from _lazy(name, attributes)
    if "style" in attributes:
        yield from _of_style(attributes["style"])
    if name == "style":
        yield from _of_style(text)


def _lazy(name: str, attributes: Attributes) -> Iterator[tuple[str, ReferenceRole]]:
    if not any(attribute.startswith("data-") for attribute in attributes):
        return
    if name in WITH_LAZY:
        role = ReferenceRole.FRAME if name == "iframe" else ReferenceRole.PART
        for attribute in LAZY:
            if attribute in attributes and is_like_an_address(attributes[attribute]):
                yield attributes[attribute], role
        for attribute in LAZY_SETS:
            yield from ((each, ReferenceRole.PART) for each in candidates(attributes.get(attribute, "")))
    for attribute in LAZY_BACKGROUNDS:
        value = attributes.get(attribute, "")
        if "url(" in value.lower():
            yield from _of_style(value)
        elif is_like_an_address(value):
            yield value, ReferenceRole.PART


def _of_link(attributes: Attributes) -> Iterator[tuple[str, ReferenceRole]]:
    href, rels = attributes.get("href", ""), frozenset(attributes.get("rel", "").lower().split())
    kind = attributes.get("type", "").partition(";")[0].strip().lower()
    if "stylesheet" in rels or ("preload" in rels and attributes.get("as", "").strip().lower() == "style"):
        yield href, ReferenceRole.SHEET
    elif rels & _PART_RELS:
        yield href, ReferenceRole.PART
        yield from ((each, ReferenceRole.PART) for each in candidates(attributes.get("imagesrcset", "")))
    elif "alternate" in rels and kind in _FEED_TYPES:
        yield href, ReferenceRole.FEED
    elif rels & _LINK_RELS or ("alternate" in rels and kind in {"", "text/html"}):
        yield href, ReferenceRole.LINK


def _of_meta(attributes: Attributes) -> Iterator[tuple[str, ReferenceRole]]:
    content = attributes.get("content", "")
    names = {attributes.get(each, "").strip().lower() for each in ("property", "name", "itemprop")}
    if attributes.get("http-equiv", "").strip().lower() == "refresh":
        found = REFRESH.fullmatch(content)
        if found is not None and found[2]:
            yield found[2].partition(found[1])[0] if found[1] else found[2], ReferenceRole.LINK
    elif names & _META_PICTURES and is_like_an_address(content):
        yield content, ReferenceRole.PART


def _of_anchor(attributes: Attributes) -> Iterator[tuple[str, ReferenceRole]]:
    yield attributes.get("href", "") or attributes.get("xlink:href", ""), ReferenceRole.LINK


def _of_frame(attributes: Attributes) -> Iterator[tuple[str, ReferenceRole]]:
    yield attributes.get("src", ""), ReferenceRole.FRAME


def _of_input(attributes: Attributes) -> Iterator[tuple[str, ReferenceRole]]:
    if attributes.get("type", "").strip().lower() == "image":
        yield attributes.get("src", ""), ReferenceRole.PART


def _of_parameter(attributes: Attributes) -> Iterator[tuple[str, ReferenceRole]]:
    if attributes.get("name", "").strip().lower() in _PARAMETERS:
        yield attributes.get("value", ""), ReferenceRole.PART


_SPECIAL: Final[dict[str, Callable[[Attributes], Iterator[tuple[str, ReferenceRole]]]]] = {
    "a": _of_anchor,
    "area": _of_anchor,
    "frame": _of_frame,
    "iframe": _of_frame,
    "input": _of_input,
    "link": _of_link,
    "meta": _of_meta,
    "param": _of_parameter,
}


def _of_style(text: str) -> Iterator[tuple[str, ReferenceRole]]:
    return (
        (each.text, ReferenceRole.SHEET if each.is_sheet else ReferenceRole.PART) for each in style_references(text)
    )


def sheet_references(sheet: str, address: str, *, most: int = MAX_REFERENCES) -> PageReferences:
    """Return the references of a style sheet that was read at an address."""
    result = PageReferences()
    base = parsed(address)
    for each in style_references(sheet) if base is not None else ():
        found = _resolved(each.text, base, "utf-8") if base is not None else None
        if found is None or found in result.found:
            continue
        if len(result.found) >= most:
            result.is_cut = True
            break
        result.found[found] = ReferenceRole.SHEET if each.is_sheet else ReferenceRole.PART
    return result
