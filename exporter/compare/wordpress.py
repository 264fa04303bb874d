"""A WordPress as a new home, read through its REST API. Without an application password only public posts are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any, Final, TypeVar

from exporter.compare.archived import players, shown_pictures, slug_of
from exporter.compare.pictures import PictureReader
from exporter.compare.posts import Aspect, HomeState, NewComment, NewPost, PictureFacts, ShownAs, Unchecked, When
from exporter.compare.texts import body_letters, lettered_body, word_letters
from exporter.errors import ApiError, NotAuthorised
from exporter.html.embedded import Use, embedded
from exporter.html.links import absolute, host_of
from exporter.message import message, said
from exporter.wordpress import WordPressApi

T = TypeVar("T")

_STATUSES: Final = ("publish", "future", "draft", "pending", "private")
"""All statuses of posts, except the trash and those that WordPress sets by itself."""
_POST_FIELDS: Final = "id,title,content,date,date_gmt,slug,status,link,categories,tags"
_COMMENT_FIELDS: Final = "id,post,author_name,content,date,date_gmt,status"
_NO_CREDENTIAL: Final = message("without an application password, only public posts were read")
_NO_RIGHTS: Final = message("the user of the application password may not see everything")


class _WrongShape(ValueError):
    """A record does not have the form that the API documents; the message names the member."""


@dataclass(frozen=True, slots=True)
class _RestPost:
    """A post.

    Attributes:
        id: its number.
        title: as text.
        content: the shown HTML; empty if a password protects it.
        protected: whether a password protects it.
        date: as shown, without an offset.
        instant: the moment in time; ``None`` for some drafts.
        slug: its name in addresses, percent-encoded; perhaps empty.
        status: one of :data:`_STATUSES`, or a plugin's own.
        link: its address.
        categories: their numbers, like ``tags``.
    """

    id: int
    title: str
    content: str
    protected: bool
    date: datetime | None
    instant: datetime | None
    slug: str
    status: str
    link: str
    categories: tuple[int, ...]
    tags: tuple[int, ...]

    @classmethod
    def of(cls, raw: Any) -> _RestPost:
        """Read a record.

        Raises:
            _WrongShape: a member is missing or has another type.
        """
        return cls(
            id=_number_in(raw, "id"),
            title=unescape(_title(raw)),
            content=_text_in(raw, "content", "rendered"),
            protected=_member(raw, "content", "protected") is True,
            date=_date_in(raw, "date"),
            instant=_in_utc(_date_in(raw, "date_gmt")),
            slug=_text_in(raw, "slug"),
            status=_text_in(raw, "status"),
            link=_text_in(raw, "link"),
            categories=_numbers(raw, "categories"),
            tags=_numbers(raw, "tags"),
        )


@dataclass(frozen=True, slots=True)
class _RestComment:
    """A comment: the number of its post, the writer's name as text, the comment as HTML, and whether it is shown."""

    id: int
    post: int
    name: str
    content: str
    date: datetime | None
    instant: datetime | None
    approved: bool

    @classmethod
    def of(cls, raw: Any) -> _RestComment:
        """Read a record.

        Raises:
            _WrongShape: a member is missing or has another type.
        """
        return cls(
            id=_number_in(raw, "id"),
            post=_number_in(raw, "post"),
            name=unescape(_text_in(raw, "author_name")),
            content=_text_in(raw, "content", "rendered"),
            date=_date_in(raw, "date"),
            instant=_in_utc(_date_in(raw, "date_gmt")),
            approved=_text_in(raw, "status") == "approved",
        )


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


