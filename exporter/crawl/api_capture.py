"""Writes the public exchanges that a run recorded into a separate capture: WARC files, their index and facts.

The capture is complete in ``.work/`` before the version is committed, and moves to ``captures/`` after it. So a
kill in between loses nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
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
    next_capture,
    seal_capture,
)
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.clock import timestamp
from exporter.crawl.exchange_keeper import RunExchanges
from exporter.crawl.exchange_spool import ExchangeSpool, SpooledExchange
from exporter.crawl.known_exchanges import KnownExchanges
from exporter.crawl.publicity import FORGOTTEN, REASONS, UNKNOWN, Publicity
from exporter.errors import BlogExporterError
from exporter.frozen import frozen
from exporter.http.user_agent import USER_AGENT
from exporter.message import said, stored_as
from exporter.warc.http_message import read_head
from exporter.warc.records import facts_of, warc_date
from exporter.warc.segments import SegmentWriter
from exporter.warc.shown import ShownRecords

if TYPE_CHECKING:
    from datetime import datetime

    from exporter.archive.layout import Layout
    from exporter.http.wire import WireExchange
    from exporter.model.exchange import Held

_DESCRIPTION: Final = (
    "Exchanges of a backup with the API of its blog service. Credentials and cookies were taken out before anything "
    "was written. An exchange was left out if it holds a record that is not public."
)
_SPECIFICATION: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_OK_BELOW: Final = 300
_COUNTS: Final = ("written", "revisits", "unchanged")


@dataclass
class ApiCapture:
    """Turns a run's exchanges into a capture.

    Attributes:
        layout: the archive, whose lock the caller holds.
        blog_id: the blog.
        base_url: the address of the API.
        started: when the run began.
        operator: who records the exchanges; may be empty.
        run: the recorded exchanges.
        counts: ``written``, ``revisits`` and ``unchanged`` exchanges.
        left_out: the numbers of exchanges that were left out, by reason.
        removed: names of the header fields and parameters that were taken out.
        capture: the number of the capture; ``None`` if nothing was written.
        error: why there is no capture.
    """

    layout: Layout
    blog_id: str
    base_url: str
    started: datetime
    operator: str = ""
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
        self.counts["unchanged"] = run.unchanged
        public = self._public_requests(run.spool, publicity)
        forgotten = ShownRecords.of(self.layout, publicity.entries.service.name)
        with atomic.translated(folder):
            atomic.remove_folder(folder)
            atomic.make_folder(folder)
        with SegmentWriter(folder, f"API-{self.started:%Y%m%d%H%M%S}", self._fields()) as segments:
            for each in run.spool.read():
                if isinstance(each, SpooledExchange):
                    kept = public.last[each.request] >= 0 and public.accepts(each.request, each.attempt, each.status)
                    if kept and self._shows(forgotten, each.exchange):
                        kept = False
                        self.left_out[FORGOTTEN] += 1
                    self._put(each, run.known, segments if kept else None, public.content_of(each))
        if not self.counts["written"] + self.counts["revisits"]:
            with atomic.translated(folder):
                atomic.remove_folder(folder)
            return
        self._info = CaptureInfo(
            capture=next_capture(self.layout),
            kind=API,
            blog_id=self.blog_id,
            started_at=timestamp(self.started),
            finished_at=timestamp(now),
            tool=f"blog-exporter {__version__}",
            user_agent=USER_AGENT,
            operator=self.operator,
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

    @staticmethod
    def _shows(forgotten: ShownRecords, exchange: WireExchange) -> bool:
        head = read_head(exchange.answer) if forgotten else None
        return head is not None and forgotten.is_in_exchange(exchange, head)

    def _put(
        self, spooled: SpooledExchange, known: KnownExchanges, segments: SegmentWriter | None, content: int | None
    ) -> None:
        """Write an exchange if it is new; without segments it is left out. ``content`` as for ``known.add``."""
        exchange = spooled.exchange
        facts = facts_of(exchange)
        if facts is None or segments is None:
            known.leave_out(exchange.url)
            return
        newest = None if content is None else known.newest(exchange.url)
        if newest is not None and newest.is_same(facts.head.status, facts.digest, content or 0):
            self.counts["unchanged"] += 1
            return
        original = known.original(facts.digest) if facts.cut is None else None
        line = segments.write(exchange, facts, original)
        known.add(line, warc_date(exchange.started), content)
        self.counts["written" if original is None else "revisits"] += 1

    def _public_requests(self, spool: ExchangeSpool, publicity: Publicity) -> PublicRequests:
        """Return the public requests, and count the exchanges that are left out."""
        number = spool.requests + 1
        found = PublicRequests(array("i", [-1]) * number, array("q", bytes(8 * number)), publicity.open_to_all)
        under_way: dict[int, list[SpooledFacts]] = {}
        for each in spool.read(bodies=False):
            if isinstance(each, SpooledExchange):
                facts = SpooledFacts(each.attempt, each.status, each.removed)
                under_way.setdefault(each.request, []).append(facts)
                continue
            spooled = under_way.pop(each.request, [])
            if not spooled and not each.refused:
                continue
            reason = publicity.why_left_out(each)
            if reason:
                self.left_out[reason] += len(spooled) + bool(each.refused)
                continue
            found.last[each.request], found.contents[each.request] = each.attempts, _content(each.held)
            if each.failed:
                found.failed.add(each.request)
            for facts in spooled:
                if found.accepts(each.request, facts.attempt, facts.status):
                    self.removed |= facts.removed
                else:
                    self.left_out[UNKNOWN] += 1
        self.left_out[UNKNOWN] += sum(map(len, under_way.values()))
        return found

    def _left_out(self) -> dict[str, int]:
        return {name: self.left_out[name] for name in REASONS if self.left_out[name]}

    def _fields(self) -> dict[str, str]:
        left_out = ", ".join(f"{name} {number}" for name, number in self._left_out().items())
        return {
            "software": f"blog-exporter/{__version__}",
            **({"operator": self.operator} if self.operator else {}),
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


@frozen
class PublicRequests:
    """The requests whose exchanges are public.

    Attributes:
        last: by a request's number, that of its last attempt; -1 for a request that is not public.
        contents: by a request's number, a hash of the records in its answer; 0 without any.
        open_to_all: whether every answer is what any visitor sees.
        failed: the requests without an accepted answer.
    """

    last: array[int]
    contents: array[int]
    open_to_all: bool
    failed: set[int] = field(default_factory=set)

    def accepts(self, request: int, attempt: int, status: int) -> bool:
        """Return whether a public request's exchange is also public.

        A success that was not accepted, such as a truncated page, may hold any record.
        """
        accepted = attempt == self.last[request] and request not in self.failed
        return accepted or status >= _OK_BELOW or self.open_to_all

    def content_of(self, exchange: SpooledExchange) -> int | None:
        """Return the hash of the records in a last attempt; ``None`` for an attempt that was repeated."""
        return self.contents[exchange.request] if exchange.attempt == self.last[exchange.request] else None


def _content(held: Held | None) -> int:
    """Return a hash over an answer's records; 0 without any, or if one is not shown."""
    if held is None or not held.records or any(each.identity is None for each in held.records):
        return 0
    hashed = hashlib.sha256()
    for kind, record_id, identity in held.records:
        hashed.update(f"{kind} {record_id}\n".encode("utf-8", "surrogatepass") + (identity or b""))
    return int.from_bytes(hashed.digest()[:8], "big", signed=True)


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
            info = replace(CaptureInfo.of(raw), capture=next_capture(layout))
            return seal_capture(layout, Path(folder), info)
    with atomic.translated(folder):
        atomic.remove_folder(folder)
    return None
