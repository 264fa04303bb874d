"""WordPress' REST API, version 2, as a source. Pure.

The lists are short: their items have the fields that show a change, and none of the texts. Up to a hundred entries are
then requested together, with the names of their terms, their author and their featured picture (``_embed``). With a
sign-in, every request asks for the editor's view (``context=edit``), which has drafts and the texts as typed.

The setting ``base_url`` is the blog's address (``https://example.jp/blog``), its API's
(``https://example.jp/blog/wp-json``), or the path of the lists, as at WordPress.com
(``https://public-api.wordpress.com/wp/v2/sites/example.wordpress.com``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlsplit

from exporter.errors import NotAuthorised
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind, key_of
from exporter.model.records import Raw
from exporter.service.answers import refusal
from exporter.service.declarations import WORDPRESS
from exporter.service.discovery import Exploration, HomePage
from exporter.service.interface import (
    Call,
    Capabilities,
    EntryAnswer,
    NotShown,
    Page,
    Paginator,
    Refused,
    Validators,
    Values,
    WrongRecord,
)
from exporter.service.wordpress.address import API, explore
from exporter.service.wordpress.answers import (
    PAST_THE_END,
    code_of,
    page_limit,
    read_answer,
    read_list,
    read_record,
    stated_number,
    without_noise,
)
from exporter.service.wordpress.lists import PAGE_RECORDS, ListsInTurn, told
from exporter.service.wordpress.records import (
    BLOG_AUTHOR,
    CATEGORY_PATHS,
    REST_BASE,
    TRASH,
    WordPressRecords,
    is_locked,
)

Answer = TypeVar("Answer", list[Any], dict[str, Any])
Answered = TypeVar("Answered")

_POSTS, _PAGES, _CATEGORIES, _USERS, _TYPES = "posts", "pages", "categories", "users", "types"
_COMMENTS, _MEDIA = "comments", "media"
_ITEM_FIELDS: Final = (
    "id", "date", "date_gmt", "modified", "modified_gmt", "slug", "status", "type", "link", "title", "author", "parent",
    "featured_media", "comment_status", "ping_status", "sticky", "format", "menu_order", "template", "password",
    "content.protected", _CATEGORIES, "tags",
)  # fmt: skip
_EMBED: Final = "wp:term,author,wp:featuredmedia"
_UNSTABLE: Final = ("_links", "jetpack-related-posts")
"""Members that the archive leaves out: the API's links, which change with the reader's rights and with other records,
and Jetpack's choice of similar posts."""
_NOT_OWN: Final = frozenset({"post", "page", "attachment", "nav_menu_item"})
"""The types that are lists of their own here, or no content."""
_ROUTE: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_THEME_PREFIX: Final = "wp_"
"""How the types begin that hold a theme's parts: ``wp_block``, ``wp_template`` and others."""
_MAX_PARENTS: Final = 50
_BLOCKED: Final = frozenset({400, 401, 403, 404})
"""Statuses for a list that a blog has closed or lacks."""
_CLOSED: Final = frozenset({401, 403})


