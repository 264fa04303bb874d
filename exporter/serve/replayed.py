"""A recorded answer, made ready for a browser in which no script runs and nothing leaves this machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Final, NamedTuple, cast

from exporter.crawl.assets.file_check import sniff
from exporter.html.replay_page import ReplayWriter
from exporter.html.web_address import parsed, web_address
from exporter.service.public_site.text import decode_page
from exporter.warc.http_message import Head, decoded

if TYPE_CHECKING:
    from typing import BinaryIO

    from exporter.warc.lookup import CapturedRecord, CaptureLookup, Replay

MAX_PAGE_BYTES: Final = 20_000_000
"""The most decoded bytes of a page or style sheet, in which addresses are changed."""
MAX_DECODED_BYTES: Final = 200_000_000
"""The most bytes of any other content after decoding: a few kilobytes can decode to gigabytes."""
_IN_MEMORY_BYTES: Final = 4_000_000
_SNIFFED_BYTES: Final = 4_096
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_SVG: Final = "image/svg+xml"
_XML: Final = re.compile(r"(?:text|application)/xml|.*\+xml")
_SHEET: Final = "text/css"
_LAX_SHEETS: Final = frozenset({"", "text/plain", "application/octet-stream", "application/x-css"})
_FRAME_DESTINATIONS: Final = frozenset({"", "document", "iframe", "frame", "object", "embed"})
"""What ``Sec-Fetch-Dest`` says of a request for a page; an old browser says nothing."""
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,80}/[a-z0-9!#$&^_.+-]{1,80}")
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_LOOKS_LIKE_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.{0,2000}?-->|<\?xml[^>]{0,500}>)*<(?:!doctype\s+html|html|head|body|title|table|div)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_SHEET_ENCODING: Final = re.compile(rb'@charset "([A-Za-z0-9_.:-]{1,40})"')
_LABELS: Final = {
    "utf-8": "utf-8", "euc_jp": "euc-jp", "cp932": "shift_jis", "cp1252": "windows-1252", "gbk": "gbk",
    "gb2312": "gbk", "gb18030": "gb18030", "big5": "big5", "euc_kr": "euc-kr", "cp1250": "windows-1250",
    "cp1251": "windows-1251", "koi8-r": "koi8-r", "iso8859-2": "iso-8859-2", "iso8859-15": "iso-8859-15",
}  # fmt: skip
"""The encodings in which all marks of HTML are single bytes, with the names that browsers know. A page in another one
is sent in UTF-8."""


class Replayed(NamedTuple):
    """An answer to send.

    Attributes:
        status: of the answer.
        content_type: as the browser shall take it.
        content: its bytes; the caller must not close it.
        size: their number.
        location: where a redirect leads inside the replay; empty for any other answer.
    """

    status: int
    content_type: str
    content: BinaryIO
    size: int
    location: str = ""


@contextmanager
def replayed(
    lookup: CaptureLookup, found: CapturedRecord, destination: str, place: Callable[[str], str]
) -> Iterator[Replayed | None]:
    """Yield the answer of a record; ``None`` if it only leads to itself.

    Args:
        lookup: the captures.
        found: the record.
        destination: the request's ``Sec-Fetch-Dest``.
        place: returns where the replay has an absolute address.

    Raises:
        ArchiveDamaged: the record cannot be read.
        BadBody: its content cannot be decoded.
        BodyTooLarge: its content is larger than any page.
    """
    with lookup.replay(found) as replay, SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
        target = _redirect(replay.head, found.line.url)
        if target:
            again = lookup.nearest(target, found.line.moment)
            is_loop = again is not None and again == found
            yield None if is_loop else Replayed(302, "text/plain", cast("BinaryIO", file), 0, place(target))
            return
        content_type = _write(replay, found.line.url, destination, place, file)
        size = file.tell()
        yield Replayed(_status(replay.head.status), content_type, cast("BinaryIO", file), size)


def _redirect(head: Head, address: str) -> str:
    """Return where a recorded redirect leads; empty if the record is none."""
    if head.status not in {301, 302, 303, 307, 308}:
        return ""
    # A header of bytes above 0x7F is UTF-8 in practice; browsers read it so.
    location = head.get("location").encode("latin-1", "replace").decode("utf-8", "replace")
    found = web_address(location, parsed(address)) if location else None
    return "" if found is None else str(found)


def _status(recorded: int) -> int:
    return recorded if 400 <= recorded < 600 and recorded not in {401, 407} else 200


def _write(replay: Replay, address: str, destination: str, place: Callable[[str], str], file: IO[bytes]) -> str:
    """Write the content into a file, and return its type."""
    head, stated = replay.head, _media_type(replay.head)
    encoding = head.get("content-encoding")
    is_frame = destination in _FRAME_DESTINATIONS
    if is_frame and not stated:
        start = _beginning(replay, encoding)
        stated = "text/html" if _LOOKS_LIKE_HTML.match(start) else sniff(start) or "text/plain"
    if is_frame and stated in _PAGES | {_SVG}:
        body = decoded(replay.payload, encoding, MAX_PAGE_BYTES)
        charset = _write_page(body, head, ReplayWriter(address, place, xml=stated == _SVG), file)
        return f"{_SVG if stated == _SVG else 'text/html'}; charset={charset}"
    if is_frame and _XML.fullmatch(stated):
        # A style sheet of XML could transform it into a page; feeds show as text.
        stated = "text/plain"
    if stated == _SHEET or (destination == "style" and stated in _LAX_SHEETS):
        body = decoded(replay.payload, encoding, MAX_PAGE_BYTES)
        file.write(ReplayWriter(address, place).sheet(_sheet_text(body, head)).encode("utf-8", "replace"))
        return f"{_SHEET}; charset=utf-8"
    pieces: Iterable[bytes] = replay.payload
    if encoding.strip().lower() not in {"", "identity"}:
        pieces = [decoded(replay.payload, encoding, MAX_DECODED_BYTES)]
    start = b""
    for piece in pieces:
        start = start or piece[:_SNIFFED_BYTES]
        file.write(piece)
    if destination == "image" and not stated.startswith("image/"):
        stated = sniff(start) or stated
    found = _CHARSET.search(head.get("content-type"))
    shown = stated or "application/octet-stream"
    return f"{shown}; charset={found[1]}" if found is not None and shown.startswith("text/") else shown


def _beginning(replay: Replay, encoding: str) -> bytes:
    return decoded(replay.payload, encoding, MAX_PAGE_BYTES)[:_SNIFFED_BYTES]


def _write_page(body: bytes, head: Head, writer: ReplayWriter, file: IO[bytes]) -> str:
    """Write a page with changed addresses, and return its encoding."""
    text, encoding, _ = decode_page(body, head.get("content-type"))
    writer.encoding = encoding
    label = _LABELS.get(encoding)
    writer.raw = label is not None
    if label is not None:
        file.write(writer.page(body.decode("latin-1")).encode("latin-1"))
        return label
    file.write(writer.page(text).encode("utf-8", "replace"))
    return "utf-8"


def _sheet_text(body: bytes, head: Head) -> str:
    stated = _SHEET_ENCODING.match(body.removeprefix(b"\xef\xbb\xbf"))
    content_type = head.get("content-type")
    if stated is not None and not _CHARSET.search(content_type):
        content_type = f"{_SHEET}; charset={stated[1].decode('ascii')}"
    return decode_page(body, content_type).text


def _media_type(head: Head) -> str:
    return head.media_type if _MEDIA_TYPE.fullmatch(head.media_type) else ""
