"""Embedded content: addresses of pictures, players and links in a body, found and rewritten. Pure.

Frames, players and scripts of other services are never run: they become links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from enum import StrEnum, auto
from html import escape
from itertools import chain
from typing import Final, NamedTuple

from exporter.html.anchors import mark_places
from exporter.html.code_languages import name_languages
from exporter.html.links import safe_frame_url
from exporter.html.players import embeds, is_media_file, page_of
from exporter.html.ready import ready
from exporter.html.tags import LAZY, LAZY_SETS, attribute_text, candidate_places, candidates, is_like_an_address
from exporter.html.task_lists import mark_ticks
from exporter.html.tree import Element, TooComplex, document_of, parse

_WORTH_PARSING: Final = ("src", "href", "background", "poster", "url(", "data", "value")
_TAG = re.compile(
    r"<(?:img|image|a|source|input|video|area|table|td|th|audio|bgsound|object|embed|param|iframe)\b[^<>]{1,20000}>"
    r"|<style\b[^<>]{0,20000}>[^<]{1,200000}</style>",
    re.IGNORECASE,
)
_STYLE_URL = re.compile(
    r"@(?:import|namespace)\b[^;]*|url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^\"'()\s]+))\s*\)", re.IGNORECASE
)
"""An address in CSS declarations; that of another style sheet has no group, because it shows nothing."""

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
"""Parameters of an object that contain the address of the played file."""
_HOLDERS: Final = f":is({','.join({**_ATTRIBUTES, **_PLAYED, **_OBJECTS})},a,area,input,style,[style*='url(' i])"
"""Selects the elements whose attributes or content may be addresses; ``:is`` returns each of them once."""


class Use(StrEnum):
    """How an entry uses an address."""

    SHOWN = auto()
    """It is embedded as a picture."""
    LINKED = auto()
    """It is the target of a link."""
    PLAYED = auto()
    """It is embedded as a video, a sound, or another file for the browser or a plug-in."""
    FRAMED = auto()
    """It is embedded as a page or as a player of another service: there is no file to save."""


class EmbeddedAddress(NamedTuple):
    """An address as in the HTML, and its use."""

    text: str
    use: Use


def embedded(html: str) -> Iterator[EmbeddedAddress]:
    """Yield the addresses of pictures, players and links in their order, then those that only :func:`ready` names.

    A body that is too complex or too large to be parsed as a whole is read tag by tag.
    """
    made = ready(html)
    if made == html:
        yield from _written(html)
        return
    seen: set[str] = set()
    for each in _written(html):
        seen.add(each.text)
        yield each
    yield from (each for each in _written(made) if each.text not in seen)


def replaced(html: str) -> set[str]:
    """Return the addresses that readers saw only until a script loaded others: placeholders and previews."""
    made = ready(html)
    return set() if made == html else {each.text for each in _written(html)} - {each.text for each in _written(made)}


def _written(html: str) -> Iterator[EmbeddedAddress]:
    lower = html.lower()
    if "<" not in html or not any(word in lower for word in _WORTH_PARSING):
        return
    try:
        yield from _in_tree(html)
    except TooComplex:
        for tag in _TAG.finditer(html):
            with suppress(TooComplex):
                yield from _in_tree(tag[0])


def _in_tree(html: str) -> Iterator[EmbeddedAddress]:
    return chain.from_iterable(map(_in_element, _holders(html)))


def _holders(html: str) -> Iterator[Element]:
    """Yield the elements that may contain addresses, in document order."""
    for node in document_of(html).css(_HOLDERS):
        attributes = {name: value or "" for name, value in node.attributes.items()}
        yield Element(node.tag or "", attributes, [node.text()] if node.tag == "style" else [])


def _in_element(element: Element) -> Iterator[EmbeddedAddress]:
    """Yield the addresses in the attributes of an element."""
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
    """Yield the start and end of each address in CSS declarations."""
    if "url(" in style.lower():
        for found in _STYLE_URL.finditer(style):
            yield from (found.span(number) for number in (1, 2, 3) if found[number])


# An unclosed element lasts until the end, as in browsers; searching its end again for each tag would take hours.
_SKIPPED = r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|xmp)(?=[\s/>]).*?(?:</\1(?=[\s/>])|\Z)"
_TAG_WITH_VALUES = re.compile(rf"{_SKIPPED}|<[a-zA-Z][^<>=]*+=[^<>]*+>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"(?P<lead>(?<![^\s\"'<>/=])(?P<name>[^\s\"'<>/=]++)\s*=\s*)(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+))"
)
_ADDRESSES = frozenset({"href", "src", "data", "lowsrc", "poster", "background", "srcset", "style"})
_LAZY_ADDRESSES = frozenset({*LAZY, *LAZY_SETS})
_NOT_IN_STYLES = re.compile(r"[ \t\n\r\f\"'()\\]")

Resolve = Callable[[str], str | None]


def rewrite_addresses(html: str, resolve: Resolve) -> str:
    """Return the HTML with each address replaced by the result of ``resolve``.

    Args:
        html: a body.
        resolve: receives an address with its references decoded; returns the new one, or ``None`` to keep it.
    """
    return _replaced(html, _new_attributes(html, resolve))


def _new_attributes(html: str, resolve: Resolve) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of each attribute and style sheet that changes, with its new text."""
    for tag in _TAG_WITH_VALUES.finditer(html):
        start, end = tag.span()
        if tag[1]:
            if tag[1].lower() == "style":
                yield start, end, _restyled(tag[0], resolve)
            continue
        if html.startswith("<!", start):
            continue
        # Only a parameter's value can be an address.
        other = "value" if html[start : start + 7].lower() == "<param " else ""
        for found in _ATTRIBUTE.finditer(html, start, end):
            name = found["name"].lower()
            if name in _ADDRESSES or name in _LAZY_ADDRESSES or name == other:
                value = found[found.lastindex or 0]
                plain = attribute_text(value) if "&" in value else value
                new = _readdressed(name, plain, resolve)
                if new != plain:
                    yield *found.span(), f'{found["lead"]}"{escape(new)}"'


