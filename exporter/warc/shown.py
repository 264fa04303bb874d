"""Know a forgotten record on a page by the marks in the notes alone, because nothing else of it is left.

A page shows one if it links to a forgotten entry or picture, has the anchor of a forgotten comment, or has a line that
begins like one of a forgotten text. A comment of few letters is known with its writer's name nearby.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from exporter.archive.forgotten import id_sign, mark, read_notes
from exporter.model.kinds import Kind
from exporter.service.identity import (
    address_sign,
    beginning_sign,
    beginnings,
    content_sign,
    letters,
    short_comment_signs,
)
from exporter.warc.http_message import Payload
from exporter.warc.page_text import TAG, answer_text, is_binary, plain, unescaped

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.http.wire import WireExchange
    from exporter.warc.http_message import Head

_ANCHOR: Final = re.compile(
    r"(?:#|\b(?:id|name)\s{0,9}=\s{0,9}[\"']?)(?:comment|cmt|cm|cbox|com)[-_]?(\d{3,20})\b", re.IGNORECASE
)
"""Shorter numbers may count the comments of a page."""
_ADDRESS: Final = re.compile(
    r"\b(?:href|src|cite|data-[\w-]{1,40})\s{0,9}=\s{0,9}(?:\"([^\"]{1,4000})\"|'([^']{1,4000})'|([^\s\"'>]{1,4000}))"
    r"|(https?://[^\s\"'<>\\]{1,4000})",
    re.IGNORECASE,
)
_SHORT: Final = 24
"""Letters of a comment from which on the beginning of a line tells it."""
_MOST_PARTS: Final = 3
_NEAR: Final = 4
"""So many pieces of text may be between a comment and the name of its writer."""
_MOST_KNOWN: Final = 200_000
"""Pieces of pages that are remembered as nobody's: each page of a blog repeats most of them."""


class ShownRecords:
    """The forgotten records that a page may show.

    Args:
        notes: the salts and marks of an archive's notes.
        service: the name of its service, whose ids the pages have.
    """

    def __init__(self, notes: Iterable[tuple[str, Iterable[str]]] = (), service: str = "") -> None:
        self._marks: dict[bytes, set[str]] = {}
        for salt, marks in notes:
            self._marks.setdefault(bytes.fromhex(salt), set()).update(marks)
        self._service = service
        self._unmarked: set[object] = set()

    @classmethod
    def of(cls, layout: Layout, service: str) -> ShownRecords:
        """Return what an archive has forgotten.

        Raises:
            ArchiveDamaged: its notes cannot be read.
        """
        return cls(((note.salt, note.marks) for note in read_notes(layout)), service)

    def __bool__(self) -> bool:
        return bool(self._marks)

    def is_address(self, url: str) -> bool:
        """Return whether an address is that of a forgotten entry, or of a picture that only such an entry used."""
        if not self or self._is_known(url):
            return False
        try:
            place, sign = urlsplit(url), address_sign(url)
        except ValueError:
            return False
        if not (place.path.strip("/") or place.query):
            return False  # every page links to the home page, even if a record gives it as an entry's address
        return self._is_marked(url, (Kind.ENTRIES, Kind.ASSETS), [sign])

    def is_content(self, pieces: Iterable[bytes]) -> bool:
        """Return whether these bytes are those of a file that only a forgotten entry used."""
        if not self:
            return False
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        return self._has(Kind.ASSETS, content_sign(digest.hexdigest()))

    def is_in_exchange(self, exchange: WireExchange, head: Head) -> bool:
        """Return whether an exchange shows a forgotten record, or an encoding hides what it shows."""
        if not self:
            return False
        payload = Payload(exchange.answer, head)
        if self.is_address(exchange.url):
            return True
        if is_binary(head):
            return self.is_content(payload)
        text = answer_text(head, payload)
        return text is None or self.is_on_page(f"{head.get('location')}\n{text}", exchange.url)

    def is_on_page(self, text: str, url: str) -> bool:
        """Return whether the text of a page, a feed or an answer shows a forgotten record; ``url`` is its address."""
        if not self:
            return False
        spelled = [text, unescaped(text)] if "\\u" in text else [text]
        return any(self._has_link(each, url) or self._has_words(each) for each in spelled)

    def _has_link(self, text: str, url: str) -> bool:
        anchors = {found[1] for found in _ANCHOR.finditer(text)}
        if any(self._has(Kind.COMMENTS, id_sign(self._service, each)) for each in anchors):
            return True
        return any(self.is_address(each) for each in _addresses(text, url))

    def _has_words(self, text: str) -> bool:
        kinds = (Kind.ENTRIES, Kind.COMMENTS)
        pieces = (each for each in beginnings(letters(plain(text))) if not self._is_known(each))
        if any(self._is_marked(each, kinds, [beginning_sign(each)]) for each in pieces):
            return True
        return any(
            self._is_marked(each, (Kind.COMMENTS,), short_comment_signs(*each))
            for each in _short_comments(text)
            if not self._is_known(each)
        )

    def _has(self, kind: Kind, sign: str) -> bool:
        return any(mark(salt, kind, sign) in marks for salt, marks in self._marks.items())

    def _is_known(self, piece: object) -> bool:
        return piece in self._unmarked

    def _is_marked(self, piece: object, kinds: tuple[Kind, ...], signs: Iterable[str]) -> bool:
        if any(self._has(kind, sign) for sign in signs for kind in kinds):
            return True
        if len(self._unmarked) >= _MOST_KNOWN:
            self._unmarked.clear()
        self._unmarked.add(piece)
        return False


def _addresses(text: str, url: str) -> Iterator[str]:
    """Yield the addresses that a text names, each once."""
    for found in dict.fromkeys(next(filter(None, each), "") for each in _ADDRESS.findall(text)):
        try:
            yield urljoin(url, html.unescape(found).strip())
        except ValueError:
            continue


def _short_comments(text: str) -> Iterator[tuple[str, str]]:
    """Yield a name and a text for all neighbouring pieces of text that may be a short comment."""
    pieces = [found for each in TAG.split(text) if (found := letters(html.unescape(each)))]
    for start in range(len(pieces)):
        for end in range(start + 1, min(start + _MOST_PARTS, len(pieces)) + 1):
            words = "".join(pieces[start:end])
            if len(words) >= _SHORT:
                break
            near = (*pieces[max(0, start - _NEAR) : start], *pieces[end : end + _NEAR])
            yield from ((name, words) for name in near if len(name) < _SHORT)
