"""Notify about a backup: through the monitor, the command of ``on_failure``, and the mail that cron sends.

At a terminal, every trouble is printed every time. With ``--quiet`` and without a terminal, a trouble is printed once,
again after a change or after ``remind_after``, and its end is printed once. This does not change exit codes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.layout import Layout
from exporter.archive.reader import is_archive
from exporter.cli.output import Output
from exporter.cli.summary import missing_things, quiet_line
from exporter.clock import Clock, at_home, timestamp
from exporter.errors import ArchiveDamaged, ArchiveLocked, BlogExporterError, Interrupted
from exporter.message import listed, message, said
from exporter.model.kinds import Kind
from exporter.notify.delivery import Monitor, Signal, run_command
from exporter.notify.notified import Event, Notified, load, save
from exporter.settings import Settings
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.crawl.outcome import Outcome
    from exporter.notify.closing import ClosingReport

_WORDS: Final = {
    2: message("a setting is wrong"),
    4: message("refused, because a large part of the blog disappeared at once"),
    11: message("another backup is writing this archive"),
    12: message("not authorised: sign in again"),
    13: message("damage found"),
    14: message("the archive has a newer format than this program supports"),
    20: message("the service failed"),
    28: message("no space left"),
    130: message("interrupted"),
    143: message("terminated"),
}
"""An exit code's meaning, without words from the blog or its service."""


