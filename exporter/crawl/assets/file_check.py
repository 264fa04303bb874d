"""Checks of a downloaded file: its type and size from its bytes, truncation, and pages sent in its place. Pure.

Neither headers nor file names are trusted. The signatures and layouts are those of the formats' specifications.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection
from typing import BinaryIO, Final, NamedTuple

from exporter.errors import BadBody
from exporter.frozen import frozen
from exporter.message import either, message

_PAGES = frozenset({"text/html", "text/plain", "application/xml"})
"""Types that servers send in place of a file that is gone."""

_PICTURE_ENDINGS = frozenset({"bmp", "gif", "jpeg", "jpg", "png", "webp"})

_PAGE_ENDINGS = {"text/html": frozenset({"htm", "html", "xhtml"})}
UNKNOWN_TYPE: Final = "application/octet-stream"
HEAD_BYTES: Final = 4096
"""The bytes from the start that :func:`sniff` needs."""

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
_TAIL_BYTES = 64 * 1024
_MAX_SEGMENTS = 10_000
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})
_MAX_SIDE_PIXELS = 1_000_000


class NotTheFile(Exception):
    """The answer is not the requested file; the message says why."""


@frozen
class Expected:
    """The stated properties of a file.

    Attributes:
        embedded: whether an entry shows it as a picture or links to it as one.
        sizes: the ``file_size`` of every file record with this address.
        endings: the ``extension`` of these records, lower case.
        dimensions: their ``width`` and ``height`` in pixels; empty if it is unknown which record is meant.
    """

    embedded: bool = True
    sizes: Collection[int] = ()
    endings: Collection[str] = ()
    dimensions: Collection[tuple[int, int]] = ()


@frozen
class FileFacts:
    """The result: the media type, a picture's size in pixels, and a doubt about the file."""

    content_type: str
    size: Size | None = None
    doubt: str | None = None


def check_file(file: BinaryIO, length: int, expected: Expected, *, certain: bool = True) -> FileFacts:
    """Check a file.

    Args:
        file: open for reading and seeking, ``length`` bytes long.
        length: its size in bytes.
        expected: its stated properties.
        certain: whether the server has no more data, because the answer stated its end or came twice the same.

    Raises:
        NotTheFile: the file is empty, or a page in place of a picture or another upload.
        BadBody: the end is missing, and the server may have more data.
    """
    if not length:
        raise NotTheFile(message("the file is empty"))
    file.seek(0)
    kind = sniff(file.read(HEAD_BYTES))
    if kind in _PAGES and not _may_be_page(kind, expected):
        raise NotTheFile(message("a page came in place of the file ({kind})", kind=kind))
    cut = is_cut_short(file, kind)
    if not certain and (cut or length < min(expected.sizes, default=0)):
        raise BadBody(message("the file was cut short"))
    doubt = _doubt(kind, size := dimensions(file, kind), expected)
    if cut:
        doubt = message("its end is missing, at the server too")
    if expected.sizes and length not in expected.sizes:
        sizes = either(f"{each:,}" for each in sorted(expected.sizes))
        doubt = message("it has {length:,} bytes, the file list says {sizes}", length=length, sizes=sizes)
    return FileFacts(kind, size, doubt)


def _doubt(kind: str, size: Size | None, expected: Expected) -> str | None:
    """Return a contradiction between the type or pixels of a file and the file list; photographs may be rotated."""
    called_picture = bool(expected.endings) and _PICTURE_ENDINGS.issuperset(expected.endings)
    if called_picture and kind != UNKNOWN_TYPE and not kind.startswith("image/"):
        return message("it is no picture but {kind}", kind=kind)
    stated = {pair for width, height in expected.dimensions for pair in ((width, height), (height, width))}
    if size is not None and stated and size not in stated:
        said = either(f"{width}x{height}" for width, height in sorted(expected.dimensions))
        measured = f"{size.width}x{size.height}"
        return message("it has {measured} pixels, the file list says {said}", measured=measured, said=said)
    return None


def _may_be_page(kind: str, expected: Expected) -> bool:
    """Return whether text is permitted: only for an upload, and a web page only if its extension says so."""
    if not expected.endings:
        return not expected.embedded
    fitting = _PAGE_ENDINGS.get(kind)
    if fitting is None:
        return True
    return any(ending in fitting for ending in expected.endings)


