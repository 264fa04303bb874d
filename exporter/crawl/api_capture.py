"""Writing the exchanges of a run as a capture of its own: WARC files with public answers only, their index and facts.

The capture is complete in ``.work/`` before the version is committed, and moves to ``captures/`` after it. So a kill in
between loses neither.
"""

from __future__ import annotations

import contextlib
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import __version__, lossless_json
from exporter.archive import atomic
from exporter.archive.captures import (
    API,
    INDEX,
    INFO,
    PAGES,
    Capture,
    CaptureInfo,
    append_capture_run,
    captures,
    seal_capture,
)
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.clock import timestamp
from exporter.crawl.exchange_keeper import RunExchanges
from exporter.crawl.exchange_spool import ExchangeSpool, SpooledExchange
from exporter.crawl.known_exchanges import KnownExchanges
from exporter.crawl.publicity import REASONS, UNKNOWN, Publicity
from exporter.errors import BlogExporterError
from exporter.http.user_agent import USER_AGENT
from exporter.message import said, stored_as
from exporter.warc.records import facts_of, warc_date
from exporter.warc.segments import SegmentWriter

if TYPE_CHECKING:
    from datetime import datetime

    from exporter.archive.layout import Layout

_DESCRIPTION: Final = (
    "Exchanges of a backup with the API of its blog service. Credentials and cookies were taken out before anything "
    "was written. An exchange was left out if it holds a record that is not public."
)
_SPECIFICATION: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_OK_BELOW: Final = 300
_COUNTS: Final = ("written", "revisits", "unchanged")


@dataclass
class ApiCapture:
    """The exchanges of a run, on their way into ``captures/``.

    Attributes:
        layout: the archive, whose lock the caller holds.
        blog_id: the blog.
        base_url: the address of the API.
        started: when the run began.
        run: what the run kept.
        counts: ``written``, ``revisits`` and ``unchanged`` exchanges.
        left_out: the numbers of exchanges that were left out, by reason.
        removed: what was taken out of the written ones; names only.
        capture: the number of the capture; ``None`` if nothing was written.
        error: why there is no capture.
    """

    layout: Layout
    blog_id: str
    base_url: str
    started: datetime
    run: RunExchanges | None = None
    counts: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    removed: set[str] = field(default_factory=set)
    capture: int | None = None
    error: BlogExporterError | None = None
    _info: CaptureInfo | None = None

    def write(self, publicity: Publicity, now: datetime) -> None:
        """Write the public exchanges into a folder in ``.work/``; a failure is noted in ``error``."""
        if self.run is None:
            return
        if self.run.failure is not None:
            self.error = self.run.failure
            return
        try:
            self._write(self.run, publicity, now)
        except BlogExporterError as error:
            self._fail(error)

    def seal(self, now: datetime) -> None:
        """Move the written capture to ``captures/``, and append the line of this run; a failure is noted."""
        try:
            made = None
            if self.error is None and self.run is not None:
                if self._info is not None:
                    made = seal_capture(self.layout, Path(self.layout.staged_exchanges), self._info)
                    self.capture = made.number
                self.run.known.save(made)
            append_capture_run(self.layout, {"kind": API, "finished_at": timestamp(now), **self.document()})
        except BlogExporterError as error:
            self._fail(error)

    def document(self) -> dict[str, Any]:
        """Return the result as the run's line states it."""
        return {
            "started_at": timestamp(self.started),
            "capture": self.capture,
            **{name: self.counts[name] for name in _COUNTS},
            "left_out": self._left_out(),
            "removed": sorted(self.removed),
            **stored_as("error", None if self.error is None else said(self.error)),
        }

    def _fail(self, error: BlogExporterError) -> None:
        self.error = self.error or error
        with contextlib.suppress(BlogExporterError, OSError):
            if self.run is not None:
                self.run.spool.drop()
            atomic.remove_folder(self.layout.staged_exchanges)

    def _write(self, run: RunExchanges, publicity: Publicity, now: datetime) -> None:
        folder = Path(self.layout.staged_exchanges)
        self.counts["unchanged"] = run.counts["unchanged"]
        public = self._public_requests(run.spool, publicity)
        with atomic.translated(folder):
            atomic.remove_folder(folder)
            atomic.make_folder(folder)
        with SegmentWriter(folder, f"API-{self.started:%Y%m%d%H%M%S}", self._fields()) as segments:
            for each in run.spool.read():
                if isinstance(each, SpooledExchange):
                    self._put(each, run.known, segments, public=_is_kept(each, public, publicity))
        if not self.counts["written"] + self.counts["revisits"]:
            with atomic.translated(folder):
                atomic.remove_folder(folder)
            return
        self._info = CaptureInfo(
            capture=next_number(self.layout),
            kind=API,
            blog_id=self.blog_id,
            started_at=timestamp(self.started),
            finished_at=timestamp(now),
            tool=f"blog-exporter {__version__}",
            user_agent=USER_AGENT,
            scope=[self.base_url],
            counts={name: self.counts[name] for name in _COUNTS},
            left_out=self._left_out(),
            removed=sorted(self.removed),
            complete=not any(self.left_out[name] for name in (UNKNOWN, "secret", "too_large")),
        )
        with atomic.translated(folder):
            with atomic.hashing(folder / INDEX) as index:
                for line in run.known.lines():
                    index.write(line)
            atomic.write_file(folder / PAGES, b"")
            # Last: with it the folder counts as complete.
            atomic.write_file(folder / INFO, lossless_json.dumps(self._info.document()) + b"\n")

    def _put(self, spooled: SpooledExchange, known: KnownExchanges, segments: SegmentWriter, *, public: bool) -> None:
        """Write an exchange if it is public and new."""
        exchange = spooled.exchange
        facts = facts_of(exchange) if public else None
        if facts is None:
            known.leave_out(exchange.url)
            return
        if known.newest(exchange.url) == (facts.head.status, facts.digest):
            self.counts["unchanged"] += 1
            return
        original = known.original(facts.digest) if facts.cut is None else None
        line = segments.write(exchange, facts, original)
        known.add(line, warc_date(exchange.started))
        self.counts["written" if original is None else "revisits"] += 1

    def _public_requests(self, spool: ExchangeSpool, publicity: Publicity) -> array[int]:
        """Return the public requests with the numbers of their accepted attempts, and count what is left out.

        The number is 0 if none was accepted, and -1 for a request that is not public.
        """
        found = array("i", [-1]) * (spool.requests + 1)
        open_requests: dict[int, list[SpooledFacts]] = {}
        for each in spool.read():
            if isinstance(each, SpooledExchange):
                facts = SpooledFacts(each.attempt, each.status, each.removed)
                open_requests.setdefault(each.request, []).append(facts)
                continue
            spooled = open_requests.pop(each.request, [])
            if not spooled and not each.refused:
                continue
            reason = publicity.why_left_out(each)
            if reason:
                self.left_out[reason] += len(spooled) + bool(each.refused)
                continue
            accepted = found[each.request] = 0 if each.failed else each.attempts
            for facts in spooled:
                if _is_accepted(facts.attempt, facts.status, accepted, publicity):
                    self.removed |= facts.removed
                else:
                    self.left_out[UNKNOWN] += 1
        self.left_out[UNKNOWN] += sum(map(len, open_requests.values()))
        return found

    def _left_out(self) -> dict[str, int]:
        return {name: self.left_out[name] for name in REASONS if self.left_out[name]}

    def _fields(self) -> dict[str, str]:
        left_out = ", ".join(f"{name} {number}" for name, number in self._left_out().items())
        return {
            "software": f"blog-exporter/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": _SPECIFICATION,
            "isPartOf": self.blog_id,
            "description": _DESCRIPTION,
            "http-header-user-agent": USER_AGENT,
            "scope": self.base_url,
            "removed": "; ".join(sorted(self.removed)) or "nothing",
            "exchanges-left-out": left_out or "none",
        }


