"""Decode an XML file from any encoding of Japanese blogs, piece by piece. Pure.

A declaration of the encoding that is wrong is ignored.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from exporter.message import message
from exporter.service import euc_jp
from exporter.xml.reader import XmlFault

PIECE_BYTES: Final = 65_536
_DETECTED_BYTES: Final = 65_536
_HEAD_BYTES: Final = 1024
_BEYOND_ASCII: Final = re.compile(rb"[^\x00-\x1a\x1c-\x7f]")
"""A byte of another character set; ISO-2022-JP begins it with an escape."""
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_CODECS: Final = frozenset(
    re.split(
        " ",
        "ascii big5 cp1250 cp1251 cp1252 cp932 cp949 euc_jp euc_kr gb18030 gb2312 gbk iso2022_jp "
        "iso8859-1 iso8859-15 iso8859-2 koi8-r shift_jis utf-8",
    )
)
_LARGER: Final = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030"}
"""Codecs that read all that a codec reads, and the additions of its users."""
_GUESSES: Final = (euc_jp.CODEC, "cp932")
_MAX_BAD_SHARE: Final = 0.2
"""The largest share of undecodable characters in a text that still counts as UTF-8."""


def pieces(file: BinaryIO) -> Iterator[str | XmlFault]:
    """Decode a file piece by piece. A fault precedes each piece whose bytes do not fit the encoding."""
    data = file.read(PIECE_BYTES)
    mark = next((codec for begin, codec in _BOMS if data.startswith(begin)), "")
    head, line = b"", 1
    while not mark and data:
        found = _BEYOND_ASCII.search(data)
        if found is not None:
            data += file.read(_DETECTED_BYTES)
            head += data[:_HEAD_BYTES]
            mark = _codec(head[:_HEAD_BYTES], data[found.start() : found.start() + _DETECTED_BYTES])
            break
        head = (head + data)[:_HEAD_BYTES]
        yield data.decode("ascii")
        line += data.count(b"\n")
        data = file.read(PIECE_BYTES)
    if not mark:
        return
    strict, lenient = euc_jp.handlers(mark)
    decoder = codecs.getincrementaldecoder(mark)(strict)
    while True:
        state = decoder.getstate()
        try:
            text = decoder.decode(data, not data)
        except UnicodeError as error:
            at = error.start if isinstance(error, UnicodeDecodeError) else 0
            decoder.setstate(state)
            decoder.errors = lenient
            text = decoder.decode(data, not data)
            decoder.errors = strict
            reason = message("bytes that are no text in this encoding; they became �")
            yield XmlFault(line + data.count(b"\n", 0, at), reason, lost=True)
        yield text
        if not data:
            return
        line += text.count("\n")
        data = file.read(PIECE_BYTES)


def _codec(head: bytes, data: bytes) -> str:
    """Return the codec that reads a piece with characters beyond ASCII; a wrong declaration is ignored."""
    stated = _DECLARED.search(head)
    declared = "" if stated is None else stated[1].decode("ascii")
    try:
        name = codecs.lookup(declared).name if declared else ""
    except LookupError:
        name = ""
    named = [_LARGER.get(name, name)] if name in _CODECS and name != "ascii" else []
    if named[:1] != ["iso2022_jp"] and _is_nearly_utf8(data):
        return "utf-8"
    for codec in (*named, *_GUESSES):
        try:
            codecs.getincrementaldecoder(codec)(euc_jp.handlers(codec)[0]).decode(data, False)
        except UnicodeError:
            continue
        return codec
    return (named or ["utf-8"])[0]


def _is_nearly_utf8(data: bytes) -> bool:
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    wide = sum(character > "\x7f" for character in text)
    return text.count("\ufffd") - data.count(b"\xef\xbf\xbd") <= _MAX_BAD_SHARE * wide