def _readdressed(name: str, value: str, resolve: Resolve) -> str:
    """Return the new value of an attribute."""
    if name == "srcset" or name in LAZY_SETS:
        return _replaced(value, ((at, end, resolve(value[at:end])) for at, end in candidate_places(value)))
    if name == "style":
        return _restyled(value, resolve)
    new = resolve(value) if name not in LAZY or is_like_an_address(value) else None
    return value if new is None else new


def _restyled(style: str, resolve: Resolve) -> str:
    """Return CSS declarations with the new addresses, escaped for CSS."""
    return _replaced(
        style, ((start, end, _in_style_form(resolve(style[start:end]))) for start, end in _in_style(style))
    )


def _in_style_form(address: str | None) -> str | None:
    return None if address is None else _NOT_IN_STYLES.sub(lambda char: f"%{ord(char[0]):02X}", address)


def _replaced(text: str, places: Iterator[tuple[int, int, str | None]]) -> str:
    """Return a text with the given ranges replaced; ``None`` keeps a range."""
    parts: list[str] = []
    done = 0
    for start, end, new in places:
        if new is not None and new != text[start:end]:
            parts += [text[done:start], new]
            done = end
    return "".join([*parts, text[done:]]) if parts else text


_SCRIPT: Final = re.compile("<(?ai:script)")
_BLUESKY: Final = re.compile(r"at://([\w:.%-]{1,200})/app\.bsky\.feed\.post/(\w{1,64})")


def link_frames(body: Element) -> None:
    """Replace each frame with a web page by a line with a link to it."""
    for element in [node for node in body.elements() if node.tag == "iframe"]:
        address = next(filter(None, (safe_frame_url(each.address) for each in embeds(element))), None)
        if address is not None:
            title = next(each.title for each in embeds(element))
            link = Element("a", {"href": address}, [title or address])
            element.tag, element.attributes, element.children = "div", {}, [link]


def parse_body(html: str, places: Collection[str] = ()) -> Element:
    """Return a body's tree, made :func:`~exporter.html.ready.ready`, with links in place of content shown by scripts.

    Such are embedding scripts (Gist, Niconico, asciinema), and quotations from X or Bluesky whose link has no text,
    because a script would replace it. The ids of ``places`` are marked as anchors, and so are the languages of code and
    the ticks of task lists.
    """
    body = parse(ready(html))
    name_languages(body, html)
    mark_ticks(body, html)
    for element in body.elements() if _SCRIPT.search(html) else ():
        if element.tag == "script":
            page = page_of(element.attributes.get("src", ""))
            if page is not None:
                element.tag, element.attributes, element.children = "a", {"href": page}, [page]
        elif element.tag == "blockquote":
            _fill(element)
    mark_places(body, places)
    return body


def scripts_in(html: str) -> int:
    """Return the number of scripts in a body."""
    return len(_SCRIPT.findall(html))


def _fill(quotation: Element) -> None:
    post = _BLUESKY.fullmatch(quotation.attributes.get("data-bluesky-uri", ""))
    if post is not None and not quotation.text().strip():
        address = f"https://bsky.app/profile/{post[1]}/post/{post[2]}"
        quotation.children.append(Element("a", {"href": address}, [address]))
    for link in quotation.elements():
        if link.tag == "a" and not link.children and link.attributes.get("href"):
            link.children.append(link.attributes["href"])
