"""One sweep over one list: its pages in order, their records into the ledger, and a note about each page."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.crawl.events import PageRead
from exporter.crawl.held import page_held
from exporter.crawl.kept_out import KeptOut
from exporter.crawl.seen_pages import ListPages
from exporter.crawl.tasks import task_group
from exporter.errors import ApiError, NotAuthorised, ServiceError, TransportError
from exporter.message import message, restored, said, stored
from exporter.model.exchange import Held
from exporter.model.kinds import KIND_NAMES, Kind
from exporter.service.interface import BlogService, Cursor, Page, PageFacts, Paginator

if TYPE_CHECKING:
    from exporter.crawl.events import Event
    from exporter.crawl.ledger import Ledger
    from exporter.http.engine import ServiceClient
    from exporter.model.exchange import Response

MAX_COUNT: Final = 2**40
"""More comments or bytes than any record has, and more files than any blog."""
MAX_TOTAL_BYTES: Final = 2**53
"""More bytes than any blog has; JSON readers disagree about larger numbers (RFC 8259, 6)."""
UNREADABLE = (ApiError, TransportError, NotAuthorised)
"""Errors that make one page or record unreadable; any other :class:`ServiceError` ends the run."""
MAX_SWEEPS: Final = 4
MAX_ID_CHARACTERS: Final = 1000
"""Characters; ids are usually short numbers, all of them stay in memory, and an address must contain them."""
_MAX_NAMED_ITEMS: Final = 100
"""Unusable items named one by one, in a page and in a list."""
_FACTS: Final = tuple(each.name for each in fields(PageFacts))


@dataclass(slots=True)
class SweepResult:
    """The result of one sweep of one list.

    Attributes:
        kind: the kind listed.
        complete: whether the whole list was seen.
        listed: the number of distinct records.
        differing: how many of them are new or changed since the sweep before (in a first sweep: since the archive).
        to_read: for the entry list, the ids of these; in a first sweep without the new ones, which are read anyway.
        agreed: whether it saw exactly the same as the sweep before.
        problems: sentences about pages and items that could not be used.
        doubts: sentences about pages that contradict one another, possibly because the list changed meanwhile.
        tally: the sum of :meth:`BlogService.amount` over the records; ``None`` if a record has no amount.
        comments: comments by entry: for the entry list the stated counts, for the comment list the listed ones;
            emptied by :func:`compare_comments`.
        expected: for the comment list, the sum of the counts stated by entries.
        short: for the comment list, by entry, the number of counted comments that are not listed.
        over: for the comment list, by entry, the number of listed comments that are not counted. An entry that is not
            on the entry list counts no comments.
        hidden: for the comment list, by entry, the number of comments that its count may leave out; emptied likewise.
        unstated: the listed entries that state no comment count; set for both lists after their comparison.
        total: the number of records that the list states.
        total_size: the sum of their sizes that the list states.
        date: the ``Date`` of the answer with its first page.
        forgotten: the number of listed records that were forgotten, and stay out.
        failure: the error before its first record, which ends the run if no list could be read: one about the sign-in,
            otherwise the newest.
        provable: whether the list states its length.
    """

    kind: Kind
    complete: bool = False
    listed: int = 0
    differing: int = 0
    to_read: list[str] = field(default_factory=list)
    agreed: bool = False
    problems: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    tally: int | None = 0
    comments: Counter[str] = field(default_factory=Counter)
    expected: int = 0
    short: dict[str, int] = field(default_factory=dict)
    over: dict[str, int] = field(default_factory=dict)
    hidden: Counter[str] = field(default_factory=Counter)
    unstated: list[str] = field(default_factory=list)
    total: int | None = None
    total_size: int | None = None
    date: str | None = None
    forgotten: int = 0
    failure: ServiceError | None = None
    provable: bool = True

    @property
    def vouches(self) -> bool:
        """Whether a record that the sweep did not see is absent."""
        return self.complete and not self.doubts

    @property
    def served_at(self) -> datetime | None:
        """The time of the service's clock at the first page."""
        try:
            return None if self.date is None else parsedate_to_datetime(self.date).astimezone(UTC)
        except (ValueError, TypeError, OverflowError, IndexError):
            return None

    def count(self, records: Mapping[str, Any], new: Iterable[int]) -> int | None:
        """Count the records of a page that this sweep sees for the first time; return the sum of their amounts."""
        comments = self.comments
        if self.kind is Kind.COMMENTS:
            owners = records["owners"]
            for at in new:
                comments[owners[at]] = comments.get(owners[at], 0) + 1
            if records["hidden"]:
                shown = set(new)
                self.hidden.update(owners[at] for at in records["hidden"] if at in shown)
            return 0
        ids, amounts = records["ids"], records["amounts"]
        total: int | None = 0
        for at in new:
            amount = amounts[at]
            total = _sum(total, amount)
            if self.kind is Kind.ENTRY_LIST:
                if amount:
                    comments[ids[at]] = amount
                elif amount is None:
                    self.unstated.append(ids[at])
        return total


