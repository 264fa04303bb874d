"""Progress of a backup: bars on a terminal, a line every few seconds elsewhere. Consumers of its events."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from exporter.cli.amounts import time_text
from exporter.cli.output import counted
from exporter.clock import for_people
from exporter.crawl.events import (
    AssetFailed,
    AssetRead,
    AssetsPlanned,
    EntriesPlanned,
    EntryRead,
    PageRead,
    RecordFailed,
    Resumed,
    SetAside,
    SweepDone,
)
from exporter.library.views import LatestRepaired
from exporter.model.kinds import Kind
from exporter.text import printable

if TYPE_CHECKING:
    from datetime import tzinfo

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from exporter.cli.output import Output
    from exporter.http.retry import RetryEvent
    from exporter.library.backup import BackupEvent

_LINE_SECONDS = 10.0
_LONG_WAIT_SECONDS = 5.0
_LIST_NAMES = {Kind.ENTRY_LIST: "entry list", Kind.COMMENTS: "comments", Kind.FILES: "files"}


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
        sentence = _sentence(event)
        if sentence is not None:
            self._say(for_people(sentence, self._zone), level=1 if isinstance(event, AssetFailed) else 0)
        self._count(event)

    def retrying(self, event: RetryEvent) -> None:
        """Show that a request waits to be sent again: long waits always, short ones when asked for."""
        wait = f"  {event.operation}: {printable(event.reason, 120)}; again in {time_text(event.wait)}"
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
            parts = [counted(self._pages, "list page")]
            if self._entries_planned:
                parts.append(f"{self._entries:,} of {self._entries_planned:,} entries")
            if self._assets_planned:
                parts.append(f"{self._assets:,} of {self._assets_planned:,} pictures and files")
            self._out.say(f"{', '.join(parts)} read")


def _sentence(event: BackupEvent) -> str | None:
    match event:
        case Resumed():
            return f"Resuming the run of {event.started_at}: {counted(event.records, 'record')} already read."
        case SetAside():
            return f"An interrupted run was set aside: {printable(event.reason, 300)}."
        case RecordFailed():
            what = "" if event.record_id is None else f"entry {printable(event.record_id, 40)} could not be read: "
            return f"  ! {what}{printable(event.reason, 300)}"
        case SweepDone(agreed=False) if event.sweep > 1:
            return f"The blog changed while it was read (sweep {event.sweep}); sweeping again."
        case LatestRepaired():
            return f"Made again in latest/: {counted(event.files, 'damaged file')}."
        case AssetFailed():
            return f"  {printable(event.url, 200)}: {printable(event.reason, 200)}"
    return None


class _Bars(Progress):
    """Bars with rate and remaining time, by rich, which is imported only here: a cron job never pays for it."""

    def __init__(self, out: Output, zone: tzinfo) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(out, zone)
        self._bars: RichProgress = Progress(
            TextColumn("{task.description:12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True, highlight=False, markup=False),
            transient=True,
        )
        self._tasks: dict[Kind, TaskID] = {}
        self._begun: dict[Kind, float] = {}
        self._bars.start()

    def close(self) -> None:
        """Remove the bars."""
        self._bars.stop()

    def _say(self, text: str, *, level: int) -> None:
        if self._out.verbosity >= level:
            self._bars.console.print(text)

    def _count(self, event: BackupEvent) -> None:
        match event:
            case PageRead():
                task = self._task(event.kind, _LIST_NAMES[event.kind])
                self._bars.update(task, completed=event.page, total=max(event.pages or event.page, event.page))
            case EntriesPlanned():
                task = self._task(Kind.ENTRIES, "entries")
                self._bars.update(task, total=(self._bars.tasks[task].total or 0) + event.count)
            case EntryRead():
                task = self._task(Kind.ENTRIES, "entries")
                done = self._bars.tasks[task].completed + 1
                rate = done / max(0.001, time.monotonic() - self._begun[Kind.ENTRIES])
                self._bars.update(task, completed=done, rate=f"{rate:.0f}/s")
            case AssetsPlanned() if event.count:
                self._bars.update(self._task(Kind.ASSETS, "pictures"), total=event.count)
            case AssetRead() | AssetFailed():
                self._bars.advance(self._task(Kind.ASSETS, "pictures"))

    def _task(self, kind: Kind, name: str) -> TaskID:
        if kind not in self._tasks:
            self._tasks[kind] = self._bars.add_task(name, total=0, rate="")
            self._begun[kind] = time.monotonic()
        return self._tasks[kind]


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
