"""Make records in a WordPress, each exactly once, also if the program or the connection fails.

The map notes each record before it is sent. If no answer came, in this run or in a killed one, the writer waits until
the request cannot be running any more. Then it searches the new home for the record's key (:mod:`exporter.move.home`)
before it sends the record again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from exporter.clock import Clock
from exporter.errors import ServiceError
from exporter.export.media import PostPicture
from exporter.html.text import collapse
from exporter.message import message
from exporter.move.home import (
    COMMENT_FIELDS,
    FILE_FIELDS,
    FILE_STATUSES,
    POST_FIELDS,
    POST_STATUSES,
    RESERVED,
    HomeComment,
    HomeFile,
    HomePost,
    comment_of,
    file_of,
    file_slug,
    mark,
    post_of,
)
from exporter.move.map_file import MapFile, Mapped
from exporter.move.outcome import Thing
from exporter.move.plan import PlannedCategory, PlannedPost
from exporter.wordpress import Recover, RestRefusal, WordPressApi

SETTLING: Final = timedelta(seconds=30)
"""How long a request may run in the new home after its sender died. PHP stops a request after 30 seconds."""

_POSTS: Final = "wp/v2/posts"
_COMMENTS: Final = "wp/v2/comments"
_MEDIA: Final = "wp/v2/media"
_CATEGORIES: Final = "wp/v2/categories"
_ROUTES: Final = {Thing.PICTURE: _MEDIA, Thing.POST: _POSTS, Thing.COMMENT: _COMMENTS, Thing.CATEGORY: _CATEGORIES}
_DUPLICATE: Final = "comment_duplicate"
_NUMBERED_SLUGS: Final = 5
"""How many variants of a slug are searched: WordPress appends a number to a slug that is taken."""
_TEXT_CHARACTERS: Final = 500
"""Of a picture's title and description, which are parameters of an address."""

Record = TypeVar("Record", HomePost, HomeFile, HomeComment)


