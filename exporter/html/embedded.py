"""The addresses in a body: of what it shows and plays, and of its links, found and rewritten. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum, auto
from functools import partial
from html import escape, unescape
from html.entities import html5
from itertools import islice
from typing import Final, NamedTuple

from exporter.html.embeds import is_media_file
from exporter.html.limits import TooComplex
from exporter.html.tree import Element, find

_WORTH_PARSING: Final = ("src", "href", "background", "poster", "url(", "data", "value")
_TAG = re.compile(
    r"<(?:img|image|a|source|input|video|area|table|td|th|audio|bgsound|object|embed|param|iframe)\b[^<>]{1,20000}>"
    r"|<style\b[^<>]{0,20000}>[^<]{1,200000}</style>",
    re.IGNORECASE,
)
_STYLE_URL = re.compile(
    r"@(?:import|namespace)\b[^;]*|url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^\"'()\s]+))\s*\)", re.IGNORECASE
)
"""An address in declarations; that of another style sheet has no group, since it is nothing that is shown."""
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
_PLAYED: Final = {"video": "src", "audio": "src", "source": "src", "bgsound": "src"}
_OBJECTS: Final = {"object": "data", "embed": "src", "param": "value", "iframe": "src"}
_PARAMETERS: Final = frozenset({"filename", "movie", "src", "url"})
"""Names of the parameters of an object that hold the address of what it plays."""
_SELECTOR: Final = ", ".join(
    [*{**_ATTRIBUTES, **_PLAYED, **_OBJECTS}, "a", "area", "input", "style", '[style*="url(" i]']
)


class Use(StrEnum):
    """What an entry does with an address."""

    SHOWN = auto()
    """It is embedded as a picture."""
    LINKED = auto()
    """It is the target of a link."""
    PLAYED = auto()
    """It is embedded as a video, a sound, or another file that a browser or a plug-in shows."""
    FRAMED = auto()
    """It is embedded as a page, or as a player of another service: there is no file to keep."""


class EmbeddedAddress(NamedTuple):
    """An address as the HTML has it, and what it is used for."""

    text: str
    use: Use


def embedded(html: str) -> Iterator[EmbeddedAddress]:
    """Yield the addresses of pictures and links in their order.

    A body too complex or too large to be parsed as a whole is read tag by tag.
    """
    lower = html.lower()
    if "<" not in html or not any(word in lower for word in _WORTH_PARSING):
        return
    try:
        yield from _in_tree(html)
    except TooComplex:
        tags = (found[0] for found in _TAG.finditer(html))
        while some := list(islice(tags, _TOGETHER)):
            yield from _in_tags(some)


def _in_tags(tags: list[str]) -> list[EmbeddedAddress]:
    """Read some tags as one body, since each body costs as much as many tags; one by one where one is too complex."""
    try:
        return list(_in_tree("".join(tags)))
    except TooComplex:
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


def _in_tree(html: str) -> Iterator[EmbeddedAddress]:
    for element in find(html, _SELECTOR):
        yield from embedded_in(element)


def embedded_in(element: Element) -> Iterator[EmbeddedAddress]:
    """Yield the addresses that an element itself has."""
    attributes = element.attributes
    if element.tag in {"a", "area"}:
        if attributes.get("href"):
            yield EmbeddedAddress(attributes["href"], Use.LINKED)
        return
    yield from _pictures(element)
    yield from _players(element)
    for style in (attributes.get("style", ""), element.text() if element.tag == "style" else ""):
        for start, end in _in_style(style):
            yield EmbeddedAddress(style[start:end], Use.SHOWN)


def _pictures(element: Element) -> Iterator[EmbeddedAddress]:
    attributes = element.attributes
    names = _ATTRIBUTES.get(element.tag, ())
    if element.tag == "input" and attributes.get("type", "").strip().lower() == "image":
        names = ("src",)
    for name in names:
        if attributes.get(name):
            yield EmbeddedAddress(attributes[name], Use.SHOWN)
    if element.tag in {"img", "source"}:
        for text in candidates(attributes.get("srcset", "")):
            yield EmbeddedAddress(text, Use.SHOWN)


def _players(element: Element) -> Iterator[EmbeddedAddress]:
    attributes = element.attributes
    played = attributes.get(_PLAYED.get(element.tag, ""))
    if played:
        yield EmbeddedAddress(played, Use.PLAYED)
    is_other = element.tag == "param" and attributes.get("name", "").strip().lower() not in _PARAMETERS
    shown = attributes.get(_OBJECTS.get(element.tag, ""))
    if shown and not is_other:
        is_file = element.tag != "iframe" and is_media_file(shown)
        yield EmbeddedAddress(shown, Use.PLAYED if is_file else Use.FRAMED)


def _in_style(style: str) -> Iterator[tuple[int, int]]:
    """Yield where each address in declarations begins and ends."""
    if "url(" in style.lower():
        for found in _STYLE_URL.finditer(style):
            yield from (found.span(number) for number in (1, 2, 3) if found[number])


# What is never closed lasts until the end, as in browsers; looking for its end from each of many would take hours.
_SKIPPED = r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|xmp)(?=[\s/>]).*?(?:</\1(?=[\s/>])|\Z)"
_TAG_WITH_ADDRESS = re.compile(
    rf"{_SKIPPED}|<[a-zA-Z](?=[^<>]*?(?:href|src|original|poster|background|url\(|data\s*=|value\s*=))[^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"(?P<lead>(?<![^\s\"'<>/=])(?P<name>[^\s\"'<>/=]++)\s*=\s*)(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+))"
)
_ADDRESSES = frozenset(
    {"href", "src", "data", "data-src", "data-original", "lowsrc", "poster", "background", "srcset", "style"}
)
_NOT_IN_STYLES = re.compile(r"[ \t\n\r\f\"'()\\]")

_REFERENCE = re.compile(r"&(?:#[0-9a-zA-Z]+;?|([a-zA-Z][a-zA-Z0-9]*(?:;|(?![a-zA-Z0-9=]))))")

Resolve = Callable[[str], str | None]


def attribute_text(value: str) -> str:
    """Return what an attribute's value says: ``&copy=`` in an address is no sign (HTML Standard, section 13.2.5.73)."""
    return _REFERENCE.sub(lambda found: html5.get(found[1], found[0]) if found[1] else unescape(found[0]), value)


