"""Find the recorded answers that hold given texts, such as a comment on every page that shows it.

A text is compared without markup, escapes and white space, so that it is found however a page writes it.
"""

from __future__ import annotations

import gzip
import html
import io
import re
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from exporter.archive.captures import captures, stated_addresses
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.service.public_site.text import decode_page
from exporter.text import printable
from exporter.warc.http_message import decoded_start
from exporter.warc.reading import BrokenRecord, WarcRecord, all_records

if TYPE_CHECKING:
    from exporter.archive.forgetting import Exchanges
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

_MOST_BYTES: Final = 64 << 20
"""The part of a larger answer that is searched."""
_LEAST_CHARACTERS: Final = 8
"""A page with a shorter text counts only if it also has the writer's name."""
_LEAST_BYTES_ALONE: Final = 4
"""In UTF-8. A name of one kanji or of three Latin letters is part of so many words that it would take every page."""
_PIECE_CHARACTERS: Final = 24
"""Only a text's beginning is looked for, because a page may shorten the text."""
_COMPRESSED: Final = frozenset({"br", "zstd", "compress", "x-compress"})
"""Encodings that this program never asks for, and that it can decode only with a further library, or not at all."""
_BREAKS: Final = re.compile(r"\n|\r|<br\b[^>]{0,200}>|</?(?:p|div|li|h[1-6]|blockquote)\b[^>]{0,200}>", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,4000}>")
_SPACE: Final = re.compile(r"\s+")
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


@frozen
class Sought:
    """Texts to look for.

    Attributes:
        pieces: beginnings of texts; a page with one of them counts.
        pairs: short texts with their writers' names; a page must have both.
    """

    pieces: frozenset[str]
    pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, texts: Iterable[tuple[str, str]], alone: Iterable[str] = ()) -> Sought:
        """Prepare texts for the search.

        Args:
            texts: texts with their writers' names.
            alone: texts that count without a name, unless they are so short that any page may have them by chance.
        """
        pieces = {_plain(each) for each in alone if len(each.encode("utf-8", "replace")) >= _LEAST_BYTES_ALONE}
        pairs = set()
        for text, name in texts:
            parts = [plain for part in _BREAKS.split(text) if len(plain := _plain(part)) >= _LEAST_CHARACTERS]
            pieces.update(part[:_PIECE_CHARACTERS] for part in parts)
            if not parts and (whole := _plain(text)) and name.strip():
                pairs.add((whole, _plain(name)))
        return cls(frozenset(filter(None, pieces)), frozenset(pairs))

    def is_in(self, text: str) -> bool:
        """Return whether a page, a JSON text or an address holds one of them."""
        spelled = [text]
        if "\\u" in text:
            spelled.append(_unescaped(text))
        if "%" in text:
            spelled.append(unquote(text))
        # Links' addresses are inside tags, so the second form keeps the tags.
        forms = [form for each in spelled for form in (_plain(each), _SPACE.sub("", html.unescape(each)))]
        if any(piece in form for form in forms for piece in self.pieces):
            return True
        return any(short in form and name in form for form in forms for short, name in self.pairs)

    def is_in_packed(self, data: bytes) -> bool:
        """Return whether a page compressed with gzip holds one of them, or cannot be decompressed."""
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                return self.is_in(decode_page(file.read(_MOST_BYTES), "").text)
        except (OSError, EOFError, zlib.error):
            return True


def _plain(text: str) -> str:
    """Return a text without markup, escapes and white space. Two rounds, because a page may show markup as text."""
    for _ in range(2):
        text = html.unescape(_TAG.sub("", text))
    return _SPACE.sub("", _TAG.sub("", text))


def _unescaped(text: str) -> str:
    found = _ESCAPE.sub(lambda each: chr(int(each[1], 16)), text).replace('\\"', '"').replace("\\/", "/")
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def find_exchanges(layout: Layout, sought: Sought) -> Exchanges:
    """Find the recorded exchanges whose answers or addresses hold one of the texts.

    A record that only refers to such an answer counts as one.

    Raises:
        ArchiveDamaged: a WARC file is damaged.
    """
    found: dict[int, dict[str, list[int]]] = {}
    search = _Search(sought)
    for capture in captures(layout):
        for path in capture.segments():
            offsets = search.offsets(path)
            if offsets:
                found.setdefault(capture.number, {})[path.name] = offsets
    return found


def find_addresses(layout: Layout, sought: Sought) -> frozenset[str]:
    """Return the addresses that captures state something about, and that hold one of the texts.

    Raises:
        ArchiveDamaged: a document of a capture is damaged.
    """
    return frozenset(each for each in stated_addresses(layout) if sought.is_in(each))


class _Search:
    """Searches the files of all captures, which must be given oldest first."""

    def __init__(self, sought: Sought) -> None:
        self._sought = sought
        self._gone: set[tuple[str, str]] = set()
        self._digests: set[str] = set()

    def offsets(self, path: InnerPath) -> list[int]:
        offsets: list[int] = []
        ids: set[str] = set()
        try:
            for record in all_records(path):
                headers = record.headers
                if record.kind == "request":
                    is_gone = headers.get("warc-concurrent-to", "") in ids or self._sought.is_in(unquote(record.url))
                else:
                    is_gone = self._is_gone(record)
                if is_gone:
                    offsets.append(record.offset)
                    ids.add(headers.get("warc-record-id", ""))
        except (BrokenRecord, OSError) as error:
            raise ArchiveDamaged(
                "{path} is damaged: {reason}. Nothing was forgotten. Run verify.",
                path=path,
                reason=printable(str(error), 200),
            ) from error
        return offsets

    def _is_gone(self, record: WarcRecord) -> bool:
        headers = record.headers
        if record.kind not in {"response", "resource", "revisit"}:
            return False
        digest = headers.get("warc-payload-digest", "")
        if record.kind == "revisit":
            named = headers.get("warc-refers-to-target-uri", "").strip("<>"), headers.get("warc-refers-to-date", "")
            return named in self._gone or digest in self._digests or self._sought.is_in(record.url)
        text = _text(record)
        if text is not None and not self._sought.is_in(record.url) and not self._sought.is_in(text):
            return False
        self._gone.add((record.url, headers.get("warc-date", "")))
        if digest:
            self._digests.add(digest)
        return True


def _text(record: WarcRecord) -> str | None:
    """Return an answer's head and body as text; empty for pictures and the like.

    ``None`` if no library here can decompress it, so that it may hold any text.
    """
    answer = record.answer() if record.kind == "response" else None
    if answer is None:
        return decode_page(record.block.read(_MOST_BYTES), record.headers.get("content-type", "")).text
    head, payload = answer
    if head.media_type.startswith(_BINARY):
        return ""
    pieces = list(payload)
    encoding = head.get("content-encoding")
    body = decoded_start(iter(pieces), encoding, _MOST_BYTES)
    if not body and any(pieces):
        if encoding.strip().lower() in _COMPRESSED:
            return None
        # A server may name an encoding that it does not use.
        body = b"".join(pieces)[:_MOST_BYTES]
    record.block.seek(0)
    start = record.block.read(head.end).decode("latin-1")
    return f"{start}\n{decode_page(body, head.get('content-type')).text}"
