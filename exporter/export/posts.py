"""The comments of each post, in flat arrays, since a blog has more comments than anything else. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

from exporter.export.interface import ExportOptions, RecordSource, Side
from exporter.export.report import Report
from exporter.html.runs import collapse
from exporter.model.assumptions import Assumptions
from exporter.model.kinds import Kind, key_of
from exporter.model.publication import (
    IN_THE_NEWEST,
    REMOVED,
    Declared,
    Status,
    Verdict,
    is_visible,
    more_hidden,
    publication,
)
from exporter.model.records import Comment, Entry, EntryListItem

_NONE: Final = -1


class Place(NamedTuple):
    """A comment's id, and a moment that no other comment of the export has, in seconds since 1970."""

    cm_id: str
    second: int


class Threads:
    """Which comments belong to each post, in the order they were added.

    Args:
        posts: how many posts there are.
    """

    def __init__(self, posts: int) -> None:
        self._first = array("i", [_NONE]) * posts
        self._last = array("i", [_NONE]) * posts
        self._next = array("i")
        self._ids: list[str] = []
        self._seconds = array("q")

    def add(self, row: int, cm_id: str, second: int) -> None:
        """Add a comment to the post of that row."""
        number = len(self._ids)
        self._ids.append(cm_id)
        self._seconds.append(second)
        self._next.append(_NONE)
        if self._last[row] == _NONE:
            self._first[row] = number
        else:
            self._next[self._last[row]] = number
        self._last[row] = number

    def part(self) -> None:
        """Give each comment a second of its own: its own one, or the first free one behind it.

        A comment comes with a day only (API 2.5), and importers drop the second one of a name and a moment.
        """
        free: int | None = None
        for number in sorted(range(len(self._ids)), key=self._seconds.__getitem__):
            second = self._seconds[number]
            self._seconds[number] = second if free is None else max(free, second)
            free = self._seconds[number] + 1

    def of(self, row: int) -> Iterator[Place]:
        """Yield the comments of the post of that row."""
        number = self._first[row]
        while number != _NONE:
            yield Place(self._ids[number], self._seconds[number])
            number = self._next[number]


class Newest(NamedTuple):
    """The newest state of an archive, and when the blog was read for it."""

    records: RecordSource
    as_of: datetime | None


class Seen(NamedTuple):
    """Whether a comment may be shown, why not, and whether that is because it was removed since."""

    visible: bool
    reason: str = ""
    removed: bool = False


class Judge:
    """Tells of the entries and comments of one state who may see them.

    Args:
        records: the state.
        declared: what the owner has said of the flags.
        as_of: when the blog was read for that state; an entry dated later was not shown yet.
        assume: how records are read.
        newest: the newest state, where ``records`` is an older one.
    """

    def __init__(
        self,
        records: RecordSource,
        declared: Declared,
        as_of: datetime | None,
        assume: Assumptions,
        newest: Newest | None = None,
    ) -> None:
        self._records = records
        self._declared = declared
        self._as_of = as_of
        self._assume = assume
        self._newest = newest

    def entry(self, entry_id: str, entry: Entry) -> Verdict:
        """Return what an entry of the state is to be."""
        verdict = publication(entry, self._item(self._records, entry_id), self._declared, self._as_of)
        return verdict if self._newest is None else more_hidden(verdict, self._now(entry_id, self._newest))

    def comment(self, cm_id: str, comment: Comment) -> Seen:
        """Return whether a comment of the state may be shown."""
        if self._newest is not None:
            raw = self._newest.records.load(Kind.COMMENTS, cm_id)
            if raw is None:
                return Seen(False, REMOVED, removed=True)
            if is_visible(comment, self._declared):
                return self._seen(Comment.from_raw(raw, self._assume), IN_THE_NEWEST)
        return self._seen(comment)

    def _now(self, entry_id: str, newest: Newest) -> Verdict | None:
        raw = newest.records.load(Kind.ENTRIES, entry_id)
        if raw is None:
            return None
        item = self._item(newest.records, entry_id)
        return publication(Entry.from_raw(raw, self._assume), item, self._declared, newest.as_of)

    def _seen(self, comment: Comment, when: str = "") -> Seen:
        if is_visible(comment, self._declared):
            return Seen(True)
        return Seen(False, f"{when}delete_flg {comment.raw.get('delete_flg')!r:.20} is not visible")

    def _item(self, records: RecordSource, entry_id: str) -> EntryListItem | None:
        raw = records.load(Kind.ENTRY_LIST, entry_id)
        return None if raw is None else EntryListItem.from_raw(raw, self._assume)


