"""Who may see the entries and comments of a state, judged by the newest one too where that is another. Pure.

An older version shows what was public then. Its owner may have hidden or deleted it since, so the more hidden of the
two states counts.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from exporter.model.assumptions import Assumptions
from exporter.model.kinds import Kind
from exporter.model.publication import (
    IN_THE_NEWEST,
    REMOVED,
    Declared,
    Verdict,
    is_visible,
    more_hidden,
    publication,
)
from exporter.model.records import Comment, Entry, EntryListItem

if TYPE_CHECKING:
    from exporter.exporters.interface import RecordSource


class Newest(NamedTuple):
    """The newest state of an archive, and when the blog was read for it."""

    records: RecordSource
    as_of: datetime | None


class Seen(NamedTuple):
    """Whether a comment may be shown, why not, and whether that is because it was removed since."""

    visible: bool
    reason: str = ""
    removed: bool = False


class Judge:
    """Tells of the entries and comments of one state who may see them.

    Args:
        records: the state.
        declared: what the owner has said of the flags.
        as_of: when the blog was read for that state; an entry dated later was not shown yet.
        assume: how records are read.
        newest: the newest state, where ``records`` is an older one.
    """

    def __init__(
        self,
        records: RecordSource,
        declared: Declared,
        as_of: datetime | None,
        assume: Assumptions,
        newest: Newest | None = None,
    ) -> None:
        self._records = records
        self._declared = declared
        self._as_of = as_of
        self._assume = assume
        self._newest = newest

    def entry(self, entry_id: str, entry: Entry) -> Verdict:
        """Return what an entry of the state is to be."""
        verdict = publication(entry, self._item(self._records, entry_id), self._declared, self._as_of)
        return verdict if self._newest is None else more_hidden(verdict, self._now(entry_id, self._newest))

    def comment(self, cm_id: str, comment: Comment) -> Seen:
        """Return whether a comment of the state may be shown."""
        if self._newest is not None:
            raw = self._newest.records.load(Kind.COMMENTS, cm_id)
            if raw is None:
                return Seen(False, REMOVED, removed=True)
            if is_visible(comment, self._declared):
                return self._seen(Comment.from_raw(raw, self._assume), IN_THE_NEWEST)
        return self._seen(comment)

    def _now(self, entry_id: str, newest: Newest) -> Verdict | None:
        raw = newest.records.load(Kind.ENTRIES, entry_id)
        if raw is None:
            return None
        item = self._item(newest.records, entry_id)
        return publication(Entry.from_raw(raw, self._assume), item, self._declared, newest.as_of)

    def _seen(self, comment: Comment, when: str = "") -> Seen:
        if is_visible(comment, self._declared):
            return Seen(True)
        return Seen(False, f"{when}delete_flg {comment.raw.get('delete_flg')!r:.20} is not visible")

    def _item(self, records: RecordSource, entry_id: str) -> EntryListItem | None:
        raw = records.load(Kind.ENTRY_LIST, entry_id)
        return None if raw is None else EntryListItem.from_raw(raw, self._assume)
