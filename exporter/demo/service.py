"""A real HTTP service on loopback that answers the five operations for blogs held in memory."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from aiohttp import hdrs, web
from yarl import URL

from exporter.demo import answers
from exporter.demo.answers import Refused, ServiceOptions
from exporter.demo.content import Blog, wire
from exporter.demo.images import content_type

__all__ = ["Before", "DemoService", "Request", "ServiceOptions"]

Before = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
_Operation = Callable[[Blog, Mapping[str, str], ServiceOptions], bytes]

_OPERATIONS: dict[str, _Operation] = {
    "/blog/v1/entry/get": answers.entry,
    "/blog/v1/entry/list": answers.entry_list,
    "/blog/v1/comment/list": answers.comment_list,
    "/blog/v1/file/list": answers.file_list,
}
_USER = "/v1/user"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; ``time`` is in seconds of the monotonic clock."""

    path: str
    params: dict[str, str]
    time: float
    headers: Mapping[str, str]


class DemoService:
    """Serves one blog, or several, on a free loopback port: ``async with DemoService(blog) as service``.

    Attributes:
        blogs: what is served, by blog id; the first one's user is the calling user.
        options: how it behaves; may be replaced while it runs.
        requests: the log of all requests, oldest first.
        before: when set, is asked first and may answer in the service's place; this is where faults come in.
        base_url: the address to hand to a client, without a slash at its end; empty until started.
    """

    def __init__(self, blog: Blog, options: ServiceOptions | None = None, *more: Blog) -> None:
        self.blogs = {each.blog_id: each for each in (blog, *more)}
        self.options = options or ServiceOptions()
        self.requests: list[Request] = []
        self.before: Before | None = None
        self.base_url = ""
        self._user_of = blog
        self._addresses: dict[str, str] = {}
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._middleware])
        for path in _OPERATIONS:
            app.router.add_get(path, self._operation)
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
        """Serve from an event loop of its own in another thread, for callers that block."""
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
        """Return where this service serves the picture of an address: the same path on its own origin."""
        return self.base_url + _path_of(address)

    @web.middleware
    async def _middleware(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if self.options.log_requests:
            self.requests.append(Request(request.path, dict(request.query), time.monotonic(), request.headers))
        if self.before is not None:
            answer = await self.before(request)
            if answer is not None:
                return answer
        try:
            return await handler(request)
        except Refused as refused:
            answer = self._json(refused.body(), refused.status)
            if refused.status == 401:
                answer.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
            return answer

    async def _operation(self, request: web.Request) -> web.StreamResponse:
        self._authorise(request)
        blog_id = request.query.get("id")
        if not blog_id:
            raise Refused(400, "id is required")
        blog = self.blogs.get(blog_id)
        if blog is None:
            raise Refused(404, "blog is not found")
        operation = _OPERATIONS[request.path]
        body = operation(blog, request.query, self.options)
        if self.options.etag and operation is answers.entry:
            return self._tagged(request, body)
        return self._json(body)

    async def _user(self, request: web.Request) -> web.StreamResponse:
        self._authorise(request)
        return self._json(wire(self._user_of.user))

    async def _picture(self, request: web.Request) -> web.StreamResponse:
        body = self._picture_at(request.rel_url.raw_path_qs)
        if body is None:
            return web.Response(status=404, text="<h1>404 Not Found</h1>", content_type="text/html")
        return web.Response(body=body, content_type=content_type(body))

    def _picture_at(self, path: str) -> bytes | None:
        for blog in self.blogs.values():
            found = blog.pictures.get(self._addresses.get(path, ""))
            if found is not None:
                return found
        # Blogs change while they are served, so an unknown path means looking again.
        self._addresses = {_path_of(address): address for blog in self.blogs.values() for address in blog.pictures}
        address = self._addresses.get(path, "")
        return next((blog.pictures[address] for blog in self.blogs.values() if address in blog.pictures), None)

    def _authorise(self, request: web.Request) -> None:
        token = self.options.require_token
        if token is not None and request.headers.get(hdrs.AUTHORIZATION) != f"Bearer {token}":
            raise Refused(401, "authorization is required")

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
        if self.options.compression is not None:
            answer.enable_compression(web.ContentCoding(self.options.compression))
        return answer


def _path_of(address: str) -> str:
    return URL(address).raw_path_qs
