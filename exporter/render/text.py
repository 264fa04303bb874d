"""Making strangers' text safe to write: for terminals, and for derived files."""

from __future__ import annotations

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_NOT_PRINTABLE = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")


def visible(text: str) -> tuple[str, int]:
    """Return the text with U+FFFD for what a text file cannot hold, and how many characters were replaced.

    That is lone surrogates, which UTF-8 cannot encode, and control characters other than tab, newline, form feed and
    carriage return.
    """
    return _NOT_TEXT.subn(REPLACEMENT, text)


def printable(text: str) -> str:
    r"""Return the text on one line for a terminal.

    Controls, bidi controls, line separators and lone surrogates become ``\xNN`` or ``\uNNNN``.
    """
    return _NOT_PRINTABLE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
