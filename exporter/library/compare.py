"""A new home compared with an archive: what is read of both, and the comparison."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.layout import Layout
from exporter.archive.state import State
from exporter.compare.archived import in_words, old_posts
from exporter.compare.fetching import PictureReader
from exporter.compare.folder import FolderHome
from exporter.compare.matching import match
from exporter.compare.picture_look import PictureLook, look_of
from exporter.compare.posts import Aspect, Home, OldPost, Picture, PictureFacts, Wish
from exporter.compare.reconcile import Comparison, reconcile
from exporter.compare.site import SiteHome
from exporter.compare.wordpress import WordPressHome
from exporter.errors import UsageError
from exporter.export.interface import ExportOptions, Side
from exporter.export.names import wordpress_name
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.html.links import host_of
from exporter.http.address_guard import AddressGuard, check_base_url
from exporter.http.credentials import Credentials
from exporter.http.engine import DOWNLOAD_POLICY, Client, Engine
from exporter.http.retry import RetryPolicy
from exporter.library.export import Only, newest_beside, read_at
from exporter.library.new_home import check_address, new_home_credentials
from exporter.message import message
from exporter.settings import Settings
from exporter.wordpress.rest import find_wordpress, open_wordpress

Progress = Callable[[str, int], None]


class Arrivals(NamedTuple):
    """What should have arrived.

    Attributes:
        posts: the archive's posts, also those that were not to be moved.
        old_hosts: the hosts that die with the old blog.
        about: which archive, blog and version it is, as ``compare.json`` has it.
    """

    posts: list[OldPost]
    old_hosts: frozenset[str]
    about: dict[str, Any]


class Compared(NamedTuple):
    """The kind of home, for people, and what was found."""

    kind: str
    comparison: Comparison


def expected_posts(
    archive: Path,
    options: ExportOptions,
    *,
    at: int | None = None,
    only: Only = "public",
    check: Callable[[State], None] = lambda _: None,
) -> Arrivals:
    """Return the archive's posts as they should have arrived.

    Args:
        archive: its folder.
        options: what was to be moved, and how addresses are made; ``side`` and ``as_of`` are set by this function.
        at: the version; by default the newest.
        only: whether what is public was to be moved, or what is not, or both.
        check: called with the records before anything else; may raise.

    Raises:
        UsageError: nothing says which entries are public.
        NoArchive, NoSuchRecord, ArchiveDamaged: what is asked for cannot be read.
    """

    def read(reader: Archive) -> Arrivals:
        version = reader.resolve(at)
        with contextlib.closing(reader.state(version)) as state, newest_beside(reader, version) as newest:
            check(state)
            if options.declared.public_access is None and not options.declared.all_as_draft:
                raise UsageError(
                    message("Nothing says yet which entries are public: declare it, or make drafts of all.")
                )
            side = Side.DRAFTS if options.declared.all_as_draft else Side.PUBLIC
            chosen = replace(options, as_of=read_at(reader, version), hidden_comments=True)
            rest = replace(chosen, since=None, until=None, category=None)
            found: dict[str, OldPost] = {}
            hosts: frozenset[str] = frozenset()
            for each in (side, Side.REST):
                wanted = only != ("private" if each is side else "public")
                # What was not chosen must be known too: it is no post that the archive does not have.
                for part, asked in ((chosen, wanted), (rest, False)) if rest != chosen else ((chosen, wanted),):
                    posts = Posts(
                        state,
                        replace(part, side=each),
                        Report(),
                        holds_back=True,
                        newest=newest,
                        spelling=wordpress_name,
                    )
                    for post in old_posts(posts, asked=asked, hidden_comments=options.hidden_comments):
                        found.setdefault(post.id, post)
                    hosts |= posts.report.old_hosts
        about = {"archive": str(archive.resolve()), "blog_id": reader.info.blog_id, "version": version}
        return Arrivals(list(found.values()), hosts, about)

    return read_consistently(archive, read)


@asynccontextmanager
async def open_home(
    place: str, settings: Settings, *, engine: Engine | None = None, progress: Progress = lambda _what, _count: None
) -> AsyncIterator[Home]:
    """Yield what reads a new home.

    Args:
        place: where it is, an address or a folder.
        settings: the user of the new home, and how patiently it is asked.
        engine: sends the requests; ``None`` for one of its own.
        progress: called with what is read, and how many of it.

    Raises:
        UsageError: there is nothing of the kind, or the credential must not travel there.
        NotAuthorised, ServiceError: it cannot be read.
    """
    if not place.strip():
        raise UsageError(message("NEW_HOME is empty: name the new home's address, or the folder of its pages."))
    if not place.lower().startswith(("http://", "https://")):
        yield FolderHome(Path(place), lambda count: progress("pages", count))
        return
    origin = str(check_base_url(check_address(place)).origin())
    credentials = new_home_credentials(place, settings)
    async with contextlib.nullcontext(engine) if engine is not None else Engine() as shared:
        policy = RetryPolicy(retries=settings.retries, give_up_after=settings.give_up_after.total_seconds())

        def client(base: str, who: Credentials) -> Client:
            return shared.client(
                base,
                who,
                max_body=settings.max_body,
                policy=policy,
                concurrency=settings.concurrency,
                rate=settings.rate,
            )

        downloader = shared.downloader(
            AddressGuard(allow_private=settings.allow_private_network),
            max_bytes=settings.max_asset_size,
            policy=replace(DOWNLOAD_POLICY, retries=min(settings.retries, DOWNLOAD_POLICY.retries)),
        )
        pictures = PictureReader(downloader, lambda count: progress("pictures", count))
        listed = place.endswith((".xml", ".rss", ".atom"))
        find = open_wordpress if credentials.token else find_wordpress
        api = None if listed else await find(client(place, credentials))
        if api is not None:
            known = bool(credentials.token)
            yield WordPressHome(api, pictures, known=known, progress=lambda count: progress("posts", count))
        else:
            yield SiteHome(client(origin, Credentials()), place, pictures, lambda count: progress("pages", count))


async def compare(home: Home, expected: Arrivals, wish: Wish) -> Compared:
    """Read a new home and compare it with what should have arrived.

    Raises:
        NotAuthorised, ServiceError: the home failed as a whole.
    """
    state = await home.read()
    wish = replace(wish, old_hosts=wish.old_hosts - {state.host})
    posts = [in_words(post) for post in expected.posts] if state.words else expected.posts
    matches = match(posts, state.posts)
    facts: dict[str, PictureFacts] = {}
    if wish.fetch and Aspect.PICTURES in wish.aspects:
        shown = [address for new in matches.pairs.values() for address in state.posts[new].pictures]
        held = {picture.sha256 for post in posts for picture in post.pictures}
        facts = dict(await home.pictures([each for each in shown if host_of(each) not in wish.old_hosts], held))
        archive = expected.about.get("archive")
        look = None if archive is None else functools.cache(functools.partial(_look_in, Path(archive)))
        wish = replace(wish, old_look=look)
    return Compared(state.kind, reconcile(posts, state, matches, facts, wish))


def _look_in(archive: Path, picture: Picture) -> PictureLook:
    """Return what a picture of the archive looks like."""
    try:
        with Layout(archive).root.joinpath(*picture.source.split("/")).open("rb") as file:
            return look_of(file)
    except OSError as error:
        return PictureLook(unknown=error.strerror or message("the disk failed"))
