"""What texts and queries are compared by, and the way back to the text as it was written. Pure.

The key of a text is NFKC, then case folded, with each run of white space as one space; so half-width kana, full-width
letters and line ends make no difference, nor which of its two characters a wave dash is. NFKC changes lengths, hence
:class:`Folded` remembers where each character of the key comes from. :func:`similar` finds looser spellings in keys:
hiragana for katakana, and long vowels written or not. ``site/static/folding.js`` follows the same rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

Span = tuple[int, int]

_BEFORE = 30
_LENGTH = 120
_PIECE = 100_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONG = 200
_OFTEN_CHANGED = (range(0xA0, 0x180), range(0x2000, 0x2500), range(0x3000, 0x3400), range(0xFE30, 0xFFF0))
"""Accents, marks and units, and full-width and half-width forms."""
_JAMO_FIRST, _JAMO_LAST = "\u1160", "\u11ff"
_WAVE_DASH = "\N{WAVE DASH}"
"""Shift JIS has one wave dash, which systems read as this or as U+FF5E; only the latter is ``~`` in NFKC."""
_HIRAGANA = "".join(map(chr, (*range(0x3041, 0x3097), 0x309D, 0x309E)))
_KATAKANA = "".join(chr(ord(kana) + 0x60) for kana in _HIRAGANA)
_FORMS = {kana: first + second for first, second in zip(_HIRAGANA, _KATAKANA, strict=True) for kana in first + second}
"""How each kana is written: in hiragana, in katakana."""
_LENGTHENING = "ー~"
"""The mark of a long vowel, and the wave dash that people write for it."""


def fold(text: str) -> str:
    """Return the key of a text; lone surrogates become U+FFFD."""
    key = _nfkc(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)).casefold().replace(_WAVE_DASH, "~")
    return " ".join(f"|{key}|".split())[1:-1]


def _nfkc(text: str) -> str:
    """Return a text's NFKC, of a long one in a tenth of the time.

    Normalising takes a hundred times as long as finding that nothing is to be done, and one full-width mark is enough
    for it. So each of those is normalised alone, which leaves a text that is equivalent and so has the same NFKC; what
    else is not normal costs only its line.
    """
    if len(text) < _LONG:
        return unicodedata.normalize("NFKC", text)
    usual = _often_changed().sub(lambda found: _normal(found[0]), text)
    return "\n".join(unicodedata.normalize("NFKC", line) for line in usual.split("\n"))


@lru_cache(maxsize=8192)
def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


@cache
def _often_changed() -> re.Pattern[str]:
    """Return what finds the characters of Japanese texts that NFKC changes, each with the sound mark it may carry."""
    found = (chr(code) for block in _OFTEN_CHANGED for code in block)
    changed = "".join(re.escape(char) for char in found if not unicodedata.is_normalized("NFKC", char))
    return re.compile(f"[{changed}][\uff9e\uff9f]?")


def similar(term: str) -> re.Pattern[str] | None:
    """Return what finds a term's similar spellings in a key, the term itself among them; ``None`` if it has no others.

    Each kana stands for its hiragana and its katakana. Long vowels are marked in any way, or not at all where two kana
    or more come before, as JIS Z 8301 has it for technical terms: サーバ is サーバー, but ビル is no ビール.
    A kana alone has no similar spellings: they would be in nearly every text.
    """
    parts: list[str] = []
    run = 0
    for found in re.finditer(f"([{''.join(_FORMS)}])([{_LENGTHENING}]*)|.", term, re.DOTALL):
        kana, marks = found.groups()
        if kana is None:
            parts.append(re.escape(found[0]))
            run = 0
            continue
        run += 1
        parts.append(f"[{_FORMS[kana]}]")
        if run > 1 or marks:
            parts.append(f"[{_LENGTHENING}]{'*' if run > 1 else '+'}")
            run += 1
    return None if len(parts) < 2 or _FORMS.keys().isdisjoint(term) else re.compile("".join(parts))


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
    """Cut a text where normalisation never joins the characters on both sides."""
    bounds = [at for at in range(len(text)) if at == 0 or not _joins(text[at])]
    return list(pairwise([*bounds, len(text)]))


@lru_cache(maxsize=8192)
def _joins(char: str) -> bool:
    """Tell whether a character may join the one before it: marks, sound marks of kana, Hangul vowels and finals."""
    first = unicodedata.normalize("NFKD", char)[:1]
    return unicodedata.category(first).startswith("M") or _JAMO_FIRST <= first <= _JAMO_LAST


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text as it was written, with line ends shown as spaces.

    Attributes:
        text: ``original[start:start + len(text)]``, but for the line ends.
        start: where it begins in the original text.
        marks: the hits, as offsets into ``text``, in order, never overlapping.
        cut: whether the original continues after it.
    """

    text: str
    start: int
    marks: tuple[Span, ...]
    cut: bool


def spans_of(text: str, terms: Sequence[str], *, loosely: bool = False) -> list[Span]:
    """Return where the terms stand in a text as it was written, in order, those that touch or overlap joined.

    With ``loosely`` their similar spellings are found too.

    A text beyond some 100,000 characters is looked at piece by piece, up to the first hits and what an excerpt shows
    after them: places take a hundred bytes a character.
    """
    sought = [(similar(term) if loosely else None) or re.compile(re.escape(term)) for term in terms]
    overlap = 4 * max(map(len, terms), default=0) + _LENGTH
    for start in range(0, len(text), _PIECE):
        found = _spans(text[start : start + _PIECE + overlap], sought)
        if found:
            return [(low + start, high + start) for low, high in found]
    return []


def _spans(text: str, sought: Sequence[re.Pattern[str]]) -> list[Span]:
    folded = fold_with_places(text)
    return _joined(sorted(folded.span(*found.span()) for each in sought for found in each.finditer(folded.key)))


def excerpt(text: str, spans: Sequence[Span]) -> Excerpt:
    """Cut out the neighbourhood of the first hits."""
    first = spans[0][0] if spans else 0
    start = max(0, first - _BEFORE)
    end = min(len(text), max(start + _LENGTH, spans[0][1] if spans else 0))
    marks = tuple((low - start, min(high, end) - start) for low, high in spans if low < end)
    return Excerpt(re.sub(r"[\r\n\t]", " ", text[start:end]), start, marks, end < len(text))


def _joined(spans: list[Span]) -> list[Span]:
    found: list[Span] = []
    for low, high in spans:
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found
