"""Reading the body of an answer: in time, out of its encoding, into memory or a file, and never more than allowed."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from exporter.errors import BadBody, BodyTooLarge
from exporter.http.deadline import Deadline
from exporter.http.memory_budget import MemoryBudget
from exporter.message import message

if TYPE_CHECKING:
    import aiohttp

    from exporter.http.direct import DirectAnswer

_PIECE = 256 * 1024
_REFUSAL_KEPT = 64 * 1024
"""Bytes kept of an answer that is not a success: only its message is of interest."""
_REFUSAL_READ = 1024 * 1024
"""Bytes read of one to keep its connection in use; of a longer one the rest is never read."""
_GOOD = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_GZIP_OR_ZLIB, _BARE = 47, -15  # zlib's codes for either header, and for none
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/(?:([0-9]{1,18})|\*)")


class Inflate:
    """The encodings ``gzip``, of one or several members (RFC 1952), and ``deflate``, also without its header."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._waiting = b""
        self._begun = False

    def feed(self, data: bytes) -> None:
        """Append bytes as they arrived."""
        self._waiting += data

    def take(self) -> bytes:
        """Return what the bytes stand for, never more than 256 KiB at once; nothing once all is taken.

        Raises:
            BadBody: they are not in this encoding.
        """
        while self._waiting:
            if self._inflater.eof:
                if not self._waiting.startswith(b"\x1f"):  # padding or garbage, not a further member
                    self._waiting = b""
                    break
                self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                piece = self._inflater.decompress(self._waiting, _PIECE)
            except zlib.error:
                if self._begun:
                    raise BadBody(message("the answer is not in the encoding it claims")) from None
                self._inflater, self._begun = zlib.decompressobj(_BARE), True
                continue
            self._begun = True
            self._waiting = self._inflater.unconsumed_tail or self._inflater.unused_data
            if piece:
                return piece
        return b""

    def end(self) -> None:
        """Raise BadBody where the encoding has not come to its end."""
        if self._begun and not self._inflater.eof:
            raise BadBody(message("the answer's compressed body is cut short"))


def decoder(encoding: str) -> Inflate | None:
    """Return what reads a ``Content-Encoding`` (RFC 9110, section 8.4.1); ``None`` where there is none.

    Raises:
        BadBody: it is one that was not asked for and cannot be read.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return None
    if name in {"gzip", "x-gzip", "deflate"}:
        return Inflate()
    raise BadBody(message("the answer is in an encoding that cannot be read"))


class BodyStream:
    """The decoded body of an answer as it arrives; who reads it counts in ``kept`` the bytes that it keeps.

    ``headers`` are by lower-case name; of a repeated header the last.
    """

    __slots__ = ("_content", "_decoder", "_encoding", "deadline", "headers", "kept", "status")

    def __init__(self, answer: aiohttp.ClientResponse | DirectAnswer, deadline: Deadline) -> None:
        self._content = answer.content
        self._decoder: Inflate | None = None
        self.status = answer.status
        self.headers = {name.lower(): value for name, value in answer.headers.items()}
        self._encoding = self.headers.get("content-encoding", "")
        self.kept = 0
        self.deadline = deadline

    def at_hand(self) -> bytes | None:
        """Return the body where it needs no decoding and all of it has arrived, which is no more than a few pieces."""
        if self._encoding or not self._content.is_eof():
            return None
        return self._content.read_nowait()

    async def piece(self) -> bytes:
        """Return what comes next, never more than 256 KiB at once; nothing at the end.

        Raises:
            BadBody: it is not in the encoding it claims, or that one cannot be read.
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
            data = await self._content.read(_PIECE)
            if self._decoder is not None:
                self._decoder.feed(data)
            elif data:
                return data


class Body(Protocol):
    """Where the body of an answer goes."""

    def headers(self) -> Mapping[str, str]:
        """Return what a request has to say for it, anew for each attempt."""

    async def receive(self, stream: BodyStream) -> bytes:
        """Read as much of the body as is wanted, and return what is not put elsewhere.

        Raises:
            BadBody: cut short, or not in its encoding.
            BodyTooLarge: it has more bytes than are read.
        """


