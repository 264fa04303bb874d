"""Displays of a backup's events: bars on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from exporter.cli import events
from exporter.cli.output import time_text
from exporter.cli.progress_bar import LineTimer, has_terminal
from exporter.clock import for_people
from exporter.crawl.events import (
    AssetFailed,
    AssetRead,
    AssetsPlanned,
    ClockDiffers,
    EntriesPlanned,
    EntryRead,
    PageRead,
    RecordFailed,
    RecordsJoined,
    Resumed,
    SetAside,
    SourceNotes,
    SweepDone,
)
from exporter.library.views import LatestRepaired
from exporter.message import listed, message, message_n
from exporter.model.kinds import Kind
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from exporter.cli.output import Output
    from exporter.http.retry import RetryEvent
    from exporter.library.backup import BackupEvent

LONG_WAIT_SECONDS = 5.0
_LIST_NAMES = {
    Kind.ENTRY_LIST: message("entry list"),
    Kind.COMMENTS: message("comment list"),
    Kind.FILES: message("file list"),
}


def progress_for(out: Output, zone: tzinfo) -> Progress:
    """Return bars on a terminal, events for a program, otherwise plain lines; times are in ``zone``."""
    if events.wanted():
        return _Events(out, zone)
    return _Bars(out, zone) if has_terminal(out) else Progress(out, zone)


def retry_text(event: RetryEvent) -> str:
    """Return the line about a scheduled retry."""
    reason = printable(translated(event.reason), 120)
    return message(
        "  {operation}: {reason}; again in {wait}", operation=event.operation, reason=reason, wait=time_text(event.wait)
    )


class Progress:
    """Plain lines for cron's mail and log files: important events at once, the counts every ten seconds."""

    def __init__(self, out: Output, zone: tzinfo) -> None:
        self._out = out
        self._zone = zone
        self._timer = LineTimer()
        self._pages = self._entries = self._assets = 0
        self._entries_planned = self._assets_planned = 0

    def handle(self, event: BackupEvent) -> None:
        """Show an event."""
        if isinstance(event, ClockDiffers):
            self._out.warn(_clock_sentence(event, self._zone))
        sentence = _sentence(event, self._zone)
        if sentence is not None:
            self._say(sentence, level=1 if isinstance(event, AssetFailed) else 0)
        self._count(event)
        self._show(event)

    def retrying(self, event: RetryEvent) -> None:
        """Show that a retry was scheduled: long waits always, short ones if verbose."""
        self._say(retry_text(event), level=0 if event.wait >= LONG_WAIT_SECONDS else 1)

    def close(self) -> None:
        """End the display."""

    def _say(self, text: str, *, level: int) -> None:
        self._out.say(text, level=level)

    def _count(self, event: BackupEvent) -> None:
        match event:
            case PageRead():
                self._pages += 1
            case EntriesPlanned():
                self._entries_planned += event.count
            case EntryRead():
                self._entries += 1
            case AssetsPlanned():
                self._assets_planned = event.count
            case AssetRead() | AssetFailed():
                self._assets += 1

    def _show(self, _event: BackupEvent) -> None:
        """Print the counts, if it is time for it."""
        if not self._timer.is_due():
            return
        parts: list[str] = [message_n("{n:,} list page", "{n:,} list pages", self._pages)]
        if self._entries_planned:
            parts.append(_entries(self._entries, self._entries_planned))
        if self._assets_planned:
            parts.append(_assets(self._assets, self._assets_planned))
        self._out.say("{what} read", what=listed(parts))


def _clock_sentence(event: ClockDiffers, zone: tzinfo) -> str:
    now, other = (for_people(text, zone) for text in (event.now, event.service or event.run_before or ""))
    if event.service is None:
        return message(
            "This machine's clock shows {now}, but the run before began at {other}. Set the clock: the archive's times "
            "come from it.",
            now=now,
            other=other,
        )
    return message(
        "This machine's clock shows {now}, the service's {other}. Set the clock: the archive's times come from it.",
        now=now,
        other=other,
    )


def _sentence(event: BackupEvent, zone: tzinfo) -> str | None:
    def shown(text: str, most: int) -> str:
        return for_people(printable(translated(text), most), zone)

    match event:
        case Resumed():
            return message_n(
                "Resuming the run of {started_at}: {n:,} record is kept as it was then. "
                "Entries that the lists show as changed are read again.",
                "Resuming the run of {started_at}: {n:,} records are kept as they were then. "
                "Entries that the lists show as changed are read again.",
                event.records,
                started_at=shown(event.started_at, 40),
            )
        case SourceNotes() | RecordsJoined():
            return _source_sentence(event, shown)
        case SetAside():
            return message("An interrupted run was set aside: {reason}.", reason=shown(event.reason, 300))
        case RecordFailed(record_id=None):
            return message("  ! {reason}", reason=shown(event.reason, 300))
        case RecordFailed():
            which = printable(str(event.record_id), 40)
            return message(
                "  ! entry {which} could not be read: {reason}", which=which, reason=shown(event.reason, 300)
            )
        case SweepDone(agreed=False) if event.sweep > 1:
            return message("The blog changed while it was read (sweep {number}); sweeping again.", number=event.sweep)
        case LatestRepaired():
            return message_n(
                "Made again in latest/: {n:,} damaged file.", "Made again in latest/: {n:,} damaged files.", event.files
            )
        case AssetFailed():
            return message("  {url}: {reason}", url=printable(event.url, 200), reason=shown(event.reason, 200))
    return None


