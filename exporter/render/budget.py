"""What one body may cost the views, and the text of a body that would cost more. Pure.

A tree, and each thing made from it, costs some microseconds and some hundred bytes a tag, so a body of millions of
tags would take minutes and gigabytes. Beyond the budget the views show its text and say so; the archive keeps the
body as it was sent.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from exporter.render.elements import BLOCKS

BODY_CHARACTERS: Final = 2_000_000
"""The most characters of a body that is shown with its markup: some ten novels."""
BODY_MARKS: Final = 150_000
"""The most tags, character references and line ends of such a body, each of which becomes a piece of a page."""

_MARKS: Final = ("<", "&", "\n")
_WORDS: Final = {
    "ja": "（この本文は大きすぎるため（{:,}文字）、文字だけを示します。送られたままのものはアーカイブにあります。）",
    "en": (
        "(This text is too large to be shown as it looked ({:,} characters), so only its words follow. "
        "The archive's record has all of it as it was sent.)"
    ),
}
_PARTS: Final = 10_000
_TOKEN: Final = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?P<unseen>noembed|noframes|script|style|template|title)(?=[\s/>]).*?(?:</(?P=unseen)(?=[\s/>])[^>]*>?|\Z)"
    r"|<(?P<end>/?)(?P<tag>[a-z][^\s/>]*+)(?P<rest>(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?+)*+(?:>|\Z))"
    r"|<[!?/][^>]*+>?",
    re.DOTALL | re.IGNORECASE,
)
_ALT: Final = re.compile(r"(?<![^\s/\"'])alt\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_LINE_ENDS: Final = re.compile(r"(?<![ \t\r\f])[ \t\r\f]*\n[ \t\r\n\f]*")


def too_large(source: str) -> bool:
    """Tell whether a body is beyond the budget. Takes time that grows with its length, and no memory."""
    return len(source) > BODY_CHARACTERS or sum(map(source.count, _MARKS)) > BODY_MARKS


def too_large_words(characters: int, language: str = "ja") -> str:
    """Return the sentence that stands before the text of a body of so many characters, in Japanese or English."""
    return _WORDS[language].format(characters)


def text_of(source: str) -> str:
    """Return the text of a body without parsing it: blocks and ``<br>`` end a line, pictures give their ``alt``.

    Takes time and memory that grow with the length alone, whatever is in the body. Comments, scripts and styles give
    nothing; one that never ends goes on to the end of the body, as in browsers.
    """
    if "<" not in source:
        return html.unescape(source).strip()
    pieces = _pieces(source)
    chunks: list[str] = []
    # Joined as they come, since a small text takes some fifty bytes more than its characters.
    while batch := list(islice(pieces, _PARTS)):
        chunks.append("".join(batch))
    return _LINE_ENDS.sub("\n", "".join(chunks)).strip()


def _pieces(source: str) -> Iterator[str]:
    at = 0
    for found in _TOKEN.finditer(source):
        if found.start() > at:
            yield html.unescape(source[at : found.start()])
        at = found.end()
        tag = (found["tag"] or "").lower()
        if tag == "br" or tag in BLOCKS:
            yield "\n"
        elif tag == "img" and (alt := _ALT.search(found["rest"])) is not None:
            yield html.unescape(next(filter(None, alt.groups()), ""))
    if at < len(source):
        yield html.unescape(source[at:])
