"""Moving a blog, from its archive, into a WordPress: what is public and what is not, each on its own."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.layout import Layout
from exporter.archive.reader import require_outside_archives
from exporter.archive.state import State
from exporter.clock import Clock, SystemClock
from exporter.errors import ArchiveDamaged, NotAuthorised, UsageError
from exporter.export.interface import ExportOptions, Side
from exporter.export.media import PostPicture
from exporter.export.names import wordpress_name
from exporter.export.own_links import infer_entry_url
from exporter.export.posts import Newest, Posts
from exporter.export.report import Report
from exporter.http.credentials import Credentials
from exporter.http.deadline import Timeouts
from exporter.http.engine import Client, Engine
from exporter.http.retry import RetryEvent, RetryPolicy
from exporter.library.export import Only, check_category, check_patterns, newest_beside, read_at
from exporter.library.new_home import check_address, new_home_credentials
from exporter.message import listed, message, message_n
from exporter.move.home import HomeContent, may_write_any_html, missing_rights, read_home
from exporter.move.map_file import MapFile
from exporter.move.outcome import Exposure, MoveEvent, MoveOutcome, Thing
from exporter.move.plan import Plan, PlannedPost
from exporter.move.public_look import look_in_public, private_things
from exporter.move.run import MoveRun
from exporter.move.writer import SETTLING, Writer
from exporter.settings import Settings
from exporter.wordpress.rest import WordPressApi, open_wordpress

_UPLOAD_SECONDS: Final = 600.0
_DAY: Final = 24
_NAMED: Final = 5
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class Moved:
    """One side of a blog in its new home.

    Attributes:
        side: which entries.
        report: what became of the archive's records.
        outcome: what was done in the new home.
    """

    side: Side
    report: Report
    outcome: MoveOutcome

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {"side": str(self.side), **self.report.document(), **self.outcome.document()}


@dataclass(frozen=True, slots=True)
class Watching:
    """Who hears of a move under way, and who may end it.

    Attributes:
        tell: hears what it does.
        warn: hears what is unwise.
        on_retry: hears of requests that wait to be sent again.
        run: runs it in an event loop.
    """

    tell: Callable[[MoveEvent], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    on_retry: Callable[[RetryEvent], None] = lambda _: None
    run: Callable[[Coroutine[Any, Any, list[Moved]]], list[Moved]] = asyncio.run


@dataclass(frozen=True, slots=True)
class NewHome:
    """A WordPress, and who may write there.

    Attributes:
        url: its address, as a person opens it.
        map_file: where is written down what became what.
        settling: see :data:`~exporter.move.writer.SETTLING`.
    """

    url: str
    map_file: Path
    settling: timedelta = SETTLING


def map_path(archive: Path, home: str) -> Path:
    """Return where the map of a move lies unless told otherwise: beside the archive, named after both.

    Raises:
        UsageError: ``home`` is no address.
    """
    folder = archive.resolve()
    return folder.with_name(f"{folder.name}.moved-to-{_NOT_IN_NAMES.sub('-', _place(home))}.jsonl")


def move_blog(
    archive: Path,
    home: NewHome,
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
    """Move the blog; what was moved before is not moved again, and a move that was cut short goes on.

    Args:
        archive: the archive's folder; nothing in it is changed.
        home: the new home.
        settings: who writes there, and how patiently it is asked; the token of the blog's service is not used.
        options: what is wanted; ``side`` and ``as_of`` are set by this function.
        at: the version; by default the newest. What was hidden or removed since is not public.
        only: which sides go.
        dry_run: send nothing but questions, and return what would be done.
        check: called with the records before anything is sent; may raise.
        watching: who hears of it.
        clock: the time of day, and waiting.

    Raises:
        UsageError: the options cannot be right, or the password would travel unencrypted.
        NoArchive, NoSuchRecord, ArchiveDamaged: what is asked for cannot be read.
        NotAuthorised: the user of the new home may not do what a move does.
        ServiceError: the new home failed; what is there stays, and the next run goes on from there.
    """
    _credentials(check_address(home.url), settings)
    require_outside_archives(home.map_file)
    mover = _Mover(home, settings, watching or Watching(), clock or SystemClock(), dry_run)

    def moved(reader: Archive) -> list[Moved]:
        version = reader.resolve(at)
        chosen = replace(options, as_of=read_at(reader, version))
        with contextlib.closing(reader.state(version)) as state, newest_beside(reader, version) as newest:
            check(state)
            if chosen.declared.public_access is None and not chosen.declared.all_as_draft:
                raise UsageError(
                    message("Nothing says yet which entries are public: declare it, or make drafts of all.")
                )
            check_patterns(chosen, state)
            check_category(state, chosen.service, chosen.category)
            shown = None if chosen.old_urls else infer_entry_url(chosen.service, state)
            if shown is not None:
                chosen = replace(chosen, old_urls=(shown.pattern,))
            place = _place(home.url)
            with MapFile(home.map_file, reader.info.blog_id, place, mover.clock.now(), keep=not dry_run) as mapped:
                sides = []
                for side in _sides(only, chosen):
                    report = Report(public=side is Side.PUBLIC)
                    if shown is not None:
                        report.infer(shown.pattern.text, shown.matches)
                    posts = _posts(state, replace(chosen, side=side), report, newest)
                    sides.append(_Side(side, Plan(posts, report), report))
                of_all = at is None and only != "private" and not (chosen.since or chosen.until or chosen.category)
                brought = {key for each in sides for key in each.plan.post_keys()} if of_all else None
                work = mover.move(sides, mapped, reader.path, chosen.service.timezone, brought)
                return mover.watching.run(work)

    return read_consistently(archive, moved)


@dataclass(frozen=True, slots=True)
class _Side:
    side: Side
    plan: Plan
    report: Report


@dataclass(frozen=True, slots=True)
class _Mover:
    """Moves sides of a blog into one home."""

    home: NewHome
    settings: Settings
    watching: Watching
    clock: Clock
    dry_run: bool

    async def move(
        self, sides: list[_Side], mapped: MapFile, archive: Path, zone: tzinfo, brought: set[str] | None
    ) -> list[Moved]:
        async with Engine(clock=self.clock) as engine:
            api = await open_wordpress(self._client(engine))
            uploads = replace(api, client=self._client(engine, longest=_UPLOAD_SECONDS))
            await self._look_around(api, zone)
            writer = None if self.dry_run else Writer(api, uploads, mapped, self.clock, self.home.settling)
            done: list[Moved] = []
            home = await read_home(api)
            _refuse_doubles(home, sides, mapped)
            for each in sides:
                run = MoveRun(
                    api,
                    each.plan,
                    mapped,
                    writer,
                    read=lambda picture: _content(archive, picture),
                    concurrency=self.settings.concurrency,
                    report=each.report,
                    tell=self.watching.tell,
                    brought=None if done else brought,
                    home=None if done else home,
                )
                done.append(Moved(each.side, each.report, await run.run()))
            if not self.dry_run and done:
                visitor = replace(api, client=self._client(engine, credentials=Credentials(None)))
                done[-1].outcome.exposed = await self._exposed(api, visitor, sides)
            return done

    async def _exposed(self, api: WordPressApi, visitor: WordPressApi, sides: list[_Side]) -> list[Exposure]:
        """Return what visitors without a login see of what is not public."""
        hidden = [each.plan for each in sides if not each.plan.public]
        public = [each.plan for each in sides if each.plan.public]
        private = private_things(
            await read_home(api),
            {planned.key: planned.title for plan in hidden for planned in plan},
            (planned.title for plan in public for planned in plan),
            {name for plan in hidden for name in plan.categories}
            - {name for plan in public for name in plan.categories},
        )
        return await look_in_public(visitor, private) if private else []

    async def _look_around(self, api: WordPressApi, zone: tzinfo) -> None:
        """Refuse what could not end well, and say what would end otherwise than somebody may expect."""
        user, warn = self.settings.new_home_user, self.watching.warn
        missing = await missing_rights(api)
        if missing:
            raise NotAuthorised(
                message(
                    "{user} may not {missing} in the new home; name an editor or administrator of it.",
                    user=user,
                    missing=listed(missing),
                )
            )
        if not await may_write_any_html(api):
            warn(
                message(
                    "WordPress removes scripts, frames and more from what {user} writes; only an "
                    "administrator's text is "
                    "kept as it is.",
                    user=user,
                )
            )
        there, here = api.index.get("gmt_offset"), self.clock.now().astimezone(zone).utcoffset()
        if isinstance(there, int | float) and abs(there) < _DAY and timedelta(hours=there) != here:
            warn(
                message(
                    "The new home's clock is {there:+g} hours from UTC, which is not the blog's: "
                    "entries will be shown at "
                    "other hours, and some on other days. Set its time zone first (Settings, General).",
                    there=there,
                )
            )

    def _client(self, engine: Engine, longest: float = 0.0, credentials: Credentials | None = None) -> Client:
        """Return what sends requests; while a file is on its way nothing is heard for up to ``longest`` seconds."""
        settings = self.settings
        return engine.client(
            self.home.url,
            credentials or _credentials(self.home.url, settings),
            timeouts=Timeouts(
                connect=settings.connect_timeout.total_seconds(),
                read=max(settings.read_timeout.total_seconds(), longest),
                total=max(settings.total_timeout.total_seconds(), longest),
            ),
            max_body=settings.max_body,
            policy=RetryPolicy(retries=settings.retries, give_up_after=settings.give_up_after.total_seconds()),
            concurrency=settings.concurrency,
            rate=settings.rate,
            on_retry=self.watching.on_retry,
        )


def _refuse_doubles(home: HomeContent, sides: list[_Side], mapped: MapFile) -> None:
    """Refuse to move posts that somebody else already brought into the new home, such as an importer.

    Raises:
        UsageError: there are such posts: of the same date, and with the same name or title.
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
                numbers=listed([*map(str, found[:_NAMED]), *(["…"] if len(found) > _NAMED else [])]),
            )
        )


def _foreign(home: HomeContent, planned: PlannedPost) -> int | None:
    """Return the number of a post that is not ours and has the date and the name or the title of a planned one."""
    return home.foreign.get((planned.when, planned.slug)) or home.foreign.get((planned.when, planned.title))


def _credentials(home: str, settings: Settings) -> Credentials:
    found = new_home_credentials(home, settings)
    if not found.token:
        raise UsageError(
            message(
                "Who are you in the new home? Name a user with --new-home-user, and give an "
                "application password of that "
                "user (Users, Profile, Application Passwords) in BLOG_EXPORTER_NEW_HOME_TOKEN or --new-home-token-file."
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


def _posts(state: State, options: ExportOptions, report: Report, newest: Newest | None) -> Posts:
    return Posts(state, options, report, holds_back=True, newest=newest, spelling=wordpress_name)


def _content(archive: Path, picture: PostPicture) -> bytes:
    path = Layout(archive).root / (picture.source or "")
    try:
        content = path.read_bytes()
    except OSError:
        content = b""
    if hashlib.sha256(content).hexdigest() != picture.asset.sha256:
        raise ArchiveDamaged(
            message("{path} is missing or damaged; the next backup gets it again, if it is still there.", path=path)
        )
    return content
