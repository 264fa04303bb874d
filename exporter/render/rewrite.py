"""Changing the addresses in a body and nothing else: every other character stays as its writer left it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape

_SKIPPED = r"<!--.*?-->|<(script|style|textarea|xmp)\b.*?</\1\s*>"
_TAG = re.compile(rf"{_SKIPPED}|<[a-zA-Z][^<>]*>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"(?P<lead>(?P<name>[^\s\"'<>/=]+)\s*=\s*)(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+))"
)
_ADDRESSES = frozenset({"href", "src", "data-src", "poster", "background", "srcset"})
_CANDIDATE = re.compile(r"(\s*)([^\s,]\S*[^\s,])((?:\s+[^,\s]+)?\s*(?:,|$))")

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
            new: str | None = _CANDIDATE.sub(lambda one: f"{one[1]}{resolve(one[2]) or one[2]}{one[3]}", plain)
        else:
            new = resolve(plain)
        if new is None or new == plain:
            return found[0]
        return f'{found["lead"]}"{escape(new)}"'

    def in_tag(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith("<!") or found[1] else _ATTRIBUTE.sub(in_attribute, found[0])

    return _TAG.sub(in_tag, html) if "<" in html else html
