"""The interface that a blog service implements: requests, records, paging, settings and profiles. Pure.

A service makes requests and reads responses; the crawl sends them. Paths, parameters, field names, settings and known
addresses of a service are in its own module only. So is paging: a cursor names one page of a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from enum import Enum, auto
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from exporter.errors import ApiError
from exporter.frozen import frozen
from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Verdict
from exporter.model.records import Comment, Post, Raw, Upload, User
from exporter.service.declarations import FlagSettings
from exporter.service.discovery import Exploration, HomePage

Answer = TypeVar("Answer")
Cursor = int | str
"""Names one page of a list. Only the service's paginator knows its meaning; it is stored as JSON."""


class Values(Protocol):
    """The user's settings."""

    def get(self, name: str, /) -> Any:
        """Return the value of a setting."""


class Role(Enum):
    """The content of a documented raw field."""

    ID = auto()
    """The record's id, or a reference to another record."""
    CODE = auto()
    """A flag or a code."""
    COUNT = auto()
    """A count, or a size."""
    DATE = auto()
    """A date, or seconds since 1970."""
    DATE_PART = auto()
    """One of six fields that form a date together."""
    ADDRESS = auto()
    """An address on the web."""
    TEXT = auto()
    """Text that a person wrote, perhaps as HTML."""


class Call(NamedTuple, Generic[Answer]):
    """A request, and the function that parses its response.

    ``parse`` raises a :class:`~exporter.errors.ServiceError` if the response is not a success.
    """

    request: Request
    parse: Callable[[Response], Answer]


@frozen
class Capabilities:
    """The features of a service.

    Attributes:
        totals: its lists state the number of records, so that a backup can be proven complete.
        validators: it may answer that an entry is unchanged (RFC 9110, section 13).
        full_text_in_lists: each list item is the whole entry, so entries are not requested one by one.
        entries_in_lists: the pages of the entry list hold whole entries, which are stored as entries; the list keeps
            the part of each that :meth:`BlogService.listed_part` returns. An entry can also be requested.
        comments_per_entry: comments are listed for each entry, not for the whole blog.
        user: it names the calling user.
        snapshot: its answers never change, so one sweep proves that a record is absent.
        comment_counts: its list items state the number of comments of their entries. Without them the total of the
            comment list is the number of comments to expect.
        entries_at_once: the most full entries that one request answers.
        linked_lists: each page decides which others are requested, so an interrupted run reads its lists again.
        comments_in_entries: the answer for an entry carries its comments, so no list of comments is requested.
        open_to_all: its answers are the pages that every visitor sees.
        pages_in_body: its lists have numbered pages, and the body of an answer alone decides which records a page has.
    """

    totals: bool = True
    validators: bool = True
    full_text_in_lists: bool = False
    entries_in_lists: bool = False
    comments_per_entry: bool = False
    user: bool = True
    snapshot: bool = False
    comment_counts: bool = True
    entries_at_once: int = 1
    linked_lists: bool = False
    comments_in_entries: bool = False
    open_to_all: bool = False
    pages_in_body: bool = False


