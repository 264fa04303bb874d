"""Keep forgotten records from coming back, although a service or a file still has them.

A record is left out by its id at its service. Another source and a newer file have other ids, so a record that is new
to the archive is also left out if it has a sign of a forgotten one. A record that the archive has was not meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.archive.forgotten import Suppressed
from exporter.crawl.ledger import Ledger, PendingState
from exporter.model.kinds import Kind
from exporter.model.records import Post
from exporter.service.identity import comment_signs, entry_signs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.archive.state import State
    from exporter.model.records import Comment
    from exporter.service.interface import BlogService, EntryAnswer


class KeptOut:
    """The records that stay out.

    Args:
        suppressed: knows the forgotten records.

    Attributes:
        entries: the ids of those that were left out by their signs.
        comments: the same of comments, and the ids of those that answers for entries carried.
    """

    def __init__(self, suppressed: Suppressed | None = None) -> None:
        self._suppressed = Suppressed() if suppressed is None else suppressed
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
        if isinstance(record, Post):
            return self._suppressed.has_sign(Kind.ENTRIES, entry_signs(record, sought=True))
        return self._suppressed.has_sign(Kind.COMMENTS, comment_signs(record, sought=True))

    def without(self, service: BlogService, answer: EntryAnswer, known: Ledger) -> EntryAnswer:
        """Return the answer for an entry without forgotten comments, and then without the page that shows them.

        Args:
            service: reads the answer.
            answer: the answer.
            known: the comments of the archive.
        """
        keys = [(service.key(Kind.COMMENTS, raw), raw) for raw in answer.comments] if self else []
        gone = {
            key
            for key, raw in keys
            if key
            and (
                self.has(service, Kind.COMMENTS, key, raw)
                or (key not in known.base and self.resembles(service.comment(raw)))
            )
        }
        if not gone:
            return answer
        self.comments |= gone
        return answer._replace(comments=tuple(raw for key, raw in keys if key not in gone), original=None)

    def leave_out(self, service: BlogService, state: State, ledgers: Mapping[Kind, Ledger]) -> None:
        """Take the new records with a sign of a forgotten one, and the comments of such entries, out of the ledgers."""
        if not self:
            return
        records = PendingState(state, ledgers, {})
        for entry_id in {*_new(ledgers[Kind.ENTRIES]), *_new(ledgers[Kind.ENTRY_LIST])}:
            post = service.post(records.load(Kind.ENTRIES, entry_id), records.load(Kind.ENTRY_LIST, entry_id))
            if self.resembles(post):
                self.entries.add(entry_id)
                ledgers[Kind.ENTRIES].drop(entry_id)
                ledgers[Kind.ENTRY_LIST].drop(entry_id)
        for comment_id in _new(ledgers[Kind.COMMENTS]):
            comment = service.comment(records.load(Kind.COMMENTS, comment_id) or {})
            if comment.post_id in self.entries or self.resembles(comment):
                self.comments.add(comment_id)
                ledgers[Kind.COMMENTS].drop(comment_id)


def _new(ledger: Ledger) -> list[str]:
    """Return the ids that only this run has."""
    return [record_id for record_id, base, _ in ledger.changes() if base is None]
