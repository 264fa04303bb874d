"""An HTTP service on loopback with the five operations, for a blog in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import format_datetime
from typing import Any, Self

from aiohttp import hdrs, web
from yarl import URL

from exporter import lossless_json
from exporter.clock import Clock, SystemClock
from exporter.demo.content import Blog, Record, wire

USER = "/v1/user"
ENTRY, ENTRIES = "/blog/v1/entry/get", "/blog/v1/entry/list"
COMMENTS, FILES = "/blog/v1/comment/list", "/blog/v1/file/list"
_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"GIF89a": "image/gif", b"\xff\xd8\xff": "image/jpeg"}


class DemoRefusal(Exception):
    """The service answers with an error; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def body(self) -> bytes:
        """Return the envelope of the error."""
        return lossless_json.dumps({"json": {"result": "error", "message": str(self), "data": {}}})


class DemoService:
    """Serves a blog on a loopback port: ``async with DemoService(blog) as service``.

    Attributes:
        blogs: the blogs by id.
        clock: the source of the answers' dates.
        base_url: the base URL for a client, without a slash at its end; empty until started.
        port: the loopback port; 0 for a free one.
        page_items: items on a page of each list.
        newest_first: the order of all lists; new records then shift the pages.
        empty_pages: ``all_page`` of a list without items.
    """

    port = 0
    newest_first = True
    empty_pages = 1

    def __init__(self, blog: Blog) -> None:
        self.blogs = {blog.blog_id: blog}
        self.clock: Clock = SystemClock()
        self.base_url = ""
        self.page_items = {ENTRIES: 20, COMMENTS: 20, FILES: 20}
        self._user = blog
        self._addresses: dict[str, str] = {}
        self._runner: web.AppRunner | None = None
        self._operations = {
            ENTRY: self._entry,
            ENTRIES: self._entry_list,
            COMMENTS: self._comment_list,
            FILES: self._file_list,
        }

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
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
                asyncio.run_coroutine_threadsafe(self.__aexit__(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def local(self, address: str) -> str:
        """Return the address at which this service has a picture: the same path on its own origin."""
        return self.base_url + _path_of(address)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request for the user, an operation, or a picture."""
        if request.method not in {"GET", "HEAD"}:
            raise web.HTTPMethodNotAllowed(request.method, ("GET", "HEAD"))
        try:
            if request.path == USER:
                return await self.user(request)
            if request.path in self._operations:
                return await self.operation(request)
        except DemoRefusal as refused:
            return self.json(refused.body(), refused.status)
        body = self._picture_at(request.rel_url.raw_path_qs)
        if body is None:
            return web.Response(status=404, text="<h1>404 Not Found</h1>", content_type="text/html")
        return web.Response(body=body, content_type=_content_type(body))

    async def user(self, _request: web.Request) -> web.Response:
        """Answer a request for the calling user."""
        return self.json(wire(self._user.user))

    async def operation(self, request: web.Request) -> web.Response:
        """Answer a request for one of a blog's four operations."""
        blog_id = request.query.get("id")
        if not blog_id:
            raise DemoRefusal(400, "id is required")
        blog = self.blogs.get(blog_id)
        if blog is None:
            raise DemoRefusal(404, "blog is not found")
        return self.json(self._operations[request.path](blog, request.query))

    def json(self, body: bytes, status: int = 200) -> web.Response:
        """Return an answer of JSON."""
        answer = web.Response(body=body, status=status, content_type="application/json")
        answer.headers[hdrs.DATE] = format_datetime(self.clock.now(), usegmt=True)
        return answer

    def _entry(self, blog: Blog, params: Mapping[str, str]) -> bytes:
        """Answer ``entry/get`` (API 4.1)."""
        record = blog.entry(params.get("entry_id", ""))
        if record is None:
            raise DemoRefusal(404, "entry is not found")
        return _envelope(wire(record))

    def _entry_list(self, blog: Blog, params: Mapping[str, str]) -> bytes:
        """Answer ``entry/list`` (API 4.2)."""
        page, size = page_number(params), self.page_items[ENTRIES]
        items = blog.list_page((page - 1) * size, size, newest_first=self.newest_first)
        return _listing(items, paging=self._paging(page, blog.listed(), size))

    def _comment_list(self, blog: Blog, params: Mapping[str, str]) -> bytes:
        """Answer ``comment/list`` (API 4.3)."""
        page, size = page_number(params), self.page_items[COMMENTS]
        items = blog.comments.cut((page - 1) * size, size, newest_first=self.newest_first)
        return _listing(items, paging=self._paging(page, len(blog.comments), size))

    def _file_list(self, blog: Blog, params: Mapping[str, str]) -> bytes:
        """Answer ``file/list`` (API 4.4), which has a summary and no paging object."""
        page, size = page_number(params), self.page_items[FILES]
        items = blog.files.cut((page - 1) * size, size, newest_first=self.newest_first)
        summary = {
            "filenum": str(len(blog.files)),
            "totalsize": str(blog.files.total("file_size")),
            "max_size": "1073741824",
        }
        return _listing(items, page=page, limit=size, summary=summary)

    def _paging(self, page: int, count: int, size: int) -> dict[str, int | None]:
        last = -(-count // size) or self.empty_pages
        return {
            "prev_no": page - 1 if page > 1 else None,
            "next_no": page + 1 if page < last else None,
            "page_no": page,
            "all_page": last,
        }

    def _picture_at(self, path: str) -> bytes | None:
        for blog in self.blogs.values():
            found = blog.pictures.get(self._addresses.get(path, ""))
            if found is not None:
                return found
        # Blogs may change while they are served, so an unknown path renews the index.
        self._addresses = {_path_of(address): address for blog in self.blogs.values() for address in blog.pictures}
        address = self._addresses.get(path, "")
        return next((blog.pictures[address] for blog in self.blogs.values() if address in blog.pictures), None)


def page_number(params: Mapping[str, str]) -> int:
    """Return the requested page, by default 1.

    Raises:
        DemoRefusal: it is no page number.
    """
    text = params.get("page", "1")
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if number < 1:
        raise DemoRefusal(400, "page is not a page number")
    return number


def _envelope(data: bytes) -> bytes:
    """Wrap a payload as a success (API 2.1)."""
    return b'{"json":{"result":"ok","message":"","data":' + data + b"}}"


def _listing(items: Iterable[Record], **members: Any) -> bytes:
    rest = lossless_json.dumps(members).removeprefix(b"{")
    return _envelope(b'{"list":[' + b",".join(wire(item) for item in items) + b"]," + rest)


def _path_of(address: str) -> str:
    return URL(address).raw_path_qs


def _content_type(body: bytes) -> str:
    return next((kind for start, kind in _SIGNATURES.items() if body.startswith(start)), "application/octet-stream")
