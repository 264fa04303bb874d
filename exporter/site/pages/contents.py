"""The table of contents of a long entry, in place of the one that the blog's service made. Pure."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from exporter.html.service_habits import CONTENTS
from exporter.site.templating import escaped

_MIN_HEADINGS: Final = 4
_MAX_HEADINGS: Final = 300
_ATTRIBUTES: Final = r'(?:[^<>"]|"[^"]*")*'
_HEADING: Final = re.compile(rf"<h([2-6])({_ATTRIBUTES})>(.*?)</h\1>", re.DOTALL)
_ID: Final = re.compile(r' id="([^"]*)"')
_UNSAID: Final = re.compile(rf"<(rt|rp)>.*?</\1>|<{_ATTRIBUTES}>", re.DOTALL)
"""Tags, and the readings above words: on one line these would repeat the words."""
_MARK: Final = f' class="{CONTENTS}"'
_OWN_LIST: Final = re.compile(rf"<(div|ol|ul)(?=[ >])({_ATTRIBUTES})>")
_EDGES: Final = {tag: re.compile(rf"<(/?){tag}(?=[ >])") for tag in ("div", "ol", "ul")}
_LINK: Final = re.compile(r'<a [^>]*?href="([^"]*)"')
_TITLE: Final = re.compile(
    rf"<h([2-6])({_ATTRIBUTES})>(?:目次|もくじ|contents|table of contents)</h\1>\s*\Z", re.IGNORECASE
)
_TITLE_CHARACTERS: Final = 400


def with_contents(text: str, label: str) -> str:
    """Return a text with its table of contents, or unchanged if it has fewer than four headings.

    A table of contents that the blog's service made is left out, with its title, if this one has all of its links.

    Args:
        text: HTML that was cleaned: headings hold no headings, and only attributes hold a ``>``.
        label: the heading of the table of contents.
    """
    if text.count("<h") < _MIN_HEADINGS:
        return text
    marked = text
    found: list[_Heading] = []
    if _MARK in text:
        rest, asked = _without_lists(text)
        marked, found = _marked(rest)
        if not asked <= {each.place for each in found} or _skips(found) or _leads_into(text, rest, marked):
            found = []
    if len(found) < _MIN_HEADINGS:
        marked, found = _marked(text)
    if len(found) < _MIN_HEADINGS:
        return text
    name = escaped(label)
    opening = f'<nav class="contents" aria-label="{name}"><details>\n<summary>{name}</summary>'
    return f"{opening}{_listed(found)}</details></nav>\n{marked}"


class _Heading(NamedTuple):
    """A heading's level, its anchor, and its text as HTML."""

    level: int
    place: str
    words: str


def _marked(text: str) -> tuple[str, list[_Heading]]:
    """Return a text with an anchor on each heading, and its headings."""
    found: list[_Heading] = []

    def placed(heading: re.Match[str]) -> str:
        level, attributes, inside = heading.groups()
        words = " ".join(_UNSAID.sub("", inside).split())
        if not words or len(found) >= _MAX_HEADINGS:
            return heading[0]
        own = _ID.search(attributes)
        place = own[1] if own else f"h-{len(found) + 1}"
        found.append(_Heading(int(level), place, words))
        return heading[0] if own else f'<h{level}{attributes} id="{place}">{inside}</h{level}>'

    return _HEADING.sub(placed, text), found


def _without_lists(text: str) -> tuple[str, set[str]]:
    """Return a text without the tables of contents of its service, and the anchors that these lead to.

    A link to anything else than an anchor is among them as its address.
    """
    parts: list[str] = []
    asked: set[str] = set()
    own: set[str] = set()
    done = 0
    while (found := _next_list(text, done)) is not None:
        start, end = found
        before = text[done:start]
        title = _TITLE.search(before, max(0, len(before) - _TITLE_CHARACTERS))
        if title is not None:
            own.update(_ID.findall(title[2]))
            before = before[: title.start()]
        parts.append(before)
        asked.update(link.removeprefix("#") for link in _LINK.findall(text, start, end))
        done = end
    return "".join([*parts, text[done:]]), asked - own


def _next_list(text: str, start: int) -> tuple[int, int] | None:
    """Return the start and end of the next table of contents of the service."""
    for opening in _OWN_LIST.finditer(text, start):
        if _MARK in opening[2]:
            depth = 0
            for edge in _EDGES[opening[1]].finditer(text, opening.start()):
                depth += -1 if edge[1] else 1
                if not depth:
                    return opening.start(), text.index(">", edge.end()) + 1
    return None


def _skips(headings: list[_Heading]) -> bool:
    """Return whether a level is missing, because the headings were below the title of a list that was left out."""
    levels = [1, *(each.level for each in headings)]
    return any(below > above + 1 for above, below in pairwise(levels))


def _leads_into(text: str, rest: str, marked: str) -> bool:
    """Return whether the rest of a text has a link to an anchor that is only in the lists."""
    lost = set(_ID.findall(text)) - set(_ID.findall(marked))
    return bool(lost) and any(link.removeprefix("#") in lost for link in _LINK.findall(rest))


def _listed(headings: list[_Heading]) -> str:
    """Return nested lists of links to headings."""
    parts: list[str] = []
    levels: list[int] = []
    for level, place, words in headings:
        while len(levels) > 1 and level < levels[-1]:
            levels.pop()
            parts.append("</li>\n</ol>\n")
        if levels and level <= levels[-1]:
            parts.append("</li>\n")
        else:
            levels.append(level)
            parts.append("\n<ol>\n")
        parts.append(f'<li><a href="#{place}">{words}</a>')
    parts.append("</li>\n</ol>\n" * len(levels))
    return "".join(parts)
