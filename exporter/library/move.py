"""Move a blog from its archive to a WordPress: public entries first, then private ones."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.layout import Layout
from exporter.archive.reader import require_outside_archives
from exporter.archive.state import State
from exporter.arguments import checked
from exporter.clock import Clock, SystemClock
from exporter.errors import ArchiveDamaged, Incomplete, NotAuthorised, PrivateExposed, ServiceError, UsageError
from exporter.export.interface import ExportOptions, Side
from exporter.export.media import PostPicture
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.http.credentials import Credentials, Redactor
from exporter.http.engine import Engine
from exporter.http.retry import RetryEvent
from exporter.library.export import Only, checked_options, newer_state, require_declared, wordpress_posts
from exporter.library.running import run_alone
from exporter.library.visibility import read_at
from exporter.message import listed, message, message_n, said
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.move.home import (
    HomeContent,
    home_time,
    may_name_authors,
    may_write_any_html,
    missing_rights,
    read_home,
)
from exporter.move.home_terms import read_authors
from exporter.move.map_file import MapFile
from exporter.move.outcome import MoveEvent, MoveOutcome, Thing
from exporter.move.plan import Plan, PlannedPost
from exporter.move.public_look import Look, PrivateThings, look_in_public, private_things
from exporter.move.transfer import MoveRun
from exporter.move.writer import SETTLING, Writer
from exporter.settings import Settings
from exporter.text import printable
from exporter.wordpress import WordPressApi, check_address, home_client, new_home_credentials, open_wordpress

_UPLOAD_SECONDS: Final = 600.0
_DAY_HOURS: Final = 24
_NUMBERS_SHOWN: Final = 5
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class Moved:
    """The result of moving one side of a blog.

    Attributes:
        side: which entries.
        report: the outcome for the archive's records.
        outcome: the records made in the new home.
    """

    side: Side
    report: Report
    outcome: MoveOutcome

    @property
    def exit_code(self) -> int:
        """13 if the new home's visitors can see a private record, 3 if something is missing, otherwise 0."""
        if self.outcome.exposed:
            return PrivateExposed.exit_code
        return 0 if self.outcome.whole else Incomplete.exit_code

    def document(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {"side": str(self.side), **self.report.document(), **self.outcome.document()}


def _run(work: Coroutine[Any, Any, list[Moved]]) -> list[Moved]:
    with contextlib.closing(work):
        return run_alone(lambda: work, "move_blog", "asyncio.to_thread")


@dataclass(frozen=True, slots=True)
class Watching:
    """The caller's functions for a move.

    Attributes:
        tell: called with each event.
        warn: called with a sentence about each problem.
        on_retry: called when a retry was scheduled.
        run: runs the move in an event loop.
        tell_mails: called before anything is sent with the number of mail addresses of commenters to move, unless it
            is 0.
    """

    tell: Callable[[MoveEvent], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    on_retry: Callable[[RetryEvent], None] = lambda _: None
    run: Callable[[Coroutine[Any, Any, list[Moved]]], list[Moved]] = _run
    tell_mails: Callable[[int], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class NewHome:
    """The WordPress to move to.

    Attributes:
        url: its address in a browser.
        map_file: the map's path, see :mod:`exporter.move.map_file`.
        settling: see :data:`~exporter.move.writer.SETTLING`.
    """

    url: str
    map_file: Path
    settling: timedelta = SETTLING


def map_path(archive: Path, home: str) -> Path:
    """Return the default path for a move's map: next to the archive, named after the archive and the home.

    Raises:
        UsageError: ``home`` is no address.
    """
    folder = archive.resolve()
    return folder.with_name(f"{folder.name}.moved-to-{_NOT_IN_NAMES.sub('-', _place(home))}.jsonl")


class GivenNames(NamedTuple):
    """The names in addresses that a home chose for a blog's posts, as a move reported, by the entries' ids.

    Attributes:
        names: the names.
        unknown: why the map next to the archive could not be read; empty if it was, or if there is none.
    """

    names: dict[str, str]
    unknown: str = ""


def given_names(archive: Path, home: str, blog_id: str, map_file: Path | None = None) -> GivenNames:
    """Return the names in addresses that a home chose for a blog's posts.

    Args:
        archive: its folder.
        home: the new home's address in a browser.
        blog_id: the blog.
        map_file: the map's path; by default the one next to the archive, which may be missing or of another blog.

    Raises:
        UsageError: the given file is missing, or not the map of this blog and home.
    """
    path = map_path(archive, home) if map_file is None else map_file
    if not path.is_file():
        if map_file is None:
            return GivenNames({})
        raise UsageError("{path} is not a file; name another with --map.", path=path)
    try:
        with MapFile(path, blog_id, _place(home), SystemClock().now(), keep=False) as mapped:
            return GivenNames(mapped.names(Thing.POST))
    except UsageError as error:
        if map_file is None:
            return GivenNames({}, said(error))
        raise


@checked
def move_blog(
    archive: Path | str,
    home: NewHome | str,
    settings: Settings,
    options: ExportOptions,
    *,
    at: int | None = None,
    only: Only = "public",
    dry_run: bool = False,
    check: Callable[[State], None] = lambda _: None,
    watching: Watching | None = None,
    clock: Clock | None = None,
) -> list[Moved]:
    """Move the blog. A later run moves only changes, and resumes an interrupted move.

    Args:
        archive: the archive's folder, which stays unchanged.
        home: the new home, or its address in a browser; the map is then next to the archive.
        settings: the new home's user, time-outs and retries; the token of the blog's service is not used.
        options: the options of the export; this function sets ``side`` and ``as_of``.
        at: the version; by default the newest. Entries that were hidden or removed later are not public.
        only: which sides to move.
        dry_run: only read the new home, and return the changes of a move.
        check: called with the records before anything is sent; may raise.
        watching: the caller's functions.
        clock: the time of day, and waiting.

    Raises:
        UsageError: an option is invalid, or the password would travel unencrypted.
        NoArchive, NoSuchRecord, ArchiveDamaged: the version cannot be read.
        NotAuthorised: the user of the new home lacks a right that a move needs.
        ServiceError: the new home failed. The next run resumes from the records that were made.
        PrivateExposed: the new home answered that everybody sees a private record. It was deleted if this run made it.
    """
    archive = Path(archive)
    home = NewHome(home, map_path(archive, home)) if isinstance(home, str) else home
    _credentials(check_address(home.url), settings)
    require_outside_archives(home.map_file)
    mover = _Mover(home, settings, watching or Watching(), clock or SystemClock(), dry_run)

    def moved(reader: Archive) -> list[Moved]:
        version = reader.resolve(at)
        chosen = replace(options, as_of=read_at(reader, version))
        with contextlib.closing(reader.state(version)) as state, newer_state(reader, version) as newest:
            check(state)
            require_declared(chosen.service, chosen.declared)
            chosen, shown = checked_options(chosen, state)
            place = _place(home.url)
            with MapFile(home.map_file, reader.info.blog_id, place, mover.clock.now(), keep=not dry_run) as mapped:
                sides = []
                for side in _sides(only, chosen):
                    report = Report(public=side is Side.PUBLIC, both=only == "all")
                    if shown is not None:
                        report.infer(shown.pattern.text, shown.matches)
                    posts = wordpress_posts(state, replace(chosen, side=side), report, newest)
                    sides.append(_Side(side, Plan(posts, report), report))
                of_all = (
                    at is None
                    and only != "private"
                    and not (chosen.since or chosen.until or chosen.category or chosen.tag)
                )
                brought = {key for each in sides for key in each.plan.post_keys()} if of_all else None
                mails = sum(each.plan.mails for each in sides)
                if mails:
                    mover.watching.tell_mails(mails)
                known = _known(sides, chosen, lambda each: wordpress_posts(state, each, Report(), newest))
                work = mover.move(sides, known, mapped, reader.path, chosen.service.timezone, brought)
                done = mover.watching.run(work)
                for each in sides:
                    each.report.count_files(Asset.from_raw(raw) for _, raw in state.scan(Kind.ASSETS))
                return done

    return read_consistently(archive, moved)


@dataclass(frozen=True, slots=True)
class _Side:
    side: Side
    plan: Plan
    report: Report


@dataclass(frozen=True, slots=True)
class _Known:
    """Plans for the whole blog, also if only a part is moved."""

    open: Plan
    rest: Plan
    drafts: Plan | None

    @property
    def plans(self) -> list[Plan]:
        """All of them."""
        return [self.open, self.rest, *([] if self.drafts is None else [self.drafts])]

    @property
    def pictures(self) -> Collection[str]:
        """The SHA-256 of the pictures that public entries show."""
        return self.open.pictures.keys()


def _known(sides: list[_Side], options: ExportOptions, posts: Callable[[ExportOptions], Posts]) -> _Known:
    every = replace(options, since=None, until=None, category=None, tag=None)
    plans = {each.side: each.plan for each in sides} if every == options else {}

    def plan(side: Side) -> Plan:
        return plans.get(side) or Plan(posts(replace(every, side=side)), Report())

    drafts = plan(Side.DRAFTS) if options.declared.all_as_draft else None
    return _Known(plan(Side.PUBLIC), plan(Side.REST), drafts)


def _names(api: WordPressApi) -> list[str]:
    """Return the texts about the new home that its pages show."""
    return [text for text in (api.index.get("name"), api.index.get("description")) if isinstance(text, str)]


@dataclass(frozen=True, slots=True)
class _Mover:
    """Moves the sides of a blog to one home."""

    home: NewHome
    settings: Settings
    watching: Watching
    clock: Clock
    dry_run: bool

    async def move(
        self,
        sides: list[_Side],
        known: _Known,
        mapped: MapFile,
        archive: Path,
        zone: tzinfo,
        brought: set[str] | None,
    ) -> list[Moved]:
        async with Engine(clock=self.clock) as engine:
            client = partial(
                home_client, engine, self.home.url, settings=self.settings, on_retry=self.watching.on_retry
            )
            credentials = _credentials(self.home.url, self.settings)
            api = await open_wordpress(client(credentials))
            uploads = replace(api, client=client(credentials, answer_seconds=_UPLOAD_SECONDS))
            await self._check_home(api, zone)
            writer = None if self.dry_run else Writer(api, uploads, mapped, self.clock, self.home.settling)
            done: list[Moved] = []
            tags = any(each.plan.tags for each in sides)
            home = await read_home(api, tags=tags)
            authors = await self._authors(api, sides)
            plans = [*(each.plan for each in sides), *known.plans]
            if any(plan.scheduled for plan in plans):
                now = max(filter(None, [self.clock.now(), await home_time(api)]))
                for plan in plans:
                    plan.now = now
            _refuse_doubles(home, sides, mapped)

            def run(side: _Side, **more: Any) -> MoveRun:
                return MoveRun(
                    api,
                    side.plan,
                    mapped,
                    writer,
                    read=lambda picture: _content(archive, picture),
                    concurrency=self.settings.concurrency,
                    report=side.report,
                    tell=self.watching.tell,
                    authors=authors,
                    public_pictures=known.pictures,
                    **more,
                )

            # An entry that became private is hidden first, with any value of --only.
            await run(_Side(Side.REST, known.rest, Report()), home=home).hide()
            fresh: set[str] = set()
            for each in sides:
                moving = run(each, home=None if done else home, brought=None if done else brought)
                done.append(Moved(each.side, each.report, await moving.run()))
                fresh |= moving.fresh
            if not self.dry_run and done:
                visitor = replace(api, client=client(Credentials(None)))

                def private_in(now_there: HomeContent) -> PrivateThings:
                    before = home.categories.by_name
                    return private_things(now_there, known.plans, _names(api), fresh, mapped, before)

                _note(await _look(api, visitor, private_in), done[-1].outcome, api.client.credentials.redactor)
            return done

    async def _authors(self, api: WordPressApi, sides: list[_Side]) -> Mapping[str, int]:
        """Return the new home's user numbers by name, and warn of authors who have no account there."""
        wanted = {name for each in sides for name in each.plan.authors}
        if not wanted:
            return {}
        known = await read_authors(api) if await may_name_authors(api) else {}
        unknown = sorted(wanted - set(known))
        if unknown:
            self.watching.warn(
                message_n(
                    "{n:,} author has no account of that name in the new home, so {user} becomes the author there: "
                    "{names}. To keep authors, make their accounts first, as an administrator.",
                    "{n:,} authors have no account of their name in the new home, so {user} becomes the author there: "
                    "{names}. To keep authors, make their accounts first, as an administrator.",
                    len(unknown),
                    user=self.settings.new_home_user,
                    names=listed([*unknown[:_NUMBERS_SHOWN], *(["…"] if len(unknown) > _NUMBERS_SHOWN else [])]),
                )
            )
        return known

    async def _check_home(self, api: WordPressApi, zone: tzinfo) -> None:
        """Refuse a user without the necessary rights, and warn of settings that change the result."""
        user, warn = self.settings.new_home_user, self.watching.warn
        missing = await missing_rights(api)
        if missing:
            raise NotAuthorised(
                "{user} lacks these rights in the new home: {missing}. Name an editor or administrator.",
                user=user,
                missing=listed(missing),
            )
        if not await may_write_any_html(api):
            warn(
                message(
                    "WordPress removes scripts, frames and more from the posts of {user}. Only an "
                    "administrator's posts stay unchanged.",
                    user=user,
                )
            )
        there, here = api.index.get("gmt_offset"), self.clock.now().astimezone(zone).utcoffset()
        if isinstance(there, int | float) and abs(there) < _DAY_HOURS and timedelta(hours=there) != here:
            warn(
                message(
                    "The new home's clock is {there:+g} hours from UTC, unlike the blog's. Entries will show "
                    "other times, and some other days. Set its time zone first (Settings, General).",
                    there=there,
                )
            )


def _refuse_doubles(home: HomeContent, sides: list[_Side], mapped: MapFile) -> None:
    """Refuse to move posts that another program, such as an importer, already made in the new home.

    Raises:
        UsageError: the new home has posts with the same date and the same slug or title.
    """
    planned = (each for side in sides for each in side.plan)
    unknown = (each for each in planned if each.key not in home.posts and mapped.of(Thing.POST, each.post.id) is None)
    found = [number for number in (_foreign(home, each) for each in unknown) if number is not None]
    if found:
        raise UsageError(
            message_n(
                "{n:,} post of this blog is already in the new home and was not moved by this program: number "
                "{numbers}. Nothing was sent, as it would be there twice. Delete it there, or move into an empty "
                "WordPress.",
                "{n:,} posts of this blog are already in the new home and were not moved by this program: numbers "
                "{numbers}. Nothing was sent, as they would be there twice. Delete them there, or move into an empty "
                "WordPress.",
                len(found),
                numbers=listed([*map(str, found[:_NUMBERS_SHOWN]), *(["…"] if len(found) > _NUMBERS_SHOWN else [])]),
            )
        )


def _foreign(home: HomeContent, planned: PlannedPost) -> int | None:
    """Return the number of another program's post with the date and the slug or title of a planned one."""
    return home.foreign.get((planned.when, planned.slug)) or home.foreign.get((planned.when, planned.title))


def _credentials(home: str, settings: Settings) -> Credentials:
    found = new_home_credentials(home, settings)
    if settings.new_home_token and not found.token:
        stated = settings.sources.get("new_home_token_file")
        raise UsageError(
            "The application password ({place}) is not sent to {home}, because nothing beside it says that it belongs "
            "there. If it does: --new-home-token-for {home}, or new_home_token_for in the place of the password.",
            place="new_home_token" if stated is None else stated.place("new_home_token_file"),
            home=printable(home, 200),
        )
    if not found.token:
        if settings.new_home_user:
            raise UsageError(
                message(
                    "The application password of {user!r} is missing. Put it (Users, Profile, Application Passwords) "
                    "into BLOG_EXPORTER_NEW_HOME_TOKEN or --new-home-token-file.",
                    user=printable(settings.new_home_user, 200),
                )
            )
        raise UsageError(
            message(
                "No user of the new home is named. Set --new-home-user, and put an application password "
                "of that user (Users, Profile, Application Passwords) into BLOG_EXPORTER_NEW_HOME_TOKEN "
                "or --new-home-token-file."
            )
        )
    return found


def _place(home: str) -> str:
    parts = urlsplit(check_address(home))
    return f"{parts.netloc}{parts.path}".lower().rstrip("/")


def _sides(only: Only, options: ExportOptions) -> Iterator[Side]:
    if only != "private":
        yield Side.DRAFTS if options.declared.all_as_draft else Side.PUBLIC
    if only != "public":
        yield Side.REST


def _content(archive: Path, picture: PostPicture) -> bytes:
    path = Layout(archive).root / (picture.source or "")
    try:
        content = path.read_bytes()
    except OSError:
        content = b""
    if hashlib.sha256(content).hexdigest() != picture.asset.sha256:
        raise ArchiveDamaged(
            "{path} is missing or damaged; the next backup reads it again if it still exists.", path=path
        )
    return content


async def _look(owner: WordPressApi, visitor: WordPressApi, private_in: Callable[[HomeContent], PrivateThings]) -> Look:
    """Search the new home as a visitor. Everything is sent, so a home that fails now does not end the move."""
    try:
        return await look_in_public(visitor, private_in(await read_home(owner, tags=True)))
    except ServiceError as error:
        return Look((), error)


def _note(look: Look, outcome: MoveOutcome, secret: Redactor) -> None:
    outcome.exposed = [each._replace(place=secret(each.place)) for each in look.exposed]
    outcome.unseen = "" if look.failure is None else secret(said(look.failure))
