"""The pages of an e-book: numbered places in its text, which are the same on every screen. Pure.

An e-book that was never printed has no pages, so a reader cannot tell another one where a sentence is. Each chapter
begins a page, and within a chapter a new page begins with the first paragraph or line after a fixed number of
characters.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

CHARACTERS_PER_PAGE: Final = 1_000
"""About as many as two pages of a Japanese paperback have."""

_PIECE: Final = re.compile(r"<[^>]*>|[^<]+")
_BEGINNINGS: Final = ("<p>", "<br />")
"""Tags after which a page may begin. Text is allowed at all their places."""
_NO_TEXT: Final = ("<rt>", "<pre>", "<sup>")
_OPENING: Final = "<section "


def with_page_breaks(chapter: str, first: int) -> tuple[str, int]:
    """Mark the pages in a chapter.

    Args:
        chapter: its XHTML, in which ``<`` and ``>`` are escaped in texts and attributes.
        first: the number of its first page.

    Returns:
        the XHTML with the marks, and the number of the next chapter's first page.
    """
    written: list[str] = []
    number, characters, inside = first, -1, ""
    for piece in _PIECE.findall(chapter):
        written.append(piece)
        if piece[0] != "<":
            characters += len(unescape(piece).strip()) if characters >= 0 else 0
        elif characters < 0:
            if piece.startswith(_OPENING):
                written.append(f"\n{_mark(number)}")
                number, characters = number + 1, 0
        elif inside:
            inside = "" if piece == inside else inside
        elif piece in _NO_TEXT:
            inside = f"</{piece[1:]}"
        elif piece in _BEGINNINGS and characters >= CHARACTERS_PER_PAGE:
            written.append(_mark(number))
            number, characters = number + 1, 0
    return "".join(written), number


def page_id(number: int) -> str:
    """Return the id of the place where a page begins."""
    return f"page-{number}"


def _mark(number: int) -> str:
    return f'<span epub:type="pagebreak" role="doc-pagebreak" id="{page_id(number)}" aria-label="{number}"></span>'
