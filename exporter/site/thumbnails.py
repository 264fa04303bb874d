"""Make thumbnails for the archive's pictures, in one size, each once.

They belong to the site, are named by their pictures' SHA-256, and are never in the archive's ``assets/``. The file
``.work/site.pictures`` has a line for each picture: its SHA-256, its displayed width and height, and its thumbnail's
SHA-256. The last is empty if the site shows the picture itself. The file depends only on the pictures, so new program
versions still use it. Thumbnails in ``latest/`` with these hashes are used again.

Child processes make them, one for each processor (:mod:`exporter.site.thumbnail_maker`). If one crashes or takes too
long, its picture has no thumbnail. If the system starts no process or kills it twice, this is no fault of the picture:
the site shows the picture itself, and the next refresh tries again.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import chain
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.errors import NoMemory
from exporter.export.interface import ViewFile
from exporter.model.asset import is_sha256
from exporter.site import NAME, has_pillow
from exporter.worker import Worker, WorkerFailed, WorkerGone, processors

if TYPE_CHECKING:
    from exporter.archive.layout import Layout

_RECIPE: Final = "thumbnails 1"
"""Changes whenever the same pictures would give other thumbnails."""
_READ_BYTES: Final = 32 << 20
"""Larger files are not read."""
_SIDE_PIXELS: Final = 1 << 31
"""No format has pictures with a longer side."""
_PICTURE_SECONDS: Final = 60.0
_PROCESSES: Final = 4
_WORKER_BYTES: Final = 320_000_000
_REDUCE: Final = "exporter.site.thumbnail_maker:reduced"


class Note(NamedTuple):
    """The size that a picture is shown with, 0 if unknown, and the SHA-256 of its thumbnail, empty if it has none."""

    width: int
    height: int
    thumbnail: str


class Thumbnails:
    """The thumbnails of one site.

    Args:
        layout: of the archive that has the pictures; ``None`` for a site without thumbnails.
        keeps: whether to write ``.work/site.pictures``; the caller then holds the archive's lock.
    """

    def __init__(self, layout: Layout | None = None, *, keeps: bool = False) -> None:
        self._layout = layout if has_pillow() else None
        self._keeps = keeps
        self._notes: dict[str, Note] = {}
        self._unmade: set[str] = set()

    @property
    def unmade(self) -> int:
        """The number of pictures that have no thumbnail because no process could make it."""
        return len(self._unmade)

    def has(self, path: str) -> bool:
        """Return whether the archive has the picture at a path."""
        return self._layout is not None and self._layout.root.joinpath(*path.split("/")).is_file()

    def of(self, path: str) -> Note:
        """Return a picture's note, given its path in the archive."""
        return self._notes.get(_digest(path), Note(0, 0, ""))

    @staticmethod
    def place(path: str) -> str:
        """Return a thumbnail's path in the site, given the picture's path in the archive."""
        digest = _digest(path)
        return f"thumbnails/{digest[:2]}/{digest}.webp"

    def files(self, paths: Iterable[str]) -> Iterator[ViewFile]:
        """Yield the pictures' thumbnails, each once. Then :meth:`of` knows the pictures at all these paths."""
        if self._layout is None:
            return
        known, there = self._read_notes(self._layout), self._stored(self._layout)
        new = []
        for path in dict.fromkeys(paths):
            note = known.get(_digest(path))
            if note is None or (note.thumbnail and self.place(path) not in there):
                new.append(path)
                continue
            self._notes[_digest(path)] = note
            if note.thumbnail:
                yield self._file(path, note)
        for path, note, thumbnail in _made(self._layout, new):
            if note is None:
                self._unmade.add(_digest(path))
                continue
            self._notes[_digest(path)] = note
            if thumbnail:
                yield self._file(path, note, thumbnail)
        if self._keeps and (new or len(known) != len(self._notes)):
            self._write_notes(self._layout)

    def _file(self, path: str, note: Note, thumbnail: bytes = b"") -> ViewFile:
        fingerprint = sha256(f"{_RECIPE} {note.thumbnail}".encode()).digest()
        return ViewFile(self.place(path), fingerprint, partial(self._again, path, note, thumbnail))

    def _again(self, path: str, note: Note, thumbnail: bytes) -> bytes:
        """Return a thumbnail: the one just made, else the one in ``latest/``, else a new one."""
        if thumbnail or self._layout is None:
            return thumbnail
        with contextlib.suppress(OSError):
            kept = (self._layout.latest / NAME).joinpath(*self.place(path).split("/")).read_bytes(_READ_BYTES)
            if sha256(kept).hexdigest() == note.thumbnail:
                return kept
        _, again, made = next(_made(self._layout, [path]))
        if again is None:
            raise NoMemory
        return made

    def _stored(self, layout: Layout) -> set[str]:
        found: set[str] = set()
        folder = layout.latest / NAME / "thumbnails"
        with contextlib.suppress(OSError):
            for part in folder.names():
                with contextlib.suppress(OSError):
                    found.update(f"thumbnails/{part}/{name}" for name in (folder / part).names())
        return found

    @staticmethod
    def _read_notes(layout: Layout) -> dict[str, Note]:
        """Read ``.work/site.pictures``; invalid lines are ignored."""
        try:
            first, *lines = layout.site_pictures.read_bytes().splitlines()
        except (OSError, ValueError):
            return {}
        known = {}
        for line in lines if first == _RECIPE.encode() else ():
            with contextlib.suppress(lossless_json.NotJson):
                row = lossless_json.loads(line)
                if isinstance(row, list) and [type(value) for value in row] == [str, int, int, str]:
                    digest, width, height, thumbnail = row
                    has_sides = 0 <= min(width, height) <= max(width, height) < _SIDE_PIXELS
                    if is_sha256(digest) and (is_sha256(thumbnail) or not thumbnail) and has_sides:
                        known[digest] = Note(width, height, thumbnail)
        return known

    def _write_notes(self, layout: Layout) -> None:
        rows = (lossless_json.dumps([digest, *note]) + b"\n" for digest, note in sorted(self._notes.items()))
        atomic.write_lines(layout.site_pictures, chain((_RECIPE.encode() + b"\n",), rows))


