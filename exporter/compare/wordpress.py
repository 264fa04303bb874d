"""A WordPress as a new home, read through its REST API: with an application password all of it, else what is public."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime
from html import unescape
from typing import Any, Final, TypeVar

from exporter.compare.archived import players, shown_pictures, slug_of
from exporter.compare.fetching import PictureReader
from exporter.compare.posts import Aspect, HomeState, NewComment, NewPost, PictureFacts, ShownAs, Unchecked, When
from exporter.compare.texts import body_letters, lettered_body, word_letters
from exporter.errors import ApiError, NotAuthorised
from exporter.html.embedded import Use, embedded
from exporter.html.links import absolute, host_of
from exporter.message import message, said
from exporter.wordpress.records import STATUSES, RestComment, RestPost, WrongShape, number_in, text_in
from exporter.wordpress.rest import WordPressApi

T = TypeVar("T")

_POST_FIELDS: Final = "id,title,content,date,date_gmt,slug,status,link,categories,tags"
_COMMENT_FIELDS: Final = "id,post,author_name,content,date,date_gmt,status"
_NO_CREDENTIAL: Final = message("no application password was given, so only what is public was read")
_NO_RIGHTS: Final = message("the user of the application password may not see all of it")


class WordPressHome:
    """A WordPress.

    Args:
        api: its API.
        pictures: reads its pictures, without its credentials.
        known: whether the API is asked with credentials.
        progress: called with how many posts are read.
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
        """Look at pictures."""
        return await self._pictures.read(addresses, held)

    async def _posts(self) -> dict[int, RestPost]:
        fields = {"_fields": _POST_FIELDS}
        if self._known:
            try:
                every = {**fields, "context": "edit", "status": ",".join(STATUSES)}
                return await self._listed("posts", every, RestPost.of, Aspect.TEXT)
            except (ApiError, NotAuthorised):
                pass  # a user who may not edit is told so as an error, also with the right password
        self._withheld = _NO_RIGHTS if self._known else _NO_CREDENTIAL
        return await self._listed("posts", fields, RestPost.of, Aspect.TEXT)

    async def _comments(self) -> dict[int, tuple[NewComment, ...]] | None:
        """Return the comments of each post; ``None`` where the API does not give them."""
        fields = {"_fields": _COMMENT_FIELDS}
        found: dict[int, RestComment] | None = None
        for params in ([{**fields, "status": "all"}] if self._known else []) + [fields]:
            try:
                found = await self._listed("comments", params, RestComment.of, Aspect.COMMENTS)
                break
            except (ApiError, NotAuthorised) as error:
                refusal = said(error)
        if found is None:
            self._unchecked.append(
                Unchecked(Aspect.COMMENTS, 0, message("the API does not give them: {refusal}", refusal=refusal))
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
            return number_in(raw, "id"), unescape(text_in(raw, "name"))

        try:
            found = await self._listed(kind, {"_fields": "id,name"}, read, Aspect.CATEGORY)
        except (ApiError, NotAuthorised) as error:
            self._unchecked.append(
                Unchecked(
                    Aspect.CATEGORY, 0, message("the API does not give all {kind}: {error}", kind=kind, error=error)
                )
            )
            return {}
        return dict(found.values())

    async def _listed(
        self, kind: str, params: Mapping[str, str], read: Callable[[Any], T], aspect: Aspect
    ) -> dict[int, T]:
        """Return all records of a list by their numbers, and note those that cannot be read, or are not there."""
        found: dict[int, T] = {}
        unreadable: list[str] = []
        total: int | None = None
        async for page in self._api.pages(f"wp/v2/{kind}", params):
            total = page.total if total is None else total
            known = len(found)
            for raw in page.items:
                try:
                    found[number_in(raw, "id")] = read(raw)
                except WrongShape as error:
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
                Unchecked(aspect, withheld, message("{kind} that the API counts and does not give", kind=kind))
            )
        return found


def _post(post: RestPost, names: Mapping[int, str], comments: Sequence[NewComment] | None) -> NewPost:
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


def _status(post: RestPost) -> ShownAs:
    if post.status == "publish":
        return ShownAs.PASSWORD if post.protected else ShownAs.PUBLISH
    return ShownAs.PRIVATE if post.status == "private" else ShownAs.DRAFT


def _moment(date: datetime | None, instant: datetime | None) -> When | None:
    return None if date is None else When(date, instant)
