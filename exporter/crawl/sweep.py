"""One sweep over one list: its pages in order, their records into the ledger, and a note on each page."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.crawl.checkpoint import note_of
from exporter.crawl.concurrency import task_group
from exporter.crawl.events import PageRead
from exporter.crawl.pages import PageIndex, page_note, seen_again, without_records
from exporter.errors import ApiError, NotAuthorised, ServiceError, TransportError
from exporter.message import message, said
from exporter.model.kinds import Kind
from exporter.service.interface import BlogService, Cursor, Page, PageFacts

if TYPE_CHECKING:
    from exporter.crawl.events import Event
    from exporter.crawl.ledger import Ledger, Place
    from exporter.http.engine import Client
    from exporter.model.exchange import Response

LARGEST_COUNT: Final = 2**40
"""More comments or bytes than any record has, and more files than any blog."""
LARGEST_TOTAL: Final = 2**53
"""More bytes than any blog has; larger numbers are not the same for every reader of JSON (RFC 8259, 6)."""
UNREADABLE = (ApiError, TransportError, NotAuthorised)
"""What makes one page or record unreadable; any other :class:`ServiceError` ends the run."""
LONGEST_ID: Final = 1000
"""Characters; ids are short numbers as a rule, every id read stays in memory, and an address must hold it."""
_FACTS = tuple(each.name for each in fields(PageFacts))
_NAMED: Final = 100
"""So many unusable items are named one by one, in a page and in a list."""


@dataclass(slots=True)
class SweepResult:
    """What one sweep of one list found.

    Attributes:
        kind: the kind listed.
        complete: whether the whole list was seen.
        listed: how many distinct records it held.
        differing: how many of them are new or changed against the sweep before (in a first sweep: the archive).
        to_read: for the entry list, the ids of these; in a first sweep without the new ones, which are read anyway.
        agreed: whether it saw just what the sweep before saw.
        problems: sentences about pages and items that could not be used.
        doubts: sentences about pages that contradict one another, which may also come of a list that changes meanwhile.
        tally: the sum of :meth:`BlogService.amount` over the records; ``None`` where one of them does not say.
        comments: comments by entry: for the entry list those each item counts, for the comment list those listed;
            emptied by :func:`compare_comments`.
        expected: for the comment list, how many comments the entries count.
        short: for the comment list, by entry, how many of the comments that it counts are not listed.
        over: for the comment list, by entry, how many more comments are listed than the entry counts. An entry that is
            not on the entry list counts none.
        hidden: for the comment list, by entry, how many comments its count may leave out; emptied likewise.
        unstated: the listed entries that state no comment count; for both lists once they were compared.
        total: how many records the list says it has.
        total_size: the sum of their sizes, as the list says.
        date: the ``Date`` of the answer with its first page.
        failure: the error that kept its first page from being read, to end the run with where no list could be read.
        pages: the pages that were read, for the next sweep; none when a record was on the list twice.
        repeated: how many pages, from the first on, were as the sweep before saw them.
        alike: whether all were.
        uncounted: whether its ``comments`` were not counted, since all is as in the sweep before; ``expected``,
            ``short``, ``over`` and ``unstated`` are then as they were.
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
    failure: ServiceError | None = None
    pages: PageIndex = field(default_factory=PageIndex)
    repeated: int = 0
    alike: bool = False
    uncounted: bool = False

    @property
    def vouches(self) -> bool:
        """Whether what the sweep did not see can be believed to be absent."""
        return self.complete and not self.doubts

    def count(self, records: Mapping[str, Any], new: Iterable[int]) -> int | None:
        """Count those records of a page that this sweep sees for the first time; return the sum of their amounts."""
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

    def count_again(self) -> None:
        """Count the comments of the pages that nobody had to look at so far."""
        if self.uncounted:
            for page in range(1, len(self.pages) + 1):
                records = self.pages.note(page)["records"]
                self.count(records, range(len(records["ids"])))