class JoinedThumbnails(Thumbnails):
    """The thumbnails of a site with the pictures of several archives.

    Args:
        parts: the thumbnails of each.
    """

    def __init__(self, parts: Sequence[Thumbnails]) -> None:
        super().__init__()
        self._parts = parts

    def of(self, path: str) -> Note:
        """Return a picture's note, from the first archive that has the picture."""
        found = (part.of(path) for part in self._parts)
        return next((note for note in found if note.width or note.thumbnail), Note(0, 0, ""))

    def files(self, paths: Iterable[str]) -> Iterator[ViewFile]:
        """Yield the thumbnails for these pictures, each once."""
        left = dict.fromkeys(paths)
        for part in self._parts:
            own = [path for path in left if part.has(path)]
            yield from part.files(own)
            for path in own:
                del left[path]


def _digest(path: str) -> str:
    """Return the SHA-256 in a stored file's path, which :func:`~exporter.model.asset.asset_path` made."""
    return path.rpartition("/")[2].partition(".")[0]


def _made(layout: Layout, paths: list[str]) -> Iterator[tuple[str, Note | None, bytes]]:
    """Yield path, note and thumbnail of each picture in order; child processes decode a few of them ahead.

    The note is ``None`` if no process could make it.
    """
    if not paths:
        return
    number = min(_PROCESSES, processors())
    with contextlib.ExitStack() as opened:
        idle: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(number):
            idle.put(opened.enter_context(Worker(memory=_WORKER_BYTES)))
        threads = ThreadPoolExecutor(number, thread_name_prefix="thumbnails")
        opened.callback(threads.shutdown, cancel_futures=True)
        ahead: deque[Future[tuple[str, Note | None, bytes]]] = deque()
        for path in paths:
            ahead.append(threads.submit(_make, layout, idle, path))
            if len(ahead) > 2 * number:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _make(layout: Layout, idle: SimpleQueue[Worker], path: str) -> tuple[str, Note | None, bytes]:
    width, height, thumbnail = 0, 0, b""
    content = _read(layout, path)
    if content:
        worker = idle.get()
        try:
            match worker.call(_REDUCE, content, seconds=_PICTURE_SECONDS):  # a hijacked decoder may return anything
                case (int() as width, int() as height, bytes() as thumbnail):
                    pass
        except WorkerGone:
            return path, None, b""
        except (WorkerFailed, TimeoutError):
            pass  # the site shows the picture itself
        finally:
            idle.put(worker)
    digest = sha256(thumbnail).hexdigest() if thumbnail else ""
    return path, Note(width, height, digest), thumbnail


def _read(layout: Layout, path: str) -> bytes:
    """Read a stored picture; empty if its content is damaged, which ``verify`` reports."""
    with contextlib.suppress(OSError):
        data = layout.root.joinpath(*path.split("/")).read_bytes(_READ_BYTES)
        if sha256(data).hexdigest() == _digest(path):
            return data
    return b""
