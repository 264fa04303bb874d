"""The posts in an export: the selected entries, their status, and their comments. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final, NamedTuple

from exporter import text
from exporter.export.comment_index import CommentIndex
from exporter.export.interface import Comments, ExportOptions, RecordSource, Side
from exporter.export.names import Spelling, UniqueNames, address_name
from exporter.export.parts import EVERYTHING, Part
from exporter.export.post_names import held_name, replaced_names, tags_of
from exporter.export.reasons import UNSHOWN, Reason
from exporter.export.report import Report
from exporter.export.threads import threads
from exporter.html.links import absolute, commenter_link, host_of
from exporter.html.text import collapse
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Hidden, PostStatus, Verdict, more_hidden
from exporter.model.records import Audience, Category, Comment, CommentKind, Post, PostKind, Raw
from exporter.service.interface import Records


class Newest(NamedTuple):
    """The newest state, with the time when the blog was read for it."""

    records: RecordSource
    as_of: datetime | None


@dataclass(frozen=True, slots=True)
class Visibility:
    """Decides which entries and comments of a state are public.

    Attributes:
        declared: the owner's declarations about the flags.
        as_of: when the blog was read for that state; an entry dated later was not shown yet.
        service: reads the records.
        newest: the newest state, if the state is an older one: entries hidden or removed since are not public.
    """

    declared: Declared
    as_of: datetime | None
    service: Records
    newest: Newest | None = None

    def entry(self, post: Post) -> Verdict:
        """Return the status for an entry, read together with its list item."""
        then = self.service.publication(post, self.declared, self.as_of)
        if self.newest is None:
            return then
        raw = self.newest.records.load(Kind.ENTRIES, post.id)
        if raw is None:
            return more_hidden(then, None)
        now = self.service.post(raw, self.newest.records.load(Kind.ENTRY_LIST, post.id))
        return more_hidden(then, self.service.publication(now, self.declared, self.newest.as_of))

    def why_hidden(self, comment_id: str, comment: Comment) -> Cause | None:
        """Return why a comment of the state may not be shown; ``None`` if it may."""
        if self.newest is None:
            return self._cause(comment)
        raw = self.newest.records.load(Kind.COMMENTS, comment_id)
        if raw is None:
            return Cause(Hidden.REMOVED)
        then = self._cause(comment)
        if then is not None:
            return then
        now = self._cause(self.service.comment(raw))
        return None if now is None else replace(now, newest=True)

    def _cause(self, comment: Comment) -> Cause | None:
        if self.service.is_visible(comment, self.declared):
            return None
        cause = self.service.why_hidden(comment)
        by_flag = cause.reason is Hidden.COMMENT and cause.field == self.service.deleted_flag
        is_undeclared = by_flag and self.service.has_undeclared_comments(self.declared)
        return replace(cause, reason=Hidden.UNDECLARED) if is_undeclared else cause


_MAX_NAMED_PARTS: Final = 100
"""Names of shortcodes, blocks and patterns in one report; the others share a row."""
_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)


class _Row(NamedTuple):
    """The facts held for each post: its status, its date in seconds since 1970, and its name in addresses."""

    status: PostStatus
    second: int
    name: str


class PostComment(NamedTuple):
    """A comment as exports write it.

    Attributes:
        comment: the comment.
        visible: whether it may be shown.
        when: a time that is unique in the export.
        parent: the id of the comment that it answers; empty if that is not exported.
    """

    comment: Comment
    visible: bool
    when: datetime
    parent: str = ""


class ThreadedPostComment(NamedTuple):
    """A comment in its thread: its level, 0 for an answer to the post, and the comment that it answers."""

    found: PostComment
    level: int
    answers: Comment | None


@dataclass(frozen=True, slots=True)
class ExportPost:
    """An entry as exports write it.

    Attributes:
        id: its id in the archive.
        record: the entry.
        status: its status in the new home.
        when: its date; if that is impossible, the nearest known date.
        title: its title on one line, without the spaces around it.
        category: the name of its first category; empty if unknown.
        comments: those that go with it, in the order of their ids.
        categories: all its categories without duplicates, each name on one line.
        tags: its tags without duplicates, each on one line.
        author: its writer's name on one line; empty if the service names none.
    """

    id: str
    record: Post
    status: PostStatus
    when: datetime
    title: str
    category: str
    comments: tuple[PostComment, ...]
    categories: tuple[Category, ...] = ()
    tags: tuple[str, ...] = ()
    author: str = ""

    @property
    def page(self) -> bool:
        """Whether it is a page and not a post."""
        return self.record.kind is PostKind.PAGE

    def threads(self) -> list[ThreadedPostComment]:
        """Return the comments in the order of reading: each one, then the answers to it."""
        found = {each.comment.id: each for each in self.comments}
        return [
            ThreadedPostComment(found[comment.id], level, answers)
            for comment, level, answers in threads([each.comment for each in self.comments])
        ]

    @property
    def terms(self) -> list[str]:
        """The names of its categories and tags without duplicates, for formats that have only one kind of them."""
        return list(dict.fromkeys([*(category.name for category in self.categories), *self.tags]))

    @property
    def public(self) -> bool:
        """Whether it will be published in the new home."""
        return self.status is PostStatus.PUBLISH


def shown_path(category: Category) -> str:
    """Return a category's name behind those of its parents."""
    return " > ".join([*category.parents, category.name])


