"""What texts and queries are compared by, and the way back to the text as it was written. Pure.

The key of a text is NFKC, then case folded, with each run of white space as one space; so half-width kana, full-width
letters and line ends make no difference. NFKC changes lengths, hence :class:`Folded` remembers where each character of
the key comes from.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_JAMO_FIRST, _JAMO_LAST = "\u1160", "\u11ff"


def fold(text: str) -> str:
    """Return the key of a text; lone surrogates become U+FFFD."""
    clean = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", clean).casefold())


@dataclass(frozen=True, slots=True)
class Folded:
    """A key, and for each of its characters the part of the text it stands for: ``text[starts[i]:ends[i]]``."""

    key: str
    starts: list[int]
    ends: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return which part of the text the key's ``[start:end]`` (not empty) stands for."""
        return self.starts[start], self.ends[end - 1]


def fold_with_places(text: str) -> Folded:
    """Return the key of a text as :func:`fold` does, with the places its characters come from."""
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        for char in _key_of(text[start:end]):
            if char == " " and chars and chars[-1] == " ":
                ends[-1] = end
                continue
            chars.append(char)
            starts.append(start)
            ends.append(end)
    return Folded("".join(chars), starts, ends)


@lru_cache(maxsize=8192)
def _key_of(cluster: str) -> str:
    return fold(cluster)


def _clusters(text: str) -> list[tuple[int, int]]:
    """Cut a text where normalisation never joins what stands on both sides."""
    bounds = [at for at in range(len(text)) if at == 0 or not _joins(text[at])]
    return list(pairwise([*bounds, len(text)]))


@lru_cache(maxsize=8192)
def _joins(char: str) -> bool:
    """Tell whether a character may join the one before it: marks, sound marks of kana, Hangul vowels and finals."""
    first = unicodedata.normalize("NFKD", char)[:1]
    return unicodedata.category(first).startswith("M") or _JAMO_FIRST <= first <= _JAMO_LAST
