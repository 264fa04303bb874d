"""Compare a new home with an archive: read both, match their posts, and list the differences."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.layout import Layout
from exporter.archive.state import State
from exporter.arguments import checked
from exporter.compare.archived import in_words, old_posts, slug_of
from exporter.compare.folder import FolderHome
from exporter.compare.matching import Matches, match
from exporter.compare.pictures import PictureReader, look_of
from exporter.compare.posts import (
    Aspect,
    Home,
    HomeState,
    NewPost,
    OldPost,
    Picture,
    PictureFacts,
    PictureLook,
    Scope,
    Unchecked,
)
from exporter.compare.reconcile import Comparison, leads_to, place_of_page, reconcile
from exporter.compare.site import SiteHome
from exporter.compare.wordpress import WordPressHome
from exporter.errors import UsageError
from exporter.export.interface import ExportOptions, Side
from exporter.export.report import Report
from exporter.html.links import host_of
from exporter.http.address_guard import AddressGuard, check_base_url
from exporter.http.credentials import Credentials
from exporter.http.engine import DOWNLOAD_POLICY, Engine
from exporter.library.export import Only, newer_state, require_declared, wordpress_posts
from exporter.library.move import GivenNames, given_names
from exporter.library.running import run_alone
from exporter.library.visibility import read_at
from exporter.message import message
from exporter.settings import Settings
from exporter.wordpress import check_address, find_wordpress, home_client, new_home_credentials, open_wordpress

Progress = Callable[[str, int], None]


class Arrivals(NamedTuple):
    """The posts that the new home should show.

    Attributes:
        posts: the archive's posts, including those that were not to be moved.
        old_hosts: the hosts that disappear with the old blog.
        about: archive, blog and version, as members of ``compare.json``.
        unchecked: the parts that cannot be compared, whatever the new home shows.
    """

    posts: list[OldPost]
    old_hosts: frozenset[str]
    about: dict[str, Any]
    unchecked: tuple[Unchecked, ...] = ()


class Compared(NamedTuple):
    """The kind of home, for people, and the comparison."""

    kind: str
    comparison: Comparison


def expected_posts(
    archive: Path,
    options: ExportOptions,
    *,
    at: int | None = None,
    only: Only = "public",
    check: Callable[[State], None] = lambda _: None,
    home: str = "",
    map_file: Path | None = None,
) -> Arrivals:
    """Return the archive's posts in the form in which the new home must show them.

    Args:
        archive: its folder.
        options: the options of the export or move; this function sets ``side`` and ``as_of``.
        at: the version; by default the newest.
        only: the entries to expect: public ones, private ones or all.
        check: called with the records before anything else; may raise.
        home: the new home's address, if a move may have told which names it gave to posts.
        map_file: the map of that move; by default the one next to the archive.

    Raises:
        UsageError: nothing says which entries are public, the given file is not that map, or ``home`` is a folder,
            which has none.
        NoArchive, NoSuchRecord, ArchiveDamaged: the version cannot be read.
    """
    is_moved = is_web_address(home)
    if map_file is not None and not is_moved:
        raise UsageError(
            "{home} is a folder. Only a move to an address has a map: leave out --map, or name that address.", home=home
        )

    def read(reader: Archive) -> Arrivals:
        version = reader.resolve(at)
        with contextlib.closing(reader.state(version)) as state, newer_state(reader, version) as newest:
            check(state)
            require_declared(options.service, options.declared)
            side = Side.DRAFTS if options.declared.all_as_draft else Side.PUBLIC
            chosen = replace(options, as_of=read_at(reader, version), hidden_comments=True)
            rest = replace(chosen, since=None, until=None, category=None)
            found: dict[str, OldPost] = {}
            hosts: frozenset[str] = frozenset()
            for each in (side, Side.REST):
                wanted = only != ("private" if each is side else "public")
                # Entries that were not chosen are needed too: the archive has them, so they are not extra posts.
                for part, asked in ((chosen, wanted), (rest, False)) if rest != chosen else ((chosen, wanted),):
                    posts = wordpress_posts(state, replace(part, side=each), Report(), newest)
                    for post in old_posts(posts, asked=asked, hidden_comments=options.hidden_comments):
                        found.setdefault(post.id, post)
                    hosts |= posts.report.old_hosts
        given = given_names(archive, home, reader.info.blog_id, map_file) if is_moved else GivenNames({})
        for entry_id, name in given.names.items():
            if entry_id in found:
                found[entry_id] = replace(found[entry_id], given_name=slug_of(name))
        about = {"archive": str(archive.resolve()), "blog_id": reader.info.blog_id, "version": version}
        return Arrivals(list(found.values()), hosts, about, tuple(_unknown_names(given.unknown)))

    return read_consistently(archive, read)


@asynccontextmanager
async def open_home(
    place: str, settings: Settings, *, engine: Engine | None = None, progress: Progress = lambda _what, _count: None
) -> AsyncIterator[Home]:
    """Yield the reader of a new home.

    Args:
        place: its address or folder.
        settings: the new home's user, time-outs and retries.
        engine: sends the requests; ``None`` makes a new one.
        progress: called with the kind and the number of things read.

    Raises:
        UsageError: the place is no home, or the credentials must not be sent there.
        NotAuthorised, ServiceError: it cannot be read.
    """
    if not place.strip():
        raise UsageError(message("NEW_HOME is empty: name the new home's address, or the folder of its pages."))
    if not is_web_address(place):
        yield FolderHome(Path(place), lambda count: progress("pages", count))
        return
    origin = str(check_base_url(check_address(place)).origin())
    credentials = new_home_credentials(place, settings)
    async with contextlib.nullcontext(engine) if engine is not None else Engine() as shared:
        downloader = shared.downloader(
            AddressGuard(allow_private=settings.allow_private_network),
            max_bytes=settings.max_asset_size,
            policy=replace(DOWNLOAD_POLICY, retries=min(settings.retries, DOWNLOAD_POLICY.retries)),
        )
        pictures = PictureReader(downloader, lambda count: progress("pictures", count))
        listed = place.endswith((".xml", ".rss", ".atom"))
        find = open_wordpress if credentials.token else find_wordpress
        api = None if listed else await find(home_client(shared, place, credentials, settings))
        if api is not None:
            known = bool(credentials.token)
            yield WordPressHome(api, pictures, known=known, progress=lambda count: progress("posts", count))
        else:
            client = home_client(shared, origin, Credentials(), settings)
            yield SiteHome(client, place, pictures, lambda count: progress("pages", count))


def scope_of(
    expected: Arrivals, *, comments: bool = True, pictures: bool = True, old_hosts: Iterable[str] = ()
) -> Scope:
    """Return the parts to compare.

    Args:
        expected: the posts that the new home should show.
        comments: compare comments.
        pictures: read pictures; otherwise only their addresses are compared.
        old_hosts: further hosts that disappear with the old blog.
    """
    left_out = set() if comments else {Aspect.COMMENTS}
    hosts = expected.old_hosts | {host.strip().rstrip(".").lower() for host in old_hosts}
    return Scope(frozenset(Aspect) - left_out, fetch=pictures, old_hosts=hosts)


@checked
def compare_blog(
    archive: Path | str,
    home: Path | str,
    settings: Settings,
    options: ExportOptions,
    *,
    at: int | None = None,
    only: Only = "public",
    comments: bool = True,
    pictures: bool = True,
    old_hosts: tuple[str, ...] = (),
    map_file: Path | None = None,
    progress: Progress = lambda _what, _count: None,
) -> Compared:
    """Compare a new home with an archive. ``comparison.whole`` says whether nothing is missing or different.

    Args:
        archive: its folder.
        home: the new home's address, or the folder of its pages.
        settings: the new home's user, time-outs and retries.
        options: the options of the export or move; this function sets ``side`` and ``as_of``.
        at: the version; by default the newest.
        only: the entries to expect: public ones, private ones or all.
        comments: compare comments.
        pictures: read pictures; otherwise only their addresses are compared.
        old_hosts: further hosts that disappear with the old blog.
        map_file: the map of the move to this home; by default the one next to the archive.
        progress: called with the kind and the number of things read.

    Raises:
        UsageError: nothing says which entries are public, the place is no home, the given file is not the map from a
            move to it, or an event loop runs already.
        NoArchive, NoSuchRecord, ArchiveDamaged: the version cannot be read.
        NotAuthorised, ServiceError: the home cannot be read.
    """
    expected = expected_posts(Path(archive), options, at=at, only=only, home=str(home), map_file=map_file)

    async def run() -> Compared:
        async with open_home(str(home), settings, progress=progress) as opened:
            chosen = scope_of(expected, comments=comments, pictures=pictures, old_hosts=old_hosts)
            return await compare(opened, expected, chosen)

    return run_alone(run, "compare_blog", "asyncio.to_thread")


async def compare(home: Home, expected: Arrivals, scope: Scope) -> Compared:
    """Read a new home and compare it with the expected posts.

    Raises:
        NotAuthorised, ServiceError: the home failed as a whole.
    """
    state = await home.read()
    state = replace(state, unchecked=(*state.unchecked, *expected.unchecked))
    scope = replace(scope, old_hosts=scope.old_hosts - {state.host})
    posts = [in_words(post) for post in expected.posts] if state.words else expected.posts
    matches = match(posts, state.posts)
    facts: dict[str, PictureFacts] = {}
    if scope.fetch and Aspect.PICTURES in scope.aspects:
        shown = [address for new in matches.pairs.values() for address in _pictures(state.posts[new])]
        held = {picture.sha256 for post in posts for picture in post.pictures}
        held |= {post.stated.featured.sha256 for post in posts if post.stated and post.stated.featured}
        facts = dict(await home.pictures([each for each in shown if host_of(each) not in scope.old_hosts], held))
        archive = expected.about.get("archive")
        look = None if archive is None else functools.cache(functools.partial(_look_in, Path(archive)))
        scope = replace(scope, old_look=look)
    followed = await home.follow(_unlike(posts, state, matches))
    return Compared(state.kind, reconcile(posts, state, matches, facts, scope, followed))


def is_web_address(place: str) -> bool:
    """Return whether a new home is an address, not a folder."""
    return place.lower().startswith(("http://", "https://"))


def _pictures(post: NewPost) -> Iterator[str]:
    yield from post.pictures
    if post.featured:
        yield post.featured


def _unlike(posts: Sequence[OldPost], state: HomeState, matches: Matches) -> list[str]:
    """Return the old addresses that do not equal the new ones by their paths, if the new home may know them."""
    found = []
    for old, new in matches.pairs.items():
        permalink = "" if (stated := posts[old].stated) is None else stated.permalink
        places = [place_of_page(address) for address in state.posts[new].addresses]
        is_here = not state.host or host_of(permalink) == state.host
        if permalink and posts[old].asked and is_here and not leads_to(place_of_page(permalink), places):
            found.append(permalink)
    return found


def _unknown_names(why: str) -> Iterator[Unchecked]:
    if why:
        yield Unchecked(Aspect.SLUG, 0, message("which ones WordPress chose is unknown. {why}", why=why), asked=False)


def _look_in(archive: Path, picture: Picture) -> PictureLook:
    """Return the look of a picture of the archive."""
    try:
        with Layout(archive).root.joinpath(*picture.source.split("/")).open("rb") as file:
            return look_of(file)
    except OSError as error:
        return PictureLook(unknown=error.strerror or message("the disk failed"))