class WordPressService(WordPressRecords):
    """A WordPress, read through its REST API."""

    name = WORDPRESS.name

    def __init__(self, *, signed_in: bool = False, base_url: str = "", rest_route: bool = False) -> None:
        self._signed_in = signed_in
        self._rest_route = rest_route
        self._prefix = "" if rest_route else prefix_of(base_url)
        self.capabilities = Capabilities(
            validators=False, user=signed_in, comment_counts=False, entries_at_once=PAGE_RECORDS
        )
        self._categories: dict[str, tuple[str, str]] = {}
        self._writers: set[str] = set()
        self._noisy = False

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Return the service with the user's settings."""
        signed_in = any(settings.get(name) for name in ("user", "token", "token_command"))
        return cls(
            signed_in=signed_in, base_url=settings.get("base_url") or "", rest_route=bool(settings.get("rest_route"))
        )

    @classmethod
    def explore(cls, home: HomePage) -> Exploration | None:
        """Return an exploration that finds the API at a blog's address."""
        return explore(home)

    @property
    def notes(self) -> Sequence[str]:
        """A sentence if other bytes surround the blog's JSON."""
        if not self._noisy:
            return ()
        return (
            message(
                "The blog's answers have more than JSON in them, such as messages of PHP or a cache plugin's comment; "
                "it was left out"
            ),
        )

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that change the reading of responses, as JSON."""
        return {"signed_in": self._signed_in}

    def pages(self, kind: Kind, _blog_id: str, _entry_ids: Sequence[str]) -> Paginator:
        """Return a paginator for the entries of all types, the comments, or the media library."""
        if kind is Kind.ENTRY_LIST:
            lists, helpers = [_CATEGORIES, _POSTS, _PAGES, _TYPES], {_CATEGORIES, _TYPES}
            return ListsInTurn(
                message("entry list"), lists, helpers, self._entry_page, self._learn, lambda _: True, self._resize
            )

        def every(_: str) -> bool:
            """Comments and files of private entries are counted, but only shown to a user who may read them."""
            return self._signed_in

        if kind is Kind.COMMENTS:
            lists = [_USERS, _COMMENTS]
            return ListsInTurn(message("comment list"), lists, {_USERS}, self._comment_page, self._learn, every)
        return ListsInTurn(message("file list"), [_MEDIA], set(), self._media_page, self._learn, every)

    def _resize(self, records: int) -> None:
        """Request fewer entries together, because the blog sends no more on a page of a list."""
        self.capabilities = replace(self.capabilities, entries_at_once=min(records, self.capabilities.entries_at_once))

    def _call(self, request: Request, parse: Callable[[Response], Answered]) -> Call[Answered]:
        """Return a request whose answer may have other bytes around its JSON."""

        def read(response: Response) -> Answered:
            found = without_noise(response)
            self._noisy = self._noisy or found is not response
            return parse(found)

        return Call(request, read)

    def _learn(self, name: str, lesson: Any) -> list[str]:
        """Take in a page of a helping list; return the lists that it names."""
        known = lesson if isinstance(lesson, dict) else {}
        if name == _CATEGORIES:
            self._categories.update(
                (key, (value[0], value[1]))
                for key, value in known.items()
                if isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value)
            )
        elif name == _USERS:
            self._writers.update(known)
        else:
            return [route for route in known.values() if isinstance(route, str)]
        return []

    def _request(self, route: str, params: Mapping[str, str], *, editor: Mapping[str, str] | None = None) -> Request:
        """Return a request. ``editor`` has the additional parameters for a signed-in user."""
        asked = {**params, **({"context": "edit", **editor} if self._signed_in and editor is not None else {})}
        name = f"wp/v2/{route}"
        if self._rest_route:
            return Request(name, "/", {"rest_route": f"/{API}/{route}", **asked}, {})
        return Request(name, f"{self._prefix}/{route}", asked, {})

    def _listed(
        self, route: str, page: int, size: int, params: Mapping[str, str], editor: Mapping[str, str] | None = None
    ) -> Request:
        """Return the request for a list page. Lists are sorted by id, so that a new record shifts no page."""
        numbers = {"per_page": str(size), "page": str(page), "orderby": "id", "order": "asc"}
        return self._request(route, {**params, **numbers}, editor=editor)

    def _entry_page(self, route: str, page: int, size: int) -> Call[Page]:
        if route == _CATEGORIES:
            return self._category_page(page, size)
        if route == _TYPES:
            request = self._request(_TYPES, {}, editor={})

            def types(response: Response) -> Page:
                found = self._helped(request, response, dict, self._types_in, 1, 1)
                return replace(found, closed=self._signed_in)

            return self._call(request, types)
        request = self._listed(route, page, size, {"_fields": ",".join(_ITEM_FIELDS)}, {"status": "any"})

        def parse(response: Response) -> Page:
            if route not in {_POSTS, _PAGES} and not self._signed_in and response.status in _BLOCKED:
                return Page([], next=told(end=True))  # a type that is not public
            found = self._page(request, response, page, size)
            for item in found.items:
                if isinstance(item, dict):
                    self._complete_item(item, route)
            return found

        return self._call(request, parse)

    def _category_page(self, page: int, size: int) -> Call[Page]:
        request = self._listed(_CATEGORIES, page, size, {"_fields": "id,name,parent"})

        def lesson(answer: list[Any]) -> Any:
            return {
                key: [name, key_of(term.get("parent")) or ""]
                for term in answer
                if isinstance(term, dict)
                and (key := key_of(term.get("id"))) is not None
                and isinstance(name := term.get("name"), str)
            }

        return self._call(request, lambda response: self._helped(request, response, list, lesson, page, size))

    def _types_in(self, answer: dict[str, Any]) -> dict[str, str]:
        """Return the blog's own types, such as a portfolio, with their lists.

        With a sign-in, a type without pages on the blog is left out. Its records, such as contact form messages, are
        marked as published but never were.
        """
        found = {}
        for each in answer.values():
            if not isinstance(each, dict) or each.get("rest_namespace", API) != API:
                continue
            slug, route = each.get("slug"), each.get("rest_base")
            if not isinstance(slug, str) or not isinstance(route, str) or not _ROUTE.fullmatch(route):
                continue
            is_own = slug not in _NOT_OWN and not slug.startswith(_THEME_PREFIX)
            if is_own and (each.get("viewable") is True or not self._signed_in):
                found[slug] = route
        return found

    def _helped(
        self,
        request: Request,
        response: Response,
        form: type[Answer],
        lesson: Callable[[Answer], Any],
        page: int,
        size: int,
    ) -> Page:
        """Read a page of a helping list.

        Raises:
            ApiError: the blog has closed the list, which changes nothing for the other lists.
        """
        without = self._without_records(response, page, size)
        if without is not None:
            return without
        if response.status in _CLOSED:
            raise refusal(request, response, message("the blog has closed this list"))
        answer = read_answer(request, response, signed_in=self._signed_in)
        if not isinstance(answer, form):
            raise refusal(request, response, message("the answer has another form"))
        pages, total = stated_number(response, "x-wp-totalpages"), stated_number(response, "x-wp-total")
        if isinstance(answer, dict):
            total = len(answer)  # it has no pages
        return Page([], next=told(total=total, pages=pages, lesson=lesson(answer), count=len(answer)))

    def _complete_item(self, item: dict[str, Any], route: str) -> None:
        """Add the names of its categories and its list to a list item."""
        if route not in {_POSTS, _PAGES}:
            item[REST_BASE] = route
        ids = item.get(_CATEGORIES)
        keys = [key for key in map(key_of, ids) if key is not None] if isinstance(ids, list) else []
        paths = {key: path for key in keys if (path := self._path(key))}
        if paths:
            item[CATEGORY_PATHS] = paths

    def _path(self, key: str) -> list[str]:
        names: list[str] = []
        seen: set[str] = set()
        while key in self._categories and key not in seen and len(seen) < _MAX_PARENTS:
            seen.add(key)
            name, key = self._categories[key]
            names.append(name)
        return names[::-1]

    def _comment_page(self, route: str, page: int, size: int) -> Call[Page]:
        if route == _USERS:
            request = self._listed(_USERS, page, size, {"_fields": "id", "has_published_posts": "post,page"})

            def lesson(answer: list[Any]) -> Any:
                ids = (key_of(user.get("id")) for user in answer if isinstance(user, dict))
                return {key: True for key in ids if key is not None}

            return self._call(request, lambda response: self._helped(request, response, list, lesson, page, size))
        asked = self._listed(_COMMENTS, page, size, {}, {"status": "any", "type": "all"})

        def parse(response: Response) -> Page:
            found = self._page(asked, response, page, size, total=self._signed_in)
            for comment in found.items:
                if isinstance(comment, dict) and key_of(comment.get("author")) in self._writers:
                    comment[BLOG_AUTHOR] = True
            return found

        return self._call(asked, parse)

    def _media_page(self, route: str, page: int, size: int) -> Call[Page]:
        request = self._listed(route, page, size, {}, {"status": "inherit,private"})
        return self._call(request, lambda response: self._page(request, response, page, size, total=self._signed_in))

    def _without_records(self, response: Response, page: int, size: int) -> Page | None:
        """Return the facts of an answer without records: a page after the last one, or too large a page."""
        if page > 1 and response.status in _BLOCKED and code_of(response) in PAST_THE_END:
            return Page([], next=told(end=True))
        limit = page_limit(response, size) if page == 1 else None
        return None if limit is None else Page([], next=told(size=limit))

    def _page(self, request: Request, response: Response, page: int, size: int, *, total: bool = False) -> Page:
        """Read a page of records. ``total``: state the number of records, if all of them must be shown."""
        without = self._without_records(response, page, size)
        if without is not None:
            return without
        items = read_list(request, response, signed_in=self._signed_in)
        for item in items:
            _settle(item)
        stated, pages = stated_number(response, "x-wp-total"), stated_number(response, "x-wp-totalpages")
        return Page(items, next=told(total=stated, pages=pages), total=stated if total else None)

    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Return the request for a post."""
        return self.listed_entry_call(blog_id, entry_id, None, validators)

    def listed_entry_call(
        self, _blog_id: str, entry_id: str, item: Raw | None, _validators: Validators | None = None
    ) -> Call[EntryAnswer]:
        """Return the request for an entry of any type; an unknown one is requested as a post."""
        route = f"{self.list_of(item or {})}/{quote(entry_id, '', errors='surrogatepass')}"
        request = self._request(route, {"_embed": _EMBED}, editor={})

        def parse(response: Response) -> EntryAnswer:
            data = read_record(request, response, signed_in=self._signed_in)
            if key_of(data.get("id")) != entry_id:
                raise WrongRecord(request.operation, {}, response.status, message("the answer is another entry"))
            if data.get("status") == TRASH:
                raise Refused(request.operation, {}, response.status, message("the entry is in the trash"))
            if is_locked(data):
                reason = message("its text is protected by a password; sign in with --user to read it")
                raise NotShown(request.operation, {}, response.status, reason)
            _settle(data)
            return EntryAnswer(data, Validators())

        return self._call(request, parse)

    def list_of(self, item: Raw) -> str:
        """Return the list that a list item is from."""
        base, kind = item.get(REST_BASE), item.get("type")
        if isinstance(base, str) and base:
            return quote(base, "", errors="surrogatepass")
        return _PAGES if kind == "page" else _POSTS

    def entries_call(self, _blog_id: str, items: Mapping[str, Raw]) -> Call[list[Any]]:
        """Return the request for entries of a list. Those without their text are left out of the answer."""
        route = self.list_of(next(iter(items.values()), {}))
        params = {"include": ",".join(items), "_embed": _EMBED}
        request = self._listed(route, 1, self.capabilities.entries_at_once, params, {"status": "any"})

        def parse(response: Response) -> list[Any]:
            entries = read_list(request, response, signed_in=self._signed_in)
            found = [entry for entry in entries if isinstance(entry, dict) and not is_locked(entry)]
            for entry in found:
                _settle(entry)
            return found

        return self._call(request, parse)

    def user_call(self) -> Call[dict[str, Any]]:
        """Return the request for the signed-in user."""
        request = self._request("users/me", {"_fields": "id,name,slug,url,description,link"})

        def parse(response: Response) -> dict[str, Any]:
            try:
                return read_record(request, response, signed_in=self._signed_in)
            except NotShown as error:
                raise NotAuthorised(
                    message("{operation}: {reason}", operation=request.operation, reason=error.message)
                ) from None

        return self._call(request, parse)


def prefix_of(base_url: str) -> str:
    """Return the path from a base URL to the lists."""
    try:
        path = urlsplit(base_url).path.rstrip("/")
    except ValueError:
        path = ""
    if f"/{API}" in path:
        return ""
    return f"/{API}" if path.endswith("/wp-json") else f"/wp-json/{API}"


def _settle(record: Any) -> None:
    """Remove the unstable members from a record and from the records that it embeds."""
    todo = [record]
    while todo:
        found = todo.pop()
        if isinstance(found, list):
            todo += found
        elif isinstance(found, dict):
            for name in _UNSTABLE:
                found.pop(name, None)
            embedded = found.get("_embedded")
            todo += embedded.values() if isinstance(embedded, dict) else ()
