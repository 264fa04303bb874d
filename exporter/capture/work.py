"""The folder ``.work/capture/`` with the frontier and the segments, for a new or a resumed capture."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter import __version__, lossless_json
from exporter.archive import atomic
from exporter.archive.captures import INDEX, PAGES, Capture, CaptureInfo, captures, next_capture, seal_capture
from exporter.archive.safe_files import inner
from exporter.capture.frontier import Frontier
from exporter.capture.recording import CaptureRecorder
from exporter.clock import timestamp
from exporter.errors import ArchiveDamaged
from exporter.warc.cdxj import CaptureIndex, IndexLine
from exporter.warc.lookup import CaptureLookup
from exporter.warc.reading import read_record
from exporter.warc.segments import SegmentMark, SegmentWriter, segment_name

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.capture.outcome import CaptureOutcome, CaptureSettings
    from exporter.warc.shown import ShownRecords

FOLDER: Final = "capture"
_SEGMENTS: Final = "segments"
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9.-]+")
_MAX_NAME_CHARACTERS: Final = 60
_CLOCK_TOLERANCE: Final = timedelta(minutes=5)
_CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


@dataclass
class CaptureWork:
    """The frontier and the segments of one capture.

    Attributes:
        folder: the folder of both.
        frontier: the addresses.
        recorder: writes the exchanges.
        segments: receives the records; ``None`` in a dry run.
        started_at: when the capture began.
        resumed_from: the same, if an earlier process began it.
    """

    folder: Path
    frontier: Frontier
    recorder: CaptureRecorder
    segments: SegmentWriter | None
    started_at: str
    resumed_from: str | None = None

    @classmethod
    def open(
        cls, layout: Layout, folder: Path, settings: CaptureSettings, now: datetime, forgotten: ShownRecords
    ) -> CaptureWork:
        """Resume the capture in a folder if it has the same settings and is not too old, or begin one.

        Raises:
            NoSpace: the disk is full.
            ArchiveDamaged: an index in the archive cannot be read.
        """
        frontier = Frontier.open(folder)
        try:
            return cls._opened(layout, folder, settings, now, frontier, forgotten)
        except BaseException:
            frontier.close()
            raise

    @classmethod
    def _opened(
        cls,
        layout: Layout,
        folder: Path,
        settings: CaptureSettings,
        now: datetime,
        frontier: Frontier,
        forgotten: ShownRecords,
    ) -> CaptureWork:
        existing = [] if settings.dry_run else page_captures(layout)
        newest = str(existing[-1].number if existing else 0)
        lookup = CaptureLookup(layout)
        resumed = _is_resumable(frontier, settings, now) and frontier.meta("captured") == newest
        resumed = resumed and (settings.dry_run or _has_segments(frontier, folder / _SEGMENTS))
        if not resumed:
            if (frontier.meta("captured") or "0") != newest:
                frontier.forget()
                for capture in existing:
                    frontier.learn(CaptureIndex(capture.index))
            frontier.begin(
                running="yes",
                captured=newest,
                purpose=json.dumps(settings.purpose),
                started_at=timestamp(now),
                prefix=f"{_name_of(settings.blog_id)}-{now:%Y%m%d%H%M%S}",
            )
            atomic.remove_folder(folder / _SEGMENTS)
        started_at = frontier.meta("started_at") or timestamp(now)
        segments = None
        if not settings.dry_run:
            atomic.make_folder(folder / _SEGMENTS)
            if resumed:
                _cut_lost(frontier, folder / _SEGMENTS)
                frontier.ask_failed_again()
            segments = SegmentWriter(
                folder / _SEGMENTS, frontier.meta("prefix") or "", _fields(settings), frontier.mark
            )
        recorder = CaptureRecorder(frontier, segments, lookup, forgotten)
        return cls(folder, frontier, recorder, segments, started_at, started_at if resumed else None)

    @property
    def written(self) -> int:
        """The bytes of the segments."""
        mark = self.frontier.mark
        if self.segments is None or mark == SegmentMark():
            return 0
        full = (self.folder / _SEGMENTS / name for name in self.segments.names()[:-1])
        return sum(path.stat().st_size for path in full) + mark.size

    def unsynced(self) -> tuple[int, SegmentMark] | None:
        """Return a descriptor that the caller syncs and closes, and the mark that is then durable."""
        return None if self.segments is None else self.segments.duplicate()

    def synced(self, mark: SegmentMark) -> None:
        """Note that everything before a mark is durable."""
        with self.frontier.transaction():
            self.frontier.set_meta(synced=json.dumps([mark.segment, mark.size]))

    def close_segments(self) -> None:
        """Make all records durable."""
        if self.segments is not None:
            self.segments.close()

    def close(self) -> None:
        """Close everything; the results stay for the next capture."""
        self.close_segments()
        self.frontier.close()

    def seal(self, layout: Layout, settings: CaptureSettings, outcome: CaptureOutcome, scope: list[str]) -> None:
        """Move the records into the archive as a new capture, if there are any, and note its number in ``outcome``.

        Raises:
            NoSpace: the disk is full; the archive is unchanged.
        """
        folder = self.folder / _SEGMENTS
        if outcome.records:
            with atomic.translated(folder):
                atomic.write_lines(folder / INDEX, self.frontier.lines())
                atomic.write_lines(folder / PAGES, map(_page_line, self.frontier.pages()))
            info = CaptureInfo(
                capture=next_capture(layout),
                kind="pages",
                blog_id=settings.blog_id,
                started_at=self.started_at,
                finished_at=outcome.finished_at,
                tool=f"blog-exporter {__version__}",
                user_agent=settings.user_agent,
                operator=settings.operator,
                scope=scope,
                counts=outcome.counts,
                complete=not outcome.problems,
                problems=[{"url": str(each["url"]), "reason": str(each["reason"])} for each in outcome.problems],
            )
            outcome.capture = seal_capture(layout, folder, info).number
        else:
            atomic.remove_folder(folder)
        existing = page_captures(layout)
        with self.frontier.transaction():
            self.frontier.set_meta(running="no", captured=str(existing[-1].number if existing else 0))


def page_captures(layout: Layout) -> list[Capture]:
    """Return the captures of public pages, the oldest first; a damaged one counts, so that nothing relies on it."""
    found = []
    for capture in captures(layout):
        with suppress(ArchiveDamaged):
            if capture.info().kind == "api":
                continue
        found.append(capture)
    return found


def _is_resumable(frontier: Frontier, settings: CaptureSettings, now: datetime) -> bool:
    if frontier.meta("running") != "yes" or frontier.meta("purpose") != json.dumps(settings.purpose):
        return False
    try:
        begun = datetime.fromisoformat(frontier.meta("started_at") or "")
    except ValueError:
        return False
    return -_CLOCK_TOLERANCE <= now - begun <= settings.resume_max_age


def _has_segments(frontier: Frontier, folder: Path) -> bool:
    """Return whether the segments of an interrupted capture exist as far as they were durable."""
    prefix, mark = frontier.meta("prefix") or "", _synced(frontier)
    last = folder / segment_name(prefix, mark.segment)
    whole = (folder / segment_name(prefix, number) for number in range(mark.segment))
    return all(path.is_file() for path in whole) and (
        not mark.size or (last.is_file() and last.stat().st_size >= mark.size)
    )


def _synced(frontier: Frontier) -> SegmentMark:
    text = frontier.meta("synced")
    return SegmentMark(*json.loads(text)) if text else SegmentMark()


def _cut_lost(frontier: Frontier, folder: Path) -> None:
    """Ask the addresses again whose records a power cut took from the segments.

    Only records since the last sync can be lost, so only these are read.
    """
    synced = _synced(frontier)
    lost = False
    last: IndexLine | None = None
    unsure: list[IndexLine] = []
    for line in frontier.newest_lines():
        if (_number(line.filename), line.offset) < (synced.segment, synced.size):
            last = line
            break
        unsure.append(line)
    end = synced
    for line in reversed(unsure):
        path = inner(folder / line.filename)
        try:
            with read_record(path, line.offset):
                pass
            with read_record(path, line.offset + line.length) as request:
                size = request.end
        except (ArchiveDamaged, OSError):
            lost = True
            break
        last, end = line, SegmentMark(_number(line.filename), size)
    if lost:
        frontier.cut_back(last)
        with frontier.transaction():
            frontier.set_meta(mark=json.dumps([end.segment, end.size]))


def _number(filename: str) -> int:
    found = re.search(r"-([0-9]{5,})\.warc\.gz\Z", filename)
    return int(found[1]) if found is not None else 0


def _fields(settings: CaptureSettings) -> dict[str, str]:
    """Return the fields for ``warcinfo`` records (WARC 1.1, section 6.2)."""
    fields = {
        "software": f"blog-exporter/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": _CONFORMS_TO,
        "operator": settings.operator,
        "http-header-user-agent": settings.user_agent,
        "robots": "obey" if settings.obey_robots else "ignore",
        "isPartOf": settings.blog_id,
        "description": f"Public pages of the blog at {settings.home}, and the files that they need. "
        "Requests have no cookie and no credentials.",
    }
    return {name: value for name, value in fields.items() if value}


def _name_of(blog_id: str) -> str:
    return _NOT_IN_NAMES.sub("-", blog_id).strip("-.")[:_MAX_NAME_CHARACTERS] or "blog"


def _page_line(page: tuple[str, str, str, int]) -> bytes:
    url, date, title, status = page
    return lossless_json.dumps({"url": url, "ts": date, "title": title, "status": status}) + b"\n"


def sync_descriptor(descriptor: int) -> None:
    """Make a file durable, and close its descriptor.

    Raises:
        OSError: the system cannot promise that.
    """
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