def _in_utc(date: datetime | None) -> datetime | None:
    return None if date is None else date.replace(tzinfo=UTC)


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
        self._pictures = pictures
        self._known = known
        self._progress = progress
        self._unchecked: list[Unchecked] = []
        self._withheld = ""

    async def read(self) -> HomeState:
        """Read all posts, and their categories, tags and comments."""
        names = {**await self._terms("categories"), **await self._terms("tags")}
        comments = await self._comments()
        posts = await self._posts()
        return HomeState(
            "WordPress",
            [_post(post, names, None if comments is None else comments.get(post.id, ())) for post in posts.values()],
            self._unchecked,
            self._withheld,
            host=host_of(self._api.client.origin),
            categories=list(names.values()),
        )

    async def pictures(
        self, addresses: Sequence[str], held: Container[str] = frozenset()
    ) -> Mapping[str, PictureFacts]:
        """Return the facts of pictures."""
        return await self._pictures.read(addresses, held)

    async def _posts(self) -> dict[int, _RestPost]:
        fields = {"_fields": _POST_FIELDS}
        if self._known:
            try:
                every = {**fields, "context": "edit", "status": ",".join(_STATUSES)}
                return await self._listed("posts", every, _RestPost.of, Aspect.TEXT)
            except (ApiError, NotAuthorised):
                pass  # WordPress refuses users who may not edit, even with the right password
        self._withheld = _NO_RIGHTS if self._known else _NO_CREDENTIAL
        return await self._listed("posts", fields, _RestPost.of, Aspect.TEXT)

    async def _comments(self) -> dict[int, tuple[NewComment, ...]] | None:
        """Return the comments of each post; ``None`` if the API refuses them."""
        fields = {"_fields": _COMMENT_FIELDS}
        found: dict[int, _RestComment] | None = None
        for params in ([{**fields, "status": "all"}] if self._known else []) + [fields]:
            try:
                found = await self._listed("comments", params, _RestComment.of, Aspect.COMMENTS)
                break
            except (ApiError, NotAuthorised) as error:
                refusal = said(error)
        if found is None:
            self._unchecked.append(
                Unchecked(Aspect.COMMENTS, 0, message("the API refuses them: {refusal}", refusal=refusal))
            )
            return None
        of_posts: defaultdict[int, list[NewComment]] = defaultdict(list)
        for comment in found.values():
            of_posts[comment.post].append(
                NewComment(
                    word_letters(comment.name),
                    body_letters(comment.content),
                    _moment(comment.date, comment.instant),
                    held=not comment.approved,
                )
            )
        return {post: tuple(comments) for post, comments in of_posts.items()}

    async def _terms(self, kind: str) -> dict[int, str]:
        def read(raw: Any) -> tuple[int, str]:
            return _number_in(raw, "id"), unescape(_text_in(raw, "name"))

        try:
            found = await self._listed(kind, {"_fields": "id,name"}, read, Aspect.CATEGORY)
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
            if kind == "posts":
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


def _post(post: _RestPost, names: Mapping[int, str], comments: Sequence[NewComment] | None) -> NewPost:
    links = (absolute(found.text, post.link) for found in embedded(post.content) if found.use is Use.LINKED)
    shown = (absolute(address, post.link) for address in shown_pictures(post.content))
    playing = players(post.content)
    text = lettered_body(post.content)
    return NewPost(
        key=post.link or str(post.id),
        titles=(post.title,),
        slug=slug_of(post.slug),
        when=_moment(post.date, post.instant),
        status=_status(post),
        names=tuple(names[number] for number in (*post.categories, *post.tags) if number in names),
        letters=text.letters,
        whole=True,
        pictures=tuple(filter(None, shown)),
        links=tuple(filter(None, links)),
        comments=None if comments is None else tuple(comments),
        players=None if playing is None else len(playing),
        starts=text.starts,
        addresses=tuple(filter(None, (post.link, absolute(f"/?p={post.id}", post.link)))),
    )


def _status(post: _RestPost) -> ShownAs:
    if post.status == "publish":
        return ShownAs.PASSWORD if post.protected else ShownAs.PUBLISH
    return ShownAs.PRIVATE if post.status == "private" else ShownAs.DRAFT


def _moment(date: datetime | None, instant: datetime | None) -> When | None:
    return None if date is None else When(date, instant)
