"""The contents of a long text: its headings in their order, each with a place that links lead to. Pure."""

from __future__ import annotations

import re
from typing import Final

from exporter.site.parts import escaped

_FEWEST: Final = 4
_MOST: Final = 300
_ATTRIBUTES: Final = r'(?:[^<>"]|"[^"]*")*'
_HEADING: Final = re.compile(rf"<h([2-6])({_ATTRIBUTES})>(.*?)</h\1>", re.DOTALL)
_ID: Final = re.compile(r' id="([^"]*)"')
_UNSAID: Final = re.compile(rf"<(rt|rp)>.*?</\1>|<{_ATTRIBUTES}>", re.DOTALL)
"""Tags, and the readings above words: in a line of their own these would be said twice."""


def with_contents(text: str, label: str) -> str:
    """Return a text with its contents before it, or as it is where it has fewer than four headings.

    Args:
        text: HTML that was cleaned: headings hold no headings, and only attributes hold a ``>``.
        label: what the contents are called.
    """
    if text.count("<h") < _FEWEST:
        return text
    found: list[tuple[int, str, str]] = []

    def placed(heading: re.Match[str]) -> str:
        level, attributes, inside = heading.groups()
        words = " ".join(_UNSAID.sub("", inside).split())
        if not words or len(found) >= _MOST:
            return heading[0]
        own = _ID.search(attributes)
        place = own[1] if own else f"h-{len(found) + 1}"
        found.append((int(level), place, words))
        return heading[0] if own else f'<h{level}{attributes} id="{place}">{inside}</h{level}>'

    marked = _HEADING.sub(placed, text)
    if len(found) < _FEWEST:
        return text
    name = escaped(label)
    opening = f'<nav class="contents" aria-label="{name}"><details>\n<summary>{name}</summary>'
    return f"{opening}{_listed(found)}</details></nav>\n{marked}"


def _listed(headings: list[tuple[int, str, str]]) -> str:
    """Return lists in lists: of level, place and words, the last two as HTML."""
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
