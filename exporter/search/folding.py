"""Fold texts and queries to keys for comparison, and map positions in keys back to the original text. Pure.

A key is the text in NFKC, case folded, with the usual form of each kanji and one space for each run of white space.
So half-width kana, full-width letters, old forms (國), line ends and the two characters for the wave dash make no
difference. Variation selectors are left out. Characters in a circle or a square (①) and fractions (½) stay, because
NFKC would give them to every search for a digit or a letter. It changes lengths, so :class:`Folded` maps each
character of the key to its origin. :func:`similar` matches looser spellings in keys: hiragana for katakana, and long
vowels with or without their mark. ``site/static/folding.js`` follows the same rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from exporter.search.variants import USUAL_FORMS

Span = tuple[int, int]

_EXCERPT_LEAD = 30
_EXCERPT_LENGTH = 120
_PIECE_CHARACTERS = 100_000
_SURROGATES = "\ud800-\udfff"
_SELECTORS, _MORE_SELECTORS = "\ufe00-\ufe0f", "\U000e0100-\U000e01ef"
_WHOLE = "¼-¾⅐-⅟↉①-⑳Ⓐ-⓪㉄-㉇㉑-㉾㊀-㊿㋐-㋾"
_MORE_WHOLE = "\U0001f12b-\U0001f12e\U0001f130-\U0001f149\U0001f202\U0001f210-\U0001f23b\U0001f250\U0001f251"
"""Characters whose decomposition in Unicode is ``<circle>``, ``<fraction>``, or ``<square>`` of one character."""
_ASTRAL = "\U00010000-\U0010ffff"
"""One range: each part of a class beyond the first plane slows its search."""
_UNUSUAL = re.compile(f"[{_SURROGATES}{_SELECTORS}{_WHOLE}{_ASTRAL}]")
_SURROGATE = re.compile(f"[{_SURROGATES}]")
_SELECTOR = re.compile(f"[{_SELECTORS}{_MORE_SELECTORS}]+")
_NOT_WHOLE = re.compile(f"[^{_WHOLE}{_MORE_WHOLE}]+")
_KANJI = re.compile(f"[{''.join(kanji for kanji in USUAL_FORMS if kanji < _ASTRAL[0])}{_ASTRAL}]")
_JAMO_FIRST, _JAMO_LAST = "\u1160", "\u11ff"
_WAVE_DASH = "\N{WAVE DASH}"
"""Systems decode the one wave dash of Shift JIS as this or as U+FF5E. Only NFKC of the latter is ``~``."""
_HIRAGANA = "".join(map(chr, (*range(0x3041, 0x3097), 0x309D, 0x309E)))
_KATAKANA = "".join(chr(ord(kana) + 0x60) for kana in _HIRAGANA)
_FORMS = {kana: first + second for first, second in zip(_HIRAGANA, _KATAKANA, strict=True) for kana in first + second}
"""The hiragana and katakana forms of each kana."""
_LENGTHENING = "ー~"
"""The long vowel mark, and the wave dash that people write for it."""


def fold(text: str) -> str:
    """Return the key of a text; lone surrogates become U+FFFD."""
    key = _KANJI.sub(_usual_form, _normalized(text).casefold())
    return " ".join(f"|{key.replace(_WAVE_DASH, '~')}|".split())[1:-1]


def _normalized(text: str) -> str:
    if _UNUSUAL.search(text) is None:
        return unicodedata.normalize("NFKC", text)
    clean = _SELECTOR.sub("", _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text))
    return _NOT_WHOLE.sub(lambda part: unicodedata.normalize("NFKC", part[0]), clean)


def _usual_form(found: re.Match[str]) -> str:
    return USUAL_FORMS.get(found[0], found[0])


def similar(term: str) -> re.Pattern[str] | None:
    """Return a pattern for a term and its similar spellings in a key; ``None`` if it has no other spellings.

    Each kana matches its hiragana and its katakana. A long vowel matches any mark. After two or more kana it also
    matches no mark, as in JIS Z 8301 for technical terms: サーバ matches サーバー, but ビル does not match ビール.
    A single kana has no similar spellings, because nearly every text would match.
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
    """A key, and the origin of each of its characters: ``text[starts[i]:ends[i]]``."""

    key: str
    starts: list[int]
    ends: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the text from which the key's ``[start:end]`` (not empty) comes."""
        return self.starts[start], self.ends[end - 1]


def fold_with_places(text: str) -> Folded:
    """Return a text's key, as :func:`fold` makes it, with the origins of its characters."""
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
    """Split a text at positions across which normalisation never joins characters."""
    bounds = [at for at in range(len(text)) if at == 0 or not _joins(text[at])]
    return list(pairwise([*bounds, len(text)]))


@lru_cache(maxsize=8192)
def _joins(char: str) -> bool:
    """Return whether a character may join the previous one: marks, sound marks of kana, Hangul vowels and finals."""
    first = unicodedata.normalize("NFKD", char)[:1]
    return unicodedata.category(first).startswith("M") or _JAMO_FIRST <= first <= _JAMO_LAST


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of an original text; line ends are spaces.

    Attributes:
        text: ``original[start:start + len(text)]``, with spaces for line ends.
        start: its position in the original text.
        marks: the hits, as offsets into ``text``, in order, without overlap.
        cut: whether the original continues after it.
    """

    text: str
    start: int
    marks: tuple[Span, ...]
    cut: bool


def spans_of(text: str, terms: Sequence[str], *, loosely: bool = False) -> list[Span]:
    """Return the terms' spans in an original text, in order; spans that touch or overlap are joined.

    ``loosely`` includes similar spellings.

    A text of more than 100,000 characters is searched piece by piece up to the first hits, because the positions take
    a hundred bytes for each character.
    """
    sought = [(similar(term) if loosely else None) or re.compile(re.escape(term)) for term in terms]
    overlap = 4 * max(map(len, terms), default=0) + _EXCERPT_LENGTH
    for start in range(0, len(text), _PIECE_CHARACTERS):
        found = _spans(text[start : start + _PIECE_CHARACTERS + overlap], sought)
        if found:
            return [(low + start, high + start) for low, high in found]
    return []


def _spans(text: str, sought: Sequence[re.Pattern[str]]) -> list[Span]:
    folded = fold_with_places(text)
    return _joined(sorted(folded.span(*found.span()) for each in sought for found in each.finditer(folded.key)))


def excerpt(text: str, spans: Sequence[Span]) -> Excerpt:
    """Return the text around the first hits."""
    first = spans[0][0] if spans else 0
    start = max(0, first - _EXCERPT_LEAD)
    end = min(len(text), max(start + _EXCERPT_LENGTH, spans[0][1] if spans else 0))
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
