"""EUC-JP with the characters that NEC, IBM and Microsoft added, such as ①, ㈱, 髙 and 﨑. Pure.

Python's ``euc_jp`` has JIS X 0201, 0208 and 0212 alone, and ``euc_jis_2004`` reads other characters at the same places.
Two forms are in use, which agree in the bytes that both have:

- Code page 51932 has the rows 13 and 89 to 92 of Windows' Shift_JIS, in two bytes.
- eucJP-ms has them too, and IBM's characters that JIS X 0212 lacks in three bytes, ``8F F3 F3`` to ``8F F4 FE``.

Both are error handlers for Python's codec, whose name is :data:`CODEC`: it reads the rest, also piece by piece.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

CODEC: Final = "euc_jp"
STRICT: Final = "blog-exporter-euc-jp"
"""The handler that refuses bytes without a meaning."""
MARKING: Final = "blog-exporter-euc-jp-marking"
"""The handler that marks bytes without a meaning, like ``surrogateescape``."""
REPLACING: Final = "blog-exporter-euc-jp-replacing"
"""The handler that writes one U+FFFD for bytes without a meaning."""

_THREE_BYTES: Final = 0x8F
_MAX_RUN_BYTES: Final = 2048
_PAIRS: Final = re.compile(rb"[\xa1-\xfe]{1,%d}" % _MAX_RUN_BYTES)
_IBM_FIRST: Final = (0xF3, 0xF3)
_IBM: Final = (
    "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤﨎咊坙﨏塚增寬峵嵓﨑德悅愠敎昻晥晴朗栁﨓﨔橫"
    "櫢淸淲瀨凞猪甁皂皞益礰礼神祥福竧靖精綠緖羽荢﨟薰蘒﨡蠇諸譿賴赶﨣﨤逸郞都鄕﨧﨨閒隆﨩霻靍靑飯飼館馞髙魲鶴黑"
)
"""IBM's characters that JIS X 0212 lacks, in the order of eucJP-ms."""


def handlers(codec: str) -> tuple[str, str]:
    """Return the names of a codec's error handlers that refuse, and that replace, bytes without a meaning."""
    return (STRICT, REPLACING) if codec == CODEC else ("strict", "replace")


def _strict(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    character, size = _addition(error.object[error.start : error.start + 3])
    if not character:
        raise error
    return character, error.start + size


def _marking(error: UnicodeError) -> tuple[str, int]:
    character, bad, end = _lenient(error)
    return character or "".join(chr(0xDC00 + byte) for byte in bad), end


def _replacing(error: UnicodeError) -> tuple[str, int]:
    character, _, end = _lenient(error)
    return character or "\ufffd", end


def _lenient(error: UnicodeError) -> tuple[str, bytes, int]:
    """Return the character, or none and the bytes without a meaning, and where to read on."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    character, size = _addition(error.object[error.start : error.start + 3])
    if not character and size == 2 and _lacks_a_byte(error.object, error.start):
        size = 1
    end = error.start + size
    return character, error.object[error.start : end], end


def _lacks_a_byte(data: bytes, at: int) -> bool:
    """Return whether the pairs up to the next other byte do not come out even, so that one has lost a byte."""
    run = _PAIRS.match(data, at)
    return run is not None and len(run[0]) < _MAX_RUN_BYTES and len(run[0]) % 2 == 1


def _addition(found: bytes) -> tuple[str, int]:
    """Return the character at the beginning of two or three bytes and its size.

    Without a character it is empty. A whole character without a meaning keeps its size, so that the next one is read
    from its first byte (Encoding Standard, section 13.1.1).
    """
    size = 3 if found[0] == _THREE_BYTES else 2
    tail = found[:size] if size == 2 else found[1:size]
    if len(found) < size or min(tail) < 0xA1 or max(tail) > 0xFE:
        return "", 1
    row, cell = tail[0] - 0xA1, tail[1] - 0xA1
    if size == 3:
        place = (tail[0] - _IBM_FIRST[0]) * 94 + tail[1] - _IBM_FIRST[1]
        return (_IBM[place] if 0 <= place < len(_IBM) else ""), size
    # Rows and cells are those of Shift_JIS (JIS X 0208, annex 1), whose codec has the additions.
    lead = row // 2 + (0x81 if row < 62 else 0xC1)
    trail = cell + (0x9F if row % 2 else 0x40 if cell < 63 else 0x41)
    try:
        return bytes((lead, trail)).decode("cp932"), size
    except UnicodeDecodeError:
        return "", size


codecs.register_error(STRICT, _strict)
codecs.register_error(MARKING, _marking)
codecs.register_error(REPLACING, _replacing)
