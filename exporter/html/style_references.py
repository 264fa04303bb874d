"""Addresses in style sheets: ``url()``, ``@import``, ``image-set()`` (CSS Syntax, section 4.3). Pure.

A full parser takes longer than all else in a crawl, and a broken sheet must still give its addresses. So the text is
searched for the tokens that matter, and no character is read more than a few times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_DOUBLE: Final = r"\"(?:[^\"\\\n]|\\.)*+\""
_SINGLE: Final = r"'(?:[^'\\\n]|\\.)*+'"
_URL: Final = rf"\burl\(\s*+({_DOUBLE}|{_SINGLE}|(?:[^\"'()\\\s]|\\.)*+)"
_TOKEN: Final = re.compile(
    r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
    rf"|@import\s*+(?:({_DOUBLE}|{_SINGLE})|{_URL})"
    rf"|{_URL}"
    r"|@namespace\b[^;{}]*+"
    r"|\bimage-set\(([^;{}]*+)"
    rf"|{_DOUBLE}|{_SINGLE}",
    re.IGNORECASE | re.DOTALL,
)
_IN_SET: Final = re.compile(rf"\btype\([^)]*+|{_URL}|({_DOUBLE}|{_SINGLE})", re.IGNORECASE | re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\r\n\f])?|\r?\n|(.))", re.DOTALL)
_HAS_ADDRESS: Final = re.compile(r"url\(|@import|image-set\(", re.IGNORECASE)


class StyleReference(NamedTuple):
    """An address as in a style sheet, unescaped; ``is_sheet`` if it names another sheet."""

    text: str
    is_sheet: bool


def style_references(sheet: str) -> Iterator[StyleReference]:
    """Yield the addresses in a style sheet, or in the declarations of an attribute."""
    if not _HAS_ADDRESS.search(sheet):
        return
    for token in _TOKEN.finditer(sheet):
        imported, imported_url, url, image_set = token.groups()
        if image_set is not None:
            for inner in _IN_SET.finditer(image_set):
                yield from _reference(inner[1] if inner[1] is not None else inner[2], is_sheet=False)
        elif url is not None:
            yield from _reference(url, is_sheet=False)
        else:
            yield from _reference(imported if imported is not None else imported_url, is_sheet=True)


def _reference(text: str | None, *, is_sheet: bool) -> Iterator[StyleReference]:
    if text:
        plain = text[1:-1] if text[0] in "\"'" else text
        yield StyleReference(unescaped(plain), is_sheet)


def unescaped(text: str) -> str:
    """Return a CSS string without its escapes (CSS Syntax, section 4.3.7)."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[2] or ""
    code = int(found[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def with_addresses(sheet: str, change: Callable[[str], str]) -> str:
    """Return a style sheet, or the declarations in an attribute, with changed addresses; all else stays as it is.

    Args:
        sheet: the text.
        change: receives each address unescaped; returns one without quotes, parentheses, backslashes and spaces.
    """
    if not _HAS_ADDRESS.search(sheet):
        return sheet
    parts: list[str] = []
    at = 0
    for start, end in _places(sheet):
        written = sheet[start:end]
        quote = written[0] if written[:1] in {'"', "'"} else ""
        parts += [sheet[at:start], quote, change(unescaped(written.strip(quote) if quote else written)), quote]
        at = end
    return "".join([*parts, sheet[at:]])


def _places(sheet: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each address, with its quotes."""
    for token in _TOKEN.finditer(sheet):
        if token[4] is not None:
            for inner in _IN_SET.finditer(token[4]):
                for group in (1, 2):
                    if inner[group]:
                        yield token.start(4) + inner.start(group), token.start(4) + inner.end(group)
            continue
        for group in (1, 2, 3):
            if token[group]:
                yield token.span(group)
