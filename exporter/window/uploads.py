"""Files that a person drops on the window: they are written to a folder of their own, piece by piece, and never run."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import unicodedata
from pathlib import Path
from typing import Final

from aiohttp import BodyPartReader, web

from exporter.archive import atomic
from exporter.errors import UsageError
from exporter.message import message

FILE_FIELD: Final = "file"
_PIECE_BYTES: Final = 1 << 20
_MAX_NAME_BYTES: Final = 150
_KEPT_FREE_BYTES: Final = 1 << 30
"""An upload never takes the last gigabyte of a disk."""
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


async def receive(request: web.BaseRequest, folder: Path, most_bytes: int) -> dict[str, list[str]]:
    """Read a form with files; return its texts, and below :data:`FILE_FIELD` the path of each file.

    Args:
        request: with a body of the type ``multipart/form-data``.
        folder: for the files; each gets a new folder in it.
        most_bytes: of all texts together.

    Raises:
        UsageError: the disk has no room for the files, or the form is broken or too long.
    """
    form: dict[str, list[str]] = {}
    room = shutil.disk_usage(_made(folder)).free - _KEPT_FREE_BYTES
    try:
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader) or part.name is None:
                continue
            if part.filename is None:
                text = await part.read_chunk(most_bytes)
                if not part.at_eof() and await part.read_chunk(1):
                    raise UsageError(message("The form is too long."))
                form.setdefault(part.name, []).append(text.decode("utf-8", "replace"))
            elif part.filename:
                path, size = await _saved(part, folder, room)
                room -= size
                form.setdefault(FILE_FIELD, []).append(str(path))
    except ValueError as error:
        raise UsageError(message("The browser's form cannot be read.")) from error
    return form


async def _saved(part: BodyPartReader, folder: Path, room: int) -> tuple[Path, int]:
    """Write a file into a new folder; return its path and size in bytes."""
    place = folder / secrets.token_hex(8)
    path, size = place / safe_name(part.filename or ""), 0
    atomic.make_folder(place)
    try:
        with atomic.open_private(path) as file:
            while size <= room and (piece := await part.read_chunk(_PIECE_BYTES)):
                size += len(piece)
                await asyncio.to_thread(file.write, piece)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    if size > room:
        shutil.rmtree(place, ignore_errors=True)
        raise UsageError(message("The disk is too full for this file. Name its path instead."))
    return path, size


def safe_name(name: str) -> str:
    """Return a file name that leads nowhere: its last part, without marks that any system gives a meaning."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    plain = _UNSAFE.sub("_", last).strip(" .") or "file"
    stem, dot, ending = plain.rpartition(".")
    while len(plain.encode("utf-8", "replace")) > _MAX_NAME_BYTES and stem:
        stem = stem[:-1]
        plain = f"{stem}{dot}{ending}"
    return plain if len(plain.encode("utf-8", "replace")) <= _MAX_NAME_BYTES else "file"


def _made(folder: Path) -> Path:
    atomic.make_folder(folder)
    return folder
