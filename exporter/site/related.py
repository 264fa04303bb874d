"""Which entries are like which: by what their texts share, and by their category.

An entry is known by its marks: up to 16 short strings of its title and texts, chosen from these alone. Marks can be
pairs of neighbouring kanji, and words in katakana or Latin letters. The most frequent are chosen, and among equals
those with the lowest CRC-32, so that two texts with the same words choose the same marks. The similarity of two entries
is the sum of the values of their shared marks. A mark is worth more the fewer entries have it, in steps of powers of
two, and nothing from 128 entries on. One category adds half as much again. The best :data:`MOST` are shown, of equals
those with the lower id.

So an edit that leaves the marks leaves every list. An edit that changes marks can change only the lists of entries that
have one of these marks; :class:`Related` computes these again and keeps the rest. The result equals that of computing
all lists again. Pure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from operator import add
from typing import Final, NamedTuple
from zlib import crc32

MOST: Final = 4
_MARKS: Final = 16
_LOOKED_AT: Final = 20_000
"""Characters of a text from which marks are taken."""
_TITLE_COUNTS: Final = 3
"""The weight of an occurrence in the title."""
_LONGEST: Final = 12
# The first character is written separately, because a class at the start is searched five times as fast as a
# repetition.
_KANJI = re.compile("[一-鿿々][一-鿿々]+")
_WORDS = re.compile("[ァ-ヺー][ァ-ヺー]{2,}"), re.compile("[a-z][a-z]{4,}")
_STEPS: Final = 8
"""A mark in two or three entries is worth 49, in 64 to 127 entries 4, and in more nothing."""
_ENOUGH: Final = 60
"""The minimum similarity: one rare mark shared across two categories is not enough, two are."""


class Known(NamedTuple):
    """The facts that identify an entry: its marks separated by spaces, its category, and the ids of similar entries."""

    marks: str
    category: str
    alike: tuple[str, ...] = ()


def marks_of(title: str, text: str) -> str:
    """Return the marks of an entry with spaces between them; ``text`` is without tags."""
    counts = _said(text[:_LOOKED_AT])
    for mark, number in _said(title).items():
        counts[mark] += number * _TITLE_COUNTS
    least = min(sorted(counts.values())[-_MARKS:], default=0)
    best = sorted([(-number, crc32(mark.encode()), mark) for mark, number in counts.items() if number >= least])
    return " ".join([mark for _, _, mark in best[:_MARKS]])


def related(now: Sequence[tuple[str, str, str]], before: Mapping[str, Known]) -> dict[str, Known]:
    """Return the facts for every entry, by id.

    Args:
        now: id, marks and category of each entry, in the order of the ids.
        before: the previous facts; lists that stay the same are taken from them.
    """
    same = {entry_id for entry_id, *known in now if (was := before.get(entry_id)) and [*was[:2]] == known}
    if len(same) == len(now) == len(before):
        return dict(before)
    owners: defaultdict[str, list[int]] = defaultdict(list)
    marks = [text.split(" ") if text else [] for _, text, _ in now]
    for place, found in enumerate(marks):
        for mark in found:
            owners[mark].append(place)
    touched = _touched(now, before, same, owners)
    made = {}
    for place, (entry_id, text, category) in enumerate(now):
        if entry_id in same and touched.isdisjoint(marks[place]):
            made[entry_id] = before[entry_id]
        else:
            made[entry_id] = Known(text, category, _closest(now, place, marks[place], owners))
    return made


def _closest(
    now: Sequence[tuple[str, str, str]], place: int, marks: Iterable[str], owners: Mapping[str, Sequence[int]]
) -> tuple[str, ...]:
    """Return the ids of the entries most like the one at ``place``; ``owners`` has the places of each mark."""
    scores: defaultdict[int, int] = defaultdict(int)
    for mark in marks:
        value = _worth(len(owners[mark]))
        if value:
            for other in owners[mark]:
                scores[other] += value
    scores.pop(place, None)
    category, ranked = now[place][2], []
    for other, score in scores.items():
        doubled = score * 3 if now[other][2] == category else score * 2
        if doubled >= _ENOUGH * 2:
            ranked.append((-doubled, other))
    return tuple(now[other][0] for _, other in nsmallest(MOST, ranked))


def _touched(
    now: Iterable[tuple[str, str, str]],
    before: Mapping[str, Known],
    same: set[str],
    owners: Mapping[str, Sequence[int]],
) -> set[str]:
    """Return the marks of changed entries that are or were worth something."""
    change: Counter[str] = Counter()
    for entry_id, known in before.items():
        if entry_id not in same:
            change.subtract(filter(None, known.marks.split(" ")))
    found = set(change)
    for entry_id, marks, _ in now:
        if entry_id not in same:
            added = [*filter(None, marks.split(" "))]
            change.update(added)
            found.update(added)
    return {
        mark
        for mark in found
        if _worth(number := len(owners.get(mark, ()))) or (number - change[mark] > 0 and _worth(number - change[mark]))
    }


def _worth(number: int) -> int:
    """Return the value of a mark by its number of entries; 0 without entries."""
    step = number.bit_length() - 1
    return (_STEPS - step) ** 2 if 0 <= step < _STEPS - 1 else 0


def _said(text: str) -> Counter[str]:
    """Return how often a text has each of its marks."""
    lowered = text.lower()
    counts = Counter([word[:_LONGEST] for words in _WORDS for word in words.findall(lowered)])
    for run, number in Counter(_KANJI.findall(lowered)).items():
        for pair in map(add, run, run[1:]):
            counts[pair] += number
    return counts
