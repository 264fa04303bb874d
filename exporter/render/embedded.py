"""The addresses that an entry's HTML embeds or links to, found in the tree a browser would build. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from itertools import islice
from typing import Final, NamedTuple

from exporter.render.htmltree import Element, TooTangled, find

_WORTH_PARSING: Final = ("src", "href", "background", "poster", "url(")
_TAG = re.compile(r"<(?:img|image|a|source|input|video|area|table|td|th)\b[^<>]{1,20000}>", re.IGNORECASE)
_STYLE_URL = re.compile(r"url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^\"'()\s]+))\s*\)", re.IGNORECASE)
_CANDIDATE = re.compile(r"[\s,]*([^\s,]\S*)")
_DESCRIPTOR = re.compile(r"[^,(]*(?:\([^)]*(?:\)|\Z)[^,(]*)*")

_TOGETHER: Final = 500

_ATTRIBUTES: Final = {
    "img": ("src", "data-src", "data-original", "lowsrc"),
    "image": ("src", "href"),
    "video": ("poster",),
    "table": ("background",),
    "td": ("background",),
    "th": ("background",),
}
_SELECTOR: Final = ", ".join([*_ATTRIBUTES, "a", "area", "input", "source", '[style*="url(" i]'])


class Use(Enum):
    """What an entry does with an address."""

    SHOWN = auto()
    """It is embedded as a picture."""
    LINKED = auto()
    """It is the target of a link."""


class Found(NamedTuple):
    """An address as it stands in the HTML, and what it is used for."""

    text: str
    use: Use


def embedded(html: str) -> Iterator[Found]:
    """Yield the addresses of pictures and links in the order they stand.

    A body too tangled or too large to be parsed as a whole is read tag by tag.
    """
    lower = html.lower()
    if "<" not in html or not any(word in lower for word in _WORTH_PARSING):
        return
    try:
        yield from _in_tree(html)
    except TooTangled:
        tags = (found[0] for found in _TAG.finditer(html))
        while some := list(islice(tags, _TOGETHER)):
            yield from _in_tags(some)


def _in_tags(tags: list[str]) -> list[Found]:
    """Read some tags as one body, since each body costs as much as many tags; one by one where one is tangled."""
    try:
        return list(_in_tree("".join(tags)))
    except TooTangled:
        return [] if len(tags) == 1 else [found for tag in tags for found in _in_tags([tag])]


def candidates(srcset: str) -> Iterator[str]:
    """Yield the addresses of a ``srcset`` attribute (HTML Standard, section 4.8.4.2.1)."""
    return (srcset[start:end] for start, end in candidate_places(srcset))


def candidate_places(srcset: str) -> Iterator[tuple[int, int]]:
    """Yield where each address of a ``srcset`` attribute begins and ends."""
    at = 0
    while (found := _CANDIDATE.match(srcset, at)) is not None:
        at = found.end()
        text = found[1].rstrip(",")
        if text == found[1]:
            rest = _DESCRIPTOR.match(srcset, at)
            at = rest.end() if rest is not None else at
        yield found.start(1), found.start(1) + len(text)


def _in_tree(html: str) -> Iterator[Found]:
    for element in find(html, _SELECTOR):
        yield from _in_element(element)


def _in_element(element: Element) -> Iterator[Found]:
    attributes = element.attributes
    if element.tag in {"a", "area"}:
        if attributes.get("href"):
            yield Found(attributes["href"], Use.LINKED)
        return
    names = _ATTRIBUTES.get(element.tag, ())
    if element.tag == "input" and attributes.get("type", "").strip().lower() == "image":
        names = ("src",)
    for name in names:
        if attributes.get(name):
            yield Found(attributes[name], Use.SHOWN)
    if element.tag in {"img", "source"}:
        for text in candidates(attributes.get("srcset", "")):
            yield Found(text, Use.SHOWN)
    if "url(" in attributes.get("style", "").lower():
        for found in _STYLE_URL.finditer(attributes["style"]):
            yield Found(next(filter(None, found.groups()), ""), Use.SHOWN)
