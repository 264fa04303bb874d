"""Parse a search: words, phrases or a regular expression, and filters. Pure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Final

from exporter.errors import UsageError
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.search.folding import fold

KIND_NAMES: Final = {Kind.ENTRIES: "entry", Kind.COMMENTS: "comment", Kind.FILES: "file"}
KIND_WORDS: Final = {word: kind for kind, name in KIND_NAMES.items() for word in (name, str(kind))}

_TERM = re.compile(r'["“”＂](?P<phrase>[^"“”＂]*)["“”＂]|(?P<word>(?:[^\s"“”＂]|["“”＂](?![^"“”＂]*["“”＂]))+)')
"""A phrase, or a word; the last quotation mark without a partner is a character like any other."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search.

    Attributes:
        terms: the keys (:func:`~exporter.search.folding.fold`) that a record must contain; empty for an expression.
        pattern: a regular expression that must match in one of a record's original texts.
        kind: only records of this kind.
        since: only records written at this time or later; records without a date do not match.
        limit: the greatest number of hits; the best are returned.
        by_date: order hits by date, the newer first, not by score.
    """

    terms: tuple[str, ...]
    pattern: str | None = None
    kind: Kind | None = None
    since: datetime | None = None
    limit: int | None = None
    by_date: bool = False


def parse_query(
    words: Sequence[str],
    kind: str | None = None,
    since: str | None = None,
    *,
    regex: bool = False,
    limit: int | None = None,
    by_date: bool = False,
    timezone: tzinfo = UTC,
) -> Query:
    """Parse the words and options of a search.

    Args:
        words: words separated by white space, and phrases in double quotes; a lone quote is part of a word. With
            ``regex`` one expression.
        kind: ``entry``, ``comment`` or ``file``.
        since: a date or a date and time (ISO 8601).
        regex: treat the words as a regular expression in Python's syntax.
        limit: the greatest number of hits.
        by_date: order hits by date, not by score.
        timezone: of ``since`` if it has no offset.

    Raises:
        UsageError: the query is empty, or an expression, a kind or a date is invalid.
    """
    text = " ".join(words)
    terms = () if regex else _terms(text)
    return Query(terms, _pattern(text) if regex else None, _kind(kind), _since(since, timezone), limit, by_date)


def _terms(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for term in _TERM.finditer(text):
        key = fold(term["word"] or term["phrase"]).strip()
        if key and key not in found:
            found.append(key)
    if not found:
        raise UsageError(message("There is nothing to search for: give a word, or a phrase in quotes."))
    return tuple(found)


def _pattern(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError("The regular expression {text!r} cannot be read: {error}.", text=text, error=error) from error
    if not text:
        raise UsageError(message("There is nothing to search for: the regular expression is empty."))
    return compiled.pattern


def _kind(text: str | None) -> Kind | None:
    if text is None:
        return None
    if text not in KIND_WORDS:
        raise UsageError("{text!r} cannot be searched: choose entry, comment or file.", text=text)
    return KIND_WORDS[text]


def _since(text: str | None, timezone: tzinfo) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("since is {text!r}, which is not a date such as 2026-01-31.", text=text) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone)
