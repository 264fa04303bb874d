"""Who may see an entry, by its flags and what its owner declared about them. If in doubt, it is private. Pure.

A service judges its own records (:meth:`exporter.service.interface.Records.publication`).
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple

from exporter.arguments import fit_fields, replace_field, wrong
from exporter.frozen import frozen
from exporter.setting_types import accepted, flags, values


class PostStatus(StrEnum):
    """The status of an entry in its new home."""

    PUBLISH = "publish"
    DRAFT = "draft"
    PRIVATE = "private"


@frozen
class Declared:
    """The owner's declaration of the meaning of a blog's flags.

    Raises:
        UsageError: a field has another type, or the option that states it would refuse the value.

    Attributes:
        public_access: the access codes that mean published; ``None`` if not declared.
        period_public: whether entries with a limited display period are as public as others.
        visible_comment_flags: the values of a comment's flag, ``t`` or ``f``, that mean shown; ``None`` if not
            declared.
        all_as_draft: whether every entry becomes a draft, so that no declaration is necessary.
    """

    public_access: frozenset[str] | None = None
    period_public: bool = False
    visible_comment_flags: frozenset[str] | None = None
    all_as_draft: bool = False

    def __post_init__(self) -> None:
        fit_fields(self)
        for name, read in (("public_access", values), ("visible_comment_flags", flags)):
            stated = getattr(self, name)
            if not stated:
                continue
            try:
                replace_field(self, name, accepted(read, stated))
            except ValueError as error:
                raise wrong(name, stated, error) from None


class Hidden(Enum):
    """Why an entry or a comment must not be shown."""

    FLAG = auto()
    """A flag of the entry says so."""
    UNDECLARED = auto()
    """The owner did not declare that a flag's value means public, or shown."""
    ALL_DRAFTS = auto()
    """Every entry becomes a draft."""
    NO_DATE = auto()
    LATER = auto()
    """Its date is after the backup."""
    REMOVED = auto()
    """The newest version no longer has it."""
    WITHDRAWN = auto()
    """A service that showed it no longer has it; another source still does."""
    COMMENT = auto()
    """The owner declared which values of a comment's flag mean shown, and this is another one."""


@frozen
class Cause:
    """A reason with its details.

    Attributes:
        reason: a member of :class:`Hidden`, or of an export's reasons.
        field: the raw field that decided.
        value: its value in Python's notation, or a limit.
        newest: whether the value comes from the newest version instead of the version that is read.
    """

    reason: Enum
    field: str = ""
    value: str = ""
    newest: bool = False


class Verdict(NamedTuple):
    """An entry's status, and the reason if it is not published."""

    status: PostStatus
    cause: Cause | None = None


STATUS_ORDER: Final = (PostStatus.PRIVATE, PostStatus.DRAFT, PostStatus.PUBLISH)
"""The most hidden one first."""


def more_hidden(then: Verdict, now: Verdict | None) -> Verdict:
    """Return the status for an entry in an older version; its owner may have hidden or deleted it since.

    Args:
        then: its status in that version.
        now: its status in the newest version; ``None`` if that no longer has it. A deleted entry counts as private.
    """
    if now is None:
        return Verdict(PostStatus.PRIVATE, Cause(Hidden.REMOVED))
    if now.cause is not None and STATUS_ORDER.index(now.status) < STATUS_ORDER.index(then.status):
        return Verdict(now.status, replace(now.cause, newest=True))
    return then