def comment_record(entry_id: str, found: PostComment) -> dict[str, Any]:
    """Return a comment on an entry as a flat, typed object; never with its writer's mail address."""
    comment = found.comment
    return {
        "cm_id": comment.id,
        "entry_id": entry_id,
        "date": None if comment.date is None else comment.date.isoformat(),
        "name": comment.name,
        "title": comment.title,
        "text": comment.text,
        "url": commenter_link(comment.url),
        "visible": found.visible,
        "parent": found.parent or None,
        "kind": str(comment.kind),
        "comment_status": None if comment.status is None else str(comment.status),
        "by_owner": comment.by_owner,
    }


class Posts:
    """The posts on one side, read one at a time; memory holds their ids, status, moments, and comment ids.

    Args:
        records: the state of the archive.
        options: the options of the export.
        report: records the posts, and the reasons for those left out.
        holds_back: whether the target can keep a comment unapproved.
        newest: the newest state, if ``records`` is an older one: nothing hidden or removed since is public.
        spelling: how the target spells the names of posts in addresses, if it uses them.
        holds: the parts that the format holds; the report counts the others.

    Attributes:
        mails: the number of comments of these posts with the mail address of their writer; 0 if an option leaves the
            addresses out.
    """

    def __init__(
        self,
        records: RecordSource,
        options: ExportOptions,
        report: Report,
        *,
        holds_back: bool = False,
        newest: Newest | None = None,
        spelling: Spelling | None = None,
        holds: Collection[Part] = EVERYTHING,
    ) -> None:
        self.records = records
        self.blog_id = records.blog_id
        self.title = collapse(options.title) or records.blog_id
        self.options = options
        self.report = report
        self._service = options.service
        self._visibility = Visibility(options.declared, options.as_of, options.service, newest)
        self._hidden = holds_back and (options.hidden_comments or options.side is Side.REST)
        self._with_comments = options.comments in {None, Comments.BODY}
        self.holds = holds
        self._categories: dict[str, Category] = {}
        self._tree: dict[tuple[str, ...], Category] = {}
        self._tags: dict[str, None] = {}
        self._authors: dict[str, None] = {}
        self._rows: dict[str, _Row] = {}
        self._permalinks: dict[str, str] = {}
        self._spell = None if spelling is None else UniqueNames(spelling).fit
        self._choose()
        report.old_hosts = _old_hosts(records, options) | {host_of(url) for url in self._permalinks.values()}
        for name in self._categories:
            report.category(name)
        self._unshown: set[str] = set()
        self._comments = CommentIndex()
        self.mails = 0
        self._index_comments()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._rows

    def __iter__(self) -> Iterator[ExportPost]:
        """Yield the posts in the order of their ids."""
        return map(self.post, self._rows)

    def by_date(self, *, newest_first: bool = False) -> Iterator[ExportPost]:
        """Yield the posts in the order of their dates, then of their ids."""
        ordered = sorted(self._rows, key=lambda entry_id: self._rows[entry_id].second)
        return map(self.post, reversed(ordered) if newest_first else ordered)

    def ids(self) -> list[str]:
        """Return the ids of the posts in their order."""
        return list(self._rows)

    def permalinks(self) -> Mapping[str, str]:
        """Return the addresses that entries state, by the ids of these, also for entries outside of this export."""
        return self._permalinks

    def categories(self) -> list[str]:
        """Return the distinct names of the posts' categories in the order of the posts."""
        return list(dict.fromkeys(category.name for category in self._categories.values()))

    def category_tree(self) -> list[Category]:
        """Return the posts' categories and those above them, each once and after its parents."""
        return list(self._tree.values())

    def tags(self) -> list[str]:
        """Return the distinct tags in the order of the posts."""
        return list(self._tags)

    def authors(self) -> list[str]:
        """Return the distinct names of writers; an empty one stands for posts that state none."""
        return list(self._authors)

    def wrote(self, post: ExportPost, comments: int | None = None, *, body: bool = True) -> None:
        """Report a post that a file contains, and its parts that the format does not hold.

        Args:
            post: the post.
            comments: how many of its comments the file contains; by default all.
            body: whether the file contains its body as the archive has it.
        """
        if body:
            self.name_losses(post, comments=comments != 0)
        self.report.wrote(len(post.comments) if comments is None else comments, *map(shown_path, post.categories))
        for kind, part, record_id, times in _parts(post, comments=comments != 0):
            if part not in self.holds:
                self.report.changed(kind, Cause(Reason.NOT_HELD, part), record_id, times)
        is_cut = any(len(category.parents) > _MAX_PARENTS for category in post.record.categories)
        if is_cut and Part.PARENTS in self.holds:
            self.report.changed("entries", Cause(Reason.NOT_HELD, Part.PARENTS), post.id)
        for found in post.comments if comments != 0 and Part.THREADS in self.holds else ():
            if found.comment.parent != found.parent:
                self.report.changed("comments", Reason.ANSWERED_LEFT_OUT, found.comment.id)

    def name_losses(self, post: ExportPost, *, comments: bool = True) -> None:
        """Report the parts of a post and its comments that no format holds, and those that its record cannot show."""
        self.report.changed("entries", Reason.NOT_IN_TEXT, post.id, replaced_names(post.record))
        lost = Cause(Reason.NOT_HELD, Part.FIELDS)
        self.report.changed("entries", lost, post.id, self._service.extras(Kind.ENTRIES, post.record.raw))
        for found in post.comments if comments else ():
            raw = found.comment.raw
            self.report.changed("comments", lost, found.comment.id, self._service.extras(Kind.COMMENTS, raw))
        if post.record.template.strip():
            self.report.changed("entries", Cause(Reason.NOT_HELD, Part.TEMPLATE), post.id)
        for each in post.record.unshown:
            name = each.name if each.name in self._unshown or len(self._unshown) < _MAX_NAMED_PARTS else "…"
            self._unshown.add(name)
            self.report.limit(Cause(UNSHOWN[each.lack], value=name), post.id)

    def post(self, entry_id: str) -> ExportPost:
        """Return a post of this export."""
        post = self._read(entry_id, self.records.load(Kind.ENTRIES, entry_id) or {})
        categories = self._categories_of(post)
        return ExportPost(
            id=entry_id,
            record=post,
            status=self._rows[entry_id].status,
            when=_when(post).astimezone(self._service.timezone),
            title=collapse(post.title),
            category=categories[0].name if categories else "",
            comments=self._comments_on(entry_id) if self._with_comments else (),
            categories=categories,
            tags=tags_of(post),
            author=held_name(post.author),
        )

    def name(self, entry_id: str) -> str:
        """Return a post's unique name in addresses, the same for every writer of this export."""
        return self._rows[entry_id].name

    @cached_property
    def author(self) -> str:
        """The user's name, or the blog's id if the name is unknown."""
        users = (self._service.user(raw) for _, raw in self.records.scan(Kind.USER))
        return next((user.name for user in users if user.name), self.blog_id)

    def commented(self) -> Iterator[ExportPost]:
        """Yield the posts that have comments together with these, even if the posts are exported without comments."""
        for entry_id in self._rows:
            comments = self._comments_on(entry_id)
            if comments:
                yield replace(self.post(entry_id), comments=comments)

    def each_comment(self) -> Iterator[tuple[str, PostComment]]:
        """Yield all comments in the order of their posts, each with its post's id; the posts are not read again."""
        for entry_id in self._rows if self._with_comments else ():
            for found in self._comments_on(entry_id):
                yield entry_id, found

    def leave_comments(self, post: ExportPost, why: Reason) -> None:
        """Report that the comments of a post are in no file."""
        for each in post.comments:
            self.report.left("comments", why, each.comment.id)

    def newest(self) -> datetime:
        """Return when the blog was read, or the newest post's date: the export's own date."""
        latest = max((row.second for row in self._rows.values()), default=0)
        return self.options.as_of or datetime.fromtimestamp(latest, UTC)

    def _choose(self) -> None:
        for entry_id, raw in self.records.scan(Kind.ENTRIES):
            self.report.took("entries")
            post = self._read(entry_id, raw)
            address = absolute(post.permalink, f"https://{self.blog_id}/") if post.permalink else None
            if address is not None:
                self._permalinks[entry_id] = address
            verdict = self._visibility.entry(post)
            unwanted = self._unwanted(post)
            cause = unwanted or self._refusal(verdict)
            if cause is not None:
                self.report.left("entries", cause, entry_id)
                if self.report.both and unwanted is None:
                    self.report.elsewhere["entries"].add(entry_id)
            else:
                self._note_terms(post)
                # Some importers publish posts marked private, so an export as drafts contains only drafts.
                status = PostStatus.DRAFT if self.options.declared.all_as_draft else verdict.status
                name = "" if self._spell is None else self._spell(address_name(post), entry_id)
                self._rows[entry_id] = _Row(status, int(_when(post).timestamp()), name)
        for entry_id in self.records.ids(Kind.ENTRY_LIST):
            if not self._is_read(entry_id):
                self.report.took("entries")
                self.report.left("entries", Reason.NOT_READ, entry_id)

    def _refusal(self, verdict: Verdict) -> Reason | Cause | None:
        """Return why an entry is not of this export's side; ``None`` if it is."""
        side = self._side(verdict)
        if side is self.options.side:
            return None
        return {Side.PUBLIC: Reason.IN_PUBLIC, Side.DRAFTS: Reason.IN_DRAFTS}.get(side, verdict.cause)

    def _unwanted(self, post: Post) -> Reason | None:
        """Return which option leaves an entry out of all sides; ``None`` if none does."""
        options = self.options
        if options.category is not None and options.category not in {each.name for each in self._categories_of(post)}:
            return Reason.OTHER_CATEGORY
        if options.tag is not None and options.tag not in tags_of(post):
            return Reason.OTHER_TAG
        if options.since is not None or options.until is not None:
            if post.date is None:
                return Reason.NO_DAY
            day = post.date.date()
            if (options.since and day < options.since) or (options.until and day > options.until):
                return Reason.OTHER_DAY
        return None

    def _side(self, verdict: Verdict) -> Side:
        if verdict.status is PostStatus.PUBLISH:
            return Side.PUBLIC
        return Side.DRAFTS if self.options.declared.all_as_draft and verdict.status is PostStatus.DRAFT else Side.REST

    def _is_read(self, entry_id: str) -> bool:
        return self.records.identity(Kind.ENTRIES, entry_id) is not None

    def _index_comments(self) -> None:
        """Find each post's comments."""
        for comment_id, raw in self.records.scan(Kind.COMMENTS):
            self.report.took("comments")
            entry_id = self._service.post_id(raw)
            row = self._rows.get(entry_id)
            if row is None:
                why = Reason.ENTRY_LEFT_OUT if self._is_read(entry_id) else Reason.ENTRY_UNKNOWN
                self.report.left("comments", why, comment_id)
                if entry_id in self.report.elsewhere["entries"]:
                    self.report.elsewhere["comments"].add(comment_id)
                continue
            comment = self._service.comment(raw)
            if (cause := self._visibility.why_hidden(comment_id, comment)) is not None and not self._keeps(cause):
                self.report.left("comments", cause, comment_id)
            elif self.options.comments is Comments.NONE:
                self.report.left("comments", Reason.COMMENTS_UNWANTED, comment_id)
            else:
                self._comments.add(entry_id, comment_id, _second_of(comment, row.second))
                if comment.email and self.options.without_addresses:
                    self.report.changed("comments", Reason.MAIL_LEFT_OUT, comment_id)
                elif comment.email:
                    self.mails += 1
        self._comments.finish()

    def _keeps(self, cause: Cause) -> bool:
        """Return whether a hidden comment is written unapproved; removed ones only in the private export."""
        return self._hidden and (cause.reason is not Hidden.REMOVED or self.options.side is Side.REST)

    def _comments_on(self, entry_id: str) -> tuple[PostComment, ...]:
        found = []
        for comment_id, second in self._comments.of(entry_id):
            comment = self._service.comment(self.records.load(Kind.COMMENTS, comment_id) or {})
            is_visible = self._visibility.why_hidden(comment_id, comment) is None
            if self.options.without_addresses:
                comment = replace(comment, email="")
            found.append(PostComment(comment, is_visible, datetime.fromtimestamp(second, self._service.timezone)))
        if any(each.comment.parent for each in found):
            ids = {each.comment.id for each in found}
            found = [each._replace(parent=each.comment.parent if each.comment.parent in ids else "") for each in found]
        return tuple(found)

    def _read(self, entry_id: str, raw: Raw) -> Post:
        """Read an entry with its list item; the archive's id replaces the one in the record."""
        post = self._service.post(raw, self.records.load(Kind.ENTRY_LIST, entry_id))
        return post if post.id == entry_id else replace(post, id=entry_id)

    def _note_terms(self, post: Post) -> None:
        """Note the categories, tags and the author of a post of this export."""
        for category in self._categories_of(post):
            self._categories.setdefault(shown_path(category), category)
            path = (*category.parents, category.name)
            for length in range(1, len(path)):
                self._tree.setdefault(path[:length], Category(path[length - 1], path[: length - 1]))
            if not self._tree.setdefault(path, category).slug and category.slug:
                self._tree[path] = category
        self._tags.update(dict.fromkeys(tags_of(post)))
        self._authors[held_name(post.author)] = None

    def _categories_of(self, post: Post) -> tuple[Category, ...]:
        if not post.categories:
            name = held_name(post.category or "") or self._names.get(post.category_id, "")
            return (Category(name),) if name else ()
        found: dict[tuple[str, ...], Category] = {}
        for category in post.categories:
            name = held_name(category.name)
            parents = tuple(filter(None, map(held_name, category.parents[-_MAX_PARENTS:])))
            if name:
                found.setdefault((*parents, name), Category(name, parents, category.slug))
        return tuple(found.values())

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of categories by their ids, for entries that are in no list; read when first needed.

        Only entries of this side are read: a name that only private entries use must stay private.
        """
        names: dict[str, str] = {}
        for entry_id, raw in self.records.scan(Kind.ENTRIES):
            category_id = self._service.category_id(raw)
            if category_id is not None and category_id not in names:
                post = self._read(entry_id, raw)
                category = held_name(post.category or "")
                if category and self._side(self._visibility.entry(post)) is self.options.side:
                    names[category_id] = category
        return names


_MAX_PARENTS: Final = 20
"""Deeper categories keep the innermost ones."""


_LIMITED: Final = {
    Audience.SCHEDULED: Part.SCHEDULED,
    Audience.MEMBERS: Part.MEMBERS,
    Audience.PASSWORD: Part.PASSWORD,
}


def _parts(post: ExportPost, *, comments: bool) -> Iterator[tuple[str, Part, str, int]]:
    """Yield the kind of record, the part, the record's id and the number of values, for each part that a post has."""
    entry = post.record
    has = {
        Part.PARENTS: sum(bool(category.parents) for category in post.categories),
        Part.TAGS: len(post.tags),
        Part.AUTHOR: bool(post.author),
        Part.EXCERPT: bool(entry.excerpt.strip()),
        Part.FEATURED: bool(entry.featured),
        Part.ADDRESS: bool(entry.permalink),
        Part.PAGE: post.page,
    }
    if entry.audience in _LIMITED:
        has[_LIMITED[entry.audience]] = True
    yield from (("entries", part, post.id, int(times)) for part, times in has.items() if times)
    for found in post.comments if comments else ():
        comment = found.comment
        of_comment = {
            Part.THREADS: bool(comment.parent),
            Part.NOTICES: comment.kind is not CommentKind.COMMENT,
            Part.EMAIL: bool(comment.email),
            Part.OWNER: bool(comment.by_owner),
        }
        yield from (("comments", part, comment.id, 1) for part in of_comment if of_comment[part])


