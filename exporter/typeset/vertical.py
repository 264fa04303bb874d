"""Pages with vertical lines: signs, numbers and pictures lie on their side until the page is turned."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from typing import Any, Final, NamedTuple

from exporter.typeset.upright import NotFree, Turned, turned

_TAG: Final = re.compile(r"<[^>]*>")
_SAMPLE: Final = "あ"
_WEIGHTS: Final = {400: f"<p>{_SAMPLE}</p>", 700: f"<p><b>{_SAMPLE}</b></p>"}
_GROUP: Final = re.compile(r'<span class="tcy">([0-9!?]{1,3})</span>')
_WIDTH: Final = re.compile(r'(<img [^>]*?) width="([0-9]+)"')


class UprightFonts(NamedTuple):
    """The fonts of upright letters, or a failure and its detail."""

    fonts: Sequence[Turned] = ()
    failure: str = ""
    detail: str = ""


def upright_fonts(html: str, laid_out: Callable[[str], Any]) -> UprightFonts:
    """Return a font of upright letters for each weight, made from the fonts that the styles of the book choose.

    Args:
        html: the whole book.
        laid_out: lays out a page with the book's styles, and returns WeasyPrint's document.
    """
    characters = set(unescape(_TAG.sub("", html)))
    groups = set(map(unescape, _GROUP.findall(html)))
    made = []
    for weight, sample in _WEIGHTS.items():
        document = laid_out(f'<html lang="ja"><body><article>{sample}</article></body></html>')
        document.write_pdf(full_fonts=True, uncompressed_pdf=True)
        for font in document.fonts.values():
            if _SAMPLE not in font.to_unicode.values():
                continue  # the font of the page's number
            try:
                made.append(turned(font.file_content, font.index, characters, groups, weight))
            except NotFree:
                return UprightFonts(failure="changes", detail=font.family)
    return UprightFonts(made)


def on_their_side(html: str, fonts: Sequence[Turned]) -> str:
    """Return a page in which signs without an upright font, such as emoji, are turned one by one.

    A picture's width becomes its height, since it is turned.
    """
    known = fonts[0].characters if fonts else frozenset()
    return _WIDTH.sub(r'\1 style="height: \2px"', "".join(_pieces(html, known)))


def _pieces(html: str, known: frozenset[str]) -> Iterator[str]:
    at = 0
    for found in _TAG.finditer(html):
        yield from _signs(html[at : found.start()], known)
        yield found[0]
        at = found.end()
    yield from _signs(html[at:], known)


def _signs(text: str, known: frozenset[str]) -> Iterator[str]:
    for each in text:
        is_sign = each > "\u2000" and each not in known and unicodedata.category(each) == "So"
        yield f'<span class="sign">{each}</span>' if is_sign else each
