"""The facts about a blog held while its site is made: entries by date, comments and pictures, without texts."""

from __future__ import annotations

import html
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from hashlib import sha256
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from exporter.archive.state import IdRows, key_of_id
from exporter.export.comment_index import CommentTable
from exporter.html.blog_pictures import blog_pictures, is_image
from exporter.html.links import AddressPattern, absolute, host_of
from exporter.html.local_links import EntryAddresses
from exporter.html.page_body import DrawnPicture
from exporter.html.service_habits import is_emoji
from exporter.html.text import text_start_quiet
from exporter.model.asset import Asset
from exporter.model.kinds import Kind, sort_key
from exporter.model.labels import is_labelled, is_marked, path_of
from exporter.model.records import Audience, Comment, Post, Raw
from exporter.service.interface import Records
from exporter.site.captured import CapturedPage, CapturedPages
from exporter.site.facts import MAX_SIMILAR, CommentFacts, EntryFacts, ItemFacts, Known, Labels, marks_of
from exporter.site.post_list import PostList, PostsById, PostSummary
from exporter.site.row_file import MarkedEntries, RowFile
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource
    from exporter.site.facts import SiteFacts
    from exporter.site.history import ArchiveHistory, GoneEntry
    from exporter.site.library import AllGone, Library
    from exporter.site.thumbnails import Thumbnails

_BEGINNING_CHARACTERS: Final = 110
_READ_CHARACTERS: Final = 200_000
"""Characters of a body that are read for its beginning."""
_PICTURE_TAG = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)


def beginning_of(body: str) -> str:
    """Return the beginning of a body without its pictures; it ends in ``…`` if the body continues."""
    text = text_start_quiet(_PICTURE_TAG.sub("", body[:_READ_CHARACTERS]), _BEGINNING_CHARACTERS * 2 + 1)
    text = " ".join(visible(text[: _BEGINNING_CHARACTERS * 2 + 1])[0].split())
    return text if len(text) <= _BEGINNING_CHARACTERS else text[:_BEGINNING_CHARACTERS].rstrip() + "…"


