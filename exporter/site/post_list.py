"""The entries of a site as rows in a temporary file, so that memory does not grow with their titles and labels."""

from __future__ import annotations

import marshal
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar, overload

from exporter.archive.state import IdRows, key_of_id
from exporter.export.comment_index import UNDATED
from exporter.model.kinds import sort_key
from exporter.model.records import PostKind
from exporter.site.facts import Labels
from exporter.site.row_file import RowFile

_KEPT_POSTS: Final = 8_192
"""The entries that were read last stay in memory; in most blogs, these are all."""
K = TypeVar("K")


class PostSummary(NamedTuple):
    """The facts that lists show of an entry.

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
        blogs: the numbers of the blogs of a library that have it; empty in the site of one blog.
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
    blogs: tuple[int, ...] = ()
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


class _Rows:
    """All entries by date; memory holds some 40 bytes for each. They are added first, then put in order, then read."""

    def __init__(self) -> None:
        self._stored = RowFile()
        self._ids = IdRows()
        self._moments = array("d")
        self._order = array("I")
        self._places = array("I")
        self.at = lru_cache(_KEPT_POSTS)(self._at)

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, post: PostSummary) -> None:
        """Add an entry."""
        date = "" if post.date is None else post.date.isoformat()
        labels: Any = None if post.labels is None else tuple(post.labels)
        self._ids.add(key_of_id(post.id), len(self))
        self._moments.append(float("-inf") if post.date is None else post.date.timestamp())
        self._stored.append(marshal.dumps((*post[:2], date, *post[3:-1], labels)))

    def put_in_order(self) -> None:
        """Put the entries in the order of their dates, the undated first; ids decide between equal dates."""
        moment = self._moments.__getitem__
        for _, run in groupby(sorted(range(len(self)), key=moment), key=moment):
            rows = list(run)
            self._order.extend(sorted(rows, key=self._tie) if len(rows) > 1 else rows)
        self._places = self._order[:]
        for place, row in enumerate(self._order):
            self._places[row] = place

    def _tie(self, row: int) -> tuple[int, int, str]:
        return sort_key(self._read(row).id)

    def _at(self, place: int) -> PostSummary:
        """Return the entry at a place."""
        return self._read(self._order[place])

    def place(self, entry_id: str) -> int | None:
        """Return the place of an entry."""
        row = self._ids.find(key_of_id(entry_id))
        return None if row is None else self._places[row]

    def _read(self, row: int) -> PostSummary:
        facts: list[Any] = list(marshal.loads(self._stored[row]))  # noqa: S302 - written above
        facts[2] = datetime.fromisoformat(facts[2]) if facts[2] else None
        facts[-1] = None if facts[-1] is None else Labels(*facts[-1])
        return PostSummary._make(facts)


class PostList(Sequence[PostSummary]):
    """Some entries by date, each read when it is asked for."""

    def __init__(self, rows: _Rows, places: Sequence[int]) -> None:
        self._rows = rows
        self._chosen = places

    def __len__(self) -> int:
        return len(self._chosen)

    def __iter__(self) -> Iterator[PostSummary]:
        return map(self._rows.at, self._chosen)

    def __reversed__(self) -> Iterator[PostSummary]:
        return map(self._rows.at, reversed(self._chosen))

    @overload
    def __getitem__(self, at: int) -> PostSummary: ...
    @overload
    def __getitem__(self, at: slice) -> PostList: ...
    def __getitem__(self, at: int | slice) -> PostSummary | PostList:
        """Return the entry at an index, or the entries of a slice."""
        if isinstance(at, slice):
            return PostList(self._rows, self._chosen[at])
        return self._rows.at(self._chosen[at])

    def grouped(self, names: Callable[[PostSummary], Iterable[K]]) -> dict[K, PostList]:
        """Return the entries of each name, the newest first, in the order in which the names occur."""
        found: defaultdict[K, array[int]] = defaultdict(lambda: array("I"))
        for place in reversed(self._chosen):
            for name in names(self._rows.at(place)):
                found[name].append(place)
        return {name: PostList(self._rows, places) for name, places in found.items()}


class PostsById(Mapping[str, PostSummary]):
    """All entries by id."""

    def __init__(self, posts: Iterable[PostSummary]) -> None:
        self._rows = _Rows()
        for post in posts:
            self._rows.add(post)
        self._rows.put_in_order()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return (post.id for post in self.by_date())

    def __contains__(self, entry_id: object) -> bool:
        return isinstance(entry_id, str) and self._rows.place(entry_id) is not None

    def __getitem__(self, entry_id: str) -> PostSummary:
        return self._rows.at(self.place(entry_id))

    def place(self, entry_id: str) -> int:
        """Return the place of an entry in the order of the dates.

        Raises:
            KeyError: there is no such entry.
        """
        place = self._rows.place(entry_id)
        if place is None:
            raise KeyError(entry_id)
        return place

    def by_date(self) -> PostList:
        """Return all entries, the undated first; ids decide between equal dates."""
        return PostList(self._rows, range(len(self._rows)))

    def at(self, places: Iterable[int]) -> PostList:
        """Return the entries at some places."""
        return PostList(self._rows, array("I", places))
