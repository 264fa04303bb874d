"""Reading the service: ``lists -> entries -> lists again`` until two sweeps agree, into ledgers and the checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter import lossless_json
from exporter.archive.state import SegmentFiles
from exporter.clock import differs, timestamp
from exporter.crawl import pages
from exporter.crawl.checkpoint import Checkpoint
from exporter.crawl.concurrency import for_each, run_together, task_group
from exporter.crawl.events import ClockDiffers, EntriesPlanned, EntryRead, Event, RecordFailed, SweepDone
from exporter.crawl.freshness import Age, Listed, Refresh, entries_to_read
from exporter.crawl.ledger import UNSEEN, Ledger, Place, restore
from exporter.crawl.replaced import Replaced
from exporter.crawl.sweep import LONGEST_ID, UNREADABLE, Sweep, SweepResult, compare_comments
from exporter.errors import ApiError, ArchiveDamaged, BlogGone, NotAuthorised, ServiceError, TransportError
from exporter.message import message, said
from exporter.model.kinds import Kind
from exporter.service.interface import BlogService, Call, Cursor, Page, Validators, WrongRecord

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.state import State
    from exporter.clock import Clock
    from exporter.crawl.freshness import Freshness
    from exporter.crawl.settings import BackupSettings
    from exporter.http.engine import Client

LISTS = (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)
MOST_SWEEPS = 4

_GONE = frozenset({404, 410})


class Unread(NamedTuple):
    """Why an entry could not be read, as text: an exception would keep alive all that was at hand when it was raised.

    ``last_try`` is the last sweep that asks for it again.
    """

    reason: str
    last_try: int

    @classmethod
    def after(cls, error: ServiceError) -> Unread:
        """Judge by the error: a refusal may have been a slip of the service, but only once."""
        if isinstance(error, TransportError):
            return cls(said(error), MOST_SWEEPS)
        return cls(said(error), 2 if isinstance(error, ApiError) else 0)


class EntryCounts(NamedTuple):
    """Entries by what this run did about them.

    Attributes:
        read: read by this run.
        carried_over: listed, and carried over from the archive.
        unread: not to be read.
        contradicted: of those that were read, the ones that the entry list does not hold.
    """

    read: int
    carried_over: int
    unread: int
    contradicted: int = 0


class Ingest:
    """What one run reads. Afterwards the ledgers hold the records, and the attributes what could not be read.

    Attributes:
        ledgers: for each kind, the archive's records and what this run saw of them.
        sweeps: the results of every sweep, oldest first.
        unread: entry ids to what kept them from being read.
        contradicted: ids of entries that are not on the entry list, and that ``entry/get`` answered all the same.
        not_asked: how many unlisted entries that something names were not asked for, since they are too many.
        unread_before: ids of entries that an earlier run could not read.
        replaced: what became of the texts of entries.
        user_failure: what kept the user from being read.
        service_time: the time that the service states, where it is more than a day away from this machine's.
        other_user: whether the service answers as another user than those in the archive.
        restored: how many records a checkpoint brought along.
        full_text_in_lists: whether entries are read from the entry list, and not one by one.
    """

    def __init__(
        self,
        service: BlogService,
        client: Client,
        checkpoint: Checkpoint,
        state: State,
        settings: BackupSettings,
        freshness: Freshness,
        clock: Clock,
        emit: Callable[[Event], None],
    ) -> None:
        self._service = service
        self._client = client
        self._blog_id = settings.blog_id
        self._checkpoint = checkpoint
        self._state = state
        self._settings = settings
        self._freshness = freshness
        self._clock = clock
        self._emit = emit
        self._known: dict[tuple[Kind, int], dict[Cursor, Place]] = {}
        self.ledgers = {kind: Ledger(state.kinds[kind], checkpoint.spools[kind]) for kind in Kind}
        self.sweeps: list[dict[Kind, SweepResult]] = []
        self.unread: dict[str, Unread] = {}
        self.contradicted: list[str] = []
        self.not_asked = 0
        self.unread_before: Sequence[str] = ()
        self.replaced = Replaced(service)
        self.user_failure: str | None = None
        self.other_user = False
        self.service_time: str | None = None
        self.restored = 0
        self.full_text_in_lists = service.capabilities.full_text_in_lists
        self._kept: dict[Kind, SweepResult] = {}
        self._kept_files = SegmentFiles()
        self._next_second = float("-inf")
        self._second = (datetime.min.replace(tzinfo=UTC), "")

    def restore(self) -> None:
        """Restore what an interrupted run left in the checkpoint."""
        found = restore(self._checkpoint, self.ledgers, self._freshness)
        self.restored, self._known = found.records, found.pages

    def distrust(self, records: Mapping[Kind, Collection[str]]) -> None:
        """Have damaged records written again: from the archive where it has them elsewhere too, else as read."""
        for kind, ids in records.items():
            for record_id in ids:
                try:
                    line = self._state.line(kind, record_id)
                except ArchiveDamaged:
                    line = None
                self.ledgers[kind].distrust(record_id, None if line is None else line.frozen)
            self._checkpoint.spools[kind].flush()

    def remember(self, path: Path, sealed: str) -> None:
        """Take for read the pages of whole lists that answer as in the run before.

        Args:
            path: what that run kept of its pages.
            sealed: the SHA-256 of the manifest of the version that the archive has.
        """
        same = pages.reading(sealed, self._service.options)
        sizes = {kind: len(self.ledgers[kind].base) for kind in LISTS}
        for kind, kept in pages.load(path, same, sizes, self._kept_files).items():
            ledger = self.ledgers[kind]
            if not len(ledger.fresh) and not ledger.distrusted:
                self._kept[kind] = SweepResult(kind, **kept._asdict())

    @property
    def saw_all_again(self) -> bool:
        """Whether every page of every list was as in the run before."""
        return all(result.alike for results in self.sweeps for result in results.values())

    def keep_pages(self, path: Path, sealed: str) -> None:
        """Write down the pages of the lists that the last sweep saw whole, for :meth:`remember`.

        ``sealed`` is the SHA-256 of the manifest of the version that the run made, or found to hold still.
        """
        whole = {
            kind: pages.KeptList(found.pages, found.expected, found.short, found.over, found.unstated)
            for kind, found in self.sweeps[-1].items()
            if found.complete and len(found.pages)
        }
        pages.save(path, pages.reading(sealed, self._service.options), whole)

    async def run(self, first: Iterable[str] = ()) -> None:
        """Read everything; ``first`` are entries that an earlier run could not read.

        Raises:
            ServiceError: no list could be read, or the service as a whole failed.
        """
        self.unread_before = list(first)
        async with task_group() as group:
            if self._service.capabilities.user:
                group.create_task(self._user())
            await self._until_settled(self.unread_before)

    async def _until_settled(self, first: Iterable[str]) -> None:
        for number in range(1, MOST_SWEEPS + 1):
            results = await self.sweep(number)
            await self._entries(number, first if number == 1 else ())
            settled = number > 1 and all(result.agreed for result in results.values())
            self._emit(SweepDone(number, settled))
            if settled:
                break
        self._forget_vanished()

    def _forget_vanished(self) -> None:
        """Drop from ``unread`` what is no longer listed: it was not there until the end."""
        last = len(self.sweeps)
        if self.sweeps[-1][Kind.ENTRY_LIST].complete:
            items = self.ledgers[Kind.ENTRY_LIST]
            self.unread = {key: unread for key, unread in self.unread.items() if items.seen(key) == last}

    @property
    def _lists_the_archived(self) -> bool:
        """Whether the entry list is as the archive has it, with the record of every entry on it.

        So it is in most runs, and nobody has to look at each entry then.
        """
        items = self.ledgers[Kind.ENTRY_LIST]
        return not len(items.fresh) and items.base.keys.alike(self.ledgers[Kind.ENTRIES].base.keys)

    def count_entries(self) -> EntryCounts:
        """Count the entries that the last sweep listed by what this run did about them."""
        items, entries = self.ledgers[Kind.ENTRY_LIST], self.ledgers[Kind.ENTRIES]
        contradicted = len(self.contradicted)
        if self._lists_the_archived and entries.untouched and not self.unread:
            return EntryCounts(0, items.count_seen(len(self.sweeps)), 0)
        read = carried_over = 0
        unread = len(self.unread)
        for entry_id in items.seen_in(len(self.sweeps)):
            if entry_id in self.unread:
                continue
            if entries.seen(entry_id) != UNSEEN:
                read += 1
            elif entry_id in entries.base:
                carried_over += 1
            else:
                unread += 1
        return EntryCounts(read + contradicted, carried_over, unread, contradicted)

    def short_comments(self) -> dict[str, int]:
        """Return, by entry, how many comments it counts that the comment list did not hold.

        While comments come and go the two lists may be of different moments, so what only one sweep missed does not
        count, as long as another one looked.
        """
        return self._in_both(lambda result: result.short)

    def doubts(self) -> dict[Kind, list[str]]:
        """Return what contradicts itself in each list.

        What only one sweep met came of a change between two pages. A list that is shorter in the end than in an earlier
        sweep, and never the same twice, is no better.
        """
        last, before = self.sweeps[-1], self.sweeps[-2] if len(self.sweeps) > 1 else self.sweeps[-1]
        found = {kind: list(last[kind].doubts) if before[kind].doubts else [] for kind in last}
        for kind, result in last.items():
            most = max(results[kind].listed for results in self.sweeps)
            if result.complete and not result.agreed and result.listed < most:
                shrunk = message(
                    "holds {n} records, and held {most} a moment before; run again", n=result.listed, most=most
                )
                found[kind].append(message("{kind} list: {problem}", kind=kind, problem=shrunk))
        return found

    def extra_comments(self) -> dict[str, int]:
        """Return, by listed entry, how many more comments the comment list held than the entry counts."""
        items, last = self.ledgers[Kind.ENTRY_LIST], len(self.sweeps)
        return {key: count for key, count in self._more_comments().items() if items.seen(key) == last}

    def named_by_comments(self) -> Iterator[str]:
        """Yield the entries that have comments and are not on the entry list, if any of that list could be read."""
        if self.sweeps[-1][Kind.ENTRY_LIST].failure is None:
            items, last = self.ledgers[Kind.ENTRY_LIST], len(self.sweeps)
            yield from (key for key in self._more_comments() if items.seen(key) != last)

    def forget_named(self, gone: Iterable[str]) -> None:
        """Have runs that find the lists unchanged not ask again for entries that comments name and that are gone."""
        for entry_id in gone:
            for results in self.sweeps:
                results[Kind.COMMENTS].over.pop(entry_id, None)

    def _more_comments(self) -> dict[str, int]:
        return self._in_both(lambda result: result.over)

    def _in_both(self, counts: Callable[[SweepResult], dict[str, int]]) -> dict[str, int]:
        newest = counts(self.sweeps[-1][Kind.COMMENTS])
        if len(self.sweeps) < 2 or not self.sweeps[-2][Kind.COMMENTS].complete:
            return newest
        before = counts(self.sweeps[-2][Kind.COMMENTS])
        return {entry_id: min(count, before[entry_id]) for entry_id, count in newest.items() if entry_id in before}

    async def sweep(self, number: int) -> dict[Kind, SweepResult]:
        """Sweep the three lists once.

        Raises:
            ServiceError: no list could be read at all, or the service as a whole failed.
        """
        if self._service.capabilities.comments_per_entry:
            results = await self._sweep((Kind.ENTRY_LIST, Kind.FILES), number)
            entry_ids = list(self.ledgers[Kind.ENTRY_LIST].seen_in(number))
            results |= await self._sweep((Kind.COMMENTS,), number, entry_ids)
        else:
            results = await self._sweep(LISTS, number)
        items = self.ledgers[Kind.ENTRY_LIST]
        compare_comments(
            results[Kind.ENTRY_LIST], results[Kind.COMMENTS], lambda entry_id: items.seen(entry_id) == number
        )
        self.sweeps.append(results)
        if number == 1:
            self._compare_clocks(results.values())
        failures = [result.failure for result in results.values() if result.failure is not None]
        if len(failures) == len(LISTS):
            raise self._hopeless(failures[0])
        for kind, result in results.items():
            for problem in result.problems:
                self._emit(RecordFailed(kind, None, problem))
        return results

    def _compare_clocks(self, results: Iterable[SweepResult]) -> None:
        stated = next((result.date for result in results if result.date is not None), None)
        try:
            served = None if stated is None else parsedate_to_datetime(stated).astimezone(UTC)
        except (ValueError, TypeError, OverflowError, IndexError):
            return
        now = self._clock.now()
        if served is not None and differs(now, served):
            self.service_time = timestamp(served)
            self._emit(ClockDiffers(timestamp(now), service=self.service_time))

    def _hopeless(self, error: ServiceError) -> ServiceError:
        """Return the error that ends a run for which no list could be read."""
        if not isinstance(error, ApiError):
            return error
        text = message("{error}; check the blog ID and the base URL.", error=error)
        return BlogGone(text) if error.status in _GONE else ServiceError(text)

    async def _sweep(
        self, kinds: Sequence[Kind], number: int, entry_ids: Sequence[str] = ()
    ) -> dict[Kind, SweepResult]:
        before = self.sweeps[-1] if self.sweeps else self._kept
        sweeps = {
            kind: Sweep(
                kind,
                number,
                self._service,
                self._client,
                self._blog_id,
                entry_ids,
                self.ledgers[kind],
                self._emit,
                self._known.pop((kind, number), None),
                before.get(kind),
            )
            for kind in kinds
        }
        found = await run_together(sweep.run(self._settings.window) for sweep in sweeps.values())
        return dict(zip(kinds, found, strict=True))

    async def _user(self) -> None:
        ledger = self.ledgers[Kind.USER]
        try:
            data = await self._client.fetch(*self._service.user_call())
        except UNREADABLE as error:
            self.user_failure = said(error)
            return
        user_id = self._service.key(Kind.USER, data)
        if user_id is None or len(user_id) > LONGEST_ID:
            self.user_failure = said(ApiError("user", {}, 200, message("the answer has no usable id")))
            return
        self.other_user = len(ledger.base) > 0 and user_id not in ledger.base
        ledger.observe(user_id, lossless_json.freeze(data), 1)

    async def _entries(self, number: int, first: Iterable[str]) -> None:
        """Read what the sweep makes necessary: at first what the policy says, later what changed meanwhile."""
        entries = self.ledgers[Kind.ENTRIES]
        if number == 1:
            refresh = self._settings.refresh
            listed = () if refresh is Refresh.CHANGED and self._lists_the_archived else self._listed()
            wanted = entries_to_read(listed, refresh, self._age(), self._still_listed(first))
        else:
            wanted = iter(dict.fromkeys([*self.sweeps[-1][Kind.ENTRY_LIST].to_read, *self._worth_another_try(number)]))
        ids = [entry_id for entry_id in wanted if entries.seen(entry_id) < number]
        if ids:
            self._emit(EntriesPlanned(len(ids)))
            await for_each(ids, lambda entry_id: self.read_entry(entry_id, number), self._settings.window)

    def _worth_another_try(self, number: int) -> Iterator[str]:
        """Yield the unread entries that this sweep asks for again."""
        for entry_id, unread in self.unread.items():
            if number <= unread.last_try:
                yield entry_id

    def _listed(self) -> Iterator[Listed]:
        items = self.ledgers[Kind.ENTRY_LIST]
        changed = set(self.sweeps[0][Kind.ENTRY_LIST].to_read)
        ids = list(items.seen_in(1))
        for entry_id in reversed(ids):
            archived = entry_id in self.ledgers[Kind.ENTRIES].base
            yield Listed(entry_id, archived, entry_id in changed)

    def _still_listed(self, ids: Iterable[str]) -> Iterator[str]:
        items = self.ledgers[Kind.ENTRY_LIST]
        return (entry_id for entry_id in ids if items.seen(entry_id) != UNSEEN)

    def _age(self) -> Age | None:
        if self._settings.refresh is not Refresh.AUTO:
            return None
        return Age(self._clock.now(), self._settings.max_age, self._freshness.last_read)

    async def read_entry(self, entry_id: str, sweep: int) -> None:
        """Read one entry into the ledger; a failure is recorded in ``unread``."""
        error = await self.fetch_entry(entry_id, sweep)
        if error is None:
            self.unread.pop(entry_id, None)
            self._emit(EntryRead(entry_id))
        else:
            self.fail(entry_id, error)

    def fail(self, entry_id: str, error: ServiceError) -> None:
        """Record that an entry could not be read."""
        unread = Unread.after(error)
        self.unread[entry_id] = unread
        self._emit(RecordFailed(Kind.ENTRIES, entry_id, unread.reason))

    async def fetch_entry(self, entry_id: str, sweep: int) -> ServiceError | None:
        """Read one entry into the ledger, or return what keeps it from being read.

        Raises:
            NotAuthorised: the service does not let us read anything any more.
            ServiceError: the service as a whole failed.
        """
        ledger = self.ledgers[Kind.ENTRIES]
        try:
            answered = await self._ask_for_entry(entry_id, sweep)
        except UNREADABLE as error:
            if isinstance(error, NotAuthorised):
                # Raises the same when nothing else may be read either.
                await self._client.fetch(*self._first_page())
            return error.with_traceback(None)  # which would hold the answer
        now, written = self._this_second()
        note = {
            "read": entry_id,
            "sweep": sweep,
            "at": written,
            "etag": answered.etag,
            "last_modified": answered.last_modified,
        }
        ledger.spool.journal(note)
        self._freshness.note(entry_id, now, answered)
        return None

    async def _ask_for_entry(self, entry_id: str, sweep: int) -> Validators:
        """Read one entry into the ledger."""
        ledger = self.ledgers[Kind.ENTRIES]
        if self.full_text_in_lists:
            item = self.ledgers[Kind.ENTRY_LIST].frozen(entry_id)
            if item is None and not ledger.holds(entry_id):
                line = self._state.line(Kind.ENTRY_LIST, entry_id)
                item = None if line is None else line.frozen
            if item is None:
                ledger.mark(entry_id, sweep)
            else:
                ledger.observe(entry_id, item, sweep)
            return Validators()
        validators = self._freshness.validators.get(entry_id) if self._service.capabilities.validators else None
        if validators is not None and not ledger.holds(entry_id):
            validators = None
        data, answered = await self._client.fetch(*self._service.entry_call(self._blog_id, entry_id, validators))
        if data is None:
            ledger.mark(entry_id, sweep)
        else:
            frozen = lossless_json.freeze(data)
            if not len(ledger.base) or ledger.identity(entry_id) != frozen.identity:
                self._judge(entry_id, data)
            data = None  # a long entry needs not be in memory three times
            ledger.observe(entry_id, frozen, sweep)
        return answered

    def _judge(self, entry_id: str, data: dict[str, Any]) -> None:
        """Compare an entry that is new or changed with what its list item and the archive say.

        Raises:
            WrongRecord: the answer has less than those, and nothing says why.
        """
        held = self.ledgers[Kind.ENTRIES].holds(entry_id)
        before = self._state.load(Kind.ENTRIES, entry_id) if held else None
        fault = None
        if self.replaced.is_blank(data):
            fault = self._fault_of_blank(entry_id)
        if fault is None and before is not None and not self._settings.accept_removals:
            fault = self.replaced.lost_text(data, before)
        if fault is not None:
            raise WrongRecord("entry/get", {self._service.key_fields[Kind.ENTRIES]: entry_id}, 200, fault)
        self.replaced.count(data, before)

    def _fault_of_blank(self, entry_id: str) -> str | None:
        """Return what is wrong with an entry that has neither a title nor a text: its list item has a title."""
        item = self.ledgers[Kind.ENTRY_LIST].frozen(entry_id)
        listed = self._state.load(Kind.ENTRY_LIST, entry_id) if item is None else lossless_json.loads(item.data)
        title = self._service.title(Kind.ENTRY_LIST, listed or {})
        if not title:
            return None
        return message("the answer has neither a title nor a text; the entry list calls it {title!r}", title=title[:60])

    def _first_page(self) -> Call[Page]:
        paginator = self._service.pages(Kind.ENTRY_LIST, self._blog_id, ())
        return paginator.call(paginator.wanted(0)[0])

    def _this_second(self) -> tuple[datetime, str]:
        """Return the time in whole seconds, the same object for all entries of a second, and how it is written."""
        if self._clock.monotonic() >= self._next_second:
            now = self._clock.now()
            self._second = now.replace(microsecond=0), timestamp(now)
            self._next_second = self._clock.monotonic() + 1 - now.microsecond / 1e6
        return self._second

    def close(self) -> None:
        """Close the files read back from, and let go of the ledgers: whatever comes after a run needs their memory."""
        for ledger in self.ledgers.values():
            ledger.close()
        self._kept_files.close()
        self.ledgers.clear()
