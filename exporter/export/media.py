"""A post's pictures, now and in the new home, and the addresses of posts in the new home. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Final
from urllib.parse import urlsplit

from exporter.export.interface import Copy, ExportOptions
from exporter.export.names import slug
from exporter.export.parts import Part
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason, why_not_saved
from exporter.export.report import Link, Report
from exporter.html.anchors import mark_places, place_of, wanted_places
from exporter.html.embedded import EmbeddedAddress, Use, embedded, rewrite_addresses
from exporter.html.links import absolute, host_of, meaning
from exporter.html.local_links import EntryAddresses
from exporter.html.ready import ready
from exporter.html.tags import attribute_text
from exporter.html.tree import TooComplex, parse
from exporter.model.asset import Asset, extension_of
from exporter.model.kinds import Kind
from exporter.model.records import Raw, Upload

FOLDER: Final = "media"
SLUG: Final = "slug"
POST_NAME: Final = "post_name"
MADE_FIELDS: Final = (SLUG, POST_NAME)
"""Fields of new addresses in addition to those of the record: the title as in file names, and the written name."""


_FILES: Final = frozenset({Use.SHOWN, Use.PLAYED})
_HASH_DIGITS: Final = 16
_FAR: Final = re.compile(r"""href\s*=\s*["']?\s*([^\s"'<>#]+#[^\s"'<>]+)""", re.IGNORECASE)
_CACHED_ADDRESSES: Final = 512
"""Size of the cache; the addresses of a post are looked up several times in a row."""


@dataclass(frozen=True, slots=True)
class PostPicture:
    """A picture or file of a post.

    Attributes:
        asset: its record.
        source: its path in the archive, or ``None`` if the archive does not contain it.
        name: its file name in an export.
        info: the service's facts about it as an uploaded file.
    """

    asset: Asset
    source: str | None
    name: str
    info: Upload | None


Home = Callable[[str], str | None]
"""Gives the new address of a post by its id."""


class Media:
    """Finds the pictures that posts show, and rewrites addresses; reads the records one at a time.

    Args:
        posts: the posts of the export; their options say where pictures will be, and how the addresses of entries are
            made, old and new.
        home: returns a post's new address by its id, if the format decides it.
        prefix: returns the prefix for the ids in a post's text, by the post's id, if several posts share a page.
    """

    def __init__(self, posts: Posts, home: Home | None = None, prefix: Callable[[str], str] = lambda _: "") -> None:
        options = posts.options
        self._records = posts.records
        self._posts = posts
        self._options = options
        self._prefix = prefix
        self._base = f"https://{posts.blog_id}/"
        self._folder_url = options.media_base_url or (f"/{FOLDER}/" if options.media_folder else "")
        self._home = partial(new_address, posts) if home is None and options.new_url is not None else home
        self._has_files = next(posts.records.scan(Kind.ASSETS), None) is not None
        entries = posts.records.scan(Kind.ENTRIES) if options.old_urls else iter(())
        self._with_fragments: set[str] = set()
        self._own = EntryAddresses(options.old_urls, self._noting(entries), self._base, posts.records.names)
        if posts.permalinks():
            self._add_permalinks(posts)
        patterns = [pattern.text.replace("{blog_id}", posts.blog_id) for pattern in options.old_urls]
        names = (f"https://{name}/" for name in posts.records.names)
        self._hosts = {host_of(text) for text in [self._base, *names, *patterns, *posts.permalinks().values()]}
        self._there = lru_cache(maxsize=_CACHED_ADDRESSES)(self._places_there)
        self._entry_of = lru_cache(maxsize=_CACHED_ADDRESSES)(self._own.entry_of)
        self.find = lru_cache(maxsize=_CACHED_ADDRESSES)(self._look_up)
        """Returns the archive's facts about an address, or ``None`` if it is no picture or file of the blog."""

    def _look_up(self, address: str) -> PostPicture | None:
        url = absolute(address, self._base) if self._has_files else None
        if url is None:
            return None
        raw = next((raw for one in _spellings(url) if (raw := self._records.load(Kind.ASSETS, one)) is not None), None)
        if raw is None:
            file = self._file_of_page.get(meaning(url)) if self._posts.permalinks() else None
            return None if file is None else self.find(file)
        asset = Asset.from_raw(raw)
        ids = asset.ids("file") or [each for each in [self._file_at.get(meaning(url))] if each is not None]
        infos = (self._records.load(Kind.FILES, file_id) for file_id in ids)
        info = next((self._options.service.upload(found) for found in infos if found is not None), None)
        return PostPicture(asset, asset.path, _name(asset), info)

    @cached_property
    def _file_at(self) -> dict[str, str]:
        """The ids of uploaded files whose service states their address, by these."""
        uploads = ((file_id, self._options.service.upload(raw)) for file_id, raw in self._records.scan(Kind.FILES))
        found = ((file_id, absolute(upload.url, self._base)) for file_id, upload in uploads if upload.url)
        return {meaning(url): file_id for file_id, url in found if url is not None}

    @cached_property
    def _file_of_page(self) -> dict[str, str]:
        """The addresses of uploaded files by those of the pages that show one of them alone."""
        uploads = (self._options.service.upload(raw) for _, raw in self._records.scan(Kind.FILES))
        return {meaning(each.page): each.url for each in uploads if each.url and each.page not in {"", each.url}}

    def pictures(self, post: ExportPost) -> list[PostPicture]:
        """Return a post's pictures and linked files without duplicates, in order; the featured picture is the last."""
        found: dict[str, PostPicture] = {}
        for addresses in self._addresses_of(post):
            for address, _ in addresses:
                picture = self.find(address)
                if picture is not None:
                    found.setdefault(picture.asset.url, picture)
        return list(found.values())

    def featured(self, post: ExportPost) -> PostPicture | None:
        """Return a post's featured picture if the archive has it and the format holds such."""
        picture = (
            self.find(post.record.featured) if post.record.featured and Part.FEATURED in self._posts.holds else None
        )
        return picture if picture is not None and picture.source is not None else None

    def shown(self, post: ExportPost) -> list[PostPicture]:
        """Return the pictures and files in a post's own text."""
        addresses = [*_addresses(post.record.body), *_addresses(post.record.more)]
        return list(filter(None, (self.find(address.text) for address in addresses)))

    def _addresses_of(self, post: ExportPost) -> Iterator[tuple[EmbeddedAddress, ...]]:
        """Yield the addresses in each part of a post."""
        yield _addresses(post.record.body)
        yield _addresses(post.record.more)
        if post.record.featured and Part.FEATURED in self._posts.holds:
            yield (EmbeddedAddress(post.record.featured, Use.SHOWN),)

    def account(
        self,
        post: ExportPost,
        reason: Reason | None = None,
        *,
        written: Container[str] = (),
        referred: bool = True,
        links: bool = True,
        home: Home | None = None,
    ) -> None:
        """Report each picture in a post and the parts that the target may not accept.

        A picture counts as written only if its bytes are in the export; the writer of these reports that.

        Args:
            post: the post.
            reason: why the bytes of pictures are not in this export; by default, that follows from the options.
            written: the names of the pictures whose bytes are in it.
            referred: whether it contains their addresses.
            links: whether it contains the post's links.
            home: returns a post's new address by its id, if it depends on the post with the link.
        """
        home = home or self._home
        report = self._posts.report
        why = reason or (Reason.NEW_ADDRESS if self._options.media_base_url else Reason.OLD_ADDRESS)
        lost = leads_out = False
        for addresses in self._addresses_of(post):
            for found in addresses:
                picture = self.find(found.text)
                if picture is not None and picture.source is not None:
                    report.picture(picture.asset.url, None if picture.name in written else why, referred=referred)
                elif picture is not None or found.use in _FILES:
                    lost = lost or found.use in _FILES
                    asset = None if picture is None else picture.asset
                    report.picture(found.text if asset is None else asset.url, why_not_saved(asset))
                elif links and found.use is Use.LINKED and not found.text.lstrip().startswith("#"):
                    leads_out = self._leads_out(found.text, post, home) or leads_out
        if leads_out:
            report.limit(Reason.LEADS_OUT, post.id)
        if lost:
            report.limit(Reason.PICTURE_LOST, post.id)
        if post.record.date is None:
            report.changed("entries", Reason.DATE_REPLACED, post.id)

    def _leads_out(self, address: str, post: ExportPost, home: Home | None) -> bool:
        """Report the outcome for a link, and return whether it leads to an entry outside of this export."""
        url = absolute(address, self._base) or ""
        entry_id = self._entry_of(address)
        if entry_id is not None and entry_id in self._posts and home is not None and home(entry_id) is not None:
            self._posts.report.own_link(Link.REWRITTEN)
            return False
        self._posts.report.link(url, post.id)
        if host_of(url) in self._hosts:
            is_dead = entry_id is None and any(each.fits(url.partition("?")[0]) for each in self._options.old_urls)
            self._posts.report.own_link(Link.DEAD if is_dead else Link.OLD_HOST)
        return home is not None and entry_id is not None and entry_id not in self._posts

    def new_address(self, picture: PostPicture) -> str:
        """Return the address of a picture for a target: below the media base URL, or its old address."""
        if self._folder_url and picture.source is not None:
            return self._folder_url + picture.name
        return picture.asset.url

    def rewritten(self, body: str, folder: str | None = None) -> str:
        """Return a body for any reader, with the addresses of pictures and of the blog's own posts in the new home.

        Args:
            body: HTML.
            folder: the relative path to the pictures' folder, if the export contains them.
        """
        made = ready(body)
        changes = self._has_files or self._home is not None
        return rewrite_addresses(made, partial(self._resolved, folder)) if changes else made

    def places(self, post: ExportPost) -> frozenset[str]:
        """Return the ids in a post's text that links lead to, from the same entry or another one."""
        own = wanted_places(post.record.body) | wanted_places(post.record.more)
        return own | self.asked(post.id)

    def asked(self, entry_id: str) -> frozenset[str]:
        """Return the ids in the text of an entry that links with its address lead to."""
        return self._asked_of.get(entry_id, frozenset())

    def place_in(self, entry_id: str, address: str) -> str | None:
        """Return the id that an address leads to in the text of a post; ``None`` if the text does not have it."""
        place = place_of(address.partition("#")[2])
        return place if place is not None and place in self._there(entry_id) else None

    def _places_there(self, entry_id: str) -> frozenset[str]:
        record, wanted = self._posts.post(entry_id).record, self.asked(entry_id)
        found: set[str] = set()
        for body in (record.body, record.more):
            with suppress(TooComplex):
                found |= mark_places(parse(body), wanted)
        return frozenset(found)

    @cached_property
    def _asked_of(self) -> dict[str, frozenset[str]]:
        """The fragments in links to an entry, by that entry's id."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for address in self._with_fragments:
            entry_id, place = self._entry_of(address), place_of(address.partition("#")[2])
            if entry_id is not None and place is not None:
                found[entry_id].add(place)
        return {entry_id: frozenset(places) for entry_id, places in found.items()}

    def _add_permalinks(self, posts: Posts) -> None:
        """Add the addresses that entries state, and collect the fragments of links."""
        for entry_id, address in posts.permalinks().items():
            self._own.add(entry_id, address)
        for _, raw in self._records.scan(Kind.ENTRIES):
            entry = self._options.service.post(raw)
            for text in (entry.body, entry.more):
                if "#" in text:
                    self._with_fragments.update(map(attribute_text, _FAR.findall(text)))

    def _noting(self, entries: Iterable[tuple[str, Raw]]) -> Iterator[tuple[str, Raw]]:
        """Collect the fragments of links while the entries are read for their addresses."""
        for entry_id, raw in entries:
            for text in raw.values():
                if isinstance(text, str) and "#" in text:
                    self._with_fragments.update(map(attribute_text, _FAR.findall(text)))
            yield entry_id, raw

    def _resolved(self, folder: str | None, address: str) -> str | None:
        """Return the new address for an old one; ``None`` if it does not change."""
        picture = self.find(address)
        if picture is not None:
            held = folder is not None and picture.source is not None
            return f"{folder}{picture.name}" if held else self.new_address(picture)
        return self.new_home(address)

    def new_home(self, address: str) -> str | None:
        """Return the new address of a post of this export, given its old one; ``None`` for any other address."""
        entry_id = self.own_post(address)
        new = None if self._home is None or entry_id is None else self._home(entry_id)
        if new is None or entry_id is None:
            return None
        _, mark, fragment = address.partition("#")
        prefix = self._prefix(entry_id) if mark else ""
        return f"{new}{mark}{prefix if prefix and self.place_in(entry_id, address) is not None else ''}{fragment}"

    def own_post(self, address: str) -> str | None:
        """Return the id of the post of this export that an address leads to; ``None`` for any other address."""
        entry_id = self._entry_of(address)
        # The address of a post outside of this export would reveal its title.
        return entry_id if entry_id is not None and entry_id in self._posts else None


class Copies:
    """Copies of pictures into one folder, each only once."""

    def __init__(self, report: Report, folder: str = FOLDER) -> None:
        self._report = report
        self._folder = folder
        self._done: set[str] = set()

    def of_posts(self, posts: Posts, media: Media) -> Iterator[Copy]:
        """Yield the pictures of all posts."""
        for post in posts:
            yield from self.of(media.pictures(post))

    def of(self, pictures: list[PostPicture]) -> Iterator[Copy]:
        """Yield the copies still missing for these pictures."""
        for picture in pictures:
            if picture.source is None:
                continue
            self._report.picture(picture.asset.url)
            if picture.name not in self._done:
                self._done.add(picture.name)
                yield Copy(f"{self._folder}/{picture.name}", picture.source)


def old_addresses(post: ExportPost, options: ExportOptions) -> Iterator[str]:
    """Yield the addresses that a post had: the one that it states, then those by the patterns."""
    stated = absolute(post.record.permalink, "") if post.record.permalink else None
    filled = (pattern.fill(post.record.raw) for pattern in options.old_urls)
    yield from dict.fromkeys(filter(None, [stated, *filled]))


def new_address(posts: Posts, entry_id: str) -> str | None:
    """Return the new address of an entry; ``None`` without a pattern, or if the entry lacks a field of it.

    In addition to the record's own fields there are :data:`MADE_FIELDS`.
    """
    pattern = posts.options.new_url
    if pattern is None:
        return None
    raw = posts.records.load(Kind.ENTRIES, entry_id) or {}
    title = posts.options.service.title(Kind.ENTRIES, raw)
    made = {SLUG: slug(title, 150) or f"entry-{entry_id}"}
    if POST_NAME in pattern.fields:
        made[POST_NAME] = posts.name(entry_id)
    return pattern.fill({**raw, **made}, encoded=POST_NAME)


def address_of(posts: Posts, post: ExportPost) -> str | None:
    """Return a post's new address, or else its old one, if patterns for them are known; never a path."""
    new = new_address(posts, post.id)
    return new if new is not None and new[0] != "/" else next(old_addresses(post, posts.options), None)


@lru_cache(maxsize=4)
def _addresses(body: str) -> tuple[EmbeddedAddress, ...]:
    """Return the addresses that readers see, each once; cached, because those of a post are requested several times."""
    return tuple(dict.fromkeys(embedded(ready(body))))


def _spellings(url: str) -> Iterator[str]:
    """Yield an address and its equivalent spellings."""
    yield url
    rest = meaning(url)
    for scheme in ("https", "http"):
        for end in ("", "/"):
            yield f"{scheme}://{rest}{end}"


def _name(asset: Asset) -> str:
    """Return a name in ASCII: a readable beginning, if the address has one, and digits of the content's hash."""
    if asset.sha256 is None:
        return ""
    last = urlsplit(asset.url).path.rpartition("/")[2]
    stem = "".join(char for char in last.rpartition(".")[0] if char.isascii() and (char.isalnum() or char in "-_"))[:40]
    digits = asset.sha256[:_HASH_DIGITS]
    return f"{stem}-{digits}.{extension_of(asset.content_type or '')}".lstrip("-")
