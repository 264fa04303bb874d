"""Files that a person drops on the window: each is written piece by piece to a new folder, and never run."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import unicodedata
from collections.abc import Awaitable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import BadHttpMessage

from exporter.archive import atomic
from exporter.errors import UsageError
from exporter.message import message
from exporter.serve.listening import IDLE_SECONDS

if TYPE_CHECKING:
    from exporter.window.jobs import Job

Read = TypeVar("Read")

FILE_FIELD: Final = "file"
MAX_FIELDS: Final = 2000
"""The most fields that a form may have, texts and files together."""
_PIECE_BYTES: Final = 1 << 16
_MAX_NAME_BYTES: Final = 150
_KEPT_FREE_BYTES: Final = 1 << 30
"""An upload never takes the last gigabyte of a disk."""
_MAX_AGE: Final = timedelta(days=1)
_PLACE: Final = re.compile(r"[0-9a-f]{16}")
_UNSAFE: Final = re.compile(r'[/\\:*?"<>|]+')
_DEVICES: Final = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\s*(\.|$)")
"""Names that Windows takes for devices, with any ending."""


async def receive(request: web.BaseRequest, folder: Path, most_bytes: int) -> dict[str, list[str]]:
    """Read a form with files; return its texts, and below :data:`FILE_FIELD` the path of each file.

    If anything fails, or the browser ends the request, no file of the form is kept.

    Args:
        request: with a body of the type ``multipart/form-data``.
        folder: for the files; each gets a new folder in it.
        most_bytes: the limit for all texts together.

    Raises:
        UsageError: the disk is too full for the files, or the form is invalid, too long or incomplete.
    """
    places: list[Path] = []
    try:
        return await _fields(await request.multipart(), folder, most_bytes, places)
    except BaseException as error:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, ValueError | RuntimeError | BadHttpMessage | web.HTTPException):
            raise UsageError(message("The browser's form cannot be read.")) from error
        raise


async def _fields(reader: MultipartReader, folder: Path, most_bytes: int, places: list[Path]) -> dict[str, list[str]]:
    """Read a form; add the new folder of each file to ``places`` before anything is written."""
    form: dict[str, list[str]] = {}
    for _ in range(MAX_FIELDS):
        part = await in_time(reader.next())
        if part is None:
            return form
        if not isinstance(part, BodyPartReader) or part.name is None:
            raise ValueError
        if part.filename is None:
            text = await _text(part, most_bytes)
            most_bytes -= len(text)
            form.setdefault(part.name, []).append(text.decode("utf-8", "replace"))
        elif part.filename:
            places.append(folder / secrets.token_hex(8))
            path = await _saved(part, places[-1])
            form.setdefault(FILE_FIELD, []).append(str(path))
    raise UsageError(message("The form is too long."))


async def in_time(piece: Awaitable[Read]) -> Read:
    """Wait for the next piece of a form. A slow upload may take hours, but not a minute without a byte.

    Raises:
        UsageError: it did not come in time.
    """
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            return await piece
    except TimeoutError as error:
        raise UsageError(message("The rest of the form did not come. Send it again.")) from error


async def _text(part: BodyPartReader, most_bytes: int) -> bytes:
    text = bytearray()
    while not part.at_eof():
        text += await in_time(part.read_chunk(_PIECE_BYTES))
        if len(text) > most_bytes:
            raise UsageError(message("The form is too long."))
    return bytes(text)


async def _saved(part: BodyPartReader, place: Path) -> Path:
    """Write a file into a new folder; return its path."""
    path = place / safe_name(part.filename or "")
    with atomic.translated(place):
        atomic.make_folder(place)
        file = atomic.open_private(path, buffering=0)
    with file:
        while not part.at_eof():
            # Not in a thread: when the browser ends the request, it could still write after the file is closed.
            _write(file, await in_time(part.read_chunk(_PIECE_BYTES)), path)
    return path


def _write(file: BinaryIO, piece: bytes, path: Path) -> None:
    with atomic.translated(path):
        # Asked for each piece, because other uploads and a backup fill the same disk.
        if shutil.disk_usage(path.parent).free - len(piece) < _KEPT_FREE_BYTES:
            raise UsageError(message("The disk is too full for this file. Name its path instead."))
        atomic.write_all(file.fileno(), piece)


def safe_name(name: str) -> str:
    """Return a safe file name: the last part, without characters that have a meaning in paths on any system."""
    text = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode())
    last = re.split(r"[/\\]", text)[-1]
    # Category C has the control characters, and the invisible ones that turn the direction of a name around.
    shown = "".join(each for each in last if unicodedata.category(each)[0] != "C")
    plain = _UNSAFE.sub("_", shown).strip(" .") or "file"
    if _DEVICES.match(plain):
        plain = f"_{plain}"
    stem, dot, ending = plain.rpartition(".")
    while len(plain.encode()) > _MAX_NAME_BYTES and stem:
        stem = stem[:-1]
        plain = f"{stem}{dot}{ending}"
    return plain if len(plain.encode()) <= _MAX_NAME_BYTES else "file"


def remove_old(folder: Path, jobs: Iterable[Job], now: datetime) -> None:
    """Remove the uploads that no running job reads, if they are older than a day or an archive holds them.

    Args:
        folder: that of :func:`receive`.
        jobs: the jobs of the window. A successful ``backup`` has read its file into the archive.
        now: the time.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    running, backed_up = set[str](), set[str]()
    for job in jobs:
        names = {Path(word).parent.name for word in job.words if Path(word).parent.parent == folder}
        state = job.state() if names else None
        if state is not None and state.running:
            running |= names
        elif state is not None and state.exit_code == 0 and job.words[0] == "backup":
            backed_up |= names
    oldest = (now - _MAX_AGE).timestamp()
    for place in folder.iterdir():
        ours = _PLACE.fullmatch(place.name) is not None and place.name not in running
        if ours and (place.name in backed_up or place.lstat().st_mtime < oldest):
            shutil.rmtree(place, ignore_errors=True)
