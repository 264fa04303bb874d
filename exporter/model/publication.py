"""Who may see an entry: what its owner has declared, and what follows. Everything in doubt is not public. Pure.

A service judges its own records (:meth:`exporter.service.interface.Records.publication`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple


class PostStatus(StrEnum):
    """What an entry is to be in its new home."""

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


class Hidden(Enum):
    """Why an entry or a comment may not be shown."""

    FLAG = auto()
    """A flag of the entry says so."""
    UNDECLARED = auto()
    """Its owner has not declared that the value of a flag means public."""
    ALL_DRAFTS = auto()
    """Every entry is to be a draft."""
    NO_DATE = auto()
    LATER = auto()
    """It is dated later than the backup."""
    REMOVED = auto()
    """The newest version does not hold it any more."""
    COMMENT = auto()
    """Its owner has not declared that the value of a comment's flag means shown."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason with what makes it definite.

    Attributes:
        reason: a member of :class:`Hidden`, or of what an export has as reasons.
        field: the raw field that decided.
        value: its value as Python writes it, or a limit.
        newest: whether the newest version shows it, and not the older one that is read.
    """

    reason: Enum
    field: str = ""
    value: str = ""
    newest: bool = False


class Verdict(NamedTuple):
    """An entry's status, and why it is not published; ``None`` when it is."""

    status: PostStatus
    cause: Cause | None = None


_OPENNESS: Final = (PostStatus.PRIVATE, PostStatus.DRAFT, PostStatus.PUBLISH)


def more_hidden(then: Verdict, now: Verdict | None) -> Verdict:
    """Return what an entry of an older version is to be, when its owner may have hidden or deleted it since.

    Args:
        then: what it was in that version.
        now: what it is in the newest version; ``None`` when that does not hold it, which counts as private: who deleted
            an entry wants it to be seen by nobody.
    """
    if now is None:
        return Verdict(PostStatus.PRIVATE, Cause(Hidden.REMOVED))
    if now.cause is not None and _OPENNESS.index(now.status) < _OPENNESS.index(then.status):
        return Verdict(now.status, replace(now.cause, newest=True))
    return then
