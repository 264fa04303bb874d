"""The service's records as frozen dataclasses, beside the raw object each was read from.

Field names are the service's (API sections 2.2 to 2.7), so a reader of one knows the other. Numbers, flags and dates
are parsed; a value that cannot be is ``None`` and named in ``problems``. Nothing here raises on any JSON object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from exporter.model.assumptions import DEFAULT, Assumptions
from exporter.model.fields import FieldReader, Problem

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
