"""Decode pages, feeds and sitemaps, in the stated encoding or in one that fits the bytes. Pure.

The order is that of the HTML Standard (section 13.2.3.2): a byte order mark, the header ``Content-Type``, the page's
own statement. Many Japanese blogs state nothing or something wrong, so the encodings that they use are tried as well.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

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
_EXTENDED: Final = "blog-exporter-euc-jp"


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
    """Return the text of a page.

    If the stated encoding does not fit the bytes and another one fits exactly, the other one is used.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], encoding)
    stated = [encoding for label in _labels(body, content_type) if (encoding := _known(label))]
    for encoding in dict.fromkeys((*stated, *_TRIED)):
        try:
            return PageText(_strict(body, encoding), encoding, 0)
        except UnicodeDecodeError:
            continue
    return _decoded(body, stated[0] if stated else "utf-8")


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


def _strict(body: bytes, encoding: str) -> str:
    return body.decode(encoding, _EXTENDED if encoding == "euc_jp" else "strict")


def _decoded(body: bytes, encoding: str) -> PageText:
    text = body.decode(encoding, "replace")
    return PageText(text, encoding, text.count("\ufffd") - body.count(b"\xef\xbf\xbd") * (encoding == "utf-8"))


def _with_extensions(error: UnicodeError) -> tuple[str, int]:
    """Decode two bytes in rows that NEC and IBM added, such as ① and ㈱; Python's EUC-JP lacks them.

    Rows and cells are the same as in Shift_JIS (JIS X 0208, annex 1), whose codec has the additions.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    pair = error.object[error.start : error.start + 2]
    if len(pair) != 2 or min(pair) < 0xA1:
        raise error
    row, cell = pair[0] - 0xA0, pair[1] - 0xA0
    lead = (row + 0x101) // 2 if row <= 62 else (row + 0x181) // 2
    trail = cell + (0x9E if row % 2 == 0 else 0x3F if cell < 64 else 0x40)
    try:
        return bytes((lead & 0xFF, trail)).decode("cp932"), error.start + 2
    except UnicodeDecodeError:
        raise error from None


codecs.register_error(_EXTENDED, _with_extensions)