def compare_comments(entries: SweepResult, comments: SweepResult, is_listed: Callable[[str], bool]) -> None:
    """Compare, entry by entry, what the entry list counts with what the comment list holds, and forget the counts.

    One sum for all would let comments of entries that nobody lists make up for others that are kept back.

    Args:
        entries: the sweep of the entry list.
        comments: the sweep of the comment list at the same time.
        is_listed: whether that sweep saw an entry on the entry list.
    """
    if entries.uncounted and comments.uncounted:
        return
    entries.count_again()
    comments.count_again()
    comments.expected = entries.comments.total()
    if comments.complete:
        # Subtracting counters keeps what is short only.
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
    """A page that was read; ``page`` is ``None`` when the answer is the very one that the sweep before got."""

    page: Page | None
    body: bytes = b""
    weight: int = 0


class _Asked(NamedTuple):
    """A page that was asked for; ``task`` reads it ahead of its turn, ``None`` where it is read when its turn comes.

    ``number`` counts from 1: the cursor itself where that is a number.
    """

    cursor: Cursor
    number: int
    task: asyncio.Task[_Answer | ServiceError | None] | None


class Sweep:
    """Sweep number ``number`` (from 1) of the list of ``kind``.

    Args:
        kind: the kind listed.
        number: of the sweep.
        service: reads the records.
        client: sends the requests.
        blog_id: the blog.
        entry_ids: the listed entries, where comments are listed for each of them.
        ledger: where the records go.
        emit: is called for every page.
        known: the pages that an interrupted run had dealt with.
        before: what the sweep before found, or the run before. A page whose answer is the very same as then is not
            parsed again: its records are taken from the note about it.
    """

    def __init__(
        self,
        kind: Kind,
        number: int,
        service: BlogService,
        client: Client,
        blog_id: str,
        entry_ids: Sequence[str],
        ledger: Ledger,
        emit: Callable[[Event], None],
        known: Mapping[Cursor, Place] | None = None,
        before: SweepResult | None = None,
    ) -> None:
        self._service = service
        self._client = client
        self._paginator = service.pages(kind, blog_id, entry_ids)
        self._ledger = ledger
        self._emit = emit
        self._number = number
        self._known = known or {}
        self._before = before or SweepResult(kind)
        self._asked = 0
        self._items = 0
        self._held = 0
        self._unnamed = 0
        self._marked = 0
        self._result = SweepResult(kind, pages=PageIndex(ledger.note))

    async def run(self, window: int) -> SweepResult:
        """Read to the end of the list.

        Raises:
            ServiceError: the service as a whole failed.
        """
        try:
            async with task_group() as group:
                await self._read_pages(window, group)
        finally:
            self._client.budget.release(self._held)
        result = self._result
        result.alike = 0 < len(result.pages) == result.repeated
        if result.alike and self._ledger.see_again(self._number, result.listed):
            result.uncounted, result.expected, result.short = True, self._before.expected, self._before.short
            result.over, result.unstated = self._before.over, self._before.unstated
        else:
            self._mark_repeated()
        if self._unnamed:
            what = message(
                "{unnamed} more items had no usable id, or one that was there twice; run again", unnamed=self._unnamed
            )
            result.problems.append(message("{kind} list: {problem}", kind=result.kind, problem=what))
        result.problems = [*self._paginator.problems, *result.problems]
        result.complete = self._paginator.complete and not result.problems
        result.agreed = not result.differing and result.listed == self._before.listed
        self._before.pages.clear()
        result.pages.records = result.listed
        result.doubts = self._paginator.doubts
        if self._items != result.listed:
            twice = message("{n} items are listed more than once", n=self._items - result.listed)
            result.doubts = [*result.doubts, message("{kind} list: {problem}", kind=result.kind, problem=twice)]
            # Then the newest state of a record is not what every page with it holds.
            result.pages.clear()
        return result

    async def _read_pages(self, window: int, group: asyncio.TaskGroup) -> None:
        asked: deque[_Asked] = deque()
        while not self._paginator.finished:
            for cursor in self._paginator.wanted(window):
                self._asked += 1
                number = cursor if isinstance(cursor, int) else self._asked
                ahead = asked and cursor not in self._known
                task = group.create_task(self._read_ahead(cursor, number)) if ahead else None
                asked.append(_Asked(cursor, number, task))
            turn = asked.popleft()
            if turn.cursor in self._known:
                self._replay(turn)
            else:
                await self._ingest(turn)
        for unwanted in asked:
            if unwanted.task is not None:
                unwanted.task.cancel()

    async def _read(self, cursor: Cursor, number: int) -> _Answer | ServiceError:
        call = self._paginator.call(cursor)
        known = self._before.pages.body(number)

        def parse(response: Response) -> _Answer:
            if number == 1:
                self._result.date = response.headers.get("date")
            body = hashlib.sha256(response.body).digest()
            if body == known:
                return _Answer(None)
            return _Answer(call.parse(response), body, lossless_json.weight(response.body))

        try:
            # A list that was just read is what tells best, later, whether the service still answers.
            return await self._client.fetch(call.request, parse, probe=True)
        except UNREADABLE as error:
            return error.with_traceback(None)  # which would hold the answer

    async def _read_ahead(self, cursor: Cursor, number: int) -> _Answer | ServiceError | None:
        """Read a page that has to wait for its turn; ``None`` for one that is too heavy to wait."""
        answer = await self._read(cursor, number)
        if isinstance(answer, _Answer):
            if not self._client.budget.hold(answer.weight):
                return None
            self._held += answer.weight
        return answer

    async def _ingest(self, asked: _Asked) -> None:
        """Ingest the page whose turn it is."""
        answer = await asked.task if asked.task is not None else None
        held = answer.weight if isinstance(answer, _Answer) else 0
        if answer is None:
            answer = await self._read(asked.cursor, asked.number)
        if isinstance(answer, ServiceError):
            missing = isinstance(answer, ApiError)
            note: dict[str, Any] = {
                "sweep": self._number,
                "page": asked.cursor,
                "failed": str(answer),
                "missing": missing,
                "records": {"ids": []},
            }
            self._ledger.spool.journal(note)
            self._fail(asked, answer, missing=missing)
        elif answer.page is None:
            self._repeat(asked)
        else:
            self._accept(asked, answer.page, answer.body)
        self._client.budget.release(held)
        self._held -= held

    def _fail(self, asked: _Asked, error: ServiceError, *, missing: bool) -> None:
        if asked.number == 1:
            self._result.failure = error
        self._paginator.accept_failure(asked.cursor, said(error), missing=missing)

    def _accept(self, asked: _Asked, page: Page, body: bytes) -> None:
        """Put a page's records into the ledger, and a note about it behind them."""
        self._mark_repeated()
        kind, ledger, service = self._result.kind, self._ledger, self._service
        digest = hashlib.sha256()
        ids: list[str] = []
        here: set[str] = set()
        amounts: list[int | None] = []  # of all but comments
        owners: list[str] = []  # of comments
        hidden: list[int] = []  # of comments, by position
        new: list[int] = []
        to_read: list[str] = []
        problems: list[str] = []
        differing = position = 0
        where = message("{kind} list, page {page}:", kind=kind, page=asked.number)
        of_comments, of_entries = kind is Kind.COMMENTS, kind is Kind.ENTRY_LIST
        items = page.items
        items.reverse()
        while items:
            # An ingested item goes at once, so that the objects of a long page and its records add up to little more.
            item = items.pop()
            position += 1
            record_id = service.key(kind, item)
            if record_id is None or len(record_id) > LONGEST_ID:
                lack = (
                    message("no usable id")
                    if record_id is None
                    else message("an id of {count} characters", count=len(record_id))
                )
                problems.append(
                    message(
                        "{where} item {position} has {lack} and could not be kept",
                        where=where,
                        position=position,
                        lack=lack,
                    )
                )
                continue
            frozen = lossless_json.freeze(item)
            digest.update(record_id.encode("utf-8", "backslashreplace") + b"\0" + frozen.identity)
            if of_comments:
                if service.may_be_uncounted(item):
                    hidden.append(len(owners))
                owners.append(service.post_id(item))
            else:
                amounts.append(_bounded(service.amount(kind, item)))
            observed = ledger.observe(record_id, frozen, self._number)
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
                if of_entries and (self._number > 1 or record_id in ledger.base):
                    to_read.append(record_id)
            ids.append(record_id)
            here.add(record_id)
        records: dict[str, Any] = {"ids": ids, "amounts": amounts, "owners": owners, "hidden": hidden}
        facts = PageFacts(
            asked.cursor, position, len(new), digest.hexdigest(), page.echo, page.next, page.pages, page.page_size,
            page.total, page.total_size, self._result.count(records, new),
        )  # fmt: skip
        note = page_note(
            self._number,
            asked.cursor,
            {name: getattr(facts, name) for name in _FACTS},
            records,
            differing=differing,
            to_read=to_read,
            problems=problems[:_NAMED],
            unnamed=len(problems[_NAMED:]),
            body=body.hex(),
        )
        self._count(asked, facts, note, len(ids), ledger.spool.journal(note))

    def _replay(self, asked: _Asked) -> None:
        """Ingest a page from the note that an interrupted run left of it; the ledger has its records already."""
        place = self._known[asked.cursor]
        note = note_of(self._ledger.note(*place)) or {}
        if "failed" in note:
            self._fail(asked, ServiceError(note["failed"]), missing=note["missing"])
        else:
            self._count(asked, self._mark(asked, note), note, len(note["records"]["ids"]), place)

    def _repeat(self, asked: _Asked) -> None:
        """Ingest a page that is as the sweep before saw it, when its records were on no other page.

        As long as that is so of all pages, nothing can have moved, and all records are noted as seen at the end.
        """
        text = seen_again(self._before.pages.line(asked.number), self._number, asked.cursor)
        place = self._ledger.spool.journal(text)
        result = self._result
        if asked.number == result.repeated + 1 == len(result.pages) + 1:
            result.repeated += 1
            note = without_records(text)
            facts = PageFacts(**{**note["facts"], "cursor": asked.cursor})
            self._count(asked, facts, note, facts.new, place)
        else:
            note = dict(lossless_json.loads(text))
            self._count(asked, self._mark(asked, note), note, len(note["records"]["ids"]), place)

    def _mark_repeated(self) -> None:
        """Note that this sweep saw the records of the pages that were as before, and count their comments."""
        for page in range(self._marked + 1, self._result.repeated + 1):
            records = self._before.pages.note(page)["records"]
            self._result.count(records, range(len(records["ids"])))
            for record_id in records["ids"]:
                self._ledger.mark(record_id, self._number)
        self._marked = self._result.repeated

    def _mark(self, asked: _Asked, note: dict[str, Any]) -> PageFacts:
        """Note that this sweep saw the records of a page, and return what the paginator needs to know of it."""
        self._mark_repeated()
        sweep, mark, records = self._number, self._ledger.mark, note["records"]
        new = [at for at, each in enumerate(records["ids"]) if mark(each, sweep) != sweep]
        new_size = self._result.count(records, new)
        return PageFacts(**{**note["facts"], "cursor": asked.cursor, "new": len(new), "new_size": new_size})

    def _count(self, asked: _Asked, facts: PageFacts, note: dict[str, Any], items: int, place: Place) -> None:
        result = self._result
        result.pages.put(asked.number, bytes.fromhex(note.get("body", "")), place)
        self._items += items
        result.listed += facts.new
        result.tally = _sum(result.tally, facts.new_size)
        result.differing += note["differing"]
        result.to_read += note["to_read"]
        room = max(0, _NAMED - len(result.problems))
        result.problems += note["problems"][:room]
        self._unnamed += len(note["problems"][room:]) + note["unnamed"]
        if facts.total is not None:
            result.total = min(facts.total, LARGEST_COUNT)
        if facts.total_size is not None:
            result.total_size = min(facts.total_size, LARGEST_TOTAL)
        self._paginator.accept(facts)
        pages = facts.pages
        if pages is None and facts.total is not None and facts.page_size:
            pages = -(-facts.total // facts.page_size)
        self._emit(PageRead(result.kind, self._number, asked.number, pages))


def _bounded(amount: int | None) -> int | None:
    return None if amount is None else min(max(0, amount), LARGEST_COUNT)


def _sum(total: int | None, amount: int | None) -> int | None:
    return None if total is None or amount is None else total + amount