_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
_STATUSES: Final = tuple(Status)


class PostComment(NamedTuple):
    """A comment, whether it may be shown, and a moment that no other comment of the export has."""

    comment: Comment
    visible: bool
    when: datetime


@dataclass(frozen=True, slots=True)
class Post:
    """An entry as exports write it.

    Attributes:
        entry_id: its id.
        entry: its full record.
        item: its element of the list, where there is one.
        status: what it is to be in its new home.
        when: its date; where that is impossible, the nearest that is known of it.
        title: its title on one line, without the spaces around it.
        category: the name of its category; empty when unknown.
        comments: those that go with it, in the order of their ids.
    """

    entry_id: str
    entry: Entry
    item: EntryListItem | None
    status: Status
    when: datetime
    title: str
    category: str
    comments: tuple[PostComment, ...]


class Posts:
    """The posts of one side, read one at a time; holds an id, a status and a moment for each, and its comments' ids.

    Args:
        records: the state of the archive.
        options: what is asked for.
        report: is told what is there and what is left out, and why.
        holds_back: whether the target can keep a comment unapproved.
        newest: the newest state, where ``records`` is an older one: nothing hidden or removed since is public.
    """

    def __init__(
        self,
        records: RecordSource,
        options: ExportOptions,
        report: Report,
        *,
        holds_back: bool = False,
        newest: Newest | None = None,
    ) -> None:
        self.records = records
        self.blog_id = records.blog_id
        self._options = options
        self._report = report
        self._judge = Judge(records, options.declared, options.as_of, options.assume, newest)
        self._hidden = holds_back and (options.hidden_comments or options.side is Side.REST)
        self._categories: dict[str, None] = {}
        self._rows: dict[str, int] = {}
        self._statuses = array("B")
        self._moments = array("q")
        self._choose()
        for name in self._categories:
            report.category(name)
        self._threads = Threads(len(self._rows))
        self._index_comments()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._rows

    def __iter__(self) -> Iterator[Post]:
        """Yield the posts in the order of their ids."""
        return (self._load(entry_id, row) for entry_id, row in self._rows.items())

    def by_date(self, *, newest_first: bool = False) -> Iterator[Post]:
        """Yield the posts in the order of their dates, then of their ids."""
        ids = list(self._rows)
        ordered = sorted(range(len(ids)), key=self._moments.__getitem__)
        return (self._load(ids[row], row) for row in (reversed(ordered) if newest_first else ordered))

    def ids(self) -> list[str]:
        """Return the ids of the posts in their order."""
        return list(self._rows)

    def categories(self) -> list[str]:
        """Return the names of the posts' categories, each once, in the order of the posts."""
        return list(self._categories)

    def newest(self) -> datetime:
        """Return when the blog was read, or the newest post's date: what an export gives as its own."""
        latest = max(self._moments, default=0)
        return self._options.as_of or datetime.fromtimestamp(latest, UTC)

    def _choose(self) -> None:
        for entry_id, raw in self.records.scan(Kind.ENTRIES):
            self._report.took("entries")
            entry = Entry.from_raw(raw, self._options.assume)
            item = self._item(entry_id)
            verdict = self._judge.entry(entry_id, entry)
            reason = self._refusal(entry, item, verdict)
            if reason:
                self._report.left("entries", reason, entry_id)
            else:
                self._categories.update(dict.fromkeys(filter(None, [self._category(entry, item)])))
                # Some importers publish what is marked private: whoever asks for drafts gets drafts only.
                status = Status.DRAFT if self._options.declared.all_as_draft else verdict.status
                self._rows[entry_id] = len(self._rows)
                self._statuses.append(_STATUSES.index(status))
                self._moments.append(int(_when(entry, item).timestamp()))
        for entry_id in self.records.ids(Kind.ENTRY_LIST):
            if not self._is_read(entry_id):
                self._report.took("entries")
                self._report.left("entries", "listed, but the archive has no full record of it", entry_id)

    def _refusal(self, entry: Entry, item: EntryListItem | None, verdict: Verdict) -> str:
        """Return why an entry is not part of this export; empty when it is."""
        options = self._options
        side = self._side(verdict)
        if side is not options.side:
            named = {Side.PUBLIC: "public, and so in the other export", Side.DRAFTS: "a draft, and in the other export"}
            return named.get(side, f"not public: {verdict.reason}")
        if options.category is not None and self._category(entry, item) != options.category:
            return "of another category"
        if options.since is not None or options.until is not None:
            if entry.date is None:
                return "without a date, and a span of dates was asked for"
            day = entry.date.date()
            if (options.since and day < options.since) or (options.until and day > options.until):
                return "outside of the dates asked for"
        return ""

    def _side(self, verdict: Verdict) -> Side:
        if verdict.status is Status.PUBLISH:
            return Side.PUBLIC
        return Side.DRAFTS if self._options.declared.all_as_draft and verdict.status is Status.DRAFT else Side.REST

    def _is_read(self, entry_id: str) -> bool:
        return self.records.identity(Kind.ENTRIES, entry_id) is not None

    def _index_comments(self) -> None:
        """Find each post's comments."""
        for cm_id, raw in self.records.scan(Kind.COMMENTS):
            self._report.took("comments")
            entry_id = key_of(raw.get("entry_id")) or ""
            row = self._rows.get(entry_id)
            comment = Comment.from_raw(raw, self._options.assume)
            if row is None:
                of = "is not in this export" if self._is_read(entry_id) else "is not in the archive"
                self._report.left("comments", f"its entry {of}", cm_id)
            elif not (seen := self._judge.comment(cm_id, comment)).visible and not self._keeps(seen):
                self._report.left("comments", seen.reason, cm_id)
            else:
                date = comment.regist_date
                self._threads.add(row, cm_id, self._moments[row] if date is None else int(date.timestamp()))
        self._threads.part()

    def _keeps(self, seen: Seen) -> bool:
        """Tell whether a comment that may not be shown is written unapproved; a removed one is only in the rest."""
        return self._hidden and (not seen.removed or self._options.side is Side.REST)

    def _load(self, entry_id: str, row: int) -> Post:
        entry = Entry.from_raw(self.records.load(Kind.ENTRIES, entry_id) or {}, self._options.assume)
        item = self._item(entry_id)
        return Post(
            entry_id=entry_id,
            entry=entry,
            item=item,
            status=_STATUSES[self._statuses[row]],
            when=_when(entry, item).astimezone(self._options.assume.timezone),
            title=collapse(entry.title),
            category=self._category(entry, item),
            comments=tuple(map(self._comment, self._threads.of(row))),
        )

    def _comment(self, place: Place) -> PostComment:
        comment = Comment.from_raw(self.records.load(Kind.COMMENTS, place.cm_id) or {}, self._options.assume)
        when = datetime.fromtimestamp(place.second, self._options.assume.timezone)
        return PostComment(comment, self._judge.comment(place.cm_id, comment).visible, when)

    def _item(self, entry_id: str) -> EntryListItem | None:
        raw = self.records.load(Kind.ENTRY_LIST, entry_id)
        return None if raw is None else EntryListItem.from_raw(raw, self._options.assume)

    def _category(self, entry: Entry, item: EntryListItem | None) -> str:
        named = collapse(item.category) if item is not None else ""
        return named or self._names.get(entry.category_id, "")

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of categories by their ids, for entries that are in no list; read when first needed.

        Only entries of this side tell names: one that only private entries tell would be theirs.
        """
        names: dict[str, str] = {}
        for entry_id, raw in self.records.scan(Kind.ENTRIES):
            category_id = key_of(raw.get("category_id"))
            if category_id is not None and category_id not in names:
                verdict = self._judge.entry(entry_id, Entry.from_raw(raw, self._options.assume))
                item = self._item(entry_id) if self._side(verdict) is self._options.side else None
                if item is not None and collapse(item.category):
                    names[category_id] = collapse(item.category)
        return names


def _when(entry: Entry, item: EntryListItem | None) -> datetime:
    known = [entry.date, item.regist_date if item is not None else None, entry.last_update, entry.period_date]
    return next((date for date in known if date is not None), _NO_DATE)
