"""What a file is, by its bytes alone: neither a header nor a name is believed. Pure.

The signatures are those of the formats' own specifications.
"""

from __future__ import annotations

import re
from typing import Final

UNKNOWN_TYPE: Final = "application/octet-stream"
HEAD_BYTES: Final = 4096
"""How many bytes from the start :func:`sniff` wants to see."""

_STARTS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"8BPS\0\x01", "image/vnd.adobe.photoshop"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "image/jxl"),
    (b"\xff\x0a", "image/jxl"),
    (b"%PDF-", "application/pdf"),
    (b"{\\rtf", "application/rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"FWS", "application/vnd.adobe.flash.movie"),
    (b"CWS", "application/vnd.adobe.flash.movie"),
    (b"ZWS", "application/vnd.adobe.flash.movie"),
    (b"FLV\x01", "video/x-flv"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"\0\0\x01\xba", "video/mpeg"),
    (b"\0\0\x01\xb3", "video/mpeg"),
    (b"0&\xb2u\x8ef\xcf\x11", "video/x-ms-asf"),
)
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS: Final = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heic",
    b"msf1": "image/heic",
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"3gp": "video/3gpp",
    b"3g2": "video/3gpp",
}
_OFFICE: Final = {
    b"word/": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    b"xl/": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    b"ppt/": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
_ZIP_ENTRY = re.compile(rb"PK\x03\x04.{22}(..)..", re.DOTALL)
_LZH = re.compile(rb"..-l[hz][0-9s]-", re.DOTALL)
_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|script|meta|style|div|h[1-6]|p|a|br|table|center|iframe)[\s/>]",
    re.IGNORECASE,
)
_PROLOGUE = re.compile(
    rb"(?:\s+|<\?.*?\?>|<!--.*?-->|<!doctype\s+svg[^>\[]*(?:\[.*?\]\s*)?>)*", re.DOTALL | re.IGNORECASE
)
_SVG = re.compile(rb"<(?:[A-Za-z_][\w.-]{0,30}:)?svg[\s/>]", re.IGNORECASE)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\xff]")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def sniff(head: bytes) -> str:
    """Return the media type of a file whose first bytes these are; ``application/octet-stream`` when none fits."""
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    return _container(head) or _audio_frame(head) or _text(head) or UNKNOWN_TYPE


def _container(head: bytes) -> str | None:
    """Recognise formats whose name is behind a length, an offset or another name."""
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return _BRANDS.get(brand) or _BRANDS.get(brand[:3]) or "video/mp4"
    if head[4:8] in {b"moov", b"mdat", b"wide"}:
        return "video/quicktime"
    if head[:4] == b"PK\x03\x04":
        return _office(head) or "application/zip"
    if _LZH.match(head):
        return "application/x-lzh-compressed"
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0" and len(head) >= 26:
        return "image/bmp"
    if head[:4] == b"\0\0\x01\0" and len(head) >= 22 and 0 < int.from_bytes(head[4:6], "little") <= 256:
        return "image/vnd.microsoft.icon"
    return None


def _office(head: bytes) -> str | None:
    """Recognise an office document by the folders in its archive, as far as the head shows them."""
    for entry in _ZIP_ENTRY.finditer(head):
        name = head[entry.end() : entry.end() + int.from_bytes(entry[1], "little")]
        for start, kind in _OFFICE.items():
            if name.startswith(start):
                return kind
    return None


def _audio_frame(head: bytes) -> str | None:
    """Recognise bare MPEG audio by its frame header: set bits, layer II or III, a bit rate, a sampling rate."""
    if len(head) < 4 or head[0] != 0xFF:
        return None
    if head[1] & 0xF6 == 0xF0:
        return "audio/aac"
    layer, rate, sampling = head[1] >> 1 & 3, head[2] >> 4, head[2] >> 2 & 3
    plausible = head[1] & 0xE0 == 0xE0 and head[1] >> 3 & 3 != 1 and layer in {1, 2} and 0 < rate < 15 and sampling != 3
    return "audio/mpeg" if plausible else None


def _text(head: bytes) -> str | None:
    bom = next((mark for mark in _BOMS if head.startswith(mark)), b"")
    head = head[len(bom) :]
    if bom in _UTF16:
        head = head[: len(head) // 2 * 2].decode(_UTF16[bom], "replace").encode("utf-8", "replace")
    if not head.strip() or _NOT_TEXT.search(head):
        return None
    prologue = _PROLOGUE.match(head)
    start = head[prologue.end() :] if prologue is not None else head
    if _SVG.match(start):
        return "image/svg+xml"
    if _HTML.match(start) or (start[:1] == b"<" and _HTML.search(start)):
        return "text/html"
    return "application/xml" if head.lstrip().startswith(b"<?xml") else "text/plain"
