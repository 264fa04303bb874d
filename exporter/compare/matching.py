"""Match a new home's posts to the archive's entries, each at most once, the surest matches first. Pure.

Only candidates are scored: pairs that share their whole text, slug, title or minute, or many pieces of their text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Final

from exporter.compare.posts import NewPost, OldPost, day_of
from exporter.compare.texts import likeness, sketch, word_letters

_MAX_SHARING_POSTS: Final = 40
"""A title, a minute or a piece of text that more posts share identifies none of them."""
_CANDIDATES_BY_TEXT: Final = 5
_SHORT_TITLE_LETTERS: Final = 20
_MIN_SCORE: Final = 4.0
_MIN_COPY_SCORE: Final = 6.0
_MAX_PIECES: Final = 400


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches, by the posts' indexes in the two sequences.

    Attributes:
        pairs: old to new.
        again: new posts that duplicate a matched post, with the old post.
        missing: old posts without a new one.
        extra: new posts without an old one.
    """

    pairs: dict[int, int] = field(default_factory=dict)
    again: dict[int, int] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    extra: list[int] = field(default_factory=list)


def match(olds: Sequence[OldPost], news: Sequence[NewPost]) -> Matches:
    """Match new posts to old ones.

    Two posts score up to 4 for their text, 2 for the slug, 2 for the title, and 2 for the minute or 1 for the day. A
    pair needs 4, a second copy of a post 6.
    """
    judge = _Judge(olds, news)
    scored = sorted(((judge.score(old, new), old, new) for old, new in judge.candidates()), key=_surest_first)
    found = Matches()
    taken: set[int] = set()
    for score, old, new in scored:
        if score >= _MIN_SCORE and old not in found.pairs and new not in taken:
            found.pairs[old] = new
            taken.add(new)
    for score, old, new in scored:
        if score >= _MIN_COPY_SCORE and new not in taken and news[new].article and judge.title_fits(old, new):
            found.again[new] = old
            taken.add(new)
    found.missing.extend(old for old in range(len(olds)) if old not in found.pairs)
    found.extra.extend(new for new in range(len(news)) if new not in taken)
    return found


def _surest_first(scored: tuple[float, int, int]) -> tuple[float, int, int]:
    score, old, new = scored
    return -score, old, new


class _Judge:
    """Finds and scores candidate pairs."""

    def __init__(self, olds: Sequence[OldPost], news: Sequence[NewPost]) -> None:
        self._olds = olds
        self._news = news
        self._titles = [word_letters(post.title) for post in olds]
        self._new_titles = [frozenset(filter(None, map(word_letters, post.titles))) for post in news]
        self._old_sketch = cache(lambda old: sketch(olds[old].letters))
        self._new_sketch = cache(lambda new: sketch(news[new].letters))
        self._texts = [hash(post.letters) if post.letters else None for post in olds]
        self._new_texts = [hash(post.letters) if post.letters else None for post in news]

    def candidates(self) -> set[tuple[int, int]]:
        """Return the pairs that share a rare property."""
        pairs: set[tuple[int, int]] = set()
        pairs |= self._sharing(
            lambda old: filter(None, [self._texts[old]]), lambda new: filter(None, [self._new_texts[new]])
        )
        pairs |= self._sharing(lambda old: self._olds[old].slugs, lambda new: filter(None, [self._news[new].slug]))
        pairs |= self._sharing(lambda old: filter(None, [self._titles[old]]), lambda new: self._new_titles[new])
        pairs |= self._sharing(lambda old: _minutes(self._olds[old].when), self._minutes_of)
        found = Counter(old for old, new in pairs if self._texts[old] == self._new_texts[new])
        same = {new for old, new in pairs if self._texts[old] == self._new_texts[new]}
        rest = (
            [old for old in range(len(self._olds)) if not found[old]],
            [new for new in range(len(self._news)) if new not in same],
        )
        return pairs | set(self._alike(*rest))

    def score(self, old: int, new: int) -> float:
        """Return the score of two posts, 0 to 10."""
        before, after = self._olds[old], self._news[new]
        score = 2.0 if after.slug and after.slug in before.slugs else 0.0
        score += 2.0 if self.title_fits(old, new) else 0.0
        score += self._by_date(before.when, new)
        weight = 4.0 if len(before.letters) >= _SHORT_TITLE_LETTERS else 2.0
        return score + weight * self._by_text(old, new)

    def title_fits(self, old: int, new: int) -> bool:
        """Return whether two posts have the same title. Two missing titles differ."""
        return bool(self._titles[old]) and self._titles[old] in self._new_titles[new]

    def _by_date(self, before: datetime | None, new: int) -> float:
        after = self._news[new].when
        if before is None or after is None:
            return 0.0
        if not set(_minutes(before)).isdisjoint(self._minutes_of(new)):
            return 2.0
        return 1.0 if day_of(after) == before.date() else 0.0

    def _by_text(self, old: int, new: int) -> float:
        before, after = self._olds[old], self._news[new]
        if not before.letters or not after.letters:
            return 0.0
        if before.letters == after.letters or (not after.whole and all(text in after.letters for text in before.texts)):
            return 1.0
        return likeness(self._old_sketch(old), self._new_sketch(new))

    def _minutes_of(self, new: int) -> list[Hashable]:
        when = self._news[new].when
        if when is None or not isinstance(when.shown, datetime):
            return []
        return [f"{when.shown:%Y-%m-%d %H:%M}"]

    def _sharing(
        self, old_keys: Callable[[int], Iterable[Hashable]], new_keys: Callable[[int], Iterable[Hashable]]
    ) -> set[tuple[int, int]]:
        """Return the pairs that share a key, except common keys."""
        of: defaultdict[Hashable, list[int]] = defaultdict(list)
        for new in range(len(self._news)):
            for key in new_keys(new):
                of[key].append(new)
        return {
            (old, new)
            for old in range(len(self._olds))
            for key in old_keys(old)
            if len(of.get(key, ())) <= _MAX_SHARING_POSTS
            for new in of.get(key, ())
        }

    def _alike(self, olds: list[int], news: list[int]) -> Iterator[tuple[int, int]]:
        """Yield for each old post the new ones that share most pieces of text with it."""
        holding: defaultdict[int, list[int]] = defaultdict(list)
        for new in news:
            for piece in self._new_sketch(new):
                holding[piece].append(new)
        for old in olds:
            shared: Counter[int] = Counter()
            for piece in sorted(self._old_sketch(old))[:_MAX_PIECES]:
                if len(found := holding.get(piece, [])) <= _MAX_SHARING_POSTS:
                    shared.update(found)
            yield from ((old, new) for new, _ in shared.most_common(_CANDIDATES_BY_TEXT))


def _minutes(when: datetime | None) -> list[Hashable]:
    return [] if when is None else [f"{when:%Y-%m-%d %H:%M}"]
