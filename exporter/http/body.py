"""Reading an answer's body: within its deadline, decoded, into memory or a file, and never more than allowed.

A limit for each answer alone would not bound the memory, since forty answers just below it need forty times as much.
A :class:`MemoryBudget` therefore bounds all answers together.
"""

from __future__ import annotations

import asyncio
import ctypes
import io
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, Self

from exporter.errors import BadBody, BodyTooLarge
from exporter.frozen import frozen
from exporter.http.deadline import Deadline
from exporter.http.inflate import Inflate, decoder
from exporter.message import message

if TYPE_CHECKING:
    import aiohttp

_MIB = 1024 * 1024
_PIECE_BYTES = 256 * 1024
_ERROR_BYTES_KEPT = 64 * 1024
"""Bytes kept of an answer that is not a success: only its message matters."""
_ERROR_BYTES_READ = 1024 * 1024
"""Bytes read of such an answer to keep its connection usable; the rest of a longer one is not read."""
_GOOD = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/(?:([0-9]{1,18})|\*)")
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


def prepare_memory() -> None:
    """Check that there is memory for answers, and make the allocator return freed memory to the system at once.

    Close to a memory limit, C libraries end the process without a message, so a process with hardly any is refused.
    After the first large block is freed, glibc by default keeps all blocks up to 32 MiB, and others get stuck between
    them. Successive answers of 30 MB then take twice the memory that they need. It also gives each thread a separate
    heap, although only one thread at a time creates objects.

    Raises:
        MemoryError: there is not even room for an answer of 32 MiB.
    """
    bytes(32 * _MIB)  # never touched, so it takes address space but no memory
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, _MIB)
            mallopt(_M_ARENA_MAX, 1)


class MemoryBudget:
    """Bytes of the answers under way: the oldest answer may use any number, all others share ``shared`` bytes.

    The oldest answer always continues and needs only its own connection to finish, so no answer waits forever. A
    finished answer that waits to be used, such as a list page read ahead, also takes part of ``shared``. If it does not
    fit, its reader must drop it: an answer under way never waits for it.
    """

    def __init__(self, shared: int) -> None:
        self._shared = shared
        self._shares: dict[Share, int] = {}
        self._sum = 0
        self._held = 0
        self._waiting: list[asyncio.Future[None]] = []

    def share(self) -> Share:
        """Return a new answer's share, to be used in ``with``."""
        return Share(self)

    def hold(self, size: int) -> bool:
        """Reserve ``size`` bytes until :meth:`release` if they fit; return whether they do."""
        if self._held + size > self._shared:
            return False
        self._held += size
        return True

    def release(self, size: int) -> None:
        """Give back reserved bytes."""
        self._held -= size
        self._wake()

    def _take(self, share: Share, size: int) -> bool:
        taken = self._shares.setdefault(share, 0)
        oldest = next(iter(self._shares))
        if share is not oldest and self._sum - self._shares[oldest] + self._held + size > self._shared:
            return False
        self._shares[share] = taken + size
        self._sum += size
        return True

    def _leave(self, share: Share) -> None:
        self._sum -= self._shares.pop(share, 0)
        self._wake()

    async def _change(self) -> None:
        """Wait until some bytes are given back."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


class Share:
    """One answer's part in the budget, from its first bytes until the ``with`` block ends."""

    __slots__ = ("_budget",)

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget

    def take(self, size: int) -> bool:
        """Count ``size`` more bytes if they fit now, and return whether they do; otherwise :meth:`wait` for them."""
        return self._budget._take(self, size)

    async def wait(self, size: int) -> None:
        """Count ``size`` more bytes as soon as they fit."""
        while not self.take(size):
            await self._budget._change()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget._leave(self)


class BodyStream:
    """The decoded body of an answer as it arrives; the reader counts the bytes that it keeps in ``kept``.

    ``headers`` are by lower-case name; a repeated header has its last value.
    """

    __slots__ = ("_content", "_decoder", "_encoding", "deadline", "headers", "kept", "status")

    def __init__(self, answer: aiohttp.ClientResponse, deadline: Deadline) -> None:
        self._content = answer.content
        self._decoder: Inflate | None = None
        self.status = answer.status
        self.headers = {name.lower(): value for name, value in answer.headers.items()}
        self._encoding = self.headers.get("content-encoding", "")
        self.kept = 0
        self.deadline = deadline

    def complete(self) -> bytes | None:
        """Return the body if it needs no decoding and has arrived completely, otherwise ``None``."""
        if self._encoding or not self._content.is_eof():
            return None
        return self._content.read_nowait()

    async def skip(self) -> int:
        """Receive the next bytes without decoding them, and return their number; 0 at the end."""
        if self._content.at_eof():
            return 0
        self.deadline.postpone()
        return len(await self._content.read(_PIECE_BYTES))

    async def piece(self) -> bytes:
        """Return the next bytes, at most 256 KiB; empty at the end.

        Raises:
            BadBody: the body is not in the encoding it claims, or that one cannot be read.
        """
        if self._encoding:
            self._decoder, self._encoding = decoder(self._encoding), ""
        while True:
            if self._decoder is not None and (ready := self._decoder.take()):
                return ready
            if self._content.at_eof():
                if self._decoder is not None:
                    self._decoder.end()
                return b""
            self.deadline.postpone()
            data = await self._content.read(_PIECE_BYTES)
            if self._decoder is not None:
                self._decoder.feed(data)
            elif data:
                return data


