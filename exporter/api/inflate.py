"""Taking bodies out of the encodings of RFC 9110, section 8.4.1, a bounded piece at a time. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from exporter.errors import BadBody

_PIECE = 256 * 1024
_EITHER = 47  # zlib's code for a gzip or a zlib header, whichever is there
_BARE = -15


class Identity:
    """No encoding."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the bytes stand for."""
        yield data

    def end(self) -> None:
        """Say that nothing follows."""


class Inflate:
    """``gzip`` and ``deflate``, the latter also without the header it should have."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_EITHER)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the bytes stand for, never more than 256 KiB at once.

        Raises:
            BadBody: they are not in this encoding.
        """
        try:
            yield from self._pieces(data)
        except zlib.error:
            if self._begun:
                raise BadBody("the answer is not in the encoding it claims") from None
            self._inflater, self._begun = zlib.decompressobj(_BARE), True
            yield from self.feed(data)

    def end(self) -> None:
        """Say that nothing follows.

        Raises:
            BadBody: something should.
        """
        if not self._inflater.eof:
            raise BadBody("the answer's compressed body is cut short")

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data and not self._inflater.eof:
            piece = self._inflater.decompress(data, _PIECE)
            self._begun = True
            data = self._inflater.unconsumed_tail
            if piece:
                yield piece


def decoder(encoding: str) -> Identity | Inflate:
    """Return what reads a ``Content-Encoding``.

    Raises:
        BadBody: it is one that was not asked for and cannot be read.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return Identity()
    if name in {"gzip", "x-gzip", "deflate"}:
        return Inflate()
    raise BadBody("the answer is in an encoding that cannot be read")
