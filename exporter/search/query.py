"""What texts and queries are compared by, and the way back to the text as it was written. Pure.

The key of a text is NFKC, then case folded, with each run of white space as one space; so half-width kana, full-width
letters and line ends make no difference. NFKC changes lengths, hence :class:`Folded` remembers where each character of
the key comes from.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from functools import lru_cache
from itertools import pairwise

from exporter.errors import UsageError
from exporter.model.kinds import Kind
from exporter.settings import Settings

_TIMEZONE = Settings().timezone
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


KIND_WORDS: dict[str, Kind] = {
    "entry": Kind.ENTRIES,
    "entries": Kind.ENTRIES,
    "comment": Kind.COMMENTS,
    "comments": Kind.COMMENTS,
    "file": Kind.FILES,
    "files": Kind.FILES,
}

_TERM = re.compile(r'["“”＂](?P<phrase>[^"“”＂]*)["“”＂]|(?P<word>[^\s"“”＂]+)|(?P<open>["“”＂])')


@dataclass(frozen=True, slots=True)
class Query:
    """A search.

    Attributes:
        terms: the keys (see :func:`~exporter.search.query.fold`) a record must hold all of; empty for an expression.
        pattern: a regular expression that must match in one of a record's texts as they are, not folded.
        kind: only records of this kind.
        since: only records written at or after it; those without a date are left out.
        limit: return at most so many hits, the best ones.
    """

    terms: tuple[str, ...]
    pattern: str | None = None
    kind: Kind | None = None
    since: datetime | None = None
    limit: int | None = None


def parse_query(
    words: Sequence[str],
    kind: str | None = None,
    since: str | None = None,
    *,
    regex: bool = False,
    limit: int | None = None,
    timezone: tzinfo = _TIMEZONE,
) -> Query:
    """Read what a person asked for.

    Args:
        words: words separated by white space, and phrases in double quotes; with ``regex`` one expression.
        kind: ``entry``, ``comment`` or ``file``.
        since: a date or a date and time (ISO 8601).
        regex: take the words for a regular expression in Python's syntax.
        limit: return at most so many hits.
        timezone: what ``since`` is in, when it does not say.

    Raises:
        UsageError: nothing to search for, a phrase that is not closed, an expression, kind or date that cannot be read.
    """
    text = " ".join(words)
    terms = () if regex else _terms(text)
    return Query(terms, _pattern(text) if regex else None, _kind(kind), _since(since, timezone), limit)


def _terms(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for term in _TERM.finditer(text):
        if term["open"] is not None:
            raise UsageError(
                f"The phrase that begins at {text[term.start() : term.start() + 20]!r} has no closing quote."
            )
        key = fold(term["word"] or term["phrase"]).strip()
        if key and key not in found:
            found.append(key)
    if not found:
        raise UsageError("There is nothing to search for: give a word, or a phrase in quotes.")
    return tuple(found)


def _pattern(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"The regular expression {text!r} cannot be read: {error}.") from error
    if not text:
        raise UsageError("There is nothing to search for: the regular expression is empty.")
    return compiled.pattern


def _kind(text: str | None) -> Kind | None:
    if text is None:
        return None
    if text not in KIND_WORDS:
        raise UsageError(f"{text!r} cannot be searched: choose entry, comment or file.")
    return KIND_WORDS[text]


def _since(text: str | None, timezone: tzinfo) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.combine(date.fromisoformat(text), time())
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"--since {text!r} is no date such as 2026-01-31.") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone)
