"""The wanted content of a WordPress: for each entry the fields of its post, its comments and its pictures. Pure.

The exports decide which entries are public and how names and texts change, so that a moved blog equals an imported one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from exporter import lossless_json
from exporter.export import importer_rules
from exporter.export.comment_order import NoParent, Threaded, threaded
from exporter.export.interface import Side
from exporter.export.media import Media, PostPicture
from exporter.export.parts import Part
from exporter.export.post_html import as_html, cleaned, report_bodies
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.reasons import Reason, why_not_saved
from exporter.export.report import Report
from exporter.html.embedded import Use, embedded, rewrite_addresses
from exporter.html.links import host_of
from exporter.html.ready import ready
from exporter.html.text import collapse
from exporter.html.wordpress import Kept, without_pings
from exporter.model.publication import Cause, PostStatus
from exporter.model.records import Audience, CommentKind, CommentStatus, Post, PostKind
from exporter.move.home import WIDE, comment_address, comment_agent, mark, post_key
from exporter.move.terms import Path, PlannedTerm, paths_of, planned_categories, planned_tags, slugs_of, tags_of

STATUS: Final = {PostStatus.PUBLISH: "publish", PostStatus.DRAFT: "draft", PostStatus.PRIVATE: "private"}
SCHEDULED: Final = "future"
_DIGEST_DIGITS: Final = 16
NOBODY: Final = "Anonymous"
"""WordPress' word for a commenter without a name. It refuses an empty one."""

_UNKNOWN_ADDRESS: Final = "127.0.0.1"
"""WordPress' value for an unknown IP address. Without it, it would record the address of this machine."""

_SCHEDULE_MARGIN: Final = timedelta(hours=1)
"""WordPress publishes a post at once if its date has passed. So a post whose date is closer stays a draft."""

_MAIL_CHARACTERS: Final = 100
_MAIL: Final = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_{|}~-]+)*"
    r"@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]",
    re.IGNORECASE,
)
"""The e-mail addresses that WordPress accepts for certain (``is_email``)."""

Place = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Placed:
    """The records of the new home that posts refer to.

    Attributes:
        pictures: the addresses of pictures, by SHA-256.
        files: the numbers of pictures, by SHA-256.
        posts: the addresses of posts, by the ids of their entries.
        categories: the numbers of categories, by path.
        tags: the numbers of tags, by name.
        authors: the numbers of users, by name.
    """

    pictures: dict[str, str] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    posts: dict[str, str] = field(default_factory=dict)
    categories: dict[Path, int] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    authors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedPost:
    """An entry that becomes a post or a page.

    Attributes:
        post: the entry.
        key: identifies it in the new home.
        slug: its name in addresses.
    """

    post: ExportPost
    key: str
    slug: str

    @property
    def title(self) -> str:
        """Its title, without characters that no home takes."""
        return cleaned(self.post.title).text

    @property
    def html_title(self) -> str:
        """Its title as HTML, as WordPress stores it."""
        return importer_rules.stored_name(self.post.title)

    @property
    def when(self) -> str:
        """Its date in the form of the REST API."""
        return gmt(self.post.when)

    @property
    def page(self) -> bool:
        """Whether it becomes a page."""
        return self.post.record.kind is PostKind.PAGE


