"""The comments of each post, in flat arrays, since a blog has more comments than anything else. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

from exporter.export.interface import ExportOptions, RecordSource, Side
from exporter.export.report import Report
from exporter.export.words import Reason
from exporter.html.runs import collapse
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Hidden, Status, Verdict, more_hidden
from exporter.model.records import Comment, Post, Raw
from exporter.service.interface import Records

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


class Judge:
    """Tells of the entries and comments of one state who may see them.

    Args:
        records: the state.
        declared: what the owner has said of the flags.
        as_of: when the blog was read for that state; an entry dated later was not shown yet.
        service: reads the records.
        newest: the newest state, where ``records`` is an older one.
    """

    def __init__(
        self,
        records: RecordSource,
        declared: Declared,
        as_of: datetime | None,
        service: Records,
        newest: Newest | None = None,
    ) -> None:
        self._records = records
        self._declared = declared
        self._as_of = as_of
        self._service = service
        self._newest = newest

    def entry(self, post: Post) -> Verdict:
        """Return what an entry of the state, read with its list item, is to be."""
        verdict = self._service.publication(post, self._declared, self._as_of)
        return verdict if self._newest is None else more_hidden(verdict, self._now(post.id, self._newest))

    def why_hidden(self, cm_id: str, comment: Comment) -> Cause | None:
        """Return why a comment of the state may not be shown; ``None`` when it may."""
        if self._newest is not None:
            raw = self._newest.records.load(Kind.COMMENTS, cm_id)
            if raw is None:
                return Cause(Hidden.REMOVED)
            if self._service.is_visible(comment, self._declared):
                since = self._cause(self._service.comment(raw))
                return None if since is None else replace(since, newest=True)
        return self._cause(comment)

    def _now(self, entry_id: str, newest: Newest) -> Verdict | None:
        raw = newest.records.load(Kind.ENTRIES, entry_id)
        if raw is None:
            return None
        post = self._service.post(raw, newest.records.load(Kind.ENTRY_LIST, entry_id))
        return self._service.publication(post, self._declared, newest.as_of)

    def _cause(self, comment: Comment) -> Cause | None:
        return None if self._service.is_visible(comment, self._declared) else self._service.why_hidden(comment)


_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
_STATUSES: Final = tuple(Status)


class PostComment(NamedTuple):
    """A comment, whether it may be shown, and a moment that no other comment of the export has."""

    comment: Comment
    visible: bool
    when: datetime


@dataclass(frozen=True, slots=True)
class ExportPost:
    """An entry as exports write it.

    Attributes:
        id: its id in the archive.
        record: the entry.
        status: what it is to be in its new home.
        when: its date; where that is impossible, the nearest that is known of it.
        title: its title on one line, without the spaces around it.
        category: the name of its category; empty when unknown.
        comments: those that go with it, in the order of their ids.
    """

    id: str
    record: Post
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
        self._judge = Judge(records, options.declared, options.as_of, options.service, newest)
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

    def __iter__(self) -> Iterator[ExportPost]:
        """Yield the posts in the order of their ids."""
        return (self._load(entry_id, row) for entry_id, row in self._rows.items())

    def by_date(self, *, newest_first: bool = False) -> Iterator[ExportPost]:
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
            post = self._read(entry_id, raw)
            verdict = self._judge.entry(post)
            cause = self._refusal(post, verdict)
            if cause is not None:
                self._report.left("entries", cause, entry_id)
            else:
                self._categories.update(dict.fromkeys(filter(None, [self._category(post)])))
                # Some importers publish what is marked private: whoever asks for drafts gets drafts only.
                status = Status.DRAFT if self._options.declared.all_as_draft else verdict.status
                self._rows[entry_id] = len(self._rows)
                self._statuses.append(_STATUSES.index(status))
                self._moments.append(int(_when(post).timestamp()))
        for entry_id in self.records.ids(Kind.ENTRY_LIST):
            if not self._is_read(entry_id):
                self._report.took("entries")
                self._report.left("entries", Reason.NOT_READ, entry_id)

    def _refusal(self, post: Post, verdict: Verdict) -> Reason | Cause | None:
        """Return why an entry is not part of this export; ``None`` when it is."""
        options = self._options
        side = self._side(verdict)
        if side is not options.side:
            return {Side.PUBLIC: Reason.IN_PUBLIC, Side.DRAFTS: Reason.IN_DRAFTS}.get(side, verdict.cause)
        if options.category is not None and self._category(post) != options.category:
            return Reason.OTHER_CATEGORY
        if options.since is not None or options.until is not None:
            if post.date is None:
                return Reason.NO_DAY
            day = post.date.date()
            if (options.since and day < options.since) or (options.until and day > options.until):
                return Reason.OTHER_DAY
        return None

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
            entry_id = self._options.service.post_id(raw)
            row = self._rows.get(entry_id)
            comment = self._options.service.comment(raw)
            if row is None:
                why = Reason.ENTRY_LEFT_OUT if self._is_read(entry_id) else Reason.ENTRY_UNKNOWN
                self._report.left("comments", why, cm_id)
            elif (cause := self._judge.why_hidden(cm_id, comment)) is not None and not self._keeps(cause):
                self._report.left("comments", cause, cm_id)
            else:
                date = comment.date
                self._threads.add(row, cm_id, self._moments[row] if date is None else int(date.timestamp()))
        self._threads.part()

    def _keeps(self, cause: Cause) -> bool:
        """Tell whether a comment that may not be shown is written unapproved; a removed one is only in the rest."""
        return self._hidden and (cause.reason is not Hidden.REMOVED or self._options.side is Side.REST)

    def _load(self, entry_id: str, row: int) -> ExportPost:
        post = self._read(entry_id, self.records.load(Kind.ENTRIES, entry_id) or {})
        return ExportPost(
            id=entry_id,
            record=post,
            status=_STATUSES[self._statuses[row]],
            when=_when(post).astimezone(self._options.service.timezone),
            title=collapse(post.title),
            category=self._category(post),
            comments=tuple(map(self._comment, self._threads.of(row))),
        )

    def _comment(self, place: Place) -> PostComment:
        comment = self._options.service.comment(self.records.load(Kind.COMMENTS, place.cm_id) or {})
        when = datetime.fromtimestamp(place.second, self._options.service.timezone)
        return PostComment(comment, self._judge.why_hidden(place.cm_id, comment) is None, when)

    def _read(self, entry_id: str, raw: Raw) -> Post:
        """Read an entry with its list item; its id is the archive's, whatever the record says."""
        post = self._options.service.post(raw, self.records.load(Kind.ENTRY_LIST, entry_id))
        return post if post.id == entry_id else replace(post, id=entry_id)

    def _category(self, post: Post) -> str:
        return collapse(post.category or "") or self._names.get(post.category_id, "")

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of categories by their ids, for entries that are in no list; read when first needed.

        Only entries of this side tell names: one that only private entries tell would be theirs.
        """
        names: dict[str, str] = {}
        for entry_id, raw in self.records.scan(Kind.ENTRIES):
            category_id = self._options.service.category_id(raw)
            if category_id is not None and category_id not in names:
                post = self._read(entry_id, raw)
                category = collapse(post.category or "")
                if category and self._side(self._judge.entry(post)) is self._options.side:
                    names[category_id] = category
        return names


def _when(post: Post) -> datetime:
    known = [post.date, post.listed_on, post.updated, post.period_date]
    return next((date for date in known if date is not None), _NO_DATE)
