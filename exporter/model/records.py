"""A blog's records in a form that does not depend on its service: posts, comments, uploads, users. Pure.

The service makes them from its raw objects (:mod:`exporter.service.interface`), which the archive keeps. An invalid
value is ``None`` and listed in ``problems``. All dates have the blog's time zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Raw = Mapping[str, Any]
"""A record as its service sent it."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
        category: the name of its category; ``None`` if it has no list item.
        category_id: the id of its category.
        private: whether only its writer may see it; ``None`` if invalid.
        access: the service's code for who may see it, whose meaning only the owner knows.
        comments_open: whether it takes comments.
        pings_open: whether it takes trackbacks.
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
    private: bool | None = None
    access: str = ""
    comments_open: bool | None = None
    pings_open: bool | None = None
    facts: Mapping[str, str | bool | None] = field(default_factory=dict)
    raw: Raw = field(repr=False, compare=False, default_factory=dict)
    item: Raw | None = field(repr=False, compare=False, default=None)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file; ``bytes`` is its size, ``modified`` seconds since 1970, ``extension`` without a dot."""

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


@dataclass(frozen=True, slots=True)
class User:
    """The user as whom the service knows the caller."""

    id: str
    name: str
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()
