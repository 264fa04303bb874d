"""Tags and attributes as a tokenizer reads them (HTML Standard, section 13.2.5), without building a tree. Pure.

That takes linear time for any input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import Final, NamedTuple

_NAME: Final = r"[a-zA-Z][^\s/>]*+"
_ATTRIBUTE: Final = r"[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'>][^\s>]*+|(?=>)))?+"
_MARKUP: Final = re.compile(
    rf"<(?:(?P<name>{_NAME})(?P<rest>(?:[\s/]++|{_ATTRIBUTE})*+)>?"
    rf"|/(?P<ended>{_NAME})[^>]*+>?|!--(?:-?>|.*?(?:--!?>|\Z))|[!?/][^>]*+>?)",
    re.DOTALL,
)
_ATTRIBUTES: Final = re.compile(r"([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>][^\s>]*+)))?+")
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe")
}
"""Elements whose content is text, and the end of each. A frame's content was for browsers without frames."""

LAZY: Final = (
    "data-src", "data-original", "data-lazy-src", "data-lazy", "data-echo", "data-url", "data-image", "data-hires",
    "data-large_image", "data-full-src", "data-poster",
)  # fmt: skip
"""Attributes from which the usual scripts take the address of a picture when it comes into view."""
LAZY_SETS: Final = ("data-srcset", "data-lazy-srcset", "data-original-set")
_REFERENCE = re.compile(r"&(?:#[0-9a-zA-Z]+;?|([a-zA-Z][a-zA-Z0-9]*(?:;|(?![a-zA-Z0-9=]))))")

_CANDIDATE = re.compile(r"[\s,]*([^\s,]\S*)")
_DESCRIPTOR = re.compile(r"[^,(]*(?:\([^)]*(?:\)|\Z)[^,(]*)*")

_ADDRESS: Final = re.compile(r"(?=[^/]*+/|.*\.[0-9a-zA-Z]{3,4}\Z)[^\s<>{}\"'\[]++")
"""A value with a slash or the ending of a file."""

Attributes = dict[str, str]


class Tag(NamedTuple):
    """A tag in HTML.

    Attributes:
        name: in lower case; of an end tag with ``/`` before it.
        rest: its attributes as written.
        start: index of its ``<``.
        end: index after its ``>``.
        after: as ``end``, but behind the content if that is text, as in a script.
    """

    name: str
    rest: str
    start: int
    end: int
    after: int

    @property
    def attributes(self) -> Attributes:
        """The attributes by lower-case name, with their references decoded; the first of a name counts."""
        found: Attributes = {}
        for each in _ATTRIBUTES.finditer(self.rest):
            name, double, single, bare = each.groups()
            value = double or single or bare or ""
            found.setdefault(name.lower(), attribute_text(value) if "&" in value else value)
        return found


def tags(html: str) -> Iterator[Tag]:
    """Yield the tags outside of comments and of elements whose content is text."""
    at = 0
    while (found := _MARKUP.search(html, at)) is not None:
        at = found.end()
        if found["name"] is None:
            if found["ended"] is not None:
                yield Tag(f"/{found['ended'].lower()}", "", found.start(), at, at)
            continue
        name = found["name"].lower()
        if (ending := _RAW.get(name)) is not None:
            end = ending.search(html, at)
            at = len(html) if end is None else end.start()
        yield Tag(name, found["rest"], found.start(), found.end(), at)


def attribute_text(value: str) -> str:
    """Return an attribute's value with its references decoded (HTML Standard, section 13.2.5.73, keeps ``&copy=``)."""
    return _REFERENCE.sub(lambda found: html5.get(found[1], found[0]) if found[1] else unescape(found[0]), value)


def is_like_an_address(text: str) -> bool:
    """Return whether the value of an attribute that has other uses too can be an address."""
    return _ADDRESS.fullmatch(text) is not None


def candidates(srcset: str) -> Iterator[str]:
    """Yield the addresses in a ``srcset`` attribute (HTML Standard, section 4.8.4.2.1)."""
    return (srcset[start:end] for start, end in candidate_places(srcset))


def candidate_places(srcset: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each address in a ``srcset`` attribute."""
    at = 0
    while (found := _CANDIDATE.match(srcset, at)) is not None:
        at = found.end()
        text = found[1].rstrip(",")
        if text == found[1]:
            rest = _DESCRIPTOR.match(srcset, at)
            at = rest.end() if rest is not None else at
        yield found.start(1), found.start(1) + len(text)
