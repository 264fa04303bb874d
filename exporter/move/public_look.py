"""Search the public pages of a WordPress for content that a move sent as private or as a draft.

WordPress lists more than its pages show: every uploaded file without a post, and every category. So after a move this
module reads the REST API's lists, the search, the feeds, the sitemaps and the first page without a login.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from exporter.errors import ApiError, NotAuthorised
from exporter.html.text import collapse
from exporter.model.exchange import Request, Response
from exporter.move.home import HomeContent, file_of
from exporter.move.outcome import Exposure, Thing
from exporter.wordpress import WordPressApi

_LISTS: Final = {
    "posts": Thing.POST,
    "pages": Thing.POST,
    "media": Thing.PICTURE,
    "categories": Thing.CATEGORY,
    "tags": Thing.TAG,
}
_PAGES: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("/", {}),
    ("/", {"feed": "rss2"}),
    ("/", {"feed": "comments-rss2"}),
    ("/wp-sitemap.xml", {}),
)
_SITEMAPS_READ: Final = 200
_ATTACHMENTS_READ: Final = 200
_PUBLISHED: Final = "publish"
_FOUND: Final = frozenset({200, 301, 302, 303, 307, 308})
_LOCATION: Final = re.compile(r"<loc>\s*([^<]+?)\s*</loc>")
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]+")
_TEXT: Final = re.compile(r">([^<>]+)<")


@dataclass(frozen=True, slots=True)
class PrivateThings:
    """The content that visitors of the new home must not see.

    Attributes:
        posts: the addresses of posts by their numbers.
        titles: the titles of these posts by their numbers, without titles that public posts also have.
        files: the addresses of files by their numbers.
        categories: the names of categories and tags that only private posts have.
    """

    posts: Mapping[int, str] = field(default_factory=dict)
    titles: Mapping[int, str] = field(default_factory=dict)
    files: Mapping[int, str] = field(default_factory=dict)
    categories: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.posts or self.files or self.categories)


def private_things(
    home: HomeContent, titles: Mapping[str, str], public_titles: Iterable[str], categories: Iterable[str]
) -> PrivateThings:
    """Return the private content of the new home.

    Args:
        home: all records that the owner sees.
        titles: the titles of private posts, by the keys of their entries.
        public_titles: the titles of public posts.
        categories: the names of categories and tags that only private entries have.
    """
    posts = {post.id: post.url for post in home.posts.values() if post.status != _PUBLISHED and not post.gone}
    known = {_plain(title) for title in public_titles}
    named = {
        home.posts[key].id: _plain(title)
        for key, title in titles.items()
        if key in home.posts and home.posts[key].id in posts
    }
    files = {file.id: file.url for file in home.files.values() if file.status != "inherit" or file.post in posts}
    return PrivateThings(
        posts,
        {number: title for number, title in named.items() if title and title not in known},
        files,
        frozenset(map(_plain, categories)) - {""},
    )


async def look_in_public(api: WordPressApi, private: PrivateThings) -> list[Exposure]:
    """Return the private content that visitors can see, each once for each place.

    Args:
        api: the new home, without credentials.
        private: the private content.

    Raises:
        TransportError, ServiceError: the new home failed.
    """
    found: dict[Exposure, None] = {}
    for route, thing in _LISTS.items():
        for raw in await _listed(api, f"wp/v2/{route}"):
            found.update(dict.fromkeys(_in_record(raw, thing, f"wp/v2/{route}", private)))
    for raw in await _listed(api, "wp/v2/search"):
        found.update(dict.fromkeys(_in_text(f">{_title(raw)}< {raw.get('url', '')}", "wp/v2/search", private)))
    async for place, text in _pages(api):
        found.update(dict.fromkeys(_in_text(text, place, private)))
    for number in list(private.files)[:_ATTACHMENTS_READ]:
        status, _ = await _page(api, "/", {"attachment_id": str(number)})
        if status in _FOUND:
            found[Exposure(Thing.PICTURE, str(number), f"/?attachment_id={number}")] = None
    return list(found)


def _in_record(raw: dict[str, Any], thing: Thing, place: str, private: PrivateThings) -> Iterator[Exposure]:
    number = raw.get("id")
    known = {Thing.POST: private.posts, Thing.PICTURE: private.files}.get(thing, {})
    name = raw.get("name")
    # WordPress counts public posts only. A category with public posts may be shown.
    unused = thing in {Thing.CATEGORY, Thing.TAG} and raw.get("count") in {0, None}
    shown = isinstance(name, str) and unused and _plain(name) in private.categories
    if isinstance(number, int) and (number in known or shown):
        yield Exposure(thing, str(number), place)
    file = file_of(raw) if thing is Thing.PICTURE else None
    if file is not None and number not in known and file[1].url in private.files.values():
        yield Exposure(thing, str(number), place)


def _in_text(text: str, place: str, private: PrivateThings) -> Iterator[Exposure]:
    addresses = {_place(each) for each in _ADDRESS.findall(unescape(text))}
    texts = {_plain(each) for each in _TEXT.findall(text)}
    for number, link in private.posts.items():
        if _place(link) in addresses or private.titles.get(number) in texts:
            yield Exposure(Thing.POST, str(number), place)
    for number, url in private.files.items():
        if _place(url) in addresses:
            yield Exposure(Thing.PICTURE, str(number), place)


async def _listed(api: WordPressApi, route: str) -> list[dict[str, Any]]:
    """Return all records of a list; none if visitors may not read it."""
    fields = {"_fields": "id,slug,title,name,count,source_url,link,url"}
    try:
        return [raw async for page in api.pages(route, fields) for raw in page.items if isinstance(raw, dict)]
    except (ApiError, NotAuthorised):
        return []


async def _pages(api: WordPressApi) -> AsyncIterator[tuple[str, str]]:
    """Yield the pages for visitors with their places: the first page, the feeds and the sitemaps."""
    for path, params in _PAGES:
        _, text = await _page(api, path, params)
        yield f"{path}{'?feed=' + params['feed'] if params else ''}", text
        if path.endswith(".xml"):
            for address in _LOCATION.findall(text)[:_SITEMAPS_READ]:
                parts = urlsplit(unescape(address))
                if parts.netloc == urlsplit(str(api.client.origin)).netloc:
                    inner = parts.path.removeprefix(api.client.base.raw_path.rstrip("/"))
                    yield inner, (await _page(api, inner, dict(parse_qsl(parts.query))))[1]


async def _page(api: WordPressApi, path: str, params: Mapping[str, str]) -> tuple[int, str]:
    """Return the status and the text of a page as visitors get it."""

    def read(response: Response) -> tuple[int, str]:
        return response.status, response.body.decode("utf-8", "replace")

    return await api.client.fetch(Request(f"WordPress {path}", path, params, {}), read)


def _title(raw: dict[str, Any]) -> str:
    title = raw.get("title")
    title = title.get("rendered") if isinstance(title, dict) else title
    return title if isinstance(title, str) else ""


def _plain(text: str) -> str:
    return collapse(unescape(text))


def _place(address: str) -> str:
    """Return an address in one form for all its spellings, without the scheme."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    return f"{parts.netloc.lower()}{unquote(parts.path).rstrip('/')}?{parts.query}"
