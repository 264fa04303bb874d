"""Make records in a WordPress, each exactly once, also if the program or the connection fails.

The map notes each record before it is sent. If no answer came, in this run or in a killed one, the writer waits until
the request cannot be running any more. Then it searches the new home for the record's key (:mod:`exporter.move.home`)
before it sends the record again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import unquote

from exporter.clock import Clock
from exporter.errors import ServiceError
from exporter.export.media import PostPicture
from exporter.html.text import collapse
from exporter.message import message
from exporter.move.home import (
    COMMENTS,
    FILES,
    PAGES,
    POSTS,
    RESERVED,
    Collection,
    HomeComment,
    HomeFile,
    HomePost,
    HomeRecord,
    Record,
    file_slug,
    mark,
)
from exporter.move.map_file import MapFile, Mapped
from exporter.move.outcome import Thing
from exporter.move.plan import PlannedPost
from exporter.move.terms import PlannedTerm
from exporter.wordpress import Recover, RestRefusal, WordPressApi

SETTLING: Final = timedelta(seconds=30)
"""How long a request may run in the new home after its sender died. PHP stops a request after 30 seconds."""

_DUPLICATE: Final = "comment_duplicate"
_NUMBERED_SLUGS: Final = 5
"""How many variants of a slug are searched: WordPress appends a number to a slug that is taken."""
_TEXT_CHARACTERS: Final = 500
"""Of a picture's title and description, which are parameters of an address."""


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

    async def term(self, route: str, planned: PlannedTerm, above: int) -> int | RestRefusal:
        """Make a category or tag and return its number. If it exists, WordPress refuses and names the existing one.

        Args:
            route: of the categories or of the tags.
            planned: the category or tag.
            above: the number of the category above it; 0 for none.
        """
        fields = {"name": planned.html, "slug": planned.slug, **({"parent": above} if above else {})}
        answer = await self._api.send(route, fields, {"_fields": "id"})
        number = answer.data.get("term_id") if isinstance(answer, RestRefusal) else answer.get("id")
        if isinstance(number, int):
            if planned.path:
                self._map.made(Thing.CATEGORY, planned.key, Mapped(number))
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
        about = {} if info is None else {"description": info.description or "", "alt_text": collapse(info.alt)}
        params = {**FILES.view, "slug": slug, "title": named[:_TEXT_CHARACTERS]}
        params |= {name: text[:_TEXT_CHARACTERS] for name, text in about.items() if text}
        params |= {"post": str(parent)} if parent else {} if public else {"status": "private"}
        content_type = picture.asset.content_type or "application/octet-stream"

        return await self._make(
            FILES,
            (Thing.PICTURE, sha256),
            slug,
            {"slug": _numbered(slug)},
            lambda recover: self._uploads.upload(params, picture.name, content_type, content, recover),
            slug,
        )

    async def attach(self, file: HomeFile, parent: int) -> RestRefusal | None:
        """Attach a file that an earlier run uploaded without a post; return the refusal, if any."""
        answer = await self._api.send(f"{FILES.route}/{file.id}", {"post": parent}, {"_fields": FILES.fields})
        return answer if isinstance(answer, RestRefusal) else None

    async def reserve(self, planned: PlannedPost) -> HomePost | RestRefusal:
        """Make a private post or page without text, with its final title, date and address."""
        fields = {
            "title": planned.title,
            "content": mark(planned.key, RESERVED),
            "slug": planned.slug,
            "date_gmt": planned.when,
            "status": "private",
            "comment_status": "open",
        }
        of = PAGES if planned.page else POSTS
        return await self._make(
            of,
            (Thing.POST, planned.post.id),
            planned.key,
            {"slug": _numbered(planned.slug)},
            lambda recover: self._api.send(of.route, fields, of.view, recover),
            planned.slug,
        )

    async def comment(self, comment_id: str, address: str, fields: Mapping[str, Any]) -> HomeComment | RestRefusal:
        """Make a comment. WordPress refuses a second one with the same fields, and the first is then found."""
        newest = {"post": str(fields["post"]), "orderby": "id", "order": "desc"}
        return await self._make(
            COMMENTS,
            (Thing.COMMENT, comment_id),
            address,
            {"author_email": fields["author_email"], **({} if fields["author_email"] == address else newest)},
            lambda recover: self._api.send(COMMENTS.route, fields, COMMENTS.view, recover),
        )

    async def change_comment(
        self, comment_id: str, address: str, number: int, values: Mapping[str, Any]
    ) -> RestRefusal | None:
        """Change a comment and update the map; return the refusal, if any. Sending it twice does no harm."""
        self._map.sending(Thing.COMMENT, comment_id, self._clock.now())
        return await self._change(COMMENTS, (Thing.COMMENT, comment_id), address, number, values)

    async def change(self, planned: PlannedPost, there: HomePost, values: Mapping[str, Any]) -> RestRefusal | None:
        """Change a post and update the map; return the refusal, if any. Sending it twice does no harm."""
        return await self._change(there.collection, (Thing.POST, planned.post.id), planned.key, there.id, values)

    async def _change(
        self, of: Collection[Record], mapped: tuple[Thing, str], key: str, number: int, values: Mapping[str, Any]
    ) -> RestRefusal | None:
        answer = await self._api.send(f"{of.route}/{number}", values, of.view)
        if isinstance(answer, RestRefusal):
            return answer
        changed = of.read(answer)
        if changed is None or changed[0] != key:
            return _odd()
        self.enter(*mapped, changed[1])
        return None

    def enter(self, thing: Thing, key: str, found: HomeRecord) -> None:
        """Add a record of the new home to the map."""
        before = self._map.of(thing, key)
        # The address of a draft differs from its address once published.
        is_known_post = thing is Thing.POST and before is not None and before.id == found.id
        url = before.url if before is not None and is_known_post else found.url
        self._map.made(thing, key, Mapped(found.id, url, found.fingerprint))

    async def _make(
        self,
        of: Collection[Record],
        mapped: tuple[Thing, str],
        key: str,
        wanted: Mapping[str, str],
        send: Callable[[Recover], Awaitable[dict[str, Any] | RestRefusal]],
        slug: str = "",
    ) -> Record | RestRefusal:
        """Make a record unless it exists.

        Args:
            of: its collection.
            mapped: its kind and its key in the map.
            key: its key in the new home.
            wanted: the parameters of a search for it.
            send: sends it; gets a function that finds the record if no answer came.
            slug: its name in addresses, if it has one.
        """

        def read(raw: Any) -> Record | None:
            known = of.read(raw)
            return known[1] if known is not None and known[0] == key else None

        async def recover() -> dict[str, Any] | None:
            return next((raw for raw in await of.search(self._api, wanted) if read(raw) is not None), None)

        answer: dict[str, Any] | RestRefusal | None = None
        since = self._map.sending_since(*mapped)
        if since is not None:
            rest = min(self._settling, self._settling - (self._clock.now() - since))
            await self._clock.sleep(max(0.0, rest.total_seconds()))
            answer = await recover()
        if answer is None:
            self._map.sending(*mapped, self._clock.now())
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
                await self._api.delete(f"{of.route}/{number}")
            thing, name = mapped
            raise ServiceError(
                "The new home does not keep the key of {noun} {key}. A plugin there may remove it.",
                noun=thing.noun,
                key=name,
            )
        if slug and unquote(made.slug) != slug.lower():
            made = await self._first(of, made, filter(None, map(read, await of.search(self._api, wanted))))
        self.enter(*mapped, made)
        return made

    async def _first(self, of: Collection[Record], made: Record, found: Iterable[Record]) -> Record:
        """Return the record to keep. If a request ran longer than the writer waited, two exist.

        WordPress then gave the later one another address. Only the record made a moment ago, which no person has seen,
        is deleted.
        """
        first = made
        for each in found:
            first = each if each.id < first.id else first
        if first.id != made.id:
            await self._api.delete(f"{of.route}/{made.id}")
        return first


def _numbered(slug: str) -> str:
    return ",".join([slug, *(f"{slug}-{number}" for number in range(2, _NUMBERED_SLUGS + 1))])


def _odd() -> RestRefusal:
    return RestRefusal("", message("sent an unexpected answer"), {})
