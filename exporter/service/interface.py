"""What a blog service is: the requests for its lists and records, and what its answers mean. Pure.

A service makes requests and reads answers; the crawl sends them. Paths, parameters and field names of a service are in
its own module and nowhere else. Paging is the service's own too: a cursor is whatever names one page of a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import Enum, auto
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from exporter.errors import ApiError
from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Verdict
from exporter.model.records import Comment, Post, Raw, Upload, User

Answer = TypeVar("Answer")
Cursor = int | str
"""Names one page of a list. Only its service's paginator knows what it means; it is kept in JSON."""


class Role(Enum):
    """What a documented raw field holds."""

    ID = auto()
    """The id of a record, or of what belongs to it."""
    CODE = auto()
    """A flag or a code."""
    COUNT = auto()
    """A number of things, or a size."""
    DATE = auto()
    """A date, or seconds since 1970."""
    DATE_PART = auto()
    """One of six fields that are a date together."""
    ADDRESS = auto()
    """An address on the web."""
    TEXT = auto()
    """What a person wrote, perhaps as HTML."""


class Call(NamedTuple, Generic[Answer]):
    """A request, and what makes something of its answer.

    ``parse`` raises a :class:`~exporter.errors.ServiceError` where the answer is not a success.
    """

    request: Request
    parse: Callable[[Response], Answer]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a service offers.

    Attributes:
        totals: its lists state how many records there are, so that a backup can be proven complete.
        validators: it may answer that an entry is unchanged (RFC 9110, section 13).
        full_text_in_lists: an item of the entry list is the whole entry, which is not asked for by itself.
        comments_per_entry: comments are listed for each entry, not for the whole blog.
        user: it says who is asking.
    """

    totals: bool = True
    validators: bool = True
    full_text_in_lists: bool = False
    comments_per_entry: bool = False
    user: bool = True


class Validators(NamedTuple):
    """What a later request can ask with whether a record changed: the ``ETag`` and ``Last-Modified`` of an answer."""

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, response: Response) -> Validators:
        """Read them from an answer; what cannot be sent back unharmed is left out."""
        return cls(_sendable(response.headers.get("etag")), _sendable(response.headers.get("last-modified")))

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a conditional request; none when there is nothing to compare with."""
        pairs = (("If-None-Match", _sendable(self.etag)), ("If-Modified-Since", _sendable(self.last_modified)))
        return {name: value for name, value in pairs if value}


def _sendable(value: str | None) -> str | None:
    return value if value and value.isascii() and value.isprintable() else None


class EntryAnswer(NamedTuple):
    """An entry as sent, or ``data`` ``None`` when it is unchanged since the validators given."""

    data: dict[str, Any] | None
    validators: Validators


class Refused(ApiError):
    """The service says in its own words that it does not have a record, or does not hand it out."""


class WrongRecord(ApiError):
    """The service answered with something else than the record asked for, which says nothing about that one."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list as its answer describes it; ``None`` for what the answer does not say.

    Attributes:
        items: the raw records, of any type.
        echo: the cursor of the page that the answer says it is.
        next: the cursor of the page that follows.
        pages: how many pages the list has.
        page_size: how many items a full page has.
        total: how many records the list has.
        total_size: the sum of :meth:`BlogService.amount` over all of them.
    """

    items: list[Any]
    echo: Cursor | None = None
    next: Cursor | None = None
    pages: int | None = None
    page_size: int | None = None
    total: int | None = None
    total_size: int | None = None


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a paginator learns of a page whose records were ingested.

    Attributes:
        cursor: of the page asked for.
        count: items on the page.
        new: items whose id was not seen before in this sweep.
        digest: over the ids and contents, to recognise a repeated page.
        new_size: the sum of :meth:`BlogService.amount` over the new ones; ``None`` where one of them says none.
        others: as in :class:`Page`.
    """

    cursor: Cursor
    count: int
    new: int
    digest: str
    echo: Cursor | None = None
    next: Cursor | None = None
    pages: int | None = None
    page_size: int | None = None
    total: int | None = None
    total_size: int | None = None
    new_size: int | None = None


class Paginator(Protocol):
    """The way through the pages of one list, once. It ends, whatever the service answers."""

    @property
    def finished(self) -> bool:
        """Whether no further page is needed."""

    @property
    def complete(self) -> bool:
        """Whether the end was reached and the whole list seen."""

    @property
    def problems(self) -> list[str]:
        """Sentences naming the list, the page and what to do."""

    @property
    def doubts(self) -> list[str]:
        """Sentences about what pages say that cannot all be true, unless the list changed while it was read."""

    def wanted(self, window: int) -> list[Cursor]:
        """Return the pages to ask for now, in order, none of them twice; ``window`` is how far to read ahead."""

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""

    def accept(self, facts: PageFacts) -> None:
        """Learn of the next page in order."""

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Learn that the next page in order could not be read; ``missing`` when the service says it has no such."""


