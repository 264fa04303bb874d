"""The comments of one post against those of its new home. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from exporter.compare.posts import Difference, Fault, NewComment, OldComment, day_of
from exporter.compare.texts import first_difference, likeness, sketch

_ALIKE: Final = 0.5
_MOST_ALIKE: Final = 200
"""Comments of a post that are compared each with each, after those with something in common have found each other."""


class ComparedComments(NamedTuple):
    """The differences, and how many comments of the new home the archive does not have."""

    differences: list[Difference]
    extra: int


def compare_comments(olds: Sequence[OldComment], news: Sequence[NewComment]) -> ComparedComments:
    """Match comments by writer, text and day, each once and the surest first, and compare them.

    A comment that only its writer's name, its day or a part of its text tells from an old one is that one, changed. A
    second copy of a comment is a duplicate; any other that the archive does not have was written since.
    """
    pairs = _assign(olds, news)
    differences: list[Difference] = []
    for old, comment in enumerate(olds):
        if old in pairs:
            differences += _compare(comment, news[pairs[old]])
        elif comment.asked:
            differences.append(Difference(Fault.COMMENT_MISSING, _shown(comment.name, comment.letters)))
    known = {(comment.name, comment.letters) for comment in olds}
    taken = set(pairs.values())
    rest = [comment for new, comment in enumerate(news) if new not in taken]
    twice = [comment for comment in rest if (comment.name, comment.letters) in known]
    differences += [Difference(Fault.COMMENT_DUPLICATE, _shown(each.name, each.letters)) for each in twice]
    return ComparedComments(differences, len(rest) - len(twice))


def find_comments(olds: Sequence[OldComment], page: str) -> list[Difference]:
    """Look for comments on a page of which only the letters are known: one is there where its text and its name are."""
    differences = []
    for comment in olds:
        there = all(part in page for part in (comment.name, comment.title, comment.text))
        if comment.visible and not there:
            differences.append(Difference(Fault.COMMENT_MISSING, _shown(comment.name, comment.letters)))
        elif there and not comment.visible and comment.letters:
            differences.append(Difference(Fault.COMMENT_SHOWN, _shown(comment.name, comment.letters)))
    return differences


def _assign(olds: Sequence[OldComment], news: Sequence[NewComment]) -> dict[int, int]:
    """Return which new comment each old one is."""
    pairs: dict[int, int] = {}
    free = dict.fromkeys(range(len(news)))
    for old_keys, new_key in _KEYS:
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for new in free:
            waiting[new_key(news[new])].append(new)
        for old, comment in enumerate(olds):
            fitting = next((waiting[key] for key in old_keys(comment) if old not in pairs and waiting.get(key)), None)
            if fitting:
                pairs[old] = fitting.popleft()
                del free[pairs[old]]
    for old in [old for old in range(len(olds)) if old not in pairs][:_MOST_ALIKE]:
        mine = sketch(olds[old].letters)
        scored = [(likeness(mine, sketch(news[new].letters)), -new) for new in list(free)[:_MOST_ALIKE]]
        best, new = max(scored, default=(0.0, 0))
        if best >= _ALIKE:
            pairs[old] = -new
            del free[-new]
    return pairs


_KEYS: tuple[tuple[Callable[[OldComment], Iterable[Hashable]], Callable[[NewComment], Hashable]], ...] = (
    (lambda old: [(old.name, old.letters, day) for day in old.days], lambda new: (new.name, new.letters, _day(new))),
    (lambda old: [(old.name, old.letters)], lambda new: (new.name, new.letters)),
    (lambda old: [old.letters], lambda new: new.letters),
    (lambda old: [(old.name, day) for day in old.days], lambda new: (new.name, _day(new))),
)
"""What two comments that are one have in common, the surest first."""


def _compare(old: OldComment, new: NewComment) -> Iterator[Difference]:
    if old.visible and new.held:
        yield Difference(Fault.COMMENT_HELD, _shown(old.name, old.letters))
    if not old.visible and not new.held:
        yield Difference(Fault.COMMENT_SHOWN, _shown(old.name, old.letters))
    if old.letters != new.letters:
        yield Difference(Fault.COMMENT_CHANGED, *first_difference(old.letters, new.letters))
    if old.name and old.name != new.name:
        yield Difference(Fault.COMMENT_CHANGED, old.name, new.name)
    day = _day(new)
    if old.days and day is not None and day not in old.days:
        yield Difference(Fault.COMMENT_CHANGED, min(old.days).isoformat(), day.isoformat())


def _day(comment: NewComment) -> date | None:
    return None if comment.when is None else day_of(comment.when)


def _shown(name: str, letters: str) -> str:
    return f"{name}: {letters}"
