"""One export in one file, or in several of a limited size. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from exporter.export.interface import Content
from exporter.export.posts import Posts
from exporter.export.reasons import Reason


class EntryData(NamedTuple):
    """An entry as a file holds it."""

    entry_id: str
    data: bytes


class Frame(NamedTuple):
    """What is before and behind the entries of each file."""

    head: bytes = b""
    tail: bytes = b""


def split(posts: Posts, name: str, ending: str, frame: Frame, entries: Iterator[EntryData]) -> Iterator[Content]:
    """Yield one file, or numbered ones where a limit is set; an entry larger than the limit has a file of its own."""
    name = f"{name}-{posts.options.label}"
    if not posts.options.max_entries and not posts.options.max_bytes:
        yield Content(f"{name}{ending}", chain([frame.head], (entry.data for entry in entries), [frame.tail]))
        return
    parts = _Parts(posts, frame, entries)
    number = 1
    while number == 1 or parts.next is not None:
        yield Content(f"{name}-{number:03d}{ending}", parts.part())
        number += 1


class _Parts:
    """Cuts entries into files; ``next`` is the first that is in no file yet."""

    def __init__(self, posts: Posts, frame: Frame, entries: Iterator[EntryData]) -> None:
        self._report = posts.report
        self._most = posts.options.max_entries
        self._most_bytes = posts.options.max_bytes
        self._frame = frame
        self._entries = entries
        self.next = next(entries, None)

    def part(self) -> Iterator[bytes]:
        """Yield one file."""
        size = len(self._frame.head) + len(self._frame.tail)
        count = 0
        yield self._frame.head
        while (entry := self.next) is not None:
            full = bool(self._most) and count >= self._most
            if count and (full or (self._most_bytes and size + len(entry.data) > self._most_bytes)):
                break
            size += len(entry.data)
            count += 1
            if self._most_bytes and count == 1 and size > self._most_bytes:
                self._report.limit(Reason.FILE_LARGE, entry.entry_id)
            self.next = next(self._entries, None)
            yield entry.data
        yield self._frame.tail
