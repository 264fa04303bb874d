"""The files that the server sends: the site's and the stored ones; no links, and no damaged files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.errors import ArchiveDamaged
from exporter.model.asset import openable

if TYPE_CHECKING:
    from typing import BinaryIO

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

SITE: Final = "latest/site"
"""The site's path in an archive and in addresses, so that its pages find their pictures by the same links."""
_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_STORED: Final = re.compile(r"assets/([0-9a-f]{2})/(\1[0-9a-f]{62})(?:\.[a-z0-9]{1,10})?")
_PIECE_BYTES: Final = 1 << 18
_TYPES: Final = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp",
    ".ico": "image/x-icon", ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".ogg": "audio/ogg", ".wav": "audio/wav",
    ".mp4": "video/mp4", ".webm": "video/webm", ".pdf": "application/pdf",
    ".ics": "text/calendar; charset=utf-8",
}  # fmt: skip
UNKNOWN: Final = "application/octet-stream"


class OpenFile(NamedTuple):
    """A file to send; close its ``file``.

    Attributes:
        file: open for reading.
        size: in bytes.
        tag: an ETag, which changes with the file.
        content_type: :data:`UNKNOWN` if the browser must save the file and not show it.
        stored: whether it is a file of ``assets/``, which strangers may have written.
    """

    file: BinaryIO
    size: int
    tag: str
    content_type: str
    stored: bool


class ServedFiles:
    """The files of one archive.

    Args:
        layout: of the archive.
        site: the site's folder, in the archive or elsewhere.
    """

    def __init__(self, layout: Layout, site: InnerPath) -> None:
        self._layout = layout
        self._site = site
        self._sound: set[tuple[str, str]] = set()
        self._checking = threading.Lock()

    def open(self, path: str) -> OpenFile | None:
        """Open a path such as ``latest/site/index.html`` or ``assets/ab/ab….png``; ``None`` if no such file is served.

        Raises:
            ArchiveDamaged: a stored file does not match the hash in its name.
        """
        parts = path.split("/")
        if not all(_PART.fullmatch(part) and ".." not in part for part in parts):
            return None
        stored = _STORED.fullmatch(path)
        if stored is None and not path.startswith(f"{SITE}/"):
            return None
        place = self._layout.root if stored else self._site
        # One part at a time, so that a link on the way is refused.
        for part in parts if stored else parts[SITE.count("/") + 1 :]:
            place = place / part
        try:
            file: BinaryIO = place.open("rb")
        except OSError:
            return None
        with contextlib.ExitStack() as opened:
            opened.enter_context(file)
            found = os.fstat(file.fileno())
            tag = f'"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"'
            if stored is not None:
                self._check(path, tag, file, stored[2])
            opened.pop_all()
        return OpenFile(file, found.st_size, tag, _content_type(path, stored=stored is not None), stored is not None)

    def _check(self, path: str, tag: str, file: BinaryIO, sha256: str) -> None:
        """Compare a stored file with the hash in its name, once until it changes."""
        with self._checking:
            if (path, tag) in self._sound:
                return
            digest = hashlib.sha256()
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
            if digest.hexdigest() != sha256:
                raise ArchiveDamaged("{path} does not match its hash. Run verify --repair.", path=path)
            file.seek(0)
            self._sound.add((path, tag))


def _content_type(path: str, *, stored: bool) -> str:
    if stored and not openable(path):
        return UNKNOWN
    return _TYPES.get(PurePosixPath(path).suffix, UNKNOWN)