def sniff(head: bytes) -> str:
    """Return the media type of a file from its first bytes; ``application/octet-stream`` if unknown."""
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    return _container(head) or _audio_frame(head) or _text(head) or UNKNOWN_TYPE


def _container(head: bytes) -> str | None:
    """Recognise formats whose signature follows a length, an offset or another name."""
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
    """Recognise an office document by the folders of its ZIP archive in the head."""
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


class Size(NamedTuple):
    """Width and height in pixels, both above 0."""

    width: int
    height: int


def dimensions(file: BinaryIO, content_type: str) -> Size | None:
    """Return a picture's size from its header; ``None`` for other formats and invalid headers.

    Args:
        file: open for reading and seeking; its position is changed.
        content_type: as sniffed.
    """
    read = _READERS.get(content_type)
    if read is None:
        return None
    file.seek(0)
    try:
        size = read(file)
    except struct.error:
        return None
    return size if size is not None and min(size) > 0 and max(size) <= _MAX_SIDE_PIXELS else None


def is_cut_short(file: BinaryIO, content_type: str) -> bool:
    """Return whether a picture lacks the end mark of its format; bytes after the mark are permitted."""
    mark = _END_MARKS.get(content_type)
    if mark is None:
        return False
    start = _scan_start(file) if content_type == "image/jpeg" else 0
    tail_at = max(start, file.seek(0, 2) - _TAIL_BYTES)
    file.seek(tail_at)
    tail = file.read(_TAIL_BYTES)
    # Many old GIFs only lack the trailer; a zero byte ends the data of their last picture.
    if mark in tail or (content_type == "image/gif" and tail.endswith(b"\0")):
        return False
    file.seek(start)
    before = b""
    while block := file.read(_TAIL_BYTES):
        if mark in before + block:
            return False
        before = block[-len(mark) :]
    return True


def _scan_start(file: BinaryIO) -> int:
    """Return where a JPEG's pixels begin after any thumbnail in its header; 0 if the header is invalid."""
    file.seek(2)
    for _ in range(_MAX_SEGMENTS):
        marker = _next_marker(file)
        if marker == 0xDA:
            return file.tell()
        if marker is None:
            break
        if marker not in _BARE_MARKERS:
            file.seek(max(0, int.from_bytes(file.read(2), "big") - 2), 1)
    return 0


def _png(file: BinaryIO) -> Size | None:
    head = file.read(24)
    return Size(*struct.unpack(">II", head[16:])) if head[12:16] == b"IHDR" else None


def _gif(file: BinaryIO) -> Size:
    return Size(*struct.unpack("<HH", file.read(10)[6:]))


def _bmp(file: BinaryIO) -> Size:
    head = file.read(26)
    if head[14:18] == b"\x0c\0\0\0":
        return Size(*struct.unpack("<HH", head[18:22]))
    width, height = struct.unpack("<ii", head[18:])
    return Size(width, abs(height))


def _jpeg(file: BinaryIO) -> Size | None:
    file.seek(2)
    for _ in range(_MAX_SEGMENTS):
        marker = _next_marker(file)
        if marker is None or marker == 0xDA:
            return None
        if marker in _BARE_MARKERS:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        if marker in _FRAMES:
            height, width = struct.unpack(">xHH", file.read(5))
            return Size(width, height)
        file.seek(max(0, length - 2), 1)
    return None


def _next_marker(file: BinaryIO) -> int | None:
    """Return the code of the next marker; fill bytes may precede it."""
    if file.read(1) != b"\xff":
        return None
    code = file.read(1)
    while code == b"\xff":
        code = file.read(1)
    return code[0] if code else None


def _webp(file: BinaryIO) -> Size | None:
    head = file.read(30)
    kind = head[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
        return Size(width, height) if len(head) == 30 else None
    if kind == b"VP8L" and head[20:21] == b"\x2f":
        (bits,) = struct.unpack("<I", head[21:25])
        return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", head[26:30])
        return Size(width & 0x3FFF, height & 0x3FFF)
    return None


_READERS: Final[dict[str, Callable[[BinaryIO], Size | None]]] = {
    "image/bmp": _bmp,
    "image/gif": _gif,
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/webp": _webp,
}
_END_MARKS: Final = {"image/gif": b"\x3b", "image/jpeg": b"\xff\xd9", "image/png": b"IEND\xaeB`\x82"}
