"""Text from strangers made fit for one line on a terminal. Pure."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0 and C1 controls
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder what stands around them
    "\u2028\u2029\ufeff"  # line ends that are no newline, and the byte order mark
    "\ud800-\udfff]"  # lone surrogates, which no terminal encoding can hold
)


def printable(text: str, limit: int | None = None) -> str:
    r"""Return ``text``, cut after ``limit`` characters; what could steer a terminal becomes ``\xNN`` or ``\uNNNN``."""
    cut = text if limit is None or len(text) <= limit else text[: limit - 1] + "…"
    return _UNSAFE.sub(_escape, cut)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
