"""The text of pages and answers: decoded, and without what differs from page to page, such as markup and escapes."""

from __future__ import annotations

import gzip
import html
import io
import re
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from exporter.service.public_site.text import decode_page
from exporter.warc.http_message import decoded_start

if TYPE_CHECKING:
    from exporter.warc.http_message import Head

MOST_BYTES: Final = 64 << 20
"""The part of a larger answer that is searched."""
_GZIP: Final = b"\x1f\x8b"
_COMPRESSED: Final = frozenset({"br", "zstd", "compress", "x-compress"})
"""Encodings that this program never asks for, and that it can decode only with a further library, or not at all."""
BREAKS: Final = re.compile(r"\n|\r|<br\b[^>]{0,200}>|</?(?:p|div|li|h[1-6]|blockquote)\b[^>]{0,200}>", re.IGNORECASE)
TAG: Final = re.compile(r"<[^<>]{0,4000}>")
_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_BINARY: Final = (
    "image/",
    "audio/",
    "video/",
    "font/",
    "application/pdf",
    "application/zip",
    "application/octet-stream",
)
_SPACE: Final = re.compile(r"\s+")


def is_binary(head: Head) -> bool:
    """Return whether an answer is a picture or the like, in which no text is looked for."""
    return head.media_type.startswith(_BINARY)


def answer_text(head: Head, payload: Iterable[bytes]) -> str | None:
    """Return an answer's body as text, or ``None`` if no library here can decompress it."""
    pieces = list(payload)
    encoding = head.get("content-encoding")
    body = decoded_start(iter(pieces), encoding, MOST_BYTES)
    if not body and any(pieces):
        if encoding.strip().lower() in _COMPRESSED:
            return None
        # A server may name an encoding that it does not use.
        body = b"".join(pieces)[:MOST_BYTES]
    if body.startswith(_GZIP):
        body = decoded_start([body], "gzip", MOST_BYTES)  # a sitemap may be a compressed file
    return decode_page(body, head.get("content-type")).text


def unpacked_page(data: bytes) -> str | None:
    """Return the text of a page compressed with gzip, or ``None`` if it cannot be decompressed."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return decode_page(file.read(MOST_BYTES), "").text
    except (OSError, EOFError, zlib.error):
        return None


def plain(text: str) -> str:
    """Return a text without markup, escapes and white space. Two rounds, because a page may show markup as text."""
    for _ in range(2):
        text = html.unescape(TAG.sub("", text))
    return _SPACE.sub("", TAG.sub("", text))


def unescaped(text: str) -> str:
    """Return a text without the escapes of JSON."""
    found = _ESCAPE.sub(lambda each: chr(int(each[1], 16)), text).replace('\\"', '"').replace("\\/", "/")
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
