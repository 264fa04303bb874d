"""Making records in a WordPress, each once, whatever dies on the way.

A record is noted as being sent before it is sent. Where no answer came, now or in a run that was killed, it is looked
for by what is put beside it (:mod:`exporter.move.keys`) before it is sent again, and not while the request may still be
going on there.
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
    HomeComment,
    HomeFile,
    HomePost,
    comment_of,
    file_of,
    post_of,
)
from exporter.move.keys import RESERVED, file_slug, mark
from exporter.move.map_file import MapFile, Mapped
from exporter.move.outcome import Thing
from exporter.move.plan import PlannedCategory, PlannedPost
from exporter.wordpress.rest import Recover, RestRefusal, WordPressApi

SETTLING: Final = timedelta(seconds=30)
"""How long a request may go on in the new home after who sent it died; PHP allows one half a minute."""

_POSTS: Final = "wp/v2/posts"
_COMMENTS: Final = "wp/v2/comments"
_MEDIA: Final = "wp/v2/media"
_CATEGORIES: Final = "wp/v2/categories"
_ROUTES: Final = {Thing.PICTURE: _MEDIA, Thing.POST: _POSTS, Thing.COMMENT: _COMMENTS, Thing.CATEGORY: _CATEGORIES}
_KNOWN_ALREADY: Final = "comment_duplicate"
_NUMBERED: Final = 5
"""How many names for an address are looked up: WordPress numbers those that it has already."""
_TEXT: Final = 500
"""Characters of a picture's title and description: they travel in an address."""

Record = TypeVar("Record", HomePost, HomeFile, HomeComment)


class Writer:
    """Sends records to one home.

    Args:
        api: the new home.
        uploads: the same, with more patience.
        mapped: what earlier runs made; what is made is entered at once.
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
        """Make a category, and return its number; twice does no harm, as WordPress says which one has its name."""
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
            parent: the number of the post that it is attached to; 0 for none.
            public: whether everybody may see it without a post.
        """
        sha256 = picture.asset.sha256 or ""
        slug = file_slug(sha256)
        info = picture.info
        named = collapse((info.title or info.name) if info is not None else "") or picture.name
        about = (info.description or "") if info is not None else ""
        params = {"context": "edit", "_fields": FILE_FIELDS, "slug": slug, "title": named[:_TEXT]}
        params |= {"description": about[:_TEXT]} if about else {}
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
        """Attach a file that an earlier run uploaded without a post; return the refusal, if it was refused."""
        answer = await self._api.send(f"{_MEDIA}/{file.id}", {"post": parent}, {"_fields": FILE_FIELDS})
        return answer if isinstance(answer, RestRefusal) else None

    async def reserve(self, planned: PlannedPost) -> HomePost | RestRefusal:
        """Make a private post without text, which has the title, the date and the address that it keeps."""
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
        """Make a comment; of the same fields WordPress refuses a second one itself, and the first is found."""
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
        """Change a comment, and enter what the new home then has; twice does no harm."""
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
        """Change a post, and enter what the new home then has; twice does no harm."""
        answer = await self._api.send(f"{_POSTS}/{number}", values, {"context": "edit", "_fields": POST_FIELDS})
        if isinstance(answer, RestRefusal):
            return answer
        changed = post_of(answer)
        if changed is None or changed[0] != planned.key:
            return _odd()
        self.enter(Thing.POST, planned.post.id, changed[1])
        return changed[1]

    def enter(self, thing: Thing, key: str, found: HomePost | HomeFile | HomeComment) -> None:
        """Enter into the map what a record is in the new home."""
        before = self._map.of(thing, key)
        match found:
            case HomePost():
                # A draft has another address than the one it will be published at.
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
        """Make one record, unless it is there.

        Args:
            thing: what it is.
            key: its key in the map.
            send: sends it, and is given what finds it where no answer came.
            look: lists what may be it.
            read: tells whether a record is it.
            slug: the name for its address, where it has one.
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
            known = await recover() if answer.code == _KNOWN_ALREADY else None
            if known is None:
                return answer
            answer = known
        made = read(answer)
        if made is None:
            number = answer.get("id")
            if isinstance(number, int):  # nothing would know it again
                await self._api.delete(f"{_ROUTES[thing]}/{number}")
            raise ServiceError(
                message(
                    "The new home does not keep what tells {noun} {key} from others; a plugin there may remove it.",
                    noun=thing.noun,
                    key=key,
                )
            )
        if slug and unquote(made.slug) != slug.lower():
            made = await self._first(thing, made, look, read)
        self.enter(thing, key, made)
        return made

    async def _first(
        self, thing: Thing, made: Record, look: Callable[[], Awaitable[list[Any]]], read: Callable[[Any], Record | None]
    ) -> Record:
        """Return the record that stays: where a request went on for longer than it was waited for, there are two.

        WordPress then gave the later one another address, as it does where somebody else has that one. Only what was
        made a moment ago, and nobody has seen, is deleted.
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
    return ",".join([slug, *(f"{slug}-{number}" for number in range(2, _NUMBERED + 1))])


def _odd() -> RestRefusal:
    return RestRefusal("", message("answered with something else than was asked for"), {})