class Validators(NamedTuple):
    """The response headers ``ETag`` and ``Last-Modified``, for a later conditional request."""

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, response: Response) -> Validators:
        """Read them from a response. Values that cannot be sent back unchanged are left out."""
        return cls(_sendable(response.headers.get("etag")), _sendable(response.headers.get("last-modified")))

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a conditional request; none without a value."""
        pairs = (("If-None-Match", _sendable(self.etag)), ("If-Modified-Since", _sendable(self.last_modified)))
        return {name: value for name, value in pairs if value}


def _sendable(value: str | None) -> str | None:
    return value if value and value.isascii() and value.isprintable() else None


class Original(NamedTuple):
    """An answer that the archive keeps as a file if its record is new or changed.

    Attributes:
        url: the address of its asset record.
        content: the bytes of the file.
    """

    url: str
    content: bytes


class EntryAnswer(NamedTuple):
    """An entry as sent.

    Attributes:
        data: the record; ``None`` if it is unchanged since the validators given.
        validators: of the answer.
        comments: the raw comments of the entry, if the service has :attr:`Capabilities.comments_in_entries`.
        original: the answer itself, if the record is only a reading of it.
        shortage: a sentence if the answer states comments that it does not carry; empty otherwise.
    """

    data: dict[str, Any] | None
    validators: Validators
    comments: tuple[dict[str, Any], ...] = ()
    original: Original | None = None
    shortage: str = ""


class Refused(ApiError):
    """The service states that it does not have a record, or refuses it."""


class NotShown(ApiError):
    """The service shows a record only to others. It may exist; if it was public before, it is no longer so."""


class WrongRecord(ApiError):
    """The service sent a different record. The requested one may exist or not."""


@frozen
class Page:
    """A page of a list as its response describes it; ``None`` for facts that the response does not state.

    Attributes:
        items: the raw records, of any type.
        echo: the cursor that the response states for itself.
        next: the cursor of the next page.
        pages: the number of pages of the list.
        page_size: the number of items on a full page.
        total: the number of records of the list.
        total_size: the sum of :meth:`BlogService.amount` over all records.
        pause: the seconds between two requests that the answer asks for.
        closed: whether the answer has content for the signed-in user alone, apart from the items.
    """

    items: list[Any]
    echo: Cursor | None = None
    next: Cursor | None = None
    pages: int | None = None
    page_size: int | None = None
    total: int | None = None
    total_size: int | None = None
    pause: float | None = None
    closed: bool = False


@frozen
class PageFacts:
    """The facts about an ingested page that its paginator needs.

    Attributes:
        cursor: of the requested page.
        count: items on the page.
        new: items whose id was not seen before in this sweep.
        digest: over the ids and contents, to recognise a repeated page.
        new_size: the sum of :meth:`BlogService.amount` over the new items; ``None`` if one of them states no amount.
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
    """Reads all pages in a list, once. It ends for any responses."""

    @property
    def finished(self) -> bool:
        """Whether no further page is needed."""

    @property
    def complete(self) -> bool:
        """Whether the whole list was read."""

    @property
    def problems(self) -> list[str]:
        """Sentences that name the list, the page and the remedy."""

    @property
    def doubts(self) -> list[str]:
        """Sentences about contradictions between pages, which a change during the sweep may explain."""

    @property
    def provable(self) -> bool:
        """Whether the list states its length, so that it can be proven complete."""

    def wanted(self, window: int) -> list[Cursor]:
        """Return the pages to request now, in order, each one once. ``window`` is the number of pages to read ahead."""

    def call(self, cursor: Cursor) -> Call[Page]:
        """Return the request for a page."""

    def accept(self, facts: PageFacts) -> None:
        """Take in the facts about the next page in order."""

    def accept_failure(self, cursor: Cursor, reason: str, *, missing: bool) -> None:
        """Note that the next page in order could not be read; ``missing`` if the service states that none exists."""


class Records(ABC):
    """Reads the raw objects of one service as neutral records. No method raises for any JSON object.

    Attributes:
        name: the service's name in ``archive.json``.
        flag_settings: the settings that declare the meaning of flags.
        flag_hint: how the owner of a blog declares it.
        may_be_joined: whether archives of this service can have records that other services gave too.
        timezone: of the dates.
        key_fields: the raw field that holds the id, for each kind.
        post_flags: the raw fields of an entry that decide who may see it.
        comment_flags: the same of a comment.
        access_flag: the one of ``post_flags`` that is a code.
        period_flag: the one of ``post_flags`` that marks an entry as shown for a limited time.
        deleted_flag: the one of ``comment_flags`` that marks a comment as deleted.
        usual_access: the code of most entries, which views do not show.
        bodies: the raw fields that are HTML, for each kind that has some.
        attributes: for each kind, the attribute of the neutral record by the raw field that it is read from.
        roles: for each kind, the documented raw fields in the service's order, and their content.
        kept_fields: the raw fields of an entry that an import may store with it.
        post_fields: an entry's raw fields that address patterns may name, the likeliest first.
        upload_fields: the same of an uploaded file.
        likely_in_addresses: the fields that an upload's address likely contains, the likeliest first.
        unlikely_in_addresses: the fields that are not part of it.
        extension_field: the field that is the extension of the file's name.
    """

    name: str
    flag_settings: ClassVar[FlagSettings] = FlagSettings()
    flag_hint: ClassVar[str] = ""
    may_be_joined: ClassVar[bool] = False
    timezone: tzinfo
    key_fields: ClassVar[Mapping[Kind, str]]
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

    def declared(self, settings: Values, *, all_as_draft: bool = False) -> Declared:
        """Return the owner's declaration about the flags, from the settings."""
        public, period, comments = (settings.get(name) if name else None for name in self.flag_settings)
        return Declared(public, bool(period), comments, all_as_draft)

    def is_undeclared(self, declared: Declared) -> bool:
        """Return whether the owner must still declare which entries are public."""
        return bool(self.flag_settings.public) and declared.public_access is None and not declared.all_as_draft

    def has_undeclared_comments(self, declared: Declared) -> bool:
        """Return whether the owner must still declare which comments are shown, if there are any."""
        return bool(self.flag_settings.comments) and declared.visible_comment_flags is None

    @abstractmethod
    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return a raw object's id, or ``None``."""

    def each(self, raw: Raw) -> Sequence[tuple[Records, Raw]]:
        """Return the record as each of its services gave it, with the reader of each."""
        return [(self, raw)]

    def contained(self, _raw: Raw) -> Collection[str]:
        """Return the ids of the other entries whose text is in an entry's record."""
        return ()

    @abstractmethod
    def title(self, kind: Kind, raw: Raw) -> str:
        """Return a record's title or name, or an empty text."""

    @abstractmethod
    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Join an entry's full record with its list item; either may be missing."""

    def texts(self, raw: Raw) -> tuple[str, str]:
        """Return ``body`` and ``more`` of an entry's full record, as :meth:`post` reads them."""
        post = self.post(raw)
        return post.body, post.more

    def lacks_text(self, _raw: Raw) -> bool:
        """Return whether an entry's full record has no text, not even an empty one, where all have one."""
        return False

    @abstractmethod
    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""

    @abstractmethod
    def post_id(self, raw: Raw) -> str:
        """Return the id of the entry that a raw comment belongs to, or an empty text."""

    @abstractmethod
    def category_id(self, raw: Raw) -> str | None:
        """Return the id of a raw entry's category."""

    @abstractmethod
    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file."""

    @abstractmethod
    def user(self, raw: Raw) -> User:
        """Read the calling user."""

    def blog_title(self, _user: Raw) -> str:
        """Return the title of the blog that a raw user states; empty for a service whose users state none."""
        return ""

    def flags(self, raw: Raw) -> Raw:
        """Return the object that has ``post_flags`` or ``comment_flags`` of a record."""
        return raw

    @abstractmethod
    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Return the status of an entry in an export. ``as_of`` is the time of the backup."""

    @abstractmethod
    def is_visible(self, comment: Comment, declared: Declared) -> bool:
        """Return whether a comment is public."""

    @abstractmethod
    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a comment is not public."""

    def extras(self, kind: Kind, raw: Raw) -> int:
        """Return how many fields of a record have content that no neutral record has.

        Such fields come from people, plug-ins or later versions of the service. By default these are the fields
        without a role; a service without roles has none.
        """
        known = self.roles.get(kind)
        return 0 if known is None else sum(bool(value) and name not in known for name, value in raw.items())

    def has_private_parts(self, _kind: Kind, _raw: Raw) -> bool:
        """Return whether a record has parts for the blog's owner alone, although it is public otherwise."""
        return False


