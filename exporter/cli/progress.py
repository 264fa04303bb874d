"""Progress of a backup: bars on a terminal, a line every few seconds elsewhere. Consumers of its events."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from exporter.cli.amounts import time_text
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
    Resumed,
    SetAside,
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

_LINE_SECONDS = 10.0
_LONG_WAIT_SECONDS = 5.0
_LIST_NAMES = {
    Kind.ENTRY_LIST: message("entry list"),
    Kind.COMMENTS: message("comment list"),
    Kind.FILES: message("file list"),
}


def progress_for(out: Output, zone: tzinfo) -> Progress:
    """Return the display that fits: bars on a terminal, lines elsewhere, less when quiet; times are a zone's."""
    return _Bars(out, zone) if _has_terminal(out) else Progress(out, zone)


def _has_terminal(out: Output) -> bool:
    return out.verbosity >= 0 and sys.stderr.isatty()


class Progress:
    """Plain lines, for cron's mail and log files: what is worth a sentence at once, the counts every ten seconds."""

    def __init__(self, out: Output, zone: tzinfo) -> None:
        self._out = out
        self._zone = zone
        self._next = time.monotonic() + _LINE_SECONDS
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

    def retrying(self, event: RetryEvent) -> None:
        """Show that a request waits to be sent again: long waits always, short ones when asked for."""
        wait = message(
            "  {operation}: {reason}; again in {wait}",
            operation=event.operation,
            reason=printable(translated(event.reason), 120),
            wait=time_text(event.wait),
        )
        self._say(wait, level=0 if event.wait >= _LONG_WAIT_SECONDS else 1)

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
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_SECONDS
            parts: list[str] = [message_n("{n:,} list page", "{n:,} list pages", self._pages)]
            if self._entries_planned:
                parts.append(_entries(self._entries, self._entries_planned))
            if self._assets_planned:
                parts.append(_assets(self._assets, self._assets_planned))
            self._out.say(message("{what} read", what=listed(parts)))


def _clock_sentence(event: ClockDiffers, zone: tzinfo) -> str:
    now, other = (for_people(text, zone) for text in (event.now, event.service or event.run_before or ""))
    if event.service is None:
        return message(
            "This machine's clock shows {now}, but the run before began at {other}. Set the clock: the archive's times "
            "are this machine's.",
            now=now,
            other=other,
        )
    return message(
        "This machine's clock shows {now}, and the service's {other}. Set the clock: the archive's times are this "
        "machine's.",
        now=now,
        other=other,
    )


def _sentence(event: BackupEvent, zone: tzinfo) -> str | None:
    def shown(text: str, most: int) -> str:
        return for_people(printable(translated(text), most), zone)

    match event:
        case Resumed():
            return message_n(
                "Resuming the run of {started_at}: {n:,} record already read.",
                "Resuming the run of {started_at}: {n:,} records already read.",
                event.records,
                started_at=shown(event.started_at, 40),
            )
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


class _Bars(Progress):
    """A row for each list and for what is read by it. Rich is imported only here, so a cron job never pays for it."""

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
        self._begun: dict[Kind, float] = {}
        self._bars.start()

    def close(self) -> None:
        """Remove the bars."""
        self._bars.stop()

    def _say(self, text: str, *, level: int) -> None:
        if self._out.verbosity >= level:
            self._bars.console.print(translated(text))

    def _count(self, event: BackupEvent) -> None:
        match event:
            case PageRead():
                again = message("read again") if event.sweep > 1 else ""
                total = None if event.pages is None else max(event.pages, event.page)
                self._show(event.kind, _LIST_NAMES[event.kind], event.page, total, _pages, again)
            case EntriesPlanned():
                self._entries_planned += event.count
                self._show_entries()
            case EntryRead():
                self._entries += 1
                self._show_entries()
            case AssetsPlanned() if event.count:
                self._assets_planned = event.count
                self._show_assets()
            case AssetRead() | AssetFailed():
                self._assets += 1
                self._show_assets()

    def _show_entries(self) -> None:
        since = time.monotonic() - self._begun.setdefault(Kind.ENTRIES, time.monotonic())
        rate = f"{self._entries / since:.0f}/s" if since > 0 and self._entries else ""
        self._show(Kind.ENTRIES, message("entries"), self._entries, self._entries_planned, _entries, rate)

    def _show_assets(self) -> None:
        total = max(self._assets, self._assets_planned)
        self._show(Kind.ASSETS, message("pictures"), self._assets, total, _assets)

    def _show(
        self,
        kind: Kind,
        name: str,
        done: int,
        total: int | None,
        count: Callable[[int, int | None], str],
        note: str = "",
    ) -> None:
        """Bring a kind's row up to date; a total of ``None`` is not known yet, and its bar only moves."""
        if kind not in self._tasks:
            self._tasks[kind] = self._bars.add_task(translated(name), total=None, count="", note="")
        self._bars.update(
            self._tasks[kind], completed=done, total=total, count=translated(count(done, total)), note=translated(note)
        )


def _pages(done: int, total: int | None) -> str:
    if total is None:
        return message_n("{n:,} page", "{n:,} pages", done)
    return message_n("{done:,} of {n:,} page", "{done:,} of {n:,} pages", total, done=done)


def _entries(done: int, total: int | None) -> str:
    return message_n("{done:,} of {n:,} entry", "{done:,} of {n:,} entries", total or 0, done=done)


def _assets(done: int, total: int | None) -> str:
    return message_n("{done:,} of {n:,} picture or file", "{done:,} of {n:,} pictures and files", total or 0, done=done)


class ProgressBar:
    """One bar for a command that has no events; nothing where there is no terminal."""

    def __init__(self, out: Output, name: str) -> None:
        self._bars: RichProgress | None = None
        if _has_terminal(out):
            from rich.console import Console
            from rich.progress import Progress

            self._bars = Progress(console=Console(stderr=True, highlight=False, markup=False), transient=True)
            self._task = self._bars.add_task(name, total=None)

    def update(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are done."""
        if self._bars is not None:
            self._bars.update(self._task, completed=done, total=total)

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()