ORPHANS_PAGE: Final = "comments/orphans.html"
COMMENTS_ON_PAGE: Final = 500
"""More comments are split into pages, because phones need seconds for a few thousand of them."""
_MAX_TITLE_CHARACTERS: Final = 200
_NO_IDENTITY: Final = bytes(32)
_NO_CATEGORY: Final = (("",),)
_TAGS = re.compile(r"<[^<>]*>|&[a-zA-Z#0-9]+;")
_ANCHOR = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff\"'<>&#%?\u200e\u200f\u202a-\u202e\u2066-\u2069]{1,200}")
_PLAIN_ID = re.compile(r"[0-9]{1,40}")
L = TypeVar("L", str, tuple[str, ...])
_LINK: Final = re.compile(r"href\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


class ShownFacts(NamedTuple):
    """The facts that lists show of a state of an entry; see :class:`PostSummary`."""

    date: datetime | None
    title: str
    private: bool
    access: str


class StoredPicture(NamedTuple):
    """A stored picture: its path relative to the archive, its address, its size, and the entries that use it."""

    path: str
    url: str
    width: int | None
    height: int | None
    size: int
    entries: tuple[str, ...]
    files: tuple[str, ...]


def _stored(path: str, group: Sequence[Asset]) -> StoredPicture:
    """Return the picture of files of which the first is shown; entries embed the last."""
    entries, files = (
        tuple(dict.fromkeys(each for asset in group for each in asset.ids(kind))) for kind in ("entry", "file")
    )
    best = group[0]
    return StoredPicture(path, group[-1].url, best.width, best.height, best.bytes or 0, entries, files)


class StoredPictures:
    """All stored pictures, by the entries that use them.

    Args:
        assets: the raw records of the kind ``assets``.
        thumbnails: of the pictures.
        prefix: from the site's folder to the one that holds ``assets/``.

    Attributes:
        all: every saved image, in the order of their addresses; emoji of services are not among them, because they
            are characters.
        by_entry: those of each entry that has some.
        shown: each picture once, with all entries that use it; see :func:`~exporter.html.blog_pictures.blog_pictures`.
        by_path: a picture by its path relative to the archive.
    """

    def __init__(self, assets: Iterable[Raw], thumbnails: Thumbnails, prefix: str) -> None:
        self._thumbnails = thumbnails
        self._prefix = prefix
        self._sizes: dict[str, tuple[int, int]] = {}
        self.all: list[StoredPicture] = []
        self.by_entry: defaultdict[str, list[StoredPicture]] = defaultdict(list)
        self.by_path: dict[str, StoredPicture] = {}
        self._identities: defaultdict[str, list[str]] = defaultdict(list)
        known = [Asset.from_raw(raw) for raw in assets]
        for asset in known:
            path = asset.path
            entries = tuple(asset.ids("entry"))
            for entry_id in entries:
                self._identities[entry_id].append(f"{asset.url} {path}")
            if path is None or not is_image(asset):
                continue
            picture = _stored(path, [asset])
            self.by_path.setdefault(path, picture)
            if asset.width and asset.height:
                self._sizes[path] = asset.width, asset.height
            if is_emoji(asset.url):
                continue
            self.all.append(picture)
            for entry_id in entries:
                self.by_entry[entry_id].append(picture)
        self.shown = [_stored(group[0].path, group) for group in blog_pictures(known) if group[0].path is not None]

    def identity(self, entry_id: str) -> str:
        """Return a fingerprint of the files that an entry's page shows."""
        if entry_id not in self._identities:
            return ""
        notes = [self._thumbnails.of(picture.path) for picture in self.by_entry.get(entry_id, ())]
        return "\n".join([*self._identities[entry_id], repr([tuple(note) for note in notes])])

    def drawn(self, path: str) -> DrawnPicture:
        """Return the data by which pages show a stored picture, given its path in the archive."""
        note = self._thumbnails.of(path)
        size = (note.width, note.height) if note.width and note.height else self._sizes.get(path)
        return DrawnPicture(self._thumbnails.place(path) if note.thumbnail else f"{self._prefix}{path}", size)


class Catalogue:
    """All entries in a state by date, as rows in a temporary file.

    Args:
        records: the state.
        service: reads the records.
        facts: the facts about the state, some of them cached.
        patterns: how the blog's own addresses of entries are made.
        base: the blog's address, which relative addresses start from.
        history: the archive's history; without it, removed records and changes are not shown.
        captured: the captures of the blog's public pages.
        library: the blogs whose records these are, if there are several.

    Attributes:
        captures: the captures of each public entry's page, by the entry's id.
        comment_table: the comments.
        posts: the entries by date, the undated first.
        dated: those that are posts; the rest are pages.
        labelled: whether an entry has labels, such as tags.
        by_id: the same by id.
        by_year: returns the posts by year, the newest first; the undated come last.
        by_category: returns the entries by the path of their category, the fullest category and the newest entry first.
        mentions: the entries whose texts link to an entry, by its id, the oldest first.
        alike: for each entry id, the most similar entries, the closest first.
        orphans: the ids of comments whose entry is missing.
        unread: the ids of list items whose entry is missing.
    """

    def __init__(
        self,
        records: RecordSource,
        service: Records,
        facts: SiteFacts,
        patterns: Sequence[AddressPattern] = (),
        base: str = "",
        history: ArchiveHistory | None = None,
        captured: CapturedPages | None = None,
        library: Library | None = None,
    ) -> None:
        self.captures: dict[str, CapturedPage] = {}
        self._captured = CapturedPages() if captured is None else captured
        self.records = records
        self.service = service
        self.history = history
        self.library = library
        self.comment_table = CommentTable()
        self._patterns = patterns
        self._base = base
        self._hosts = {host_of(f"https://{name}/") for name in (*records.names, *records.names.values())}
        self._addresses = EntryAddresses((), (), base, records.names)
        self._links: dict[Kind, dict[str, list[str]]] = {Kind.ENTRIES: {}, Kind.COMMENTS: {}}
        self._beginnings = RowFile()
        self._beginning_of = IdRows()
        past = history if library is None else library
        self._gone: Mapping[str, GoneEntry | AllGone] = {} if past is None else past.gone_entries()
        self._categories = _Categories(facts.of(Kind.ENTRY_LIST, self._item_facts))
        for comment_id, comment in facts.of(Kind.COMMENTS, self._comment_facts):
            self.comment_table.add(comment.entry_id, comment_id, comment.day, comment.minute)
            self._keep_links(Kind.COMMENTS, comment_id, comment.links)
        marks = MarkedEntries()
        gone_facts = ((entry_id, self._entry_facts(gone.load())) for entry_id, gone in self._gone.items())
        self.by_id = PostsById(self._summaries(chain(facts.of(Kind.ENTRIES, self._entry_facts), gone_facts), marks))
        self.posts = self.by_id.by_date()
        self.alike = Alike(self.by_id, facts.related(marks))
        del marks
        self.labelled = any(post.labels is not None for post in self.posts)
        self.dated = self.posts
        if self.labelled:
            self.dated = self.by_id.at(place for place, post in enumerate(self.posts) if not post.is_page)
        self.mentions = self._mentions()
        ownerless = [entry_id for entry_id in self.comment_table.entries() if entry_id not in self.by_id]
        self.orphans = sorted(
            (comment_id for entry_id in ownerless for comment_id in self.comment_table.of(entry_id)), key=sort_key
        )
        self.unread = [item_id for item_id in records.ids(Kind.ENTRY_LIST) if item_id not in self.by_id]
        self.by_year = cache(self._by_year)
        self.by_category = cache(self._by_category)

    def _by_year(self) -> dict[str, PostList]:
        """Return the posts by year, the newest first; the undated come last."""
        return self.dated.grouped(lambda post: (post.year,))

    def pages(self) -> list[PostSummary]:
        """Return the pages by title."""
        found = [post for post in self.posts if post.is_page] if self.labelled else []
        return sorted(found, key=lambda post: (post.title, sort_key(post.id)))

    def _by_category(self) -> dict[tuple[str, ...], PostList]:
        """Return the entries by the path of their category, the fullest category first, the newest entry first."""
        return _fullest_first(self.posts.grouped(_paths))

    def by_tag(self) -> dict[str, PostList]:
        """Return the entries by tag, the most used tag first, the newest entry first."""
        return self._by_label(lambda labels: dict.fromkeys(labels.tags))

    def by_author(self) -> dict[str, PostList]:
        """Return the entries by their writer, in the same order."""
        return self._by_label(lambda labels: filter(None, [labels.author]))

    def _by_label(self, names: Callable[[Labels], Iterable[str]]) -> dict[str, PostList]:
        if not self.labelled:
            return {}
        return _fullest_first(self.posts.grouped(lambda post: () if post.labels is None else names(post.labels)))

    def entry(self, post: PostSummary) -> Post:
        """Read a whole entry; if it is gone, its last state."""
        gone = self._gone.get(post.id)
        return self.service.post(self.records.load(Kind.ENTRIES, post.id) or {} if gone is None else gone.load())

    def beginning(self, post: PostSummary) -> str:
        """Return the beginning of an entry; for an entry just read for its facts it is known."""
        row = self._beginning_of.find(key_of_id(post.id))
        return _beginning(self.entry(post)) if row is None else self._beginnings[row].decode("utf-8", "surrogatepass")

    def comment_ids(self, post: PostSummary) -> list[str]:
        """Return the ids of an entry's comments in order."""
        return self.comment_table.of(post.id)

    def comments(self, comment_ids: Iterable[str]) -> Iterator[Comment]:
        """Read comments one at a time."""
        raws = (self.records.load(Kind.COMMENTS, comment_id) for comment_id in comment_ids)
        return (self.service.comment(raw) for raw in raws if raw is not None)

    def page_of(self, address: str) -> str | None:
        """Return the path of the entry page for an address in the blog; ``None`` without one."""
        entry_id = self._addresses.entry_of(address)
        return None if entry_id is None else self.by_id[entry_id].page

    def link_targets(self, kind: Kind, record_id: str) -> str:
        """Return a fingerprint of the pages that links of an entry or a comment lead to."""
        return "\n".join(f"{link} {self.page_of(link)}" for link in self._links[kind].get(record_id, ()))

    def record_at(self, kind: Kind, record_id: str, version: int) -> Raw | None:
        """Read a record as of a version; ``None`` if it did not exist, or is damaged."""
        try:
            return None if self.history is None else self.history.at(kind, record_id, version)
        except KeyError:
            return self.records.load(kind, record_id)

    def shown(self, entry: Post) -> ShownFacts:
        """Return the facts that lists show of any state of an entry."""
        return shown_facts(entry, self.service)

    def category(self, item: Raw) -> str:
        """Return a category's name from a list item."""
        return self._item_facts(item).category

    def original_address(self, post: Post) -> str | None:
        """Return an entry's address on the web, if the pattern of such addresses is known."""
        if post.permalink:
            return absolute(post.permalink, self._base)
        return next(filter(None, (pattern.fill(post.raw) for pattern in self._patterns)), None)

    def identities(self, kind: Kind, ids: Iterable[str]) -> bytes:
        """Return one fingerprint for some records of a kind."""
        digest = sha256()
        for record_id in ids:
            digest.update(self.records.identity(kind, record_id) or _NO_IDENTITY)
        return digest.digest()

    def _mentions(self) -> Mapping[str, PostList]:
        found: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        links = self._links[Kind.ENTRIES]
        for place, post in enumerate(self.posts) if links else ():
            targets = map(self._addresses.entry_of, links.get(post.id, ()))
            for target in dict.fromkeys(each for each in targets if each is not None and each != post.id):
                found[target].append(place)
        return {target: self.by_id.at(places) for target, places in found.items()}

    def _item_facts(self, raw: Raw) -> ItemFacts:
        return ItemFacts(one_line(self.service.post(None, raw).category or "")[:_MAX_TITLE_CHARACTERS])

    def _comment_facts(self, raw: Raw) -> CommentFacts:
        comment = self.service.comment(raw)
        day = 0 if comment.date is None else comment.date.toordinal()
        minute = 0
        if comment.date is not None and comment.has_time and is_marked(comment):
            minute = comment.date.hour * 60 + comment.date.minute
        links = self._own_links(comment.text, base=self._base_of(comment.id))
        return CommentFacts(self.service.post_id(raw), day, links, minute)

    def _entry_facts(self, raw: Raw) -> EntryFacts:
        entry = self.service.post(raw)
        texts = entry.body, entry.more
        base = self._base_of(entry.id)
        stated = [absolute(each.permalink, base) for each in (entry, *entry.others) if each.permalink]
        addresses = [*stated, *(pattern.fill(raw) for pattern in self._patterns)]
        plain = [_TAGS.sub(" ", text) for text in texts]
        return EntryFacts(
            *self.shown(entry),
            length=sum(len(part) for text in plain for part in text.split()),
            links=self._own_links(*texts, base=base, host=host_of((stated and stated[0]) or "")),
            addresses=list(dict.fromkeys(each for each in addresses if each is not None)),
            marks=marks_of(one_line(entry.title), " ".join(plain)),
            labels=_labels(entry) if is_labelled(entry) or self.library is not None else None,
            beginning=_beginning(entry),
        )

    def _summaries(self, found: Iterable[tuple[str, EntryFacts]], marks: MarkedEntries) -> Iterator[PostSummary]:
        """Yield each entry's facts for lists. Keep its beginning, and add its id, marks and category to ``marks``."""
        for entry_id, facts in found:
            post = self._summary(entry_id, facts)
            marks.add(post.id, facts.marks, post.category)
            if facts.beginning is not None and entry_id not in self._gone:
                self._beginning_of.add(key_of_id(entry_id), len(self._beginnings))
                self._beginnings.append(facts.beginning.encode("utf-8", "surrogatepass"))
            yield post

    def _summary(self, entry_id: str, facts: EntryFacts) -> PostSummary:
        gone = self._gone.get(entry_id)
        self._keep_links(Kind.ENTRIES, entry_id, facts.links)
        for address in facts.addresses:
            self._addresses.add(entry_id, address)
        page = (
            None
            if facts.private or facts.access
            else self._captured.find(entry_id, facts.addresses, partial(self.records.load, Kind.ENTRIES, entry_id))
        )
        if page is not None:
            self.captures[entry_id] = page
        parts = (
            (self.records.identity(Kind.ENTRIES, entry_id) or b"-") if gone is None else gone.identity,
            self.records.identity(Kind.ENTRY_LIST, entry_id) or b"-",
            self.identities(Kind.COMMENTS, self.comment_table.of(entry_id)),
        )
        post = PostSummary(
            id=entry_id,
            page=f"entry/{safe_name(entry_id)}.html",
            date=facts.date,
            title=facts.title,
            category=intern(_first_category(facts.labels) or self._categories.of(entry_id)),
            private=facts.private,
            access=facts.access,
            identity=fingerprint(*parts),
            listed=b"",
            length=facts.length,
            comments=len(self.comment_table.places(entry_id)),
            gone_in=None if gone is None else gone.version,
            gone_at="" if gone is None else gone.date,
            blogs=() if self.library is None else tuple(blog.number for blog in self.library.blogs_of_entry(entry_id)),
            labels=facts.labels,
        )
        shown_in_lists = post._replace(identity=b"", length=0, gone_at="")
        return post._replace(listed=fingerprint(*map(str, shown_in_lists)))

    def _base_of(self, record_id: str) -> str:
        """Return the address that relative addresses in a record start from."""
        return self._base if self.library is None or not record_id else self.library.blog_of(record_id).base

    def _own_links(self, *sources: str, base: str, host: str = "") -> list[str]:
        """Return the links in bodies that may lead to other entries, so that pages change with their targets.

        They are found without parsing. A link that this misses leads to the web until the page is made for another
        reason. ``host`` comes from the entry's own address, if its service states that. In a library, the links are
        absolute, and the hosts of all blogs count.
        """
        hosts = {host, *self._hosts} - {""} if self.library is None else self.library.hosts
        if not (self._patterns or hosts):
            return []
        return [link for source in sources for link in self._candidates(source, base, hosts)]

    def _keep_links(self, kind: Kind, record_id: str, links: list[str]) -> None:
        if links:
            self._links[kind][record_id] = links

    def _candidates(self, source: str, base: str, hosts: Collection[str]) -> Iterator[str]:
        if "href" not in source.lower():
            return
        for link in dict.fromkeys(html.unescape(next(filter(None, found), "")) for found in _LINK.findall(source)):
            whole = absolute(link, base)
            spellings = {whole, absolute(link.partition("?")[0], base)} - {None}
            if any(host_of(address or "") in hosts for address in spellings) or any(
                pattern.fits(address) for address in spellings if address for pattern in self._patterns
            ):
                yield link if self.library is None else whole or link


class _Categories:
    """The category name of each list item, by its id."""

    def __init__(self, found: Iterable[tuple[str, ItemFacts]]) -> None:
        self._numbers: dict[str, int] = {}
        self._rows = IdRows()
        for item_id, item in found:
            self._rows.add(key_of_id(item_id), self._numbers.setdefault(item.category, len(self._numbers)))
        self._names = list(self._numbers)

    def of(self, item_id: str) -> str:
        """Return the category name of a list item; empty if there is no such item."""
        number = self._rows.find(key_of_id(item_id))
        return "" if number is None else self._names[number]


class Alike:
    """The entries most like each entry, as places of at most four.

    Args:
        posts: all entries.
        found: for each entry the ids of similar entries, the closest first.
    """

    def __init__(self, posts: PostsById, found: Iterable[tuple[str, Known]]) -> None:
        self._posts = posts
        self._places = array("I", [len(posts)]) * (len(posts) * MAX_SIMILAR)
        for entry_id, known in found:
            start = posts.place(entry_id) * MAX_SIMILAR
            for at, other in enumerate([each for each in known.alike if each in posts][:MAX_SIMILAR]):
                self._places[start + at] = posts.place(other)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._posts and self._places[self._posts.place(entry_id) * MAX_SIMILAR] < len(self._posts)

    def get(self, entry_id: str, default: Sequence[str] = ()) -> Sequence[str]:
        """Return the ids of similar entries, the closest first."""
        if entry_id not in self._posts:
            return default
        start = self._posts.place(entry_id) * MAX_SIMILAR
        places = [place for place in self._places[start : start + MAX_SIMILAR] if place < len(self._posts)]
        return [post.id for post in self._posts.at(places)]


def _fullest_first(found: Mapping[L, PostList]) -> dict[L, PostList]:
    return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))


