"""Read a recorded HTTP/1 answer: its head, its payload without chunk framing, and the decoded content.

The bytes come from strangers, or from the file of a stranger. Nothing here raises for malformed bytes: the payload ends
where they stop making sense.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import IO, Final

from exporter.errors import BadBody, BodyTooLarge
from exporter.frozen import frozen
from exporter.http.inflate import Inflate
from exporter.message import message

MAX_HEAD_BYTES: Final = 256 * 1024
_PIECE_BYTES: Final = 256 * 1024
_MAX_LINE_BYTES: Final = 16 * 1024
_WITHOUT_BODY: Final = frozenset({204, 304})
_LAST_INFORMATIONAL: Final = 199


@frozen
class Head:
    """The head of an answer.

    Attributes:
        status: such as 200.
        headers: the names in lower case, and the values, in their order.
        start: where the answer begins; informational answers (1xx) may precede it.
        end: where its body begins.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    start: int
    end: int

    def get(self, name: str) -> str:
        """Return the last value of a header by its lower-case name; empty without one."""
        return next((value for each, value in reversed(self.headers) if each == name), "")

    @property
    def chunked(self) -> bool:
        """Whether the body has chunk framing (RFC 9112, section 7.1)."""
        return self.get("transfer-encoding").lower().rpartition(",")[2].strip() == "chunked"

    @property
    def media_type(self) -> str:
        """The ``Content-Type`` in lower case, without parameters."""
        return self.get("content-type").partition(";")[0].strip().lower()


def read_head(answer: IO[bytes]) -> Head | None:
    """Return the final answer's head, or ``None`` without a complete one."""
    start = 0
    answer.seek(0)
    while True:
        status, size = 0, 0
        headers: list[tuple[str, str]] = []
        while line := answer.readline(_MAX_LINE_BYTES + 1):
            size += len(line)
            if size > MAX_HEAD_BYTES or not line.endswith(b"\n"):
                return None
            text = line.rstrip(b"\r\n").decode("latin-1")
            if not text:
                break
            if not status:
                status = _status(text)
                if not status:
                    return None
            elif text[0] in " \t" and headers:  # an obsolete folded line (RFC 9112, section 5.2)
                name, value = headers[-1]
                headers[-1] = (name, f"{value} {text.strip()}")
            else:
                name, _, value = text.partition(":")
                headers.append((name.strip().lower(), value.strip()))
        else:
            return None
        if not 100 <= status <= _LAST_INFORMATIONAL:
            return Head(status, tuple(headers), start, start + size)
        start += size


def _status(line: str) -> int:
    version, _, rest = line.partition(" ")
    code = rest.strip()[:3]
    return int(code) if version.startswith("HTTP/1.") and len(code) == 3 and code.isascii() and code.isdigit() else 0


@dataclass(slots=True)
class Payload:
    """Iterates over an answer's payload: the body without chunk framing, but as encoded by ``Content-Encoding``.

    Attributes:
        end: after the iteration, the answer's end; later bytes do not belong to it.
        whole: after the iteration, whether nothing is missing. A body that ends with its connection counts as whole.
        size: the number of bytes so far.
    """

    answer: IO[bytes]
    head: Head
    end: int = 0
    whole: bool = False
    size: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[bytes]:
        self.answer.seek(self.head.end)
        self.end = self.head.end
        length = self.head.get("content-length")
        if self.head.status in _WITHOUT_BODY:
            self.whole = True
        elif self.head.chunked:
            yield from self._chunks()
        elif length.isascii() and length.isdigit() and len(length) < 19:
            yield from self._exactly(int(length))
            self.whole = self.size == int(length)
        else:
            yield from self._exactly(None)
            self.whole = True

    def _exactly(self, length: int | None) -> Iterator[bytes]:
        while length is None or length > 0:
            piece = self.answer.read(_PIECE_BYTES if length is None else min(length, _PIECE_BYTES))
            if not piece:
                return
            length = None if length is None else length - len(piece)
            self.end += len(piece)
            self.size += len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while True:
            line = self._line()
            digits = line.partition(b";")[0].strip()
            try:
                length = int(digits, 16) if digits and len(digits) < 16 and b"_" not in digits else -1
            except ValueError:
                length = -1
            if length < 0:
                return
            if length == 0:
                while trailer := self._line():
                    if not trailer.strip():
                        self.whole = True
                        return
                return
            before = self.size
            yield from self._exactly(length)
            if self.size - before < length or self._line().strip():
                return

    def _line(self) -> bytes:
        line = self.answer.readline(_MAX_LINE_BYTES)
        self.end += len(line)
        return line


def decoded(pieces: Iterable[bytes], encoding: str, limit: int) -> bytes:
    """Return the content of a payload.

    Args:
        pieces: the payload.
        encoding: the ``Content-Encoding`` (RFC 9110, section 8.4).
        limit: the most bytes of the result.

    Raises:
        BadBody: the payload is not in its encoding, or no library for it is installed.
        BodyTooLarge: the content has more bytes.
    """
    found = bytearray()
    for piece in _decoded(pieces, encoding.strip().lower()):
        found += piece
        if len(found) > limit:
            raise BodyTooLarge("the content has more than {limit:,} bytes", limit=limit)
    return bytes(found)


def decoded_start(pieces: Iterable[bytes], encoding: str, limit: int) -> bytes:
    """Return a payload's content up to a limit, or up to the first byte that cannot be decoded."""
    found = bytearray()
    with suppress(BadBody):
        for piece in _decoded(pieces, encoding.strip().lower()):
            found += piece
            if len(found) >= limit:
                break
    return bytes(found[:limit])


def _decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    if encoding in {"", "identity"}:
        yield from pieces
    elif encoding in {"gzip", "x-gzip", "deflate"}:
        inflate = Inflate()
        for piece in pieces:
            inflate.feed(piece)
            while ready := inflate.take():
                yield ready
        inflate.end()
    else:
        yield from _by_library(pieces, encoding)


def _by_library(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Decode ``br`` and ``zstd``. This program asks for neither, but some servers send them unasked."""
    decoder = _library(encoding)
    if decoder is None:
        raise BadBody("the answer is in the encoding {encoding}, which cannot be read here", encoding=encoding[:40])
    decode, is_ended, needs_more = decoder
    try:
        for piece in pieces:
            data = piece
            while not is_ended():
                found = decode(data, _PIECE_BYTES)
                yield found
                data = b""
                # Both libraries can ask for more bytes while they still hold decoded ones.
                if not found and needs_more():
                    break
    except Exception as error:  # each library has its own errors
        raise BadBody(message("the answer is not in the encoding it claims")) from error
    if not is_ended():
        raise BadBody(message("the answer's compressed body is cut short"))


def _library(encoding: str) -> tuple[Callable[[bytes, int], bytes], Callable[[], bool], Callable[[], bool]] | None:
    """Return a function that decodes bytes, whether all is decoded, and whether it needs more bytes.

    The function returns about as many bytes as asked for. Without its library the result is ``None``.
    """
    if encoding == "br" and find_spec("brotli") is not None:
        brotli = import_module("brotli").Decompressor()
        return (
            lambda data, limit: brotli.process(data, output_buffer_limit=limit),
            brotli.is_finished,
            brotli.can_accept_more_data,
        )
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    if encoding == "zstd" and find_spec(module.partition(".")[0]) is not None and find_spec(module) is not None:
        zstd = import_module(module).ZstdDecompressor()
        return zstd.decompress, lambda: zstd.eof, lambda: zstd.needs_input
    return None
