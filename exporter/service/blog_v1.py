"""The blog service with the API under ``/blog/v1/``; section numbers are those of its document. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from exporter.lossless_json import IntegerText
from exporter.model.assumptions import DEFAULT, Assumptions
from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind, key_of
from exporter.model.records import Raw
from exporter.service.answers import message_text, read_object, refusal
from exporter.service.interface import (
    BlogService,
    Call,
    Capabilities,
    EntryAnswer,
    Page,
    Paginator,
    Validators,
    WrongRecord,
)
from exporter.service.pagination import ChainedPages, CountedPages
from exporter.service.records_v1 import FieldReader, RecordsV1
from exporter.text import printable

_NOT_MODIFIED = 304
_RESULT_SHOWN = 60
_DIGITS = re.compile(r"[+-]?[0-9]{1,18}")
_USER = Request("user", "/v1/user", {}, {})


class BlogV1(RecordsV1, BlogService):
    """The service of the API document, with the ``options`` for what the document leaves open."""

    capabilities = Capabilities()

    def __init__(self, assume: Assumptions = DEFAULT) -> None:
        super().__init__(assume)
        self._assume = assume

    @property
    def options(self) -> dict[str, Any]:
        """What decides how answers are read."""
        return {**asdict(self._assume), "timezone": str(self._assume.timezone)}

    def pages(self, kind: Kind, blog_id: str, _entry_ids: Sequence[str]) -> Paginator:
        """Begin to read a list: entries (4.2, whose page size is unknown: 8), comments (4.3) or files (4.4)."""
        assume, most = self._assume, self._assume.max_pages
        operation, param = {
            Kind.ENTRY_LIST: ("entry/list", "entry_list_page_param"),
            Kind.COMMENTS: ("comment/list", "comment_list_page_param"),
            Kind.FILES: ("file/list", "file_list_page_param"),
        }[kind]
        name = f"{operation.partition('/')[0]} list"

        def call(page: int) -> Call[Page]:
            return self._page(operation, {"id": blog_id, getattr(assume, param): str(page)})

        if kind is Kind.FILES:
            return CountedPages(name, param, call, most, assume.file_page_size)
        return ChainedPages(name, param, call, most, assume.comment_page_size if kind is Kind.COMMENTS else None)

    def _page(self, operation: str, params: Mapping[str, str]) -> Call[Page]:
        request = Request(operation, f"/blog/v1/{operation}", params, {})

        def parse(response: Response) -> Page:
            data = unwrap(request, response, self._assume)
            items = data.get("list")
            if not isinstance(items, list):
                raise refusal(request, response, "the answer's `data.list` is not a list")
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
                next=whole_number(paging.get("next_no")),
                pages=whole_number(paging.get("all_page")),
            )

        return Call(request, parse)

    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Ask for one entry in full (4.1), or whether it changed."""
        conditions = validators.headers if validators is not None else {}
        params = {"id": blog_id, "entry_id": entry_id}
        request = Request("entry/get", "/blog/v1/entry/get", params, conditions)

        def parse(response: Response) -> EntryAnswer:
            if conditions and response.status == _NOT_MODIFIED:
                return EntryAnswer(None, validators or Validators())
            data = unwrap(request, response, self._assume)
            _check_entry(blog_id, entry_id, data)
            return EntryAnswer(data, Validators.of(response))

        return Call(request, parse)

    def user_call(self) -> Call[dict[str, Any]]:
        """Ask for the calling user (4.5)."""
        return Call(_USER, lambda response: unwrap_user(response, self._assume))

    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return the comments that a list item counts (2.3), or the size of a file (2.6)."""
        return FieldReader(raw, self.timezone).number("file_size" if kind is Kind.FILES else "comment_count")


def unwrap(request: Request, response: Response, assume: Assumptions) -> dict[str, Any]:
    """Return the ``data`` object of a blog operation's answer (2.1).

    Raises:
        ServiceError: as :func:`~exporter.service.answers.read_object`.
        ApiError: ``result`` is not the success word, or the shape is wrong.
    """
    envelope = read_object(request, response, _message_in).get("json")
    if not isinstance(envelope, dict):
        raise refusal(request, response, "the answer has no `json` object")
    _check_result(request, response, envelope, assume)
    data = envelope.get("data")
    if not isinstance(data, dict):
        raise refusal(request, response, "the answer's `data` is not an object")
    return data


def unwrap_user(response: Response, assume: Assumptions) -> dict[str, Any]:
    """Return the user object (2.7), which comes without an envelope; an envelope there can only mean a failure.

    Raises:
        ServiceError: as for :func:`unwrap`.
    """
    user = read_object(_USER, response, _message_in)
    envelope = user.get("json")
    if "id" not in user and isinstance(envelope, dict):
        _check_result(_USER, response, envelope, assume)
        raise refusal(_USER, response, "the answer is an envelope where the user object was expected")
    return user


def _check_result(request: Request, response: Response, envelope: Mapping[str, Any], assume: Assumptions) -> None:
    result = envelope.get("result")
    if result == assume.success_result:
        return
    if isinstance(result, dict | list):  # may be nested too deeply to be shown
        shown = "that is no word"
    else:
        shown = printable(repr(result[:_RESULT_SHOWN] if isinstance(result, str) else result), _RESULT_SHOWN)
    message = message_text(envelope.get("message"))
    raise refusal(request, response, f"result {shown}" + (f", {message}" if message else ""))


def _message_in(value: Any) -> object:
    return _object(_object(value).get("json")).get("message")


def _check_entry(blog_id: str, asked: str, data: Mapping[str, Any]) -> None:
    answered, blog = key_of(data.get("entry_id")), data.get("blog_id")
    if answered != asked:
        what = "has no usable entry_id" if answered is None else f"is entry {answered[:40]!r}"
        raise WrongRecord("entry/get", {"entry_id": asked}, 200, f"the answer {what}")
    if isinstance(blog, str) and blog and blog.casefold() != blog_id.casefold():
        raise WrongRecord("entry/get", {"entry_id": asked}, 200, f"the answer is of blog {blog[:80]!r}")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def whole_number(value: Any) -> int | None:
    """Return a number sent as a number or as its digits; ``None`` for anything else, and for absurdly many digits."""
    if isinstance(value, bool | IntegerText):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        return int(value)
    return None
