"""The records of WordPress' REST API, read from JSON of any shape. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any, Final

from exporter.message import message

STATUSES: Final = ("publish", "future", "draft", "pending", "private")
"""All that a post may have, but for the trash and for what WordPress makes by itself."""


class WrongShape(ValueError):
    """A record is not what the API promises; the message names the member."""


@dataclass(frozen=True, slots=True)
class RestPost:
    """A post.

    Attributes:
        id: its number.
        title: as text.
        content: HTML as it is shown; empty where it is protected.
        protected: whether a password is asked for.
        date: as shown, without an offset.
        instant: the moment in time; ``None`` where WordPress has none yet, as for some drafts.
        slug: its name in addresses, percent-encoded; perhaps empty.
        status: one of :data:`STATUSES`, or what a plugin made.
        link: its address.
        categories: their numbers, like ``tags``.
    """

    id: int
    title: str
    content: str
    protected: bool
    date: datetime | None
    instant: datetime | None
    slug: str
    status: str
    link: str
    categories: tuple[int, ...]
    tags: tuple[int, ...]

    @classmethod
    def of(cls, raw: Any) -> RestPost:
        """Read one.

        Raises:
            WrongShape: it is none.
        """
        return cls(
            id=number_in(raw, "id"),
            title=unescape(_title(raw)),
            content=text_in(raw, "content", "rendered"),
            protected=member(raw, "content", "protected") is True,
            date=date_in(raw, "date"),
            instant=_in_utc(date_in(raw, "date_gmt")),
            slug=text_in(raw, "slug"),
            status=text_in(raw, "status"),
            link=text_in(raw, "link"),
            categories=_numbers(raw, "categories"),
            tags=_numbers(raw, "tags"),
        )


@dataclass(frozen=True, slots=True)
class RestComment:
    """A comment: the number of its post, its writer's name as text, its text as HTML, and whether it is shown."""

    id: int
    post: int
    name: str
    content: str
    date: datetime | None
    instant: datetime | None
    approved: bool

    @classmethod
    def of(cls, raw: Any) -> RestComment:
        """Read one.

        Raises:
            WrongShape: it is none.
        """
        return cls(
            id=number_in(raw, "id"),
            post=number_in(raw, "post"),
            name=unescape(text_in(raw, "author_name")),
            content=text_in(raw, "content", "rendered"),
            date=date_in(raw, "date"),
            instant=_in_utc(date_in(raw, "date_gmt")),
            approved=text_in(raw, "status") == "approved",
        )


def _title(raw: Any) -> str:
    """Return a title as it was written, which an editor gets: WordPress shows those of private posts with a prefix."""
    written = member(raw, "title", "raw")
    return written if isinstance(written, str) else text_in(raw, "title", "rendered")


def member(raw: Any, *path: str) -> Any:
    """Return what stands at a path of members; ``None`` where there is nothing."""
    for name in path:
        if not isinstance(raw, dict):
            return None
        raw = raw.get(name)
    return raw


def text_in(raw: Any, *path: str) -> str:
    """Return the text at a path of members.

    Raises:
        WrongShape: there is none.
    """
    value = member(raw, *path)
    if not isinstance(value, str):
        raise WrongShape(message("{name} is no text", name=".".join(path)))
    return str(value)


def number_in(raw: Any, name: str) -> int:
    """Return a whole number above 0.

    Raises:
        WrongShape: there is none.
    """
    value = member(raw, name)
    if type(value) is not int or value <= 0:
        raise WrongShape(message("{name} is no number of a record", name=name))
    return value


def date_in(raw: Any, name: str) -> datetime | None:
    """Return a date without an offset, as WordPress sends all of them; ``None`` for none.

    Raises:
        WrongShape: it is something else.
    """
    value = member(raw, name)
    if value is None or value == "0000-00-00T00:00:00":
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise WrongShape(message("{name} is no date", name=name)) from None
    return found.replace(tzinfo=None)


def _in_utc(date: datetime | None) -> datetime | None:
    return None if date is None else date.replace(tzinfo=UTC)


def _numbers(raw: Any, name: str) -> tuple[int, ...]:
    value = member(raw, name)
    if not isinstance(value, list) or not all(type(each) is int for each in value):
        raise WrongShape(message("{name} is no list of numbers", name=name))
    return tuple(value)
