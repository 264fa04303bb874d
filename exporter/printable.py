"""Text from strangers made fit for a terminal. Pure."""

from __future__ import annotations

import re
from typing import Final

_STEERING: Final = (
    "\x7f-\x9f"  # C1 controls
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder what stands around them
    "\u2028\u2029\ufeff"  # line ends that are no newline, and the byte order mark
    "\ud800-\udfff"  # lone surrogates, which no terminal encoding can hold
)
_UNSAFE: Final = re.compile(f"[\x00-\x1f{_STEERING}]")
_UNSAFE_IN_LINES: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_STEERING}]")
_UNSAFE_IN_JSON: Final = re.compile(f"[{_STEERING}]")
_COLOUR: Final = re.compile(r"(\x1b\[[0-9;]{0,12}m)")


def printable(text: str, limit: int | None = None) -> str:
    r"""Return ``text``, cut after ``limit`` characters; what could steer a terminal becomes ``\xNN`` or ``\uNNNN``."""
    cut = text if limit is None or len(text) <= limit else text[: limit - 1] + "…"
    return _UNSAFE.sub(_escape, cut)


def printable_lines(text: str, *, colours: bool = False) -> str:
    """Return ``text`` as :func:`printable` does, but with its line ends and tabs, and with colours where it has them.

    Only a text of which :func:`printable` made every stranger's part may keep its ``colours``.
    """
    lines = text.replace("\r\n", "\n")
    if not colours:
        return _UNSAFE_IN_LINES.sub(_escape, lines)
    parts = _COLOUR.split(lines)
    return "".join(part if at % 2 else _UNSAFE_IN_LINES.sub(_escape, part) for at, part in enumerate(parts))


def printable_json(text: str) -> str:
    """Return a JSON text that means the same, with JSON's own escapes for what could steer a terminal.

    Such characters can only stand inside strings, but for the carriage return, which can only stand between values.
    """
    return _UNSAFE_IN_JSON.sub(_escape_json, text.replace("\r", " "))


def _escape_json(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
