"""Looking at the pictures of a new home: each is read once, hashed and measured, and never kept."""

from __future__ import annotations

import asyncio
import hashlib
import io
import tempfile
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from typing import Final, Self

from exporter.compare.picture_look import look_of
from exporter.compare.posts import PictureFacts
from exporter.crawl.assets.file_check import dimensions, sniff
from exporter.errors import NotPublic, ServiceError
from exporter.http.engine import Downloader
from exporter.message import message, said

_AT_A_TIME: Final = 12
_IN_MEMORY: Final = 1024 * 1024
"""Bytes of a picture that are kept in memory until it is decoded."""
_HEAD: Final = 256 * 1024
"""Bytes of a file that its size in pixels is looked for in."""
_GONE: Final = frozenset({404, 410})


class PictureReader:
    """Reads pictures from anywhere that its downloader may ask, without credentials.

    Args:
        downloader: asks; its guard keeps it from private addresses.
        progress: called with how many were read.
    """

    def __init__(self, downloader: Downloader, progress: Callable[[int], None]) -> None:
        self._downloader = downloader
        self._progress = progress

    async def read(self, addresses: Sequence[str], held: Container[str] = frozenset()) -> Mapping[str, PictureFacts]:
        """Return what is known of each address; a failure is an answer here.

        Args:
            addresses: of the pictures.
            held: the SHA-256 of pictures that need not be decoded, as the archive holds the same bytes.
        """
        found: dict[str, PictureFacts] = {}

        async def look(address: str) -> None:
            found[address] = await self._one(address, held)
            self._progress(len(found))

        await each_of(addresses, look)
        return found

    async def _one(self, address: str, held: Container[str]) -> PictureFacts:
        with _Measured() as sink:
            return await self._read(address, sink, held)

    async def _read(self, address: str, sink: _Measured, held: Container[str]) -> PictureFacts:
        try:
            answer = await self._downloader.read(address, sink)
        except NotPublic:
            return PictureFacts(
                unknown=message("its address is private, and is only asked with --allow-private-network")
            )
        except ServiceError as error:
            return PictureFacts(unknown=said(error))
        if answer.status in _GONE:
            return PictureFacts(gone=str(answer.status))
        if answer.status != 200:
            return PictureFacts(unknown=message("it answers {status}", status=answer.status))
        found = sink.facts()
        if found.sha256 is None or found.sha256 in held:
            return found
        return found._replace(look=await asyncio.to_thread(look_of, sink.file))


async def each_of(addresses: Sequence[str], work: Callable[[str], Awaitable[None]]) -> None:
    """Do some work for each address once, for a few at a time."""
    waiting = iter(dict.fromkeys(addresses))

    async def worker() -> None:
        for address in waiting:
            await work(address)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_A_TIME):
            group.create_task(worker())


def facts_of(head: bytes, sha256: str) -> PictureFacts:
    """Return what is known of a file: of its beginning, and of its bytes as a whole."""
    kind = sniff(head)
    if not kind.startswith("image/"):
        return PictureFacts(gone=message("no picture") if head else message("an empty file"))
    size = dimensions(io.BytesIO(head), kind)
    return PictureFacts(sha256, *(size or (None, None)))


class _Measured:
    """Hashes what is written, and keeps it for a while; see :class:`~exporter.http.body.Sink`.

    Attributes:
        file: all that was written; a large one is on the disk, under no name.
    """

    def __init__(self) -> None:
        self.size = 0
        self.file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed in __exit__
        self.validator: str | None = None
        self._head = bytearray()
        self._digest = hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def restart(self, validator: str | None, length: int | None) -> None:  # noqa: ARG002 - what is kept is not resumed
        """Begin anew; what was read cannot be continued."""
        self.size = 0
        self._head.clear()
        self.file.seek(0)
        self.file.truncate()
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Take bytes."""
        self.size += len(data)
        self._digest.update(data)
        self.file.write(data)
        self._head += data[: max(0, _HEAD - len(self._head))]

    def facts(self) -> PictureFacts:
        """Return what is known of all that was written, and let the file be read from its beginning."""
        self.file.seek(0)
        return facts_of(bytes(self._head), self._digest.hexdigest())
