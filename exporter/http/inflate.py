"""Decoding the content encodings that this program asks for, without the modules of the network. Pure."""

from __future__ import annotations

import zlib
from typing import Final

from exporter.errors import BadBody
from exporter.message import message

_PIECE_BYTES: Final = 256 * 1024
_GZIP_OR_ZLIB, _BARE = 47, -15  # zlib's codes for either header, and for none


class Inflate:
    """Decodes ``gzip`` with one or several members (RFC 1952), and ``deflate`` with or without its header."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._waiting = b""
        self._begun = False

    def feed(self, data: bytes) -> None:
        """Append bytes as they arrived."""
        self._waiting += data

    def take(self) -> bytes:
        """Return the next decoded bytes, at most 256 KiB; empty if all are taken.

        Raises:
            BadBody: the bytes are not in this encoding.
        """
        while self._waiting:
            if self._inflater.eof:
                if not self._waiting.startswith(b"\x1f"):  # padding or garbage, not a further member
                    self._waiting = b""
                    break
                self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                piece = self._inflater.decompress(self._waiting, _PIECE_BYTES)
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
        """Raise BadBody if the encoded data is incomplete."""
        if self._begun and not self._inflater.eof:
            raise BadBody(message("the answer's compressed body is cut short"))


def decoder(encoding: str) -> Inflate | None:
    """Return the decoder for a ``Content-Encoding`` (RFC 9110, section 8.4.1), or ``None`` if there is no encoding.

    Raises:
        BadBody: the encoding was not requested and cannot be read.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return None
    if name in {"gzip", "x-gzip", "deflate"}:
        return Inflate()
    raise BadBody(message("the answer is in an encoding that cannot be read"))