def rewrite_addresses(html: str, resolve: Resolve) -> str:
    """Return the HTML with each address that ``resolve`` knows replaced by what it returns.

    Args:
        html: a body.
        resolve: is given an address with its character references read; returns the new one, or ``None`` to keep it.
    """

    def in_attribute(found: re.Match[str], other: str = "") -> str:
        name = found["name"].lower()
        if name not in _ADDRESSES and name != other:
            return found[0]
        value = next(text for text in found.group("double", "single", "bare") if text is not None)
        plain = attribute_text(value)
        new = _readdressed(name, plain, resolve)
        return found[0] if new == plain else f'{found["lead"]}"{escape(new)}"'

    def in_tag(found: re.Match[str]) -> str:
        if found[0].startswith("<!") or found[1]:
            return _restyled(found[0], resolve) if (found[1] or "").lower() == "style" else found[0]
        # Only there is a value an address.
        in_this = partial(in_attribute, other="value") if found[0][:7].lower() == "<param " else in_attribute
        return _ATTRIBUTE.sub(in_this, found[0])

    return _replaced(html, ((*found.span(), in_tag(found)) for found in _TAG_WITH_ADDRESS.finditer(html)))


def with_addresses(element: Element, resolve: Resolve) -> Element:
    """Return an element of a simple body, without what is in it, as :func:`rewrite_addresses` writes its tag."""
    attributes = {
        name: _readdressed(name, value, resolve) if name in _ADDRESSES else value
        for name, value in element.attributes.items()
    }
    return Element(element.tag, attributes, [])


def _readdressed(name: str, value: str, resolve: Resolve) -> str:
    """Return the value that an attribute is to have."""
    if name == "srcset":
        return _replaced(value, ((at, end, resolve(value[at:end])) for at, end in candidate_places(value)))
    if name == "style":
        return _restyled(value, resolve)
    new = resolve(value)
    return value if new is None else new


def _restyled(style: str, resolve: Resolve) -> str:
    """Return declarations with the new addresses as a style may hold them."""
    return _replaced(
        style, ((start, end, _in_style_form(resolve(style[start:end]))) for start, end in _in_style(style))
    )


def _in_style_form(address: str | None) -> str | None:
    return None if address is None else _NOT_IN_STYLES.sub(lambda char: f"%{ord(char[0]):02X}", address)


def _replaced(text: str, places: Iterator[tuple[int, int, str | None]]) -> str:
    """Return a text with something else at some places; nothing is held for a place that stays as it is."""
    parts: list[str] = []
    done = 0
    for start, end, new in places:
        if new is not None and new != text[start:end]:
            parts += [text[done:start], new]
            done = end
    return "".join([*parts, text[done:]]) if parts else text
