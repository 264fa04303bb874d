"""The words of ``fleet``: progress, summaries, and the state of a fleet."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.output import Output, counted, time_text
from exporter.cli.progress_bar import LineTimer, ProgressBar
from exporter.clock import timestamp
from exporter.errors import (
    ArchiveDamaged,
    BlogExporterError,
    Incomplete,
    LastRunFailed,
    NotAuthorised,
    ServiceError,
    UsageError,
)
from exporter.fleet.ledger import BlogState
from exporter.fleet.work import CURRENT, EMPTY, FAILED, MADE
from exporter.message import listed, message, message_n, restored_from, stored_as
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.fleet.fleet_run import FleetMoment, FleetPlan
    from exporter.fleet.forecast import Forecast
    from exporter.fleet.ledger import BlogAttempt
    from exporter.fleet.work import ArchiveResult, WorkTally

LINE_SECONDS = 60.0
"""The time between two lines of progress in a log: a fleet's run takes hours."""
_MAX_REASON_CHARACTERS: Final = 300
_MAX_FAILURES: Final = 100
_MAX_UNREADABLE: Final = 20
_KINDS: Final = {each.exit_code: each for each in (UsageError, NotAuthorised, ArchiveDamaged, ServiceError)}
_MAX_DAYS: Final = 36_500.0
"""A forecast that is further away says nothing."""


class RunDisplay(ProgressBar):
    """Shows a run: a bar on a terminal, elsewhere a line a minute, and a line for each blog and cause of its failures.

    Attributes:
        codes: how many attempts that were the last of their blog in this run ended with which exit code.
    """

    def __init__(self, out: Output, plan: FleetPlan) -> None:
        super().__init__(out, message("blogs"))
        self._deadline = plan.deadline
        self.codes: Counter[int] = Counter()
        self._reason = ""
        self._named: set[tuple[str, int, str | None]] = set()
        self._next_line = LINE_SECONDS

    def handle(self, moment: FleetMoment) -> None:
        """Show the progress of a run."""
        for blog_id, attempt, again in moment.ended:
            if again is None:
                self.codes[attempt.exit_code] += 1
                self._reason = attempt.reason or ""
            if attempt.exit_code:
                self._name_failure(blog_id, attempt, again)
        self.update(moment.counts.blogs - moment.left - moment.under_way, moment.counts.blogs)
        if moment.seconds >= self._next_line:
            self._next_line = moment.seconds + LINE_SECONDS
            self.out.say(_moment_line(moment))

    def _name_failure(self, blog_id: str, attempt: BlogAttempt, again: float | None) -> None:
        """Name a failure, unless it was named: each further attempt of the run has the same cause."""
        cause = blog_id, attempt.exit_code, attempt.kind
        if cause in self._named or len(self._named) > _MAX_FAILURES:
            return
        self._named.add(cause)
        if len(self._named) <= _MAX_FAILURES:
            self.out.say(_failure(blog_id, attempt, again))
        else:
            self.out.say(message("  More blogs fail; fleet status sums them up."))

    def note(self, moment: FleetMoment) -> dict[str, Any]:
        """Return what ``fleet status`` shows of a run under way."""
        forecast = moment.forecast
        return {
            "requests": moment.requests,
            "rate": None if forecast is None else round(forecast.rate, 2),
            "under_way": moment.under_way,
            "left": moment.left,
            "forecast": _forecast(forecast),
            "deadline": self._against_deadline(forecast),
        }

    def _against_deadline(self, forecast: Forecast | None) -> dict[str, Any] | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.time()
        share = None if forecast is None else round(forecast.share_within(left), 4)
        return {"at": timestamp(datetime.fromtimestamp(self._deadline, UTC)), "seconds": round(left), "share": share}

    def summary(self, root: Path, moment: FleetMoment) -> dict[str, Any]:
        """Print the summary of a run, and return it as ``fleet run --json`` prints it."""
        counts = moment.counts
        self.out.say(_state_line(counts.states, counts.archived))
        rate = moment.requests / moment.seconds if moment.seconds else 0.0
        requests, took = counted(moment.requests, "request"), time_text(moment.seconds)
        self.out.say("{requests} in {time}, {rate:.1f} a second.", requests=requests, time=took, rate=rate)
        return {
            "fleet": str(root.absolute()),
            "blogs": {"listed": counts.blogs, **counts.states},
            "archived": counts.archived,
            "lasting": counts.lasting,
            "exit_codes": {str(code): count for code, count in sorted(self.codes.items())},
            "requests": moment.requests,
            "seconds": round(moment.seconds, 1),
            "rate": round(rate, 1),
        }

    def problem(self, document: Mapping[str, Any]) -> BlogExporterError | None:
        """Return the error of a finished run if some listed blogs are not saved.

        If nothing was saved and all blogs failed alike, it is the error of the last one.
        """
        blogs = document["blogs"]
        if not blogs["saved"] + blogs["partial"] and len(self.codes) == 1 and self._reason:
            (code,) = self.codes
            kind = _KINDS.get(code, Incomplete)
            return kind(message("No blog could be saved, each failed as the last one: {reason}", reason=self._reason))
        return problem_of(document)


