"""The pages of a list as a sweep saw them, in 48 bytes each: a blog of 100,000 entries has tens of thousands."""

from __future__ import annotations

import asyncio
import hashlib
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.crawl.checkpoint import note_of
from exporter.crawl.events import PageRead
from exporter.errors import ApiError, NotAuthorised, ServiceError, TransportError
from exporter.model.assumptions import TIMEZONE
from exporter.model.kinds import Kind, key_of
from exporter.service.blog_v1 import FilePage, ListPage
from exporter.service.pagination import PageFacts, Walk
from exporter.service.records_v1 import DEFAULT_RECORDS, FieldReader

if TYPE_CHECKING:
    from exporter.crawl.checkpoint import Spool
    from exporter.crawl.events import Event
    from exporter.crawl.ledger import Ledger, Place
    from exporter.http.memory_budget import MemoryBudget

_DIGEST = 32
_NONE = bytes(_DIGEST)


class SeenPages:
    """For every page, counted from 1, the SHA-256 of the whole answer and where its note stands in the spool."""

    def __init__(self) -> None:
        self._bodies = bytearray()
        self._places = array("Q")

    def put(self, page: int, body: bytes, place: Place) -> None:
        """Remember a page; ``body`` is empty where the answer is not known any more."""
        missing = page - len(self._places) // 2
        if missing > 0:
            self._bodies += _NONE * missing
            self._places.extend([0, 0] * missing)
        self._bodies[(page - 1) * _DIGEST : page * _DIGEST] = body or _NONE
        self._places[2 * page - 2], self._places[2 * page - 1] = place

    def body(self, page: int) -> bytes | None:
        """Return the SHA-256 of a page's answer, ``None`` when it was not seen."""
        found = bytes(self._bodies[(page - 1) * _DIGEST : page * _DIGEST])
        return found if found and found != _NONE else None

    def place(self, page: int) -> Place:
        """Return the offset and the length of a page's note."""
        return self._places[2 * page - 2], self._places[2 * page - 1]

    def clear(self) -> None:
        """Forget all pages."""
        self._bodies.clear()
        del self._places[:]


