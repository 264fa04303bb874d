"""The records of the API under ``/blog/v1/``: how its raw objects are read. Pure.

Section numbers are those of the service's API document. Nothing here raises on any JSON object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any, ClassVar, Final, NamedTuple

from exporter.lossless_json import IntegerText
from exporter.model.assumptions import DEFAULT, Assumptions, assumptions_of
from exporter.model.kinds import Kind, key_of
from exporter.model.publication import Cause, Declared, Hidden, Status, Verdict
from exporter.model.records import Comment, Post, Problem, Raw, Upload, User
from exporter.service.interface import Records
from exporter.settings import Settings

_DATE_TIME = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_SHOWN = 60
_EARLIEST_YEAR = 1000
"""API 2.2: a year has four digits; one of fewer has lost some, and its day cannot be told."""


class FieldReader:
    """Reads the fields of one raw record and collects problems."""

    def __init__(self, raw: Mapping[str, Any], timezone: tzinfo) -> None:
        self._raw = raw
        self._timezone = timezone
        self.problems: list[Problem] = []

    def text(self, name: str) -> str:
        """Return the field as text; a missing or null field is the empty string, numbers keep their digits."""
        value = self._raw.get(name)
        if isinstance(value, str):
            return str(value)
        if value is None:
            if name not in self._raw:
                self._problem(name, "", "is missing")
            return ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._problem(name, value, "is not text")
        return ""

    def optional_text(self, name: str) -> str | None:
        """Return the field as text, or ``None`` where the service sent null or nothing."""
        return None if self._raw.get(name) is None else self.text(name)

    def number(self, name: str) -> int | None:
        """Return a whole number sent as text or as a number; ``None`` when empty or impossible."""
        value = self._raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if value is None or value == "":
            return None
        if isinstance(value, str) and not isinstance(value, IntegerText) and _INTEGER.fullmatch(value.strip()):
            return int(value)
        self._problem(name, value, "is not a whole number")
        return None

    def flag(self, name: str) -> bool | None:
        """Return a ``t``/``f`` flag (section 3) as a bool; ``None`` when it is anything else."""
        value = self._raw.get(name)
        if isinstance(value, bool):
            return value
        if value == FLAG_TRUE:
            return True
        if value == FLAG_FALSE:
            return False
        if value is not None and value != "":
            self._problem(name, value, "is neither t nor f")
        return None

    def date(self, name: str) -> datetime | None:
        """Return ``YYYY-MM-DD hh:mm:ss`` or ``YYYY/MM/DD`` in the blog's timezone; ``None`` when impossible."""
        value = self._raw.get(name)
        if value is None or value == "":
            return None
        found = _DATE_TIME.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            self._problem(name, value, "is not a date")
            return None
        return self._date(name, [int(part or 0) for part in found.groups()])

    def date_from_parts(self, prefix: str = "") -> datetime | None:
        """Return the date spread over ``year`` … ``sec`` (with ``prefix``); ``None`` when empty or impossible."""
        names = [prefix + part for part in ("year", "mon", "day", "hour", "min", "sec")]
        values = [self._raw.get(name) for name in names]
        if all(value is None or value == "" for value in values):
            return None
        parts: list[int] = []
        for name, value in zip(names, values, strict=True):
            text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
            if not _INTEGER.fullmatch(text.strip()):
                self._problem(name, value, "is not a part of a date")
                return None
            parts.append(int(text))
        return self._date(f"{names[0]}…{names[-1]}", parts)

    def _date(self, name: str, parts: list[int]) -> datetime | None:
        try:
            if parts[0] >= _EARLIEST_YEAR:
                year, month, day, hour, minute, second = [*parts, 0, 0, 0][:6]
                return datetime(year, month, day, hour, minute, second, tzinfo=self._timezone)
        except (ValueError, OverflowError):
            pass
        self._problem(name, "-".join(str(part) for part in parts), "is an impossible date")
        return None

    def _problem(self, field: str, value: object, reason: str) -> None:
        self.problems.append(Problem(field, _shown(value)[:_SHOWN], reason))


def _shown(value: object) -> str:
    """Show a value in a few words; a container may be nested too deeply to be shown itself."""
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return str(value)


FLAG_TRUE: Final = "t"
FLAG_FALSE: Final = "f"
"""API section 3."""

_KEYS: Final = {
    Kind.ENTRIES: "entry_id",
    Kind.ENTRY_LIST: "entry_id",
    Kind.COMMENTS: "cm_id",
    Kind.FILES: "file_id",
    Kind.USER: "id",
}
_TITLES: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.ENTRIES: ("title",),
    Kind.ENTRY_LIST: ("title",),
    Kind.COMMENTS: ("title", "name"),
    Kind.FILES: ("title", "name"),
    Kind.USER: ("nickname",),
}
_PRIVATE: Final = "is_private"
_OPEN: Final = "open_flg"
_PERIOD: Final = "period_flg"
_DELETED: Final = "delete_flg"


