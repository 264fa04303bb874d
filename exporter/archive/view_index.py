"""``.work/views.jsonl``: the files of the views with their inputs and hashes, read a few lines at a time."""

from __future__ import annotations

import contextlib
import hashlib
import os
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from exporter import lossless_json
from exporter.archive.checks import json_lines
from exporter.archive.layout import is_inside
from exporter.archive.safe_files import MAX_CACHE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from exporter.archive.latest_segments import Stamp
    from exporter.archive.safe_files import InnerPath

_BATCH_BYTES: Final = 1 << 16
"""Lines parsed in one piece."""
_HASH_BITS: Final = 64
_OFFSET_BITS: Final = 32


class IndexEntry(NamedTuple):
    """A file of ``latest/``: in ``.work/views.jsonl`` for a view's file, in the record for the six files.

    Attributes:
        view: its view; empty for the six files.
        path: its path in the folder of the view.
        fingerprint: changes whenever its content would; empty for the six files.
        sha256: the hash of its content in hexadecimal.
        stamp: its size and time; ``None`` in notes of an earlier program.
    """

    view: str
    path: str
    fingerprint: str
    sha256: str
    stamp: Stamp | None = None

    @property
    def place(self) -> str:
        """The path below ``latest/``."""
        return f"{self.view}/{self.path}" if self.view else self.path

    def encode(self) -> bytes:
        """Write its line."""
        return lossless_json.dumps([self.view, self.path, self.fingerprint, self.sha256, *(self.stamp or ())]) + b"\n"


def noted_stamp(stamp: Any) -> Stamp | None:
    """Return a stamp from its JSON, or ``None`` if it is invalid."""
    if not isinstance(stamp, list) or [type(number) for number in stamp] != [int, int]:
        return None
    return stamp[0], stamp[1]


def index_entries(path: InnerPath, sha256: object) -> Iterator[IndexEntry]:
    """Yield the entries of the index; it is closed at the end.

    Args:
        path: of the index.
        sha256: its noted hash.

    Raises:
        OSError: it cannot be read.
        NotJson: it is not the index with this hash, or a line is no JSON.
    """
    with _opened(path, sha256) as file:
        while lines := file.readlines(_BATCH_BYTES):
            yield from (entry for line in json_lines(b"".join(lines)) if (entry := _entry(line)) is not None)


@contextlib.contextmanager
def _opened(path: InnerPath, sha256: object) -> Iterator[BinaryIO]:
    """Open the index with this hash at its beginning; errors as for :func:`index_entries`."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_CACHE_BYTES or hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise lossless_json.NotJson(str(path))
        file.seek(0)
        yield file


def _entry(line: Any) -> IndexEntry | None:
    """Parse a line of the index; ``None`` if it is invalid, or names a file outside its view."""
    if not isinstance(line, list) or len(line) < 4 or not all(isinstance(text, str) for text in line[:4]):
        return None
    view, path, fingerprint, digest, *stamp = line
    if not is_inside(f"{view}/{path}"):
        return None
    return IndexEntry(view, path, fingerprint, digest, noted_stamp(stamp))


class FileNotes:
    """The entries of the index by view and path; memory holds 12 bytes for each. Use it in ``with``.

    Args:
        path: of the index.
        sha256: its noted hash; an index with another hash has no entries.
    """

    def __init__(self, path: InnerPath, sha256: object) -> None:
        self._path = path
        self._sha256 = sha256
        self._opened = contextlib.ExitStack()
        self._hashes, self._offsets = array("Q"), array("I")
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self._file = self._opened.enter_context(_opened(self._path, self._sha256))
            places = sorted(self._places(self._file))
        except (OSError, lossless_json.NotJson):
            places = []
        self._hashes = array("Q", (place >> _OFFSET_BITS for place in places))
        self._offsets = array("I", (place & (1 << _OFFSET_BITS) - 1 for place in places))
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def find(self, view: str, path: str) -> IndexEntry | None:
        """Return the entry of a view's file."""
        wanted = _hash_of(view, path)
        at = bisect_left(self._hashes, wanted)
        while self._file is not None and at < len(self._hashes) and self._hashes[at] == wanted:
            self._file.seek(self._offsets[at])
            entry = _entry(lossless_json.loads(self._file.readline()))
            if entry is not None and (entry.view, entry.path) == (view, path):
                return entry
            at += 1
        return None

    @staticmethod
    def _places(file: BinaryIO) -> Iterator[int]:
        """Yield the hash of each entry's view and path, and the offset of its line, in one number."""
        offset = 0
        while lines := file.readlines(_BATCH_BYTES):
            for text, line in zip(lines, json_lines(b"".join(lines)), strict=True):
                entry = _entry(line)
                if entry is not None:
                    yield _hash_of(entry.view, entry.path) << _OFFSET_BITS | offset
                offset += len(text)


def _hash_of(view: str, path: str) -> int:
    return hash((view, path)) & (1 << _HASH_BITS) - 1