def _moment_line(moment: FleetMoment) -> str:
    forecast = moment.forecast
    values: dict[str, Any] = {"archived": moment.counts.archived, "under_way": moment.under_way}
    if forecast is None or forecast.seconds > _MAX_DAYS * 86_400:
        return message_n(
            "{archived:,} of {n:,} blog archived, {under_way:,} under way.",
            "{archived:,} of {n:,} blogs archived, {under_way:,} under way.",
            moment.counts.blogs,
            **values,
        )
    values |= {"rate": forecast.rate, "time": time_text(forecast.seconds), "error": time_text(forecast.error)}
    return message_n(
        "{archived:,} of {n:,} blog archived, {under_way:,} under way; {rate:.0f} requests/s; "
        "done in {time} ± {error}.",
        "{archived:,} of {n:,} blogs archived, {under_way:,} under way; {rate:.0f} requests/s; "
        "done in {time} ± {error}.",
        moment.counts.blogs,
        **values,
    )


def _shown_reason(reason: str) -> str:
    """Return a reason in the interface language, on one line."""
    return printable(translated(reason), _MAX_REASON_CHARACTERS)


def _failure(blog_id: str, attempt: BlogAttempt, again: float | None) -> str:
    is_kept = attempt.state is BlogState.PARTIAL
    values = {
        "blog": printable(blog_id, 100),
        "state": message("archived, incomplete") if is_kept else message("failed"),
        "reason": _shown_reason(attempt.reason or "").rstrip(".。"),
    }
    if again is not None:
        return message("  {blog}: {state}: {reason}; again in {wait}.", **values, wait=time_text(again))
    if attempt.lasts:
        return message("  {blog}: {state}: {reason}; not again in this run.", **values)
    return message("  {blog}: {state}: {reason}.", **values)


def _forecast(forecast: Forecast | None) -> dict[str, Any] | None:
    if forecast is None or forecast.seconds > _MAX_DAYS * 86_400:
        return None
    done = datetime.now(UTC) + timedelta(seconds=forecast.seconds)
    return {
        "seconds": round(forecast.seconds, 1),
        "error_seconds": round(forecast.error, 1),
        "finished_at": timestamp(done),
        "requests": round(forecast.requests),
    }


def _state_line(states: Mapping[Any, int], archived: int) -> str:
    """Return how many listed blogs have an archive, and how the newest attempts of the others ended."""
    blogs = sum(states[state] for state in BlogState)
    parts = [
        message_n(
            "{archived:,} of {n:,} blog archived", "{archived:,} of {n:,} blogs archived", blogs, archived=archived
        )
    ]
    if states["partial"]:
        parts.append(message("{n:,} of them incomplete", n=states["partial"]))
    if states["failed"]:
        parts.append(message("{n:,} failed in the newest attempt", n=states["failed"]))
    if states["new"]:
        parts.append(message("{n:,} not tried yet", n=states["new"]))
    return message("{parts}.", parts=listed(parts))