def _second_of(comment: Comment, post_second: int) -> int:
    """Return a comment's time in seconds since 1970; one with only a day follows a post of that day."""
    if comment.date is None:
        return post_second
    second = int(comment.date.timestamp())
    if comment.has_time:
        return second
    last = int((comment.date + timedelta(days=1)).timestamp()) - 1
    return min(post_second + 1, last) if second <= post_second <= last else second


def _when(post: Post) -> datetime:
    known = [post.date, post.listed_on, post.updated, post.period_date]
    return next((date for date in known if date is not None), _NO_DATE)


def _old_hosts(records: RecordSource, options: ExportOptions) -> frozenset[str]:
    """Return the hosts that close with the blog: its own, those of its addresses and of its uploaded files."""
    own = (records.blog_id, *records.names)
    hosts = {host_of(f"https://{name}/") for name in own} | {host_of(pattern.text) for pattern in options.old_urls}
    for _, raw in records.scan(Kind.ASSETS):
        asset = Asset.from_raw(raw)
        if asset.ids("file"):
            hosts.add(host_of(asset.url))
    return frozenset(hosts - {""})


_SAMPLES_PER_COMBINATION: Final = 3
_SAMPLE_CHARACTERS: Final = 60


@dataclass(slots=True)
class Combination:
    """Records with the same flags.

    Attributes:
        flags: the values as sent; ``None`` also for a missing flag.
        count: how many records have them.
        samples: the titles or texts of a few.
        first: the id of the first of them.
    """

    flags: dict[str, Any]
    count: int = 0
    samples: list[str] = field(default_factory=list)
    first: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {**self.flags, "count": self.count, "samples": self.samples}