class Plan:
    """One side's posts in the form to send to WordPress. Iterate over it again and again.

    Args:
        posts: the entries; WordPress' rules make their names in addresses.
        report: gets each change that was necessary, once.

    Attributes:
        blog_id: the blog.
        now: the time of day in the new home; scheduled posts before it become drafts, and all do if it is ``None``.
        public: whether all posts are public.
        private: whether all posts stay private or drafts; a person may publish other drafts in the new home.
        categories: the categories by their paths, each after the one above it.
        tags: the tags by their names.
        authors: the names of the authors of the entries.
        pictures: the pictures to upload, by SHA-256.
        shown_in: the ids of the entries that show each of these pictures.
        linked: the number of links from public posts, by host.
        comments: the number of comments.
        mails: the number of these with the mail address of their writer, which hidden ones do not get.
        scheduled: whether WordPress may publish one of the posts at its date.
    """

    def __init__(self, posts: Posts, report: Report) -> None:
        self.blog_id = posts.blog_id
        self.public = posts.options.side is Side.PUBLIC
        self.private = posts.options.side is Side.REST
        self._posts = posts
        self._report = report
        self.now: datetime | None = None
        self._entry_at: Place = lambda _: None
        self._media = Media(posts, self._new_home)
        self.authors: set[str] = set()
        self.pictures: dict[str, PostPicture] = {}
        self.shown_in: dict[str, list[str]] = {}
        self.linked: Counter[str] = Counter()
        self.comments = 0
        self.mails = 0
        self.scheduled = False
        paths: dict[Path, None] = {}
        has_parents = False
        slugs: dict[Path, str] = {}
        tags: dict[str, None] = {}
        for post in posts:
            self.comments += len(post.comments)
            self.mails += sum(each.visible and _is_mail(each.comment.email) for each in post.comments)
            self.authors |= {_author(post)} - {""}
            self.scheduled = self.scheduled or self.is_scheduled(post)
            tags |= dict.fromkeys(tags_of(post))
            paths |= dict.fromkeys(paths_of(post))
            slugs.update(slugs_of(post.record))
            has_parents = has_parents or bool(post.record.categories)
            if self.public:
                self.linked.update(filter(None, map(host_of, _links(post))))
            for picture in self._pictures(post):
                if picture.source is not None and picture.asset.sha256 is not None:
                    self.pictures.setdefault(picture.asset.sha256, picture)
                    self.shown_in.setdefault(picture.asset.sha256, []).append(post.id)
        self.categories = (
            planned_categories([], paths, slugs) if has_parents else planned_categories(posts.categories(), [], {})
        )
        self.tags = planned_tags(tags)

    def __len__(self) -> int:
        return len(self._posts)

    def __iter__(self) -> Iterator[PlannedPost]:
        for post in self._posts:
            yield PlannedPost(post, post_key(self.blog_id, post.id), unquote(self._posts.name(post.id)))

    def post_keys(self) -> Iterator[str]:
        """Yield the keys of all posts."""
        return (post_key(self.blog_id, entry_id) for entry_id in self._posts.ids())

    def terms(self) -> Iterator[PlannedTerm]:
        """Yield all categories and tags."""
        yield from self.categories.values()
        yield from self.tags.values()

    def _featured(self, post: ExportPost) -> PostPicture | None:
        """Return the featured picture of a post; ``None`` if it has none or the archive knows nothing about it."""
        return self._media.find(post.record.featured) if post.record.featured else None

    def _pictures(self, post: ExportPost) -> list[PostPicture]:
        featured, shown = self._featured(post), self._media.pictures(post)
        return [*shown, featured] if featured is not None and featured not in shown else shown

    def account(self, post: ExportPost, placed: Placed, comments: int) -> None:
        """Report the outcome for an entry that has a post in the new home.

        ``comments`` is the number of its comments there.
        """
        names = {each.name for each in self._media.pictures(post) if each.asset.sha256 in placed.pictures}
        self._media.account(post, Reason.NOT_TAKEN, written=names, home=placed.posts.get)
        report_bodies(post, self._report, bodies=False)
        self._report.changed("entries", Reason.NOT_IN_IMPORTS, post.id, _unclean(post))
        if any(map(importer_rules.is_term_cut, post.terms)):
            cut = Reason.CATEGORY_CUT.at(importer_rules.CATEGORY_CHARACTERS)
            self._report.changed("entries", cut, post.id)
        for reason in self._changes(post, placed):
            self._report.changed("entries", reason, post.id)
        self._posts.name_losses(post, comments=comments != 0)
        self._report.wrote(comments, post.category)

    def _changes(self, post: ExportPost, placed: Placed) -> Iterator[Reason]:
        """Yield the reasons why a post arrives incomplete, and report its featured picture."""
        record = post.record
        if record.audience is Audience.PASSWORD:
            yield Reason.PASSWORD_UNKNOWN
        if record.audience is Audience.MEMBERS:
            yield Reason.MEMBERS_PRIVATE
        if self.is_scheduled(post) and self.status(post) != SCHEDULED:
            yield Reason.SCHEDULE_PASSED
        author = _author(post)
        if author and author not in placed.authors:
            yield Reason.AUTHOR_UNKNOWN
        if record.kind is PostKind.PAGE and (record.categories or record.tags):
            yield Reason.PAGE_WITHOUT_TERMS
        if record.featured:
            featured = self._featured(post)
            sha256 = None if featured is None or featured.source is None else featured.asset.sha256
            why = why_not_saved(None if featured is None else featured.asset) if sha256 is None else None
            why = Reason.NOT_TAKEN if why is None and sha256 not in placed.pictures else why
            self._report.picture(record.featured if featured is None else featured.asset.url, why)
            if why is not None:
                yield Reason.FEATURED_LOST

    def leave(self, post: ExportPost, why: Reason) -> None:
        """Report an entry without a post in the new home, and the reason."""
        self._report.left("entries", why, post.id)
        for each in post.comments:
            self._report.left("comments", Reason.ENTRY_LEFT_OUT, each.comment.id)

    def fields(self, planned: PlannedPost, placed: Placed) -> Fields:
        """Return the final fields of a post, given the records that it refers to."""
        post = planned.post
        fixed = {
            "title": planned.html_title,
            "date_gmt": planned.when,
            "status": self.status(post),
            "comment_status": "open" if post.record.comments_open else "closed",
            "ping_status": "open" if post.record.pings_open else "closed",
        }
        # The digest ignores addresses of the new home, whose changes need no update.
        plain = self._content(
            post,
            lambda sha256: f"file:{sha256}" if sha256 in placed.pictures else None,
            lambda entry_id: f"entry:{entry_id}" if entry_id in placed.posts else None,
        )
        wide = self._wide(post, placed) if is_wide(post.record) else None
        if wide is None:
            said = {**fixed, "content": plain.text, "category": post.category}
            digest = _digest(said)
        else:
            # The status of a scheduled post changes when its date has passed.
            status = SCHEDULED if self.is_scheduled(post) else fixed["status"]
            digest = WIDE + _digest({**fixed, "status": status, "content": plain.text, **wide.said})
        shown = self._content(post, placed.pictures.get, placed.posts.get)
        self._report.changed("entries", Reason.COMMANDS_DEFUSED, post.id, shown.commands)
        paths = paths_of(post)
        terms = {"categories": [placed.categories[path] for path in paths if path in placed.categories]}
        return Fields(
            digest,
            {
                **fixed,
                "content": f"{without_pings(shown.text)}\n\n{mark(planned.key, digest)}",
                **({} if planned.page else terms),
                **({} if wide is None else wide.values),
            },
        )

    def _wide(self, post: ExportPost, placed: Placed) -> _WideFields:
        """Return the fields that only some services have."""
        record = post.record
        excerpt = cleaned(rewrite_addresses(record.excerpt, lambda address: self._at(address, placed))).text
        tags = [tag for tag in tags_of(post) if tag in placed.tags]
        featured = self._featured(post)
        sha256 = "" if featured is None else featured.asset.sha256 or ""
        author = placed.authors.get(_author(post))
        said = {
            "kind": str(record.kind),
            "categories": [list(path) for path in paths_of(post) if path in placed.categories],
            "tags": tags,
            "excerpt": cleaned(record.excerpt).text,
            "featured": sha256 if sha256 in placed.pictures else "",
            "author": _author(post) if author is not None else "",
        }
        values = {
            "excerpt": excerpt,
            "featured_media": placed.files.get(sha256, 0),
            **({} if record.kind is PostKind.PAGE else {"tags": [placed.tags[tag] for tag in tags]}),
            **({} if author is None else {"author": author}),
        }
        return _WideFields(said, values)

    def _at(self, address: str, placed: Placed) -> str | None:
        picture = self._media.find(address)
        if picture is not None:
            return placed.pictures.get(picture.asset.sha256 or "")
        self._entry_at = placed.posts.get
        return self._media.new_home(address)

    def status(self, post: ExportPost) -> str:
        """Return WordPress' word for who may see a post."""
        if self.is_scheduled(post) and self.now is not None and post.when > self.now + _SCHEDULE_MARGIN:
            return SCHEDULED
        return STATUS[post.status]

    def may_be_published(self, post: ExportPost) -> bool:
        """Return whether everybody may see a post: it is public, or was scheduled and its date has passed."""
        return self.public or (self.is_scheduled(post) and self.now is not None and post.when <= self.now)

    def is_scheduled(self, post: ExportPost) -> bool:
        """Return whether WordPress may publish a post at its date."""
        scheduled = post.record.audience is Audience.SCHEDULED and post.record.date is not None
        return scheduled and post.status is PostStatus.DRAFT and not self._posts.options.declared.all_as_draft

    def _content(self, post: ExportPost, picture_at: Place, entry_at: Place) -> Kept:
        self._entry_at = entry_at

        def resolve(address: str) -> str | None:
            picture = self._media.find(address)
            return self._media.new_home(address) if picture is None else picture_at(picture.asset.sha256 or "")

        style = self._posts.options.body_style
        body, more = (
            importer_rules.styled(cleaned(rewrite_addresses(as_html(ready(text)), resolve)).text, style)
            for text in (post.record.body, post.record.more)
        )
        lead = collapse(post.record.more_title)
        text = importer_rules.joined(body.text, more.text, lead, style) if more.text or lead else body.text
        return Kept(text, body.commands + more.commands)

    def _new_home(self, entry_id: str) -> str | None:
        return self._entry_at(entry_id)

    def thread(self, planned: PlannedPost) -> Iterator[PlannedComment]:
        """Yield a post's comments, each after the one that it answers, and report answers to missing comments."""
        seen: set[tuple[str, str, str]] = set()
        for each in threaded(planned.post.comments):
            comment = each.comment.comment
            said = comment.name, comment.email.lower(), comment.text
            # WordPress refuses a second comment with the same writer, address and text.
            mail = comment.email if each.comment.visible and said not in seen and _is_mail(comment.email) else ""
            seen.add(said)
            if each.lost is not None:
                reason = Reason.THREAD_LOOP if each.lost is NoParent.LOOP else Reason.THREAD_BROKEN
                self._report.changed("comments", reason, comment.id)
            if comment.kind is not CommentKind.COMMENT:
                self._report.changed("comments", Reason.PING_AS_COMMENT, comment.id)
            if comment.by_owner:
                self._report.changed("comments", Cause(Reason.NOT_HELD, Part.OWNER), comment.id)
            yield PlannedComment(each, mail)

    def comment(self, planned: PlannedComment, post: int, parent: int = 0) -> Fields:
        """Return the fields for a comment, and report cut values.

        Args:
            planned: the comment.
            post: the number of its post.
            parent: the number of the comment that it answers; 0 if it answers the post.
        """
        found = planned.found
        author, url = importer_rules.commenter(found.comment, self._report)
        text = cleaned(importer_rules.comment_text(found.comment)).text
        spam = found.comment.status is CommentStatus.SPAM and not found.visible
        said: dict[str, Any] = {
            "author_name": author or NOBODY,
            "author_url": url,
            "content": text if text.strip() else f"{text}<!-- -->",
            "status": "approve" if found.visible else "spam" if spam else "hold",
        }
        # The digest ignores the sent date, which may shift by seconds if other comments come or go.
        own = found.comment.date
        wide = {"parent": planned.threaded.parent} if parent else {}
        wide |= {"mail": planned.mail} if planned.mail else {}
        digest = _digest({**said, "date": None if own is None else own.isoformat(), **wide})
        address = self.address(found)
        return Fields(
            digest,
            {
                **said,
                "post": post,
                **({"parent": parent} if found.comment.parent else {}),
                "author_email": planned.mail or address,
                "author_ip": _UNKNOWN_ADDRESS,
                "author_user_agent": comment_agent(digest, address if planned.mail else ""),
                "date_gmt": gmt(found.when),
            },
        )

    def address(self, found: PostComment) -> str:
        """Return the e-mail address that identifies a comment."""
        return comment_address(self.blog_id, found.comment.id)


