"""A fake WordPress on loopback that accepts posts, comments, files and categories, and can break its connections.

It answers as a WordPress 6.5 answered the same requests:

- A slug that is already used gets a number.
- A new post with a date counts as changed.
- The content of a comment is sent only in full.
- A comment needs a name and an e-mail address. Drafts and posts with closed comments accept none.
- A file of a forbidden type is refused with status 500.
- A comment may answer any comment, even one that does not exist, and has no other type than ``comment``.
- A scheduled post whose date has passed is published at once.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from html import escape
from typing import Any
from urllib.parse import quote

from aiohttp import web

from tests.http.service import running_service
from tests.wordpress.fake import FakeWordPress

NOW = "2026-02-03T04:05:06"
LATER = "2026-02-04T00:00:00"
RIGHTS = (
    "edit_posts", "publish_posts", "edit_published_posts", "edit_private_posts", "upload_files", "moderate_comments",
    "manage_categories", "unfiltered_html",
)  # fmt: skip
POST = {"title": "", "content": "", "status": "draft", "comment_status": "open", "ping_status": "open"}


@dataclass
class Death:
    """The number of the writing request at which the connection breaks, and whether the change is made before."""

    at: int = -1
    after: bool = False


@dataclass
class Home(FakeWordPress):
    """A WordPress that a blog can be moved to.

    Attributes:
        rights: the capabilities of the user.
        writes: the requests that changed something, in order.
        reads: the number of other requests.
        death: the request at which the connection breaks.
        refuse_write: returns the answer to a refused request, or ``None``.
        spoil: changes the fields that are sent, like a plugin.
        makes_folders_carelessly: refuse uploads that arrive during the first upload, as WordPress does.
        refuse_users: whether the user may not list users.
        late: the kind of record to make twice once, as if a delayed request arrived after its retry.
        keeps: the kinds of records that nobody can delete.
        takes_slug: whether something else has a slug already, given it and the status of its post.
        pages: the pages for visitors by address; any other is missing.
    """

    rights: tuple[str, ...] = RIGHTS
    rest_posts: dict[int, dict[str, Any]] = field(default_factory=dict)
    rest_comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    media: dict[int, dict[str, Any]] = field(default_factory=dict)
    terms: dict[int, dict[str, Any]] = field(default_factory=dict)
    rest_tags: dict[int, dict[str, Any]] = field(default_factory=dict)
    users: dict[int, dict[str, Any]] = field(default_factory=dict)
    refuse_users: bool = False
    writes: list[str] = field(default_factory=list)
    reads: int = 0
    death: Death = field(default_factory=Death)
    refuse_write: Callable[[str, Any], web.Response | None] = lambda _route, _fields: None
    spoil: Callable[[dict[str, Any]], dict[str, Any]] = lambda fields: fields
    makes_folders_carelessly: bool = False
    late: str = ""
    keeps: frozenset[str] = frozenset()
    takes_slug: Callable[[str, str], bool] = lambda _wanted, _status: False
    pages: dict[str, str] = field(default_factory=dict)
    making_folder: bool = False

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            self.reads += 1
            if request.path_qs in self.pages:
                return web.Response(text=self.pages[request.path_qs], content_type="text/html")
            return await super().answer(request)
        number = len(self.writes)
        self.writes.append(f"{request.method} {self.route_of(request)}")
        if number == self.death.at and not self.death.after:
            return self.cut(request)
        content = await request.read()
        if self.makes_folders_carelessly and self.route_of(request) == "wp/v2/media" and not self.media:
            if self.making_folder:
                return self.refuse(500, "rest_upload_unknown_error", "Unable to create directory wp-content/uploads.")
            self.making_folder = True
            await asyncio.sleep(0.2)
        answer = self.written(self.route_of(request), request, content)
        if number == self.death.at:
            return self.cut(request)
        return answer

    def cut(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def route_of(self, request: web.Request) -> str:
        route = request.query.get("rest_route") or request.path.removeprefix("/wp-json")
        return route.strip("/")

    def written(self, route: str, request: web.Request, content: bytes) -> web.Response:
        is_file = route == "wp/v2/media" and request.method == "POST"
        fields: Any = dict(request.query) if is_file else json.loads(content or b"{}")
        refused = self.refuse_write(route, fields)
        if refused is not None:
            return refused
        fields = self.spoil(fields)
        kind, _, number = route.removeprefix("wp/v2/").partition("/")
        if request.method == "DELETE":
            return self.delete(route, kind, int(number))
        if kind == self.late:
            self.late = ""
            self.written(route, request, content)
        if is_file:
            return self.take_file(request, fields, content)
        if kind == "media":
            self.media[int(number)] |= fields
            return self.reply(route, self.media[int(number)])
        if kind == "categories":
            return self.take_term(fields)
        if kind == "tags":
            return self.take_term(fields, self.rest_tags)
        if kind == "comments":
            return self.change_comment(int(number), fields) if number else self.take_comment(fields)
        assert kind in {"posts", "pages"}, kind
        return self.change_post(int(number), fields, kind) if number else self.take_post(fields, kind)

    def delete(self, route: str, kind: str, number: int) -> web.Response:
        """Delete a record for good. Its comments go with a post, and its files lose it."""
        if kind in self.keeps:
            return self.refuse(403, "rest_cannot_delete")
        posts = self.rest_posts
        {"posts": posts, "pages": posts, "media": self.media, "comments": self.rest_comments}[kind].pop(number)
        if kind in {"posts", "pages"}:
            self.rest_comments = {key: each for key, each in self.rest_comments.items() if each["post"] != number}
            for each in self.media.values():
                each["post"] = 0 if each["post"] == number else each["post"]
        return self.reply(route, {"deleted": True})

    def for_visitors(self, route: str, request: web.Request) -> web.Response:
        """Answer a request without a login."""
        posts = {number: each for number, each in self.rest_posts.items() if each["status"] == "publish"}
        comments = [
            each for each in self.rest_comments.values() if each["status"] == "approved" and each["post"] in posts
        ]
        lists: dict[str, list[dict[str, Any]]] = {
            "wp/v2/posts": [self.shown(each) for each in posts.values() if each["type"] == "post"],
            "wp/v2/pages": [self.shown(each) for each in posts.values() if each["type"] == "page"],
            "wp/v2/comments": [self.whole(each) for each in comments],
            "wp/v2/media": [
                each for each in self.media.values() if each["status"] != "private" and each["post"] in {0, *posts}
            ],
        }
        if route not in lists or request.query.get("context") == "edit":
            return super().routed(route, request, owner=False)
        return self.listed(route, request, lists[route])

    def take_post(self, fields: dict[str, Any], kind: str = "posts") -> web.Response:
        number = self.number()
        made = {**POST, **fields, "id": number, "modified_gmt": fields["date_gmt"], "type": kind[:-1]}
        made["slug"] = self.free_slug(quote(fields["slug"]).lower(), made["status"])
        assert kind == "posts" or not {"categories", "tags"} & set(fields)
        made.setdefault("categories", [1])
        self.rest_posts[number] = made
        return self.created(self.shown(made))

    def change_post(self, number: int, fields: dict[str, Any], kind: str = "posts") -> web.Response:
        if number not in self.rest_posts or self.rest_posts[number]["type"] != kind[:-1]:
            return self.refuse(404, "rest_post_invalid_id")
        assert kind == "posts" or not {"categories", "tags"} & set(fields)
        post = self.rest_posts[number]
        if fields.get("status") == "future" and fields.get("date_gmt", post["date_gmt"]) <= NOW:
            fields = {**fields, "status": "publish"}
        categories = fields.get("categories", post["categories"]) or [1]
        post |= {**fields, "categories": categories, "modified_gmt": NOW}
        return self.reply("", self.shown(post))

    def shown(self, post: dict[str, Any]) -> dict[str, Any]:
        place = f"?p={post['id']}" if post["status"] == "draft" else f"{post['slug']}/"
        content = re.sub(r"<!-- /?wp:.*?-->|<!--more.*?-->", "", post["content"], flags=re.DOTALL)
        excerpt = post.get("excerpt", "")
        both = {
            "excerpt": {"raw": excerpt, "rendered": excerpt},
            "title": {"raw": post["title"], "rendered": escape(post["title"], quote=False)},
            "content": {"raw": post["content"], "rendered": content, "protected": False},
        }
        more = {"date": japan(post["date_gmt"])}
        other = {"tags": [], "featured_media": 0, "author": 1, "type": "post"}
        return {**other, **post, **more, **both, "link": f"{self.url}/{place}"}

    def free_slug(self, wanted: str, status: str) -> str:
        taken = {each["slug"] for each in [*self.rest_posts.values(), *self.media.values()]}
        found, number = wanted, 2
        if self.takes_slug(wanted, status):
            taken.add(wanted)
        while status != "draft" and found in taken:
            found, number = f"{wanted}-{number}", number + 1
        return found

    def take_comment(self, fields: dict[str, Any]) -> web.Response:
        post = self.rest_posts.get(fields["post"])
        if post is None:
            return self.refuse(403, "rest_comment_invalid_post_id")
        if post["status"] in {"draft", "trash"}:
            return self.refuse(403, "rest_comment_draft_post")
        if post["comment_status"] != "open":
            return self.refuse(403, "rest_comment_closed", "Sorry, comments are closed for this item.")
        if not fields["author_name"] or not fields["author_email"] or not fields["content"].strip():
            return self.refuse(400, "rest_comment_author_data_required")
        same = ("post", "author_name", "author_email", "content")
        if any(all(each[name] == fields[name] for name in same) for each in self.rest_comments.values()):
            return self.refuse(409, "comment_duplicate", "Duplicate comment detected.")
        number = self.number()
        status = {"approve": "approved"}.get(fields["status"], fields["status"])
        self.rest_comments[number] = {"parent": 0, **fields, "id": number, "status": status, "type": "comment"}
        return self.created(self.whole(self.rest_comments[number]))

    def change_comment(self, number: int, fields: dict[str, Any]) -> web.Response:
        if number not in self.rest_comments:
            return self.refuse(404, "rest_comment_invalid_id")
        status = {"approve": "approved"}.get(fields["status"], fields["status"])
        self.rest_comments[number] |= {**fields, "status": status}
        return self.reply("", self.whole(self.rest_comments[number]))

    def whole(self, comment: dict[str, Any]) -> dict[str, Any]:
        both = {"raw": comment["content"], "rendered": comment["content"]}
        return {**comment, "date": japan(comment["date_gmt"]), "content": both}

    def take_file(self, request: web.Request, fields: dict[str, Any], content: bytes) -> web.Response:
        name = request.headers["Content-Disposition"].partition('filename="')[2].rstrip('"')
        if not name.endswith((".png", ".jpg", ".gif", ".pdf", ".mp3", ".mp4")):
            return self.refuse(
                500, "rest_upload_sideload_error", "Sorry, you are not allowed to upload this file type."
            )
        number = self.number()
        url = self.file(f"2026/02/{number}-{name}", content, request.content_type)
        slug = self.free_slug(fields["slug"].lower(), "inherit")
        self.media[number] = {
            "id": number,
            "slug": slug,
            "source_url": url,
            "status": fields.get("status", "inherit"),
            "post": int(fields.get("post", 0)),
            "title": fields["title"],
            "alt_text": fields.get("alt_text", ""),
        }
        return self.created(self.media[number])

    def take_term(self, fields: dict[str, Any], terms: dict[int, dict[str, Any]] | None = None) -> web.Response:
        terms, above = self.terms if terms is None else terms, fields.get("parent", 0)
        for number, term in terms.items():
            same = fields["name"] == term["name"] and above == term["parent"]
            if same or fields["slug"] == term["slug"]:
                data = {"status": 400, "term_id": number}
                body = json.dumps({"code": "term_exists", "message": "A term of this name exists.", "data": data})
                return web.Response(status=400, text=body, content_type="application/json")
        number = self.number()
        terms[number] = {"id": number, "name": fields["name"], "slug": fields["slug"], "parent": above}
        return self.created(terms[number])

    def created(self, record: dict[str, Any]) -> web.Response:
        return web.Response(status=201, text=json.dumps(record), content_type="application/json")

    def routed(self, route: str, request: web.Request, *, owner: bool) -> web.Response:
        if route == "wp/v2/users/me" and owner:
            return self.reply(route, {"id": 1, "capabilities": dict.fromkeys(self.rights, True)})
        query = request.query
        if not owner:
            return self.for_visitors(route, request)
        lists: dict[str, list[dict[str, Any]]] = {
            "wp/v2/posts": [self.shown(each) for each in self.rest_posts.values() if each["type"] == "post"],
            "wp/v2/pages": [self.shown(each) for each in self.rest_posts.values() if each["type"] == "page"],
            "wp/v2/comments": [self.whole(each) for each in self.rest_comments.values()],
            "wp/v2/media": list(self.media.values()),
            "wp/v2/categories": list(self.terms.values()),
            "wp/v2/tags": list(self.rest_tags.values()),
            "wp/v2/users": list(self.users.values()),
        }
        if route == "wp/v2/users" and self.refuse_users:
            return self.refuse(403, "rest_forbidden_context")
        if route not in lists:
            return super().routed(route, request, owner=owner)
        found = lists[route]
        for name, field_name in (("slug", "slug"), ("author_email", "author_email"), ("include", "id")):
            if name in query:
                wanted = {quote(each).lower() if name == "slug" else each for each in query[name].split(",")}
                found = [each for each in found if str(each[field_name]) in wanted]
        if query.get("status", "any") not in {"any", "all"}:
            found = [each for each in found if each["status"] in query["status"].split(",")]
        if route == "wp/v2/comments" and "content" not in query["_fields"].split(","):
            found = [{**each, "content": {}} for each in found]
        return self.listed(route, request, found)


def japan(moment: str) -> str:
    """Convert a UTC time to Japanese time."""
    return (datetime.fromisoformat(moment) + timedelta(hours=9)).isoformat()


@asynccontextmanager
async def running_home(**given: Any) -> AsyncIterator[Home]:
    """Run an empty WordPress."""
    async with running_service() as service:
        yield Home(service, **given)