class MemoryBody:
    """Keeps bodies in memory: of successes all, up to ``max_bytes`` decoded, of other answers the beginning."""

    def __init__(self, budget: MemoryBudget, max_bytes: int) -> None:
        self._budget = budget
        self.max_bytes = max_bytes

    def headers(self) -> Mapping[str, str]:
        """Return nothing: a service is asked for compression by every request."""
        return {}

    async def receive(self, stream: BodyStream) -> bytes:
        """Return the body."""
        good = stream.status in _GOOD
        if good:
            whole = stream.at_hand()
            if whole is not None:  # and so has its memory already
                self._check(len(whole))
                stream.kept = len(whole)
                return whole
        kept = io.BytesIO()  # unlike a list of pieces it hands out what it holds without a second copy
        size = 0
        with self._budget.share() as share:
            while piece := await stream.piece():
                size += len(piece)
                if good:
                    self._check(size)
                    if not share.take(len(piece)):
                        await stream.deadline.without(share.wait(len(piece)))
                elif size > _REFUSAL_READ:
                    break
                else:
                    piece = piece[: max(0, _REFUSAL_KEPT - kept.tell())]
                kept.write(piece)
                stream.kept = kept.tell()
        return kept.getvalue()

    def _check(self, size: int) -> None:
        if size > self.max_bytes:
            raise BodyTooLarge(
                message("the answer has more than {max_bytes} bytes (the setting max_body)", max_bytes=self.max_bytes)
            )


class Sink(Protocol):
    """Where a file goes; it may hold the beginning of the file already.

    Attributes:
        size: the bytes it holds.
        validator: the ``ETag`` or ``Last-Modified`` of the file they belong to, ``None`` where they cannot be used.
    """

    size: int
    validator: str | None

    def restart(self, validator: str | None, length: int | None) -> None:
        """Forget everything; what comes now has this validator and, where known, this many bytes."""

    def write(self, data: bytes) -> None:
        """Append bytes."""


class FileBody:
    """Puts a file into a sink, after what the sink holds where that still fits (RFC 9110, section 14).

    Args:
        sink: where it goes; after a failure it holds what the next attempt resumes.
        max_bytes: the largest file, decoded.
        conditions: the headers that let an unchanged file answer 304.

    Attributes:
        whole: whether the sink holds the whole file.
    """

    def __init__(self, sink: Sink, max_bytes: int, conditions: Mapping[str, str]) -> None:
        self._sink = sink
        self._max_bytes = max_bytes
        self._conditions = conditions
        self._resuming = False
        self.whole = False

    def headers(self) -> Mapping[str, str]:
        """Ask for it as it is, or for the rest of it."""
        self._resuming = self._sink.size > 0 and self._sink.validator is not None
        if not self._resuming:
            return {"Accept-Encoding": "identity", **self._conditions}
        return {
            "Accept-Encoding": "identity",
            "Range": f"bytes={self._sink.size}-",
            "If-Range": str(self._sink.validator),
        }

    async def receive(self, stream: BodyStream) -> bytes:
        """Put a body of status 200, or of the rest that was asked for, into the sink."""
        status, headers = stream.status, stream.headers
        if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and self._sink.size:
            self._sink.restart(None, None)
            raise BadBody(message("the server could not resume the file where it was cut short"))
        if status == HTTPStatus.OK:
            claimed = headers.get("content-length", "")
            length = int(claimed) if claimed.isascii() and claimed.isdigit() else None
            if length is not None and length > self._max_bytes:
                raise self._too_large()
            self._sink.restart(_resumable_by(headers), length)
            await self._write(stream)
            self.whole = True
        elif status == HTTPStatus.PARTIAL_CONTENT and self._resuming:
            part = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
            if part is None or int(part[1]) != self._sink.size or "content-encoding" in headers:
                self._sink.restart(None, None)
                raise BadBody(message("the server resumed the file at another place than it was cut short at"))
            await self._write(stream)
            if part[3] and self._sink.size != int(part[3]):
                raise BadBody(message("the rest of the file was cut short"))
            self.whole = True
        return b""

    async def _write(self, stream: BodyStream) -> None:
        while piece := await stream.piece():
            if self._sink.size + len(piece) > self._max_bytes:
                raise self._too_large()
            self._sink.write(piece)
            stream.kept += len(piece)

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(
            message("it is larger than {max_bytes} bytes (--max-asset-size)", max_bytes=self._max_bytes)
        )


def _resumable_by(headers: Mapping[str, str]) -> str | None:
    """Return what a later request may resume by: a weak tag does not promise the same bytes (RFC 9110, 13.1.5)."""
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        return None
    etag = headers.get("etag")
    if etag is not None:
        return None if etag.startswith("W/") else etag
    return headers.get("last-modified")
