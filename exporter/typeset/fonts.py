"""A book's fonts: the characters that they lack, and whether their licences let a PDF contain them.

A proof is set first: a page with each character of the book once. It is laid out with the book's own styles, so the
same fonts are found for the characters.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape, unescape
from io import BytesIO
from typing import Any, Final

_TAG: Final = re.compile(r"<[^>]*>")
_JAPANESE: Final = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]")
_MAX_MISSING: Final = 0.2
"""The part of the Japanese characters that may lack a glyph: rare ones do, but all of them do without a font."""
_SHOWN_CHARACTERS: Final = 12
_RESTRICTED: Final = 0x0002
_EMBEDDING: Final = 0x000F
_NOT_AS_SUBSET: Final = 0x0100
_BITMAPS_ONLY: Final = 0x0200


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof.

    Attributes:
        failure: ``fonts`` or ``licence``; empty if the book can be set.
        detail: characters, or the name of a font.
        missing: the characters that no font has.
    """

    failure: str = ""
    detail: str = ""
    missing: frozenset[str] = field(default_factory=frozenset)


def proof(html: str, laid_out: Callable[[str], Any]) -> Proof:
    """Set a proof of all characters.

    Args:
        html: the whole book.
        laid_out: lays out a page with the book's styles, and returns WeasyPrint's document.
    """
    characters = "".join(sorted({each for each in unescape(_TAG.sub("", html)) if each.isprintable()}))
    shown = escape(characters)
    page = f"<p>{shown}</p><p><strong>{shown}</strong></p><pre>{shown}</pre>"
    document = laid_out(f'<html lang="ja"><body><article>{page}</article></body></html>')
    with _missing_glyphs() as missing:
        document.write_pdf()
    japanese = _JAPANESE.findall(characters)
    lacking = [each for each in japanese if each in missing]
    if len(lacking) > _MAX_MISSING * len(japanese):
        return Proof("fonts", "".join(lacking[:_SHOWN_CHARACTERS]))
    refused = next((name for name, rights in _rights(document) if not may_embed(rights)), "")
    return Proof("licence", refused) if refused else Proof(missing=frozenset(missing))


def may_embed(rights: int) -> bool:
    """Return whether a PDF may contain a font's subset, by ``fsType`` in its table ``OS/2``."""
    return rights & _EMBEDDING != _RESTRICTED and not rights & (_NOT_AS_SUBSET | _BITMAPS_ONLY)


def _rights(document: Any) -> Iterator[tuple[str, int]]:
    """Yield the name and the rights of each font that was used."""
    from fontTools.ttLib import TTFont, TTLibError  # noqa: PLC0415 - comes with WeasyPrint

    for font in document.fonts.values():
        try:
            yield font.family, TTFont(BytesIO(font.file_content), fontNumber=0, lazy=True)["OS/2"].fsType
        except (TTLibError, KeyError):
            yield font.family, 0


@contextmanager
def _missing_glyphs() -> Iterator[set[str]]:
    """Collect the characters that WeasyPrint draws without a glyph."""
    found: set[str] = set()

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if str(record.msg).startswith(".notdef") and isinstance(record.args, tuple):
                found.add(str(record.args[0]))

    logger, collector = logging.getLogger("weasyprint"), Collector()
    logger.addHandler(collector)
    try:
        yield found
    finally:
        logger.removeHandler(collector)
