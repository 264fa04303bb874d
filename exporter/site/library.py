"""Join several archives by one person: their records, and the service that reads these.

Ids begin with their blog's key, because archives may have equal ids. A moved post has the id that its shown copy has,
and its record holds the records for all copies.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.frozen import frozen
from exporter.html.links import absolute, host_of
from exporter.model.asset import Asset
from exporter.model.kinds import Kind, sort_key
from exporter.model.publication import Cause, Declared, Hidden, PostStatus, Verdict
from exporter.model.records import Audience, Comment, Post, Raw, Upload, User
from exporter.service.interface import Records

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource
    from exporter.site.history import GoneEntry

BLOG_ID: Final = "library"
"""The blog ID of a library, whose records come from several blogs."""
COLOURS: Final = 8
"""The number of colours for blogs. Further blogs use them again."""
_PLAIN_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,11}")
_NUMBER_DIGITS: Final = 12
_OTHER_ID: Final = "~"
"""Comes before an id that is not a plain number."""
_NOT_IN_KEYS: Final = re.compile(r"[^a-z0-9.-]+")
_MAX_KEY_CHARACTERS: Final = 60
_OPENNESS: Final = (
    Audience.PRIVATE, Audience.DRAFT, Audience.SCHEDULED, Audience.PASSWORD, Audience.MEMBERS, Audience.PUBLIC,
)  # fmt: skip


@frozen
class LibraryBlog:
    """A blog of a library.

    Attributes:
        key: its name in ids.
        number: its place in the library from 1, the oldest blog first.
        title: its name, unlike that of every other blog.
        blog_id: its domain.
        version: the version of its archive.
        read_at: when this version was read, ISO 8601.
    """

    key: str
    number: int
    title: str
    blog_id: str
    version: int = 0
    read_at: str = ""

    @property
    def base(self) -> str:
        """Its address, which relative addresses start from."""
        return f"https://{self.blog_id}/"

    @property
    def shown(self) -> tuple[str, int, str, str]:
        """The facts about it that pages show, apart from the page about the library."""
        return self.key, self.number, self.title, self.blog_id

    @property
    def colour(self) -> int:
        """The number of its colour, from 1."""
        return (self.number - 1) % COLOURS + 1

    def id_of(self, record_id: str) -> str:
        """Return the id that one of its records has in the library. Numbers stay in their order."""
        plain = _PLAIN_NUMBER.fullmatch(record_id)
        return f"{self.key}/{record_id.zfill(_NUMBER_DIGITS) if plain else _OTHER_ID + record_id}"


def blog_keys(blog_ids: Iterable[str]) -> list[str]:
    """Return a key for each blog: its ID, with a number if several blogs have the same ID."""
    found: dict[str, None] = {}
    for blog_id in blog_ids:
        key = _NOT_IN_KEYS.sub("-", blog_id.lower())[:_MAX_KEY_CHARACTERS].strip(".-") or "blog"
        number = 2
        unique = key
        while unique in found:
            unique, number = f"{key}_{number}", number + 1
        found[unique] = None
    return list(found)


def own_id(record_id: str) -> tuple[str, str]:
    """Return the blog's key and the record's id in that blog."""
    key, _, rest = record_id.partition("/")
    return key, rest[1:] if rest.startswith(_OTHER_ID) else rest.lstrip("0") or "0"


@frozen
class BlogRecords:
    """The records of a blog.

    Attributes:
        blog: the blog.
        records: one state of it.
        service: reads them.
        address_of: builds the address of an entry from its id and record if the service does not state it.
        gone: the entries that the service no longer has.
    """

    blog: LibraryBlog
    records: RecordSource
    service: Records
    address_of: Callable[[str, Raw], str | None] = lambda *_: None
    gone: Mapping[str, GoneEntry] = field(default_factory=dict)

    def entry(self, entry_id: str) -> Raw | None:
        """Return an entry's record, or its last state if the service no longer has it."""
        found = self.records.load(Kind.ENTRIES, entry_id)
        return self.gone[entry_id].load() if found is None and entry_id in self.gone else found

    def post(self, raw: Raw | None, item: Raw | None, entry_id: str) -> Post:
        """Read an entry with the id and the absolute address that it has in the library."""
        post = self.service.post(raw, item)
        address = absolute(post.permalink, self.blog.base) if post.permalink else self.address_of(entry_id, raw or {})
        access = "" if post.access == self.service.usual_access else post.access
        return replace(post, id=self.blog.id_of(entry_id), permalink=address or "", access=access)