class RecordsV1(Records):
    """Reads the records of this API.

    Args:
        assume: what the API document leaves open.
    """

    name = "blog-v1"
    post_flags = (_OPEN, _PRIVATE, _PERIOD)
    comment_flags = (_DELETED,)
    access_flag = _OPEN
    period_flag = _PERIOD
    deleted_flag = _DELETED
    bodies: ClassVar = {
        Kind.ENTRIES: ("entry_text", "ps_text"),
        Kind.COMMENTS: ("cm_text",),
    }
    usual_access = "1"
    kept_fields = (
        "entry_id", _OPEN, _PERIOD, _PRIVATE, "text_format", "category_id", "name", "last_update",
    )  # fmt: skip
    post_fields = (
        "blog_id", "entry_id", "name", "title", "year", "mon", "day", "hour", "min", "sec", "category_id",
        "regist_user_id", _OPEN, _PERIOD, _PRIVATE, "text_format", "cm_receipt_flg", "tb_receipt_flg", "period_year",
        "period_mon", "period_day", "period_hour", "period_min", "period_sec", "last_update", "entry_text", "ps_title",
        "ps_text", "template_text",
    )  # fmt: skip
    upload_fields = (
        "file_id", "name", "title", "explanation", "file_size", "height", "width", "user_id", "mtime", "extension",
    )  # fmt: skip
    post_id_field = "entry_id"

    def __init__(self, assume: Assumptions = DEFAULT) -> None:
        self.timezone = assume.timezone

    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return the id of a raw object of a kind."""
        return key_of(raw.get(_KEYS[kind])) if isinstance(raw, dict) else None

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return what a person knows a record by; empty where it has no title and no name."""
        values = (raw.get(name) for name in _TITLES.get(kind, ()))
        return next((str(value) for value in values if isinstance(value, str) and value.strip()), "")

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Join an entry (API 2.2) with its element of the list (2.3); either may be missing."""
        listed = None if item is None else self._item(item)
        if raw is None:
            return self._listed_only(item or {}, listed or self._item({}))
        read = FieldReader(raw, self.timezone)
        post_id, blog_id = read.text("entry_id"), read.text("blog_id")
        read.text("regist_user_id")
        title, slug = read.text("title"), read.text("name")
        facts: dict[str, str | bool | None] = {"category_id": read.text("category_id"), "name": slug}
        period, access = read.flag(_PERIOD), read.text(_OPEN)
        body, more_title, more = read.text("entry_text"), read.text("ps_title"), read.text("ps_text")
        text_format = read.text("text_format")
        comments_open, pings_open = read.flag("cm_receipt_flg"), read.flag("tb_receipt_flg")
        date, period_date = read.date_from_parts(), read.date_from_parts("period_")
        updated, template = read.date("last_update"), read.text("template_text")
        private = read.flag(_PRIVATE)
        facts |= {_OPEN: access, _PERIOD: period, _PRIVATE: private, "text_format": text_format}
        facts |= {"cm_receipt_flg": comments_open, "tb_receipt_flg": pings_open}
        return Post(
            id=post_id,
            blog_id=blog_id,
            title=title,
            slug=slug,
            body=body,
            more_title=more_title,
            more=more,
            template=template,
            date=date,
            updated=updated,
            period_date=period_date,
            listed_on=None if listed is None else listed.day,
            category=None if listed is None else listed.category,
            category_id=str(facts["category_id"]),
            private=private,
            access=access,
            comments_open=comments_open,
            pings_open=pings_open,
            facts=facts,
            raw=raw,
            item=item,
            problems=(*read.problems, *(() if listed is None else listed.problems)),
        )

    def _item(self, raw: Raw) -> _Item:
        read = FieldReader(raw, self.timezone)
        post_id, day, title, slug = (
            read.text("entry_id"),
            read.date("regist_date"),
            read.text("title"),
            read.text("name"),
        )
        access, _, period_date = read.text(_OPEN), read.flag(_PERIOD), read.date("period_date")
        comments_open, pings_open = read.flag("cm_receipt_flg"), read.flag("tb_receipt_flg")
        category = read.text("category")
        read.number("comment_count")
        read.number("trackback_count")
        return _Item(
            post_id, day, title, slug, access, period_date, comments_open, pings_open, category, tuple(read.problems)
        )

    def _listed_only(self, raw: Raw, item: _Item) -> Post:
        return Post(
            id=item.post_id,
            blog_id="",
            title=item.title,
            slug=item.slug,
            body="",
            more_title="",
            more="",
            template="",
            date=None,
            updated=None,
            period_date=item.period_date,
            listed_on=item.day,
            category=item.category,
            category_id="",
            private=None,
            access=item.access,
            comments_open=item.comments_open,
            pings_open=item.pings_open,
            facts={},
            raw={},
            item=raw,
            problems=item.problems,
        )

    def comment(self, raw: Raw) -> Comment:
        """Read a comment (API 2.5); its ``url`` is the service's ``url_text``, never the HTML of ``url``."""
        read = FieldReader(raw, self.timezone)
        comment_id, post_id, date = read.text("cm_id"), read.text("entry_id"), read.date("regist_date")
        name, title, text = read.text("name"), read.text("title"), read.text("cm_text")
        deleted = read.flag(_DELETED)
        read.text("url")
        return Comment(
            id=comment_id,
            post_id=post_id,
            date=date,
            has_time=":" in str(raw.get("regist_date")),
            name=name,
            title=title,
            text=text,
            url=read.text("url_text"),
            deleted=deleted,
            facts={_DELETED: FLAG_TRUE} if deleted else {},
            reply=read.optional_text("res_flg"),
            raw=raw,
            problems=tuple(read.problems),
        )

    def post_id(self, raw: Raw) -> str:
        """Return the id of the entry that a raw comment belongs to; empty where it names none."""
        return key_of(raw.get("entry_id")) or ""

    def category_id(self, raw: Raw) -> str | None:
        """Return the id of a raw entry's category."""
        return key_of(raw.get("category_id"))

    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file (API 2.6). That ``file_size`` counts bytes is an assumption."""
        read = FieldReader(raw, self.timezone)
        return Upload(
            id=read.text("file_id"),
            name=read.text("name"),
            title=read.optional_text("title"),
            description=read.optional_text("explanation"),
            bytes=read.number("file_size"),
            height=read.number("height"),
            width=read.number("width"),
            owner_id=read.text("user_id"),
            modified=read.number("mtime"),
            extension=read.text("extension"),
            raw=raw,
            problems=tuple(read.problems),
        )

    def user(self, raw: Raw) -> User:
        """Read the calling user (API 2.7)."""
        read = FieldReader(raw, self.timezone)
        return User(read.text("id"), read.text("nickname"), raw, tuple(read.problems))

    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Tell what an entry is; where the entry and its list item disagree, the more hidden one counts.

        What ``open_flg`` and ``period_flg`` mean is not documented (API 2.2, 2.8), so nothing counts as public until
        its owner has declared which values are.

        Args:
            post: the entry; one that is only on the list is private.
            declared: what the owner has said.
            as_of: when the blog was read: an entry dated later was not shown yet.
        """
        raws = [post.raw] if post.item is None else [post.raw, post.item]
        for number, raw in enumerate(raws):
            # Items of the list have no such flag (API 2.3), but one that is sent counts as that of the entry does.
            if (number == 0 or _PRIVATE in raw) and self._flag(raw, _PRIVATE) is not False:
                return Verdict(Status.PRIVATE, Cause(Hidden.FLAG, _PRIVATE, _told(raw.get(_PRIVATE))))
        if declared.all_as_draft:
            return Verdict(Status.DRAFT, Cause(Hidden.ALL_DRAFTS))
        for raw in raws:
            if FieldReader(raw, self.timezone).text(_OPEN) not in (declared.public_access or ()):
                return Verdict(Status.DRAFT, Cause(Hidden.UNDECLARED, _OPEN, _told(raw.get(_OPEN))))
        for raw in raws:
            period = self._flag(raw, _PERIOD)
            if period is not False and not (declared.period_public and period):
                return Verdict(Status.DRAFT, Cause(Hidden.UNDECLARED, _PERIOD, _told(raw.get(_PERIOD))))
        if post.date is None:
            return Verdict(Status.DRAFT, Cause(Hidden.NO_DATE))
        if as_of is not None and post.date > as_of:
            return Verdict(Status.DRAFT, Cause(Hidden.LATER))
        return Verdict(Status.PUBLISH)

    def is_visible(self, comment: Comment, declared: Declared) -> bool:
        """Tell whether a comment may be shown; one without a readable flag never may (API 2.5)."""
        if comment.deleted is None:
            return False
        return (FLAG_TRUE if comment.deleted else FLAG_FALSE) in declared.visible_comment_flags

    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a comment may not be shown."""
        return Cause(Hidden.COMMENT, _DELETED, f"{comment.raw.get(_DELETED)!r:.20}")

    def _flag(self, raw: Raw, name: str) -> bool | None:
        return FieldReader(raw, self.timezone).flag(name)


class _Item(NamedTuple):
    """What is read of an element of the list."""

    post_id: str
    day: datetime | None
    title: str
    slug: str
    access: str
    period_date: datetime | None
    comments_open: bool | None
    pings_open: bool | None
    category: str
    problems: tuple[Problem, ...]


def _told(value: object) -> str:
    return repr(value)[:40] if isinstance(value, str | bool | int | None) else "no text"


def service_of(settings: Settings) -> Records:
    """Return what reads the records of the blog, with what the settings override."""
    return RecordsV1(assumptions_of(settings))


DEFAULT_RECORDS: Final = RecordsV1()
"""How records are read where nothing says otherwise."""
