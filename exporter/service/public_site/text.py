"""Decode pages, feeds and sitemaps, in the stated encoding or in one that fits the bytes. Pure.

The order is that of the HTML Standard (section 13.2.3.2): a byte order mark, the header ``Content-Type``, the page's
own statement. Many Japanese blogs state nothing or something wrong, and a short page can be valid in several encodings.
So a stated encoding is used unless its text looks like garbage and another one gives clean text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from exporter.service import euc_jp

_SCANNED_BYTES: Final = 4096
"""The HTML Standard looks for the statement in the first 1,024; some templates begin with long comments."""
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_STATED: Final = re.compile(rb"<meta\b[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_XML: Final = re.compile(rb"\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{2,40})")
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LABELS: Final = {
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932",
    "ms_kanji": "cp932", "euc-jp": "euc_jp", "x-euc-jp": "euc_jp", "eucjp": "euc_jp", "euc_jp": "euc_jp",
    "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252", "utf8": "utf-8",
    "iso-2022-jp": "iso2022_jp_ext", "utf-16": "utf-16-le",
}  # fmt: skip
"""The Encoding Standard's names that Python lacks or reads more strictly."""
_NO_TEXTS: Final = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})
"""Python's codecs that no page is written in; the Encoding Standard refuses them."""
_TRIED: Final = ("utf-8", "euc_jp", "cp932")
_ISO_2022_JP: Final = "iso2022_jp_ext"
_JIS_RUN: Final = re.compile(rb"\x1b(?:\$(\(D|[B@])|\(([A-Z]))([^\x1b]*)")
_FAULTS: Final = re.compile("[\ufffd\x80-\x9f\ue000-\uf8ff]")
"""Bytes without a meaning, control characters and private ones."""
_HALF_WIDTH: Final = re.compile("[\uff61-\uff9f]")
_HIGH: Final = re.compile("[^\x00-\x7f]+")
_RARE: Final = re.compile(rb"\x8e[\xa1-\xff]|(\x8f)[\xa1-\xff]{2}|([\xd0-\xff])[\xa1-\xff]|[\xa1-\xff]{2}")
"""The characters in JIS X 0212 and the second level of JIS X 0208, as EUC-JP; they are rare in Japanese texts."""
_FAULT_COST: Final = 2.0
_HALF_WIDTH_COST: Final = 1.5
_GARBLED: Final = 20
"""Characters of which at most one may be a fault, or the encoding is another one."""
_CLEAN: Final = 0.15
"""The highest mean cost of non-ASCII characters in a text that is surely in the right encoding."""
_KANA: Final = re.compile("[\u3041-\u3096][^\u3041-\u3096]*" * 3)
"""Three hiragana, without which a text that is valid in its stated encoding is not read in another one."""
_LONG_SEQUENCES: Final = re.compile("[\u0800-\uffff]")
"""Characters of three bytes in UTF-8, whose pattern other encodings do not form by chance."""


class PageText(NamedTuple):
    """A decoded text.

    Attributes:
        text: the text; bytes that no encoding explains are U+FFFD.
        encoding: Python's name of the encoding.
        damaged: the number of U+FFFD that decoding made.
    """

    text: str
    encoding: str
    damaged: int


def decode_page(body: bytes, content_type: str = "") -> PageText:
    """Return the text of a page, in the stated encoding unless another one surely fits better."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], encoding)
    if b"\x1b$" in body and body.isascii():
        found = _decoded(body, _ISO_2022_JP)
        if not found.damaged:
            return found
    return _likeliest(body, [encoding for label in _labels(body, content_type) if (encoding := _known(label))])


def _likeliest(body: bytes, stated: Sequence[str]) -> PageText:
    """Return the text in the first encoding, unless it is garbled and another one surely fits."""
    best: PageText | None = None
    best_cost = 0.0
    for encoding in dict.fromkeys((*stated, *_TRIED)):
        found = _decoded(body, encoding)
        if encoding == "utf-8" and not found.damaged and (best is None or _LONG_SEQUENCES.search(found.text)):
            return found
        cost, clean = _doubt(found.text)
        if best is None and clean:
            return found
        if best is not None and not found.damaged and cost * 2 < best_cost:
            garbled = best.damaged * _GARBLED > len(best.text) or (clean and best.damaged)
            if garbled or (clean and _KANA.search(found.text)):
                return found
        if best is None or (cost < best_cost and not stated):
            best, best_cost = found, cost
    return best or _decoded(body, "utf-8")


def _doubt(text: str) -> tuple[float, bool]:
    """Return how much a text looks like one in another encoding, and whether it surely is not.

    Japanese in a wrong encoding has bytes without a meaning, half-width kana between other characters, or rare kanji.
    """
    high = "".join(_HIGH.findall(text))
    rare = sum(any(pair) for pair in _RARE.findall(high.encode("euc_jp", "ignore")))
    faults = len(_FAULTS.findall(high))
    cost = _FAULT_COST * faults + _HALF_WIDTH_COST * len(_HALF_WIDTH.findall(high)) + rare
    return cost, not faults and cost <= _CLEAN * len(high)


def _labels(body: bytes, content_type: str) -> Iterator[str]:
    if found := _CHARSET.search(content_type):
        yield found[1]
    head = body[:_SCANNED_BYTES]
    for pattern in (_XML, _STATED):
        if named := pattern.search(head):
            yield named[1].decode("ascii")


def _known(label: str) -> str:
    """Return Python's name of an encoding of texts; empty for any other."""
    name = label.strip().lower()
    if name in _LABELS:
        return _LABELS[name]
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    # Codecs such as rot13 or base64 are no encodings of text.
    usable = getattr(found, "_is_text_encoding", True) and found.name not in _NO_TEXTS
    return found.name if usable else ""


def _decoded(body: bytes, encoding: str) -> PageText:
    if encoding == _ISO_2022_JP and body.isascii():
        text = _JIS_RUN.sub(_in_euc, body).decode(euc_jp.CODEC, euc_jp.REPLACING)
    else:
        text = body.decode(encoding, euc_jp.handlers(encoding)[1])
    return PageText(text, encoding, text.count("\ufffd") - body.count(b"\xef\xbf\xbd") * (encoding == "utf-8"))


def _in_euc(run: re.Match[bytes]) -> bytes:
    """Return a run of ISO-2022-JP in EUC-JP: the same rows and cells, with the high bits set."""
    if run[1]:
        high = bytes(byte | 0x80 if byte > 0x20 else byte for byte in run[3])
        return high if run[1] != b"(D" else re.sub(rb"[\x80-\xff]{2}", b"\x8f\\g<0>", high)
    return run[3] if run[2] != b"I" else b"".join(b"\x8e" + bytes((byte | 0x80,)) for byte in run[3])