def _source_sentence(event: SourceNotes | RecordsJoined, shown: Callable[[str, int], str]) -> str:
    if isinstance(event, SourceNotes):
        lines = "\n".join(f"  {shown(note, 300)}" for note in event.notes)
        return message_n(
            "A note about the source:\n{lines}",
            "{n:,} notes about the source; the first are:\n{lines}",
            len(event.notes) + event.more,
            lines=lines,
        )
    lines = "".join(f"\n  {shown(conflict, 300)}" for conflict in event.conflicts)
    if event.withdrawn:
        withdrawn = message_n(
            "{service} no longer has {n:,} entry that another source has; it counts as private now.",
            "{service} no longer has {n:,} entries that another source has; they count as private now.",
            event.withdrawn,
            service=event.service,
        )
        lines += f"\n{withdrawn}"
    return message(
        "Joined with {service}: {matched:,} entries are in both, {new:,} only there, {only_archived:,} only in the "
        "archive, and {conflicts:,} have different texts.{lines}",
        service=event.service,
        matched=event.matched,
        new=event.new,
        only_archived=event.only_archived,
        conflicts=len(event.conflicts) + event.more_conflicts,
        lines=lines,
    )


class _Events(Progress):
    """Events for a program that shows the progress: a row for each list and each kind of record."""

    def __init__(self, out: Output, zone: tzinfo) -> None:
        super().__init__(out, zone)
        self._pace = events.Pace()
        self._lists: dict[Kind, tuple[int, int | None]] = {}
        self._first_entry: events.Pace | None = None
        self._first_asset: events.Pace | None = None

    def close(self) -> None:
        """Tell the last counts."""
        self._tell()

    def _show(self, event: BackupEvent) -> None:
        match event:
            case PageRead():
                self._lists[event.kind] = (event.page, None if event.pages is None else max(event.pages, event.page))
            case EntriesPlanned():
                self._first_entry = self._first_entry or events.Pace()
            case AssetsPlanned():
                self._first_asset = self._first_asset or events.Pace()
        if self._pace.is_due():
            self._tell()

    def _tell(self) -> None:
        rows: list[dict[str, object]] = [
            {"name": translated(_LIST_NAMES[kind]), "kind": f"{kind}_pages", "done": page, "total": pages}
            for kind, (page, pages) in self._lists.items()
        ]
        left: float | None = None
        assets = max(self._assets, self._assets_planned)
        for kind, name, done, total, pace in (
            (Kind.ENTRIES, message("entries"), self._entries, self._entries_planned, self._first_entry),
            (Kind.ASSETS, message("pictures"), self._assets, assets, self._first_asset),
        ):
            if pace is not None and total:
                rows.append({"name": translated(name), "kind": str(kind), "done": done, "total": total})
                left = pace.seconds_left(done, total) if done < total else left
        events.tell("progress", rows=rows, seconds_left=left)


class _Bars(Progress):
    """A row for each list and each kind of record. Rich is imported only here, so that cron jobs start faster."""

    def __init__(self, out: Output, zone: tzinfo) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        super().__init__(out, zone)
        self._bars: RichProgress = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            TextColumn("{task.fields[count]}", justify="right", table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[note]}", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            console=Console(stderr=True, highlight=False, markup=False),
            transient=True,
            expand=True,
        )
        self._tasks: dict[Kind, TaskID] = {}
        self._first_entry: float | None = None
        self._bars.start()

    def close(self) -> None:
        """Remove the bars."""
        self._bars.stop()

    def _say(self, text: str, *, level: int) -> None:
        if self._out.verbosity >= level:
            self._bars.console.print(translated(text))

    def _show(self, event: BackupEvent) -> None:
        match event:
            case PageRead():
                again = message("read again") if event.sweep > 1 else ""
                total = None if event.pages is None else max(event.pages, event.page)
                self._row(event.kind, _LIST_NAMES[event.kind], event.page, total, _pages(event.page, total), again)
            case EntriesPlanned() | EntryRead():
                self._first_entry = self._first_entry or time.monotonic()
                seconds = time.monotonic() - self._first_entry
                rate = f"{self._entries / seconds:.0f}/s" if seconds > 0 and self._entries else ""
                count = _entries(self._entries, self._entries_planned)
                self._row(Kind.ENTRIES, message("entries"), self._entries, self._entries_planned, count, rate)
            case AssetsPlanned(count=0):
                pass
            case AssetsPlanned() | AssetRead() | AssetFailed():
                total = max(self._assets, self._assets_planned)
                self._row(Kind.ASSETS, message("pictures"), self._assets, total, _assets(self._assets, total))

    def _row(self, kind: Kind, name: str, done: int, total: int | None, count: str, note: str = "") -> None:
        """Update a kind's row; a total of ``None`` is unknown, and its bar only moves."""
        if kind not in self._tasks:
            self._tasks[kind] = self._bars.add_task(translated(name), total=None, count="", note="")
        count, note = translated(count), translated(note)
        self._bars.update(self._tasks[kind], completed=done, total=total, count=count, note=note)


def _pages(done: int, total: int | None) -> str:
    if total is None:
        return message_n("{n:,} page", "{n:,} pages", done)
    return message_n("{done:,} of {n:,} page", "{done:,} of {n:,} pages", total, done=done)


def _entries(done: int, total: int) -> str:
    return message_n("{done:,} of {n:,} entry", "{done:,} of {n:,} entries", total, done=done)


def _assets(done: int, total: int) -> str:
    return message_n("{done:,} of {n:,} picture or file", "{done:,} of {n:,} pictures and files", total, done=done)
