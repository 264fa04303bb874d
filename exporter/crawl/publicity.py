"""Decides which answers hold public records only, by the rules of exports. In doubt an answer is private.

An answer is judged after the run has read everything. Each record in it must equal the newest one that the run read:
its owner may have hidden an entry since, or published a former draft.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from exporter.crawl.exchange_spool import RequestEnd
from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus

if TYPE_CHECKING:
    from exporter.crawl.ledger import PendingState
    from exporter.model.exchange import HeldRecord
    from exporter.service.interface import Records

NOT_PUBLIC: Final = "not_public"
"""A record is not public."""
OF_OWNER: Final = "of_owner"
"""The answer is for the signed-in user alone, such as the user's own record or the list of uploads."""
UNKNOWN: Final = "unknown"
"""The content is unknown: a request for one entry failed, or a request did not end."""
FORGOTTEN: Final = "forgotten"
"""It shows a record that was removed from the archive for good."""
REASONS: Final = (NOT_PUBLIC, OF_OWNER, UNKNOWN, FORGOTTEN, "secret", "too_large")
"""Why answers are left out. The last two are those of :class:`~exporter.crawl.exchange_spool.RequestEnd`."""


class PublicationView(Protocol):
    """One reading of the blog's entries."""

    def is_public(self, entry_id: str) -> bool | None:
        """Return whether an entry is public; ``None`` if it is not known at all."""


@dataclass
class EntryPublication:
    """The entries of one archive or service.

    Attributes:
        service: reads the records.
        records: those that the run knows last.
        declared: the owner's declaration about flags.
        as_of: the time of the run; entries with a later date are not public yet.
        ids: the ids of entries in ``records`` by those of the service; ``None`` if they are the same.
    """

    service: Records
    records: PendingState
    declared: Declared
    as_of: datetime
    ids: Mapping[str, str] | None = None
    _verdicts: dict[str, bool | None] = field(default_factory=dict)

    def is_public(self, entry_id: str) -> bool | None:
        """Return whether an entry is public; ``None`` if it is not known at all."""
        known = entry_id if self.ids is None else self.ids.get(entry_id, "")
        if known not in self._verdicts:
            self._verdicts[known] = self._judge(known)
        return self._verdicts[known]

    def _judge(self, entry_id: str) -> bool | None:
        records = [(kind, self.records.load(kind, entry_id)) for kind in (Kind.ENTRIES, Kind.ENTRY_LIST)]
        raw, item = (each for _, each in records)
        if raw is None and (item is None or self.service.post(None, item).audience is None):
            return None
        if any(self.service.has_private_parts(kind, each) for kind, each in records if each is not None):
            return False
        post = self.service.post(raw, item)
        return self.service.publication(post, self.declared, self.as_of).status is PostStatus.PUBLISH


@dataclass
class Publicity:
    """Judges the answers of one run.

    Attributes:
        entries: the entries of the service that the run read.
        others: the same entries as other services have them, if the archive joins several; each must agree.
        open_to_all: whether every answer is what any visitor sees, so that an unread entry in a list is no secret.
    """

    entries: EntryPublication
    others: Sequence[PublicationView] = ()
    open_to_all: bool = False
    _any: bool | None = None

    def why_left_out(self, end: RequestEnd) -> str:
        """Return the reason, one of :data:`REASONS`, to leave out a request's exchanges; empty for public ones."""
        if end.refused:
            return end.refused
        if end.held is None:
            # Without credentials, everyone gets this error. With a sign-in its text may quote a record.
            return "" if end.failed and end.anonymous and self._has_public() else UNKNOWN
        if end.held.closed:
            return OF_OWNER
        for record in end.held.records:
            if record.kind is Kind.USER or (record.kind is Kind.FILES and not end.anonymous):
                return OF_OWNER
            if not self._is_public(record):
                return NOT_PUBLIC
        # If a blog has no public entry, even its service document or an empty list may name something private.
        return "" if end.held.records or self._has_public() else NOT_PUBLIC

    def _is_public(self, record: HeldRecord) -> bool:
        known = self.entries.records
        if record.identity is not None and known.identity(record.kind, record.id) != record.identity:
            return False
        if record.kind is Kind.FILES:
            return self._has_public()
        if record.kind is not Kind.COMMENTS:
            return self._is_entry_public(record.id, listed=record.kind is Kind.ENTRY_LIST)
        raw = known.load(Kind.COMMENTS, record.id)
        if raw is None:
            return False
        service = self.entries.service
        comment = service.comment(raw)
        if comment.email or service.has_private_parts(Kind.COMMENTS, raw):
            return False
        return service.is_visible(comment, self.entries.declared) and self._is_entry_public(service.post_id(raw))

    def _is_entry_public(self, entry_id: str, *, listed: bool = False) -> bool:
        own = self.entries.is_public(entry_id)
        if own is None:
            own = listed and self.open_to_all
        return own and all(other.is_public(entry_id) is not False for other in self.others)

    def _has_public(self) -> bool:
        """Return whether the blog has a public entry."""
        if self._any is None:
            self._any = any(self.entries.is_public(key) for key in self.entries.records.ids(Kind.ENTRIES))
        return self._any