class PostCopy(NamedTuple):
    """A moved post in one blog. ``gone_at`` is the time when its service no longer had it; empty if it has it."""

    blog: LibraryBlog
    post: Post
    gone_at: str


class AllGone(NamedTuple):
    """An entry that no service has any more; see :class:`~exporter.site.history.GoneEntry`."""

    version: int
    date: str
    identity: bytes
    load: Callable[[], dict[str, Any]]


class _Same:
    """Groups of records that pages show as one record.

    Args:
        groups: the ids in each group, the shown one first.

    Attributes:
        members: the ids in a group, by the shown id.
        shown: the shown id, by any id in the group.
    """

    def __init__(self, groups: Iterable[Sequence[str]]) -> None:
        self.members = {group[0]: tuple(group) for group in groups}
        self.shown = {each: group[0] for group in self.members.values() for each in group}

    def of(self, record_id: str) -> tuple[str, ...]:
        """Return the ids of the records that are shown as one."""
        return self.members.get(record_id, (record_id,))


class Library:
    """The records of several blogs, as the :class:`~exporter.export.interface.RecordSource` for a site.

    Args:
        sources: the blogs, the oldest home first.
        groups: for each moved post the ids of its copies, the shown one first.
        comments: the ids of each comment that moved with its post, the shown one first.

    Attributes:
        blogs: the blogs.
        hosts: the hosts of all their entries.
        names: the first ID of a blog by each later one, unless another of the blogs began with it.
    """

    blog_id = BLOG_ID

    def __init__(
        self,
        sources: Sequence[BlogRecords],
        groups: Iterable[Sequence[str]] = (),
        comments: Iterable[Sequence[str]] = (),
        hosts: Iterable[str] = (),
    ) -> None:
        self.blogs = [source.blog for source in sources]
        first = {blog.blog_id for blog in self.blogs}
        self.names = {
            name: blog_id for source in sources for name, blog_id in source.records.names.items() if name not in first
        }
        named = (host_of(f"https://{name}/") for name in self.names)
        self.hosts = {*hosts, *(host_of(blog.base) for blog in self.blogs), *named} - {""}
        self._sources = {source.blog.key: source for source in sources}
        self._copies = _Same(groups)
        self._comments = _Same(comments)
        self._ids = {kind: self._every(kind) for kind in Kind}
        self._known = {kind: frozenset(found) for kind, found in self._ids.items()}

    def shown_entry(self, entry_id: str) -> str:
        """Return the id under which an entry is shown: its own, or that of the shown copy."""
        return self._copies.shown.get(entry_id, entry_id)

    def shown_comment(self, comment_id: str) -> str:
        """Return the id under which a comment is shown."""
        return self._comments.shown.get(comment_id, comment_id)

    def blog_of(self, record_id: str) -> LibraryBlog:
        """Return the blog of a record."""
        return self._sources[own_id(record_id)[0]].blog

    def blogs_of_entry(self, entry_id: str) -> list[LibraryBlog]:
        """Return the blogs that have an entry, the oldest home first."""
        return self._blogs(self._copies.of(entry_id))

    def blogs_of_comment(self, comment_id: str) -> list[LibraryBlog]:
        """Return the blogs that have a comment, the oldest home first."""
        return self._blogs(self._comments.of(comment_id))

    def _blogs(self, record_ids: Iterable[str]) -> list[LibraryBlog]:
        return sorted(map(self.blog_of, record_ids), key=lambda blog: blog.number)

    def copies(self, entry_id: str) -> list[PostCopy]:
        """Return a moved post's copies, the shown one first; empty for any other post."""
        found = []
        for each in self._copies.members.get(entry_id, ()):
            source, own = self._source(each)
            gone = source.gone.get(own)
            at = "" if gone is None or source.records.identity(Kind.ENTRIES, own) is not None else gone.date
            item = source.records.load(Kind.ENTRY_LIST, own)
            found.append(PostCopy(source.blog, source.post(source.entry(own), item, own), at))
        return found

    def gone_entries(self) -> Mapping[str, AllGone]:
        """Return the entries that no service has any more, by id."""
        found: dict[str, AllGone] = {}
        for source in self._sources.values():
            for own, gone in source.gone.items():
                entry_id = self.shown_entry(source.blog.id_of(own))
                if entry_id not in self._known[Kind.ENTRIES]:
                    before = found.get(entry_id)
                    date = gone.date if before is None else max(gone.date, before.date)
                    identity = self._identity(Kind.ENTRIES, entry_id)
                    found[entry_id] = AllGone(gone.version, date, identity, partial(self._entry, entry_id))
        return found

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids of all records of a kind in order."""
        return self._ids[kind]

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return 32 bytes that change with the record in any of its blogs; ``None`` if there is no such record."""
        return self._identity(kind, record_id) if record_id in self._known[kind] else None

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a record with its id, or all records for an entry's copies; ``None`` if no such record exists."""
        if record_id not in self._known[kind]:
            return None
        if kind is Kind.ENTRIES:
            return self._entry(record_id)
        found = ((source, own, source.records.load(kind, own)) for source, own in self._places(kind, record_id))
        source, own, raw = next(each for each in found if each[2] is not None)
        return self._asset(source, raw or {}) if kind is Kind.ASSETS else {"id": source.blog.id_of(own), "record": raw}

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the records of a kind in the order of their ids."""
        for record_id in self._ids[kind]:
            raw = self.load(kind, record_id)
            if raw is not None:
                yield record_id, raw

    def _every(self, kind: Kind) -> list[str]:
        found = (source.blog.id_of(own) for source in self._sources.values() for own in source.records.ids(kind))
        same = self._same(kind)
        return sorted(found if same is None else {same.shown.get(each, each) for each in found}, key=sort_key)

    def _same(self, kind: Kind) -> _Same | None:
        """Return the groups of records of a kind; ``None`` if records of this kind are never grouped."""
        return {Kind.ENTRIES: self._copies, Kind.ENTRY_LIST: self._copies, Kind.COMMENTS: self._comments}.get(kind)

    def _source(self, record_id: str) -> tuple[BlogRecords, str]:
        key, own = own_id(record_id)
        return self._sources[key], own

    def _places(self, kind: Kind, record_id: str) -> list[tuple[BlogRecords, str]]:
        same = self._same(kind)
        return list(map(self._source, (record_id,) if same is None else same.of(record_id)))

    def _identity(self, kind: Kind, record_id: str) -> bytes:
        digest = sha256()
        for source, own in self._places(kind, record_id):
            gone = source.gone.get(own) if kind is Kind.ENTRIES else None
            identity = source.records.identity(kind, own)
            digest.update(identity if identity is not None else b"-" if gone is None else gone.identity)
            if kind is Kind.ENTRIES:
                digest.update(source.records.identity(Kind.ENTRY_LIST, own) or b"-")
        return digest.digest()

    def _entry(self, record_id: str) -> dict[str, Any]:
        copies = []
        for source, own in self._places(Kind.ENTRIES, record_id):
            item = source.records.load(Kind.ENTRY_LIST, own)
            copies.append({"id": source.blog.id_of(own), "record": source.entry(own), "item": item})
        return {"copies": copies}

    def _asset(self, source: BlogRecords, raw: Raw) -> dict[str, Any]:
        """Return the record of a file with the ids of its users in the library."""
        asset = Asset.from_raw(raw)
        refs = [{"entry": self.shown_entry(source.blog.id_of(own))} for own in asset.ids("entry")]
        refs += ({"file": source.blog.id_of(own)} for own in asset.ids("file"))
        return {**raw, "refs": refs}


class LibraryService(Records):
    """Reads the records of a :class:`Library` with the services of their blogs.

    Args:
        sources: the blogs.
        library: their records.
    """

    name = BLOG_ID
    usual_access = ""
    key_fields: Mapping[Kind, str] = {}  # type: ignore[misc]  # of no class alone: its blogs have services of several kinds

    def __init__(self, sources: Sequence[BlogRecords], library: Library) -> None:
        self._sources = {source.blog.key: source for source in sources}
        self._library = library
        self.timezone = sources[-1].service.timezone

    def key(self, _kind: Kind, raw: Any) -> str | None:
        """Return the id of a record that is no entry."""
        found: str | None = raw.get("id") if isinstance(raw, dict) else None
        return found

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return a record's title or name."""
        if kind is Kind.ENTRIES:
            return self.post(raw).title
        source, _, record = self._parts(raw)
        return source.service.title(kind, record)

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read an entry as its shown copy has it, with the labels of all copies.

        The most hidden audience counts, and the earliest date.
        """
        if not raw:
            if not item:
                return Post("")
            source, own, record = self._parts(item)
            return source.post(None, record, own)
        posts = [self._copy(copy) for copy in raw["copies"]]
        first = posts[0]
        if len(posts) == 1:
            return replace(first, categories=first.every_category)
        dates = [post.date for post in posts if post.date is not None]
        audience, access, private = _most_hidden(posts)
        return replace(
            first,
            date=min(dates, key=datetime.timestamp, default=None),
            categories=tuple(dict.fromkeys(each for post in posts for each in post.every_category)),
            tags=tuple(dict.fromkeys(tag for post in posts for tag in post.tags)),
            audience=audience,
            access=access,
            private=private,
            others=tuple(posts[1:]),
        )

    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""
        source, own, record = self._parts(raw)
        comment = source.service.comment(record)
        parent = self._library.shown_comment(source.blog.id_of(comment.parent)) if comment.parent else ""
        return replace(comment, id=source.blog.id_of(own), post_id=self.post_id(raw), parent=parent)

    def post_id(self, raw: Raw) -> str:
        """Return the id of a comment's entry."""
        source, _, record = self._parts(raw)
        own = source.service.post_id(record)
        return self._library.shown_entry(source.blog.id_of(own)) if own else ""

    def category_id(self, _raw: Raw) -> str | None:
        """Return ``None``: a library has no ids of categories."""
        return None

    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file."""
        source, own, record = self._parts(raw)
        return replace(source.service.upload(record), id=source.blog.id_of(own))

    def user(self, raw: Raw) -> User:
        """Read a user."""
        source, own, record = self._parts(raw)
        return replace(source.service.user(record), id=source.blog.id_of(own))

    def publication(self, _post: Post, _declared: Declared, _as_of: datetime | None = None) -> Verdict:
        """Return private: each blog's own service decides before its records become part of a library."""
        return Verdict(PostStatus.PRIVATE, Cause(Hidden.UNDECLARED))

    def is_visible(self, _comment: Comment, _declared: Declared) -> bool:
        """Return ``False``; see :meth:`publication`."""
        return False

    def why_hidden(self, _comment: Comment) -> Cause:
        """Return why a comment is not public; see :meth:`publication`."""
        return Cause(Hidden.UNDECLARED)

    def _parts(self, raw: Raw) -> tuple[BlogRecords, str, Raw]:
        key, own = own_id(raw["id"])
        return self._sources[key], own, raw["record"]

    def _copy(self, copy: Raw) -> Post:
        source, own, record = self._parts(copy)
        return source.post(record, copy["item"], own)