class Body(Protocol):
    """The destination of an answer's body."""

    def headers(self) -> Mapping[str, str]:
        """Return the request headers for this body; called again for each attempt."""

    async def receive(self, stream: BodyStream) -> bytes:
        """Read the body or its beginning, and return any part that is not stored elsewhere.

        Raises:
            BadBody: the body is cut short, or not in its encoding.
            BodyTooLarge: the body has too many bytes.
        """


@frozen
class MemoryBody:
    """Keeps bodies in memory: successes completely, up to ``max_bytes`` decoded, and the beginning of other answers."""

    budget: MemoryBudget
    max_bytes: int

    def headers(self) -> Mapping[str, str]:
        """Return nothing: every request to a service already asks for compression."""
        return {}

    async def receive(self, stream: BodyStream) -> bytes:
        """Return the body."""
        good = stream.status in _GOOD
        if good:
            whole = stream.complete()
            if whole is not None:  # its memory is already in use
                self._check(len(whole))
                stream.kept = len(whole)
                return whole
        kept = io.BytesIO()  # unlike a list of pieces it returns its content without a second copy
        size = 0
        with self.budget.share() as share:
            while piece := await stream.piece():
                size += len(piece)
                if good:
                    self._check(size)
                    if not share.take(len(piece)):
                        await stream.deadline.without(share.wait(len(piece)))
                elif size > _ERROR_BYTES_READ:
                    break
                else:
                    piece = piece[: max(0, _ERROR_BYTES_KEPT - kept.tell())]
                kept.write(piece)
                stream.kept = kept.tell()
        return kept.getvalue()

    def _check(self, size: int) -> None:
        if size > self.max_bytes:
            raise BodyTooLarge(
                "the answer has more than {max_bytes} bytes (the setting max_body)", max_bytes=self.max_bytes
            )


@frozen
class RecordedBody:
    """Receives a body for the recording of its request, which has the bytes, and stops after ``max_bytes``."""

    max_bytes: int

    def headers(self) -> Mapping[str, str]:
        """Ask for gzip, which every reader of web archives decodes."""
        return {"Accept-Encoding": "gzip"}

    async def receive(self, stream: BodyStream) -> bytes:
        """Return nothing."""
        while stream.kept <= self.max_bytes and (size := await stream.skip()):
            stream.kept += size
        return b""


class Sink(Protocol):
    """The destination of a file; it may already hold the beginning of the file.

    Attributes:
        size: the number of bytes it holds.
        validator: the ``ETag`` or ``Last-Modified`` of that file; ``None`` if the bytes cannot be used.
    """

    size: int
    validator: str | None

    def restart(self, validator: str | None, length: int | None) -> None:
        """Drop everything; the next bytes belong to a file with this validator and, if known, this length."""

    def write(self, data: bytes) -> None:
        """Append bytes."""


@dataclass(slots=True)
class FileBody:
    """Writes a file into a sink, and continues the sink's content if that is still valid (RFC 9110, section 14).

    Attributes:
        sink: the destination; after a failure it holds the bytes that the next attempt resumes.
        max_bytes: the largest file, decoded.
        conditions: the headers that let an unchanged file answer 304.
        whole: whether the sink holds the whole file.
    """

    sink: Sink
    max_bytes: int
    conditions: Mapping[str, str]
    whole: bool = False
    _resuming: bool = False

    def headers(self) -> Mapping[str, str]:
        """Request the whole file without encoding, or the rest of it."""
        self._resuming = self.sink.size > 0 and self.sink.validator is not None
        if not self._resuming:
            return {"Accept-Encoding": "identity", **self.conditions}
        return {
            "Accept-Encoding": "identity",
            "Range": f"bytes={self.sink.size}-",
            "If-Range": str(self.sink.validator),
        }

    async def receive(self, stream: BodyStream) -> bytes:
        """Write a body of status 200, or the rest that was requested, into the sink."""
        status, headers = stream.status, stream.headers
        if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and self.sink.size:
            self.sink.restart(None, None)
            raise BadBody(message("the server could not resume the file where it was cut short"))
        if status == HTTPStatus.OK:
            claimed = headers.get("content-length", "")
            length = int(claimed) if claimed.isascii() and claimed.isdigit() else None
            if length is not None and length > self.max_bytes:
                raise self._too_large()
            self.sink.restart(_resumable_by(headers), length)
            await self._write(stream)
            self.whole = True
        elif status == HTTPStatus.PARTIAL_CONTENT and self._resuming:
            part = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
            if part is None or int(part[1]) != self.sink.size or "content-encoding" in headers:
                self.sink.restart(None, None)
                raise BadBody(message("the server resumed the file at another place than it was cut short at"))
            await self._write(stream)
            if part[3] and self.sink.size != int(part[3]):
                raise BadBody(message("the rest of the file was cut short"))
            self.whole = True
        return b""

    async def _write(self, stream: BodyStream) -> None:
        while piece := await stream.piece():
            if self.sink.size + len(piece) > self.max_bytes:
                raise self._too_large()
            self.sink.write(piece)
            stream.kept += len(piece)

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge("it is larger than {max_bytes} bytes (--max-asset-size)", max_bytes=self.max_bytes)


def _resumable_by(headers: Mapping[str, str]) -> str | None:
    """Return the validator for resuming; a weak tag does not promise the same bytes (RFC 9110, 13.1.5)."""
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        return None
    etag = headers.get("etag")
    if etag is not None:
        return None if etag.startswith("W/") else etag
    return headers.get("last-modified")