def compare_comments(entries: SweepResult, comments: SweepResult, is_listed: Callable[[str], bool]) -> None:
    """Compare the comment counts on the entry list with the comment list for each entry, and drop the counts.

    With one sum for all entries, comments of unlisted entries could compensate for missing ones.

    Args:
        entries: the sweep of the entry list.
        comments: the sweep of the comment list at the same time.
        is_listed: returns whether that sweep saw an entry on the entry list.
    """
    comments.expected = entries.comments.total()
    if comments.complete:
        # Subtracting counters keeps positive differences only.
        comments.short = dict(entries.comments - comments.comments)
    comments.unstated = entries.unstated
    unstated, hidden = set(entries.unstated), comments.hidden
    comments.over = {
        entry_id: count
        for entry_id, count in (comments.comments - entries.comments).items()
        if entry_id and entry_id not in unstated and (count > hidden[entry_id] or not is_listed(entry_id))
    }
    entries.comments.clear()
    comments.comments.clear()
    hidden.clear()


class _Answer(NamedTuple):
    """A page that was read.

    Attributes:
        page: returns the page; it is parsed then if there is a note about an equal answer.
        weight: the memory that it takes.
        sha256: of the answer; empty if headers decide too which records the page has.
        note: about a page with an equal answer.
    """

    page: Callable[[], Page]
    weight: int
    sha256: str = ""
    note: dict[str, Any] | None = None


class _Forgotten(NamedTuple):
    """The records of a page that were forgotten.

    Attributes:
        items: their number on the page.
        new: how many of them this sweep saw for the first time.
        owners: the entries whose stated counts include the comments among these.
    """

    items: int = 0
    new: int = 0
    owners: Sequence[str] = ()


def _forgotten_of(note: Mapping[str, Any]) -> _Forgotten:
    return _Forgotten(*note.get("forgotten", ()))


class _Asked(NamedTuple):
    """A requested page; ``task`` reads it ahead, ``None`` if it is read when it is needed.

    ``number`` counts from 1; it is the cursor itself if that is a number.
    """

    cursor: Cursor
    number: int
    task: asyncio.Task[_Answer | ServiceError | None] | None


