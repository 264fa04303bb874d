"""Convert an XML file to UTF-8 from any encoding of Japanese blogs, without characters that XML forbids. Pure.

A declaration of the encoding that is wrong is ignored. Control characters are hidden from the parser and kept.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, NamedTuple

from exporter.message import message

PIECE_BYTES: Final = 65_536
_DETECTED_BYTES: Final = 65_536
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
        "ascii big5 cp1250 cp1251 cp1252 cp932 cp949 euc_jis_2004 euc_jp euc_kr gb18030 gb2312 gbk iso2022_jp "
        "iso8859-1 iso8859-15 iso8859-2 koi8-r shift_jis utf-8",
    )
)
_LARGER: Final = {"shift_jis": "cp932", "euc_jp": "euc_jis_2004", "gb2312": "gb18030", "gbk": "gb18030"}
"""Codecs that read all that a codec reads, and the additions of its users."""
_GUESSES: Final = ("euc_jis_2004", "cp932")
_MAX_BAD_SHARE: Final = 0.2
"""The largest share of undecodable characters in a text that still counts as UTF-8."""

_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufdd0-\ufdef\ufffe\uffff]")
_HIDDEN: Final = {
    **{code: 0xFDD0 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    **dict.fromkeys((*range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF), 0xFFFD),
}
"""Control characters pass through expat as the noncharacters that no text has; those become U+FFFD."""
_SHOWN: Final = {0xFDD0 + code: code for code in range(0x20)}


class XmlFault(NamedTuple):
    """A fault.

    Attributes:
        line: its line in the file, from 1.
        reason: a message with the problem.
        lost: whether text is missing.
    """

    line: int
    reason: str
    lost: bool = False


@dataclass(slots=True)
class XmlInput:
    """Reads a file as pieces of UTF-8, without the characters that expat refuses."""

    file: BinaryIO
    line: int = 1
    mapped: bool = False

    def pieces(self) -> Iterator[bytes | XmlFault]:
        """Yield UTF-8 and faults."""
        data = self.file.read(PIECE_BYTES)
        found = _DECLARED.search(data[:1024])
        declared = "" if found is None else found[1].decode("ascii")
        mark = next((codec for begin, codec in _BOMS if data.startswith(begin)), None)
        decoder = None if mark is None else codecs.getincrementaldecoder(mark)()
        while data:
            if decoder is None and data.isascii() and b"\x1b" not in data:
                yield from self._passed(data.decode("ascii"))
            else:
                if decoder is None:
                    data += self.file.read(_DETECTED_BYTES)
                    decoder = codecs.getincrementaldecoder(_codec(declared, data))()
                yield from self._decoded(decoder, data, final=False)
            data = self.file.read(PIECE_BYTES)
        if decoder is not None:
            yield from self._decoded(decoder, b"", final=True)

    def _decoded(self, decoder: codecs.IncrementalDecoder, data: bytes, *, final: bool) -> Iterator[bytes | XmlFault]:
        state = decoder.getstate()
        try:
            text = decoder.decode(data, final)
        except UnicodeError as error:
            at = error.start if isinstance(error, UnicodeDecodeError) else 0
            decoder.setstate(state)
            decoder.errors = "replace"
            text = decoder.decode(data, final)
            decoder.errors = "strict"
            line = self.line + data.count(b"\n", 0, at)
            yield XmlFault(line, message("bytes that are no text in this encoding; they became �"), lost=True)
        yield from self._passed(text)

    def _passed(self, text: str) -> Iterator[bytes | XmlFault]:
        found = _FORBIDDEN.search(text)
        if found is not None:
            self.mapped = True
            line = self.line + text.count("\n", 0, found.start())
            lost = any(each[0] > "\x20" for each in _FORBIDDEN.finditer(text))
            text = text.translate(_HIDDEN)
            yield XmlFault(line, message("control characters, which XML forbids; they are kept"))
            if lost:
                yield XmlFault(line, message("characters that no text may have; they became �"), lost=True)
        self.line += text.count("\n")
        if text:
            yield text.encode("utf-8", "replace")


def _codec(declared: str, data: bytes) -> str:
    """Return the codec that reads a piece with characters beyond ASCII; a wrong declaration is ignored."""
    try:
        name = codecs.lookup(declared).name if declared else ""
    except LookupError:
        name = ""
    named = [_LARGER.get(name, name)] if name in _CODECS and name != "ascii" else []
    if named[:1] != ["iso2022_jp"] and _is_nearly_utf8(data):
        return "utf-8"
    for codec in (*named, *_GUESSES):
        try:
            codecs.getincrementaldecoder(codec)().decode(data, False)
        except UnicodeError:
            continue
        return codec
    return (named or ["utf-8"])[0]


def _is_nearly_utf8(data: bytes) -> bool:
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    wide = sum(character > "\x7f" for character in text)
    return text.count("\ufffd") - data.count(b"\xef\xbf\xbd") <= _MAX_BAD_SHARE * wide


def hidden(text: str) -> bytes:
    """Return text as UTF-8 in the form that :class:`XmlInput` yields."""
    return text.translate(_HIDDEN).encode("utf-8", "replace")


def shown(text: str) -> str:
    """Return text with the control characters that were hidden from the parser."""
    return text.translate(_SHOWN)
