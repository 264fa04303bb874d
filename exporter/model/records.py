"""Reading single fields: each reader gives a value or ``None``, and says what was wrong instead of raising."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from exporter.lossless_json import IntegerText
from exporter.model import assumptions
from exporter.model.assumptions import DEFAULT, Assumptions

_DATE_TIME = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_SHOWN = 60
_EARLIEST_YEAR = 1000
"""API 2.2: a year has four digits; one of fewer has lost some, and its day cannot be told."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A field whose value is not what the document promises.

    Attributes:
        field: the field's name, or a short list of names.
        value: the value as text, cut to 60 characters.
        reason: what is wrong with it.
    """

    field: str
    value: str
    reason: str


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
        if value == assumptions.FLAG_TRUE:
            return True
        if value == assumptions.FLAG_FALSE:
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


Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry in full (API 2.2). ``date`` and ``period_date`` join the parts; both carry the blog's timezone."""

    entry_id: str
    blog_id: str
    regist_user_id: str
    title: str
    name: str
    category_id: str
    period_flg: bool | None
    open_flg: str
    entry_text: str
    ps_title: str
    ps_text: str
    text_format: str
    cm_receipt_flg: bool | None
    tb_receipt_flg: bool | None
    date: datetime | None
    period_date: datetime | None
    last_update: datetime | None
    template_text: str
    is_private: bool | None
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_raw(cls, raw: Raw, assume: Assumptions = DEFAULT) -> Entry:
        """Read an ``entry/get`` object; never raises."""
        read = FieldReader(raw, assume.timezone)
        return cls(
            entry_id=read.text("entry_id"),
            blog_id=read.text("blog_id"),
            regist_user_id=read.text("regist_user_id"),
            title=read.text("title"),
            name=read.text("name"),
            category_id=read.text("category_id"),
            period_flg=read.flag("period_flg"),
            open_flg=read.text("open_flg"),
            entry_text=read.text("entry_text"),
            ps_title=read.text("ps_title"),
            ps_text=read.text("ps_text"),
            text_format=read.text("text_format"),
            cm_receipt_flg=read.flag("cm_receipt_flg"),
            tb_receipt_flg=read.flag("tb_receipt_flg"),
            date=read.date_from_parts(),
            period_date=read.date_from_parts("period_"),
            last_update=read.date("last_update"),
            template_text=read.text("template_text"),
            is_private=read.flag("is_private"),
            raw=raw,
            problems=tuple(read.problems),
        )


@dataclass(frozen=True, slots=True)
class EntryListItem:
    """One element of the entry list (API 2.3)."""

    entry_id: str
    regist_date: datetime | None
    title: str
    name: str
    open_flg: str
    period_flg: bool | None
    period_date: datetime | None
    cm_receipt_flg: bool | None
    tb_receipt_flg: bool | None
    category: str
    comment_count: int | None
    trackback_count: int | None
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_raw(cls, raw: Raw, assume: Assumptions = DEFAULT) -> EntryListItem:
        """Read an element of ``entry/list``; never raises."""
        read = FieldReader(raw, assume.timezone)
        return cls(
            entry_id=read.text("entry_id"),
            regist_date=read.date("regist_date"),
            title=read.text("title"),
            name=read.text("name"),
            open_flg=read.text("open_flg"),
            period_flg=read.flag("period_flg"),
            period_date=read.date("period_date"),
            cm_receipt_flg=read.flag("cm_receipt_flg"),
            tb_receipt_flg=read.flag("tb_receipt_flg"),
            category=read.text("category"),
            comment_count=read.number("comment_count"),
            trackback_count=read.number("trackback_count"),
            raw=raw,
            problems=tuple(read.problems),
        )


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment (API 2.5). ``url`` is an HTML fragment from a stranger; ``url_text`` the address as text."""

    cm_id: str
    entry_id: str
    regist_date: datetime | None
    name: str
    title: str
    cm_text: str
    delete_flg: bool | None
    url: str
    url_text: str
    res_flg: str | None
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_raw(cls, raw: Raw, assume: Assumptions = DEFAULT) -> Comment:
        """Read an element of ``comment/list``; never raises."""
        read = FieldReader(raw, assume.timezone)
        return cls(
            cm_id=read.text("cm_id"),
            entry_id=read.text("entry_id"),
            regist_date=read.date("regist_date"),
            name=read.text("name"),
            title=read.text("title"),
            cm_text=read.text("cm_text"),
            delete_flg=read.flag("delete_flg"),
            url=read.text("url"),
            url_text=read.text("url_text"),
            res_flg=read.optional_text("res_flg"),
            raw=raw,
            problems=tuple(read.problems),
        )


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One uploaded file (API 2.6). That ``file_size`` counts bytes is an assumption; ``mtime`` keeps its number."""

    file_id: str
    name: str
    title: str | None
    explanation: str | None
    file_size: int | None
    height: int | None
    width: int | None
    user_id: str
    mtime: int | None
    extension: str
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_raw(cls, raw: Raw, assume: Assumptions = DEFAULT) -> FileInfo:
        """Read an element of ``file/list``; never raises."""
        read = FieldReader(raw, assume.timezone)
        return cls(
            file_id=read.text("file_id"),
            name=read.text("name"),
            title=read.optional_text("title"),
            explanation=read.optional_text("explanation"),
            file_size=read.number("file_size"),
            height=read.number("height"),
            width=read.number("width"),
            user_id=read.text("user_id"),
            mtime=read.number("mtime"),
            extension=read.text("extension"),
            raw=raw,
            problems=tuple(read.problems),
        )


@dataclass(frozen=True, slots=True)
class User:
    """The calling user (API 2.7)."""

    id: str
    nickname: str
    raw: Raw = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_raw(cls, raw: Raw, assume: Assumptions = DEFAULT) -> User:
        """Read the answer of the user operation; never raises."""
        read = FieldReader(raw, assume.timezone)
        return cls(
            id=read.text("id"),
            nickname=read.text("nickname"),
            raw=raw,
            problems=tuple(read.problems),
        )
