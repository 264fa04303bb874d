"""Thumbnails of the archive's pictures, one size, made once for each.

They are files of the site, named by the SHA-256 of their pictures, and never among the archive's own. What is known of
pictures is in ``.work/site.pictures``, one line for each: its SHA-256, the width and height it is shown with, and the
SHA-256 of its thumbnail, empty where the picture is to stand itself. It tells of the pictures alone, so it outlives the
program's next edition, and thumbnails in ``latest/`` that have these hashes are used again.

Processes of their own make them, as many as there are processors, see :mod:`exporter.site.thumbnail_worker`; one that
dies or takes too long costs its picture the thumbnail, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from threading import Timer
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

import exporter
from exporter import lossless_json
from exporter.archive import atomic
from exporter.export.interface import ViewFile
from exporter.model.asset import is_sha256
from exporter.processors import processors
from exporter.site import NAME, has_pillow
from exporter.site.thumbnail_exchange import ANSWER, REQUEST, Made

if TYPE_CHECKING:
    from typing import Self

    from exporter.archive.layout import Layout

_RECIPE: Final = "thumbnails 1"
"""Changes whenever the same pictures would give other thumbnails."""
_LARGEST: Final = 32 << 20
"""Bytes; a larger file is not read."""
_LONGEST: Final = 1 << 31
"""Pixels; no form of pictures has a longer side."""
_PATIENCE: Final = 60.0
"""Seconds that one picture may take."""
_MOST_PROCESSES: Final = 4
_NOTHING: Final = Made(0, 0, b"")


class Note(NamedTuple):
    """What is known of a picture: :class:`Made`, with the SHA-256 of the thumbnail in place of it."""

    width: int
    height: int
    thumbnail: str


class Thumbnails:
    """The thumbnails of one site.

    Args:
        layout: of the archive that has the pictures; ``None`` for a site without thumbnails.
        keeps: whether what is found of pictures is kept there; its lock is held then.
    """

    def __init__(self, layout: Layout | None = None, *, keeps: bool = False) -> None:
        self._layout = layout if has_pillow() else None
        self._keeps = keeps
        self._notes: dict[str, Note] = {}

    def of(self, path: str) -> Note:
        """Return what is known of a picture, given its path in the archive."""
        return self._notes.get(_digest(path), Note(0, 0, ""))

    @staticmethod
    def place(path: str) -> str:
        """Return where a picture's thumbnail is in the site, given the picture's path in the archive."""
        digest = _digest(path)
        return f"thumbnails/{digest[:2]}/{digest}.webp"

    def files(self, paths: Iterable[str]) -> Iterator[ViewFile]:
        """Yield the thumbnails of the pictures at these paths, each once; when all came, :meth:`of` knows them all."""
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
        for path, note, thumbnail in self._made(self._layout, new):
            self._notes[_digest(path)] = note
            if thumbnail:
                yield self._file(path, note, thumbnail)
        if self._keeps and (new or len(known) != len(self._notes)):
            self._write_notes(self._layout)

    def _file(self, path: str, note: Note, thumbnail: bytes = b"") -> ViewFile:
        fingerprint = sha256(f"{_RECIPE} {note.thumbnail}".encode()).digest()
        return ViewFile(self.place(path), fingerprint, partial(self._again, path, note, thumbnail))

    def _again(self, path: str, note: Note, thumbnail: bytes) -> bytes:
        """Return a thumbnail: just made, or as ``latest/`` has it, or made again where that is damaged."""
        if thumbnail or self._layout is None:
            return thumbnail
        with contextlib.suppress(OSError):
            kept = (self._layout.latest / NAME).joinpath(*self.place(path).split("/")).read_bytes(_LARGEST)
            if sha256(kept).hexdigest() == note.thumbnail:
                return kept
        return next(made for _, _, made in self._made(self._layout, [path]))

    @staticmethod
    def _made(layout: Layout, paths: list[str]) -> Iterator[tuple[str, Note, bytes]]:
        if paths:
            with _Makers(layout) as makers:
                yield from makers.made(paths)

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
        """Read what is known of pictures; a line that is none is passed over."""
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
                    has_sides = 0 <= min(width, height) <= max(width, height) < _LONGEST
                    if is_sha256(digest) and (is_sha256(thumbnail) or not thumbnail) and has_sides:
                        known[digest] = Note(width, height, thumbnail)
        return known

    def _write_notes(self, layout: Layout) -> None:
        rows = (lossless_json.dumps([digest, *note]) + b"\n" for digest, note in sorted(self._notes.items()))
        atomic.write_lines(layout.site_pictures, chain((_RECIPE.encode() + b"\n",), rows))


def _digest(path: str) -> str:
    """Return the SHA-256 in a stored file's path, which :func:`~exporter.model.asset.asset_path` made."""
    return path.rpartition("/")[2].partition(".")[0]


class _Makers:
    """Processes that look at pictures, started when they are needed; use it in ``with``."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._idle: SimpleQueue[_Process] = SimpleQueue()
        self._number = min(_MOST_PROCESSES, processors())
        self._threads = ThreadPoolExecutor(self._number, thread_name_prefix="thumbnails")
        for _ in range(self._number):
            self._idle.put(_Process())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def made(self, paths: Iterable[str]) -> Iterator[tuple[str, Note, bytes]]:
        """Yield what was found of each picture, in order, a few ahead of who takes them: path, note and thumbnail."""
        ahead: deque[Future[tuple[str, Note, bytes]]] = deque()
        for path in paths:
            ahead.append(self._threads.submit(self._make, path))
            if len(ahead) > 2 * self._number:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def _make(self, path: str) -> tuple[str, Note, bytes]:
        found, data = _NOTHING, self._read(path)
        if data:
            process = self._idle.get()
            try:
                found = process.make(data)
            finally:
                self._idle.put(process)
        digest = sha256(found.thumbnail).hexdigest() if found.thumbnail else ""
        return path, Note(found.width, found.height, digest), found.thumbnail

    def _read(self, path: str) -> bytes:
        """Read a stored picture; empty where it is not as it was stored, which ``verify`` tells."""
        with contextlib.suppress(OSError):
            data = self._layout.root.joinpath(*path.split("/")).read_bytes(_LARGEST)
            if sha256(data).hexdigest() == _digest(path):
                return data
        return b""


class _Process:
    """One process, started when it has something to do, and again after it ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def make(self, data: bytes) -> Made:
        """Return what it makes of a picture; nothing where it ended over it."""
        try:
            process = self._running()
            into, out = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
            late = Timer(_PATIENCE, process.kill)
            late.start()
            try:
                into.write(REQUEST.pack(len(data)))
                into.write(data)
                into.flush()
                width, height, length = ANSWER.unpack(_exactly(out, ANSWER.size))
                return Made(width, height, _exactly(out, length))
            finally:
                late.cancel()
        except (OSError, EOFError):
            self.close()
            return _NOTHING

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    cast("BinaryIO", stream).close()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "exporter.site.thumbnail_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
                start_new_session=True,  # who interrupts this process means it alone; it ends the others
            )
        return self._process


def _exactly(stream: BinaryIO, length: int) -> bytes:
    """Read so many bytes.

    Raises:
        EOFError: the process ended.
    """
    data = stream.read(length)
    if len(data) != length:
        raise EOFError
    return data
