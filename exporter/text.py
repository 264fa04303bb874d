"""Make untrusted text safe for a terminal, for a text file, and for columns. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

_STEERING: Final = (
    "\x7f-\x9f"  # C1 controls
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder the text around them
    "\u2028\u2029\ufeff"  # line ends that are no newline, and the byte order mark
    "\ud800-\udfff"  # lone surrogates, which no terminal encoding can hold
)
_UNSAFE: Final = re.compile(f"[\x00-\x1f{_STEERING}]")
_UNSAFE_IN_LINES: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_STEERING}]")
_UNSAFE_IN_JSON: Final = re.compile(f"[{_STEERING}]")
_COLOUR: Final = re.compile(r"(\x1b\[[0-9;]{0,12}m)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_TEXT_HOLDS: Final = "\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff"
_NOT_TEXT: Final = re.compile(f"[{_NO_TEXT_HOLDS}]")
_ALL_TEXT: Final = re.compile(f"[^{_NO_TEXT_HOLDS}]*")
_PIECE_CHARACTERS: Final = 1_000_000
_NEVER_FIRST: Final = frozenset(
    "、。，．・：；？！」』）】〉》〕］｝ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ々…‥,.:;?!)]}"
)
_NEVER_LAST: Final = frozenset("「『（【〈《〔［｛([{")


def printable(text: str, limit: int | None = None) -> str:
    r"""Return ``text`` with ``\xNN`` or ``\uNNNN`` for terminal controls, cut after ``limit`` characters."""
    cut = text if limit is None or len(text) <= limit else text[: limit - 1] + "…"
    made = _UNSAFE.sub(_escape, cut)
    return cut if made == cut else made  # a message stays one


def printable_lines(text: str, *, colours: bool = False) -> str:
    """Return ``text`` as :func:`printable` does, but keep its line ends and tabs, and with ``colours`` its colours.

    Only a text in which :func:`printable` made every untrusted part safe may keep its colours.
    """
    lines = text.replace("\r\n", "\n")
    if not colours:
        return _UNSAFE_IN_LINES.sub(_escape, lines)
    parts = _COLOUR.split(lines)
    return "".join(part if at % 2 else _UNSAFE_IN_LINES.sub(_escape, part) for at, part in enumerate(parts))


def printable_json(text: str) -> str:
    """Return an equivalent JSON text with JSON escapes for terminal controls.

    Such characters only occur inside strings, except the carriage return, which only occurs between values.
    """
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r", " "))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def width(text: str) -> int:
    """Return the number of columns of a text."""
    return sum(2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1 for char in text)


def fitted(text: str, columns: int) -> str:
    """Return a text of at most ``columns`` columns. If it was cut, it ends with an ellipsis."""
    if width(text) <= columns:
        return text
    used = at = 0
    while (used := used + width(text[at])) < columns:
        at += 1
    return text[:at] + "…"


def wrapped(text: str, columns: int) -> list[str]:
    """Return a text in lines of at most ``columns`` columns; one empty line for an empty text.

    Lines break at spaces, and between Japanese characters by the rules of JIS X 4051. Other text, such as an address,
    is never broken.
    """
    lines, line = [], ""
    for space, piece in _pieces(text):
        if line and width(line) + len(space) + width(piece) > columns:
            lines.append(line)
            line = piece
        else:
            line += (space if line else "") + piece
    return [*lines, line]


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the unbreakable pieces of a text, each with the space before it, if any."""
    for word in text.split():
        space, start = " ", 0
        for at in range(1, len(word)):
            before, after = word[at - 1], word[at]
            wide = width(before) == 2 or width(after) == 2
            if wide and before not in _NEVER_LAST and after not in _NEVER_FIRST:
                yield space, word[start:at]
                space, start = "", at
        yield space, word[start:]


def left(text: str, columns: int) -> str:
    """Return a text padded with spaces on the right to ``columns`` columns."""
    return text + " " * (columns - width(text))


def right(text: str, columns: int) -> str:
    """Return a text padded with spaces on the left to ``columns`` columns."""
    return " " * (columns - width(text)) + text


def without_surrogates(text: str) -> tuple[str, int]:
    """Return the text with U+FFFD for lone surrogates, which UTF-8 cannot encode, and their number."""
    return _SURROGATE.subn(REPLACEMENT, text)


def visible(text: str) -> tuple[str, int]:
    """Return the text with U+FFFD for characters that a text file cannot hold, and the number of replacements.

    These are lone surrogates, which UTF-8 cannot encode, and control characters other than tab, newline, form feed and
    carriage return.
    """
    if _ALL_TEXT.fullmatch(text):
        return text, 0  # nearly always; three times as fast as a search
    if len(text) <= _PIECE_CHARACTERS:
        return _NOT_TEXT.subn(REPLACEMENT, text)
    # In pieces, because a substitution keeps every position in memory until its end.
    made = [
        _NOT_TEXT.subn(REPLACEMENT, text[at : at + _PIECE_CHARACTERS]) for at in range(0, len(text), _PIECE_CHARACTERS)
    ]
    return "".join(piece for piece, _ in made), sum(count for _, count in made)
