"""Search entries together with their comments, as the site's search page does: an entry is one hit, wherever words are.

All words must occur in the entry or its comments. A comment without an entry is a hit of its own. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.model.kinds import Kind, sort_key
from exporter.search.facets import Facets, facets_from, is_labelled_text
from exporter.search.folding import similar
from exporter.search.index_file import FIELDS, RANK_SCORE

if TYPE_CHECKING:
    import re

    from exporter.search.index_file import IndexedRecord

_CATEGORY: Final = [name for name, _ in FIELDS[Kind.ENTRIES]].index("category")
"""The text that counts only if the service states labels: else the category is a choice, but no text of the entry."""
_SHOWN_COMMENTS: Final = 2
_Known = tuple[str, float, int | None]
"""The facets of an entry as JSON, its moment, and the last version that has it if it is gone."""


class SearchedRecord(NamedTuple):
    """A searched record: its kind, its id, its lines in the index, and the last version that has it if it is gone."""

    kind: Kind
    record_id: str
    record: IndexedRecord
    gone_in: int | None = None


@dataclass(slots=True)
class EntryHit:
    """An entry whose own texts and comments contain all words.

    Attributes:
        entry_id: its id; of a comment without an entry the comment's.
        orphan: whether it is such a comment.
        facets: of the entry.
        moment: when it was written, in seconds since 1970; negative infinity if undated.
        comments: the ids of the first comments in which a word occurs.
        gone_in: the last version that has the entry, if it is gone.
        ranks: the best rank of each word.
        places: the places of all words.
    """

    entry_id: str
    orphan: bool = False
    facets: Facets = field(default_factory=Facets)
    moment: float = float("-inf")
    comments: list[str] = field(default_factory=list)
    gone_in: int | None = None
    ranks: list[int] = field(default_factory=list)
    places: int = 0

    @property
    def score(self) -> int:
        """A million for the best rank of each word, and one for each place."""
        return RANK_SCORE * sum(self.ranks) + min(self.places, RANK_SCORE - 1)

    def add(self, found: SearchedRecord, counts: list[tuple[int, int]]) -> None:
        """Add a record in which a word occurs; ``counts`` has a rank and a number of places for each word."""
        ranks = [rank for rank, _ in counts]
        self.ranks = list(map(max, self.ranks, ranks)) if self.ranks else ranks
        self.places += sum(number for _, number in counts)
        if found.kind is Kind.COMMENTS and len(self.comments) < _SHOWN_COMMENTS:
            self.comments.append(found.record_id)


class EntryHits(NamedTuple):
    """The entries that contain the words, and those that contain them in similar spellings only, the newest first."""

    exact: list[EntryHit]
    similar: list[EntryHit]


class _Words:
    """Counts a query's words in a record, or their similar spellings."""

    def __init__(self, terms: Sequence[str], *, loosely: bool) -> None:
        self._needles = [term.encode() for term in terms]
        self._patterns: list[re.Pattern[str] | None] = [similar(term) if loosely else None for term in terms]

    def counts(self, record: IndexedRecord, *, labelled: bool) -> list[tuple[int, int]]:
        """Return each word's number of places, after the best rank among the texts that contain it."""
        fields = FIELDS[record.kind]
        texts = [
            (fields[at][1], text)
            for at, text in enumerate(record.folded)
            if text and (record.kind is not Kind.ENTRIES or labelled or at != _CATEGORY)
        ]
        found = []
        for needle, pattern in zip(self._needles, self._patterns, strict=True):
            numbers = [
                (rank, text.count(needle) if pattern is None else len(pattern.findall(text.decode("utf-8", "replace"))))
                for rank, text in texts
            ]
            found.append(
                (max((int(rank) for rank, number in numbers if number), default=0), sum(n for _, n in numbers))
            )
        return found


def search_entries(records: Iterable[SearchedRecord], terms: Sequence[str]) -> EntryHits:
    """Return the entries with all words, given all entries and then all comments.

    Args:
        records: the entries, each id once, then the comments in the order of their ids.
        terms: the keys of the words.
    """
    loose = any(similar(term) is not None for term in terms)
    ways = [_Words(terms, loosely=False), *([_Words(terms, loosely=True)] if loose else [])]
    hits: list[dict[str, EntryHit]] = [{} for _ in ways]
    known: dict[str, _Known] = {}
    for found in records:
        about = found.record.about()
        if found.kind is Kind.ENTRIES:
            if not about:
                continue  # only its list item could be read, so the site has no page of it
            known[found.record_id] = about, found.record.moment, found.gone_in
            key, labelled = found.record_id, is_labelled_text(about)
        else:
            key, labelled = (about, False) if about in known else (f"\0{found.record_id}", False)
        for words, group in zip(ways, hits, strict=True):
            counts = words.counts(found.record, labelled=labelled)
            if any(rank for rank, _ in counts):
                group.setdefault(key, _new(key, known)).add(found, counts)
    whole = [{key: hit for key, hit in group.items() if all(hit.ranks)} for group in hits]
    others = (hit for key, hit in whole[-1].items() if loose and key not in whole[0])
    return EntryHits(_newest_first(whole[0].values()), _newest_first(others))


def _new(key: str, known: dict[str, _Known]) -> EntryHit:
    if key.startswith("\0"):
        return EntryHit(key[1:], orphan=True)
    about, moment, gone_in = known[key]
    return EntryHit(key, facets=facets_from(about), moment=moment, gone_in=gone_in)


def _newest_first(hits: Iterable[EntryHit]) -> list[EntryHit]:
    """Return entries by date, the newest first, then comments without an entry."""
    entries: list[EntryHit] = []
    orphans: list[EntryHit] = []
    for hit in hits:
        (orphans if hit.orphan else entries).append(hit)
    entries.sort(key=lambda hit: (hit.moment, sort_key(hit.entry_id)), reverse=True)
    return [*entries, *sorted(orphans, key=lambda hit: sort_key(hit.entry_id))]