def _most_hidden(posts: Sequence[Post]) -> tuple[Audience | None, str, bool | None]:
    """Return audience, code of access and private mark of copies; the most hidden copy decides."""
    private = any(post.private is True for post in posts)
    access = next((post.access for post in posts if post.access), "")
    stated = [post.audience for post in posts if post.audience is not None]
    if private:
        return Audience.PRIVATE, access, True
    audience = min(stated, key=_OPENNESS.index, default=None)
    return (None if audience is Audience.PUBLIC and access else audience), access, posts[0].private


class WithoutRecords:
    """A state without some entries and comments, as a :class:`~exporter.export.interface.RecordSource`.

    Args:
        records: the state.
        left_out: the ids to leave out, by kind.
    """

    def __init__(self, records: RecordSource, left_out: Mapping[Kind, set[str]]) -> None:
        self._records = records
        self._left_out: defaultdict[Kind, set[str]] = defaultdict(set, left_out)
        self.blog_id = records.blog_id
        self.names = records.names

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids of the remaining records in order."""
        return [each for each in self._records.ids(kind) if each not in self._left_out[kind]]

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return 32 bytes that change with a remaining record; ``None`` for others."""
        return None if record_id in self._left_out[kind] else self._records.identity(kind, record_id)

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a remaining record."""
        return None if record_id in self._left_out[kind] else self._records.load(kind, record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the remaining records of a kind in order."""
        return (each for each in self._records.scan(kind) if each[0] not in self._left_out[kind])