def overview_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what ``fleet status`` shows of an overview."""
    yield _state_line(document["blogs"], document["archived"])
    if document["lasting"]:
        yield message_n(
            "{n:,} has a cause that waiting does not change; a run tries it once.",
            "{n:,} have causes that waiting does not change; a run tries each once.",
            document["lasting"],
        )
    if document["due"]:
        yield message("{n:,} due now.", n=document["due"])
    if document["due_later"]:
        yield message(
            "{n:,} to be tried again, from {time} on.", n=document["due_later"], time=_local(document["next_due"])
        )
    run = document["run"]
    if run is not None:
        yield ""
        yield from _run_lines(run)
    if document["failures"]:
        yield ""
        yield message("What failed:")
        for each in document["failures"]:
            yield message_n(
                "  {n:,} blog, exit code {code}, such as {blog}: {reason}",
                "  {n:,} blogs, exit code {code}, such as {blog}: {reason}",
                each["blogs"],
                code=each["exit_code"],
                blog=printable(str(each["example"]), 100),
                reason=_shown_reason(restored_from(each, "reason")),
            )
    if document["slowest"]:
        yield ""
        yield message("The slowest of the newest run:")
        for each in document["slowest"][:5]:
            blog, requests = printable(str(each["blog_id"]), 100), counted(each["requests"], "request")
            yield message("  {blog}: {time}, {requests}", blog=blog, time=time_text(each["seconds"]), requests=requests)


def _run_lines(run: Mapping[str, Any]) -> Iterator[str]:
    values = {
        "number": run["number"],
        "requests": counted(run["requests"], "request"),
        "time": time_text(run["seconds"]),
        "rate": run["rate"],
    }
    if run["running"]:
        yield message(
            "Run {number} is under way for {time}: {requests}, {rate:.1f} a second; {under_way:,} blogs under way.",
            **values,
            under_way=run["under_way"],
        )
    elif run["exit_code"] is None:
        start = _local(run["started_at"])
        yield message("Run {number} of {start} was killed: run the fleet again.", number=run["number"], start=start)
    else:
        yield message(
            "Run {number} ended {end} with exit code {code}: {requests} in {time}, {rate:.1f} a second.",
            **values,
            end=_local(run["finished_at"]),
            code=run["exit_code"],
        )
    forecast, deadline = run["forecast"], run["deadline"]
    if forecast is not None:
        yield message(
            "Done in {time} ± {error}, at {end}.",
            time=time_text(forecast["seconds"]),
            error=time_text(forecast["error_seconds"]),
            end=_local(forecast["finished_at"]),
        )
    if deadline is not None and deadline["share"] is not None:
        yield message(
            "Until {end}, {share:.0%} of the remaining blogs will be saved at this rate.",
            end=_local(deadline["at"]),
            share=deadline["share"],
        )
    if run["dashboard"]:
        yield message("Dashboard: {address}", address=printable(str(run["dashboard"]), _MAX_REASON_CHARACTERS))


def problem_of(document: Mapping[str, Any]) -> BlogExporterError | None:
    """Return the error that describes a fleet: a newest run that failed or was killed, or blogs that are not saved."""
    blogs, run = document["blogs"], document["run"]
    place = printable(str(document["fleet"]))
    if isinstance(run, dict) and not run["running"] and run["exit_code"] not in {0, Incomplete.exit_code}:
        return LastRunFailed("The newest run of the fleet in {folder} did not end well: run it again.", folder=place)
    missing = blogs["listed"] - blogs["saved"]
    if not missing:
        return None
    if missing == document["lasting"]:
        return Incomplete(
            message_n(
                "{n:,} blog of the fleet in {folder} is not saved whole, and waiting does not change the cause. Do "
                "what fleet status says about it, then run the fleet with --retry-now.",
                "{n:,} blogs of the fleet in {folder} are not saved whole, and waiting does not change the causes. Do "
                "what fleet status says about them, then run the fleet with --retry-now.",
                missing,
                folder=place,
            )
        )
    text = message_n(
        "{n:,} blog of the fleet in {folder} is not saved whole: run it again.",
        "{n:,} blogs of the fleet in {folder} are not saved whole: run it again.",
        missing,
        folder=place,
    )
    return Incomplete(text)


def _local(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"


class WorkDisplay(ProgressBar):
    """Shows work over all archives: a bar on a terminal, elsewhere a line a minute; and failures as they come.

    Args:
        out: the command's output.
        total: how many folders there are, some of which may hold no archive.
    """

    def __init__(self, out: Output, total: int) -> None:
        super().__init__(out, message("archives"))
        self.timer = LineTimer(LINE_SECONDS)
        self._total = total
        self._begun = time.monotonic()
        self._failures = 0

    def handle(self, result: ArchiveResult, tally: WorkTally) -> None:
        """Show a result."""
        if result.reason is not None:
            self._failures += 1
            if self._failures <= _MAX_FAILURES:
                archive, reason = printable(str(result.path), 300), _shown_reason(result.reason)
                self.out.answer("{archive}: {reason}", archive=archive, reason=reason)
        self.advance(tally.archives)

    def advance(self, done: int) -> None:
        """Show how many archives are done."""
        total = max(done, self._total)
        self.update(done, total)
        if self.timer.is_due():
            rate = done / (time.monotonic() - self._begun)
            numbers: dict[str, Any] = {
                "done": done,
                "total": total,
                "rate": rate,
                "time": time_text((total - done) / rate),
            }
            self.out.say("{done:,} of {total:,} archives, {rate:.1f} a second; done in {time}.", **numbers)


def work_lines(tally: WorkTally, seconds: float) -> Iterator[str]:
    """Yield the summary of work over all archives."""
    states = tally.states
    parts = [
        message_n("{n:,} archive done", "{n:,} archives done", states[MADE]),
        message("{n:,} up to date", n=states[CURRENT]),
    ]
    if states[EMPTY]:
        parts.append(message("{n:,} without a version yet", n=states[EMPTY]))
    if states[FAILED]:
        parts.append(message("{n:,} failed", n=states[FAILED]))
    rate = tally.archives / seconds if seconds else 0.0
    yield message("{parts}; {time}, {rate:.1f} a second.", parts=listed(parts), time=time_text(seconds), rate=rate)
    if states[FAILED] > _MAX_FAILURES:
        yield message("The first {n:,} failures are named above; --report FILE names all.", n=_MAX_FAILURES)


def report_trouble(out: Output, trouble: list[tuple[str, str]], count: int) -> None:
    """Name archives that could not be read, the first twenty of them."""
    for name, reason in trouble[:_MAX_UNREADABLE]:
        out.warn("{archive}: {reason}", archive=printable(name, 300), reason=reason)
    if count > _MAX_UNREADABLE:
        out.warn("{n:,} more could not be read.", n=count - _MAX_UNREADABLE)


def trouble_document(trouble: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return archives that could not be read as JSON shows them, the first thousand."""
    return [{"archive": printable(name), **stored_as("reason", reason)} for name, reason in trouble[:1000]]
