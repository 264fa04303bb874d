"""From an answer to the object it carries: everything that is not a success becomes an error here. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn, TypeVar

from exporter import lossless_json
from exporter.errors import ApiError, BadBody, BodyTooLarge, HtmlBody, NotAuthorised
from exporter.http.engine import Client
from exporter.http.memory_budget import MemoryBudget
from exporter.http.transport import Statistics
from exporter.lossless_json import IntegerText, NotJson, TooHeavy, loads
from exporter.model.assumptions import DEFAULT, Assumptions
from exporter.model.exchange import Request, Response
from exporter.service.pagination import PageFacts
from exporter.text import printable

_MESSAGE_SHOWN = 300
_BODY_SHOWN = 500
_RESULT_SHOWN = 60
_BLANK = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*")
_HTML_TYPES = ("text/html", "application/xhtml")


def unwrap(operation: str, params: Mapping[str, str], response: Response, assume: Assumptions) -> dict[str, Any]:
    """Return the ``data`` object of a blog operation's answer (API 2.1).

    Raises:
        NotAuthorised: status 401 or 403.
        BadBody: empty, HTML, or not JSON.
        BodyTooLarge: JSON that would take too much memory.
        ApiError: any other status than 200, ``result`` is not the success word, or the shape is wrong.
    """
    envelope = _parse(operation, params, response).get("json")
    if not isinstance(envelope, dict):
        _fail(operation, params, response, "the answer has no `json` object")
    _check_result(operation, params, response, envelope, assume)
    data = envelope.get("data")
    if not isinstance(data, dict):
        _fail(operation, params, response, "the answer's `data` is not an object")
    return data


def unwrap_user(operation: str, params: Mapping[str, str], response: Response, assume: Assumptions) -> dict[str, Any]:
    """Return the user object (API 2.7), which comes without an envelope; an envelope there can only tell a failure.

    Raises:
        NotAuthorised, BadBody, BodyTooLarge, ApiError: as for :func:`unwrap`.
    """
    user = _parse(operation, params, response)
    envelope = user.get("json")
    if "id" not in user and isinstance(envelope, dict):
        _check_result(operation, params, response, envelope, assume)
        _fail(operation, params, response, "the answer is an envelope where the user object was expected")
    return user


def _parse(operation: str, params: Mapping[str, str], response: Response) -> dict[str, Any]:
    if response.status != 200:
        _fail_by_status(operation, params, response)
    body = response.body
    blank = _BLANK.match(body)
    begin = blank.end() if blank is not None else 0
    if begin == len(body):
        raise BadBody(f"{operation} answered 200 with an empty body")
    if body.startswith(b"<", begin):
        raise HtmlBody(f"{operation} answered with a page of HTML: is the base URL right?")
    try:
        value = loads(body[begin:], response.objects)
    except TooHeavy as error:
        raise BodyTooLarge(f"{operation} sent too much: {error}, which is refused (the setting max_body)") from None
    except NotJson as error:
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith(_HTML_TYPES):
            raise HtmlBody(f"{operation} answered with something called HTML: is the base URL right?") from None
        raise BadBody(
            f"{operation} answered with a body that is not JSON ({printable(str(error), _MESSAGE_SHOWN)})"
        ) from None
    if not isinstance(value, dict):
        _fail(operation, params, response, "the answer is not an object")
    return value


def _check_result(
    operation: str, params: Mapping[str, str], response: Response, envelope: Mapping[str, Any], assume: Assumptions
) -> None:
    result = envelope.get("result")
    if result != assume.success_result:
        message = _text(envelope.get("message"))
        _fail(operation, params, response, f"result {_shown(result)}" + (f", {message}" if message else ""))


def _shown(result: Any) -> str:
    """Show what stands where the success word should; a container may be deep, and a text long."""
    if isinstance(result, dict | list):
        return "that is no word"
    return printable(repr(result[:_RESULT_SHOWN] if isinstance(result, str) else result), _RESULT_SHOWN)


def _fail_by_status(operation: str, params: Mapping[str, str], response: Response) -> NoReturn:
    status = response.status
    if status in {401, 403}:
        raise NotAuthorised(
            f"{operation} answered {status}, not authorised: set BLOG_EXPORTER_TOKEN to a token that may read this blog"
        )
    _fail(operation, params, response, _message_of(response.body) or "not a success")


def _message_of(body: bytes) -> str:
    """Return what an answer that is no success says for itself, if it is an envelope."""
    try:
        value = loads(body)
    except NotJson:
        return ""
    envelope = value.get("json") if isinstance(value, dict) else None
    return _text(envelope.get("message")) if isinstance(envelope, dict) else ""


def _text(message: Any) -> str:
    return printable(message, _MESSAGE_SHOWN) if isinstance(message, str) else ""


def wrong_shape(operation: str, params: Mapping[str, str], response: Response, message: str) -> ApiError:
    """Return the error for an answer that is not what the document promises, its texts fit for a terminal."""
    body = printable(response.body[: 4 * _BODY_SHOWN].decode("utf-8", errors="replace"), _BODY_SHOWN)
    shown = {name: printable(value, 100) for name, value in params.items()}
    return ApiError(operation, shown, response.status, message, body)


def _fail(operation: str, params: Mapping[str, str], response: Response, message: str) -> NoReturn:
    raise wrong_shape(operation, params, response, message)


_NOT_MODIFIED = 304
_DIGITS = re.compile(r"[+-]?[0-9]{1,18}")
Page = TypeVar("Page", "ListPage", "FilePage")

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Validators:
    """What a later request can ask with whether a record changed: the ``ETag`` and ``Last-Modified`` of an answer."""

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, response: Response) -> Validators:
        """Read them from an answer; what cannot be sent back unharmed is left out."""
        return cls(_sendable(response.headers.get("etag")), _sendable(response.headers.get("last-modified")))

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a conditional request; none when there is nothing to compare with."""
        pairs = (("If-None-Match", _sendable(self.etag)), ("If-Modified-Since", _sendable(self.last_modified)))
        return {name: value for name, value in pairs if value}


