"""The five operations of the service (API section 4), each one call."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from exporter import codec
from exporter.api.auth import Credentials
from exporter.api.budget import Budget
from exporter.api.envelope import unwrap, unwrap_user, wrong_shape
from exporter.api.response import Response
from exporter.api.retry import Request, RetryEvent, Retrying, RetryPolicy, Statistics
from exporter.api.throttle import Throttle
from exporter.api.transport import HttpTransport, TransportOptions
from exporter.api.walk import PageFacts
from exporter.clock import Clock, SystemClock
from exporter.jsontext import IntegerText
from exporter.model.assumptions import DEFAULT, Assumptions

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
    """One blog of the service. Every call raises the errors of :meth:`exporter.api.retry.Retrying.call`.

    The lists return ``None`` for a page whose whole answer has the SHA-256 ``known``: there is nothing new in it.

    Attributes:
        budget: what answers take together, also pages that wait for their turn; the transport's.
    """

    def __init__(
        self,
        requester: Retrying,
        blog_id: str,
        assume: Assumptions = DEFAULT,
        headers: Mapping[str, str] = _NOTHING,
        budget: Budget | None = None,
    ) -> None:
        self._requester = requester
        self.budget = budget or Budget(TransportOptions().together)
        self.blog_id = blog_id
        self._assume = assume
        self._headers = headers

    @property
    def statistics(self) -> Statistics:
        """What was sent and received so far."""
        return self._requester.statistics

    async def get_entry(self, entry_id: str, validators: Validators | None = None) -> EntryAnswer:
        """Read one entry in full (API 4.1), or learn that it is unchanged."""
        params = {"id": self.blog_id, "entry_id": entry_id}
        conditions = validators.headers if validators is not None else {}
        headers = {**self._headers, **conditions} if conditions else self._headers

        def read(response: Response) -> EntryAnswer:
            if conditions and response.status == _NOT_MODIFIED:
                return EntryAnswer(None, validators or Validators())
            return EntryAnswer(unwrap("entry/get", params, response, self._assume), Validators.of(response))

        return await self._requester.call(Request("entry/get", "/blog/v1/entry/get", params, headers), read)

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

        return await self._requester.call(Request("user", "/v1/user", _NOTHING, self._headers), read)

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
        request = Request(operation, f"/blog/v1/{operation}", params, self._headers)

        def read(response: Response) -> Page | None:
            body = hashlib.sha256(response.body).digest()
            if body == known:
                return None
            data = unwrap(operation, params, response, self._assume)
            items = data.get("list")
            if not isinstance(items, list):
                raise wrong_shape(operation, params, response, "the answer's `data.list` is not a list")
            return replace(build(data, items), body=body, weight=codec.weight(response.body))

        answer = await self._requester.call(request, read)
        # A list that was just read is what tells best, later, whether the service still lives.
        self._requester.liveness.probe_with(lambda: self._requester.attempt(request, read))
        return answer


@asynccontextmanager
async def open_api(
    base_url: str,
    blog_id: str,
    *,
    credentials: Credentials | None = None,
    options: TransportOptions | None = None,
    policy: RetryPolicy | None = None,
    max_concurrency: int = 8,
    rate: float | None = None,
    assume: Assumptions = DEFAULT,
    clock: Clock | None = None,
    on_retry: Callable[[RetryEvent], None] | None = None,
) -> AsyncIterator[BlogApi]:
    """Yield the API of one blog, and close its connections in the end. ``rate`` is in requests per second.

    Raises:
        UsageError: the base URL, the credentials or a limit cannot be right.
    """
    shown = credentials or Credentials()
    rules = policy or RetryPolicy()
    timing = clock or SystemClock()
    throttle = Throttle(max_concurrency, rate, timing, max_pause=rules.give_up_after)
    transport = HttpTransport(base_url, options)
    try:
        requester = Retrying(transport, throttle, rules, timing, redactor=shown.redactor, on_retry=on_retry)
        yield BlogApi(requester, blog_id, assume, shown.headers, transport.budget)
    finally:
        await transport.close()


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
