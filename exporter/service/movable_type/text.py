"""Decode export files in an unknown encoding, in flat memory. Pure.

Blog services of Japan write UTF-8, EUC-JP or Shift_JIS, and rarely say which. The bytes decide. Text that is valid as
UTF-8 hardly ever has another encoding (RFC 3629, section 1). EUC-JP never uses the bytes 80 to 8D and 90 to A0, which
are half of the bytes of Shift_JIS. Only bytes outside ASCII count, so the first Japanese character may come late.

Joined files and trackbacks have several encodings in one file. So each entry is decoded separately, and if it has
several encodings, each of its sections. Bytes that leave a doubt are marked, never guessed.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, Final

from exporter.service import euc_jp
from exporter.text import REPLACEMENT

PIECE_BYTES: Final = 1024 * 1024
_ENOUGH_BYTES: Final = 256 * 1024
"""Bytes outside ASCII that decide about the encoding."""
_ESCAPE: Final = "surrogateescape"
_MARK: Final = "blog-exporter-mark"
_HIGH: Final = bytes(range(0x80, 0x100))
_NEVER_EUC: Final = bytes([*range(0x80, 0x8E), *range(0x90, 0xA1), 0xFF])
_ALONE: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_HALVES: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
"""Halves of characters in a form of UTF-8 that old programs write for emoji (CESU-8)."""
_LATIN_LETTERS: Final = bytes(range(0xC0, 0x100))
_MARKED: Final = re.compile("[\udc80-\udcff]")
_MARK_OF_ENTRY: Final = re.compile(rb"(?<=[\r\n])(?=-{8})")
_MARK_OF_SECTION: Final = re.compile(rb"(?<=[\r\n])(?=-{5})")
_UTF_16_MARK: Final = re.compile(rb"\xff\xfe|\xfe\xff")
_UTF_16_PART: Final = re.compile(rb"\xff\xfe(?=[\t-~]\0)|\xfe\xff(?=\0[\t-~])")
_HEAD: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:AUTHOR|TITLE|STATUS|DATE|BASENAME|UNIQUE URL) ?: ?[^\0]")
"""A head in an encoding other than UTF-16, which has a NUL next to each of these letters."""
_LONGEST_FOUND: Final = 32
_THREE_BYTES: Final = re.compile(rb"[\xe0-\xef][\x80-\xbf]{2}")
_KANA: Final = re.compile("[ぁ-ゖァ-ヺ]")
_HALF_WIDTH: Final = re.compile("[｡-ﾟ]")
_ASCII: Final = re.compile("[\x00-\x7f]+")
_ENDS_OF_ENTRIES: Final = (b"\n--------", b"\r--------")
_ENDS_OF_SECTIONS: Final = (b"\n-----", b"\r-----")
_NO_TRAIL_BYTES: Final = (b"\n", b"\r", b">", b" ")
"""Bytes that are a whole character in every encoding here but UTF-16."""
_ISO_2022_JP: Final = (b"\x1b$B", b"\x1b$@", b"\x1b(J")
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_MOST_BAD_UTF8: Final = 0.1
_MOST_BAD_EUC: Final = 0.01
_LEAST_ALONE: Final = 0.6
_LEAST_WIDE: Final = 2
_LEAST_KANA: Final = 0.1
_MOST_HELD_BYTES: Final = 4 * 1024 * 1024


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
EUC_JP: Final = Encoding(euc_jp.CODEC, "EUC-JP", euc_jp.MARKING)
SHIFT_JIS: Final = Encoding("cp932", "Shift_JIS")
ISO_2022_JP: Final = Encoding("iso2022_jp_ext", "ISO-2022-JP", _MARK)
UTF_16: Final = Encoding("utf-16", "UTF-16", _MARK)
LATIN: Final = Encoding("cp1252", "Windows-1252")


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


codecs.register_error(_MARK, _mark)


def encoding_of(file: BinaryIO) -> Encoding:
    """Find a file's encoding, and go back to its beginning.

    If the file cannot be read to its end, the bytes before the error decide. Reading the text raises the error again.
    """

    def pieces() -> Iterator[bytes]:
        try:
            yield from _without_utf16(file)
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
    for number, piece in enumerate(filter(None, pieces)):
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


def text_of(file: BinaryIO, encoding: Encoding, others: Counter[str] | None = None) -> Iterator[str]:
    r"""Decode a file from here, with ``\n`` for every line end and marks for bytes that are not text.

    The byte order mark is left out. :func:`repaired` replaces the marks. ``others`` counts the entries and sections in
    other encodings, by the names of these.
    """
    parts = _Parts(UTF_8 if encoding is UTF_16 else encoding, Counter() if others is None else others)
    held, begin = "", True
    for piece in parts.read(_without_utf16(file)):
        text = held + piece
        held = "\r" if text.endswith("\r") else ""
        text = _with_line_ends(text.removesuffix("\r") if held else text)
        if begin and text:
            text, begin = text.removeprefix("\ufeff"), False
        yield text
    if held:
        yield "\n"


def _without_utf16(file: BinaryIO) -> Iterator[bytes]:
    """Yield a file with its parts in UTF-16 as UTF-8. Such a part begins with its mark, and ends at another head."""
    held = b""
    decoder: codecs.IncrementalDecoder | None = None
    begin = True
    for piece in chain(_pieces(file), [b""]):
        held += piece
        if begin and piece and len(held) < len(codecs.BOM_UTF16):
            continue
        at = 0
        done = []
        while True:
            found = _UTF_16_MARK.match(held) if begin else None
            found = found or (_UTF_16_PART if decoder is None else _HEAD).search(held, at)
            begin = False
            end = found.start() if found else max(at, len(held) - _LONGEST_FOUND) if piece else len(held)
            made = held[at:end]
            if decoder is not None:
                made = decoder.decode(made, bool(found) or not piece).encode("utf-8", "surrogatepass")
            done.append(made)
            at = end
            if not found:
                break
            decoder = codecs.getincrementaldecoder(UTF_16.codec)(UTF_16.errors) if decoder is None else None
        held = held[at:]
        yield b"".join(done)


class _Parts:
    """Decodes each entry, or each section, in its encoding. One that leaves a doubt has that of the part before it."""

    def __init__(self, encoding: Encoding, others: Counter[str]) -> None:
        self._main = self._current = encoding
        self._others = others

    def read(self, pieces: Iterator[bytes]) -> Iterator[str]:
        held = bytearray()
        for piece in pieces:
            held += piece
            end = max(map(held.rfind, _ENDS_OF_ENTRIES)) + 1
            if not end and len(held) > _MOST_HELD_BYTES:
                end = max(map(held.rfind, _ENDS_OF_SECTIONS)) + 1
                end = end or max(map(held.rfind, _NO_TRAIL_BYTES)) + 1 or len(held)
            if end:
                yield self._decoded(bytes(held[:end]))
                del held[:end]
        yield self._decoded(bytes(held))

    def _decoded(self, data: bytes) -> str:
        if self._main is UTF_8 and not _has_escapes(data):
            text = _strictly(data, UTF_8)
            if text is not None:
                self._current = UTF_8
                return text
        return "".join(map(self._entry, _MARK_OF_ENTRY.split(data)))

    def _entry(self, data: bytes) -> str:
        text = self._certain(data)
        return "".join(map(self._section, _MARK_OF_SECTION.split(data))) if text is None else text

    def _section(self, data: bytes) -> str:
        text = self._certain(data)
        if text is None:
            text = _strictly(data, self._current)
        return data.decode(self._main.codec, self._main.errors) if text is None else text

    def _certain(self, data: bytes) -> str | None:
        """Decode bytes if their encoding is certain, and remember it."""
        if data.isascii():
            found = ISO_2022_JP if _has_escapes(data) else None
            text = data.decode("ascii") if found is None else _strictly(data, found)
        else:
            found, text = UTF_8, _strictly(data, UTF_8)
            if text is not None and len(_THREE_BYTES.findall(data)) < _LEAST_WIDE and self._main is not UTF_8:
                return None
            if text is None:
                found, text = self._japanese(data)
        if text is not None and found is not None:
            self._current = found
            if found is not self._main:
                self._others[found.label] += 1
        return text

    def _japanese(self, data: bytes) -> tuple[Encoding, str | None]:
        found = self._current
        text = _strictly(data, found) if found in {EUC_JP, SHIFT_JIS} else None
        if text is None or not _reads_as_japanese(text):
            found = find_encoding(iter([data]))
            text = _strictly(data, found) if found in {EUC_JP, SHIFT_JIS} else None
        return found, text if text is not None and _reads_as_japanese(text) else None


def _has_escapes(data: bytes) -> bool:
    return b"\x1b" in data and any(mark in data for mark in _ISO_2022_JP)


def _strictly(data: bytes, encoding: Encoding) -> str | None:
    try:
        return data.decode(encoding.codec, euc_jp.handlers(encoding.codec)[0])
    except UnicodeDecodeError:
        return None


def _reads_as_japanese(text: str) -> bool:
    """Return whether a text has several characters, kana among them, and not mostly those of half width.

    Texts in Shift_JIS or EUC-JP that are decoded as the other one, or in Chinese or Korean, have not.
    """
    wide = len(text) - sum(map(len, _ASCII.findall(text)))
    half = len(_HALF_WIDTH.findall(text))
    return wide >= _LEAST_WIDE and half * 2 <= wide and len(_KANA.findall(text)) >= wide * _LEAST_KANA


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
