"""Making strangers' text fit for derived files."""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_PIECE: Final = 1_000_000
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def visible(text: str) -> tuple[str, int]:
    """Return the text with U+FFFD for what a text file cannot hold, and how many characters were replaced.

    That is lone surrogates, which UTF-8 cannot encode, and control characters other than tab, newline, form feed and
    carriage return.
    """
    if len(text) <= _PIECE:
        return _NOT_TEXT.subn(REPLACEMENT, text)
    # In pieces, since a substitution remembers each place until its end, at some bytes a character.
    made = [_NOT_TEXT.subn(REPLACEMENT, text[at : at + _PIECE]) for at in range(0, len(text), _PIECE)]
    return "".join(piece for piece, _ in made), sum(count for _, count in made)