def entry_combinations(records: RecordSource, service: Records) -> list[Combination]:
    """Return the combinations of flags among entries, with the most frequent first."""
    return _combinations(records, service, Kind.ENTRIES, service.post_flags, lambda raw: service.post(raw).title)


def comment_combinations(records: RecordSource, service: Records) -> list[Combination]:
    """Return the values of the flag among comments, with the most frequent first."""
    return _combinations(records, service, Kind.COMMENTS, service.comment_flags, lambda raw: service.comment(raw).text)


def occurring(
    records: RecordSource, service: Records, kind: Kind, flag: str, enough: frozenset[str] = frozenset()
) -> Counter[str]:
    """Count the records by the value of a flag, as settings write it; values other than text and numbers are ignored.

    Args:
        records: the state.
        service: reads the records.
        kind: the records.
        flag: the name of the field.
        enough: values; the count ends when all of them were found.
    """
    found: Counter[str] = Counter()
    for _, raw in records.scan(kind):
        value = service.flags(raw).get(flag)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            found[str(value)] += 1
        elif isinstance(value, bool) and flag != service.access_flag:
            found["t" if value else "f"] += 1
        if enough and enough <= set(found):
            break
    return found


def _combinations(
    records: RecordSource, service: Records, kind: Kind, names: tuple[str, ...], sample: Callable[[Raw], str]
) -> list[Combination]:
    found: dict[tuple[str, ...], Combination] = {}
    for record_id, raw in records.scan(kind):
        stated = service.flags(raw)
        flags = {name: _flag_value(stated.get(name)) for name in names}
        key = tuple(repr(value) for value in flags.values())
        combination = found.setdefault(key, Combination(flags, first=record_id))
        combination.count += 1
        if len(combination.samples) < _SAMPLES_PER_COMBINATION:
            shown = collapse(sample(raw)[: 4 * _SAMPLE_CHARACTERS])[:_SAMPLE_CHARACTERS]
            combination.samples.append(shown or f"({record_id})")
    return sorted(found.values(), key=lambda one: (-one.count, repr(one.flags)))


def flag_lines(
    records: RecordSource,
    service: Records,
    entries: str = "entries",
    comments: str = "comments",
    such_as: str = "such as",
) -> Iterator[str]:
    """Yield the table people read, with its headings; its untrusted text is not made printable yet."""
    yield from _flag_table(entries, service.post_flags, such_as, entry_combinations(records, service))
    yield ""
    yield from _flag_table(comments, service.comment_flags, such_as, comment_combinations(records, service))


def _flag_table(heading: str, names: tuple[str, ...], such_as: str, found: list[Combination]) -> Iterator[str]:
    yield f"{text.right(heading, 9)}  {' '.join(f'{name:<10}' for name in names)} {such_as}"
    for one in found:
        values = " ".join(f"{_flag_text(value):<10}" for value in one.flags.values())
        yield f"{one.count:>9,}  {values} {' / '.join(one.samples)}"


def _flag_value(value: Any) -> Any:
    return value if isinstance(value, str | int | bool | None) else "(no text)"


def _flag_text(value: Any) -> str:
    return "-" if value is None else str(value)
