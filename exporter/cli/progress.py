"""Progress of a backup: a live display on a terminal, a line every few seconds elsewhere. Consumers of events."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, Self

from exporter.cli.output import counted, time_text
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
from exporter.library.backup import LatestRepaired
from exporter.model.kinds import Kind
from exporter.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from exporter.cli.output import Output
    from exporter.http.retry import RetryEvent
    from exporter.library.backup import BackupEvent

_LINE_SECONDS = 10.0
_WORTH_A_WORD = 5.0
LIST_NAMES = {Kind.ENTRY_LIST: "entry list", Kind.COMMENTS: "comments", Kind.FILES: "files"}


class Progress(Protocol):
    """What shows the progress of a run."""

    def handle(self, event: BackupEvent) -> None:
        """Take in an event."""

    def retrying(self, event: RetryEvent) -> None:
        """Take in that a request waits to be sent again."""

    def close(self) -> None:
        """End the display."""


def progress_for(out: Output) -> Progress:
    """Return the display that fits: live on a terminal, lines elsewhere, hardly anything when quiet."""
    if out.verbosity >= 0 and sys.stderr.isatty():
        return LiveProgress(out)
    return LineProgress(out)


class _Words:
    """The sentences both displays say."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def sentence(self, event: BackupEvent) -> tuple[str, int] | None:
        """Return what to say of an event, and from which verbosity on."""
        if isinstance(event, Resumed):
            return f"Resuming the run of {event.started_at}: {counted(event.records, 'record')} already read.", 0
        if isinstance(event, SetAside):
            return f"An interrupted run was set aside: {printable(event.reason, 300)}.", 0
        if isinstance(event, RecordFailed):
            what = "" if event.record_id is None else f"entry {printable(event.record_id, 40)} could not be read: "
            return f"  ! {what}{printable(event.reason, 300)}", 0
        if isinstance(event, SweepDone) and event.sweep > 1 and not event.agreed:
            return f"The blog changed while it was read (sweep {event.sweep}); sweeping again.", 0
        if isinstance(event, LatestRepaired):
            return f"Made again in latest/: {counted(event.files, 'damaged file')}.", 0
        if isinstance(event, AssetFailed):
            return f"  {printable(event.url, 200)}: {printable(event.reason, 200)}", 1
        return None

    def retry_sentence(self, event: RetryEvent) -> tuple[str, int]:
        """Return what to say of a retry: long waits always, short ones when asked for."""
        level = 0 if event.wait >= _WORTH_A_WORD else 1
        return f"  {event.operation}: {printable(event.reason, 120)}; again in {time_text(event.wait)}", level


class LineProgress:
    """Plain lines: for cron's mail and log files."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._words = _Words(out)
        self._next = time.monotonic() + _LINE_SECONDS
        self._planned = self._read = self._pages = 0
        self._assets_planned = self._assets = 0

    def handle(self, event: BackupEvent) -> None:
        """Say what is worth a line now, the counts every ten seconds."""
        said = self._words.sentence(event)
        if said is not None:
            self._out.say(said[0], level=said[1])
        if isinstance(event, PageRead):
            self._pages += 1
        elif isinstance(event, EntriesPlanned):
            self._planned += event.count
        elif isinstance(event, EntryRead):
            self._read += 1
        elif isinstance(event, AssetsPlanned):
            self._assets_planned = event.count
        elif isinstance(event, AssetRead | AssetFailed):
            self._assets += 1
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_SECONDS
            entries = f", {self._read:,} of {self._planned:,} entries" if self._planned else ""
            assets = (
                f", {self._assets:,} of {self._assets_planned:,} pictures and files" if self._assets_planned else ""
            )
            self._out.say(f"{counted(self._pages, 'list page')}{entries}{assets} read")

    def retrying(self, event: RetryEvent) -> None:
        """Say long waits."""
        text, level = self._words.retry_sentence(event)
        self._out.say(text, level=level)

    def close(self) -> None:
        """Nothing is open."""


class LiveProgress:
    """Bars with rate and remaining time, by rich, which is imported only here."""

    def __init__(self, out: Output) -> None:
        from rich.console import Console  # noqa: PLC0415 - a cron job never pays for it
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        self._words = _Words(out)
        self._verbosity = out.verbosity
        self._bars: RichProgress = Progress(
            TextColumn("{task.description:12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True, highlight=False, markup=False),
            transient=True,
        )
        self._tasks: dict[object, TaskID] = {}
        self._begun: dict[object, float] = {}
        self._bars.start()

    def handle(self, event: BackupEvent) -> None:
        """Move the bars; say sentences above them."""
        said = self._words.sentence(event)
        if said is not None and self._verbosity >= said[1]:
            self._bars.console.print(said[0])
        if isinstance(event, PageRead):
            task = self._task(event.kind, LIST_NAMES[event.kind])
            self._bars.update(task, completed=event.page, total=max(event.pages or event.page, event.page))
        elif isinstance(event, EntriesPlanned):
            task = self._task(Kind.ENTRIES, "entries")
            self._bars.update(task, total=(self._bars.tasks[task].total or 0) + event.count)
        elif isinstance(event, EntryRead):
            task = self._task(Kind.ENTRIES, "entries")
            done = self._bars.tasks[task].completed + 1
            rate = done / max(0.001, time.monotonic() - self._begun[Kind.ENTRIES])
            self._bars.update(task, completed=done, rate=f"{rate:.0f}/s")
        elif isinstance(event, AssetsPlanned) and event.count:
            self._bars.update(self._task(Kind.ASSETS, "pictures"), total=event.count)
        elif isinstance(event, AssetRead | AssetFailed):
            self._bars.advance(self._task(Kind.ASSETS, "pictures"))

    def retrying(self, event: RetryEvent) -> None:
        """Say long waits above the bars."""
        text, level = self._words.retry_sentence(event)
        if self._verbosity >= level:
            self._bars.console.print(text)

    def close(self) -> None:
        """Take the bars away."""
        self._bars.stop()

    def _task(self, key: object, name: str) -> TaskID:
        if key not in self._tasks:
            self._tasks[key] = self._bars.add_task(name, total=0, rate="")
            self._begun[key] = time.monotonic()
        return self._tasks[key]


class ProgressBar:
    """One live bar for a command that has no events; nothing where there is no terminal."""

    def __init__(self, out: Output, name: str) -> None:
        self._name = name
        self._bars: RichProgress | None = None
        self._task: TaskID | None = None
        self._shown = out.verbosity >= 0 and sys.stderr.isatty()

    def update(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are done."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=done, total=total)

    def __enter__(self) -> Self:
        if self._shown:
            from rich.console import Console  # noqa: PLC0415 - a cron job never pays for it
            from rich.progress import Progress  # noqa: PLC0415

            self._bars = Progress(console=Console(stderr=True, highlight=False, markup=False), transient=True)
            self._task = self._bars.add_task(self._name, total=None)
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()
