"""What was read last, kept for a moment: a page and the search data made after it need the same records and trees."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from exporter.model.kinds import Kind, sort_key
from exporter.model.records import Comment, Post
from exporter.service.interface import Records
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource
    from exporter.site.history import HistorySource

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KEPT: Final = 128
"""More than a chunk of the search data holds."""
_GREAT: Final = 20_000


class Recent(Generic[K, V]):
    """The last values made, by key; few and small ones, so that memory does not grow with the blog.

    Args:
        make: makes the value of a key.
        size: of a key and its value, in characters; what is great is made again each time.
    """

    def __init__(self, make: Callable[[K], V], size: Callable[[K, V], int]) -> None:
        self._make = make
        self._size = size
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V:
        """Return the value for a key, made or kept."""
        found = self._values.get(key)
        if found is None:
            found = self._make(key)
            if self._size(key, found) <= _GREAT:
                if len(self._values) >= KEPT:
                    del self._values[next(iter(self._values))]
                self._values[key] = found
        return found


UNDATED: Final = "undated"
ORPHANS_PAGE: Final = "comments/orphans.html"
_TITLE_KEPT: Final = 200
_TAGS_AND_SPACES = re.compile(r"<[^<>]*>|&[a-zA-Z#0-9]+;|\s+")
_PLAIN_ID = re.compile(r"[0-9]{1,40}")


class PostSummary(NamedTuple):
    """What is held of an entry.

    Attributes:
        id: its id.
        page: the path of its page in the site.
        date: when it was written; ``None`` when undated.
        title: as far as it is shown in lists; may be empty.
        category: the category's name from its list item; may be empty.
        private: whether it is marked as private.
        access: its publication code where that is not the usual one, else empty.
        identity: changes with the entry, its list item and its comments.
        listed: changes with what lists show of it.
        length: the characters of its texts, without tags and spaces.
        comments: the ids of its comments.
        gone_in: the version that found it gone; ``None`` while it is there.
        gone_at: when that was.
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
    comments: tuple[str, ...] = ()
    gone_in: int | None = None
    gone_at: str = ""

    @property
    def year(self) -> str:
        """The year it belongs to, or :data:`UNDATED`."""
        return UNDATED if self.date is None else f"{self.date.year:04d}"