class Notifier:
    """Notifies about one run; the caller sets ``outcome`` when the run ends.

    Attributes:
        monitor: the monitor at ``ping_url``; ``None`` if it is not set.
        outcome: the result of the run; ``None`` if it failed.
        closing: the report about the service's end, if one was announced.
    """

    def __init__(self, root: Path, blog_id: str, settings: Settings, out: Output, clock: Clock) -> None:
        self.monitor = None if settings.ping_url is None else Monitor(settings.ping_url)
        self.outcome: Outcome | None = None
        self.closing: ClosingReport | None = None
        self._root = root
        self._blog = printable(blog_id, 120)
        self._settings = settings
        self._out = out
        self._clock = clock

    def end(self, error: BlogExporterError | None) -> None:
        """Report the run's end, and mark an error that must not be printed again."""
        if self.monitor is not None:
            asyncio.run(self.monitor.send(self._signal(error), translated(self._body(error))))
        layout, now = Layout(self._root), self._clock.now()
        remembers = is_archive(layout)
        before = load(layout.notified) if remembers else Notified()
        event, after = before.after(self._troubles(error), now, self._settings.remind_after)
        if remembers and (after != before or (self._is_unwatched() and layout.notified.kind() is None)):
            save(layout.notified, after)
        self._say(event, before, error)
        if event is not None and self._settings.on_failure is not None:
            self._run_hook(self._settings.on_failure, event, before, error)

    def _is_unwatched(self) -> bool:
        return self._out.verbosity < 0 and not self._out.as_json and not sys.stderr.isatty()

    def _say(self, event: Event | None, before: Notified, error: BlogExporterError | None) -> None:
        """Print news, and mark a known error."""
        known = event is None and self._is_unwatched()
        if self._out.verbosity < 0 and self.outcome is not None:
            notice = quiet_line(self._blog, self.outcome, known=known)
            if notice is not None:
                self._out.warn(notice)
            line = self._closing_line()
            if line is not None and not known:
                self._out.warn(line)
        trouble = self.monitor.trouble if self.monitor is not None else None
        if self.monitor is not None and trouble is not None and not known:
            self._out.warn(
                "Cannot reach the monitor at {host} ({reason}). This does not affect the backup.",
                host=self.monitor.host,
                reason=said(trouble),
            )
        if event is Event.HEALED:
            self._out.notice(self._healed(before))
        if event is Event.REMINDER and before.since is not None:
            date = self._date(before.since)
            self._out.notice("{blog} has had the following trouble since {date}.", blog=self._blog, date=date)
        if error is not None:
            error.reported = known
            if self._settings.closing is not None and not known:
                self._say_if_closed(self._settings.closing)

    def _say_if_closed(self, day: date) -> None:
        """Print that the closing day is over, which may be why the run failed."""
        from exporter.cli.summary import countdown_line  # only needed for a closing service
        from exporter.notify.closing import countdown

        remaining = countdown(day, self._clock.now(), self._settings.timezone, ())
        if remaining.days < 0:
            self._out.notice(countdown_line(remaining))

    def _troubles(self, error: BlogExporterError | None) -> set[str]:
        """Return a name for each trouble; the same trouble has the same name every night."""
        found = set() if error is None else {f"exit {error.exit_code}"}
        if self.outcome is not None:
            found |= {f"damaged {path}" for path in self.outcome.damaged}
            for problem in self.outcome.problems:
                what = problem.id
                if what is None:
                    # Reasons without a record contain numbers, which differ from night to night.
                    what = "".join(mark for mark in problem.reason if not mark.isdigit())
                elif problem.kind == str(Kind.ASSETS):
                    what = what.partition("://")[2].partition("/")[0]
                found.add(f"{problem.kind} {what}")
        if self.monitor is not None and self.monitor.trouble is not None:
            found.add("monitor")
        if self.closing is not None and self._closing_line() is not None:
            found.add(f"closing {self.closing.countdown.step}")
        return found

    def _closing_line(self) -> str | None:
        """Return news about the closing service: the end has come, or a later backup may save a missing record."""
        if self.closing is None or self.closing.countdown.step is None:
            return None
        if self.closing.countdown.days >= 0 and all(each.state == "left_out" for each in self.closing.outside):
            return None
        from exporter.cli.summary import quiet_closing_line

        return quiet_closing_line(self._blog, self.closing)

    def _signal(self, error: BlogExporterError | None) -> Signal:
        if isinstance(error, ArchiveLocked | Interrupted):
            # Neither a success nor a failure: the other run or the next night reports the result.
            return Signal.LOG
        return Signal.SUCCESS if self._code(error) == 0 else Signal.FAIL

    def _code(self, error: BlogExporterError | None) -> int:
        return error.exit_code if error is not None else self.outcome.exit_code if self.outcome is not None else 1

    def _body(self, error: BlogExporterError | None) -> str:
        """Return the text for the monitor: numbers and our own words, nothing from the blog or its service."""
        code = self._code(error)
        if error is None and self.outcome is not None and code != ArchiveDamaged.exit_code:
            if code == 0:
                return message("exit 0: {blog} is saved", blog=self._blog)
            missing = listed(missing_things(self.outcome)) or message("something")
            return message("exit {code}: {blog}: not saved: {missing}", code=code, blog=self._blog, missing=missing)
        reason = _WORDS.get(code, message("it failed"))
        return message("exit {code}: {blog}: {reason}", code=code, blog=self._blog, reason=reason)

    def _run_hook(self, command: str, event: Event, before: Notified, error: BlogExporterError | None) -> None:
        text = printable(translated(self._healed(before) if event is Event.HEALED else self._trouble_text(error)), 2000)
        facts = {
            "EVENT": str(event),
            "EXIT_CODE": str(self._code(error)),
            "BLOG": self._blog,
            "ARCHIVE": str(self._root.absolute()),
            "MESSAGE": text,
        }
        wrong = run_command(command, text, facts)
        if wrong is not None:
            self._out.warn("The command of on_failure failed: {reason}.", reason=wrong)

    def _trouble_text(self, error: BlogExporterError | None) -> str:
        if error is not None:
            return message("{blog}: {reason}", blog=self._blog, reason=said(error))
        notice = quiet_line(self._blog, self.outcome) if self.outcome is not None else None
        news = notice or self._closing_line()
        if news is not None:
            return news
        trouble = self.monitor.trouble if self.monitor is not None else None
        reason = "" if trouble is None else said(trouble)
        return message("{blog}: cannot reach the monitor: {reason}", blog=self._blog, reason=reason)

    def _healed(self, before: Notified) -> str:
        date = "" if before.since is None else self._date(before.since)
        return message(
            "{blog} is well again: this backup succeeded. The trouble began on {date}.", blog=self._blog, date=date
        )

    def _date(self, moment: datetime) -> str:
        there = at_home(timestamp(moment), self._settings.timezone)
        return str((there or moment).date())


@contextmanager
def notifying(root: Path, blog_id: str, settings: Settings, out: Output, clock: Clock) -> Iterator[Notifier]:
    """Report how the block ends, with or without an error.

    Raises:
        UsageError: ``ping_url`` is not valid.
    """
    notifier = Notifier(root, blog_id, settings, out, clock)
    try:
        yield notifier
    except BlogExporterError as error:
        notifier.end(error)
        raise
    except Exception as error:
        notifier.end(BlogExporterError("Unexpected: {kind}", kind=type(error).__name__))
        raise
    notifier.end(None)