class Writer:
    """Sends records to one home.

    Args:
        api: the new home.
        uploads: the same, with longer time-outs.
        mapped: the map; every record that is made is added at once.
        clock: the time of day, and waiting.
        settling: see :data:`SETTLING`.
    """

    def __init__(
        self, api: WordPressApi, uploads: WordPressApi, mapped: MapFile, clock: Clock, settling: timedelta = SETTLING
    ) -> None:
        self._api = api
        self._uploads = uploads
        self._map = mapped
        self._clock = clock
        self._settling = settling

    async def category(self, planned: PlannedCategory) -> int | RestRefusal:
        """Make a category and return its number. If it exists, WordPress refuses and names the existing one."""
        fields = {"name": planned.html, "slug": planned.slug}
        answer = await self._api.send(_CATEGORIES, fields, {"_fields": "id"})
        number = answer.data.get("term_id") if isinstance(answer, RestRefusal) else answer.get("id")
        if isinstance(number, int):
            return number
        return answer if isinstance(answer, RestRefusal) else _odd()

    async def picture(
        self, picture: PostPicture, content: bytes, parent: int, *, public: bool
    ) -> HomeFile | RestRefusal:
        """Upload a picture or file.

        WordPress shows an attachment to the people who may see its post, and one without a post to everybody.

        Args:
            picture: the picture.
            content: its bytes.
            parent: the number of the post to attach it to; 0 for none.
            public: whether everybody may see it if it has no post.
        """
        sha256 = picture.asset.sha256 or ""
        slug = file_slug(sha256)
        info = picture.info
        named = collapse((info.title or info.name) if info is not None else "") or picture.name
        about = (info.description or "") if info is not None else ""
        params = {"context": "edit", "_fields": FILE_FIELDS, "slug": slug, "title": named[:_TEXT_CHARACTERS]}
        params |= {"description": about[:_TEXT_CHARACTERS]} if about else {}
        params |= {"post": str(parent)} if parent else {} if public else {"status": "private"}
        content_type = picture.asset.content_type or "application/octet-stream"

        def found(raw: Any) -> HomeFile | None:
            known = file_of(raw)
            return known[1] if known is not None and known[0] == slug else None

        return await self._make(
            Thing.PICTURE,
            sha256,
            lambda recover: self._uploads.upload(params, picture.name, content_type, content, recover),
            lambda: self._list(_MEDIA, {"slug": _numbered(slug), "status": FILE_STATUSES, "_fields": FILE_FIELDS}),
            found,
            slug,
        )

    async def attach(self, file: HomeFile, parent: int) -> RestRefusal | None:
        """Attach a file that an earlier run uploaded without a post; return the refusal, if any."""
        answer = await self._api.send(f"{_MEDIA}/{file.id}", {"post": parent}, {"_fields": FILE_FIELDS})
        return answer if isinstance(answer, RestRefusal) else None

    async def reserve(self, planned: PlannedPost) -> HomePost | RestRefusal:
        """Make a private post without text, with its final title, date and address."""
        fields = {
            "title": planned.title,
            "content": mark(planned.key, RESERVED),
            "slug": planned.slug,
            "date_gmt": planned.when,
            "status": "private",
            "comment_status": "open",
        }
        wanted = {"slug": _numbered(planned.slug), "status": POST_STATUSES, "_fields": POST_FIELDS}

        def found(raw: Any) -> HomePost | None:
            known = post_of(raw)
            return known[1] if known is not None and known[0] == planned.key else None

        return await self._make(
            Thing.POST,
            planned.post.id,
            lambda recover: self._api.send(_POSTS, fields, {"context": "edit", "_fields": POST_FIELDS}, recover),
            lambda: self._list(_POSTS, wanted),
            found,
            planned.slug,
        )

    async def comment(self, comment_id: str, fields: Mapping[str, Any]) -> HomeComment | RestRefusal:
        """Make a comment. WordPress refuses a second one with the same fields, and the first is then found."""
        address = fields["author_email"]
        wanted = {"author_email": address, "status": "any", "_fields": COMMENT_FIELDS}

        def found(raw: Any) -> HomeComment | None:
            known = comment_of(raw)
            return known[1] if known is not None and known[0] == address else None

        return await self._make(
            Thing.COMMENT,
            comment_id,
            lambda recover: self._api.send(_COMMENTS, fields, {"context": "edit", "_fields": COMMENT_FIELDS}, recover),
            lambda: self._list(_COMMENTS, wanted),
            found,
        )

    async def change_comment(
        self, comment_id: str, number: int, values: Mapping[str, Any]
    ) -> HomeComment | RestRefusal:
        """Change a comment and update the map. Sending it twice does no harm."""
        self._map.sending(Thing.COMMENT, comment_id, self._clock.now())
        answer = await self._api.send(f"{_COMMENTS}/{number}", values, {"context": "edit", "_fields": COMMENT_FIELDS})
        if isinstance(answer, RestRefusal):
            return answer
        changed = comment_of(answer)
        if changed is None or changed[0] != values["author_email"]:
            return _odd()
        self.enter(Thing.COMMENT, comment_id, changed[1])
        return changed[1]

    async def change(self, planned: PlannedPost, number: int, values: Mapping[str, Any]) -> HomePost | RestRefusal:
        """Change a post and update the map. Sending it twice does no harm."""
        answer = await self._api.send(f"{_POSTS}/{number}", values, {"context": "edit", "_fields": POST_FIELDS})
        if isinstance(answer, RestRefusal):
            return answer
        changed = post_of(answer)
        if changed is None or changed[0] != planned.key:
            return _odd()
        self.enter(Thing.POST, planned.post.id, changed[1])
        return changed[1]

    def enter(self, thing: Thing, key: str, found: HomePost | HomeFile | HomeComment) -> None:
        """Add a record of the new home to the map."""
        before = self._map.of(thing, key)
        match found:
            case HomePost():
                # The address of a draft differs from its address once published.
                url = before.url if before is not None and before.id == found.id else found.link
                self._map.made(thing, key, Mapped(found.id, url, found.fingerprint))
            case HomeFile():
                self._map.made(thing, key, Mapped(found.id, found.url))
            case HomeComment():
                self._map.made(thing, key, Mapped(found.id, stored=found.fingerprint))

    async def _make(
        self,
        thing: Thing,
        key: str,
        send: Callable[[Recover], Awaitable[dict[str, Any] | RestRefusal]],
        look: Callable[[], Awaitable[list[Any]]],
        read: Callable[[Any], Record | None],
        slug: str = "",
    ) -> Record | RestRefusal:
        """Make a record unless it exists.

        Args:
            thing: its kind.
            key: its key in the map.
            send: sends it; gets a function that finds the record if no answer came.
            look: lists candidates for the record.
            read: returns a candidate if it is the record.
            slug: its name in addresses, if it has one.
        """

        async def recover() -> dict[str, Any] | None:
            return next((raw for raw in await look() if read(raw) is not None), None)

        answer: dict[str, Any] | RestRefusal | None = None
        since = self._map.sending_since(thing, key)
        if since is not None:
            rest = min(self._settling, self._settling - (self._clock.now() - since))
            await self._clock.sleep(max(0.0, rest.total_seconds()))
            answer = await recover()
        if answer is None:
            self._map.sending(thing, key, self._clock.now())
            answer = await send(recover)
        if isinstance(answer, RestRefusal):
            known = await recover() if answer.code == _DUPLICATE else None
            if known is None:
                return answer
            answer = known
        made = read(answer)
        if made is None:
            number = answer.get("id")
            if isinstance(number, int):  # no later run would recognise it
                await self._api.delete(f"{_ROUTES[thing]}/{number}")
            raise ServiceError(
                "The new home does not keep the key of {noun} {key}. A plugin there may remove it.",
                noun=thing.noun,
                key=key,
            )
        if slug and unquote(made.slug) != slug.lower():
            made = await self._first(thing, made, look, read)
        self.enter(thing, key, made)
        return made

    async def _first(
        self, thing: Thing, made: Record, look: Callable[[], Awaitable[list[Any]]], read: Callable[[Any], Record | None]
    ) -> Record:
        """Return the record to keep. If a request ran longer than the writer waited, two exist.

        WordPress then gave the later one another address. Only the record made a moment ago, which no person has seen,
        is deleted.
        """
        first = made
        for each in map(read, await look()):
            if each is not None and each.id < first.id:
                first = each
        if first.id != made.id:
            await self._api.delete(f"{_ROUTES[thing]}/{made.id}")
        return first

    async def _list(self, route: str, params: Mapping[str, str]) -> list[Any]:
        return (await self._api.page(route, {"context": "edit", **params}, 1)).items


def _numbered(slug: str) -> str:
    return ",".join([slug, *(f"{slug}-{number}" for number in range(2, _NUMBERED_SLUGS + 1))])


def _odd() -> RestRefusal:
    return RestRefusal("", message("sent an unexpected answer"), {})
