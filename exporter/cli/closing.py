"""What a backup says while its service is about to close: how long it is there, and what is still outside."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from exporter.cli.answers import declared_flags
from exporter.clock import at_home
from exporter.message import Message, message, message_n
from exporter.notify.closing import (
    ClosingReport,
    Countdown,
    Outside,
    countdown,
    unseen_entries,
    what_is_outside,
)
from exporter.service.registry import service_of
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.archive import Archive
    from exporter.crawl.outcome import Outcome
    from exporter.settings import Settings

PAGE: Final = "docs/closing.md"
_SHOWN: Final = 10
_NOUNS: Final = {
    "entries": lambda n: message_n("{n:,} entry", "{n:,} entries", n),
    "comments": lambda n: message_n("{n:,} comment", "{n:,} comments", n),
    "assets": lambda n: message_n("{n:,} picture or file", "{n:,} pictures and files", n),
    "files": lambda n: message_n("{n:,} upload", "{n:,} uploads", n),
}
_STATES: Final = {
    "pending": message("not saved yet, and asked for by every backup"),
    "lost": message("gone, and asked for again by every backup"),
    "left_out": message("left out by a setting"),
    "refused": message("refused, as its address is private: see --allow-private-network"),
}


def countdown_of(archive: Archive, settings: Settings, now: datetime) -> Countdown | None:
    """Return how long the service of an archive is there, ``None`` where no end was announced."""
    if settings.closing is None:
        return None
    begun = (at_home(str(run.get("started_at")), settings.timezone) for run in archive.newest_runs())
    return countdown(settings.closing, now, settings.timezone, (each for each in begun if each is not None))


def closing_report(root: Path, settings: Settings, outcome: Outcome, now: datetime) -> ClosingReport | None:
    """Return what a backup is to say, ``None`` where no end of the service was announced.

    Raises:
        BlogExporterError: the archive cannot be read.
    """
    if settings.closing is None:
        return None
    from exporter.archive.archive import Archive

    archive = Archive.open(root)
    remaining = countdown_of(archive, settings, now)
    if remaining is None:
        return None
    declared = declared_flags(settings, archive.info.blog_id, lambda _said, _path: None, all_as_draft=False)
    state = archive.state()
    try:
        unseen = unseen_entries(state, service_of(settings, archive.info.service), declared)
    finally:
        state.close()
    return ClosingReport(remaining, what_is_outside(outcome), unseen, _is_signed_in(settings))


def _is_signed_in(settings: Settings) -> bool:
    if settings.token or settings.token_command or settings.base_url is None:
        return bool(settings.token or settings.token_command)
    from exporter.http.address_guard import check_base_url, origin_of
    from exporter.login.store import SignInStore

    return SignInStore().choose(origin_of(check_base_url(settings.base_url)), settings.account) is not None


def countdown_line(remaining: Countdown) -> Message:
    """Say how long the service is there."""
    day = remaining.day.isoformat()
    if remaining.days < 0:
        return message(
            "The service was to close on {day}: it may be gone. Keep the archive, on two disks; {page} says what is "
            "left to do.",
            day=day, page=PAGE,
        )  # fmt: skip
    if remaining.days == 0:
        return message("The service closes today, on {day}.", day=day)
    days = message_n("{n:,} day", "{n:,} days", remaining.days)
    if remaining.backups is None:
        return message("The service closes on {day}, in {days}: have a backup made every night.", day=day, days=days)
    backups = message_n("{n:,} backup", "{n:,} backups", remaining.backups)
    return message(
        "The service closes on {day}, in {days}: about {backups} to come, at the pace of the last ones.",
        day=day, days=days, backups=backups,
    )  # fmt: skip


def closing_lines(report: ClosingReport, *, has_fallback: bool) -> Iterator[Message]:
    """Yield all that is to be said, what nobody else can save first."""
    yield countdown_line(report.countdown)
    yield from _unseen_lines(report)
    outside = report.outside
    if not outside:
        yield message("Nothing that was asked for is outside of the archive.")
        return
    yield message("Still outside of the archive:")
    for each in outside[:_SHOWN]:
        yield _outside_line(each)
    if len(outside) > _SHOWN:
        more = sum(each.count for each in outside[_SHOWN:])
        yield message_n("  … and {n:,} more.", "  … and {n:,} more.", more)
    if not has_fallback and any(each.state == "lost" for each in outside):
        yield message("A web archive may have what is gone: --archive-fallback asks one.")


def _unseen_lines(report: ClosingReport) -> Iterator[Message]:
    unseen = report.unseen
    if unseen.private or unseen.drafts:
        yield message(
            "Saved here, and by no copy that readers can make: {private}, {drafts}.",
            private=message_n("{n:,} private entry", "{n:,} private entries", unseen.private),
            drafts=message_n("{n:,} draft", "{n:,} drafts", unseen.drafts),
        )  # fmt: skip
    if unseen.undeclared:
        yield message_n(
            "Whether {n:,} entry is a draft is not known: what the service's flags mean was never declared. "
            "inspect DIR shows them.",
            "Whether any of {n:,} entries is a draft is not known: what the service's flags mean was never declared. "
            "inspect DIR shows them.",
            unseen.undeclared,
        )
    if not report.signed_in:
        yield message("Read without signing in: drafts and private entries may be missing. Sign in while you can.")
    elif not any((unseen.private, unseen.drafts, unseen.undeclared)):
        yield message(
            "No draft and no private entry was seen: if the blog has some, sign in as its owner while you can."
        )


def _outside_line(each: Outside) -> Message:
    noun = _NOUNS[each.kind](each.count) if each.kind in _NOUNS else printable(each.kind, 40)
    reason = printable(translated(each.reason), 200)
    if not reason:
        return message("  - {what}: {state}", what=noun, state=_STATES[each.state])
    return message("  - {what}: {state} ({reason})", what=noun, state=_STATES[each.state], reason=reason)


def quiet_closing_line(blog: str, report: ClosingReport) -> Message:
    """Return the one line that is worth a mail."""
    outside = sum(each.count for each in report.outside)
    return message(
        "{blog}: {countdown} {outside}", blog=blog, countdown=countdown_line(report.countdown),
        outside=message_n(
            "{n:,} thing is still outside of the archive.", "{n:,} things are still outside of the archive.", outside
        ),
    )  # fmt: skip
