"""Search the public pages of a WordPress for content that the plan of a move keeps private.

WordPress lists more than its pages show: every uploaded file without a post, and every category. So after a move this
module reads the REST API's lists, the search, the feeds, the sitemaps, the first page and the address of each private
post and picture without a login. The plan decides which records are private, not the new home.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from exporter.errors import ApiError, NotAuthorised, ServiceError
from exporter.html.text import collapse
from exporter.model.exchange import Request, Response
from exporter.move.home import COMMENTS, FILES, HomeContent, HomePost, entry_in, file_of, file_slug
from exporter.move.map_file import MapFile, Mapped
from exporter.move.outcome import Exposure, Thing
from exporter.move.plan import Plan
from exporter.move.privacy import is_shown_by_status
from exporter.move.terms import PlannedTerm
from exporter.wordpress import WordPressApi

_LISTS: Final = {
    "posts": Thing.POST,
    "pages": Thing.POST,
    "media": Thing.PICTURE,
    "comments": Thing.COMMENT,
    "categories": Thing.CATEGORY,
    "tags": Thing.TAG,
    "search": Thing.POST,
}
_PAGES: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("/", {}),
    ("/", {"feed": "rss2"}),
    ("/", {"feed": "comments-rss2"}),
    ("/wp-sitemap.xml", {}),
)
_SITEMAPS_READ: Final = 200
_ADDRESSES_READ: Final = 200
_NO_POST: Final = "4294967295"
"""A number that no post has. A home that answers it with a page, such as "coming soon", answers all numbers so."""
_FOUND: Final = frozenset({200, 301, 302, 303, 307, 308})
_MOST_FAILURES: Final = 3
"""Failing parts in a row that end a search, because each may take the time of all its retries."""
_LOCATION: Final = re.compile(r"<loc>([^<]+)</loc>")
_ADDRESS: Final = re.compile(r"(?:https?:)?//[^\s\"'<>)]+|(?<=[\"'(=])/[^\s\"'<>)]*")
_SIZE: Final = re.compile(r"-(?:\d{1,5}x\d{1,5}|scaled)(?=\.[0-9A-Za-z]{1,5}$)")
"""What WordPress adds to the name of a smaller copy of a picture."""
_MARK: Final = re.compile(r"(?:[\"' ]post-|\bpostid-|\bpage-id-|[?&;](?:p|page_id)=)([0-9]{1,18})(?![0-9])")
_SIGN_IN: Final = re.compile(r"\b(?:id|name)=[\"']?loginform\b")
_TEXT: Final = re.compile(r">([^<>]+)<")
_COMMENT: Final = re.compile(r"#comment-([0-9]{1,18})(?![0-9])")


class PrivatePost(NamedTuple):
    """The address, the title and the name in addresses of a post; empty if something public has the same."""

    url: str
    title: str = ""
    slug: str = ""


@dataclass(frozen=True, slots=True)
class PrivateThings:
    """The content that visitors of the new home must not see.

    Attributes:
        posts: the posts by their numbers.
        files: the addresses of files by their numbers.
        comments: the numbers of comments.
        categories: the names of categories and tags that only private posts have.
        admitted: the private records that the new home itself calls public.
    """

    posts: Mapping[int, PrivatePost] = field(default_factory=dict)
    files: Mapping[int, str] = field(default_factory=dict)
    comments: frozenset[int] = frozenset()
    categories: frozenset[str] = frozenset()
    admitted: tuple[Exposure, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.posts or self.files or self.comments or self.categories)


def private_things(
    home: HomeContent,
    plans: Iterable[Plan],
    names: Iterable[str] = (),
    made: Container[str] = frozenset(),
    mapped: MapFile | None = None,
    before: Mapping[str, int] | None = None,
) -> PrivateThings:
    """Return the content of the new home that the plans keep private.

    A picture that any public entry shows is public. A draft that is not private and that a person published is public.

    Args:
        home: all records that the owner sees.
        plans: of the whole blog.
        names: texts that pages show to everybody, such as the name of the blog.
        made: the keys of posts that are a moment old, so that no person has published them.
        mapped: the records that the move made. It names those that lost their keys in the new home.
        before: the numbers of the categories that the new home had before this run, by name. A category of these that
            the move did not make, such as WordPress' default one, tells nothing.
    """
    sorting = _Sorting(home, made, mapped, before or {})
    for plan in plans:
        sorting.add(plan)
    known = {_plain(name) for name in (*names, *sorting.words, *home.categories.by_name, *home.tags.by_name)}
    known |= {_plain(name) for _, name in home.foreign}
    for post in sorting.of_other_blogs():
        known |= {_plain(post.title), unquote(post.slug)}
    posts = {
        post.id: PrivatePost(post.url)
        for key, post in home.posts.items()
        if not _is_shown(post) and not post.gone and key not in sorting.public
    }
    for number, url in sorting.keyless.items():
        posts[number] = PrivatePost("" if _last_name(url) in known - {""} else url)
    for there, title, slug in sorting.hidden:
        posts[there.id] = PrivatePost(there.url, *("" if each in known else each for each in (_plain(title), slug)))
    public = {file_slug(sha256) for sha256 in sorting.public_pictures}
    private = {file_slug(sha256) for sha256 in sorting.pictures} - public
    files = {
        file.id: file.url
        for slug, file in home.files.items()
        if slug in private or (slug not in public and (file.status == "private" or file.post in posts))
    }
    return PrivateThings(
        posts,
        files,
        frozenset(sorting.comments) | {each.id for each in home.comments.values() if each.post in posts},
        frozenset(map(_plain, sorting.terms - sorting.public_terms)) - {""},
        tuple(sorting.admitted(private)),
    )


class _Sorting:
    """Sorts planned content into public and private records.

    Attributes:
        public: the keys of public entries, also of those that a person made private in the new home.
        hidden: private posts with their titles and names in addresses.
        keyless: the addresses of private posts without their keys, by their numbers.
        words: the titles and names of public entries.
        pictures: the SHA-256 of the pictures that private entries show.
        public_pictures: the same of public entries.
        comments: the numbers of hidden comments.
        terms: the names of the categories and tags of entries that are not public.
        public_terms: the same of public entries.
    """

    def __init__(
        self, home: HomeContent, made: Container[str], mapped: MapFile | None, before: Mapping[str, int]
    ) -> None:
        self._home = home
        self._made = made
        self._mapped = mapped
        self._before = before
        self._blog_ids: set[str] = set()
        self.public: set[str] = set()
        self.hidden: list[tuple[HomePost, str, str]] = []
        self.keyless: dict[int, str] = {}
        self.words: set[str] = set()
        self.pictures: set[str] = set()
        self.public_pictures: set[str] = set()
        self.comments: set[int] = set()
        self.terms: set[str] = set()
        self.public_terms: set[str] = set()

    def add(self, plan: Plan) -> None:
        """Sort the entries in a plan, with their pictures, comments, categories and tags."""
        public: set[str] = set()
        self._blog_ids.add(plan.blog_id)
        for planned in plan:
            there = self._home.posts.get(planned.key)
            published = there is not None and _is_shown(there)
            by_person = not plan.private and planned.key not in self._made
            if plan.public or (published and (by_person or plan.may_be_published(planned.post))):
                public.add(planned.post.id)
                self.public.add(planned.key)
                self.words |= {planned.title, planned.slug}
            elif there is not None and not there.gone:
                self.hidden.append((there, planned.title, planned.slug))
            elif there is None and plan.private and not plan.may_be_published(planned.post):
                lost = self._made_as(Thing.POST, planned.post.id)
                self.keyless |= {} if lost is None else {lost.id: lost.url}
            held = (each for each in planned.post.comments if not each.visible)
            found = (
                self._home.comments.get(plan.address(each)) or self._made_as(Thing.COMMENT, each.comment.id)
                for each in held
            )
            self.comments |= {each.id for each in found if each is not None}
        for sha256, entries in plan.shown_in.items():
            is_public = plan.public or not public.isdisjoint(entries)
            (self.public_pictures if is_public else self.pictures).add(sha256)
        (self.public_terms if plan.public else self.terms).update(
            term.name for term in plan.terms() if plan.public or not self._was_there(term)
        )

    def _was_there(self, term: PlannedTerm) -> bool:
        """Return whether the new home had a category of this name, and the move did not make it."""
        number = self._before.get(_plain(term.name))
        made = self._made_as(Thing.CATEGORY, term.key)
        return number is not None and (made is None or made.id != number)

    def of_other_blogs(self) -> Iterator[HomePost]:
        """Yield the public posts that moves of other blogs made."""
        for key, post in self._home.posts.items():
            if _is_shown(post) and all(entry_in(blog_id, key) is None for blog_id in self._blog_ids):
                yield post

    def _made_as(self, thing: Thing, key: str) -> Mapped | None:
        return None if self._mapped is None else self._mapped.of(thing, key)

    def admitted(self, private: Container[str]) -> Iterator[Exposure]:
        """Yield the private records that the new home itself calls public.

        Args:
            private: the slugs of private files.
        """
        shown = {post.id for post in self._home.posts.values() if _is_shown(post)}
        for post, _, _ in self.hidden:
            if post.id in shown:
                yield Exposure(Thing.POST, str(post.id), post.collection.route)
        for slug, file in self._home.files.items():
            if slug in private and file.status != "private" and (not file.post or file.post in shown):
                yield Exposure(Thing.PICTURE, str(file.id), FILES.route)
        for comment in self._home.comments.values():
            if comment.id in self.comments and comment.shown and comment.post in shown:
                yield Exposure(Thing.COMMENT, str(comment.id), COMMENTS.route)


def _is_shown(post: HomePost) -> bool:
    return is_shown_by_status(post.status)


class Look(NamedTuple):
    """The result of a search.

    Attributes:
        exposed: the private content that visitors can see, each once for each place.
        failure: why a part of the new home could not be searched; ``None`` if nothing failed.
    """

    exposed: tuple[Exposure, ...]
    failure: ServiceError | None


async def look_in_public(api: WordPressApi, private: PrivateThings) -> Look:
    """Search for private content as a visitor. A part that fails does not end the search, but three in a row do.

    Args:
        api: the new home, without credentials.
        private: the private content.
    """
    posts = {number: _apart(api, post) for number, post in private.posts.items()}
    search = _Search(api, replace(private, posts=posts))
    if not private:
        return Look(private.admitted, None)
    with contextlib.suppress(_Ended):
        await search.lists()
        await search.pages()
        await search.addresses()
    return Look(tuple(search.found), search.failure)


def _apart(api: WordPressApi, post: PrivatePost) -> PrivatePost:
    """Return a post without its address if that is the front page. Plugins name it for posts that they hide."""
    return post._replace(url="") if _inner(api, post.url) == ("/", {}) else post


class _Ended(Exception):
    """So many parts failed that the new home is out of order."""


class _Search:
    """A search through the lists, the pages and the private addresses of a new home."""

    def __init__(self, api: WordPressApi, private: PrivateThings) -> None:
        self._api = api
        self._private = private
        self._failures = 0
        self._closed: ServiceError | None = None
        self.found = dict.fromkeys(private.admitted)
        self.failure: ServiceError | None = None

    async def lists(self) -> None:
        """Search the lists of REST. Visitors may not read some of them."""
        read = 0
        for name, thing in _LISTS.items():
            route, pages = f"wp/v2/{name}", 0
            try:
                async for page in self._api.pages(route, {"_fields": "id,slug,title,name,count,source_url,link,url"}):
                    pages += 1
                    for raw in page.items:
                        if isinstance(raw, dict):
                            self.found |= dict.fromkeys(_in_record(self._api, raw, thing, route, self._private))
            except (ApiError, NotAuthorised) as error:
                self._closed = error
                if pages:
                    self._failed(error)
            except ServiceError as error:
                self._failed(error)
            else:
                self._failures = 0
            read += pages
        if read:
            self._closed = None

    async def pages(self) -> None:
        """Search the pages for visitors: the first page, the feeds and the sitemaps."""
        is_open = False
        for path, params in _PAGES:
            status, text = await self._page(path, params)
            is_open |= status in _FOUND and _SIGN_IN.search(text) is None
            self.found |= dict.fromkeys(_in_text(self._api, text, f"{path}{_query(params)}", self._private))
            if path.endswith(".xml"):
                for address in _LOCATION.findall(text)[:_SITEMAPS_READ]:
                    inner = _inner(self._api, unescape(address).strip())
                    if inner is not None:
                        _, text_there = await self._page(*inner)
                        self.found |= dict.fromkeys(_in_text(self._api, text_there, inner[0], self._private))
        if not is_open:
            self.failure = self.failure or self._closed

    async def addresses(self) -> None:
        """Open the own pages of private posts and pictures."""
        posts = self._private.posts
        wanted: list[tuple[Thing, int, str, dict[str, str]]] = []
        for number, post in list(posts.items())[:_ADDRESSES_READ]:
            inner = _inner(self._api, post.url)
            if inner is not None:
                wanted.append((Thing.POST, number, *inner))
        files = list(self._private.files)[:_ADDRESSES_READ]
        wanted += [(Thing.PICTURE, number, "/", {"attachment_id": str(number)}) for number in files]
        if not wanted:
            return
        missing_status, missing_text = await self._page("/", {"p": _NO_POST})
        answers_all, usual = missing_status in {0, *_FOUND}, _texts(missing_text)
        for thing, number, path, params in wanted:
            if params and answers_all:
                continue
            status, text = await self._page(path, params)
            # WordPress redirects a name that it does not know to a public post with a similar one.
            if status in _FOUND and (params or _names(text, number, posts[number].title, usual)):
                self.found[Exposure(thing, str(number), f"{path}{_query(params)}")] = None

    async def _page(self, path: str, params: Mapping[str, str]) -> tuple[int, str]:
        """Return the status and the text of a page as visitors get it; 0 and no text if it fails."""

        def read(response: Response) -> tuple[int, str]:
            return response.status, response.body.decode("utf-8", "replace")

        try:
            answer = await self._api.client.fetch(Request(f"WordPress {path}", path, params, {}), read)
        except ServiceError as error:
            self._failed(error)
            return 0, ""
        self._failures = 0
        return answer

    def _failed(self, error: ServiceError) -> None:
        self.failure = self.failure or error
        self._failures += 1
        if self._failures == _MOST_FAILURES:
            raise _Ended


def _names(page: str, number: int, title: str, usual: Container[str]) -> bool:
    """Return whether a page is that of a post, by the marks that WordPress puts there or by its title.

    ``usual`` are the texts of a page about no post; a title among them proves nothing.
    """
    return number in _marked(page) or (title != "" and title not in usual and title in _texts(page))


def _marked(page: str) -> set[int]:
    """Return the numbers of the posts that a page is about, by the marks that WordPress puts there."""
    return set(map(int, _MARK.findall(page)))


def _texts(page: str) -> set[str]:
    return {_plain(each) for each in _TEXT.findall(page)} - {""}


def _in_record(
    api: WordPressApi, raw: dict[str, Any], thing: Thing, place: str, private: PrivateThings
) -> Iterator[Exposure]:
    number = raw.get("id")
    known: Container[Any] = {
        Thing.POST: private.posts,
        Thing.PICTURE: private.files,
        Thing.COMMENT: private.comments,
    }.get(thing, ())
    name = raw.get("name")
    # WordPress counts public posts only. A category with public posts may be shown.
    unused = thing in {Thing.CATEGORY, Thing.TAG} and not raw.get("count")
    shown = isinstance(name, str) and unused and _plain(name) in private.categories
    if isinstance(number, int) and (number in known or shown):
        yield Exposure(thing, str(number), place)
    elif thing is Thing.POST:
        slug, title = raw.get("slug"), _plain(_title(raw))
        for each, post in private.posts.items():
            if (post.title and post.title == title) or (
                post.slug and isinstance(slug, str) and unquote(slug) == post.slug
            ):
                yield Exposure(thing, str(each), place)
        yield from _in_text(api, f'"{raw.get("link", "")}" "{raw.get("url", "")}"', place, private)
    file = file_of(raw) if thing is Thing.PICTURE else None
    if file is not None and number not in known and file[1].url in private.files.values():
        yield Exposure(thing, str(number), place)


def _in_text(api: WordPressApi, text: str, place: str, private: PrivateThings) -> Iterator[Exposure]:
    home = str(api.client.origin)
    found = _ADDRESS.findall(unescape(text).replace("\\/", "/"))
    addresses = {_place(f"{home}{each}" if each[0] == "/" != each[1:2] else each) for each in found}
    files = {each.partition("?")[0] for each in addresses}
    files |= {_SIZE.sub("", each) for each in files}
    texts, marked = _texts(text), _marked(text)
    for number in private.comments.intersection(map(int, _COMMENT.findall(text))):
        yield Exposure(Thing.COMMENT, str(number), place)
    for number, post in private.posts.items():
        # A title alone proves nothing. A menu or a public text may have the same words.
        if (post.url and _place(post.url) in addresses) or (post.title in texts and number in marked):
            yield Exposure(Thing.POST, str(number), place)
    for number, url in private.files.items():
        name = _place(url).partition("?")[0]
        if url and not files.isdisjoint((name, name.replace("-scaled.", "."))):
            yield Exposure(Thing.PICTURE, str(number), place)


def _inner(api: WordPressApi, address: str) -> tuple[str, dict[str, str]] | None:
    """Return the path below the new home's address, and the parameters; ``None`` for an address elsewhere."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.netloc != urlsplit(str(api.client.origin)).netloc:
        return None
    return parts.path.removeprefix(api.client.base.raw_path.rstrip("/")) or "/", dict(parse_qsl(parts.query))


def _last_name(url: str) -> str:
    """Return the name of a post in its address; empty for an address without one."""
    return unquote(_place(url).partition("?")[0].rpartition("/")[2])


def _query(params: Mapping[str, str]) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in params.items()) if params else ""


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
