"""One pass over one list: pages read ahead, taken in by page order, every record keyed by its id.

What is taken in goes to the ledger and the checkpoint; a sweep that a dead run had begun is gone on with from there.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exporter import codec
from exporter.api.client import FilePage, ListPage
from exporter.api.paging import PageFacts, Walk
from exporter.crawl.events import PageRead
from exporter.errors import ApiError, NotAuthorised, ServiceError, TransportError
from exporter.model.assumptions import TIMEZONE
from exporter.model.fields import FieldReader
from exporter.model.kinds import Kind, record_key

if TYPE_CHECKING:
    from exporter.crawl.checkpoint import Spool
    from exporter.crawl.events import Event
    from exporter.crawl.ledger import Ledger

Page = ListPage | FilePage
UNREADABLE = (ApiError, TransportError, NotAuthorised)
"""What makes one page or record unreadable; any other :class:`ServiceError` ends the run."""


@dataclass(slots=True)
class SweepResult:
    """What one sweep of one list found.

    Attributes:
        kind: the kind listed.
        complete: whether the whole list was seen.
        listed: how many distinct records it held.
        differing: ids that are new or changed against the sweep before (in a first sweep: against the archive).
        agreed: whether it saw just what the sweep before saw.
        problems: sentences about pages and items that could not be used.
        tally: the sum over the records of what the sweep was told to add up.
        filenum: files said to exist, for the file list.
        totalsize: their size said, for the file list.
        failure: the error that kept its first page from being read.
    """

    kind: Kind
    complete: bool = False
    listed: int = 0
    differing: list[str] = field(default_factory=list)
    agreed: bool = False
    problems: list[str] = field(default_factory=list)
    tally: int = 0
    filenum: int | None = None
    totalsize: int | None = None
    failure: ServiceError | None = None


class Sweep:
    """Sweep number ``number`` (from 1) of the list of ``kind``."""

    def __init__(
        self,
        kind: Kind,
        number: int,
        walk: Walk,
        fetch: Callable[[int], Awaitable[Page]],
        ledger: Ledger,
        spool: Spool,
        emit: Callable[[Event], None],
        tally_field: str | None = None,
    ) -> None:
        self._walk = walk
        self._fetch = fetch
        self._ledger = ledger
        self._spool = spool
        self._emit = emit
        self._number = number
        self._tally_field = tally_field
        self._result = SweepResult(kind)

    def replay(self, notes: list[dict[str, Any]]) -> None:
        """Take in the pages a dead run had read in this sweep; the ledger knows their records already."""
        for note in notes:
            for record_id in note["ids"]:
                self._ledger.mark(record_id, self._number)
            self._count(note)

    async def run(self, window: int, before: int) -> SweepResult:
        """Read to the end of the list; ``before`` is how many records the sweep before saw.

        Raises:
            ServiceError: the service as a whole failed.
        """
        asked: dict[int, asyncio.Task[Page]] = {}
        try:
            while not self._walk.finished:
                for page in self._walk.wanted(window):
                    asked[page] = asyncio.create_task(self._read(page))
                page = min(asked)
                await self._take(page, asked.pop(page))
        finally:
            for task in asked.values():
                task.cancel()
            await asyncio.gather(*asked.values(), return_exceptions=True)
        result = self._result
        result.problems = [*self._walk.problems, *result.problems]
        result.complete = self._walk.complete and not result.problems
        result.agreed = not result.differing and result.listed == before
        return result

    async def _read(self, page: int) -> Page:
        return await self._fetch(page)

    async def _take(self, page: int, task: asyncio.Task[Page]) -> None:
        try:
            answer = await task
        except UNREADABLE as error:
            if page == 1:
                self._result.failure = error
            self._walk.accept_failure(page, str(error), missing=isinstance(error, ApiError))
            return
        self._accept(page, answer)

    def _accept(self, page: int, answer: Page) -> None:
        kind = self._result.kind
        digest = hashlib.sha256()
        ids: list[str] = []
        differing: list[str] = []
        problems: list[str] = []
        new = tally = 0
        for position, item in enumerate(answer.items, 1):
            record_id = record_key(kind, item)
            if record_id is None:
                problems.append(f"{kind} list, page {page}: item {position} has no usable id and could not be kept")
                continue
            frozen = codec.freeze(item)
            digest.update(record_id.encode("utf-8", "backslashreplace") + b"\0" + frozen.identity)
            if self._ledger.seen(record_id) != self._number:
                new += 1
                tally += 0 if self._tally_field is None else count_of(item, self._tally_field)
            if not self._ledger.observe(record_id, frozen, self._number):
                differing.append(record_id)
            ids.append(record_id)
        facts = answer.facts(page, new, digest.hexdigest())
        note = {
            "sweep": self._number,
            "facts": {name: getattr(facts, name) for name in facts.__slots__},
            "ids": ids,
            "differing": differing,
            "problems": problems,
            "tally": tally,
            "totalsize": answer.totalsize if isinstance(answer, FilePage) else None,
        }
        self._spool.journal(note)
        self._count(note)
        self._emit(PageRead(kind, self._number, page, _pages(facts)))

    def _count(self, note: dict[str, Any]) -> None:
        facts = PageFacts(**note["facts"])
        result = self._result
        result.listed += facts.new
        result.tally += note["tally"]
        result.differing += note["differing"]
        result.problems += note["problems"]
        result.filenum = facts.filenum if facts.filenum is not None else result.filenum
        result.totalsize = note["totalsize"] if note["totalsize"] is not None else result.totalsize
        self._walk.accept(facts)


def count_of(item: Any, name: str) -> int:
    """Return a count from a raw record; what is no number counts as nothing."""
    return max(0, FieldReader(item, TIMEZONE).number(name) or 0)


def _pages(facts: PageFacts) -> int | None:
    if facts.all_page is not None:
        return facts.all_page
    if facts.filenum is not None and facts.limit:
        return -(-facts.filenum // facts.limit)
    return None
