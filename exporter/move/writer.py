"""Make records in a WordPress, each exactly once, also if the program or the connection fails.

The writer compares each answer about a private record with its request. If the new home shows the record to everybody,
the writer deletes it there if this run made it, and sends nothing more.

The map notes each record before it is sent. If no answer came, in this run or in a killed one, the writer waits until
the request cannot be running any more. Then it searches the new home for the record's key (:mod:`exporter.move.home`)
before it sends the record again.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, NoReturn
from urllib.parse import unquote

from exporter.clock import Clock
from exporter.errors import PrivateExposed, ServiceError
from exporter.export.importer_rules import stored_name
from exporter.export.media import PostPicture
from exporter.html.text import collapse
from exporter.message import listed, message
from exporter.move.home import (
    COMMENTS,
    FILES,
    PAGES,
    POSTS,
    RESERVED,
    RESERVED_COMMENT,
    Collection,
    HomeComment,
    HomeFile,
    HomePost,
    HomeRecord,
    Record,
    comment_agent,
    file_of,
    file_slug,
    mark,
)
from exporter.move.map_file import MapFile, Mapped
from exporter.move.outcome import Thing
from exporter.move.plan import NOBODY, PlannedPost
from exporter.move.privacy import is_file_shown, is_post_shown
from exporter.move.terms import PlannedTerm
from exporter.text import printable
from exporter.wordpress import Recover, RestRefusal, WordPressApi

SETTLING: Final = timedelta(seconds=30)
"""How long a request may run in the new home after its sender died. PHP stops a request after 30 seconds."""

Check = Callable[[Record], bool]
"""Returns whether the new home shows everybody a record that it must hide."""

_SAYS_NOTHING: Final = "<!-- -->"
_ADDRESS_CHARACTERS: Final = 200
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
        self._made: set[tuple[Thing, int]] = set()
        self._files: defaultdict[int, dict[str, HomeFile]] = defaultdict(dict)
        self._comments: defaultdict[int, set[str]] = defaultdict(set)
        self._deleted: list[str] = []
        self._kept: list[str] = []

    def adopt(self, thing: Thing, found: HomeRecord) -> None:
        """Treat a record without content, whose answer an earlier run did not get, as made by this run."""
        self._made.add((thing, found.id))

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
            public: whether everybody may see it.

        Raises:
            PrivateExposed: the new home shows it to everybody, and it is not public.
        """
        sha256 = picture.asset.sha256 or ""
        slug = file_slug(sha256)
        info = picture.info
        named = collapse((info.title or info.name) if info is not None else "") or picture.name
        about = {} if info is None else {"description": info.description or "", "alt_text": collapse(info.alt)}
        texts = {"title": named, **about}
        params = {**FILES.view, "slug": slug}
        params |= {name: stored_name(text[:_TEXT_CHARACTERS]) for name, text in texts.items() if text}
        params |= {"post": str(parent)} if parent else {} if public else {"status": "private"}
        content_type = picture.asset.content_type or "application/octet-stream"

        made = await self._make(
            FILES,
            (Thing.PICTURE, sha256),
            slug,
            {"slug": _numbered(slug)},
            lambda recover: self._uploads.upload(params, picture.name, content_type, content, recover),
            slug,
            lambda file: not public and is_file_shown(file, parent),
        )
        if isinstance(made, HomeFile):
            self._files[made.post][sha256] = made
        return made

    async def attach(self, sha256: str, file: HomeFile, parent: int, *, public: bool) -> HomeFile | RestRefusal:
        """Attach a file that the new home has to a post.

        Raises:
            PrivateExposed: the new home shows it to everybody, and it is not public.
        """
        self._require_going()
        answer = await self._api.send(f"{FILES.route}/{file.id}", {"post": parent}, {"_fields": FILES.fields})
        if isinstance(answer, RestRefusal):
            return answer
        known = file_of(answer)
        is_same = known is not None and known[1].id == file.id
        found = known[1] if known is not None and is_same else await self._without_key(FILES, file.slug, file.id, {})
        if found is not None and not public and is_file_shown(found, parent):
            await self._stop(FILES, Thing.PICTURE, sha256, found)
        if found is None or not is_same:
            return _odd()
        self._files[parent][sha256] = found
        return found

    async def reserve(self, planned: PlannedPost, *, public: bool) -> HomePost | RestRefusal:
        """Make a private post or page without text, with its final date and address, and its title if it is public.

        Raises:
            PrivateExposed: the new home shows it to everybody, and it is not public.
        """
        fields = {
            "title": planned.html_title if public else "",
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
            lambda post: not public and is_post_shown(fields["status"], post.status),
        )

    async def comment(self, comment_id: str, address: str, fields: Mapping[str, Any]) -> HomeComment | RestRefusal:
        """Make a comment. WordPress refuses a second one with the same fields, and the first is then found.

        Raises:
            PrivateExposed: the new home approves a comment that it must hold back.
        """
        newest = {"post": str(fields["post"]), "orderby": "id", "order": "desc"}
        self._comments[fields["post"]].add(comment_id)
        return await self._make(
            COMMENTS,
            (Thing.COMMENT, comment_id),
            address,
            {"author_email": fields["author_email"], **({} if fields["author_email"] == address else newest)},
            lambda recover: self._api.send(COMMENTS.route, fields, COMMENTS.view, recover),
            check=lambda comment: _is_held(fields) and comment.shown,
        )

    async def empty_comment(
        self, comment_id: str, address: str, fields: Mapping[str, Any]
    ) -> HomeComment | RestRefusal:
        """Make a comment without its text, to learn whether it is held back; otherwise as :meth:`comment`."""
        agent = comment_agent(RESERVED_COMMENT)
        names = {"author_name": NOBODY, "author_url": "", "author_email": address, "author_user_agent": agent}
        return await self.comment(comment_id, address, {**fields, **names, "content": _SAYS_NOTHING})

    async def change_comment(
        self, comment_id: str, address: str, number: int, values: Mapping[str, Any]
    ) -> HomeComment | RestRefusal:
        """Change a comment and update the map. Sending it twice does no harm.

        Raises:
            PrivateExposed: as for :meth:`comment`.
        """
        self._require_going()
        self._map.sending(Thing.COMMENT, comment_id, self._clock.now())
        return await self._change(
            COMMENTS,
            (Thing.COMMENT, comment_id),
            address,
            number,
            values,
            lambda comment: _is_held(values) and comment.shown,
        )

    async def change(
        self, planned: PlannedPost, there: HomePost, values: Mapping[str, Any], *, public: bool
    ) -> HomePost | RestRefusal:
        """Change a post and update the map. Sending it twice does no harm.

        Raises:
            PrivateExposed: the new home shows everybody a post that is not public.
        """
        return await self._change(
            there.collection,
            (Thing.POST, planned.post.id),
            planned.key,
            there.id,
            values,
            lambda post: not public and is_post_shown(values["status"], post.status),
            planned.slug,
        )

    async def _change(
        self,
        of: Collection[Record],
        mapped: tuple[Thing, str],
        key: str,
        number: int,
        values: Mapping[str, Any],
        check: Check[Record],
        sent: str = "",
    ) -> Record | RestRefusal:
        self._require_going()
        answer = await self._api.send(f"{of.route}/{number}", values, of.view)
        if isinstance(answer, RestRefusal):
            return answer
        changed = of.read(answer)
        keeps_key = changed is not None and changed[0] == key
        found = changed[1] if changed is not None and keeps_key else await self._without_key(of, key, number, answer)
        if found is not None and check(found):
            await self._stop(of, *mapped, found)
        if found is None or not keeps_key:
            return _odd()
        self.enter(*mapped, found, sent)
        return found

    async def _without_key(
        self, of: Collection[Record], key: str, number: int, answer: Mapping[str, Any]
    ) -> Record | None:
        """Return a record from an answer that lost its key; ``None`` if the new home does not have it any more."""
        raw = answer if "status" in answer and answer.get("id") == number else await of.current(self._api, number)
        found = None if raw is None else of.read({**raw, **_key_fields(of, key)})
        return None if found is None else found[1]

    def _require_going(self) -> None:
        """Send nothing more after the new home showed everybody a private record."""
        if self._deleted or self._kept:
            raise self.exposed()

    def exposed(self) -> PrivateExposed:
        """Return the error about the private records that the new home showed everybody."""
        deleted, kept = listed(self._deleted), listed(self._kept)
        if not kept:
            return PrivateExposed(
                "The new home showed everybody what was sent as private, so the move stopped. It deleted there again: "
                "{deleted}. Find the plugin that publishes it before you run the same command again.",
                deleted=deleted,
            )
        if not deleted:
            return PrivateExposed(
                "The new home shows everybody what was sent as private, so the move stopped. Delete there now: {kept}. "
                "Find the plugin that publishes it before you run the same command again.",
                kept=kept,
            )
        return PrivateExposed(
            "The new home shows everybody what was sent as private, so the move stopped. It deleted there again: "
            "{deleted}. Delete there now: {kept}. Find the plugin that publishes it before you run the same command "
            "again.",
            deleted=deleted,
            kept=kept,
        )

    async def _stop(self, of: Collection[Any], thing: Thing, key: str, found: HomeRecord) -> NoReturn:
        """Delete a shown private record if this run made it, with the pictures attached to it, and end the move.

        WordPress shows everybody a picture whose post was deleted.
        """
        pictures = self._files.pop(found.id, {}) if thing is Thing.POST else {}
        for sha256, file in pictures.items():
            await self._take_back(FILES, Thing.PICTURE, sha256, file)
        await self._take_back(of, thing, key, found)
        raise self.exposed()

    async def _take_back(self, of: Collection[Any], thing: Thing, key: str, found: HomeRecord) -> None:
        """Delete a record if this run made it, and note whether it is gone."""
        named = _named(thing, found)
        self._kept.append(named)
        if (thing, found.id) not in self._made:
            return
        with contextlib.suppress(ServiceError):
            await self._api.delete(f"{of.route}/{found.id}")
        try:
            left = await of.current(self._api, found.id)  # an answer to the deletion proves nothing
        except ServiceError:
            return
        if left is None:
            self._kept.remove(named)
            self._deleted.append(named)
            self._map.taken_back(thing, key)
            for comment_id in self._comments.pop(found.id, ()) if thing is Thing.POST else ():
                self._map.taken_back(Thing.COMMENT, comment_id)

    def enter(self, thing: Thing, key: str, found: HomeRecord, sent: str = "") -> None:
        """Add a record of the new home to the map.

        Args:
            thing: its kind.
            key: of its record in the archive.
            found: the record.
            sent: the name in addresses that a post was sent.
        """
        before = self._map.of(thing, key)
        # The address of a draft differs from its address once published.
        is_known_post = thing is Thing.POST and before is not None and before.id == found.id
        url = before.url if before is not None and is_known_post else found.url
        # A person may have changed the name since.
        is_other = bool(sent) and unquote(found.slug) != sent.lower()
        name = before.name if before is not None and is_known_post else unquote(found.slug) if is_other else ""
        self._map.made(thing, key, Mapped(found.id, url, found.fingerprint, name))

    async def _make(
        self,
        of: Collection[Record],
        mapped: tuple[Thing, str],
        key: str,
        wanted: Mapping[str, str],
        send: Callable[[Recover], Awaitable[dict[str, Any] | RestRefusal]],
        slug: str = "",
        check: Check[Record] = lambda _: False,
    ) -> Record | RestRefusal:
        """Make a record unless it exists.

        Args:
            of: its collection.
            mapped: its kind and its key in the map.
            key: its key in the new home.
            wanted: the parameters of a search for it.
            send: sends it; gets a function that finds the record if no answer came.
            slug: its name in addresses, if it has one.
            check: see :data:`Check`.
        """
        self._require_going()

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
            raise await self._keyless(of, mapped, key, answer, check)
        if slug and unquote(made.slug) != slug.lower():
            made = await self._first(of, made, filter(None, map(read, await of.search(self._api, wanted))))
        self._made.add((mapped[0], made.id))
        if check(made):
            await self._stop(of, *mapped, made)
        self.enter(*mapped, made, slug if mapped[0] is Thing.POST else "")
        return made

    async def _keyless(
        self,
        of: Collection[Record],
        mapped: tuple[Thing, str],
        key: str,
        answer: Mapping[str, Any],
        check: Check[Record],
    ) -> ServiceError | PrivateExposed:
        """Delete a record that no later run would recognise, and return the error."""
        thing, name = mapped
        number = answer.get("id")
        left: Any = None
        if isinstance(number, int):
            with contextlib.suppress(ServiceError):
                await self._api.delete(f"{of.route}/{number}")
            with contextlib.suppress(ServiceError):
                left = answer
                left = await of.current(self._api, number)
        found = None if left is None else of.read({**left, "id": number, **_key_fields(of, key)})
        if found is None:
            return ServiceError(
                "The new home does not keep the key of {noun} {key}. A plugin there may remove it.",
                noun=thing.noun,
                key=name,
            )
        named = _named(thing, found[1])
        if check(found[1]):
            self._kept.append(named)
            return self.exposed()
        return ServiceError(
            "The new home does not keep the key of {noun} {key}. A plugin there may remove it. Delete there now: "
            "{kept}.",
            noun=thing.noun,
            key=name,
            kept=named,
        )

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


def _key_fields(of: Collection[Any], key: str) -> dict[str, Any]:
    """Return the fields of a record that hold its key."""
    if of is COMMENTS:
        return {"author_user_agent": comment_agent(RESERVED_COMMENT, key)}
    return {"slug": key} if of is FILES else {"content": {"raw": mark(key, RESERVED)}}


def _numbered(slug: str) -> str:
    return ",".join([slug, *(f"{slug}-{number}" for number in range(2, _NUMBERED_SLUGS + 1))])


def _named(thing: Thing, found: HomeRecord) -> str:
    named = message("{noun} number {number}", noun=thing.noun, number=found.id)
    return f"{named} ({printable(found.url, _ADDRESS_CHARACTERS)})" if found.url else named


def _is_held(fields: Mapping[str, Any]) -> bool:
    return bool(fields["status"] != "approve")


def _odd() -> RestRefusal:
    return RestRefusal("", message("sent an unexpected answer"), {})