class EntryAnswer(NamedTuple):
    """An entry as sent, or ``data`` ``None`` when it is unchanged since the validators given."""

    data: dict[str, Any] | None
    validators: Validators


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the entry or the comment list; ``items`` are as parsed, the numbers ``None`` where none were sent.

    ``body`` is the SHA-256 of the whole answer, ``weight`` about the bytes of memory that the page takes.
    """

    items: list[Any]
    page_no: int | None
    next_no: int | None
    all_page: int | None
    has_paging: bool
    body: bytes = field(default=b"", compare=False)
    weight: int = field(default=0, compare=False)

    def facts(self, page: int, new: int, digest: bytes | str) -> PageFacts:
        """Return what a walk needs to know; ``new`` counts the ids not seen before in the walk."""
        return PageFacts(page, self.page_no, self.next_no, self.all_page, len(self.items), new, digest)


@dataclass(frozen=True, slots=True)
class FilePage:
    """A page of the file list; ``filenum`` and ``totalsize`` are the summary's, over all pages.

    ``body`` is the SHA-256 of the whole answer, ``weight`` about the bytes of memory that the page takes.
    """

    items: list[Any]
    page: int | None
    limit: int | None
    filenum: int | None
    totalsize: int | None
    body: bytes = field(default=b"", compare=False)
    weight: int = field(default=0, compare=False)

    def facts(self, page: int, new: int, digest: bytes | str) -> PageFacts:
        """Return what a walk needs to know; ``new`` counts the ids not seen before in the walk."""
        numbers = self.limit, self.filenum, self.totalsize
        return PageFacts(page, self.page, None, None, len(self.items), new, digest, *numbers)


class BlogApi:
    """One blog of the service. Every call raises the errors of :meth:`exporter.http.engine.Client.fetch`.

    The lists return ``None`` for a page whose whole answer has the SHA-256 ``known``: there is nothing new in it.

    Attributes:
        client: what sends the requests.
    """

    def __init__(self, client: Client, blog_id: str, assume: Assumptions = DEFAULT) -> None:
        self.client = client
        self.blog_id = blog_id
        self._assume = assume

    @property
    def budget(self) -> MemoryBudget:
        """What answers take together, also pages that wait for their turn."""
        return self.client.budget

    @property
    def statistics(self) -> Statistics:
        """What was sent and received so far."""
        return self.client.statistics

    async def get_entry(self, entry_id: str, validators: Validators | None = None) -> EntryAnswer:
        """Read one entry in full (API 4.1), or learn that it is unchanged."""
        params = {"id": self.blog_id, "entry_id": entry_id}
        conditions = validators.headers if validators is not None else {}

        def read(response: Response) -> EntryAnswer:
            if conditions and response.status == _NOT_MODIFIED:
                return EntryAnswer(None, validators or Validators())
            return EntryAnswer(unwrap("entry/get", params, response, self._assume), Validators.of(response))

        return await self.client.fetch(Request("entry/get", "/blog/v1/entry/get", params, conditions), read)

    async def list_entries(self, page: int, known: bytes | None = None) -> ListPage | None:
        """Read a page of the entry list (API 4.2), counted from 1."""
        return await self._chained("entry/list", self._assume.entry_list_page_param, page, known)

    async def list_comments(self, page: int, known: bytes | None = None) -> ListPage | None:
        """Read a page of the comment list (API 4.3), counted from 1."""
        return await self._chained("comment/list", self._assume.comment_list_page_param, page, known)

    async def list_files(self, page: int, known: bytes | None = None) -> FilePage | None:
        """Read a page of the file list (API 4.4), counted from 1."""

        def build(data: dict[str, Any], items: list[Any]) -> FilePage:
            summary = data.get("summary")
            totals = summary if isinstance(summary, dict) else {}
            return FilePage(
                items,
                whole_number(data.get("page")),
                whole_number(data.get("limit")),
                whole_number(totals.get("filenum")),
                whole_number(totals.get("totalsize")),
            )

        return await self._list("file/list", self._assume.file_list_page_param, page, known, build)

    async def get_user(self) -> dict[str, Any]:
        """Read the calling user (API 4.5)."""

        def read(response: Response) -> dict[str, Any]:
            return unwrap_user("user", _NOTHING, response, self._assume)

        return await self.client.fetch(Request("user", "/v1/user", _NOTHING, _NOTHING), read)

    async def _chained(self, operation: str, page_param: str, page: int, known: bytes | None) -> ListPage | None:
        def build(data: dict[str, Any], items: list[Any]) -> ListPage:
            paging = data.get("paging")
            numbers = paging if isinstance(paging, dict) else {}
            return ListPage(
                items,
                whole_number(numbers.get("page_no")),
                whole_number(numbers.get("next_no")),
                whole_number(numbers.get("all_page")),
                isinstance(paging, dict),
            )

        return await self._list(operation, page_param, page, known, build)

    async def _list(
        self,
        operation: str,
        page_param: str,
        page: int,
        known: bytes | None,
        build: Callable[[dict[str, Any], list[Any]], Page],
    ) -> Page | None:
        params = {"id": self.blog_id, page_param: str(page)}
        request = Request(operation, f"/blog/v1/{operation}", params, _NOTHING)

        def read(response: Response) -> Page | None:
            body = hashlib.sha256(response.body).digest()
            if body == known:
                return None
            data = unwrap(operation, params, response, self._assume)
            items = data.get("list")
            if not isinstance(items, list):
                raise wrong_shape(operation, params, response, "the answer's `data.list` is not a list")
            return replace(build(data, items), body=body, weight=lossless_json.weight(response.body))

        # A list that was just read is what tells best, later, whether the service still lives.
        return await self.client.fetch(request, read, probe=True)


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


def _sendable(value: str | None) -> str | None:
    return value if value and value.isascii() and value.isprintable() else None
