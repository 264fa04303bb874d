"""The base of the formats in which blog services hand out a whole blog as a file. Pure.

A format reads the file once, from its first byte to its last, and yields the records. The room ``source`` stores them
in an index and answers this module's requests from it. So a backup from a file runs the same way as one from an API:
lists, entries, comparison with the archive, commit.

A record of a file is a JSON object that this program makes: ``id``, for a comment ``post_id``, and the members that
the format adds. A format keeps every line and element that it does not know, so that nothing is lost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, ClassVar, Final, NamedTuple, Self

from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.model.kinds import Kind, key_of
from exporter.model.records import Audience, Category, Post, Raw
from exporter.service.answers import read_object, refusal
from exporter.service.interface import Call, Capabilities, EntryAnswer, Page, Paginator, Validators
from exporter.service.pagination import CountedPages
from exporter.service.stated import StatedService

_PAGE_RECORDS: Final = 200
_PAGE_COMMENTS: Final = 50
"""Comments in one answer of the index. They are whole, so an answer of fewer takes less memory."""
MAX_PAGES: Final = 10_000_000
_LISTS: Final[Mapping[Kind, str]] = {
    Kind.ENTRY_LIST: message("entry list"),
    Kind.COMMENTS: message("comment list"),
    Kind.FILES: message("file list"),
}


def page_records(kind: Kind) -> int:
    """Return the number of records in one answer of the index."""
    return _PAGE_COMMENTS if kind is Kind.COMMENTS else _PAGE_RECORDS


class FoundRecord(NamedTuple):
    """A record in an export file.

    Attributes:
        kind: ``ENTRIES``, ``COMMENTS``, ``FILES`` or ``USER``. A comment belongs to the entry found last.
        id: its id as the format states it. If another record in the file has it, the index appends ``-2``, ``-3`` and
            so on, unless the two are equal, as in files that overlap. If the format states no ids, a proposal of two
            parts with a hyphen; see :mod:`exporter.source.content_ids`.
        raw: the record; the index sets ``id``, and ``post_id`` of comments.
    """

    kind: Kind
    id: str
    raw: dict[str, Any]


class WantedParts(NamedTuple):
    """The records of the same blog that an entry shows parts of. They may come later or in another part of the file.

    Attributes:
        files: ids of files.
        entries: ids of entries that several entries show, such as synced patterns.
        parents: ids of entries, for all files that belong to them; an empty text stands for the entry itself.
    """

    files: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


class FoundParts(NamedTuple):
    """The records that :class:`WantedParts` names, as far as the file has them, by their ids."""

    files: Mapping[str, Raw]
    entries: Mapping[str, Raw]


class Misread(NamedTuple):
    """A part of an export file that fits no rule.

    Attributes:
        line: its line in the file, from 1.
        reason: a message with the problem.
        lost: whether content is missing in the records, so that the backup is incomplete.
    """

    line: int
    reason: str
    lost: bool = False


class ExportFile(StatedService):
    """A format of export files."""

    capabilities = Capabilities(validators=False, user=False, snapshot=True)
    label: ClassVar[str]
    """The name of the format for people."""
    stated_ids: ClassVar[bool] = True
    """Whether the format states an id for each record."""

    def __init__(self, digest: str = "") -> None:
        self._digest = digest

    @property
    def options(self) -> Mapping[str, Any]:
        """The file's SHA-256, so that a run resumes only with the same file."""
        return {"file_sha256": self._digest} if self._digest else {}

    def of_file(self, digest: str) -> Self:
        """Return this format for the file with a SHA-256."""
        self._digest = digest
        return self

    @classmethod
    @abstractmethod
    def recognises(cls, head: bytes) -> bool:
        """Return whether a file that begins with ``head``, its first 64 KiB or less, has this format."""

    @abstractmethod
    def read(self, file: BinaryIO, name: str) -> Iterator[FoundRecord | Misread]:
        """Yield a file's records in their order, each entry before its comments.

        Memory must not grow with the file. ``name`` is for messages. Bytes in a wrong encoding become U+FFFD and are
        reported; no input raises anything but an :class:`OSError` of the file.
        """

    def list_item(self, raw: Raw, comments: int) -> dict[str, Any]:
        """Return the list item of an entry that has this many comments in the file."""
        return self._list_item(self.post(raw), comments)

    def _list_item(self, post: Post, comments: int) -> dict[str, Any]:
        return {
            "id": post.id,
            "title": post.title,
            "date": None if post.date is None else post.date.isoformat(),
            "status": None if post.audience is None else str(post.audience),
            "permalink": post.permalink,
            "categories": [category.name for category in post.every_category],
            "comments": comments,
        }

    def listed(self, item: Raw) -> Post:
        """Read a list item as an entry without a text."""
        date, audience, categories = item.get("date"), item.get("status"), item.get("categories")
        names = [name for name in categories if isinstance(name, str)] if isinstance(categories, list) else []
        return Post(
            id=self.key(Kind.ENTRY_LIST, item) or "",
            title=_text(item.get("title")),
            date=_date(date) if isinstance(date, str) else None,
            audience=Audience(audience) if isinstance(audience, str) and audience in set(Audience) else None,
            permalink=_text(item.get("permalink")),
            category=names[0] if names else "",
            categories=tuple(map(Category, names)),
            item=item,
        )

    def blog_address(self, _raw: Raw) -> str:
        """Return the blog's address if a record states it, otherwise an empty text."""
        return ""

    def wanted(self, _raw: Raw) -> WantedParts:
        """Return the records of which an entry shows parts."""
        return WantedParts()

    def parent(self, _raw: Raw) -> str:
        """Return the id of the entry that a file belongs to, or an empty text."""
        return ""

    def shares_files(self, _raw: Raw) -> bool:
        """Return whether other entries may show all files of an entry."""
        return True

    def completed(self, raw: Raw, _found: FoundParts) -> dict[str, Any]:
        """Return an entry's record with the parts of other records that it shows, so that it can be read alone."""
        return dict(raw)

    def lacks(self, raw: Raw) -> Iterator[str]:
        """Yield a sentence for each part of a completed entry that its readers saw and the file does not have."""
        del raw
        yield from ()

    def likenesses(self, _kind: Kind, _raw: Raw) -> tuple[str, ...]:
        """Return the facts by which a record without a stated id is found again after an edit, the surest first.

        An empty text states nothing.
        """
        return ()

    def pages(self, kind: Kind, _blog_id: str, _entry_ids: Sequence[str]) -> Paginator:
        """Return a paginator for a list of the index."""

        def call(page: int) -> Call[Page]:
            request = Request(_LISTS[kind], f"/{kind}", {"page": str(page)}, {})
            return Call(request, lambda response: _page(request, response, page, size))

        size = page_records(kind)
        return CountedPages(_LISTS[kind], "page", call, MAX_PAGES, size)

    def entry_call(self, _blog_id: str, entry_id: str, _validators: Validators | None = None) -> Call[EntryAnswer]:
        """Return the request for an entry of the index."""
        request = Request("entry", f"/{Kind.ENTRIES}", {"id": entry_id}, {})
        return Call(request, lambda response: EntryAnswer(read_object(request, response, _message), Validators()))

    def user_call(self) -> Call[dict[str, Any]]:
        """Return the request for the author."""
        request = Request("user", f"/{Kind.USER}", {}, {})
        return Call(request, lambda response: read_object(request, response, _message))

    def amount(self, kind: Kind, raw: Raw) -> int | None:
        """Return the number of comments that the index counted for a list item, or nothing for files."""
        value = raw.get("comments") if kind is Kind.ENTRY_LIST else None
        return value if type(value) is int else None

    def post_id(self, raw: Raw) -> str:
        """Return the id of a comment's entry."""
        return key_of(raw.get("post_id")) or ""


def _page(request: Request, response: Response, page: int, size: int) -> Page:
    answer = read_object(request, response, _message)
    items, total = answer.get("list"), answer.get("total")
    if not isinstance(items, list) or type(total) is not int:
        raise refusal(request, response, message("the answer has no list"))
    return Page(items, echo=page, page_size=size, total=total)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else ""


def _date(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _message(value: Any) -> object:
    return value.get("message") if isinstance(value, dict) else None
