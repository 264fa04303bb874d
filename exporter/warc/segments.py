"""The files of a capture under way: segments of at most a gigabyte, and marks from which a killed run resumes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, Self

from exporter.archive import atomic
from exporter.archive.safe_files import inner
from exporter.frozen import frozen
from exporter.http.wire import WireExchange
from exporter.warc.cdxj import IndexLine
from exporter.warc.reading import read_record
from exporter.warc.records import EarlierRecord, ExchangeFacts, RecordWriter

MAX_SEGMENT_BYTES: Final = 1_000_000_000
SUFFIX: Final = ".warc.gz"


def segment_name(prefix: str, number: int) -> str:
    """Return the name of a segment."""
    return f"{prefix}-{number:05d}{SUFFIX}"


@frozen
class SegmentMark:
    """The end of the last whole record: the number of the segment, from 0, and its bytes so far."""

    segment: int = 0
    size: int = 0


class SegmentWriter:
    """Writes exchanges into numbered segments; for one thread at a time.

    Args:
        folder: where the segments are.
        prefix: the beginning of their names.
        fields: what the ``warcinfo`` record of each segment says.
        mark: where to resume; later bytes are cut off and later segments removed.
        most_bytes: a segment with so many bytes is followed by another.

    Raises:
        NoSpace: the disk is full.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        fields: Mapping[str, str],
        mark: SegmentMark | None = None,
        *,
        most_bytes: int = MAX_SEGMENT_BYTES,
    ) -> None:
        self._folder = folder
        self._prefix = prefix
        self._fields = fields
        self._most_bytes = most_bytes
        self._file: BinaryIO | None = None
        self._number = 0 if mark is None else mark.segment
        self._information = ""
        self._cut(mark or SegmentMark())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def mark(self) -> SegmentMark:
        """The end of the last whole record."""
        if self._file is not None:
            return SegmentMark(self._number, self._file.tell())
        return SegmentMark(self._number, self._size())

    def names(self) -> list[str]:
        """Return the names of the segments with records, in order."""
        return [name for number in range(self._number + 1) if (self._folder / (name := self._name(number))).exists()]

    def write(self, exchange: WireExchange, facts: ExchangeFacts, original: EarlierRecord | None = None) -> IndexLine:
        """Write an exchange, and return the index line of its answer.

        Args:
            exchange: with the bytes.
            facts: of the same exchange.
            original: the record with the same payload, if its payload is not to be written again.
        """
        path = self._folder / self._name(self._number)
        with atomic.translated(path), atomic.full_disk_as_os_error(path):
            file = self._opened(exchange.started)
            offset = file.tell()
            writer = RecordWriter(file)
            length = writer.exchange(exchange, facts, self._information, original)
            file.flush()
        kind = "warc/revisit" if original is not None else facts.head.media_type or "application/octet-stream"
        return IndexLine.of(
            exchange.url,
            exchange.started.astimezone(UTC),
            status=facts.head.status,
            mime=kind,
            digest=facts.digest,
            filename=self._name(self._number),
            offset=offset,
            length=length,
        )

    def sync(self) -> SegmentMark:
        """Make all records durable, and return the mark after them."""
        if self._file is not None:
            with atomic.translated(self._folder):
                self._file.flush()
                os.fsync(self._file.fileno())
        return self.mark

    def duplicate(self) -> tuple[int, SegmentMark] | None:
        """Return a second descriptor of the segment, for a thread that makes it durable, and the mark at its end."""
        if self._file is None:
            return None
        self._file.flush()
        return os.dup(self._file.fileno()), self.mark

    def close(self) -> None:
        """Make all records durable, and close the segment."""
        self.sync()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self, moment: datetime) -> BinaryIO:
        """Return the segment for the next record; a new one begins with its ``warcinfo`` record."""
        if self._file is not None and self._file.tell() >= self._most_bytes:
            self.close()
            self._number += 1
        if self._file is None:
            name = self._name(self._number)
            path = self._folder / name
            self._file = atomic.open_private(path, "ab")
            if not self._file.tell():
                self._information = RecordWriter(self._file).information(name, moment, self._fields)
            else:
                with read_record(inner(path), 0) as record:
                    self._information = record.headers.get("warc-record-id", "")
        return self._file

    def _name(self, number: int) -> str:
        return segment_name(self._prefix, number)

    def _size(self) -> int:
        path = self._folder / self._name(self._number)
        return path.stat().st_size if path.exists() else 0

    def _cut(self, mark: SegmentMark) -> None:
        """Remove what was written after a mark."""
        with atomic.translated(self._folder):
            path = self._folder / self._name(mark.segment)
            if path.exists() and path.stat().st_size > mark.size:
                os.truncate(path, mark.size)
            number = mark.segment + 1
            while (later := self._folder / self._name(number)).exists():
                later.unlink()
                number += 1
