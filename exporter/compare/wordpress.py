"""A WordPress as a new home, read through its REST API. Without an application password only public posts are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any, Final, NamedTuple, TypeVar

from exporter.compare.addresses import follow
from exporter.compare.archived import players, shown_pictures, slug_of
from exporter.compare.marks import read_shown
from exporter.compare.pictures import PictureReader
from exporter.compare.posts import Aspect, HomeState, NewComment, NewPost, ShownAs, Unchecked, When
from exporter.compare.texts import body_letters, lettered_body, without_schemes, word_letters
from exporter.errors import ApiError, NotAuthorised
from exporter.html.embedded import Use, embedded
from exporter.html.links import absolute, host_of
from exporter.message import message, said
from exporter.move.home import may_write_any_html
from exporter.wordpress import WordPressApi

T = TypeVar("T")
_Read = tuple[NewPost, int]
"""A post, and the number of its featured picture."""

_STATUSES: Final = ("publish", "future", "draft", "pending", "private")
"""All statuses of posts, except the trash and those that only WordPress itself sets."""
_LISTS: Final = ("posts", "pages")
_POST_FIELDS: Final = (
    "id,type,title,content,excerpt,date,date_gmt,slug,status,link,categories,tags,author,featured_media"
)
_COMMENT_FIELDS: Final = "id,post,parent,type,author_name,author_url,content,date,date_gmt,status"
_GONE: Final = frozenset({"trash", "post-trashed"})
_FILES_PER_REQUEST: Final = 100
_NO_CREDENTIAL: Final = message("without an application password, only public entries were read")
_NO_RIGHTS: Final = message("the user of the application password may not see everything")


class _WrongShape(ValueError):
    """A record does not have the form that the API documents; the message names the member."""


def _title(raw: Any) -> str:
    """Return the title as written, which editors get. WordPress shows titles of private posts with a prefix."""
    written = _member(raw, "title", "raw")
    return written if isinstance(written, str) else _text_in(raw, "title", "rendered")


def _member(raw: Any, *path: str) -> Any:
    """Return the value at a path of members; ``None`` if it is missing."""
    for name in path:
        if not isinstance(raw, dict):
            return None
        raw = raw.get(name)
    return raw


def _text_in(raw: Any, *path: str) -> str:
    """Return the text at a path of members.

    Raises:
        _WrongShape: it is missing or no text.
    """
    value = _member(raw, *path)
    if not isinstance(value, str):
        raise _WrongShape(message("{name} is not a text", name=".".join(path)))
    return str(value)


def _number_in(raw: Any, name: str) -> int:
    """Return a whole number above 0.

    Raises:
        _WrongShape: it is missing or no such number.
    """
    value = _member(raw, name)
    if type(value) is not int or value <= 0:
        raise _WrongShape(message("{name} is not a record number", name=name))
    return value


def _date_in(raw: Any, name: str) -> datetime | None:
    """Return a date without an offset, as WordPress sends dates; ``None`` for none.

    Raises:
        _WrongShape: it is no date.
    """
    value = _member(raw, name)
    if value is None or value == "0000-00-00T00:00:00":
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _WrongShape(message("{name} is not a date", name=name)) from None
    return found.replace(tzinfo=None)


def _numbers(raw: Any, name: str) -> tuple[int, ...]:
    value = _member(raw, name)
    if not isinstance(value, list) or not all(type(each) is int for each in value):
        raise _WrongShape(message("{name} is not a list of numbers", name=name))
    return tuple(value)


class WordPressHome:
    """A WordPress.

    Args:
        api: its API.
        pictures: reads its pictures, without its credentials.
        known: whether requests have credentials.
        progress: called with the number of posts read.
    """

    def __init__(
        self, api: WordPressApi, pictures: PictureReader, *, known: bool, progress: Callable[[int], None]
    ) -> None:
        self._api = api
        self.pictures = pictures.read
        self._known = known
        self._progress = progress
        self._unchecked: list[Unchecked] = []
        self._withheld = ""

    async def read(self) -> HomeState:
        """Read all posts, and their categories, tags and comments."""
        categories, tags = await self._terms("categories"), await self._terms("tags")
        authors, comments = await self._authors(), await self._comments()
        known = _Known(categories, {number: term.name for number, term in tags.items()}, authors, comments)
        posts: dict[int, _Read] = {}
        for kind in _LISTS:
            posts |= await self._posts(kind, lambda raw: _post(raw, known))
        files = await self._files([number for _, number in posts.values() if number])
        return HomeState(
            "WordPress",
            [replace(post, featured=files.get(number, "") if number else "") for post, number in posts.values()],
            self._unchecked,
            self._withheld,
            host=host_of(self._api.client.origin),
            categories=[term.name for term in (*categories.values(), *tags.values())],
            authors=None if authors is None else list(authors.values()),
            exact=not self._withheld,
            strips_frames=self._known and not self._withheld and await self._strips_frames(),
        )

    async def follow(self, addresses: Sequence[str]) -> Mapping[str, str]:
        """Return where old addresses lead, if their paths are requested from this WordPress."""
        return await follow(self._api.client, addresses)

    async def _posts(self, kind: str, read: Callable[[Any], _Read]) -> dict[int, _Read]:
        fields = {"_fields": _POST_FIELDS}
        if self._known:
            try:
                every = {**fields, "context": "edit", "status": ",".join(_STATUSES)}
                return await self._listed(kind, every, read, Aspect.TEXT)
            except (ApiError, NotAuthorised):
                pass  # WordPress refuses users who may not edit, even with the right password
        self._withheld = _NO_RIGHTS if self._known else _NO_CREDENTIAL
        return await self._listed(kind, fields, read, Aspect.TEXT)

    async def _strips_frames(self) -> bool:
        """Return whether WordPress removes frames from the user's posts; false if it does not say."""
        try:
            return not await may_write_any_html(self._api)
        except (ApiError, NotAuthorised):
            return False

    async def _authors(self) -> dict[int, str] | None:
        """Return the names of the users whom the API shows; ``None`` if it refuses."""

        def read(raw: Any) -> tuple[int, str]:
            return _number_in(raw, "id"), unescape(_text_in(raw, "name"))

        for params in [{"context": "edit"}, {}] if self._known else [{}]:
            try:
                found = await self._listed("users", {"_fields": "id,name", **params}, read, Aspect.AUTHOR)
            except (ApiError, NotAuthorised):
                continue
            return dict(found.values())
        return None

    async def _files(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the addresses of files by their numbers."""

        def read(raw: Any) -> tuple[int, str]:
            return _number_in(raw, "id"), _text_in(raw, "source_url")

        wanted, found = sorted(set(numbers)), dict[int, str]()
        for at in range(0, len(wanted), _FILES_PER_REQUEST):
            some = ",".join(map(str, wanted[at : at + _FILES_PER_REQUEST]))
            status = {"status": "inherit,private"} if self._known and not self._withheld else {}
            fields = {"_fields": "id,source_url", "include": some, **status}
            try:
                found |= dict((await self._listed("media", fields, read, Aspect.FEATURED)).values())
            except (ApiError, NotAuthorised) as error:
                why = message("the API refuses them: {refusal}", refusal=said(error))
                self._unchecked.append(Unchecked(Aspect.FEATURED, len(wanted), why))
                return found
        return found

    async def _comments(self) -> Mapping[int, Sequence[NewComment]] | None:
        """Return the comments of each post; ``None`` if the API refuses them."""
        fields = {"_fields": _COMMENT_FIELDS}
        found: dict[int, tuple[int, NewComment | None]] | None = None
        for params in ([{**fields, "status": "any", "type": "all"}] if self._known else []) + [fields]:
            try:
                found = await self._listed("comments", params, _comment, Aspect.COMMENTS)
                break
            except (ApiError, NotAuthorised) as error:
                refusal = said(error)
        if found is None:
            self._unchecked.append(
                Unchecked(Aspect.COMMENTS, 0, message("the API refuses them: {refusal}", refusal=refusal))
            )
            return None
        of_posts: defaultdict[int, list[NewComment]] = defaultdict(list)
        for post, comment in found.values():
            if comment is not None:
                of_posts[post].append(comment)
        return of_posts

    async def _terms(self, kind: str) -> dict[int, _Term]:
        def read(raw: Any) -> tuple[int, _Term]:
            return _number_in(raw, "id"), _Term(unescape(_text_in(raw, "name")), _reference(raw, "parent"))

        try:
            found = await self._listed(kind, {"_fields": "id,name,parent"}, read, Aspect.CATEGORY)
        except (ApiError, NotAuthorised) as error:
            self._unchecked.append(
                Unchecked(
                    Aspect.CATEGORY, 0, message("the API does not send all {kind}: {error}", kind=kind, error=error)
                )
            )
            return {}
        return dict(found.values())

    async def _listed(
        self, kind: str, params: Mapping[str, str], read: Callable[[Any], T], aspect: Aspect
    ) -> dict[int, T]:
        """Return all records of a list by number, and note unreadable and missing ones."""
        found: dict[int, T] = {}
        unreadable: list[str] = []
        total: int | None = None
        async for page in self._api.pages(f"wp/v2/{kind}", params):
            total = page.total if total is None else total
            known = len(found)
            for raw in page.items:
                try:
                    found[_number_in(raw, "id")] = read(raw)
                except _WrongShape as error:
                    unreadable.append(said(error))
            if len(found) == known and not unreadable:
                break  # the same page again
            if kind in _LISTS:
                self._progress(len(found))
        if unreadable:
            self._unchecked.append(
                Unchecked(
                    aspect,
                    len(unreadable),
                    message("{kind} of the API that cannot be read: {unreadable}", kind=kind, unreadable=unreadable[0]),
                )
            )
        if total is not None and total > len(found) + len(unreadable):
            withheld = total - len(found) - len(unreadable)
            self._unchecked.append(
                Unchecked(aspect, withheld, message("{kind} that the API counts but does not send", kind=kind))
            )
        return found


class _Term(NamedTuple):
    """A category or tag: its name, and its parent's number, 0 for none."""

    name: str
    above: int


class _Known(NamedTuple):
    """What posts refer to: categories, the names of tags and authors by number, and the comments of each post."""

    categories: Mapping[int, _Term]
    tags: Mapping[int, str]
    authors: Mapping[int, str] | None
    comments: Mapping[int, Sequence[NewComment]] | None

    def path(self, number: int) -> tuple[str, ...]:
        """Return the name of a category after the names of those above it."""
        found: dict[int, str] = {}
        while number in self.categories and number not in found:
            found[number], number = self.categories[number]
        return tuple(reversed(found.values()))


def _post(raw: Any, known: _Known) -> _Read:
    """Read a post or page, and the number of its featured picture; 0 for none.

    Raises:
        _WrongShape: a member is missing or has another type.
    """
    number, link, content = _number_in(raw, "id"), _text_in(raw, "link"), _text_in(raw, "content", "rendered")
    page = _member(raw, "type") == "page"
    categories, tags = ((), ()) if page else (_numbers(raw, "categories"), _numbers(raw, "tags"))
    paths = tuple(filter(None, map(known.path, categories)))
    tag_names = tuple(known.tags[tag] for tag in tags if tag in known.tags)
    author, comments = _reference(raw, "author"), known.comments
    links = (absolute(found.text, link) for found in embedded(content) if found.use is Use.LINKED)
    shown = (absolute(address, link) for address in shown_pictures(content))
    playing = players(content)
    text, tree = lettered_body(content)
    post = NewPost(
        key=link or str(number),
        titles=(unescape(_title(raw)),),
        slug=slug_of(_text_in(raw, "slug")),
        when=_moment(raw),
        status=_status(raw),
        names=(*(path[-1] for path in paths), *tag_names),
        letters=text.letters,
        whole=True,
        pictures=tuple(filter(None, shown)),
        links=tuple(filter(None, links)),
        comments=None if comments is None else tuple(comments.get(number, ())),
        players=None if playing is None else len(playing),
        starts=text.starts,
        addresses=tuple(filter(None, (link, absolute(f"/?p={number}", link)))),
        categories=paths,
        tags=tag_names,
        author=None if known.authors is None else known.authors.get(author, ""),
        is_page=page,
        excerpt=_excerpt(raw),
        marked=None if tree is None else read_shown(tree, link),
    )
    return post, _reference(raw, "featured_media")


def _excerpt(raw: Any) -> str | None:
    """Return the letters of the excerpt that a writer wrote; ``None`` without the right to see it."""
    written = _member(raw, "excerpt", "raw")
    return body_letters(written) if isinstance(written, str) else None


def _reference(raw: Any, name: str) -> int:
    """Return the number of another record; 0 for none."""
    value = _member(raw, name)
    return value if type(value) is int and value > 0 else 0


def _comment(raw: Any) -> tuple[int, NewComment | None]:
    """Read a comment; return the number of its post and the comment, ``None`` for one in the trash.

    Raises:
        _WrongShape: a member is missing or has another type.
    """
    number, status, parent = _number_in(raw, "id"), _text_in(raw, "status"), _reference(raw, "parent")
    if status in _GONE:
        return _number_in(raw, "post"), None
    kind, url = _member(raw, "type"), _member(raw, "author_url")
    return _number_in(raw, "post"), NewComment(
        word_letters(unescape(_text_in(raw, "author_name"))),
        without_schemes(body_letters(_text_in(raw, "content", "rendered"))),
        _moment(raw),
        held=status != "approved",
        id=str(number),
        parent=str(parent) if parent else "",
        kind=kind if isinstance(kind, str) else "",
        spam=status == "spam",
        url=url if isinstance(url, str) else "",
    )


def _status(raw: Any) -> ShownAs:
    status = _text_in(raw, "status")
    if status == "publish":
        return ShownAs.PASSWORD if _member(raw, "content", "protected") is True else ShownAs.PUBLISH
    return {"private": ShownAs.PRIVATE, "future": ShownAs.SCHEDULED}.get(status, ShownAs.DRAFT)


def _moment(raw: Any) -> When | None:
    date, instant = _date_in(raw, "date"), _date_in(raw, "date_gmt")
    return None if date is None else When(date, None if instant is None else instant.replace(tzinfo=UTC))
