"""A capture's settings and outcome, and its line in ``captures/runs.jsonl``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, Final, NamedTuple

from exporter.capture.scope import LeftOut
from exporter.errors import Incomplete, StaysIncomplete
from exporter.http.deadline import Timeouts
from exporter.http.engine import DOWNLOAD_POLICY, DOWNLOAD_TIMEOUTS
from exporter.http.retry import RetryEvent, RetryPolicy
from exporter.http.user_agent import USER_AGENT
from exporter.message import message, message_n, stored_as

MAX_NAMED: Final = 1_000
"""Addresses that the documents of a capture name for each reason; the others are counted."""


class EntryAddress(NamedTuple):
    """The permalink of an entry, and whether its record says that it is public."""

    url: str
    is_public: bool = True


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """The settings of a capture.

    Attributes:
        blog_id: the blog.
        home: the address of its home page.
        concurrency: the most requests at a time to the blog's host.
        rate: the most requests per second to it; ``None`` for no limit.
        obey_robots: whether robots.txt of the blog's host is obeyed (RFC 9309).
        most_pages: the most pages that are asked.
        max_size: the bytes of WARC files after which the capture ends; ``None`` for no limit.
        max_time: the seconds after which the capture ends; ``None`` for no limit.
        max_bytes: of an answer's body; a longer one is cut.
        allow_private: whether files at private addresses are asked.
        trusts_home: whether the home page may be at a private address, because the user named it.
        skipped_hosts: hosts whose files are left out.
        user_agent: as sent.
        operator: the person or body behind the capture, for ``warcinfo``; may be empty.
        resume_max_age: the age of an interrupted capture that is not resumed any more.
        longest_pause: the longest pause in seconds that the blog's host may request.
        dry_run: whether only robots.txt, the home page, sitemaps and feeds are read, and nothing is kept.
        timeouts: of each request.
        policy: when a request is repeated.
        on_retry: is called before each wait.
    """

    blog_id: str
    home: str
    concurrency: int = 2
    rate: float | None = None
    obey_robots: bool = True
    most_pages: int = 100_000
    max_size: int | None = None
    max_time: float | None = None
    max_bytes: int = 100_000_000
    allow_private: bool = False
    trusts_home: bool = True
    skipped_hosts: frozenset[str] = frozenset()
    user_agent: str = USER_AGENT
    operator: str = ""
    resume_max_age: timedelta = timedelta(days=1)
    longest_pause: float = 1800.0
    dry_run: bool = False
    timeouts: Timeouts = DOWNLOAD_TIMEOUTS
    policy: RetryPolicy = DOWNLOAD_POLICY
    on_retry: Callable[[RetryEvent], None] = lambda _: None

    @property
    def purpose(self) -> dict[str, Any]:
        """The settings that an interrupted capture must have to be resumed."""
        return {
            "blog_id": self.blog_id,
            "home": self.home,
            "obey_robots": self.obey_robots,
            "user_agent": self.user_agent,
            "operator": self.operator,
            "skipped_hosts": sorted(self.skipped_hosts),
        }


@dataclass(slots=True)
class CaptureOutcome:
    """The outcome of a capture.

    Attributes:
        capture: the number of the new capture; ``None`` if nothing changed or it was not finished.
        outcome: ``captured``, ``unchanged``, ``partial``, ``interrupted``, ``failed`` or, in a dry run, ``planned``.
        requests: sent in this run, with retries.
        bytes: received in this run.
        written: the bytes of the new WARC files.
        records: answers that were written, revisits included.
        revisits: answers of which only the head was written.
        unchanged: answers like the newest record of their address.
        pages: the pages that were answered.
        requisites: the files that were answered.
        gone: addresses that the server does not have, or does not show to the public.
        failed: addresses without an answer for now.
        pending: addresses that a limit left unasked.
        left_out: the number of left-out addresses by reason.
        problems: ``{"url", "reason"}`` for everything that makes the capture partial; an empty address is the blog.
        absent: ``{"url", "reason"}`` for the pages that are gone.
        notes: ``{"url", "reason"}`` for answers that are cut or were not searched.
        limits: sentences about the limits that were reached.
        passing: whether some of ``problems`` are addresses without an answer for now; only this run knows it.
    """

    started_at: str
    home: str
    finished_at: str = ""
    outcome: str = "failed"
    exit_code: int = 1
    error: str | None = None
    capture: int | None = None
    resumed_from: str | None = None
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    written: int = 0
    records: int = 0
    revisits: int = 0
    unchanged: int = 0
    pages: int = 0
    requisites: int = 0
    gone: int = 0
    failed: int = 0
    pending: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    problems: list[dict[str, Any]] = field(default_factory=list)
    absent: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    passing: bool = False

    @property
    def gap(self) -> str | None:
        """The class of the error that makes it partial; ``None`` if it is whole, or failed."""
        found = self.partial() if self.exit_code == Incomplete.exit_code else None
        return None if found is None else type(found).__name__

    def line(self) -> dict[str, Any]:
        """Return the run's line in ``captures/runs.jsonl``."""
        line = {**asdict(self), **stored_as("error", self.error)}
        del line["passing"]
        return line

    @property
    def counts(self) -> dict[str, int]:
        """The numbers for ``capture.json``."""
        names = ("requests", "records", "revisits", "unchanged", "pages", "requisites", "gone", "failed", "pending")
        forgotten = self.left_out.get(str(LeftOut.FORGOTTEN), 0)
        return {name: getattr(self, name) for name in names} | ({"forgotten": forgotten} if forgotten else {})

    def partial(self) -> Incomplete | None:
        """Return the error if not everything could be captured, otherwise ``None``."""
        if not self.problems:
            return None
        kind = Incomplete if self.passing else StaysIncomplete
        first, more = self.problems[0], len(self.problems) - 1
        what: str = first["reason"]
        if first["url"]:
            what = message("{url}: {reason}", url=first["url"], reason=first["reason"])
        text = message("Not everything could be captured: {first}. The next capture tries again.", first=what)
        if more:
            text = message(
                "Not everything could be captured: {first}, and {others}. The next capture tries again.",
                first=what,
                others=message_n("{n:,} more problem", "{n:,} more problems", more),
            )
        return kind(text)


def named(url: str, reason: str) -> dict[str, Any]:
    """Return an address with a reason, as the documents of a capture name it."""
    return {"url": url, **stored_as("reason", reason)}
