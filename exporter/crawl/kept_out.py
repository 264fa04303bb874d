"""Keep forgotten records from coming back, although a service or a file still has them.

A record is left out by its id at its service. Another source and a newer file have other ids, so a record that is new
to the archive is also left out if it has a sign of a forgotten one. A record that the archive has was not meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporter.archive.forgotten import Suppressed
from exporter.model.kinds import Kind
from exporter.model.records import Post
from exporter.service.identity import comment_signs, entry_signs
from exporter.warc.page_text import unpacked_page
from exporter.warc.shown import ShownRecords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.crawl.ledger import Ledger
    from exporter.model.records import Comment
    from exporter.service.interface import BlogService, EntryAnswer, Original

_PAGE: Final = "page:"
"""Begins the address of the record of a stored page."""


class KeptOut:
    """The records that stay out.

    Args:
        suppressed: knows the forgotten records.
        shown: knows them on a page.

    Attributes:
        entries: the ids of those that were left out by their signs.
        comments: the same of comments, and the ids of those that answers for entries carried.
    """

    def __init__(self, suppressed: Suppressed | None = None, shown: ShownRecords | None = None) -> None:
        self._suppressed = Suppressed() if suppressed is None else suppressed
        self._shown = ShownRecords() if shown is None else shown
        self.entries: set[str] = set()
        self.comments: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._suppressed)

    def has(self, service: BlogService, kind: Kind, record_id: str, raw: Any) -> bool:
        """Return whether a list item or comment was forgotten, or the entry of a comment."""
        if kind is Kind.COMMENTS:
            is_named = self._suppressed.has(kind, service.name, record_id)
            return is_named or self.has_entry(service, service.post_id(raw))
        return kind is Kind.ENTRY_LIST and self.has_entry(service, record_id)

    def has_entry(self, service: BlogService, entry_id: str) -> bool:
        """Return whether an entry was forgotten."""
        return self._suppressed.has(Kind.ENTRIES, service.name, entry_id)

    def resembles(self, record: Post | Comment) -> bool:
        """Return whether a record has a sign of a forgotten one."""
        if not self:
            return False
        written = None if record.date is None or record.date.year == 1 else record.date.date()
        if isinstance(record, Post):
            return self._suppressed.has_sign(Kind.ENTRIES, entry_signs(record, sought=True), written)
        return self._suppressed.has_sign(Kind.COMMENTS, comment_signs(record, sought=True), written)

    def is_on(self, page: Original) -> bool:
        """Return whether a page shows a forgotten record, for example among the newest comments in its margin."""
        if not self._shown:
            return False
        text = unpacked_page(page.content)
        return text is None or self._shown.is_on_page(text, page.url.removeprefix(_PAGE))

    def without(
        self, service: BlogService, entry_id: str, answer: EntryAnswer, ledgers: Mapping[Kind, Ledger]
    ) -> EntryAnswer:
        """Return the answer for an entry without forgotten comments, and then without the page that shows them.

        Args:
            service: reads the answer.
            entry_id: the entry.
            answer: the answer.
            ledgers: the records of the archive.
        """
        if not self or answer.data is None:
            return answer
        known = ledgers[Kind.COMMENTS].base
        gone = set()
        for raw in answer.comments:
            key = service.key(Kind.COMMENTS, raw)
            is_alike = key is not None and key not in known and self.resembles(service.comment(raw))
            if key is not None and (is_alike or self.has(service, Kind.COMMENTS, key, raw)):
                gone.add(key)
        self.comments |= gone
        left = tuple(raw for raw in answer.comments if service.key(Kind.COMMENTS, raw) not in gone)
        is_alike = entry_id not in ledgers[Kind.ENTRIES].base and self.resembles(service.post(answer.data))
        return answer._replace(comments=left, original=None if gone or is_alike else answer.original)
