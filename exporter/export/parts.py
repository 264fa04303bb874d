"""The parts of entries and comments that not every format holds. Pure."""

from __future__ import annotations

from enum import StrEnum


class Part(StrEnum):
    """A part that a format declares in :attr:`~exporter.export.formats.Format.holds`, or that its report counts."""

    # Of entries.
    PARENTS = "parents"
    """The categories above its categories."""
    TAGS = "tags"
    AUTHOR = "author"
    EXCERPT = "excerpt"
    FEATURED = "featured"
    ADDRESS = "address"
    """The address that the old blog states."""
    PAGE = "page"
    """Whether it is a page and not a post."""
    SCHEDULED = "scheduled"
    """Whether it is published later, at its date."""
    MEMBERS = "members"
    PASSWORD = "password"  # noqa: S105 - a part
    TEMPLATE = "template"
    """The text that the old blog puts around it."""
    # Of entries and comments.
    FIELDS = "fields"
    """Custom fields, and fields that this program does not know."""
    # Of comments.
    THREADS = "threads"
    """The comment that it answers."""
    NOTICES = "notices"
    """Whether it is a trackback or pingback."""
    EMAIL = "email"
    OWNER = "owner"
    """Whether the blog's owner wrote it."""


EVERYTHING = frozenset(Part) - {Part.TEMPLATE, Part.FIELDS}
"""For formats that hold all that any format holds, and for code that reports lost parts itself."""

FOR_READERS = EVERYTHING - {Part.SCHEDULED, Part.MEMBERS, Part.PASSWORD, Part.EMAIL}
"""For formats that show everything that readers of a blog may see."""