def _paths(post: PostSummary) -> Iterable[tuple[str, ...]]:
    """Return the paths of an entry's categories; pages without a category are in none."""
    paths = post.category_paths
    return () if paths == _NO_CATEGORY and post.is_page else dict.fromkeys(paths)


def fingerprint(*parts: bytes | str) -> bytes:
    """Return 32 bytes that change with any of the parts or their number."""
    texts = [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts]
    return sha256(repr([*map(len, texts)]).encode() + b"".join(texts)).digest()


def safe_name(record_id: str) -> str:
    """Return a file name's stem for an id: numbers stay unchanged, other ids are hashed."""
    if _PLAIN_ID.fullmatch(record_id):
        return record_id
    return "x" + sha256(record_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def anchor_name(comment_id: str) -> str:
    """Return the last part of a comment's anchor. It is the id, or a hash if an address cannot hold the id."""
    return comment_id if _ANCHOR.fullmatch(comment_id) else safe_name(comment_id)


def orphans_page(at: int) -> str:
    """Return the path of the page that shows the comment at a place of :attr:`Catalogue.orphans`."""
    number = at // COMMENTS_ON_PAGE
    return f"comments/orphans-{number + 1}.html" if number else ORPHANS_PAGE


def shown_facts(entry: Post, service: Records) -> ShownFacts:
    """Return the facts that lists show of any state of an entry."""
    private = entry.private is True if entry.audience is None else entry.audience is Audience.PRIVATE
    if entry.audience is None:
        access = "" if entry.access == service.usual_access else one_line(entry.access)[:20]
    else:
        access = "" if private or entry.audience is Audience.PUBLIC else str(entry.audience)
    return ShownFacts(entry.date, one_line(entry.title)[:_MAX_TITLE_CHARACTERS], private, access)


def one_line(text: str) -> str:
    """Return an untrusted text on one line, as a page can show it."""
    return " ".join(visible(text)[0].split())


def category_paths(post: Post) -> list[tuple[str, ...]]:
    """Return the paths of an entry's categories as pages show them."""
    paths = (tuple(filter(None, map(_short, path_of(each)))) for each in post.every_category if _short(each.name))
    return list(dict.fromkeys(paths))


def _labels(entry: Post) -> Labels:
    tags = dict.fromkeys(tag for each in entry.tags if (tag := _short(each)))
    return Labels(str(entry.kind), _short(entry.author), tuple(category_paths(entry)), tuple(tags))


def _short(name: str) -> str:
    return one_line(name)[:_MAX_TITLE_CHARACTERS]


def _first_category(labels: Labels | None) -> str:
    return labels.categories[0][-1] if labels is not None and labels.categories else ""


def _beginning(entry: Post) -> str:
    return beginning_of(entry.excerpt or entry.body)
