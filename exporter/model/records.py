"""A blog's records as every part of the program but their service reads them: posts, comments, uploads, users. Pure.

A service makes them of the raw objects that it sends (:mod:`exporter.service.interface`); the archive keeps the raw
objects. A value that cannot be read is ``None`` and named in ``problems``. All dates carry the blog's timezone.
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
    """A field whose value is not what its service promises.

    Attributes:
        field: the field's name, or a short list of names.
        value: the value as text, cut to 60 characters.
        reason: what is wrong with it.
    """

    field: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Post:
    """An entry of the blog.

    Attributes:
        id: its id.
        blog_id: the blog that holds it, as the record says.
        title: as sent; perhaps empty, perhaps with line ends.
        slug: its name in addresses; empty where the service has none.
        body: HTML.
        more_title: the text of the link to its continuation.
        more: the continuation, HTML.
        template: a text that the service puts around it; perhaps empty.
        date: when it is said to be written.
        updated: when it was last changed.
        period_date: the date of a period in which it is shown, where the service has such.
        listed_on: the day that the list gives; ``None`` where it is on no list.
        category: the name of its category; ``None`` where it is on no list.
        category_id: the id of its category.
        private: whether only its writer may see it; ``None`` when that cannot be read.
        access: the service's code for who may see it, where the owner alone knows what it means.
        comments_open: whether it takes comments.
        pings_open: whether it takes trackbacks.
        facts: what else Markdown's front matter says, by the service's own names.
        raw: the full record; empty when only the list has it.
        item: the list's own object, where it is on the list.
        problems: what could not be read.
    """

    id: str
    blog_id: str
    title: str
    slug: str
    body: str
    more_title: str
    more: str
    template: str
    date: datetime | None
    updated: datetime | None
    period_date: datetime | None
    listed_on: datetime | None
    category: str | None
    category_id: str
    private: bool | None
    access: str
    comments_open: bool | None
    pings_open: bool | None
    facts: Mapping[str, str | bool | None]
    raw: Raw = field(repr=False, compare=False)
    item: Raw | None = field(repr=False, compare=False, default=None)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment.

    Attributes:
        id: its id.
        post_id: the entry that it belongs to.
        date: when it was written; ``has_time`` tells whether more than the day is known.
        name: its writer's name.
        title: its title.
        text: HTML or text.
        url: the address that its writer gave, as text.
        deleted: whether its service marks it as deleted; ``None`` when that cannot be read.
        facts: what else Markdown says of it, by the service's own names.
        reply: the service's mark of an answer.
        raw: the record.
        problems: what could not be read.
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
    """The user whom the service knows the caller as."""

    id: str
    name: str
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()