class Catalogue:
    """All entries of a state, by date; holds some hundred bytes for each, and no texts.

    Attributes:
        posts: the entries by date, the undated first.
        by_id: the same by id.
        places: where in ``posts`` each id is.
        orphans: the ids of comments whose entry is not there.
        unread: the ids of list items whose entry is not there.
        comment_days: the day of each comment as ``YYYY-MM-DD``, empty when undated.
        links: of the entries and comments that have any, the links that may lead to other entries.
    """

    def __init__(
        self,
        records: RecordSource,
        service: Records,
        history: HistorySource | None = None,
        links_of: Callable[[str], tuple[str, ...]] = lambda _: (),
    ) -> None:
        self.records = records
        self.service = service
        self.history = history
        self.comment_days: dict[str, str] = {}
        self.links: dict[Kind, dict[str, tuple[str, ...]]] = {Kind.ENTRIES: {}, Kind.COMMENTS: {}}
        self._links_of = links_of
        self._raws: Recent[str, Mapping[str, Any]] = Recent(self._load, lambda _, raw: _size(raw))
        self._talks: Recent[tuple[str, ...], list[Comment]] = Recent(
            self._load_comments, lambda _, found: sum(len(each.text) for each in found)
        )
        self._gone = {} if history is None else history.gone_entries()
        categories = self._categories()
        comments = self._comments_by_entry()
        posts = [self._post(entry_id, raw, categories, comments) for entry_id, raw in self.entries()]
        posts.sort(key=lambda post: (_moment(post.date), sort_key(post.id)))
        self.posts: list[PostSummary] = posts
        self.by_id = {post.id: post for post in posts}
        self.places = {post.id: at for at, post in enumerate(posts)}
        self.orphans = sorted((cm_id for cm_ids in comments.values() for cm_id in cm_ids), key=sort_key)
        self.unread = [item_id for item_id in records.ids(Kind.ENTRY_LIST) if item_id not in self.by_id]

    def by_year(self) -> dict[str, list[PostSummary]]:
        """Return the entries by year, the newest first; the undated come last."""
        years: defaultdict[str, list[PostSummary]] = defaultdict(list)
        for post in reversed(self.posts):
            years[post.year].append(post)
        return dict(years)

    def by_category(self) -> dict[str, list[PostSummary]]:
        """Return the entries by category, the fullest category first, the newest entry first."""
        found: defaultdict[str, list[PostSummary]] = defaultdict(list)
        for post in reversed(self.posts):
            found[post.category].append(post)
        return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))

    def entry(self, post: PostSummary) -> Post:
        """Read an entry in full; one that is gone, as it last was."""
        return self.service.post(self.raw(post))

    def raw(self, post: PostSummary) -> Mapping[str, Any]:
        """Read an entry's record as it was sent."""
        if post.gone_in is not None and self.history is not None:
            return self._gone[post.id].load()
        return self._raws.get(post.id)

    def texts(self, post: PostSummary) -> tuple[str, str, str]:
        """Read an entry's body, and the title and the body of its continuation."""
        entry = self.entry(post)
        return entry.body, entry.more_title, entry.more

    def comments(self, cm_ids: tuple[str, ...] | list[str]) -> list[Comment]:
        """Read comments."""
        return self._talks.get(tuple(cm_ids))

    def identities(self, kind: Kind, ids: tuple[str, ...] | list[str]) -> bytes:
        """Return one fingerprint for some records of a kind."""
        return fingerprint(*(self.records.identity(kind, record_id) or b"-" for record_id in ids))

    def _load(self, entry_id: str) -> Mapping[str, Any]:
        return self.records.load(Kind.ENTRIES, entry_id) or {}

    def _load_comments(self, cm_ids: tuple[str, ...]) -> list[Comment]:
        raws = (self.records.load(Kind.COMMENTS, cm_id) for cm_id in cm_ids)
        return [self.service.comment(raw) for raw in raws if raw is not None]

    def entries(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the id and record of every entry, those that are gone last."""
        yield from self.records.scan(Kind.ENTRIES)
        for entry_id, gone in self._gone.items():
            yield entry_id, gone.load()

    def _post(
        self,
        entry_id: str,
        raw: Mapping[str, Any],
        categories: Mapping[str, str],
        comments: defaultdict[str, list[str]],
    ) -> PostSummary:
        entry = self.service.post(raw)
        texts = entry.body, entry.more
        links = self._links_of(texts[0]) + self._links_of(texts[1])
        if links:
            self.links[Kind.ENTRIES][entry_id] = links
        gone = self._gone.get(entry_id)
        cm_ids = tuple(comments.pop(entry_id, ()))
        parts = (
            (self.records.identity(Kind.ENTRIES, entry_id) or b"-") if gone is None else gone.identity,
            self.records.identity(Kind.ENTRY_LIST, entry_id) or b"-",
            self.identities(Kind.COMMENTS, cm_ids),
        )
        post = PostSummary(
            entry_id,
            f"entry/{safe_name(entry_id)}.html",
            entry.date,
            shown(entry.title)[:_TITLE_KEPT],
            categories.get(entry_id, ""),
            entry.private is True,
            "" if entry.access == self.service.usual_access else shown(entry.access)[:20],
            fingerprint(*parts),
            b"",
            sum(len(text) - sum(len(found[0]) for found in _TAGS_AND_SPACES.finditer(text)) for text in texts),
            cm_ids,
            None if gone is None else gone.version,
            "" if gone is None else gone.date,
        )
        shown_in_lists = (post.page, str(post.date), *post[3:7], len(cm_ids), post.gone_in)
        return post._replace(listed=fingerprint(repr(shown_in_lists)))

    def _categories(self) -> dict[str, str]:
        return {
            entry_id: shown(self.service.post(None, raw).category or "")[:_TITLE_KEPT]
            for entry_id, raw in self.records.scan(Kind.ENTRY_LIST)
        }

    def _comments_by_entry(self) -> defaultdict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for cm_id, raw in self.records.scan(Kind.COMMENTS):
            comment = self.service.comment(raw)
            self.comment_days[cm_id] = "" if comment.date is None else comment.date.date().isoformat()
            found[self.service.post_id(raw)].append(cm_id)
            links = self._links_of(comment.text)
            if links:
                self.links[Kind.COMMENTS][cm_id] = links
        return found


def fingerprint(*parts: bytes | str) -> bytes:
    """Return 32 bytes that change with any of the parts or their number."""
    digest = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()


def safe_name(record_id: str) -> str:
    """Return a file name's stem for an id: numbers as they are, anything else by its hash."""
    if _PLAIN_ID.fullmatch(record_id):
        return record_id
    return "x" + sha256(record_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def shown(text: str) -> str:
    """Return a stranger's text on one line, as a page can show it."""
    return " ".join(visible(text)[0].split())


def _size(raw: Mapping[str, Any]) -> int:
    return sum(len(value) for value in raw.values() if isinstance(value, str))


def _moment(date: datetime | None) -> float:
    return float("-inf") if date is None else date.timestamp()
