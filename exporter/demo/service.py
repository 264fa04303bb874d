"""An HTTP service on loopback with the five operations, for blogs in memory."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import format_datetime
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import hdrs, web
from yarl import URL

from exporter import lossless_json
from exporter.clock import Clock, SystemClock
from exporter.demo.content import Blog, Record, wire

Before = Callable[[web.Request], Awaitable[web.StreamResponse | None]]

_USER = "/v1/user"
_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"GIF89a": "image/gif", b"\xff\xd8\xff": "image/jpeg"}


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


class _Refused(Exception):
    """The service answers with an error; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def body(self) -> bytes:
        """Return the envelope of the error."""
        return lossless_json.dumps({"json": {"result": "error", "message": str(self), "data": {}}})


def _envelope(data: bytes) -> bytes:
    """Wrap a payload as a success (API 2.1)."""
    return b'{"json":{"result":"ok","message":"","data":' + data + b"}}"


def _page_number(params: Mapping[str, str], name: str) -> int:
    """Return the requested page, by default 1."""
    text = params.get(name, "1")
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if number < 1:
        raise _Refused(400, f"{name} is not a page number")
    return number


def _entry(blog: Blog, params: Mapping[str, str], _options: ServiceOptions) -> bytes:
    """Answer ``entry/get`` (API 4.1)."""
    record = blog.entry(params.get("entry_id", ""))
    if record is None:
        raise _Refused(404, "entry is not found")
    return _envelope(wire(record))


def _entry_list(blog: Blog, params: Mapping[str, str], options: ServiceOptions) -> bytes:
    """Answer ``entry/list`` (API 4.2)."""
    page = 1 if options.ignore_entry_page else _page_number(params, options.entry_page_param)
    size = options.entry_page_size
    items = blog.list_page((page - 1) * size, size, newest_first=options.newest_first)
    return _listing(items, paging=_paging(page, blog.listed(), size, options))


def _comment_list(blog: Blog, params: Mapping[str, str], options: ServiceOptions) -> bytes:
    """Answer ``comment/list`` (API 4.3)."""
    page = _page_number(params, "page")
    size = options.comment_page_size
    items = blog.comments.cut((page - 1) * size, size, newest_first=options.newest_first)
    return _listing(items, paging=_paging(page, len(blog.comments), size, options))


