"""Finding an address in all captures of an archive, and reading its answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final

from exporter.archive.captures import Capture, captures
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.text import printable
from exporter.warc.cdxj import REVISIT, CaptureIndex, IndexLine
from exporter.warc.http_message import Head, Payload
from exporter.warc.reading import WarcRecord, read_record

if TYPE_CHECKING:
    from exporter.archive.layout import Layout

_MOST_REVISITS: Final = 4


@frozen
class CapturedRecord:
    """A record in one of the captures."""

    capture: Capture
    line: IndexLine


@frozen
class Replay:
    """A recorded answer.

    Attributes:
        head: its head, for a revisit its own.
        payload: its payload, for a revisit that of the record that it refers to.
        truncated: whether the recording is incomplete.
    """

    head: Head
    payload: Payload
    truncated: bool = False


class CaptureLookup:
    """Finds recorded answers. Nothing is kept in memory but the list of captures.

    Args:
        layout: the archive.
    """

    def __init__(self, layout: Layout) -> None:
        self._captures = captures(layout)

    def __bool__(self) -> bool:
        return bool(self._captures)

    def all(self, url: str) -> list[CapturedRecord]:
        """Return the records of an address, the oldest first.

        Raises:
            ArchiveDamaged: an index cannot be read.
        """
        found = [CapturedRecord(each, line) for each in self._captures for line in _lines(each, url)]
        return sorted(found, key=lambda each: (each.line.timestamp, each.capture.number, each.line.offset))

    def nearest(self, url: str, moment: datetime | None = None) -> CapturedRecord | None:
        """Return the record of an address nearest to a time, by default the newest; a success before an error."""
        found = self.all(url)
        good = [each for each in found if each.line.status < 400] or found
        if not good:
            return None
        if moment is None:
            return good[-1]
        return min(good, key=lambda each: abs(each.line.moment - moment))

    @contextmanager
    def replay(self, found: CapturedRecord) -> Iterator[Replay]:
        """Yield the answer of a record; the payload of a revisit is read where it was stored.

        Raises:
            ArchiveDamaged: there is no answer at its place, or its original is missing.
            OSError: a file cannot be read.
        """
        place, own = found, None
        for _ in range(_MOST_REVISITS):
            path = place.capture.segment(place.line.filename)
            with read_record(path, place.line.offset) as record:
                answer = record.answer()
                if answer is None or record.url != place.line.url:
                    raise ArchiveDamaged(
                        "{path} has no answer of {url} at byte {offset:,}. Verify the archive.",
                        path=path,
                        url=printable(place.line.url, 200),
                        offset=place.line.offset,
                    )
                if record.kind != "revisit":
                    yield Replay(own or answer[0], answer[1], "warc-truncated" in record.headers)
                    return
                own = own or answer[0]
                original = self.original(record, place.line)
            if original is None:
                break
            place = original
        raise ArchiveDamaged(
            "The original of {url} is in no capture. Verify the archive.", url=printable(found.line.url, 200)
        )

    def original(self, record: WarcRecord, line: IndexLine) -> CapturedRecord | None:
        """Return the record whose payload a revisit repeats.

        Args:
            record: the revisit.
            line: its line of the index.
        """
        url = record.headers.get("warc-refers-to-target-uri", "").strip("<>")
        stamp = "".join(filter(str.isdigit, record.headers.get("warc-refers-to-date", "")))[:14]
        stored = [each for each in self.all(url) if each.line.mime != REVISIT and each.line.digest == line.digest]
        return next((each for each in stored if each.line.timestamp == stamp), stored[-1] if stored else None)


def _lines(capture: Capture, url: str) -> list[IndexLine]:
    try:
        return CaptureIndex(capture.index).find(url)
    except OSError as error:
        raise ArchiveDamaged("{path} cannot be read. Verify the archive.", path=capture.index) from error