class PlannedComment(NamedTuple):
    """A comment in its thread, and the e-mail address of its writer; empty if the new home must not get it."""

    threaded: Threaded
    mail: str

    @property
    def found(self) -> PostComment:
        """The comment."""
        return self.threaded.comment


class Fields(NamedTuple):
    """The fields to send for a post or comment, and a digest of their meaning."""

    digest: str
    values: Mapping[str, Any]


class _WideFields(NamedTuple):
    """The meaning of fields and the fields to send."""

    said: Mapping[str, Any]
    values: Mapping[str, Any]


def _digest(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(lossless_json.dumps(said)).hexdigest()[:_DIGEST_DIGITS]


def is_wide(record: Post) -> bool:
    """Return whether an entry's service states more than title, texts, date and one category."""
    stated = (record.categories, record.tags, record.author, record.excerpt, record.featured, record.permalink)
    return record.audience is not None or record.kind is PostKind.PAGE or any(stated)


def _author(post: ExportPost) -> str:
    return collapse(post.record.author)


def _is_mail(text: str) -> bool:
    """Return whether WordPress takes an e-mail address, and it is not one that a move made."""
    return len(text) <= _MAIL_CHARACTERS and _MAIL.fullmatch(text) is not None and not text.endswith(".invalid")


def gmt(when: datetime) -> str:
    """Return a date in the form of the REST API."""
    return when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")


def _links(post: ExportPost) -> Iterator[str]:
    """Yield the addresses that a post links to."""
    for text in (post.record.body, post.record.more):
        yield from (found.text for found in embedded(ready(as_html(text))) if found.use is Use.LINKED)


def _unclean(post: ExportPost) -> int:
    texts = (post.title, post.record.body, post.record.more)
    return sum(cleaned(text).characters for text in texts)
