"""A WordPress on loopback as its REST API shows it, written from that API's handbook and a real one's responses.

It knows nothing of the program: tests add records as a person would, and it hides private records from strangers as
WordPress does.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any, TypeVar

from aiohttp import web

from tests.http.service import Service, running_service

T = TypeVar("T")

LOGIN = ("owner", "abcd EFGH 1234 ijkl")
OPEN = {"publish"}
EVERY = {"publish", "future", "draft", "pending", "private"}


@dataclass
class FakeWordPress:
    """The content of the WordPress; ``pretty`` gives addresses names; ``change`` spoils the response of a route."""

    service: Service
    pretty: bool = True
    posts: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    change: Callable[[str, Any], Any] = lambda _route, answer: answer
    numbers: int = 0

    def __post_init__(self) -> None:
        self.service.handler = self.answer

    @property
    def url(self) -> str:
        return self.service.url

    def number(self) -> int:
        """Return the next number of a record."""
        self.numbers += 1
        return self.numbers

    def post(
        self, title: str, content: str, date: str = "2020-01-02T03:04:05", *, status: str = "publish",
        slug: str = "", categories: tuple[str, ...] = (), tags: tuple[str, ...] = (), protected: bool = False,
    ) -> int:  # fmt: skip
        """Add a post, its title as text and its content as rendered HTML."""
        number = self.number()
        self.posts[number] = {
            "id": number,
            "date": date,
            "date_gmt": date,
            "slug": slug or f"post-{number}",
            "status": status,
            "type": "post",
            "link": f"{self.url}/{slug or number}/",
            "title": {"rendered": escape(title, quote=False)},
            "content": {"rendered": "" if protected else content, "protected": protected},
            "categories": [self.categories.setdefault(name, 1000 + len(self.categories)) for name in categories],
            "tags": [self.tags.setdefault(name, 2000 + len(self.tags)) for name in tags],
            "featured_media": 0,
        }
        return number

    def comment(
        self, post: int, name: str, text: str, date: str = "2020-01-03T00:00:00", *, status: str = "approved"
    ) -> int:
        """Add a comment, its text as HTML."""
        number = self.number()
        self.comments[number] = {
            "id": number,
            "post": post,
            "parent": 0,
            "author_name": escape(name, quote=False),
            "author_url": "",
            "date": date,
            "date_gmt": date,
            "content": {"rendered": text},
            "status": status,
            "type": "comment",
        }
        return number

    def file(self, name: str, content: bytes, kind: str = "image/png") -> str:
        """Add a file and return its address."""
        path = f"/wp-content/uploads/{name}"
        self.files[path] = (kind, content)
        return self.url + path

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer as the server does."""
        if request.path in self.files:
            kind, content = self.files[request.path]
            return web.Response(body=content, content_type=kind)
        route = request.query.get("rest_route")
        if route is None and self.pretty and request.path.startswith("/wp-json"):
            route = request.path.removeprefix("/wp-json")
        if route is None:
            return web.Response(status=404, text="<!DOCTYPE html><p>Nothing here", content_type="text/html")
        known = request.headers.get("Authorization")
        owner = known == "Basic " + base64.b64encode(":".join(LOGIN).encode()).decode()
        if known is not None and not owner:
            return self.refuse(401, "incorrect_password", "The provided password is an invalid application password.")
        return self.routed(route.strip("/"), request, owner=owner)

    def routed(self, route: str, request: web.Request, *, owner: bool) -> web.Response:
        if route == "":
            index = {"name": "new home", "namespaces": ["oembed/1.0", "wp/v2"], "timezone_string": "Asia/Tokyo"}
            return self.reply(route, {**index, "home": self.url, "gmt_offset": 9})
        if route == "wp/v2/users/me":
            return self.reply(route, {"id": 1, "name": "owner"}) if owner else self.refuse(401, "rest_not_logged_in")
        if request.query.get("context") == "edit" and not owner:
            return self.refuse(401, "rest_forbidden_context")
        if route in {"wp/v2/pages", "wp/v2/media", "wp/v2/users"}:
            return self.listed(route, request, [])
        if route == "wp/v2/posts":
            statuses = set(request.query.get("status", "publish").split(","))
            if not owner and statuses - OPEN:
                return self.refuse(400, "rest_invalid_param")
            return self.listed(route, request, [each for each in self.posts.values() if each["status"] in statuses])
        if route == "wp/v2/comments":
            status = request.query.get("status", "approve")
            if not owner and status != "approve":
                return self.refuse(401, "rest_forbidden_param")
            shown = {"approve": {"approved"}, "hold": {"hold"}, "any": {"approved", "hold", "spam"}}[status]
            found = [each for each in self.comments.values() if each["status"] in shown and each["post"] in self.posts]
            if not owner:
                found = [each for each in found if self.posts[each["post"]]["status"] in OPEN]
            return self.listed(route, request, found)
        if route in {"wp/v2/categories", "wp/v2/tags"}:
            terms = self.categories if route.endswith("categories") else self.tags
            found = [{"id": number, "name": escape(name, quote=False)} for name, number in terms.items()]
            return self.listed(route, request, found)
        return self.refuse(404, "rest_no_route")

    def listed(self, route: str, request: web.Request, found: list[dict[str, Any]]) -> web.Response:
        size, page = int(request.query.get("per_page", 10)), int(request.query.get("page", 1))
        pages = -(-len(found) // size)
        if page > max(pages, 1):
            return self.refuse(400, "rest_post_invalid_page_number")
        shown = sorted(found, key=lambda each: int(each["id"]))[(page - 1) * size : page * size]
        return self.reply(route, shown, **{"X-WP-Total": str(len(found)), "X-WP-TotalPages": str(pages)})

    def reply(self, route: str, answer: Any, **headers: str) -> web.Response:
        body = json.dumps(self.change(route, answer), ensure_ascii=False).encode()
        return web.Response(body=body, content_type="application/json", headers=headers)

    def refuse(self, status: int, code: str, message: str = "Sorry, you are not allowed to do that.") -> web.Response:
        body = json.dumps({"code": code, "message": message, "data": {"status": status}}).encode()
        return web.Response(status=status, body=body, content_type="application/json")


def wordpress_in_thread() -> AbstractContextManager[FakeWordPress]:
    """Run an empty WordPress in a thread, for synchronous callers."""
    return in_thread(running_wordpress())


@contextmanager
def in_thread(running: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Run a server in an event loop in another thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@asynccontextmanager
async def running_wordpress() -> AsyncIterator[FakeWordPress]:
    """Run an empty WordPress."""
    async with running_service() as service:
        yield FakeWordPress(service)
