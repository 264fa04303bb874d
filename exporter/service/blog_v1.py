"""The blog service with the API under ``/blog/v1/``: its requests, responses, settings and profiles. Pure.

Section numbers are those of the service's API document. Reading a record raises nothing for any JSON object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, ClassVar, Final, NamedTuple, Self

from exporter.lossless_json import IntegerText
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind, key_of
from exporter.model.publication import Cause, Declared, Hidden, PostStatus, Verdict
from exporter.model.records import Comment, Post, Problem, Raw, Upload, User
from exporter.service.answers import message_text, read_object, refusal
from exporter.service.declarations import BLOG_V1
from exporter.service.interface import (
    BlogService,
    Call,
    Capabilities,
    EntryAnswer,
    Page,
    Paginator,
    Refused,
    Role,
    Validators,
    Values,
    WrongRecord,
)
from exporter.service.pagination import ChainedPages, CountedPages
from exporter.setting_types import zone
from exporter.text import printable

_DATE_TIME = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_PERSONAL: Final = re.compile(
    r"(?:\b|_)(?:ip|e?_?mail|remote|host|addr(?:ess)?|pass(?:word|wd|phrase)?|pw|tel|phone|ua|agent|token|secret|key)"
    r"(?:\b|_)",
    re.IGNORECASE,
)
_VALUE_CHARACTERS = 60
_EARLIEST_YEAR = 1000
"""API 2.2: a year has four digits. The day of a shorter year is unknown."""
_NOT_MODIFIED = 304
_RESULT_CHARACTERS = 60
_DIGITS = re.compile(r"[+-]?[0-9]{1,18}")
_USER = Request("user", "/v1/user", {}, {})
"""The service is Japanese and shows Japan time."""
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
_DATE_PARTS: Final = ("year", "mon", "day", "hour", "min", "sec")
_PERIOD_PARTS: Final = tuple(f"period_{part}" for part in _DATE_PARTS)
_ROLES: Final[Mapping[Kind, Mapping[str, Role]]] = {
    Kind.ENTRIES: {
        **dict.fromkeys(("blog_id", "entry_id", "regist_user_id"), Role.ID),
        **dict.fromkeys(("title", "name"), Role.TEXT), "category_id": Role.ID,
        **dict.fromkeys((_PERIOD, _OPEN), Role.CODE),
        **dict.fromkeys(("entry_text", "ps_title", "ps_text"), Role.TEXT),
        **dict.fromkeys(("text_format", "cm_receipt_flg", "tb_receipt_flg"), Role.CODE),
        **dict.fromkeys((*_DATE_PARTS, *_PERIOD_PARTS), Role.DATE_PART), "last_update": Role.DATE,
        "template_text": Role.TEXT, _PRIVATE: Role.CODE,
    },
    Kind.ENTRY_LIST: {
        "regist_date": Role.DATE, "entry_id": Role.ID, "title": Role.TEXT, "name": Role.TEXT, _OPEN: Role.CODE,
        _PERIOD: Role.CODE, "period_date": Role.DATE, "cm_receipt_flg": Role.CODE, "tb_receipt_flg": Role.CODE,
        "category": Role.TEXT, "comment_count": Role.COUNT, "trackback_count": Role.COUNT,
    },
    Kind.COMMENTS: {
        "regist_date": Role.DATE, "cm_id": Role.ID, "entry_id": Role.ID, "name": Role.TEXT, "title": Role.TEXT,
        "cm_text": Role.TEXT, _DELETED: Role.CODE, "url": Role.TEXT, "url_text": Role.ADDRESS, "res_flg": Role.DATE,
    },
    Kind.FILES: {
        "file_id": Role.ID, "name": Role.TEXT, "title": Role.TEXT, "explanation": Role.TEXT, "file_size": Role.COUNT,
        "height": Role.COUNT, "width": Role.COUNT, "user_id": Role.ID, "mtime": Role.DATE, "extension": Role.CODE,
    },
    Kind.USER: {"id": Role.ID, "nickname": Role.TEXT},
}  # fmt: skip
"""API 2.2 to 2.7."""


class Options(NamedTuple):
    """The settings for reading responses: each is an assumption about a fact that the API document does not state.

    Attributes:
        success_result: other values of ``result`` are not shown (2.8); all of them count as failure.
        entry_list_page_param: not shown (4.2); the two other lists use ``page``.
        comment_list_page_param: sent for page 1 too, since the default is not shown (4.3).
        file_list_page_param: 4.4.
        comment_page_size: of 8; it only matters for a page without a paging object.
        file_page_size: at most 20 (4.4 and 8); a page's own ``limit`` takes precedence.
        max_pages: no limit is shown (8); a list that claims more pages is not believed.
        timezone: dates carry no offset (2.2 to 2.5).
    """

    success_result: str = BLOG_V1.default_of("success_result")
    entry_list_page_param: str = BLOG_V1.default_of("entry_list_page_param")
    comment_list_page_param: str = BLOG_V1.default_of("comment_list_page_param")
    file_list_page_param: str = BLOG_V1.default_of("file_list_page_param")
    comment_page_size: int = BLOG_V1.default_of("comment_page_size")
    file_page_size: int = BLOG_V1.default_of("file_page_size")
    max_pages: int = BLOG_V1.default_of("max_pages")
    timezone: tzinfo = zone(BLOG_V1.defaults["timezone"])


DEFAULT: Final = Options()


class BlogV1(BlogService):
    """The documented service, with ``options`` for everything that the document does not state."""

    capabilities = Capabilities(pages_in_body=True)
    name = BLOG_V1.name
    flag_settings = BLOG_V1.flags
    flag_hint = message(
        "Look at the samples on the blog itself: say which open_flg is public with --public-open-flg, whether entries "
        "with period_flg t are too with --period-flg-public, and which delete_flg is shown with --visible-delete-flg."
    )
    key_fields = _KEYS
    post_flags = (_OPEN, _PRIVATE, _PERIOD)
    comment_flags = (_DELETED,)
    access_flag = _OPEN
    period_flag = _PERIOD
    deleted_flag = _DELETED
    bodies: ClassVar = {
        Kind.ENTRIES: ("entry_text", "ps_text"),
        Kind.COMMENTS: ("cm_text",),
    }
    attributes: ClassVar = {
        Kind.ENTRIES: {
            "title": "title", "name": "slug", "entry_text": "body", "ps_title": "more_title", "ps_text": "more",
            "template_text": "template", "last_update": "updated", "category_id": "category_id", _PRIVATE: "private",
            _OPEN: "access", "cm_receipt_flg": "comments_open", "tb_receipt_flg": "pings_open",
            **dict.fromkeys(_DATE_PARTS, "date"),
            **dict.fromkeys(_PERIOD_PARTS, "period_date"),
        },
        Kind.COMMENTS: {
            "regist_date": "date", "name": "name", "title": "title", "cm_text": "text", "url": "url", "url_text": "url",
            _DELETED: "deleted", "res_flg": "reply",
        },
        Kind.FILES: {
            "name": "name", "title": "title", "explanation": "description", "file_size": "bytes", "width": "width",
            "height": "height", "mtime": "modified", "extension": "extension",
        },
    }  # fmt: skip
    roles = _ROLES
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
    upload_fields = tuple(_ROLES[Kind.FILES])
    likely_in_addresses = ("file_id", "mtime", "user_id", "name", "extension")
    unlikely_in_addresses = frozenset({"file_size", "height", "width", "explanation"})
    extension_field = "extension"

    def __init__(self, options: Options = DEFAULT, renamed_to: str | None = None) -> None:
        self._options = options
        self._renamed_to = renamed_to
        self.timezone = options.timezone

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Return the service with the user's settings."""
        return cls(Options(**{name: settings.get(name) for name in Options._fields}))

    @property
    def options(self) -> dict[str, Any]:
        """The options that change the reading of responses, as JSON."""
        return {**self._options._asdict(), "timezone": str(self._options.timezone), "renamed_to": self._renamed_to}

    def renamed(self, blog_id: str) -> Self:
        """Return the service that names a blog by this ID in place of its first one."""
        return type(self)(self._options, blog_id)

    def pages(self, kind: Kind, blog_id: str, _entry_ids: Sequence[str]) -> Paginator:
        """Return a paginator for entries (4.2, their page size is unknown: 8), comments (4.3) or files (4.4)."""
        options, most = self._options, self._options.max_pages
        asked = self._renamed_to or blog_id
        name, operation, param = {
            Kind.ENTRY_LIST: (message("entry list"), "entry/list", "entry_list_page_param"),
            Kind.COMMENTS: (message("comment list"), "comment/list", "comment_list_page_param"),
            Kind.FILES: (message("file list"), "file/list", "file_list_page_param"),
        }[kind]

        def call(page: int) -> Call[Page]:
            return self._page(operation, {"id": asked, getattr(options, param): str(page)})

        if kind is Kind.FILES:
            return CountedPages(name, param, call, most, options.file_page_size)
        return ChainedPages(name, param, call, most, options.comment_page_size if kind is Kind.COMMENTS else 0)

    def _page(self, operation: str, params: Mapping[str, str]) -> Call[Page]:
        request = Request(operation, f"/blog/v1/{operation}", params, {})

        def parse(response: Response) -> Page:
            data = unwrap(request, response, self._options)
            items = data.get("list")
            if not isinstance(items, list):
                raise refusal(request, response, message("the answer's `data.list` is not a list"))
            paging, summary = _object(data.get("paging")), _object(data.get("summary"))
            if operation == "file/list":
                return Page(
                    items,
                    echo=whole_number(data.get("page")),
                    page_size=whole_number(data.get("limit")),
                    total=whole_number(summary.get("filenum")),
                    total_size=whole_number(summary.get("totalsize")),
                )
            return Page(
                items,
                echo=whole_number(paging.get("page_no")),
                next=whole_number(paging.get("next_no")) or None,  # no page has the number 0
                pages=whole_number(paging.get("all_page")),
            )

        return Call(request, parse)

    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Return the request for a full entry (4.1), conditional if there are validators."""
        conditions = validators.headers if validators is not None else {}
        asked = self._renamed_to or blog_id
        params = {"id": asked, "entry_id": entry_id}
        request = Request("entry/get", "/blog/v1/entry/get", params, conditions)

        def parse(response: Response) -> EntryAnswer:
            if conditions and response.status == _NOT_MODIFIED:
                return EntryAnswer(None, validators or Validators())
            data = unwrap(request, response, self._options)
            _check_entry({asked.casefold(), blog_id.casefold()}, entry_id, data)
            return EntryAnswer(data, Validators.of(response))

        return Call(request, parse)

    def user_call(self) -> Call[dict[str, Any]]:
        """Return the request for the calling user (4.5)."""
        return Call(_USER, lambda response: unwrap_user(response, self._options))

    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return the number of comments in a list item (2.3), or the size of a file (2.6)."""
        return FieldReader(raw, self.timezone).number("file_size" if kind is Kind.FILES else "comment_count")

    def may_be_uncounted(self, raw: Raw) -> bool:
        """Return whether a comment is flagged (2.5). It is not shown whether ``comment_count`` includes it."""
        return raw.get(_DELETED) in {FLAG_TRUE, True} if isinstance(raw.get(_DELETED), str | bool) else False

    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return a raw object's id, or ``None``."""
        return key_of(raw.get(_KEYS[kind])) if isinstance(raw, dict) else None

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return a record's title or name, or an empty text."""
        values = (raw.get(name) for name in _TITLES.get(kind, ()))
        return next((str(value) for value in values if isinstance(value, str) and value.strip()), "")

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Join an entry (2.2) with its list item (2.3); either may be missing."""
        listed = None if item is None else self._listed(item)
        if raw is None:
            return listed or self._listed({})
        read = FieldReader(raw, self.timezone)
        post_id, blog_id = read.text("entry_id"), read.text("blog_id")
        read.text("regist_user_id")
        title, slug, category_id = read.text("title"), read.text("name"), read.text("category_id")
        period, access = read.flag(_PERIOD), read.text(_OPEN)
        body, more_title, more = read.text("entry_text"), read.text("ps_title"), read.text("ps_text")
        text_format = read.text("text_format")
        comments_open, pings_open = read.flag("cm_receipt_flg"), read.flag("tb_receipt_flg")
        date, period_date = read.date_from_parts(), read.date_from_parts("period_")
        updated, template = read.date("last_update"), read.text("template_text")
        private = read.flag(_PRIVATE)
        return Post(
            id=post_id, blog_id=blog_id, title=title, slug=slug, body=body, more_title=more_title, more=more,
            template=template, date=date, updated=updated, period_date=period_date,
            listed_on=None if listed is None else listed.listed_on,
            category=None if listed is None else listed.category,
            category_id=category_id, private=private, access=access, comments_open=comments_open, pings_open=pings_open,
            facts={
                "category_id": category_id, "name": slug, _OPEN: access, _PERIOD: period, _PRIVATE: private,
                "text_format": text_format, "cm_receipt_flg": comments_open, "tb_receipt_flg": pings_open,
            },
            raw=raw, item=item, problems=(*read.problems, *(() if listed is None else listed.problems)),
        )  # fmt: skip

    def texts(self, raw: Raw) -> tuple[str, str]:
        """Return both parts of an entry's text without reading its other fields."""
        read = FieldReader(raw, self.timezone)
        return read.text("entry_text"), read.text("ps_text")

    def lacks_text(self, raw: Raw) -> bool:
        """Return whether an entry has no ``entry_text`` (2.2)."""
        return raw.get("entry_text") is None

    def _listed(self, raw: Raw) -> Post:
        """Read a list item as an entry without a text."""
        read = FieldReader(raw, self.timezone)
        post_id, day = read.text("entry_id"), read.date("regist_date")
        title, slug = read.text("title"), read.text("name")
        access, _, period_date = read.text(_OPEN), read.flag(_PERIOD), read.date("period_date")
        comments_open, pings_open = read.flag("cm_receipt_flg"), read.flag("tb_receipt_flg")
        category = read.text("category")
        read.number("comment_count")
        read.number("trackback_count")
        return Post(
            id=post_id, title=title, slug=slug, period_date=period_date, listed_on=day, category=category,
            access=access, comments_open=comments_open, pings_open=pings_open, item=raw, problems=tuple(read.problems),
        )  # fmt: skip

    def comment(self, raw: Raw) -> Comment:
        """Read a comment (2.5). Its ``url`` is the service's ``url_text``, never the HTML in ``url``."""
        read = FieldReader(raw, self.timezone)
        comment_id, post_id, date = read.text("cm_id"), read.text("entry_id"), read.date("regist_date")
        name, title, text = read.text("name"), read.text("title"), read.text("cm_text")
        deleted = read.flag(_DELETED)
        read.text("url")
        return Comment(
            id=comment_id, post_id=post_id, date=date, has_time=":" in str(raw.get("regist_date")), name=name,
            title=title, text=text, url=read.text("url_text"), deleted=deleted,
            facts={_DELETED: FLAG_TRUE} if deleted else {}, reply=read.optional_text("res_flg"), raw=raw,
            problems=tuple(read.problems),
        )  # fmt: skip

    def post_id(self, raw: Raw) -> str:
        """Return the id of a raw comment's entry, or an empty text."""
        return key_of(raw.get("entry_id")) or ""

    def category_id(self, raw: Raw) -> str | None:
        """Return the id of a raw entry's category."""
        return key_of(raw.get("category_id"))

    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file (2.6). The unit of ``file_size`` is assumed to be bytes."""
        read = FieldReader(raw, self.timezone)
        return Upload(
            id=read.text("file_id"),
            name=read.text("name"),
            title=read.optional_text("title"),
            description=read.optional_text("explanation"),
            bytes=read.number("file_size"),
            height=read.number("height"),
            width=read.number("width"),
            modified=read.number("mtime"),
            extension=read.text("extension"),
            raw=raw,
            problems=tuple(read.problems),
        )

    def user(self, raw: Raw) -> User:
        """Read the calling user (2.7)."""
        read = FieldReader(raw, self.timezone)
        return User(read.text("id"), read.text("nickname"), raw, tuple(read.problems))

    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Return the status of an entry. If the entry and its list item disagree, the more hidden one counts.

        The meanings of ``open_flg`` and ``period_flg`` are not documented (2.2, 2.8). So nothing counts as public
        until the blog's owner declares which values are.

        Args:
            post: the entry; an entry that is only in the list is private.
            declared: the owner's declaration.
            as_of: the time of the backup: an entry with a later date was not public yet.
        """
        raws = [post.raw] if post.item is None else [post.raw, post.item]
        for number, raw in enumerate(raws):
            # List items have no such flag (2.3), but if one is sent it counts like the flag of the entry.
            if (number == 0 or _PRIVATE in raw) and self._flag(raw, _PRIVATE) is not False:
                return Verdict(PostStatus.PRIVATE, Cause(Hidden.FLAG, _PRIVATE, _shown_value(raw.get(_PRIVATE))))
        if declared.all_as_draft:
            return Verdict(PostStatus.DRAFT, Cause(Hidden.ALL_DRAFTS))
        for raw in raws:
            if FieldReader(raw, self.timezone).text(_OPEN) not in (declared.public_access or ()):
                return Verdict(PostStatus.DRAFT, Cause(Hidden.UNDECLARED, _OPEN, _shown_value(raw.get(_OPEN))))
        for raw in raws:
            period = self._flag(raw, _PERIOD)
            if period is not False and not (declared.period_public and period):
                return Verdict(PostStatus.DRAFT, Cause(Hidden.UNDECLARED, _PERIOD, _shown_value(raw.get(_PERIOD))))
        if post.date is None:
            return Verdict(PostStatus.DRAFT, Cause(Hidden.NO_DATE))
        if as_of is not None and post.date > as_of:
            return Verdict(PostStatus.DRAFT, Cause(Hidden.LATER))
        return Verdict(PostStatus.PUBLISH)

    def is_visible(self, comment: Comment, declared: Declared) -> bool:
        """Return whether a comment is public. A comment without a readable flag never is (2.5)."""
        if comment.deleted is None:
            return False
        return (FLAG_TRUE if comment.deleted else FLAG_FALSE) in (declared.visible_comment_flags or ())

    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a comment is not public."""
        return Cause(Hidden.COMMENT, _DELETED, f"{comment.raw.get(_DELETED)!r:.20}")

    def has_private_parts(self, kind: Kind, raw: Raw) -> bool:
        """Return whether a record has a field, beyond those of the API document, that looks like personal data."""
        known = _ROLES[kind]
        return any(value and name not in known and _PERSONAL.search(name) for name, value in raw.items())

    def _flag(self, raw: Raw, name: str) -> bool | None:
        return FieldReader(raw, self.timezone).flag(name)


def unwrap(request: Request, response: Response, options: Options) -> dict[str, Any]:
    """Return the ``data`` object of a blog operation's response (2.1).

    Raises:
        ServiceError: as :func:`~exporter.service.answers.read_object`.
        ApiError: ``result`` does not mean success, or the structure is wrong.
    """
    envelope = read_object(request, response, _message_in).get("json")
    if not isinstance(envelope, dict):
        raise refusal(request, response, message("the answer has no `json` object"))
    _check_result(request, response, envelope, options)
    data = envelope.get("data")
    if not isinstance(data, dict):
        raise refusal(request, response, message("the answer's `data` is not an object"))
    return data


def unwrap_user(response: Response, options: Options) -> dict[str, Any]:
    """Return the user object (2.7), which has no envelope. An envelope can only mean a failure.

    Raises:
        ServiceError: as for :func:`unwrap`.
    """
    user = read_object(_USER, response, _message_in)
    envelope = user.get("json")
    if "id" not in user and isinstance(envelope, dict):
        _check_result(_USER, response, envelope, options)
        raise refusal(_USER, response, message("the answer is an envelope where the user object was expected"))
    return user


def _check_result(request: Request, response: Response, envelope: Mapping[str, Any], options: Options) -> None:
    result = envelope.get("result")
    if result == options.success_result:
        return
    if isinstance(result, dict | list):  # may be nested too deeply to be shown
        shown: str = message("that is no word")
    else:
        shown = printable(repr(result[:_RESULT_CHARACTERS] if isinstance(result, str) else result), _RESULT_CHARACTERS)
    reason = message_text(envelope.get("message"))
    text = message("result {result}", result=shown)
    if reason:
        text = message("result {result}, {reason}", result=shown, reason=reason)
    error = refusal(request, response, text)
    if not isinstance(result, str) or not result:
        raise error
    raise Refused(error.operation, error.params, error.status, error.message, error.body)


def _message_in(value: Any) -> object:
    return _object(_object(value).get("json")).get("message")


def _check_entry(blog_ids: set[str], asked: str, data: Mapping[str, Any]) -> None:
    answered, blog = key_of(data.get("entry_id")), data.get("blog_id")
    if answered != asked:
        what = (
            message("has no usable entry_id")
            if answered is None
            else message("is entry {answered!r}", answered=answered[:40])
        )
        raise WrongRecord("entry/get", {"entry_id": asked}, 200, message("the answer {what}", what=what))
    if isinstance(blog, str) and blog and blog.casefold() not in blog_ids:
        raise WrongRecord(
            "entry/get", {"entry_id": asked}, 200, message("the answer is of blog {blog!r}", blog=blog[:80])
        )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def whole_number(value: Any) -> int | None:
    """Return a whole number that was sent as a number or as text; ``None`` for other values and for over 18 digits."""
    if isinstance(value, bool | IntegerText):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        return int(value)
    return None


@dataclass(slots=True)
class FieldReader:
    """Reads the fields of a raw record and collects the problems."""

    raw: Mapping[str, Any]
    timezone: tzinfo
    problems: list[Problem] = field(default_factory=list)

    def text(self, name: str) -> str:
        """Return the field as text. A missing or null field is empty; numbers keep their digits."""
        value = self.raw.get(name)
        if isinstance(value, str):
            return str(value)
        if value is None:
            if name not in self.raw:
                self._problem(name, "", message("is missing"))
            return ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._problem(name, value, message("is not text"))
        return ""

    def optional_text(self, name: str) -> str | None:
        """Return the field as text, or ``None`` if it is null or missing."""
        return None if self.raw.get(name) is None else self.text(name)

    def number(self, name: str) -> int | None:
        """Return a whole number that was sent as text or as a number; ``None`` if it is empty or invalid."""
        value = self.raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if value is None or value == "":
            return None
        if isinstance(value, str) and not isinstance(value, IntegerText) and _INTEGER.fullmatch(value.strip()):
            return int(value)
        self._problem(name, value, message("is not a whole number"))
        return None

    def flag(self, name: str) -> bool | None:
        """Return a ``t``/``f`` flag (section 3) as a bool, or ``None`` for any other value."""
        value = self.raw.get(name)
        if isinstance(value, bool):
            return value
        if value == FLAG_TRUE:
            return True
        if value == FLAG_FALSE:
            return False
        if value is not None and value != "":
            self._problem(name, value, message("is neither t nor f"))
        return None

    def date(self, name: str) -> datetime | None:
        """Return ``YYYY-MM-DD hh:mm:ss`` or ``YYYY/MM/DD`` in the blog's time zone, or ``None`` if it is invalid."""
        value = self.raw.get(name)
        if value is None or value == "":
            return None
        found = _DATE_TIME.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            self._problem(name, value, message("is not a date"))
            return None
        return self._date(name, list(map(int, found.groups("0"))))

    def date_from_parts(self, prefix: str = "") -> datetime | None:
        """Return the date in the fields ``year`` … ``sec`` (with ``prefix``), or ``None`` if it is empty or invalid."""
        names = [prefix + part for part in _DATE_PARTS]
        values = list(map(self.raw.get, names))
        parts: list[int] = []
        for name, value in zip(names, values, strict=True):
            if type(value) is str and len(value) < 5 and value.isdecimal() and value.isascii():
                parts.append(int(value))  # as nearly all are
                continue
            text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
            if not _INTEGER.fullmatch(text.strip()):
                if not all(each is None or each == "" for each in values):
                    self._problem(name, value, message("is not a part of a date"))
                return None
            parts.append(int(text))
        return self._date(f"{names[0]}…{names[-1]}", parts)

    def _date(self, name: str, parts: list[int]) -> datetime | None:
        try:
            if parts[0] >= _EARLIEST_YEAR:
                year, month, day, hour, minute, second = parts
                return datetime(year, month, day, hour, minute, second, tzinfo=self.timezone)
        except (ValueError, OverflowError):
            pass
        self._problem(name, "-".join(str(part) for part in parts), message("is an impossible date"))
        return None

    def _problem(self, field: str, value: object, reason: str) -> None:
        self.problems.append(Problem(field, _shown(value)[:_VALUE_CHARACTERS], reason))


def _shown(value: object) -> str:
    """Return a short text for a value. A container may be nested too deeply to be shown."""
    if isinstance(value, dict):
        return message("an object of {count:,}", count=len(value))
    if isinstance(value, list):
        return message("a list of {count:,}", count=len(value))
    return str(value)


def _shown_value(value: object) -> str:
    return repr(value)[:40] if isinstance(value, str | bool | int | None) else message("no text")
