"""Keep forgotten records from coming back, although the service still has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.archive.forgotten import Suppressed
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.service.interface import BlogService, EntryAnswer


class KeptOut:
    """The records that stay out.

    Args:
        suppressed: knows the forgotten records.

    Attributes:
        comments: the ids of those that answers for entries carried.
    """

    def __init__(self, suppressed: Suppressed | None = None) -> None:
        self._suppressed = Suppressed() if suppressed is None else suppressed
        self.comments: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._suppressed)

    def has(self, service: BlogService, kind: Kind, record_id: str, raw: Any) -> bool:
        """Return whether a list item or comment was forgotten, or the entry of a comment."""
        if kind is Kind.COMMENTS:
            return self._suppressed.has(kind, record_id) or self.has_entry(service.post_id(raw))
        return kind is Kind.ENTRY_LIST and self.has_entry(record_id)

    def has_entry(self, entry_id: str) -> bool:
        """Return whether an entry was forgotten."""
        return self._suppressed.has(Kind.ENTRIES, entry_id)

    def without(self, service: BlogService, answer: EntryAnswer) -> EntryAnswer:
        """Return the answer for an entry without forgotten comments, and then without the page that shows them."""
        keys = [(service.key(Kind.COMMENTS, raw), raw) for raw in answer.comments] if self else []
        gone = {key for key, raw in keys if key and self.has(service, Kind.COMMENTS, key, raw)}
        if not gone:
            return answer
        self.comments |= gone
        return answer._replace(comments=tuple(raw for key, raw in keys if key not in gone), original=None)
