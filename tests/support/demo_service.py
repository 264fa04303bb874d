"""The sample service with faults and with the behaviours that the API document leaves open."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import hdrs, web

from exporter.demo import service as sample
from exporter.demo.content import Blog
from exporter.demo.service import COMMENTS, ENTRIES, ENTRY, FILES, DemoRefusal, page_number

Before = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The service's behaviour in cases that the API document leaves open.

    Attributes:
        entry_page_size: items on a page of the entry list.
        comment_page_size: items on a page of the comment list.
        file_page_size: items on a page of the file list, its ``limit``.
        entry_page_param: the page parameter of the entry list.
        ignore_entry_page: answer every request for the entry list with its first page.
        newest_first: the order of all three lists; new records then shift the pages.
        past_end: the answer for a file page after the last: an empty list, an error 404, or the last page again.
        empty_all_page: ``all_page`` of a list without items.
        require_token: the bearer token that every operation requires.
        etag: send an ``ETag`` with entries and answer 304 to ``If-None-Match``.
        compression: the coding of all JSON bodies.
        log_requests: keep every request in ``DemoService.requests``.
        port: the loopback port; 0 for a free one.
    """

    entry_page_size: int = 20
    comment_page_size: int = 20
    file_page_size: int = 20
    entry_page_param: str = "page"
    ignore_entry_page: bool = False
    newest_first: bool = True
    past_end: Literal["empty", "404", "repeat"] = "empty"
    empty_all_page: int = 1
    require_token: str | None = None
    etag: bool = False
    compression: Literal["gzip", "deflate"] | None = None
    log_requests: bool = True
    port: int = 0


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A received request; ``time`` is in seconds of the monotonic clock."""

    path: str
    params: dict[str, str]
    time: float
    headers: Mapping[str, str]


class DemoService(sample.DemoService):
    """Serves one or more blogs on a free loopback port: ``async with DemoService(blog) as service``.

    Attributes:
        options: its behaviour; may be replaced while it runs.
        requests: the log of all requests, oldest first.
        before: if set, called first with each request. It may return the answer; tests inject faults with it.
    """

    def __init__(self, blog: Blog, options: ServiceOptions | None = None, *more: Blog) -> None:
        super().__init__(blog)
        self.blogs |= {each.blog_id: each for each in more}
        self.options = options or ServiceOptions()
        self.port = self.options.port
        self.requests: list[ReceivedRequest] = []
        self.before: Before | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.options.log_requests:
            self.requests.append(ReceivedRequest(request.path, dict(request.query), time.monotonic(), request.headers))
        answer = None if self.before is None else await self.before(request)
        return await super().answer(request) if answer is None else answer

    async def user(self, request: web.Request) -> web.Response:
        self._authorise(request)
        return await super().user(request)

    async def operation(self, request: web.Request) -> web.Response:
        """Answer a request for one of a blog's four operations. ``before`` may call this and change the answer."""
        self._authorise(request)
        options = self.options
        self.page_items = {
            ENTRIES: options.entry_page_size,
            COMMENTS: options.comment_page_size,
            FILES: options.file_page_size,
        }
        self.newest_first = options.newest_first
        self.empty_pages = options.empty_all_page
        if request.path == ENTRIES:
            page = "1" if options.ignore_entry_page else request.query.get(options.entry_page_param, "1")
            return await super().operation(_with_page(request, page))
        if request.path == FILES and options.past_end != "empty":
            return await self._past_end(request)
        answer = await super().operation(request)
        return self._tagged(request, answer) if request.path == ENTRY and options.etag else answer

    def json(self, body: bytes, status: int = 200) -> web.Response:
        answer = super().json(body, status)
        if self.options.compression is not None:
            answer.enable_compression(web.ContentCoding(self.options.compression))
        if status == 401:
            answer.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
        return answer

    async def _past_end(self, request: web.Request) -> web.Response:
        """Answer a request for a file page, also for one after the last."""
        blog = self.blogs.get(request.query.get("id", ""))
        page = page_number(request.query)
        last = page if blog is None else max(1, -(-len(blog.files) // self.options.file_page_size))
        if page <= last:
            return await super().operation(request)
        if self.options.past_end == "404":
            raise DemoRefusal(404, "page is not found")
        answer = await super().operation(_with_page(request, str(last)))
        body: Any = answer.body
        return self.json(body.replace(b'],"page":%d,' % last, b'],"page":%d,' % page))

    def _authorise(self, request: web.Request) -> None:
        token = self.options.require_token
        if token is not None and request.headers.get(hdrs.AUTHORIZATION) != f"Bearer {token}":
            raise DemoRefusal(401, "authorization is required")

    def _tagged(self, request: web.Request, answer: web.Response) -> web.Response:
        body: Any = answer.body
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        asked = request.headers.get(hdrs.IF_NONE_MATCH, "")
        if tag in (part.strip().removeprefix("W/") for part in asked.split(",")):
            return web.Response(status=304, headers={hdrs.ETAG: tag})
        answer.headers[hdrs.ETAG] = tag
        return answer


def _with_page(request: web.Request, page: str) -> web.Request:
    """Return a request for another page."""
    return request.clone(rel_url=request.rel_url.with_query({**request.query, "page": page}))
