"""Who may see an entry: what its owner has declared, and what follows. Everything in doubt is not public. Pure.

A service judges its own records (:meth:`exporter.service.interface.Records.publication`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class Status(StrEnum):
    """What an importer is told about an entry."""

    PUBLISH = "publish"
    DRAFT = "draft"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the owner of a blog has said about its flags.

    Attributes:
        public_access: the access codes that mean published; ``None`` while nothing was said.
        period_public: whether entries that are shown for some time only are as public as others.
        visible_comment_flags: the values of a comment's flag, ``t`` or ``f``, that mean shown.
        all_as_draft: whether every entry is to be a draft, so that no meaning is needed.
    """

    public_access: frozenset[str] | None = None
    period_public: bool = False
    visible_comment_flags: frozenset[str] = frozenset()
    all_as_draft: bool = False


class Verdict(NamedTuple):
    """An entry's status, and why it is not published; the reason is empty when it is."""

    status: Status
    reason: str = ""


_OPENNESS: Final = (Status.PRIVATE, Status.DRAFT, Status.PUBLISH)
IN_THE_NEWEST: Final = "in the newest version, "
"""What a reason begins with that an older version does not show."""

REMOVED: Final = "the newest version does not hold it any more"


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
