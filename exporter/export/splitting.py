"""One export in one file or in several of a limited size. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from exporter.export.interface import Content, ExportOptions
from exporter.export.report import Report
from exporter.export.words import Reason


class EntryData(NamedTuple):
    """An entry as it stands in a file."""

    entry_id: str
    data: bytes


class Frame(NamedTuple):
    """What stands before and behind the entries of each file."""

    head: bytes = b""
    tail: bytes = b""


def split(
    name: str, ending: str, frame: Frame, pieces: Iterator[EntryData], options: ExportOptions, report: Report
) -> Iterator[Content]:
    """Yield one file, or numbered ones where a limit is set; an entry larger than the limit has a file of its own."""
    if not options.max_entries and not options.max_bytes:
        data = (piece.data for piece in pieces)
        yield Content(f"{name}{ending}", chain([frame.head], data, [frame.tail]))
        return
    rest = _Rest(pieces)
    number = 1
    while number == 1 or rest.next is not None:
        yield Content(f"{name}-{number:03d}{ending}", _part(rest, frame, options, report))
        number += 1


class _Rest:
    """The pieces that are in no file yet, the next one known."""

    def __init__(self, pieces: Iterator[EntryData]) -> None:
        self._pieces = pieces
        self.next = next(pieces, None)

    def take(self, piece: EntryData) -> bytes:
        self.next = next(self._pieces, None)
        return piece.data


def _part(rest: _Rest, frame: Frame, options: ExportOptions, report: Report) -> Iterator[bytes]:
    size = len(frame.head) + len(frame.tail)
    count = 0
    yield frame.head
    while (piece := rest.next) is not None:
        full = bool(options.max_entries) and count >= options.max_entries
        if count and (full or (options.max_bytes and size + len(piece.data) > options.max_bytes)):
            break
        size += len(piece.data)
        count += 1
        if options.max_bytes and count == 1 and size > options.max_bytes:
            report.limit(Reason.FILE_LARGE, piece.entry_id)
        yield rest.take(piece)
    yield frame.tail