class BlogService(Records):
    """A blog service: its requests, and :class:`Records` for the contents of its responses.

    Attributes:
        capabilities: its features.
    """

    capabilities: Capabilities

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about what this object has read so far and how sure it is; none of them is a failure."""
        return ()

    @classmethod
    def of(cls, _settings: Values) -> Self:
        """Return the service with the user's settings."""
        return cls()

    @classmethod
    def explore(cls, _home: HomePage) -> Exploration | None:
        """Return an exploration that finds this service at a blog's address; ``None`` if it cannot be there."""
        return None

    def renamed(self, _blog_id: str) -> Self:
        """Return the service that names a blog by this ID in place of its first one, if it knows blogs by an ID."""
        return self

    @property
    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """The options that change the reading of responses, as JSON. Only a run with equal options can be resumed."""

    @abstractmethod
    def pages(self, kind: Kind, blog_id: str, entry_ids: Sequence[str], /) -> Paginator:
        """Return a paginator for the list of entries, comments or files.

        ``entry_ids`` are all listed entries, for a service that lists comments per entry.
        """

    @abstractmethod
    def entry_call(self, blog_id: str, entry_id: str, validators: Validators | None = None) -> Call[EntryAnswer]:
        """Return the request for a full entry. ``parse`` raises :class:`WrongRecord` for a different entry."""

    def listed_entry_call(
        self, blog_id: str, entry_id: str, _item: Raw | None, validators: Validators | None = None
    ) -> Call[EntryAnswer]:
        """Return the request for a full entry, for a service whose list item decides the request.

        The item is the newest known one, ``None`` for an entry that was never listed.
        """
        return self.entry_call(blog_id, entry_id, validators)

    def with_earlier(self, data: dict[str, Any], _earlier: Raw) -> dict[str, Any]:
        """Return an entry's record with facts of its archived one that this run had no means to read again."""
        return data

    def list_of(self, _item: Raw) -> str:
        """Return the list that a list item is from. One request answers only entries of one list."""
        return ""

    def entries_call(self, _blog_id: str, _items: Mapping[str, Raw]) -> Call[list[Any]] | None:
        """Return the request for up to ``entries_at_once`` full entries; ``None`` if each one is requested alone.

        An entry that the answer lacks is requested alone, and so is one that differs from the archive. The second
        argument has the list items of the entries by id.
        """
        return None

    @abstractmethod
    def user_call(self) -> Call[dict[str, Any]]:
        """Return the request for the calling user."""

    def request_base(self, base_url: str) -> str:
        """Return the address that the paths of requests follow."""
        return base_url

    def listed_part(self, raw: Raw) -> Raw:
        """Return the part of a whole entry that the entry list keeps. It must change whenever the entry does."""
        return raw

    def may_be_uncounted(self, _raw: Raw) -> bool:
        """Return whether a comment is hidden, so that its entry's comment count may leave it out."""
        return False

    @abstractmethod
    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return the number of comments that an entry's list item states, or the size of a file in bytes."""
