"""A blog at a public address: its list from sitemaps, feeds and list pages, its posts and comments from pages. Pure.

A record holds what :mod:`exporter.service.public_site.article` reads on a page, with the way and the confidence of the
reading. The page itself is kept as a compressed asset when its record is new or changed. So side bars that change every
day make no version, and nothing that a reading leaves out is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.model.records import Audience, Category, Comment, CommentStatus, Post, PostKind, Raw, Upload, User
from exporter.service.declarations import PUBLIC_SITE
from exporter.service.discovery import Exploration, HomePage
from exporter.service.interface import (
    Call,
    Capabilities,
    EntryAnswer,
    Page,
    PageFacts,
    Paginator,
    Validators,
    Values,
)
from exporter.service.public_site.dates import read_page_date
from exporter.service.stated import StatedService
from exporter.setting_types import zone

if TYPE_CHECKING:
    from exporter.service.public_site.pages import PageReader
    from exporter.service.public_site.paths import SitePaths


_NOT_MODIFIED: Final = 304


class PublicOptions(NamedTuple):
    """The settings for reading a public blog.

    Attributes:
        page_rules: the rules for its pages; ``auto`` chooses by the host.
        obey_robots: RFC 9309. The owner of a blog may read it in spite of robots.txt.
        list_pages: whether list pages are read.
        max_posts: a longer list is cut, and the backup is incomplete.
    """

    page_rules: str = PUBLIC_SITE.default_of("page_rules")
    obey_robots: bool = PUBLIC_SITE.default_of("obey_robots")
    list_pages: str = PUBLIC_SITE.default_of("list_pages")
    max_posts: int = PUBLIC_SITE.default_of("max_posts")


class NoList:
    """The paginator of a list that public pages do not have."""

    finished = True
    complete = provable = True
    problems: ClassVar[list[str]] = []
    doubts: ClassVar[list[str]] = []

    def wanted(self, _window: int) -> list[int | str]:
        """Return nothing."""
        return []

    def call(self, cursor: int | str) -> Call[Page]:
        """Fail: there is no page."""
        raise AssertionError(cursor)

    def accept(self, _facts: PageFacts) -> None:
        """Do nothing."""

    def accept_failure(self, cursor: int | str, reason: str, *, missing: bool) -> None:
        """Do nothing."""


class PublicSite(StatedService):
    """A blog whose public pages are read."""

    name = PUBLIC_SITE.name
    capabilities = Capabilities(
        totals=False, validators=True, user=False, linked_lists=True, comments_in_entries=True, open_to_all=True
    )
    bodies: ClassVar = {Kind.ENTRIES: ("body", "more"), Kind.COMMENTS: ("text",)}

    def __init__(
        self,
        options: PublicOptions | None = None,
        *,
        base_url: str | None = None,
        timezone: tzinfo | None = None,
        renamed_to: str | None = None,
    ) -> None:
        self._options = options or PublicOptions()
        self._base_url = base_url
        self._renamed_to = renamed_to
        self.timezone = timezone or zone(PUBLIC_SITE.defaults["timezone"])

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Return the service with the user's settings."""
        options = PublicOptions(**{name: settings.get(name) for name in PublicOptions._fields})
        return cls(options, base_url=settings.get("base_url"), timezone=settings.get("timezone"))

    @classmethod
    def explore(cls, home: HomePage) -> Exploration | None:
        """Return an exploration of feeds and sitemaps at an address."""
        from exporter.service.public_site.exploration import explore  # noqa: PLC0415 - only a run needs the parsers

        return explore(PUBLIC_SITE.name, home)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that change the reading of pages, as JSON."""
        options = self._options
        return {
            "page_rules": options.page_rules,
            "obey_robots": options.obey_robots,
            "list_pages": options.list_pages,
            "max_posts": options.max_posts,
            "timezone": str(self.timezone),
            "renamed_to": self._renamed_to,
        }

    def renamed(self, blog_id: str) -> Self:
        """Return the service that reads the folder of this ID in place of that of the first one."""
        return type(self)(self._options, base_url=self._base_url, timezone=self.timezone, renamed_to=blog_id)

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about the list, and about the posts that were read with less certainty."""
        return [*self._reader.reading.notes, *self._reader.notes]

    def pages(self, kind: Kind, blog_id: str, _entry_ids: Sequence[str]) -> Paginator:
        """Return a paginator for the list of posts; comments are on their pages, and no list has the files."""
        if kind is not Kind.ENTRY_LIST:
            return NoList()
        from exporter.service.public_site.post_list import ListOptions, SiteList  # noqa: PLC0415 - as above

        options = self._options
        limits = ListOptions(options.obey_robots, options.list_pages, options.max_posts)
        return SiteList(self._paths(blog_id), limits, self._reader.reading)

    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Return the request for the page of a post."""
        from exporter.service.public_site.post_list import page_request  # noqa: PLC0415 - as above

        paths = self._paths(blog_id)
        path = paths.post_path(entry_id) or f"{paths.home}{entry_id}"
        conditions = validators.headers if validators is not None else {}
        request = page_request(path, conditions.items())

        def parse(response: Response) -> EntryAnswer:
            if conditions and response.status == _NOT_MODIFIED:
                return EntryAnswer(None, validators or Validators())
            return self._reader.read(paths, entry_id, request, response)

        return Call(request, parse)

    def with_earlier(self, data: dict[str, Any], earlier: Raw) -> dict[str, Any]:
        """Return a record with the facts that a feed stated at an earlier reading."""
        from exporter.service.public_site.merging import with_earlier  # noqa: PLC0415 - as above

        return with_earlier(data, earlier)

    def _paths(self, blog_id: str) -> SitePaths:
        from exporter.service.public_site.paths import site_paths  # noqa: PLC0415 - as above

        if self._renamed_to is not None:
            host, (_, slash, folder) = blog_id.partition("/")[0], self._renamed_to.partition("/")
            blog_id = f"{host}{slash}{folder}"
        return site_paths(blog_id, self._base_url, self._options.page_rules)

    @cached_property
    def _reader(self) -> PageReader:
        from exporter.service.public_site.pages import PageReader  # noqa: PLC0415
        from exporter.service.public_site.post_list import SiteReading  # noqa: PLC0415 - as above

        return PageReader(SiteReading(), self.timezone)

    def user_call(self) -> Call[dict[str, Any]]:
        """Fail: public pages name no user."""
        raise AssertionError("the user was requested")

    def amount(self, _kind: Kind, _raw: Raw) -> int | None:
        """Return nothing: a sitemap states no number."""
        return None

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return a post's title, or the name of a comment's writer."""
        return _text(raw, "name" if kind is Kind.COMMENTS else "title")

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read a post."""
        found: Raw = raw if raw is not None else {}
        names = [each for each in _list(found, "categories") if isinstance(each, str) and each]
        status = _text(found, "status")
        audience = Audience(status) if status in set(Audience) else None
        return Post(
            id=self.key(Kind.ENTRIES, found) or self.key(Kind.ENTRY_LIST, item) or "",
            title=_text(found, "title"),
            slug=_slug(_text(found, "url")),
            body=_text(found, "body"),
            more=_text(found, "more"),
            date=self._date(found, "date"),
            updated=self._date(found, "updated"),
            category=names[0] if names else None,
            categories=tuple(map(Category, names)),
            tags=tuple(each for each in _list(found, "tags") if isinstance(each, str) and each),
            author=_text(found, "author"),
            permalink=_text(found, "url") or _text(item or {}, "url"),
            excerpt=_text(found, "excerpt"),
            kind=PostKind.PAGE if found.get("kind") == PostKind.PAGE else PostKind.POST,
            audience=audience,
            private=None if audience is None else audience is not Audience.PUBLIC,
            featured=_text(found, "featured"),
            facts={"how": how} if (how := _text(found, "how")) else {},
            raw=found,
            item=item,
        )

    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""
        status = _text(raw, "status")
        return Comment(
            id=self.key(Kind.COMMENTS, raw) or "",
            post_id=self.post_id(raw),
            date=self._date(raw, "date"),
            has_time=True,
            name=_text(raw, "name"),
            title=_text(raw, "title"),
            text=_text(raw, "text"),
            url=_text(raw, "url"),
            deleted=None,
            facts={},
            reply=None,
            raw=raw,
            parent=_text(raw, "parent"),
            status=CommentStatus(status) if status in set(CommentStatus) else None,
            by_owner=True if raw.get("by_owner") is True else None,
        )

    def post_id(self, raw: Raw) -> str:
        """Return the id of a comment's post."""
        return _text(raw, "post_id")

    def upload(self, raw: Raw) -> Upload:
        """Read nothing: no list has the files."""
        return Upload(self.key(Kind.FILES, raw) or "", _text(raw, "name"), None, None, None, None, None, None, "", raw)

    def user(self, raw: Raw) -> User:
        """Return an unnamed user."""
        return User(self.key(Kind.USER, raw) or "", "", raw)

    def _date(self, raw: Raw, name: str) -> datetime | None:
        return read_page_date(_text(raw, name), self.timezone)


def _slug(address: str) -> str:
    """Return an address's last part, without an extension."""
    path = address.partition("://")[2].partition("?")[0].partition("#")[0].rstrip("/")
    name = path.rpartition("/")[2] if "/" in path else ""
    return name.rpartition(".")[0] if name.endswith((".html", ".htm", ".php")) else name


def _text(raw: Raw, name: str) -> str:
    value = raw.get(name)
    return str(value) if isinstance(value, str) else ""


def _list(raw: Raw, name: str) -> list[Any]:
    value = raw.get(name)
    return value if isinstance(value, list) else []
