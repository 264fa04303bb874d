"""Which characters are text, and what each may become: another one of its script, width, case and length. Pure.

What is not text stays as it is: white space and controls, punctuation and symbols of one use, combining marks, marks of
length and repetition (``ー``, ``々``), joiners and selectors, halves of surrogate pairs.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final

RUN: Final = 4
"""So many characters of text in a row, found in an original, would give something away."""

_MARKS_OF_TEXT: Final = frozenset("ーｰ々〻〱〲〳〴〵ゝゞヽヾ")
_ASSIGNED_EMOJI: Final = range(0x1F600, 0x1F645)
_REGIONAL: Final = range(0x1F1E6, 0x1F200)
_SKIN: Final = range(0x1F3FB, 0x1F400)
_DIGITS: Final = frozenset("0123456789")
_TRIES: Final = 60


def _letters(*ranges: tuple[int, int]) -> str:
    return "".join(chr(code) for first, last in ranges for code in range(first, last + 1))


_SCRIPTS: Final = tuple(
    _letters(*ranges)
    for ranges in (
        [(0x30, 0x39)],
        [(0x41, 0x5A)],
        [(0x61, 0x7A)],
        [(0x3041, 0x3096)],
        [(0x30A1, 0x30FA)],
        [(0xFF66, 0xFF6F), (0xFF71, 0xFF9D)],
        [(0xFF10, 0xFF19)],
        [(0xFF21, 0xFF3A)],
        [(0xFF41, 0xFF5A)],
        [(0x4E00, 0x9FA5)],
        [(0x3400, 0x4DB5)],
        [(0x20000, 0x2A6D6)],
        [(0xAC00, 0xD7A3)],
        [(_REGIONAL[0], _REGIONAL[-1])],
    )
)
_SCRIPT_OF: Final = {char: script for script in _SCRIPTS for char in script}
_INSTEAD: Final = {
    1: _letters((0x61, 0x7A), (0x41, 0x5A)),
    2: _letters((0x00E0, 0x00F6), (0x00F8, 0x00FF)),
    3: _SCRIPTS[3],
    4: _letters((0x20000, 0x200FF)),
}
"""By bytes of UTF-8: what stands for letters whose own neighbourhood has no other one."""


@lru_cache(maxsize=200_000)
def alphabet(char: str) -> str:
    """Return what a character may become, itself among it; empty for one that is not text."""
    script = _SCRIPT_OF.get(char)
    if script is not None:
        return script
    code, category = ord(char), unicodedata.category(char)
    if char in _MARKS_OF_TEXT or code in _SKIN or category[0] in "MPZ" or category in {"Cc", "Cf", "Cs"}:
        return ""
    if category[0] == "S":
        if category != "So":
            return ""
        if code >= 0x1F000:
            return "".join(map(chr, _ASSIGNED_EMOJI))
    length = len(char.encode("utf-8"))
    first = code & ~0x7F
    found = [
        other
        for other in map(chr, range(first, first + 0x80))
        if unicodedata.category(other) == category
        and unicodedata.east_asian_width(other) == unicodedata.east_asian_width(char)
        and other not in _MARKS_OF_TEXT
        and len(other.encode("utf-8")) == length
    ]
    return "".join(found) if len(found) > RUN else _INSTEAD[length]


def is_text(char: str) -> bool:
    """Tell whether a character is text."""
    return bool(alphabet(char))


def windows(text: str) -> Iterator[str]:
    """Yield every run of four characters of text."""
    length = 0
    for at, char in enumerate(text):
        length = length + 1 if is_text(char) else 0
        if length >= RUN:
            yield text[at + 1 - RUN : at + 1]


def telling_windows(texts: Iterable[str]) -> set[str]:
    """Return the runs of four characters of texts that are not digits alone, which dates and counts have too."""
    return {window for text in texts for window in windows(text) if not _DIGITS.issuperset(window)}


class CannotScramble(ValueError):
    """Originals leave no other text of this shape."""


class Chooser:
    """Draws numbers that follow from a key and a text alone."""

    def __init__(self, key: bytes, purpose: str, text: str) -> None:
        self._seed = hashlib.blake2b(
            purpose.encode() + b"\0" + text.encode("utf-8", "surrogatepass"), key=key, digest_size=32
        ).digest()
        self._block = 0
        self._bits = b""

    def below(self, bound: int) -> int:
        """Return a number from 0 up to, and without, ``bound``."""
        size = max(4, bound.bit_length() // 8 + 4)
        while len(self._bits) < size:
            self._bits += hashlib.blake2b(self._block.to_bytes(8), key=self._seed, digest_size=64).digest()
            self._block += 1
        taken, self._bits = self._bits[:size], self._bits[size:]
        return int.from_bytes(taken) % bound


def scrambled_run(text: str, chooser: Chooser, banned: Collection[str], before: str = "") -> str:
    """Return a text with every character of text replaced.

    Args:
        text: the original.
        chooser: draws what comes in their place.
        banned: runs of four characters that may not come out.
        before: what stands before it, which runs may begin in.

    Raises:
        CannotScramble: every other text of this shape has a banned run.
    """
    own = {window for window in windows(text) if _DIGITS.issuperset(window)}
    made = list(before[1 - RUN :])
    start = len(made)
    for char in text:
        letters = alphabet(char)
        made.append(_other(char, letters, chooser, made, banned, own) if letters else char)
    return "".join(made[start:])


def _other(
    char: str, letters: str, chooser: Chooser, made: list[str], banned: Collection[str], own: Collection[str]
) -> str:
    last = made[1 - RUN :]
    full = len(last) == RUN - 1 and all(map(is_text, last))
    lead = "".join(last)
    wider = _INSTEAD[len(char.encode("utf-8"))]
    for number in range(2 * _TRIES):
        some = letters if number < _TRIES else letters + wider
        other = some[chooser.below(len(some))]
        if other != char and not (full and (lead + other in banned or lead + other in own)):
            return other
    raise CannotScramble("no other text of this shape is left")
