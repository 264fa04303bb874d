"""A capture's numbers, and all reasons that make it partial, computed from its frontier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from exporter.capture.events import Effect
from exporter.capture.frontier import AddressState
from exporter.capture.outcome import MAX_NAMED, CaptureOutcome, named
from exporter.capture.scope import AddressKind, LeftOut
from exporter.message import message, message_n

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.capture.frontier import Frontier
    from exporter.capture.work import CaptureWork

_MIN_REFUSED: Final = 5
_MIN_REFUSED_SHARE: Final = 0.1


def fill_in(outcome: CaptureOutcome, work: CaptureWork, limits: Iterable[str], *, most_pages: int) -> None:
    """Fill in the numbers and the problems of a capture.

    Args:
        outcome: its outcome.
        work: its addresses and records.
        limits: sentences about limits of time and size that ended it.
        most_pages: the most pages that it was to ask.
    """
    frontier = work.frontier
    effects = frontier.effects()
    outcome.revisits, outcome.unchanged = effects.get(Effect.REVISIT, 0), effects.get(Effect.UNCHANGED, 0)
    outcome.records, outcome.written = frontier.line_count(), work.written
    outcome.pages = frontier.count(AddressState.DONE, AddressKind.PAGE)
    outcome.requisites = frontier.count(AddressState.DONE, AddressKind.REQUISITE)
    outcome.gone, outcome.failed = frontier.count_named(AddressState.GONE), frontier.count_named(AddressState.FAILED)
    outcome.pending = frontier.count(AddressState.PENDING)
    outcome.left_out = {str(reason): number for reason, number in sorted(frontier.left_out().items())}
    outcome.limits = [*limits, *_page_limit(frontier, most_pages)]
    outcome.problems = list(_problems(frontier, outcome.limits))
    outcome.passing = outcome.failed > 0 or frontier.unanswered_doubts() > 0
    outcome.absent = [named(each.url, each.reason) for each in frontier.named(AddressState.GONE, MAX_NAMED)]
    outcome.notes = [named(each.url, each.reason) for each in frontier.notes(MAX_NAMED)]


def _page_limit(frontier: Frontier, most: int) -> Iterator[str]:
    pages = frontier.count(AddressState.PENDING, AddressKind.PAGE)
    if pages and frontier.asked(AddressKind.PAGE) >= most:
        yield message_n(
            "{n:,} page beyond the limit of {most:,} was not asked (--max-pages)",
            "{n:,} pages beyond the limit of {most:,} were not asked (--max-pages)",
            pages,
            most=most,
        )


def _problems(frontier: Frontier, limits: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield everything that makes the capture partial."""
    for reason in limits:
        yield named("", reason)
    refused, asked = frontier.refused(), frontier.asked(AddressKind.PAGE)
    if refused >= _MIN_REFUSED and refused >= _MIN_REFUSED_SHARE * asked:
        reason = message(
            "{refused:,} of {asked:,} pages were refused (401 or 403): the server may block this program",
            refused=refused,
            asked=asked,
        )
        yield named("", reason)
    for url in frontier.left_out_entries(LeftOut.ROBOTS):
        reason = message("robots.txt forbids this program the entry; if the blog is yours, set obey_robots to no")
        yield named(url, reason)
    doubts = frontier.unanswered_doubts()
    if doubts:
        reason = message_n(
            "{n:,} entry that may be private has no answer for now",
            "{n:,} entries that may be private have no answer for now",
            doubts,
        )
        yield named("", reason)
    for each in frontier.named(AddressState.FAILED, MAX_NAMED):
        yield named(each.url, each.reason)
