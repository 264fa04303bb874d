"""The facts about a blog held while its site is made: entries by date, comments and pictures, without texts."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.export.comment_index import UNDATED, CommentTable
from exporter.html.links import AddressPattern, absolute, host_of
from exporter.html.local_links import EntryAddresses
from exporter.html.page_body import DrawnPicture
from exporter.html.text import text_start
from exporter.model.asset import Asset
from exporter.model.kinds import Kind, sort_key
from exporter.model.labels import is_labelled, is_marked, path_of
from exporter.model.records import Audience, Comment, Post, PostKind, Raw
from exporter.service.interface import Records
from exporter.site.captured import CapturedPage, CapturedPages
from exporter.site.facts import CommentFacts, EntryFacts, ItemFacts, Labels, marks_of
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource
    from exporter.site.facts import SiteFacts
    from exporter.site.history import ArchiveHistory
    from exporter.site.thumbnails import Thumbnails

_BEGINNING_CHARACTERS: Final = 110
_READ_CHARACTERS: Final = 200_000
"""Characters of a body that are read for its beginning."""
_PICTURE_TAG = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)


def beginning_of(body: str) -> str:
    """Return the beginning of a body without its pictures; it ends in ``…`` if the body continues."""
    text = text_start(_PICTURE_TAG.sub("", body[:_READ_CHARACTERS]), _BEGINNING_CHARACTERS * 2 + 1)
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
_LINK: Final = re.compile(r"href\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


class ShownFacts(NamedTuple):
    """The facts that lists show of a state of an entry; see :class:`PostSummary`."""

    date: datetime | None
    title: str
    private: bool
    access: str


class PostSummary(NamedTuple):
    """The facts about an entry held in memory.

    Attributes:
        id: its id.
        page: the path of its page in the site.
        date: when it was written; ``None`` if undated.
        title: the part shown in lists; may be empty.
        category: the category's name from its list item; may be empty.
        private: whether it is marked as private.
        access: its publication code if it is unusual, else empty; an audience's name if its service states these.
        identity: changes with the entry, its list item and its comments.
        listed: changes with the facts that lists show.
        length: the characters of its texts, without tags and spaces.
        comments: the number of its comments.
        gone_in: the version that found it gone; ``None`` if it still exists.
        gone_at: the time of that version.
        labels: its categories, tags and so on; ``None`` if its service states only one category.
    """

    id: str
    page: str
    date: datetime | None
    title: str
    category: str
    private: bool
    access: str
    identity: bytes
    listed: bytes
    length: int
    comments: int = 0
    gone_in: int | None = None
    gone_at: str = ""
    labels: Labels | None = None

    @property
    def is_page(self) -> bool:
        """Whether it is a page, which lists show apart from posts."""
        return self.labels is not None and self.labels.kind == PostKind.PAGE

    @property
    def category_paths(self) -> tuple[tuple[str, ...], ...]:
        """The paths of its categories, or of no category."""
        if self.labels is not None and self.labels.categories:
            return self.labels.categories
        return ((self.category,),)

    @property
    def year(self) -> str:
        """The year it belongs to, or :data:`UNDATED`."""
        return UNDATED if self.date is None else f"{self.date.year:04d}"


class StoredPicture(NamedTuple):
    """A stored picture: its path relative to the archive, its address, its size, and the entries that use it."""

    path: str
    url: str
    width: int | None
    height: int | None
    size: int
    entries: tuple[str, ...]
    files: tuple[str, ...]


class StoredPictures:
    """All stored pictures, by the entries that use them.

    Args:
        assets: the raw records of the kind ``assets``.
        thumbnails: of the pictures.
        prefix: from the site's folder to the one that holds ``assets/``.

    Attributes:
        all: in the order of their addresses.
        by_entry: the pictures of each entry that has some.
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
        for raw in assets:
            asset = Asset.from_raw(raw)
            path = asset.path
            entries = tuple(asset.ids("entry"))
            for entry_id in entries:
                self._identities[entry_id].append(f"{asset.url} {path}")
            if path is None or not (asset.content_type or "").startswith("image/"):
                continue
            picture = StoredPicture(
                path, asset.url, asset.width, asset.height, asset.bytes or 0, entries, tuple(asset.ids("file"))
            )
            self.all.append(picture)
            self.by_path.setdefault(path, picture)
            if asset.width and asset.height:
                self._sizes[path] = asset.width, asset.height
            for entry_id in entries:
                self.by_entry[entry_id].append(picture)

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
    """All entries in a state by date; each takes some hundred bytes.

    Args:
        records: the state.
        service: reads the records.
        facts: the facts about the state, some of them cached.
        patterns: how the blog's own addresses of entries are made.
        base: the blog's address, which relative addresses start from.
        history: the archive's history; without it, removed records and changes are not shown.
        captured: the captures of the blog's public pages.

    Attributes:
        captures: the captures of an entry's page by the entry's id; none of an entry that not everybody may read.
        comment_table: the comments.
        posts: the entries by date, the undated first.
        dated: those that are posts; the rest are pages.
        labelled: whether an entry has labels, such as tags.
        by_id: the same by id.
        places: the index in ``posts`` of each id.
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
    ) -> None:
        self.captures: dict[str, CapturedPage] = {}
        self._captured = CapturedPages() if captured is None else captured
        self.records = records
        self.service = service
        self.history = history
        self.comment_table = CommentTable()
        self._patterns = patterns
        self._base = base
        self._addresses = EntryAddresses((), (), base)
        self._links: dict[Kind, dict[str, list[str]]] = {Kind.ENTRIES: {}, Kind.COMMENTS: {}}
        self._beginnings: dict[str, str] = {}
        self._gone = {} if history is None else history.gone_entries()
        categories = {entry_id: found.category for entry_id, found in facts.of(Kind.ENTRY_LIST, self._item_facts)}
        for comment_id, comment in facts.of(Kind.COMMENTS, self._comment_facts):
            self.comment_table.add(comment.entry_id, comment_id, comment.day, comment.minute)
            self._keep_links(Kind.COMMENTS, comment_id, comment.links)
        posts, marks = [], []
        gone_facts = ((entry_id, self._entry_facts(gone.load())) for entry_id, gone in self._gone.items())
        for entry_id, found in chain(facts.of(Kind.ENTRIES, self._entry_facts), gone_facts):
            posts.append(self._summary(entry_id, found, categories))
            marks.append((entry_id, found.marks, posts[-1].category))
            if found.beginning is not None and entry_id not in self._gone:
                self._beginnings[entry_id] = found.beginning
        marks.sort(key=lambda each: sort_key(each[0]))
        self.alike = {entry_id: known.alike for entry_id, known in facts.related(marks).items() if known.alike}
        posts.sort(key=lambda post: (_moment(post.date), sort_key(post.id)))
        self.posts: list[PostSummary] = posts
        self.labelled = any(post.labels is not None for post in posts)
        self.dated = [post for post in posts if not post.is_page] if self.labelled else posts
        self.by_id = {post.id: post for post in posts}
        self.places = {post.id: at for at, post in enumerate(posts)}
        self.mentions = self._mentions()
        ownerless = [entry_id for entry_id in self.comment_table.entries() if entry_id not in self.by_id]
        self.orphans = sorted(
            (comment_id for entry_id in ownerless for comment_id in self.comment_table.of(entry_id)), key=sort_key
        )
        self.unread = [item_id for item_id in records.ids(Kind.ENTRY_LIST) if item_id not in self.by_id]

    def by_year(self) -> dict[str, list[PostSummary]]:
        """Return the posts by year, the newest first; the undated come last."""
        years: defaultdict[str, list[PostSummary]] = defaultdict(list)
        for post in reversed(self.dated):
            years[post.year].append(post)
        return dict(years)

    def pages(self) -> list[PostSummary]:
        """Return the pages by title."""
        found = [post for post in self.posts if post.is_page] if self.labelled else []
        return sorted(found, key=lambda post: (post.title, sort_key(post.id)))

    def by_category(self) -> dict[tuple[str, ...], list[PostSummary]]:
        """Return the entries by the path of their category, the fullest category first, the newest entry first."""
        found: defaultdict[tuple[str, ...], list[PostSummary]] = defaultdict(list)
        for post in reversed(self.posts):
            if post.category_paths != _NO_CATEGORY or not post.is_page:
                for path in dict.fromkeys(post.category_paths):
                    found[path].append(post)
        return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))

    def by_tag(self) -> dict[str, list[PostSummary]]:
        """Return the entries by tag, the most used tag first, the newest entry first."""
        return self._by_label(lambda labels: dict.fromkeys(labels.tags))

    def by_author(self) -> dict[str, list[PostSummary]]:
        """Return the entries by their writer, in the same order."""
        return self._by_label(lambda labels: filter(None, [labels.author]))

    def _by_label(self, names: Callable[[Labels], Iterable[str]]) -> dict[str, list[PostSummary]]:
        found: defaultdict[str, list[PostSummary]] = defaultdict(list)
        for post in reversed(self.posts) if self.labelled else ():
            for name in names(post.labels) if post.labels is not None else ():
                found[name].append(post)
        return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))

    def entry(self, post: PostSummary) -> Post:
        """Read a whole entry; if it is gone, its last state."""
        gone = self._gone.get(post.id)
        return self.service.post(self.records.load(Kind.ENTRIES, post.id) or {} if gone is None else gone.load())

    def beginning(self, post: PostSummary) -> str:
        """Return the beginning of an entry; for an entry just read for its facts it is cached once."""
        known = self._beginnings.pop(post.id, None)
        return _beginning(self.entry(post)) if known is None else known

    def comment_ids(self, post: PostSummary) -> list[str]:
        """Return the ids of an entry's comments in order."""
        return self.comment_table.of(post.id)

    def comments(self, comment_ids: Iterable[str]) -> Iterator[Comment]:
        """Read comments one at a time."""
        raws = (self.records.load(Kind.COMMENTS, comment_id) for comment_id in comment_ids)
        return (self.service.comment(raw) for raw in raws if raw is not None)

    def page_of(self, address: str) -> str | None:
        """Return the path of an entry's page by an address in the blog, or ``None``."""
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
        private = entry.private is True if entry.audience is None else entry.audience is Audience.PRIVATE
        if entry.audience is None:
            access = "" if entry.access == self.service.usual_access else one_line(entry.access)[:20]
        else:
            access = "" if private or entry.audience is Audience.PUBLIC else str(entry.audience)
        return ShownFacts(entry.date, one_line(entry.title)[:_MAX_TITLE_CHARACTERS], private, access)

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

    def _mentions(self) -> Mapping[str, list[PostSummary]]:
        found: defaultdict[str, list[PostSummary]] = defaultdict(list)
        links = self._links[Kind.ENTRIES]
        for post in self.posts:
            targets = map(self._addresses.entry_of, links.get(post.id, ()))
            for target in dict.fromkeys(each for each in targets if each is not None and each != post.id):
                found[target].append(post)
        return found

    def _item_facts(self, raw: Raw) -> ItemFacts:
        return ItemFacts(one_line(self.service.post(None, raw).category or "")[:_MAX_TITLE_CHARACTERS])

    def _comment_facts(self, raw: Raw) -> CommentFacts:
        comment = self.service.comment(raw)
        day = 0 if comment.date is None else comment.date.toordinal()
        minute = 0
        if comment.date is not None and comment.has_time and is_marked(comment):
            minute = comment.date.hour * 60 + comment.date.minute
        return CommentFacts(self.service.post_id(raw), day, self._own_links(comment.text), minute)

    def _entry_facts(self, raw: Raw) -> EntryFacts:
        entry = self.service.post(raw)
        texts = entry.body, entry.more
        address = absolute(entry.permalink, self._base) if entry.permalink else None
        plain = [_TAGS.sub(" ", text) for text in texts]
        return EntryFacts(
            *self.shown(entry),
            length=sum(len(part) for text in plain for part in text.split()),
            links=self._own_links(*texts, host=host_of(address or "")),
            addresses=[
                each for each in (address, *(pattern.fill(raw) for pattern in self._patterns)) if each is not None
            ],
            marks=marks_of(one_line(entry.title), " ".join(plain)),
            labels=_labels(entry) if is_labelled(entry) else None,
            beginning=_beginning(entry),
        )

    def _summary(self, entry_id: str, facts: EntryFacts, categories: Mapping[str, str]) -> PostSummary:
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
            category=_first_category(facts.labels) or categories.get(entry_id, ""),
            private=facts.private,
            access=facts.access,
            identity=fingerprint(*parts),
            listed=b"",
            length=facts.length,
            comments=len(self.comment_table.places(entry_id)),
            gone_in=None if gone is None else gone.version,
            gone_at="" if gone is None else gone.date,
            labels=facts.labels,
        )
        shown_in_lists = post._replace(identity=b"", length=0, gone_at="")
        return post._replace(listed=fingerprint(*map(str, shown_in_lists)))

    def _own_links(self, *sources: str, host: str = "") -> list[str]:
        """Return the links in bodies that may lead to other entries, so that pages change with their targets.

        They are found without parsing. A link that this misses leads to the web until the page is made for another
        reason. ``host`` is the host of the entry's own address, if its service states that.
        """
        if not (self._patterns or host):
            return []
        return [link for source in sources for link in self._candidates(source, host)]

    def _keep_links(self, kind: Kind, record_id: str, links: list[str]) -> None:
        if links:
            self._links[kind][record_id] = links

    def _candidates(self, source: str, host: str) -> Iterator[str]:
        if "href" not in source.lower():
            return
        for link in dict.fromkeys(html.unescape(next(filter(None, found), "")) for found in _LINK.findall(source)):
            spellings = {absolute(link, self._base), absolute(link.partition("?")[0], self._base)} - {None}
            if (host and any(host_of(address or "") == host for address in spellings)) or any(
                pattern.fits(address) for address in spellings if address for pattern in self._patterns
            ):
                yield link


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
    """Return the last part of a comment's anchor: its id, or its hash if an address cannot hold the id."""
    return comment_id if _ANCHOR.fullmatch(comment_id) else safe_name(comment_id)


def orphans_page(at: int) -> str:
    """Return the path of the page that shows the comment at a place of :attr:`Catalogue.orphans`."""
    number = at // COMMENTS_ON_PAGE
    return f"comments/orphans-{number + 1}.html" if number else ORPHANS_PAGE


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


def _moment(date: datetime | None) -> float:
    return float("-inf") if date is None else date.timestamp()