class Records(ABC):
    """Reads the raw objects of one service as records; nothing here raises on any JSON object.

    Attributes:
        name: the service's name, as ``archive.json`` has it.
        timezone: of its dates.
        post_flags: the raw fields of an entry that say who may see it, whose meaning its owner declares.
        comment_flags: the same of a comment.
        access_flag: the one of ``post_flags`` that is a code.
        period_flag: the one of ``post_flags`` that says it is shown for some time only.
        deleted_flag: the one of ``comment_flags`` that says it is deleted.
        usual_access: the code that most entries have, which views do not show.
        bodies: the raw fields that are HTML, of each kind that has some.
        attributes: of each kind, by the raw field, the attribute of its neutral record that is read from it.
        roles: of each kind, the raw fields that the service documents, in its order, with what they hold.
        kept_fields: the raw fields of an entry that imports may keep beside it.
        post_fields: the raw fields of an entry, which address patterns may name, the likeliest first.
        upload_fields: the same of an uploaded file.
        likely_in_addresses: those of them that addresses of uploads are likely made of, the likeliest first.
        unlikely_in_addresses: those that they are not made of.
        extension_field: the one that is the extension of the file's name.
    """

    name: str
    timezone: tzinfo
    post_flags: tuple[str, ...]
    comment_flags: tuple[str, ...]
    access_flag: str
    period_flag: str
    deleted_flag: str
    usual_access: str
    bodies: ClassVar[Mapping[Kind, tuple[str, ...]]]
    attributes: ClassVar[Mapping[Kind, Mapping[str, str]]] = {}
    roles: ClassVar[Mapping[Kind, Mapping[str, Role]]] = {}
    kept_fields: tuple[str, ...]
    post_fields: tuple[str, ...]
    upload_fields: tuple[str, ...]
    likely_in_addresses: tuple[str, ...]
    unlikely_in_addresses: frozenset[str]
    extension_field: str

    @abstractmethod
    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return the id of a raw object of a kind; ``None`` where it has none."""

    @abstractmethod
    def title(self, kind: Kind, raw: Raw) -> str:
        """Return what a person knows a record by; empty where it has no title and no name."""

    @abstractmethod
    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Join an entry's full record with its element of the list; either may be missing."""

    @abstractmethod
    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""

    @abstractmethod
    def post_id(self, raw: Raw) -> str:
        """Return the id of the entry that a raw comment belongs to; empty where it names none."""

    @abstractmethod
    def category_id(self, raw: Raw) -> str | None:
        """Return the id of a raw entry's category."""

    @abstractmethod
    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file."""

    @abstractmethod
    def user(self, raw: Raw) -> User:
        """Read the calling user."""

    @abstractmethod
    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Return what an entry is to be elsewhere; ``as_of`` is when the blog was read."""

    @abstractmethod
    def is_visible(self, comment: Comment, declared: Declared) -> bool:
        """Return whether a comment may be shown."""

    @abstractmethod
    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a comment may not be shown."""


class BlogService(Records):
    """A blog service: how it is asked, beside how its records are read.

    Attributes:
        capabilities: what it offers.
    """

    capabilities: Capabilities

    @property
    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """What else decides how answers are read, as JSON: only a run with equal options resumes a checkpoint."""

    @abstractmethod
    def pages(self, kind: Kind, blog_id: str, entry_ids: Sequence[str], /) -> Paginator:
        """Begin to read the list of entries, comments or files.

        ``entry_ids`` are all listed entries, where comments are listed for each entry.
        """

    @abstractmethod
    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Ask for one entry in full, or whether it changed. ``parse`` raises :class:`WrongRecord` for another one."""

    @abstractmethod
    def user_call(self) -> Call[dict[str, Any]]:
        """Ask for the calling user."""

    def may_be_uncounted(self, _raw: Raw) -> bool:
        """Return whether its entry's comment count may leave a comment out, because the comment is hidden."""
        return False

    @abstractmethod
    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return what a list item says: an entry how many comments it has, a file its size in bytes."""
