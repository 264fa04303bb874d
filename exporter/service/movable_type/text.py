"""Decode export files in an unknown encoding, in flat memory. Pure.

Blog services of Japan write UTF-8, EUC-JP or Shift_JIS, and rarely say which. The bytes decide. Text that is valid as
UTF-8 hardly ever has another encoding (RFC 3629, section 1). EUC-JP never uses the bytes 80 to 8D and 90 to A0, which
are half of the bytes of Shift_JIS. Only bytes outside ASCII count, so the first Japanese character may come late.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from exporter.text import REPLACEMENT

PIECE_BYTES: Final = 1024 * 1024
_ENOUGH_BYTES: Final = 256 * 1024
"""Bytes outside ASCII that decide about the encoding."""
_ESCAPE: Final = "surrogateescape"
_EUC_ESCAPE: Final = "exporter.euc"
_HIGH: Final = bytes(range(0x80, 0x100))
_NEVER_EUC: Final = bytes([*range(0x80, 0x8E), *range(0x90, 0xA1), 0xFF])
_ALONE: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_HALVES: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
"""Halves of characters in a form of UTF-8 that old programs write for emoji (CESU-8)."""
_LATIN_LETTERS: Final = bytes(range(0xC0, 0x100))
_MARKED: Final = re.compile("[\udc80-\udcff]")
_ISO_2022_JP: Final = (b"\x1b$B", b"\x1b$@", b"\x1b(J")
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_MOST_BAD_UTF8: Final = 0.1
_MOST_BAD_EUC: Final = 0.01
_LEAST_ALONE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding.

    Attributes:
        codec: its name in Python.
        label: its name for people.
        errors: the error handler, which marks bytes that are not text.
    """

    codec: str
    label: str
    errors: str = _ESCAPE


UTF_8: Final = Encoding("utf-8", "UTF-8")
EUC_JP: Final = Encoding("euc_jp", "EUC-JP", _EUC_ESCAPE)
SHIFT_JIS: Final = Encoding("cp932", "Shift_JIS")
ISO_2022_JP: Final = Encoding("iso2022_jp_ext", "ISO-2022-JP", "replace")
UTF_16: Final = Encoding("utf-16", "UTF-16", "replace")
LATIN: Final = Encoding("cp1252", "Windows-1252")


def _euc_error(error: UnicodeError) -> tuple[str, int]:
    """Decode the characters of NEC and IBM that Windows adds to EUC-JP (code page 51932); mark any other byte."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    pair = error.object[error.start : error.start + 2]
    if len(pair) == 2 and min(pair) >= 0xA1 and max(pair) <= 0xFE:
        row, cell = pair[0] - 0xA1, pair[1] - 0xA1
        first = row // 2 + (0x81 if row < 62 else 0xC1)
        second = cell + 0x9F if row % 2 else cell + (0x40 if cell < 63 else 0x41)
        try:
            return bytes([first, second]).decode("cp932"), error.start + 2
        except UnicodeDecodeError:
            pass
    return chr(0xDC00 + error.object[error.start]), error.start + 1


codecs.register_error(_EUC_ESCAPE, _euc_error)


def encoding_of(file: BinaryIO) -> Encoding:
    """Find a file's encoding, and go back to its beginning.

    If the file cannot be read to its end, the bytes before the error decide. Reading the text raises the error again.
    """

    def pieces() -> Iterator[bytes]:
        try:
            yield from _pieces(file)
        except Exception:  # noqa: BLE001 - files, ZIPs and compressors have many kinds
            return

    found = find_encoding(pieces())
    file.seek(0)
    return found


def find_encoding(pieces: Iterator[bytes]) -> Encoding:
    """Return the encoding of a text by its bytes; of ASCII alone, UTF-8. It reads no more pieces than it needs."""
    high = bad_utf8 = never_euc = alone = alone_letters = 0
    escapes = False
    utf8 = codecs.getincrementaldecoder("utf-8")(_ESCAPE)
    for number, piece in enumerate(pieces):
        if number == 0:
            for bom, codec in _BOMS:
                if piece.startswith(bom):
                    return UTF_16 if codec == "utf-16" else UTF_8
        if piece.isascii():
            utf8.decode(piece)
            escapes = escapes or any(mark in piece for mark in _ISO_2022_JP)
            continue
        high += len(piece) - len(piece.translate(None, _HIGH))
        never_euc += len(piece) - len(piece.translate(None, _NEVER_EUC))
        bad_utf8 += len(_MARKED.findall(utf8.decode(piece))) - 3 * len(_HALVES.findall(piece))
        singles = b"".join(_ALONE.findall(piece))
        alone += len(singles)
        alone_letters += len(singles) - len(singles.translate(None, _LATIN_LETTERS))
        if high >= _ENOUGH_BYTES:
            break
    if not high:
        return ISO_2022_JP if escapes else UTF_8
    if bad_utf8 <= high * _MOST_BAD_UTF8:
        return UTF_8
    if alone > high * _LEAST_ALONE and alone_letters * 2 > alone:
        return LATIN
    return EUC_JP if never_euc <= high * _MOST_BAD_EUC else SHIFT_JIS


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    # If a compressed file breaks off, read() raises and drops the last bytes. read1() returns them before it raises.
    read = getattr(file, "read1", file.read)
    while piece := read(PIECE_BYTES):
        yield piece


def text_of(file: BinaryIO, encoding: Encoding) -> Iterator[str]:
    r"""Decode a file from here, with ``\n`` for every line end and marks for bytes that are not text.

    The byte order mark is left out. :func:`repaired` replaces the marks.
    """
    decoder = codecs.getincrementaldecoder(encoding.codec)(encoding.errors)
    held, begin = "", True
    for piece in _pieces(file):
        text = held + decoder.decode(piece)
        held = "\r" if text.endswith("\r") else ""
        text = _with_line_ends(text.removesuffix("\r") if held else text)
        if begin and text:
            text, begin = text.removeprefix("\ufeff"), False
        yield text
    rest = held + decoder.decode(b"", True)
    if rest:
        yield _with_line_ends(rest)


def _with_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def repaired(text: str) -> tuple[str, int, int]:
    """Return a text with U+FFFD for marked bytes, their number, and the line ends before the first one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        made, count = _MARKED.subn(REPLACEMENT, text)
        return made, count, text.count("\n", 0, error.start)
    return text, 0, 0
