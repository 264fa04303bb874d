"""Reading the service into ledgers and the checkpoint: ``lists -> entries -> lists again`` until two sweeps agree."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.clock import differs, timestamp
from exporter.crawl.checkpoint import Checkpoint, Purpose
from exporter.crawl.events import ClockDiffers, EntriesPlanned, EntryRead, Event, RecordFailed, SweepDone
from exporter.crawl.freshness import Age, Refresh, entries_to_read, grouped
from exporter.crawl.held import entry_held, group_held, user_held
from exporter.crawl.kept_out import KeptOut
from exporter.crawl.ledger import UNSEEN, EntryTexts, Ledger, restore
from exporter.crawl.sweep import MAX_ID_CHARACTERS, MAX_SWEEPS, UNREADABLE, Sweep, SweepResult, compare_comments
from exporter.crawl.tasks import for_each, run_together, task_group
from exporter.errors import ApiError, ArchiveDamaged, BlogGone, BlogRefused, NotAuthorised, ServiceError, TransportError
from exporter.frozen import frozen
from exporter.message import message, said, stored
from exporter.model.kinds import KIND_NAMES, Kind
from exporter.model.publication import Declared
from exporter.service.interface import BlogService, EntryAnswer, Original, Validators, WrongRecord

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.clock import Clock
    from exporter.crawl.assets.plan import AssetSettings
    from exporter.crawl.freshness import Freshness
    from exporter.crawl.seen_pages import SeenPages
    from exporter.http.engine import ServiceClient
    from exporter.lossless_json import Frozen

LISTS = (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)
_MIN_TOGETHER: Final = 20
"""Fewer entries than this are read alone."""

_GONE = frozenset({404, 410})
_NOTES_VERSION: Final = 8
"""Incremented when the notes in checkpoints change, so that those of earlier programs are not resumed."""


@frozen
class BackupSettings:
    """The settings of a backup.

    Attributes:
        blog_id: the blog, by its domain.
        base_url: the service's address, as the archive states it.
        concurrency: pages or entries that are requested at a time.
        refresh: the archived entries that are read again.
        max_age: the age at which ``Refresh.AUTO`` reads an entry again.
        accept_removals: record removals even if a large part of the blog is gone.
        dry_run: only read the lists and write nothing.
        resume_max_age: the oldest interrupted run that is resumed.
        assets: settings for pictures and files; ``None`` to read none.
        strict_assets: whether files that are gone for good make the backup incomplete.
        declared: what the owner declared about flags, which decides which recorded exchanges are public.
        operator: who records the exchanges, for ``warcinfo``; may be empty.
    """

    blog_id: str
    base_url: str
    concurrency: int = 8
    refresh: Refresh = Refresh.ALL
    max_age: timedelta = timedelta(days=7)
    accept_removals: bool = False
    dry_run: bool = False
    resume_max_age: timedelta = timedelta(hours=24)
    assets: AssetSettings | None = None
    strict_assets: bool = False
    declared: Declared = field(default_factory=Declared)
    operator: str = ""

    def purpose(
        self, options: Mapping[str, Any], parent: int | None, parent_sha256: str | None, *, recorded: bool = False
    ) -> Purpose:
        """Return the identity of this run for its checkpoint.

        Args:
            options: the service's options.
            parent: the parent version.
            parent_sha256: the SHA-256 of its manifest.
            recorded: whether the run records its exchanges, which a run without a record cannot resume.
        """
        settings = {"notes": _NOTES_VERSION, "refresh": str(self.refresh), **options}
        if recorded:
            settings["warc"] = True
        return Purpose(self.blog_id, self.base_url, settings, parent, parent_sha256)


class Unread(NamedTuple):
    """The reason why an entry could not be read; a text, because an exception would keep its frames in memory.

    ``last_try`` is the last sweep that requests it again.
    """

    reason: str
    last_try: int

    @classmethod
    def after(cls, error: ServiceError) -> Unread:
        """Derive the last sweep from the error; after a refusal the entry is requested once more."""
        if isinstance(error, TransportError):
            return cls(said(error), MAX_SWEEPS)
        return cls(said(error), 2 if isinstance(error, ApiError) else 0)


class EntryCounts(NamedTuple):
    """Numbers of entries.

    Attributes:
        read: read by this run.
        carried_over: listed, and carried over from the archive.
        unread: could not be read.
        contradicted: read although they are not on the entry list.
    """

    read: int
    carried_over: int
    unread: int
    contradicted: int = 0


@dataclass
class Ingest:
    """Reads everything that one run needs; afterwards the ledgers contain the records.

    Attributes:
        service: reads the records.
        client: sends the requests.
        checkpoint: receives the records.
        state: the newest version.
        settings: those of the run.
        freshness: the times and validators of earlier readings.
        clock: the time of the run.
        emit: is called with events.
        ledgers: for each kind, the archive's records and those that this run saw.
        sweeps: the results of every sweep, oldest first.
        unread: the entries that could not be read, by id.
        contradicted: ids of entries that are not on the entry list, although ``entry/get`` answered them.
        missing: the entries that comments name and the service does not have.
        not_asked: the number of named but unlisted entries that were not requested, because there are too many.
        unread_before: ids of entries that an earlier run could not read.
        texts: compares the texts of new and changed entries.
        user_failure: the reason why the user could not be read.
        service_time: the service's time, if it is more than a day away from this machine's.
        other_user: whether the service answers as another user than those in the archive, or as to the public.
        restored: the number of records from a checkpoint.
        full_text_in_lists: whether entries are read from the entry list, and not one by one.
        keep: stores an answer as a file and returns its asset record.
        answered: the entries of this run whose answers carry their comments.
        originals: the asset records of the kept answers, by their addresses.
        kept: the SHA-256 of all kept answers, also of replaced ones.
        again: the ids of the comments in the newest answers, for entries that were answered several times.
        shortages: by entry, the sentence about comments that its answer states and does not carry.
        textless: new entries of which the answer has no text, not even an empty one.
        kept_out: the records that were forgotten and stay out.
        pages: the known pages of each list; ``None`` to parse every page.
        check: called after the first sweep; may refuse the blog.
    """

    service: BlogService
    client: ServiceClient
    checkpoint: Checkpoint
    state: State
    settings: BackupSettings
    freshness: Freshness
    clock: Clock
    emit: Callable[[Event], None]
    keep: Callable[[Original], Awaitable[dict[str, Any]]]
    sweeps: list[dict[Kind, SweepResult]] = field(default_factory=list)
    unread: dict[str, Unread] = field(default_factory=dict)
    contradicted: list[str] = field(default_factory=list)
    not_asked: int = 0
    missing: list[str] = field(default_factory=list)
    unread_before: Sequence[str] = ()
    user_failure: str | None = None
    other_user: bool = False
    service_time: str | None = None
    restored: int = 0
    answered: dict[str, bool] = field(default_factory=dict)
    originals: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    again: dict[str, set[str]] = field(default_factory=dict)
    shortages: dict[str, str] = field(default_factory=dict)
    textless: set[str] = field(default_factory=set)
    kept_out: KeptOut = field(default_factory=KeptOut)
    pages: SeenPages | None = None
    check: Callable[[Ingest], None] = lambda _: None

    def __post_init__(self) -> None:
        self.ledgers = {kind: Ledger(self.state.kinds[kind], self.checkpoint.spools[kind]) for kind in Kind}
        self.texts = EntryTexts(self.service)
        self.full_text_in_lists = self.service.capabilities.full_text_in_lists
        self._read_with: dict[str, str] = {}

    def restore(self) -> None:
        """Load the checkpoint of an interrupted run."""
        found = restore(self.checkpoint, self.ledgers, self.freshness)
        self.restored = found.records
        self.answered, self.originals, self.shortages = found.answered, found.originals, found.shortages
        self.textless, self.again, self.kept = found.textless, found.again, found.kept
        self._read_with = found.items

    def distrust(self, records: Mapping[Kind, Collection[str]]) -> None:
        """Make the run write damaged records again, from a second copy in the archive or from the service."""
        for kind, ids in records.items():
            for record_id in ids:
                try:
                    line = self.state.line(kind, record_id)
                except ArchiveDamaged:
                    line = None
                self.ledgers[kind].distrust(record_id, None if line is None else line.frozen)
            self.checkpoint.spools[kind].flush()

    async def run(self, first: Iterable[str] = ()) -> None:
        """Read everything, beginning with ``first``, the entries that an earlier run could not read.

        Raises:
            ServiceError: no list could be read, or the service as a whole failed.
        """
        self.unread_before = list(first)
        async with task_group() as group:
            if self.service.capabilities.user:
                group.create_task(self._user())
            else:
                self.other_user = len(self.ledgers[Kind.USER].base) > 0  # an earlier run was signed in
            await self._sweep_until_equal(self.unread_before)

    async def _sweep_until_equal(self, first: Iterable[str]) -> None:
        for number in range(1, MAX_SWEEPS + 1):
            results = await self.sweep(number)
            if number == 1:
                self.check(self)
            await self._entries(number, first if number == 1 else ())
            snapshot = self.service.capabilities.snapshot
            agreed = snapshot or (number > 1 and all(result.agreed for result in results.values()))
            self.emit(SweepDone(number, agreed))
            if agreed:
                break
        self._forget_vanished()
        if self.service.capabilities.comments_in_entries:
            comments = self.ledgers[Kind.COMMENTS]
            kept = sum(1 for _ in comments.known())
            self.sweeps[-1][Kind.COMMENTS].listed = kept - len(self.absent_comments())

    def _forget_vanished(self) -> None:
        """Remove entries from ``unread`` that are no longer listed."""
        last = len(self.sweeps)
        if self.sweeps[-1][Kind.ENTRY_LIST].complete:
            items = self.ledgers[Kind.ENTRY_LIST]
            self.unread = {key: unread for key, unread in self.unread.items() if items.seen(key) == last}

    def count_entries(self) -> EntryCounts:
        """Count the entries that the last sweep listed."""
        items, entries = self.ledgers[Kind.ENTRY_LIST], self.ledgers[Kind.ENTRIES]
        contradicted = len(self.contradicted)
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
        """Return, by entry, the number of counted comments that are not on the comment list.

        The two lists may be of different moments, so a comment counts as missing only if two sweeps missed it, unless
        there was only one.
        """
        return self._in_both(lambda result: result.short)

    def doubts(self) -> dict[Kind, list[str]]:
        """Return the contradictions in each list.

        A contradiction in only one sweep came from a change between two pages. A list that became shorter and was never
        the same in two sweeps is also a contradiction.
        """
        last, before = self.sweeps[-1], self.sweeps[-2] if len(self.sweeps) > 1 else self.sweeps[-1]
        found = {kind: list(last[kind].doubts) if before[kind].doubts else [] for kind in last}
        for kind, result in last.items():
            most = max(results[kind].listed for results in self.sweeps)
            if result.complete and not result.agreed and result.listed < most:
                shrunk = message(
                    "holds {n:,} records, and held {most:,} a moment before; run again", n=result.listed, most=most
                )
                found[kind].append(message("{kind} list: {problem}", kind=KIND_NAMES[kind], problem=shrunk))
        return found

    def extra_comments(self) -> dict[str, int]:
        """Return, by listed entry, the number of listed comments that the entry does not count."""
        items, last = self.ledgers[Kind.ENTRY_LIST], len(self.sweeps)
        return {key: count for key, count in self._more_comments().items() if items.seen(key) == last}

    def named_by_comments(self) -> Iterator[str]:
        """Yield the entries with comments that are not on the entry list, if that list could be read."""
        if self.sweeps[-1][Kind.ENTRY_LIST].failure is None:
            items, last = self.ledgers[Kind.ENTRY_LIST], len(self.sweeps)
            yield from (key for key in self._more_comments() if items.seen(key) != last)

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
        if self.service.capabilities.comments_in_entries:
            results = await self._sweep((Kind.ENTRY_LIST, Kind.FILES), number)
            results[Kind.COMMENTS] = SweepResult(Kind.COMMENTS, complete=True, agreed=True)
        elif self.service.capabilities.comments_per_entry:
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
        if len(failures) == len(LISTS) or (failures and self.service.capabilities.linked_lists):
            raise self._hopeless(failures[0])
        for kind, result in results.items():
            for problem in result.problems:
                self.emit(RecordFailed(kind, None, problem))
        return results

    def _compare_clocks(self, results: Iterable[SweepResult]) -> None:
        served = next((result.served_at for result in results if result.date is not None), None)
        now = self.clock.now()
        if served is not None and differs(now, served):
            self.service_time = timestamp(served)
            self.emit(ClockDiffers(timestamp(now), service=self.service_time))

    def _hopeless(self, error: ServiceError) -> ServiceError:
        """Return the error that ends a run without any readable list."""
        if not isinstance(error, ApiError):
            return error
        text = message("{error}; check the blog ID and the base URL.", error=error)
        return BlogGone(text) if error.status in _GONE else BlogRefused(text)

    async def _sweep(
        self, kinds: Sequence[Kind], number: int, entry_ids: Sequence[str] = ()
    ) -> dict[Kind, SweepResult]:
        before = self.sweeps[-1] if self.sweeps else {}
        whole = self.service.capabilities.entries_in_lists
        sweeps = [
            Sweep(
                number,
                self.service,
                self.client,
                self.service.pages(kind, self.settings.blog_id, entry_ids),
                self.ledgers[kind],
                self.emit,
                before[kind].listed if kind in before else 0,
                SweepResult(kind),
                partial(self._take_entry, number) if whole and kind is Kind.ENTRY_LIST else None,
                self.kept_out,
                None if self.pages is None else self.pages.begin(kind),
            )
            for kind in kinds
        ]
        found = await run_together(sweep.run(self.settings.concurrency) for sweep in sweeps)
        return dict(zip(kinds, found, strict=True))

    async def _user(self) -> None:
        ledger = self.ledgers[Kind.USER]
        try:
            data = await self.client.fetch(*self.service.user_call(), holds=partial(user_held, self.service))
        except UNREADABLE as error:
            self.user_failure = said(error)
            return
        user_id = self.service.key(Kind.USER, data)
        if user_id is None or len(user_id) > MAX_ID_CHARACTERS:
            self.user_failure = said(ApiError("user", {}, 200, message("the answer has no usable id")))
            return
        self.other_user = len(ledger.base) > 0 and user_id not in ledger.base
        ledger.observe(user_id, lossless_json.freeze(data), 1)

    async def _entries(self, number: int, first: Iterable[str]) -> None:
        """Read entries after a sweep: in the first those chosen by the policy, later those that changed."""
        entries = self.ledgers[Kind.ENTRIES]
        to_read = self.sweeps[-1][Kind.ENTRY_LIST].to_read
        if number == 1:
            items = self.ledgers[Kind.ENTRY_LIST]
            listed = list(items.seen_in(1))[::-1]
            changed = {*to_read, *(entry_id for entry_id in listed if entry_id not in entries.base)}
            urgent = [entry_id for entry_id in first if items.seen(entry_id) != UNSEEN]
            stale = self._changed_since_read()
            wanted = entries_to_read(listed, changed | stale, self.settings.refresh, self._age(), urgent)
        else:
            failed = (entry_id for entry_id, unread in self.unread.items() if number <= unread.last_try)
            wanted = iter(dict.fromkeys([*to_read, *failed]))
        ids = [entry_id for entry_id in wanted if entries.seen(entry_id) < number]
        if ids:
            self.emit(EntriesPlanned(len(ids)))
            if self.service.capabilities.entries_at_once > 1 and len(ids) >= _MIN_TOGETHER:
                groups = grouped(ids, self._list_of, self.service.capabilities.entries_at_once)
                await for_each(groups, lambda group: self._read_together(group, number), self.settings.concurrency)
            else:
                await for_each(ids, lambda entry_id: self.read_entry(entry_id, number), self.settings.concurrency)

    def _changed_since_read(self) -> set[str]:
        """Return the entries that an interrupted run read with another list item; they count as unread."""
        items, entries = self.ledgers[Kind.ENTRY_LIST], self.ledgers[Kind.ENTRIES]
        found = {each for each, read in self._read_with.items() if items.seen(each) == 1 and self._listed(each) != read}
        for entry_id in found:
            entries.mark(entry_id, UNSEEN)
        return found

    def _listed(self, entry_id: str) -> str:
        """Return the hash of an entry's list item in hexadecimal; empty without one."""
        return (self.ledgers[Kind.ENTRY_LIST].identity(entry_id) or b"").hex()

    def _list_of(self, entry_id: str) -> str:
        item = self._item(entry_id)
        return "" if item is None else self.service.list_of(item)

    def _item(self, entry_id: str) -> dict[str, Any] | None:
        """Return the newest known list item of an entry."""
        item = self.ledgers[Kind.ENTRY_LIST].frozen(entry_id)
        if item is not None:
            return dict(lossless_json.loads(item.data))
        return self.state.load(Kind.ENTRY_LIST, entry_id)

    async def _read_together(self, ids: Sequence[str], sweep: int) -> None:
        """Read a group of entries, and then alone each one that the answer lacks or that differs from the archive."""
        items = {entry_id: item for entry_id in ids if (item := self._item(entry_id)) is not None}
        found: set[str] = set()
        try:
            call = self.service.entries_call(self.settings.blog_id, items) if items else None
            answer = (
                [] if call is None else await self.client.fetch(*call, holds=partial(group_held, self.service, ids))
            )
        except UNREADABLE as error:
            if isinstance(error, NotAuthorised):
                await self._fetch_first_page()
            answer = []
        answer.reverse()
        while answer:
            # Entries are released one by one, because a long answer and its records would take much memory together.
            data = answer.pop()
            entry_id = self.service.key(Kind.ENTRIES, data)
            if entry_id in items and entry_id not in found and self._take(entry_id, data, sweep):
                found.add(entry_id)
        for entry_id in ids:
            if entry_id not in found:
                await self.read_entry(entry_id, sweep)

    def _take(self, entry_id: str, data: dict[str, Any], sweep: int) -> bool:
        """Put an entry of a group into the ledger; return ``False`` if it must be read alone."""
        ledger = self.ledgers[Kind.ENTRIES]
        frozen = lossless_json.freeze(data)
        known = ledger.identity(entry_id) == frozen.identity
        if ledger.holds(entry_id) and not known:
            return False
        try:
            self._observe(entry_id, data, frozen, sweep, known=known)
        except WrongRecord:
            return False
        self._note_read(entry_id, sweep, EntryAnswer(None, Validators()))
        self.unread.pop(entry_id, None)
        self.emit(EntryRead(entry_id))
        return True

    def _age(self) -> Age | None:
        if self.settings.refresh is not Refresh.AUTO:
            return None
        return Age(self.clock.now(), self.settings.max_age, self.freshness.last_read)

    def named_to_ask(self) -> Iterator[str]:
        """Yield the entries that only comments name, without those that an earlier run missed within ``max_age``."""
        age = Age(self.clock.now(), self.settings.max_age, self.freshness.last_read)
        for entry_id in self.named_by_comments():
            if age.due(entry_id):
                yield entry_id
            else:
                self.missing.append(entry_id)

    def note_missing(self, entry_id: str) -> None:
        """Record that the service does not have an entry that comments name."""
        self.freshness.note(entry_id, self.clock.now().replace(microsecond=0), Validators())
        self.missing.append(entry_id)

    async def read_entry(self, entry_id: str, sweep: int) -> None:
        """Read one entry into the ledger; a failure is recorded in ``unread``."""
        error = await self.fetch_entry(entry_id, sweep)
        if error is None:
            self.unread.pop(entry_id, None)
            self.emit(EntryRead(entry_id))
        else:
            self.fail(entry_id, error)

    def fail(self, entry_id: str, error: ServiceError) -> None:
        """Record that an entry could not be read."""
        unread = Unread.after(error)
        self.unread[entry_id] = unread
        self.emit(RecordFailed(Kind.ENTRIES, entry_id, unread.reason))

    def _take_entry(self, sweep: int, entry_id: str, data: dict[str, Any]) -> None:
        """Store an entry that the entry list holds as a whole. If it is doubtful, it is requested like any other."""
        if self.settings.dry_run:
            return
        try:
            frozen = lossless_json.freeze(data)
            known = self.ledgers[Kind.ENTRIES].identity(entry_id) == frozen.identity
            self._observe(entry_id, data, frozen, sweep, known=known)
        except WrongRecord as error:
            self.fail(entry_id, error.with_traceback(None))
            return
        self.unread.pop(entry_id, None)
        self._note_read(entry_id, sweep, EntryAnswer(None, Validators()))

    async def fetch_entry(self, entry_id: str, sweep: int) -> ServiceError | None:
        """Read one entry into the ledger, or return the error that prevents it.

        Raises:
            NotAuthorised: the service refuses all requests.
            ServiceError: the service as a whole failed.
        """
        try:
            answered = await self._ask_for_entry(entry_id, sweep)
        except UNREADABLE as error:
            if isinstance(error, NotAuthorised):
                # Raises the same error if the service refuses everything.
                await self._fetch_first_page()
            return error.with_traceback(None)  # the traceback would keep the answer in memory
        self._note_read(entry_id, sweep, answered)
        return None

    def _note_read(self, entry_id: str, sweep: int, answered: EntryAnswer) -> None:
        """Note after an entry's record that it was read."""
        now = self.clock.now().replace(microsecond=0)
        validators = answered.validators
        note: dict[str, Any] = {
            "read": entry_id,
            "sweep": sweep,
            "at": timestamp(now),
            "etag": validators.etag,
            "last_modified": validators.last_modified,
            "item": self._listed(entry_id),
        }
        if entry_id in self.textless:
            note["textless"] = True
        if answered.original is not None:
            note["original"] = self.originals[answered.original.url]
        if answered.data is not None and self.service.capabilities.comments_in_entries:
            self._take_comments(entry_id, answered, sweep)
            note["shortage"] = stored(answered.shortage)
        self.ledgers[Kind.ENTRIES].spool.journal(note)
        self.freshness.note(entry_id, now, validators)

    def _take_comments(self, entry_id: str, answer: EntryAnswer, sweep: int) -> None:
        """Put the comments that an entry's answer carries into their ledger."""
        ledger = self.ledgers[Kind.COMMENTS]
        ids = []
        for raw in answer.comments:
            comment_id = self.service.key(Kind.COMMENTS, raw)
            if comment_id is not None and len(comment_id) <= MAX_ID_CHARACTERS:
                ledger.observe(comment_id, lossless_json.freeze(raw), sweep)
                ids.append(comment_id)
        ledger.spool.journal({"of": entry_id, "comments": ids, "sweep": sweep})
        if answer.shortage:
            self.again.pop(entry_id, None)
        elif entry_id in self.answered:
            self.again[entry_id] = set(ids)
        self.answered[entry_id] = True
        self.shortages.pop(entry_id, None)
        if answer.shortage:
            self.shortages[entry_id] = answer.shortage

    def absent_comments(self) -> dict[str, str]:
        """Return the archived comments that the newest answers of their entries lack, with their entries."""
        ledger, found = self.ledgers[Kind.COMMENTS], dict[str, str]()
        for comment_id in map(str, dict(ledger.base.keys.items())) if self.again else ledger.absent_since(1):
            raw = self.state.load(Kind.COMMENTS, comment_id)
            entry_id = self.service.post_id(raw) if raw is not None else ""
            lacks = ledger.seen(comment_id) < 1 or comment_id not in self.again.get(entry_id, (comment_id,))
            if lacks and entry_id in self.answered and entry_id not in self.shortages:
                found[comment_id] = entry_id
        return found

    async def _ask_for_entry(self, entry_id: str, sweep: int) -> EntryAnswer:
        """Read one entry into the ledger."""
        ledger = self.ledgers[Kind.ENTRIES]
        if self.full_text_in_lists:
            item = self.ledgers[Kind.ENTRY_LIST].frozen(entry_id)
            if item is None and not ledger.holds(entry_id):
                line = self.state.line(Kind.ENTRY_LIST, entry_id)
                item = None if line is None else line.frozen
            if item is None:
                ledger.mark(entry_id, sweep)
            else:
                ledger.observe(entry_id, item, sweep)
            return EntryAnswer(None, Validators())
        validators = self.freshness.validators.get(entry_id) if self.service.capabilities.validators else None
        if validators is not None and not ledger.holds(entry_id):
            validators = None
        ask = partial(self.service.listed_entry_call, self.settings.blog_id, entry_id, self._item_to_ask(entry_id))
        call = ask(validators)
        if validators is not None and not self.client.is_kept(call.request):
            call = ask(None)
        sent: EntryAnswer = await self.client.fetch(*call, holds=partial(entry_held, self.service, entry_id))
        answer = self.kept_out.without(self.service, entry_id, sent, self.ledgers)
        if (data := answer.data) is None:
            ledger.mark(entry_id, sweep)
            return answer
        if type(self.service).with_earlier is not BlogService.with_earlier and ledger.holds(entry_id):
            data = self.service.with_earlier(data, self.state.load(Kind.ENTRIES, entry_id) or {})
        frozen = lossless_json.freeze(data)
        known = ledger.identity(entry_id) == frozen.identity
        if answer.original is not None and not known and not self.kept_out.is_on(answer.original):
            self.originals[answer.original.url] = kept = await self.keep(answer.original)
            self.kept.add(str(kept.get("sha256")))
        else:
            answer = answer._replace(original=None)
        self._observe(entry_id, data, frozen, sweep, known=known)
        # Release the memory of a long entry; the empty object still states that there was one.
        return answer._replace(data={})

    def _item_to_ask(self, entry_id: str) -> dict[str, Any] | None:
        """Return an entry's list item if the service's request depends on it."""
        if type(self.service).listed_entry_call is BlogService.listed_entry_call:
            return None
        return self._item(entry_id)

    def _observe(self, entry_id: str, data: dict[str, Any], frozen: Frozen, sweep: int, *, known: bool) -> None:
        """Put an entry that was read into the ledger.

        Raises:
            WrongRecord: the answer lacks content without a reason.
        """
        if not known:  # later sweeps may see the same entries again
            self._judge(entry_id, data)
        self.ledgers[Kind.ENTRIES].observe(entry_id, frozen, sweep)

    def _judge(self, entry_id: str, data: dict[str, Any]) -> None:
        """Compare a new or changed entry with its list item and the archive.

        Raises:
            WrongRecord: the answer lacks content without a reason.
        """
        held = self.ledgers[Kind.ENTRIES].holds(entry_id)
        before = self.state.load(Kind.ENTRIES, entry_id) if held else None
        fault = None
        bodies = self.service.texts(data)
        if self.texts.is_blank(data, bodies):
            fault = self._fault_of_blank(entry_id)
        if fault is None and before is not None and not self.settings.accept_removals:
            fault = self.texts.lost_text(data, before)
        if fault is not None:
            raise WrongRecord("entry/get", {self.service.key_fields[Kind.ENTRIES]: entry_id}, 200, fault)
        self.texts.count(bodies)
        if before is None and self.service.lacks_text(data):
            self.textless.add(entry_id)

    def _fault_of_blank(self, entry_id: str) -> str | None:
        """Return a problem if an entry has neither a title nor a text, but its list item has a title."""
        item = self.ledgers[Kind.ENTRY_LIST].frozen(entry_id)
        listed = self.state.load(Kind.ENTRY_LIST, entry_id) if item is None else lossless_json.loads(item.data)
        title = self.service.title(Kind.ENTRY_LIST, listed or {})
        if not title:
            return None
        return message("the answer has neither a title nor a text; the entry list calls it {title!r}", title=title[:60])

    async def _fetch_first_page(self) -> None:
        """Request the first page of the entry list, to learn whether the service refuses everything."""
        paginator = self.service.pages(Kind.ENTRY_LIST, self.settings.blog_id, ())
        await self.client.fetch(*paginator.call(paginator.wanted(0)[0]))

    def close(self) -> None:
        """Close the files and release the ledgers, because the views after a run need their memory."""
        for ledger in self.ledgers.values():
            ledger.close()
        self.ledgers.clear()
