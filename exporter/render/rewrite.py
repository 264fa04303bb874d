"""Changing the addresses in a body and nothing else: every other character stays as its writer left it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape, unescape

from exporter.render.embedded import candidate_places

# What is never closed goes on to the end, as in browsers; looking for its end from each of many would take hours.
_SKIPPED = r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|xmp)(?=[\s/>]).*?(?:</\1(?=[\s/>])|\Z)"
_TAG = re.compile(rf"{_SKIPPED}|<[a-zA-Z][^<>]*>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"(?P<lead>(?<![^\s\"'<>/=])(?P<name>[^\s\"'<>/=]++)\s*=\s*)(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+))"
)
_ADDRESSES = frozenset({"href", "src", "data-src", "poster", "background", "srcset"})

Resolve = Callable[[str], str | None]


def rewrite_addresses(html: str, resolve: Resolve) -> str:
    """Return the HTML with each address that ``resolve`` knows replaced by what it returns.

    Args:
        html: a body.
        resolve: is given an address with its character references read; returns the new one, or ``None`` to keep it.
    """

    def in_attribute(found: re.Match[str]) -> str:
        if found["name"].lower() not in _ADDRESSES:
            return found[0]
        value = next(text for text in found.group("double", "single", "bare") if text is not None)
        plain = unescape(value)
        if found["name"].lower() == "srcset":
            new: str | None = _replaced(
                plain, ((at, end, resolve(plain[at:end])) for at, end in candidate_places(plain))
            )
        else:
            new = resolve(plain)
        if new is None or new == plain:
            return found[0]
        return f'{found["lead"]}"{escape(new)}"'

    def in_tag(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith("<!") or found[1] else _ATTRIBUTE.sub(in_attribute, found[0])

    return _replaced(html, ((*found.span(), in_tag(found)) for found in _TAG.finditer(html)))


def _replaced(text: str, places: Iterator[tuple[int, int, str | None]]) -> str:
    """Return a text with something else at some places; nothing is held for a place that stays as it is."""
    parts: list[str] = []
    done = 0
    for start, end, new in places:
        if new is not None and new != text[start:end]:
            parts += [text[done:start], new]
            done = end
    return "".join([*parts, text[done:]]) if parts else text