@dataclass(slots=True)
class Sweep:
    """A sweep of one list.

    Attributes:
        number: the sweep's, from 1.
        service: reads the records.
        client: sends the requests.
        paginator: of the list.
        ledger: receives the records.
        emit: is called for every page.
        listed_before: the number of records in the sweep before.
        result: filled by the sweep.
        take_entry: receives each item with its id if items are whole entries; the list then keeps a part of them.
        kept_out: the records that were forgotten and stay out.
        pages: the pages whose answers are known; ``None`` if headers decide too which records a page has.
    """

    number: int
    service: BlogService
    client: ServiceClient
    paginator: Paginator
    ledger: Ledger
    emit: Callable[[Event], None]
    listed_before: int
    result: SweepResult
    take_entry: Callable[[str, dict[str, Any]], None] | None = None
    kept_out: KeptOut = field(default_factory=KeptOut)
    pages: ListPages | None = None
    _forgotten: set[str] = field(default_factory=set)
    _asked: int = 0
    _items: int = 0
    _held: int = 0
    _unnamed: int = 0

    async def run(self, concurrency: int) -> SweepResult:
        """Read the whole list with up to ``concurrency`` pages requested at a time.

        Raises:
            ServiceError: the service as a whole failed.
        """
        try:
            async with task_group() as group:
                await self._read_pages(concurrency, group)
        finally:
            self.client.budget.release(self._held)
        result = self.result
        if self.service.capabilities.linked_lists:
            # If nothing was found at all, that is no empty blog.
            nothing = not result.listed and self.paginator.problems
            error = result.failure or ServiceError(self.paginator.problems[0]) if nothing else None
            result.failure = error
        if self._unnamed:
            what = message(
                "{unnamed} more items had no usable id, or one that was there twice; run again", unnamed=self._unnamed
            )
            result.problems.append(message("{kind} list: {problem}", kind=KIND_NAMES[result.kind], problem=what))
        result.problems = [*self.paginator.problems, *result.problems]
        result.complete = self.paginator.complete and not result.problems
        result.agreed = not result.differing and result.listed == self.listed_before
        result.provable = self.paginator.provable
        result.doubts = self.paginator.doubts
        if self._items != result.listed:
            twice = message("{n:,} items are listed more than once", n=self._items - result.listed)
            result.doubts = [
                *result.doubts,
                message("{kind} list: {problem}", kind=KIND_NAMES[result.kind], problem=twice),
            ]
        return result

    async def _read_pages(self, concurrency: int, group: asyncio.TaskGroup) -> None:
        asked: deque[_Asked] = deque()
        while not self.paginator.finished:
            for cursor in self.paginator.wanted(concurrency):
                self._asked += 1
                number = cursor if isinstance(cursor, int) else self._asked
                task = group.create_task(self._read_ahead(cursor, number)) if asked else None
                asked.append(_Asked(cursor, number, task))
            await self._ingest(asked.popleft())
        for unwanted in asked:
            if unwanted.task is not None:
                unwanted.task.cancel()

    async def _read(self, cursor: Cursor, number: int) -> _Answer | ServiceError:
        call = self.paginator.call(cursor)

        def parse(response: Response) -> _Answer:
            if number == 1:
                self.result.date = response.headers.get("date")
            sha256, note = "", None
            if self.pages is not None:
                sha256 = hashlib.sha256(response.body).hexdigest()
                note = self.pages.find(sha256, cursor)
            if note is not None:
                return _Answer(lambda: call.parse(response), len(response.body), sha256, note)
            page = call.parse(response)
            return _Answer(lambda: page, lossless_json.weight(response.body), sha256)

        try:
            # A list that was just read is the best later probe of whether the service still answers.
            return await self.client.fetch(call.request, parse, probe=True, holds=self._held_by)
        except UNREADABLE as error:
            return error.with_traceback(None)  # the traceback would keep the answer in memory

    def _held_by(self, answer: _Answer) -> Held:
        kind = self.result.kind if self.take_entry is None else Kind.ENTRIES
        return page_held(self.service, kind, answer.page())

    async def _read_ahead(self, cursor: Cursor, number: int) -> _Answer | ServiceError | None:
        """Read a page ahead; return ``None`` if it is too large to keep until it is needed."""
        answer = await self._read(cursor, number)
        if isinstance(answer, _Answer):
            if not self.client.budget.hold(answer.weight):
                return None
            self._held += answer.weight
        return answer

    async def _ingest(self, asked: _Asked) -> None:
        """Ingest the next page."""
        answer = await asked.task if asked.task is not None else None
        held = answer.weight if isinstance(answer, _Answer) else 0
        if answer is None:
            answer = await self._read(asked.cursor, asked.number)
        if isinstance(answer, _Answer):
            answer = self._take(asked, answer)
        if isinstance(answer, ServiceError):
            missing = isinstance(answer, ApiError)
            note: dict[str, Any] = {
                "sweep": self.number,
                "page": asked.cursor,
                "failed": stored(said(answer)),
                "missing": missing,
                "records": {"ids": []},
            }
            self.ledger.spool.journal(note)
            self._fail(asked, answer, missing=missing)
        self.client.budget.release(held)
        self._held -= held

    def _fail(self, asked: _Asked, error: ServiceError, *, missing: bool) -> None:
        if not self._items and not isinstance(self.result.failure, NotAuthorised):
            self.result.failure = error
        self.paginator.accept_failure(asked.cursor, said(error), missing=missing)

    def _take(self, asked: _Asked, answer: _Answer) -> ServiceError | None:
        """Ingest a page that was read; return why it cannot be parsed after all."""
        if answer.note is not None and self._repeat(asked, answer.note):
            return None
        try:
            page = answer.page()
        except UNREADABLE as error:
            return error
        if page.pause is not None:
            self.client.slow_down(page.pause)
        self._accept(asked, page, answer.sha256)
        return None

    def _repeat(self, asked: _Asked, note: dict[str, Any]) -> bool:
        """Ingest a page with a known answer; return false if its records have changed."""
        records, facts = note["records"], note["facts"]
        new = self.ledger.see_again(records["ids"], facts["digest"], self.number)
        if new is None:
            return False
        facts |= {"new": len(new), "new_size": self.result.count(records, new)}
        note |= {"sweep": self.number, "differing": 0, "to_read": []}
        self._note(note)
        self._count(asked, PageFacts(**facts), note)
        return True

    def _note(self, note: dict[str, Any]) -> None:
        """Write the note about an ingested page."""
        place = self.ledger.spool.journal(note)
        if self.pages is not None:
            self.pages.add(note["answer"], place)

    def _accept(self, asked: _Asked, page: Page, sha256: str) -> None:
        """Put a page's records into the ledger, followed by a note about the page."""
        kind, ledger, service = self.result.kind, self.ledger, self.service
        digest = hashlib.sha256()
        ids: list[str] = []
        here: set[str] = set()
        amounts: list[int | None] = []  # for all kinds except comments
        owners: list[str] = []  # for comments
        hidden: list[int] = []  # for comments, by position
        new: list[int] = []
        to_read: list[str] = []
        problems: list[str] = []
        differing = position = 0
        where = message("{kind} list, page {page}:", kind=KIND_NAMES[kind], page=asked.number)
        of_comments, of_entries = kind is Kind.COMMENTS, kind is Kind.ENTRY_LIST
        items = page.items
        forgotten = self._keep_out(items, digest) if self.kept_out else _Forgotten()
        items.reverse()
        while items:
            # Items are released one by one, because a long page and its records would take much memory together.
            item = items.pop()
            position += 1
            record_id = service.key(kind, item)
            if record_id is None or len(record_id) > MAX_ID_CHARACTERS:
                problems.append(
                    message(
                        "{where} item {position} has no usable id and could not be kept", where=where, position=position
                    )
                )
                continue
            item = self._listed_part(record_id, item)
            frozen = lossless_json.freeze(item)
            digest.update(record_id.encode("utf-8", "backslashreplace") + b"\0" + frozen.identity)
            if of_comments:
                if service.may_be_uncounted(item):
                    hidden.append(len(owners))
                owners.append(service.post_id(item))
            else:
                amounts.append(_bounded(service.amount(kind, item)))
            observed = ledger.observe(record_id, frozen, self.number)
            if not observed.again:
                new.append(len(ids))
            elif observed.otherwise and record_id in here:
                problems.append(
                    message(
                        "{where} two records have the id {record_id}; the later one is kept",
                        where=where,
                        record_id=record_id[:40],
                    )
                )
            if not observed.agrees:
                differing += 1
                if of_entries and (self.number > 1 or record_id in ledger.base):
                    to_read.append(record_id)
            ids.append(record_id)
            here.add(record_id)
        records: dict[str, Any] = {"ids": ids, "amounts": amounts, "owners": owners, "hidden": hidden}
        facts = PageFacts(
            asked.cursor, position + forgotten.items, len(new) + forgotten.new, digest.hexdigest(), page.echo,
            page.next, page.pages, page.page_size, page.total, page.total_size, self.result.count(records, new),
        )  # fmt: skip
        may_repeat = sha256 and page.pause is None and not problems and not forgotten.items
        note: dict[str, Any] = {
            "answer": sha256 if may_repeat else None,
            "sweep": self.number,
            "page": asked.cursor,
            "differing": differing,
            "to_read": to_read,
            "facts": {name: getattr(facts, name) for name in _FACTS},
            "problems": [stored(each) for each in problems[:_MAX_NAMED_ITEMS]],
            "unnamed": len(problems[_MAX_NAMED_ITEMS:]),
            "records": records,
            "forgotten": list(forgotten),
        }
        self._note(note)
        self._count(asked, facts, note)

    def _keep_out(self, items: list[Any], digest: hashlib._Hash) -> _Forgotten:
        """Take forgotten records out of a page."""
        kind, service = self.result.kind, self.service
        number, new, owners = len(items), 0, []
        left = []
        for item in items:
            record_id = service.key(kind, item)
            if record_id is None or not self.kept_out.has(service, kind, record_id, item):
                left.append(item)
                continue
            digest.update(record_id.encode("utf-8", "backslashreplace") + b"\0")
            if record_id not in self._forgotten:
                self._forgotten.add(record_id)
                new += 1
                owner = service.post_id(item) if kind is Kind.COMMENTS else ""
                if owner and not self.kept_out.has_entry(service, owner):
                    owners.append(owner)
        items[:] = left
        return _Forgotten(number - len(left), new, owners)

    def _listed_part(self, record_id: str, item: Any) -> Any:
        """Return the part of an item that the list keeps; an entry in it is stored as an entry."""
        if self.take_entry is None:
            return item
        self.take_entry(record_id, item)
        return self.service.listed_part(item)

    def _count(self, asked: _Asked, facts: PageFacts, note: dict[str, Any]) -> None:
        result = self.result
        self._items += len(note["records"]["ids"])
        if self._items:
            result.failure = None
        forgotten = _forgotten_of(note)
        result.forgotten += forgotten.new
        result.comments.update(forgotten.owners)
        result.listed += facts.new - forgotten.new
        result.tally = _sum(result.tally, facts.new_size)
        result.differing += note["differing"]
        result.to_read += note["to_read"]
        room = max(0, _MAX_NAMED_ITEMS - len(result.problems))
        result.problems += [restored(each) for each in note["problems"][:room]]
        self._unnamed += len(note["problems"][room:]) + note["unnamed"]
        if facts.total is not None:
            result.total = min(facts.total, MAX_COUNT)
        if facts.total_size is not None:
            result.total_size = min(facts.total_size, MAX_TOTAL_BYTES)
        self.paginator.accept(facts)
        pages = facts.pages
        if pages is None and facts.total is not None and facts.page_size:
            pages = -(-facts.total // facts.page_size)
        self.emit(PageRead(result.kind, self.number, asked.number, pages))


def _bounded(amount: int | None) -> int | None:
    return None if amount is None else min(max(0, amount), MAX_COUNT)


def _sum(total: int | None, amount: int | None) -> int | None:
    return None if total is None or amount is None else total + amount
