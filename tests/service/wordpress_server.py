"""A WordPress on loopback that answers as a real one does, for the tests that need no PHP.

``tests/importers/test_wordpress_source.py`` runs the same service against a real WordPress. The forms of the answers,
the codes of the failures and the order of the checks are from there.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.pictures import png

USER, PASSWORD = "owner", "abcd efgh"
JSON = "application/json; charset=UTF-8"
Fault = Callable[[web.Request, str], web.Response | None]


@dataclass
class WordPress:
    """The content of a WordPress.

    Attributes:
        posts: posts, pages and entries of custom types, by id.
        fault: answers a request in place of WordPress; receives its route, such as ``posts/5``.
        folder: the path of the blog.
        pretty: whether ``/wp-json`` exists; ``?rest_route=`` always does.
        prefix: the path from the folder to the lists.
    around: bytes before and after each JSON. If there are some before, the status is 200 and totals are missing.
    most: the most records on a page; ``None`` for as many as requested.
    refuses: whether a request for more than ``most`` is refused; otherwise the page is short.
    totals: whether lists state their totals.
    true_pages: whether they count the pages that they send, and not those that were requested.
        asked: the routes and parameters of the requests.
        authorised: the paths of the requests with credentials.
    """

    posts: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    media: dict[int, dict[str, Any]] = field(default_factory=dict)
    categories: dict[int, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, dict[str, Any]] = field(default_factory=dict)
    writers: set[int] = field(default_factory=lambda: {1})
    fault: Fault = lambda _request, _route: None
    folder: str = ""
    pretty: bool = True
    prefix: str = "/wp-json/wp/v2"
    around: tuple[bytes, bytes] = (b"", b"")
    most: int | None = None
    refuses: bool = False
    totals: bool = True
    true_pages: bool = True
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    authorised: list[str] = field(default_factory=list)
    url: str = ""

    def add_post(self, number: int, **given: Any) -> dict[str, Any]:
        """Add an entry; a post by default."""
        self.posts[number] = {
            "type": "post", "status": "publish", "title": f"Post {number}", "raw": f"<p>Text of {number}</p>",
            "password": "", "author": 1, "categories": [1], "tags": ["sea"], "modified": "2020-01-02T03:04:05",
            "featured": 0, "galleries": 0, "excerpt": "", **given,
        }  # fmt: skip
        return self.posts[number]

    def add_comment(self, number: int, post: int, **given: Any) -> None:
        """Add a comment."""
        self.comments[number] = {
            "post": post, "parent": 0, "author": 0, "name": "Hanako", "status": "approved", "type": "comment", **given,
        }  # fmt: skip

    def routes(self) -> list[str]:
        """Return the routes of the requests, without those for files."""
        return [route for route, _ in self.asked]


def sample() -> WordPress:
    """Return a blog with posts in five statuses, pages, a thread, nested categories and two pictures."""
    blog = WordPress()
    blog.categories = {
        1: {"name": "Uncategorized", "parent": 0},
        2: {"name": "旅行 &amp; 散歩", "parent": 0},
        3: {"name": "Asia", "parent": 2},
        4: {"name": "日本", "parent": 3},
    }
    for number in range(10, 150):
        blog.add_post(number, categories=[4, 1] if number % 3 == 0 else [1], galleries=number % 2)
    blog.add_post(150, status="draft", title="A &lt;draft&gt;")
    blog.add_post(151, status="private")
    blog.add_post(152, status="future")
    blog.add_post(153, status="pending")
    blog.add_post(154, password="himitsu", raw="<p>secret</p>")
    blog.add_post(155, featured=201, raw='<p>before</p><!--more Read on--><p>after</p><img src="{url}/umi.png">')
    blog.add_post(160, type="page", categories=[], tags=[])
    for number in (201, 202):
        blog.media[number] = {"file": "umi.png", "parent": 0}
    blog.add_comment(1, 10)
    blog.add_comment(2, 10, parent=1, author=1, name="owner")
    blog.add_comment(3, 10, author=9, name="a reader with an account")
    blog.add_comment(4, 11, status="hold")
    blog.add_comment(5, 11, status="spam")
    blog.add_comment(6, 151, name="on a private post")
    blog.add_comment(7, 12, type="pingback")
    return blog


@asynccontextmanager
async def served(blog: WordPress) -> AsyncIterator[WordPress]:
    """Serve a blog, and write its address into ``url``."""
    answers = _Answers(blog)
    app = web.Application()
    app.router.add_get("/{path:.*}", answers.sent)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    blog.url = f"http://127.0.0.1:{runner.addresses[0][1]}{blog.folder}"
    try:
        yield blog
    finally:
        await runner.cleanup()


class _Answers:
    def __init__(self, blog: WordPress) -> None:
        self._blog = blog

    async def sent(self, request: web.Request) -> web.Response:
        """Answer, with other bytes around the JSON."""
        answer, (before, after) = await self.answer(request), self._blog.around
        if (before or after) and answer.content_type == "application/json":
            assert isinstance(answer.body, bytes)
            headers = {} if before else {name: answer.headers[name] for name in answer.headers if name.startswith("X-")}
            status, content_type = (200, "text/html") if before else (answer.status, JSON)
            body = before + answer.body + after
            return web.Response(body=body, status=status, headers={**headers, "Content-Type": content_type})
        return answer

    async def answer(self, request: web.Request) -> web.Response:
        blog = self._blog
        if "Authorization" in request.headers:
            blog.authorised.append(request.path)
        below = request.path.removeprefix(blog.folder)
        if below == "/umi.png":
            return web.Response(body=png(1), content_type="image/png")
        route = request.query.get("rest_route", "").removeprefix("/wp/v2").removeprefix("/")
        if "rest_route" not in request.query:
            root = blog.prefix.removesuffix("/wp/v2")
            if not blog.pretty or not below.startswith(root):
                return self._page(request)
            route = below.removeprefix(blog.prefix).removeprefix("/") if below.startswith(blog.prefix) else ""
        blog.asked.append((route, dict(request.query)))
        fault = blog.fault(request, route)
        if fault is not None:
            return fault
        if not route:
            return _json({"name": "海の日記 &amp; more", "home": blog.url, "namespaces": ["oembed/1.0", "wp/v2"]})
        head, _, rest = route.partition("/")
        if head == "users":
            return self._users(request, rest)
        if head == "types":
            return _json(self._types(request))
        if head == "categories":
            found = [{"id": key, "taxonomy": "category", **each} for key, each in blog.categories.items()]
            return self._list(request, found, found)
        if head == "comments":
            return self._comments(request)
        if head == "media":
            return self._media(request)
        name = {"posts": "post", "pages": "page"}.get(head)
        name = name or next((slug for slug, each in blog.types.items() if each["rest_base"] == head), None)
        if name is None:
            return _refuse(404, "rest_no_route", "No route was found matching the URL and request method.")
        return self._post(request, name, rest) if rest else self._posts(request, name)

    def _page(self, request: web.Request) -> web.Response:
        root = f"{self._blog.url}/wp-json/" if self._blog.pretty else f"{self._blog.url}/index.php?rest_route=/"
        if request.path.removeprefix(self._blog.folder) not in {"", "/"}:
            return web.Response(status=404, text="<html>not found</html>", content_type="text/html")
        link = f'<{root}>; rel="https://api.w.org/"'
        return web.Response(text="<html><title>a blog</title></html>", content_type="text/html", headers={"Link": link})

    def _signed_in(self, request: web.Request) -> bool:
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return request.headers.get("Authorization") == f"Basic {pair}"

    def _users(self, request: web.Request, rest: str) -> web.Response:
        if rest == "me":
            if not self._signed_in(request):
                return _refuse(401, "rest_not_logged_in", "You are not currently logged in.")
            return _json({"id": 1, "name": "owner", "slug": "owner"})
        found = [{"id": number} for number in sorted(self._blog.writers)]
        return self._list(request, found, found)

    def _types(self, request: web.Request) -> dict[str, Any]:
        own = {"post": {"rest_base": "posts"}, "page": {"rest_base": "pages"}, "wp_block": {"rest_base": "blocks"}}
        edit = request.query.get("context") == "edit"
        return {
            slug: {"slug": slug, "rest_namespace": "wp/v2", "rest_base": each["rest_base"]}
            | ({"viewable": each.get("viewable", True)} if edit else {})
            for slug, each in {**own, **self._blog.types}.items()
        }

    def _posts(self, request: web.Request, name: str) -> web.Response:
        signed_in = self._signed_in(request)
        if request.query.get("status", "publish") != "publish" and not signed_in:
            details = {"status": {"code": "rest_forbidden_status", "data": {"status": 401}}}
            return _refuse(400, "rest_invalid_param", "Invalid parameter(s): status", details=details)
        if request.query.get("context") == "edit" and not signed_in:
            return _refuse(401, "rest_forbidden_context", "Sorry, you are not allowed to edit posts in this post type.")
        statuses = {"publish"} if not signed_in else {"publish", "draft", "private", "future", "pending"}
        include = {int(each) for each in request.query.get("include", "").split(",") if each}
        rows = [
            number for number, each in sorted(self._blog.posts.items())
            if each["type"] == name and each["status"] in statuses and (not include or number in include)
        ]  # fmt: skip
        counter = [0]
        return self._list(request, rows, rows, lambda number: self._shown(request, number, counter))

    def _post(self, request: web.Request, name: str, rest: str) -> web.Response:
        post = self._blog.posts.get(int(rest)) if rest.isdecimal() else None
        if post is None or post["type"] != name:
            return _refuse(404, "rest_post_invalid_id", "Invalid post ID.")
        if not self._signed_in(request) and (post["status"] != "publish" or request.query.get("context") == "edit"):
            code = "rest_forbidden_context" if request.query.get("context") == "edit" else "rest_forbidden"
            return _refuse(401, code, "Sorry, you are not allowed to do that.")
        return _json(self._shown(request, int(rest), [0]))

    def _shown(self, request: web.Request, number: int, counter: list[int]) -> dict[str, Any]:
        post, edit = self._blog.posts[number], request.query.get("context") == "edit"
        raw = post["raw"].replace("{url}", self._blog.url)
        locked = bool(post["password"]) and not edit
        rendered = raw
        for _ in range(post["galleries"]):
            counter[0] += 1  # WordPress numbers the galleries of one answer
            rendered += f'<div id="gallery-{counter[0]}"></div>'
        excerpt = post["excerpt"] or f"<p>{raw[:20]} [&hellip;]</p>"
        draft = post["status"] in {"draft", "pending"}
        found: dict[str, Any] = {
            "id": number, "date": post.get("date", "2020-01-02T12:00:00"),
            "date_gmt": None if draft else post.get("date_gmt", "2020-01-02T03:00:00"),
            "modified": post["modified"], "modified_gmt": post["modified"], "slug": f"post-{number}",
            "status": post["status"], "type": post["type"], "link": f"{self._blog.url}/post-{number}/",
            "title": {"rendered": post["title"]}, "author": post["author"], "featured_media": post["featured"],
            "content": {"rendered": "" if locked else rendered, "protected": bool(post["password"])},
            "excerpt": {"rendered": "" if locked else excerpt, "protected": bool(post["password"])},
            "comment_status": "open", "ping_status": "closed",
            "_links": {"self": [{"href": f"{self._blog.url}/wp-json/wp/v2/posts/{number}"}]},
        }  # fmt: skip
        if post["type"] == "post":
            found |= {"categories": post["categories"], "tags": [50 + at for at in range(len(post["tags"]))]}
        if edit:
            found["content"]["raw"], found["excerpt"]["raw"] = raw, post["excerpt"]
            found["title"]["raw"], found["password"] = post["title"], post["password"]
        fields = request.query.get("_fields", "")
        if fields:
            found = {name: found[name] for name in fields.split(",") if name in found}
            return found | {"content": {"protected": bool(post["password"])}}
        if "_embed" in request.query:
            found["_embedded"] = self._embedded(post)
        return found

    def _embedded(self, post: dict[str, Any]) -> dict[str, Any]:
        links = {"self": [{"href": "https://example.com/"}]}
        terms: list[list[dict[str, Any]]] = [
            [
                {"id": key, "name": self._blog.categories[key]["name"], "slug": f"c{key}", "taxonomy": "category"}
                | {"_links": links}
                for key in post["categories"]
            ],
            [{"id": 50 + at, "name": name, "taxonomy": "post_tag"} for at, name in enumerate(post["tags"])],
        ]
        found: dict[str, Any] = {"author": [{"id": post["author"], "name": "美香"}], "wp:term": terms}
        if post["featured"]:
            found["wp:featuredmedia"] = [{"id": post["featured"], "source_url": f"{self._blog.url}/umi.png"}]
        return found

    def _comments(self, request: web.Request) -> web.Response:
        signed_in = self._signed_in(request)
        if request.query.get("context") == "edit" and not signed_in:
            return _refuse(401, "rest_forbidden_context", "Sorry, you are not allowed to edit comments.")
        rows = [
            number for number, each in sorted(self._blog.comments.items())
            if signed_in or (each["status"] == "approved" and each["type"] == "comment")
        ]  # fmt: skip
        public = {number for number, each in self._blog.posts.items() if each["status"] == "publish"}
        shown = [number for number in rows if signed_in or self._blog.comments[number]["post"] in public]
        return self._list(request, rows, shown, lambda number: self._comment(number, edit=signed_in))

    def _comment(self, number: int, *, edit: bool) -> dict[str, Any]:
        each = self._blog.comments[number]
        found = {
            "id": number, "post": each["post"], "parent": each["parent"], "author": each["author"],
            "author_name": each["name"], "author_url": "", "date": "2020-02-03T04:05:06",
            "date_gmt": "2020-02-02T19:05:06",
            "content": {"rendered": f"<p>{each.get('text', f'Comment {number}')}</p>"},
            "link": f"{self._blog.url}/#comment-{number}", "status": each["status"], "type": each["type"],
            "_links": {"children": [{"href": "x"}]},
        }  # fmt: skip
        return found | ({"author_email": f"c{number}@mail.example"} if edit else {})

    def _media(self, request: web.Request) -> web.Response:
        if request.query.get("context") == "edit" and not self._signed_in(request):
            return _refuse(401, "rest_forbidden_context", "Sorry, you are not allowed to edit posts in this post type.")
        rows = sorted(self._blog.media)
        return self._list(request, rows, rows, self._medium)

    def _medium(self, number: int) -> dict[str, Any]:
        each = self._blog.media[number]
        return {
            "id": number, "date": "2020-01-01T00:00:00", "modified": "2020-01-01T00:00:00", "status": "inherit",
            "modified_gmt": "2020-01-01T00:00:00", "title": {"rendered": "海 &amp; 空"}, "alt_text": "the sea",
            "caption": {"rendered": "<p>A caption</p>"}, "source_url": f"{self._blog.url}/{each['file']}",
            "media_details": {"width": 2, "height": 3, "filesize": len(png(1))}, "mime_type": "image/png",
        }  # fmt: skip

    def _list(
        self, request: web.Request, rows: list[Any], shown: list[Any], form: Callable[[Any], Any] = lambda row: row
    ) -> web.Response:
        """Answer a page; ``shown`` are the rows that the user may see, which are counted all the same."""
        asked, page = int(request.query.get("per_page", "10")), int(request.query.get("page", "1"))
        size = min(asked, self._blog.most or asked)
        if size < asked and self._blog.refuses:
            params = {"per_page": f"per_page must be between 1 (inclusive) and {size} (inclusive)"}
            return _refuse(400, "rest_invalid_param", "Invalid parameter(s): per_page", params=params)
        pages = math.ceil(len(rows) / size)
        if page > max(1, pages) and "comments" not in request.path:
            return _refuse(400, "rest_post_invalid_page_number", "The page number requested is larger than available.")
        here = rows[size * (page - 1) : size * page]
        answer = _json([form(row) for row in here if row in shown])
        if self._blog.totals:
            stated = pages if self._blog.true_pages else math.ceil(len(rows) / asked)
            answer.headers["X-WP-Total"], answer.headers["X-WP-TotalPages"] = str(len(rows)), str(stated)
        return answer


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=json.dumps(value).encode(), headers={"Content-Type": JSON})


def _refuse(status: int, code: str, text: str, **data: Any) -> web.Response:
    return _json({"code": code, "message": text, "data": {"status": status, **data}}, status)
