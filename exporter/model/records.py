"""A blog's records in a form that does not depend on its service: posts, comments, uploads, users. Pure.

The service makes them from its raw objects (:mod:`exporter.service.interface`), which the archive keeps. An invalid
value is ``None`` and listed in ``problems``. All dates have the blog's time zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from exporter.frozen import frozen

Raw = Mapping[str, Any]
"""A record as its service sent it."""


@frozen
class Problem:
    """A field with a value that its service does not document.

    Attributes:
        field: the field's name, or a short list of names.
        value: the value as text, cut to 60 characters.
        reason: the problem.
    """

    field: str
    value: str
    reason: str


class PostKind(StrEnum):
    """The kind of an entry. Entries of any other kind that a service has are pages."""

    POST = "post"
    PAGE = "page"


class Audience(StrEnum):
    """Who may see an entry, if its service states it."""

    PUBLIC = "public"
    PRIVATE = "private"
    """Only its writer."""
    DRAFT = "draft"
    """Only its writer: it is not finished."""
    SCHEDULED = "scheduled"
    """Only its writer, until its date."""
    MEMBERS = "members"
    """Those whom the writer admits, such as friends or subscribers."""
    PASSWORD = "password"  # noqa: S105 - an audience
    """Those who know its password."""


class CommentStatus(StrEnum):
    """Whether a comment is shown, if its service states it."""

    SHOWN = "shown"
    PENDING = "pending"
    HIDDEN = "hidden"
    SPAM = "spam"


class CommentKind(StrEnum):
    """A comment, or a notice that another site links to the entry."""

    COMMENT = "comment"
    TRACKBACK = "trackback"
    PINGBACK = "pingback"


class Lack(StrEnum):
    """Why a reader of the blog saw something that no view of a record shows."""

    SHORTCODE = "shortcode"
    """A mark in the text that a program of the blog replaces; it stays as text."""
    BLOCK = "block"
    """A block without content, which a program of the blog fills."""
    PATTERN = "pattern"
    """A text that entries share, which the source does not have, or which is not published."""
    PATTERNS_LARGE = "patterns_large"
    """More repetitions of such texts than an entry may show."""
    PICTURES = "pictures"
    """A gallery with pictures that the source does not have."""
    RECORDINGS = "recordings"
    """A list of recordings that the source does not have."""
    NOTES = "notes"
    """Footnotes whose texts are missing or cannot be read."""


class Unshown(NamedTuple):
    """A part of an entry that the blog's readers saw and that its record cannot show.

    Attributes:
        lack: the kind of the part.
        name: the name or number by which the entry names it; may be empty.
    """

    lack: Lack
    name: str = ""


class Category(NamedTuple):
    """A category.

    Attributes:
        name: its name.
        parents: the categories above it by name, the outermost first.
        slug: its name in addresses; empty if unknown.
    """

    name: str
    parents: tuple[str, ...] = ()
    slug: str = ""


@frozen
class Post:
    """An entry of the blog.

    Attributes:
        id: its id.
        blog_id: its blog, from the record.
        title: as sent; may be empty or have line ends.
        slug: its name in addresses; empty if the service has none.
        body: HTML.
        more_title: the text of the link to its continuation.
        more: the continuation, HTML.
        template: a text that the service puts around it; may be empty.
        date: the date of writing that it states.
        updated: when it was last changed.
        period_date: the date of its display period, if the service has such.
        listed_on: the day in its list item; ``None`` if it has none.
        category: the name of its first category; ``None`` if it has no list item.
        category_id: the id of its category.
        categories: all its categories, the first one first; empty if its service has only ``category``.
        tags: its tags.
        author: the name of its writer; empty if the service names none.
        permalink: the address that the blog had for it; empty if unknown.
        excerpt: the summary that its writer wrote, as HTML or text.
        kind: whether it is a post or a page.
        audience: who may see it; ``None`` if the service does not state it.
        featured: the address of its featured picture.
        sources: if its record comes from several services, their names.
        others: the entry as the services after the first of ``sources`` have it.
        private: whether only its writer may see it; ``None`` if invalid.
        access: the service's code for who may see it, whose meaning only the owner knows.
        comments_open: whether it takes comments.
        pings_open: whether it takes trackbacks.
        unshown: its parts that the blog's readers saw and that its record cannot show.
        facts: further fields of Markdown's front matter, by the service's names.
        raw: the full record; empty if it has only a list item.
        item: its list item, if any.
        problems: its invalid fields.
    """

    id: str
    blog_id: str = ""
    title: str = ""
    slug: str = ""
    body: str = ""
    more_title: str = ""
    more: str = ""
    template: str = ""
    date: datetime | None = None
    updated: datetime | None = None
    period_date: datetime | None = None
    listed_on: datetime | None = None
    category: str | None = None
    category_id: str = ""
    categories: tuple[Category, ...] = ()
    tags: tuple[str, ...] = ()
    author: str = ""
    permalink: str = ""
    excerpt: str = ""
    kind: PostKind = PostKind.POST
    audience: Audience | None = None
    featured: str = ""
    sources: tuple[str, ...] = ()
    others: tuple[Post, ...] = field(repr=False, default=())
    private: bool | None = None
    access: str = ""
    comments_open: bool | None = None
    pings_open: bool | None = None
    unshown: tuple[Unshown, ...] = ()
    facts: Mapping[str, str | bool | None] = field(default_factory=dict)
    raw: Raw = field(repr=False, compare=False, default_factory=dict)
    item: Raw | None = field(repr=False, compare=False, default=None)
    problems: tuple[Problem, ...] = ()

    @property
    def every_category(self) -> tuple[Category, ...]:
        """All its categories, also if its service has only one."""
        return self.categories or ((Category(self.category),) if self.category else ())


@frozen
class Comment:
    """A comment.

    Attributes:
        id: its id.
        post_id: its entry.
        date: when it was written; only a day unless ``has_time``.
        name: its writer's name.
        title: its title.
        text: HTML or text.
        url: the address that its writer gave, as text.
        deleted: whether its service marks it as deleted; ``None`` if invalid.
        facts: further fields for Markdown, by the service's names.
        reply: the service's mark of a reply.
        parent: the id of the comment that it answers; empty if it answers the entry.
        email: its writer's mail address, which is never shown.
        status: whether it is shown; ``None`` if the service does not state it.
        kind: a comment, or a notice of another site.
        by_owner: whether the blog's owner wrote it; ``None`` if unknown.
        raw: the record.
        problems: its invalid fields.
    """

    id: str
    post_id: str
    date: datetime | None
    has_time: bool
    name: str
    title: str
    text: str
    url: str
    deleted: bool | None
    facts: Mapping[str, str]
    reply: str | None
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()
    parent: str = ""
    email: str = field(default="", repr=False)
    status: CommentStatus | None = None
    kind: CommentKind = CommentKind.COMMENT
    by_owner: bool | None = None


@frozen
class Upload:
    """An uploaded file.

    Attributes:
        bytes: its size.
        modified: seconds since 1970.
        extension: without a dot.
        url: its own address, if the service states it.
        alt: the text that replaces the picture.
        page: if the service states one, the address of the page that shows it.
    """

    id: str
    name: str
    title: str | None
    description: str | None
    bytes: int | None
    width: int | None
    height: int | None
    modified: int | None
    extension: str
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()
    url: str = ""
    alt: str = ""
    page: str = ""


@frozen
class User:
    """The user as whom the service knows the caller."""

    id: str
    name: str
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()
