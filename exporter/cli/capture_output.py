"""Progress and summary for a capture, alone or after a backup."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.capture.events import (
    AddressCaptured,
    AddressFailed,
    AssetsCompleted,
    CaptureEvent,
    CaptureResumed,
    Effect,
    HomeMoved,
    LimitReached,
)
from exporter.capture.scope import REASONS, LeftOut
from exporter.cli.output import counted, shown, size_text, time_text
from exporter.cli.progress import LONG_WAIT_SECONDS, retry_text
from exporter.cli.progress_bar import ProgressBar
from exporter.message import listed, message, message_n, restored_from
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.capture.outcome import CaptureOutcome
    from exporter.cli.output import Output
    from exporter.cli.signals import Signals
    from exporter.http.engine import Engine
    from exporter.http.retry import RetryEvent
    from exporter.settings import Settings

_NAMED: Final = 10
_ADDRESS_CHARACTERS: Final = 200


async def captured(
    root: Path, blog_id: str, settings: Settings, engine: Engine, out: Output, *, dry_run: bool, signals: Signals
) -> CaptureOutcome:
    """Make one capture and show its progress.

    Raises:
        BlogExporterError: the capture failed.
    """
    from exporter.library.capture import capture

    with CaptureProgress(out) as progress:
        made = capture(root, blog_id, settings, engine, dry_run=dry_run, on_retry=progress.retrying)
        with signals.passed_to(made.stop):
            async with made:
                async for event in made:
                    progress.handle(event)
    return made.outcome


class CaptureProgress(contextlib.ExitStack):
    """A bar on a terminal, otherwise a line every ten seconds; important events at once."""

    def __init__(self, out: Output) -> None:
        super().__init__()
        self._out = out
        self._bar = self.enter_context(ProgressBar(out, message("addresses")))
        self._answered = 0

    def handle(self, event: CaptureEvent) -> None:
        """Show an event."""
        match event:
            case CaptureResumed():
                self._answered = event.answered
                self._out.say(
                    message_n(
                        "Resuming the capture of {started_at}: {n:,} address was answered already.",
                        "Resuming the capture of {started_at}: {n:,} addresses were answered already.",
                        event.answered,
                        started_at=printable(event.started_at, 40),
                    )
                )
            case HomeMoved():
                self._out.say(
                    "{home} leads to {target}, whose pages are captured.",
                    home=_address(event.home),
                    target=_address(event.target),
                )
            case LimitReached():
                self._out.say("  ! {reason}", reason=event.reason)
            case AssetsCompleted():
                self._out.say(
                    message_n(
                        "{n:,} picture or file that the archive lacked was in a capture, and is saved in version "
                        "{version}.",
                        "{n:,} pictures or files that the archive lacked were in a capture, and are saved in version "
                        "{version}.",
                        len(event.addresses),
                        version=event.version,
                    )
                )
            case AddressFailed():
                self._answered += 1
                reason = shown(event.reason, 200)
                self._out.say("  {url}: {reason}", url=_address(event.url), reason=reason, level=1)
            case AddressCaptured():
                self._answered += 1
                if event.effect is Effect.FORGOTTEN:
                    self._out.say(
                        "  {url} shows a forgotten record and was left out.", url=_address(event.url), level=1
                    )
                self._out.say("  {status} {url}", status=event.status, url=_address(event.url), level=2)
                self._show(event.known)

    def retrying(self, event: RetryEvent) -> None:
        """Show that a retry was scheduled: long waits always, short ones if verbose."""
        self._out.say(retry_text(event), level=0 if event.wait >= LONG_WAIT_SECONDS else 1)

    def _show(self, known: int) -> None:
        self._bar.update(self._answered, known)
        if self._bar.is_visible or not self._bar.timer.is_due():
            return
        self._out.say(
            message_n(
                "{done:,} of {n:,} known address captured",
                "{done:,} of {n:,} known addresses captured",
                known,
                done=self._answered,
            )
        )


def capture_lines(outcome: CaptureOutcome, *, dry_run: bool, took: float | None = None) -> Iterator[str]:
    """Yield the lines of the summary; ``took`` is the time in seconds."""
    if dry_run:
        yield message("A dry run: only robots.txt, the home page, sitemaps and feeds were read. Nothing was written.")
        yield message_n("  {n:,} address is known so far.", "  {n:,} addresses are known so far.", _known(outcome))
    elif outcome.capture is None:
        yield message("Nothing had changed; no new capture was needed.")
    else:
        yield message(
            "Captured as number {number}: {records}, {size} of WARC.",
            number=outcome.capture,
            records=counted(outcome.records, "record"),
            size=size_text(outcome.written),
        )
    if not dry_run:
        yield _answers(outcome)
    yield from _left_out(outcome.left_out)
    yield from _listed(message("Gone or not shown to the public:"), outcome.absent, outcome.gone)
    yield from _listed(message("Captured, with a note:"), outcome.notes, len(outcome.notes))
    if outcome.problems:
        yield from _listed(message("INCOMPLETE. Missing:"), outcome.problems, len(outcome.problems))
    elif not dry_run:
        yield message("Complete: every page in the scope was answered.")
    cost = [counted(outcome.requests, "request"), size_text(outcome.bytes)]
    yield message("{cost}.", cost=listed([*cost, *([] if took is None else [time_text(took)])]))


def _known(outcome: CaptureOutcome) -> int:
    return outcome.pages + outcome.requisites + outcome.pending + outcome.gone + outcome.failed


def _answers(outcome: CaptureOutcome) -> str:
    pages = message_n("{n:,} page", "{n:,} pages", outcome.pages)
    files = message_n("{n:,} file", "{n:,} files", outcome.requisites)
    same = message("{n:,} unchanged", n=outcome.unchanged)
    return message("  {pages} and {files} answered, {same}.", pages=pages, files=files, same=same)


def _left_out(left_out: Mapping[str, int]) -> Iterator[str]:
    parts = [
        message("{words} ({n:,})", words=REASONS[LeftOut(reason)], n=number) for reason, number in left_out.items()
    ]
    if parts:
        yield message("Left out: {parts}.", parts=listed(parts))


def _listed(heading: str, addresses: Sequence[Mapping[str, Any]], number: int) -> Iterator[str]:
    """Yield a heading and the first addresses with their reasons."""
    if not number:
        return
    yield heading
    for each in addresses[:_NAMED]:
        reason = translated(shown(restored_from(each, "reason"), 400))
        if each["url"]:
            yield message("  - {url}: {reason}", url=_address(str(each["url"])), reason=reason)
        else:
            yield message("  - {reason}", reason=reason)
    if number > _NAMED:
        yield message("  … and {n:,} more; captures/runs.jsonl names them.", n=number - _NAMED)


def _address(url: str) -> str:
    return printable(url, _ADDRESS_CHARACTERS)
