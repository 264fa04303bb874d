"""Who may see an entry or a comment, as one pure function for each; everything in doubt is not public.

The meanings of ``open_flg``, ``period_flg`` and ``delete_flg`` are not documented (API 2.2, 2.5, 2.8), so nothing
counts as public until its owner has declared which values are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from exporter.model.assumptions import FLAG_FALSE, FLAG_TRUE, TIMEZONE
from exporter.model.records import Comment, Entry, EntryListItem, FieldReader


class Status(StrEnum):
    """What an importer is told about an entry."""

    PUBLISH = "publish"
    DRAFT = "draft"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the owner of a blog has said about its flags.

    Attributes:
        open_flgs: the values of ``open_flg`` that mean published; ``None`` while nothing was said.
        period_public: whether entries whose ``period_flg`` is ``t`` are as public as others.
        visible_delete_flgs: the values of ``delete_flg``, ``t`` or ``f``, that mean shown.
        all_as_draft: whether every entry is to be a draft, so that no meaning is needed.
    """

    open_flgs: frozenset[str] | None = None
    period_public: bool = False
    visible_delete_flgs: frozenset[str] = frozenset()
    all_as_draft: bool = False


class Verdict(NamedTuple):
    """An entry's status, and why it is not published; the reason is empty when it is."""

    status: Status
    reason: str = ""


_FLAG: Final = "is_private"
_OPENNESS: Final = (Status.PRIVATE, Status.DRAFT, Status.PUBLISH)
IN_THE_NEWEST: Final = "in the newest version, "
"""What a reason begins with that an older version does not show."""

REMOVED: Final = "the newest version does not hold it any more"


def publication(entry: Entry, item: EntryListItem | None, declared: Declared, as_of: datetime | None = None) -> Verdict:
    """Tell what an entry is; where entry and list item disagree, the more hidden one counts.

    Args:
        entry: the full record.
        item: its element of the list, where there is one.
        declared: what the owner has said.
        as_of: when the blog was read: an entry dated later was not shown yet.
    """
    records: list[Entry | EntryListItem] = [entry] if item is None else [entry, item]
    for record in records:
        if _is_private(record) is not False:
            return Verdict(Status.PRIVATE, f"is_private is {_shown(record.raw.get(_FLAG))}")
    if declared.all_as_draft:
        return Verdict(Status.DRAFT, "all entries are drafts, as asked for")
    for record in records:
        if record.open_flg not in (declared.open_flgs or ()):
            return Verdict(Status.DRAFT, f"open_flg {_shown(record.raw.get('open_flg'))} is not declared public")
    for record in records:
        if record.period_flg is not False and not (declared.period_public and record.period_flg):
            return Verdict(Status.DRAFT, f"period_flg {_shown(record.raw.get('period_flg'))} is not declared public")
    if entry.date is None:
        return Verdict(Status.DRAFT, "its date is impossible or missing")
    if as_of is not None and entry.date > as_of:
        return Verdict(Status.DRAFT, "its date is later than the backup")
    return Verdict(Status.PUBLISH)


def more_hidden(then: Verdict, now: Verdict | None) -> Verdict:
    """Return what an entry of an older version is to be, when its owner may have hidden or deleted it since.

    Args:
        then: what it was in that version.
        now: what it is in the newest version; ``None`` when that does not hold it, which counts as private: who deleted
            an entry wants it to be seen by nobody.
    """
    if now is None:
        return Verdict(Status.PRIVATE, REMOVED)
    if _OPENNESS.index(now.status) < _OPENNESS.index(then.status):
        return Verdict(now.status, f"{IN_THE_NEWEST}{now.reason}")
    return then


def is_visible(comment: Comment, declared: Declared) -> bool:
    """Tell whether a comment may be shown; one without a readable flag never may."""
    if comment.delete_flg is None:
        return False
    return (FLAG_TRUE if comment.delete_flg else FLAG_FALSE) in declared.visible_delete_flgs


def _is_private(record: Entry | EntryListItem) -> bool | None:
    """Return the flag; list items have none by API 2.3, but one that is sent counts as that of the entry does."""
    if isinstance(record, Entry):
        return record.is_private
    return FieldReader(record.raw, TIMEZONE).flag(_FLAG) if _FLAG in record.raw else False


def _shown(value: object) -> str:
    return repr(value)[:40] if isinstance(value, str | bool | int | None) else "no text"