def _file_list(blog: Blog, params: Mapping[str, str], options: ServiceOptions) -> bytes:
    """Answer ``file/list`` (API 4.4), which has a summary and no paging object."""
    asked = page = _page_number(params, "page")
    size = options.file_page_size
    last = max(1, -(-len(blog.files) // size))
    if page > last and options.past_end == "404":
        raise _Refused(404, "page is not found")
    if page > last and options.past_end == "repeat":
        page = last
    items = blog.files.cut((page - 1) * size, size, newest_first=options.newest_first)
    summary = {
        "filenum": str(len(blog.files)),
        "totalsize": str(blog.files.total("file_size")),
        "max_size": "1073741824",
    }
    return _listing(items, page=asked, limit=size, summary=summary)


def _paging(page: int, count: int, size: int, options: ServiceOptions) -> dict[str, int | None]:
    last = -(-count // size) or options.empty_all_page
    return {
        "prev_no": page - 1 if page > 1 else None,
        "next_no": page + 1 if page < last else None,
        "page_no": page,
        "all_page": last,
    }


def _listing(items: Iterable[Record], **members: Any) -> bytes:
    rest = lossless_json.dumps(members).removeprefix(b"{")
    return _envelope(b'{"list":[' + b",".join(wire(item) for item in items) + b"]," + rest)


_OPERATIONS: dict[str, Callable[[Blog, Mapping[str, str], ServiceOptions], bytes]] = {
    "/blog/v1/entry/get": _entry,
    "/blog/v1/entry/list": _entry_list,
    "/blog/v1/comment/list": _comment_list,
    "/blog/v1/file/list": _file_list,
}


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A received request; ``time`` is in seconds of the monotonic clock."""

    path: str
    params: dict[str, str]
    time: float
    headers: Mapping[str, str]


class DemoService:
    """Serves one or more blogs on a free loopback port: ``async with DemoService(blog) as service``.

    Attributes:
        blogs: the blogs by id; the first one's user is the calling user.
        options: its behaviour; may be replaced while it runs.
        requests: the log of all requests, oldest first.
        before: if set, called first with each request. It may return the answer; tests inject faults with it.
        clock: the source of the answers' dates.
        base_url: the base URL for a client, without a slash at its end; empty until started.
    """

    def __init__(self, blog: Blog, options: ServiceOptions | None = None, *more: Blog) -> None:
        self.blogs = {each.blog_id: each for each in (blog, *more)}
        self.options = options or ServiceOptions()
        self.requests: list[ReceivedRequest] = []
        self.before: Before | None = None
        self.clock: Clock = SystemClock()
        self.base_url = ""
        self._user_of = blog
        self._addresses: dict[str, str] = {}
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._middleware])
        for path in _OPERATIONS:
            app.router.add_get(path, self.operation)
        app.router.add_get(_USER, self._user)
        app.router.add_get("/{path:.*}", self._picture)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.options.port).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @contextmanager
    def run_in_thread(self) -> Iterator[Self]:
        """Serve from an event loop in another thread, for blocking callers."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="demo-service", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result()
            try:
                yield self
            finally:
                asyncio.run_coroutine_threadsafe(self.__aexit__(None, None, None), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def local(self, address: str) -> str:
        """Return the address at which this service has a picture: the same path on its own origin."""
        return self.base_url + _path_of(address)

    @web.middleware
    async def _middleware(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if self.options.log_requests:
            self.requests.append(ReceivedRequest(request.path, dict(request.query), time.monotonic(), request.headers))
        if self.before is not None:
            answer = await self.before(request)
            if answer is not None:
                return answer
        try:
            return await handler(request)
        except _Refused as refused:
            answer = self._json(refused.body(), refused.status)
            if refused.status == 401:
                answer.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
            return answer

    async def operation(self, request: web.Request) -> web.StreamResponse:
        """Answer a request for one of a blog's four operations. ``before`` may call this and change the answer."""
        self._authorise(request)
        blog_id = request.query.get("id")
        if not blog_id:
            raise _Refused(400, "id is required")
        blog = self.blogs.get(blog_id)
        if blog is None:
            raise _Refused(404, "blog is not found")
        operation = _OPERATIONS[request.path]
        body = operation(blog, request.query, self.options)
        if self.options.etag and operation is _entry:
            return self._tagged(request, body)
        return self._json(body)

    async def _user(self, request: web.Request) -> web.StreamResponse:
        self._authorise(request)
        return self._json(wire(self._user_of.user))

    async def _picture(self, request: web.Request) -> web.StreamResponse:
        body = self._picture_at(request.rel_url.raw_path_qs)
        if body is None:
            return web.Response(status=404, text="<h1>404 Not Found</h1>", content_type="text/html")
        return web.Response(body=body, content_type=_content_type(body))

    def _picture_at(self, path: str) -> bytes | None:
        for blog in self.blogs.values():
            found = blog.pictures.get(self._addresses.get(path, ""))
            if found is not None:
                return found
        # Blogs may change while they are served, so an unknown path renews the index.
        self._addresses = {_path_of(address): address for blog in self.blogs.values() for address in blog.pictures}
        address = self._addresses.get(path, "")
        return next((blog.pictures[address] for blog in self.blogs.values() if address in blog.pictures), None)

    def _authorise(self, request: web.Request) -> None:
        token = self.options.require_token
        if token is not None and request.headers.get(hdrs.AUTHORIZATION) != f"Bearer {token}":
            raise _Refused(401, "authorization is required")

    def _tagged(self, request: web.Request, body: bytes) -> web.Response:
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        asked = request.headers.get(hdrs.IF_NONE_MATCH, "")
        if tag in (part.strip().removeprefix("W/") for part in asked.split(",")):
            return web.Response(status=304, headers={hdrs.ETAG: tag})
        answer = self._json(body)
        answer.headers[hdrs.ETAG] = tag
        return answer

    def _json(self, body: bytes, status: int = 200) -> web.Response:
        answer = web.Response(body=body, status=status, content_type="application/json")
        answer.headers[hdrs.DATE] = format_datetime(self.clock.now(), usegmt=True)
        if self.options.compression is not None:
            answer.enable_compression(web.ContentCoding(self.options.compression))
        return answer


def _path_of(address: str) -> str:
    return URL(address).raw_path_qs


def _content_type(body: bytes) -> str:
    return next((kind for start, kind in _SIGNATURES.items() if body.startswith(start)), "application/octet-stream")