Page = ListPage | FilePage
LARGEST_COUNT = 2**40
"""More comments or bytes than any record has, and more files than any blog."""
LARGEST_TOTAL = 2**53
"""More bytes than any blog has; larger numbers are not the same for every reader of JSON (RFC 8259, 6)."""
_Ahead = Page | str | None
UNREADABLE = (ApiError, TransportError, NotAuthorised)
"""What makes one page or record unreadable; any other :class:`ServiceError` ends the run."""
LONGEST_ID: Final = 1000
"""Characters; the service's ids are short numbers, every id read stays in memory, and an address must hold it."""
_NAMED: Final = 100
"""So many unusable items are named one by one, in a page and in a list."""
_TOO_HEAVY: Final = "too heavy"
"""In place of a page that was read ahead of its turn and does not fit beside the others that wait."""


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
        tally: the sum over the records of what the sweep was told to add up; ``None`` where one of them does not say.
        comments: comments by entry: for the entry list those each item counts, for the comment list those listed;
            let go of by :func:`compare_comments`.
        expected: for the comment list, how many comments the entries count.
        short: for the comment list, by entry, how many of the comments that it counts are not listed.
        filenum: files said to exist, for the file list.
        totalsize: their size said, for the file list.
        failure: the error that kept its first page from being read, to end the run with where no list could be read.
        seen: the pages that were read, for the next sweep; none when a record stood on the list twice.
    """

    kind: Kind
    complete: bool = False
    listed: int = 0
    differing: int = 0
    to_read: list[str] = field(default_factory=list)
    agreed: bool = False
    problems: list[str] = field(default_factory=list)
    tally: int | None = 0
    comments: Counter[str] = field(default_factory=Counter)
    expected: int = 0
    short: dict[str, int] = field(default_factory=dict)
    filenum: int | None = None
    totalsize: int | None = None
    failure: ServiceError | None = None
    seen: SeenPages = field(default_factory=SeenPages)


def compare_comments(entries: SweepResult, comments: SweepResult) -> None:
    """Compare, entry by entry, what the entry list counts with what the comment list holds, and forget the counts.

    One sum for all would let comments of entries that nobody lists make up for others that are kept back.
    """
    comments.expected = entries.comments.total()
    if comments.complete:
        # Subtracting counters keeps what is short only.
        comments.short = dict(entries.comments - comments.comments)
    entries.comments.clear()
    comments.comments.clear()


class Sweep:
    """Sweep number ``number`` (from 1) of the list of ``kind``.

    ``known`` are the pages a dead run had dealt with; ``before`` is what the sweep before found. A page whose answer
    is the very same as then needs not be looked into: its records are taken in from the note it left.
    """

    def __init__(
        self,
        kind: Kind,
        number: int,
        walk: Walk,
        fetch: Callable[[int, bytes | None], Awaitable[Page | None]],
        ledger: Ledger,
        spool: Spool,
        emit: Callable[[Event], None],
        tally_field: str | None = None,
        known: Mapping[int, Place] | None = None,
        before: SweepResult | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        self._walk = walk
        self._budget = budget
        self._fetch = fetch
        self._ledger = ledger
        self._spool = spool
        self._emit = emit
        self._number = number
        self._tally_field = tally_field
        self._known = known or {}
        self._before = before or SweepResult(kind)
        self._items = 0
        self._held = 0
        self._unnamed = 0
        self._result = SweepResult(kind)

    async def run(self, window: int) -> SweepResult:
        """Read to the end of the list.

        Raises:
            ServiceError: the service as a whole failed.
        """
        asked: dict[int, asyncio.Task[_Ahead] | None] = {}
        try:
            while not self._walk.finished:
                wanted = self._walk.wanted(window)
                turn = min([*asked, *wanted])
                for page in wanted:
                    ahead = page != turn and page not in self._known
                    asked[page] = asyncio.create_task(self._read_ahead(page)) if ahead else None
                task = asked.pop(turn)
                if turn in self._known:
                    self._replay(turn)
                else:
                    await self._take(turn, task)
        finally:
            await _abandon([task for task in asked.values() if task is not None])
            if self._budget is not None:
                self._budget.release(self._held)
        result = self._result
        if self._unnamed:
            what = f"{self._unnamed} more items had no usable id, or one that was there twice; run again"
            result.problems.append(f"{result.kind} list: {what}")
        result.problems = [*self._walk.problems, *result.problems]
        result.complete = self._walk.complete and not result.problems
        result.agreed = not result.differing and result.listed == self._before.listed
        self._before.seen.clear()
        if self._items != result.listed:
            # Then the newest state of a record is not what every page with it holds.
            result.seen.clear()
        return result

    async def _read(self, page: int) -> Page | None:
        return await self._fetch(page, self._before.seen.body(page))

    async def _read_ahead(self, page: int) -> _Ahead:
        """Read a page that has to wait for its turn; one that is too heavy to wait is let go of."""
        answer = await self._read(page)
        if answer is not None and self._budget is not None:
            if not self._budget.hold(answer.weight):
                return _TOO_HEAVY
            self._held += answer.weight
        return answer

    async def _take(self, page: int, task: asyncio.Task[_Ahead] | None) -> None:
        """Take in the page whose turn it is; one read now is in nobody's hands in between."""
        try:
            answer = await task if task is not None else _TOO_HEAVY
            waited = 0 if answer is None or isinstance(answer, str) else answer.weight
            if isinstance(answer, str):
                answer = await self._read(page)
        except UNREADABLE as error:
            missing = isinstance(error, ApiError)
            note = {"sweep": self._number, "page": page, "ids": [], "failed": str(error), "missing": missing}
            self._spool.journal(note)
            self._fail(page, error, missing=missing)
        else:
            if answer is None:
                self._repeat(self._before.seen.place(page))
            else:
                self._accept(page, answer)
            if self._budget is not None:
                self._budget.release(waited)
                self._held -= waited

    def _fail(self, page: int, error: ServiceError, *, missing: bool) -> None:
        if page == 1:
            self._result.failure = error
        self._walk.accept_failure(page, str(error), missing=missing)

    def _accept(self, page: int, answer: Page) -> None:
        """Take in a page, and note it down in the checkpoint behind its records."""
        kind, ledger = self._result.kind, self._ledger
        digest = hashlib.sha256()
        ids: list[str] = []
        here: set[str] = set()
        counts: list[int | None] = []
        owners: list[str] = []
        to_read: list[str] = []
        problems: list[str] = []
        new = differing = 0
        new_count: int | None = 0
        items = answer.items
        items.reverse()
        position = 0
        while items:
            # What is taken in goes at once, so that the objects of a long page and its records add up to little more.
            item = items.pop()
            position += 1
            record_id = DEFAULT_RECORDS.key(kind, item)
            if record_id is None or len(record_id) > LONGEST_ID:
                lack = "no usable id" if record_id is None else f"an id of {len(record_id)} characters"
                problems.append(f"{kind} list, page {page}: item {position} has {lack} and could not be kept")
                continue
            frozen = lossless_json.freeze(item)
            digest.update(record_id.encode("utf-8", "backslashreplace") + b"\0" + frozen.identity)
            count = 0 if self._tally_field is None else count_of(item, self._tally_field)
            owner = (key_of(item.get("entry_id")) or "") if kind is Kind.COMMENTS else record_id
            observed = ledger.observe(record_id, frozen, self._number)
            if not observed.again:
                new += 1
                new_count = _sum(new_count, count)
                self._add(owner, count)
            elif observed.otherwise and record_id in here:
                shown = record_id[:40]
                problems.append(f"{kind} list, page {page}: two records have the id {shown}; the later one is kept")
            if not observed.agrees:
                differing += 1
                if kind is Kind.ENTRY_LIST and (self._number > 1 or record_id in ledger.base):
                    to_read.append(record_id)
            ids.append(record_id)
            here.add(record_id)
            counts.append(count)
            owners.append(owner)
        facts = replace(answer.facts(page, new, digest.hexdigest()), count=position, new_bytes=new_count)
        note = {
            "sweep": self._number,
            "page": page,
            "ids": ids,
            "counts": counts if self._tally_field is not None else [],
            "owners": owners if kind is Kind.COMMENTS else [],
            "differing": differing,
            "to_read": to_read,
            "problems": problems[:_NAMED],
            "unnamed": len(problems[_NAMED:]),
            "totalsize": answer.totalsize if isinstance(answer, FilePage) else None,
            "body": answer.body.hex(),
            "facts": {name: getattr(facts, name) for name in facts.__slots__},
        }
        self._count(facts, note, self._spool.journal(note))

    def _replay(self, page: int) -> None:
        """Take in a page from the note a dead run left of it; the ledger knows its records already."""
        place = self._known[page]
        note = note_of(self._ledger.note(*place)) or {}
        if "failed" in note:
            self._fail(page, ServiceError(note["failed"]), missing=note["missing"])
            return
        self._count(self._sighted(note), note, place)

    def _repeat(self, place: Place) -> None:
        """Take in a page that is as the sweep before saw it."""
        note = note_of(self._ledger.note(*place)) or {}
        note.update(sweep=self._number, differing=0, to_read=[])
        self._count(self._sighted(note), note, self._spool.journal(note))

    def _sighted(self, note: dict[str, Any]) -> PageFacts:
        """Note that this sweep saw the records of a page, and return what the walk needs to know of it."""
        new = 0
        new_count: int | None = 0
        ids = note["ids"]
        for record_id, count, owner in zip(ids, note["counts"] or repeat(0), note["owners"] or ids, strict=False):
            if self._ledger.seen(record_id) != self._number:
                new += 1
                new_count = _sum(new_count, count)
                self._add(owner, count)
            self._ledger.mark(record_id, self._number)
        return PageFacts(**{**note["facts"], "new": new, "new_bytes": new_count})

    def _add(self, owner: str, count: int | None) -> None:
        """Count a record that this sweep sees for the first time."""
        result = self._result
        if result.kind is Kind.COMMENTS:
            result.comments[owner] += 1
            return
        result.tally = _sum(result.tally, count)
        if result.kind is Kind.ENTRY_LIST and count:
            result.comments[owner] = count

    def _count(self, facts: PageFacts, note: dict[str, Any], place: Place) -> None:
        result = self._result
        result.seen.put(facts.page, bytes.fromhex(note.get("body", "")), place)
        self._items += len(note["ids"])
        result.listed += facts.new
        result.differing += note["differing"]
        result.to_read += note["to_read"]
        room = max(0, _NAMED - len(result.problems))
        result.problems += note["problems"][:room]
        self._unnamed += len(note["problems"][room:]) + note["unnamed"]
        result.filenum = min(facts.filenum, LARGEST_COUNT) if facts.filenum is not None else result.filenum
        totalsize = note["totalsize"]
        result.totalsize = min(totalsize, LARGEST_TOTAL) if totalsize is not None else result.totalsize
        self._walk.accept(facts)
        self._emit(PageRead(result.kind, self._number, facts.page, _pages(facts)))


async def _abandon(tasks: list[asyncio.Task[_Ahead]]) -> None:
    """End tasks whose results nobody wants any more."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def count_of(item: Any, name: str) -> int | None:
    """Return a count from a raw record, no larger than :data:`LARGEST_COUNT`; ``None`` where it says none."""
    number = FieldReader(item, TIMEZONE).number(name)
    return None if number is None else min(max(0, number), LARGEST_COUNT)


def _sum(total: int | None, count: int | None) -> int | None:
    return None if total is None or count is None else total + count


def _pages(facts: PageFacts) -> int | None:
    if facts.all_page is not None:
        return facts.all_page
    if facts.filenum is not None and facts.limit:
        return -(-facts.filenum // facts.limit)
    return None