class SpooledFacts(NamedTuple):
    """An exchange without its bytes."""

    attempt: int
    status: int
    removed: frozenset[str]


def _is_kept(spooled: SpooledExchange, public: array[int], publicity: Publicity) -> bool:
    accepted = public[spooled.request]
    return accepted >= 0 and _is_accepted(spooled.attempt, spooled.status, accepted, publicity)


def _is_accepted(attempt: int, status: int, accepted: int, publicity: Publicity) -> bool:
    """Return whether an exchange of a public request is public too.

    A success that was not accepted, such as a truncated page, may hold any record.
    """
    return attempt == accepted or status >= _OK_BELOW or publicity.open_to_all


def next_number(layout: Layout) -> int:
    """Return the number of the next capture."""
    return 1 + max((each.number for each in captures(layout)), default=0)


def finish_staged(layout: Layout) -> Capture | None:
    """Seal a capture whose run was killed after its version was committed; the caller holds the lock.

    If the run can still be resumed, the folder is removed, because that run writes it again.
    """
    folder = layout.staged_exchanges
    if folder.kind() is None:
        return None
    with contextlib.suppress(OSError, ValueError, lossless_json.NotJson, BlogExporterError):
        if layout.checkpoint.kind() is None:
            raw = lossless_json.loads((folder / INFO).read_bytes(MAX_DOCUMENT_BYTES))
            info = replace(CaptureInfo.of(raw), capture=next_number(layout))
            return seal_capture(layout, Path(folder), info)
    with atomic.translated(folder):
        atomic.remove_folder(folder)
    return None
