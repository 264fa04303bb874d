"""Compare the comments of an entry with those of its post in the new home. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple
from urllib.parse import unquote

from exporter.compare.posts import Difference, Fault, NewComment, OldComment, day_of
from exporter.compare.texts import first_difference, likeness, only_words, sketch
from exporter.message import message
from exporter.model.records import CommentKind

_MIN_SIMILARITY: Final = 0.5
_MAX_COMPARED_COMMENTS: Final = 200
"""Comments of a post that are compared pairwise by their likeness, after those with something in common are matched."""

_TIME_TOLERANCE: Final = timedelta(minutes=2)


class ComparedComments(NamedTuple):
    """The differences, and the number of comments in the new home that the archive does not have."""

    differences: list[Difference]
    extra: int


def compare_comments(olds: Sequence[OldComment], news: Sequence[NewComment]) -> ComparedComments:
    """Match comments by writer, text and day, the surest matches first, and compare them.

    A comment that differs from an old one only in its writer's name, its day or a part of its text is the old one,
    changed. A second copy of a comment is a duplicate. Any other comment was written later.
    """
    pairs = _assign(olds, news)
    differences: list[Difference] = []
    for old, comment in enumerate(olds):
        if old in pairs:
            differences += _compare_comment(comment, news[pairs[old]])
        elif comment.asked:
            differences.append(Difference(Fault.COMMENT_MISSING, _comment_text(comment.name, comment.letters)))
    known = {(comment.name, comment.letters) for comment in olds}
    taken = set(pairs.values())
    rest = [comment for new, comment in enumerate(news) if new not in taken]
    twice = [comment for comment in rest if (comment.name, comment.letters) in known]
    differences += [Difference(Fault.COMMENT_DUPLICATE, _comment_text(each.name, each.letters)) for each in twice]
    differences += _compare_threads(olds, news, pairs)
    later = [comment for comment in rest if comment not in twice and not comment.spam]
    return ComparedComments(differences, len(later))


def notices_as_comments(olds: Sequence[OldComment], news: Sequence[NewComment]) -> int:
    """Return the number of trackbacks and pingbacks that are only comments in the new home."""
    stated = [new.kind for new in news if new.kind]
    missing = sum(old.asked and old.kind is not CommentKind.COMMENT for old in olds)
    return max(0, missing - sum(kind != CommentKind.COMMENT for kind in stated)) if stated else 0


def _compare_threads(
    olds: Sequence[OldComment], news: Sequence[NewComment], pairs: Mapping[int, int]
) -> Iterator[Difference]:
    """Yield the comments that answer another comment than in the archive.

    An answer to a comment that is not in the new home answers the post there.
    """
    places = {comment.id: old for old, comment in enumerate(olds) if comment.id}
    numbers = {comment.id: new for new, comment in enumerate(news) if comment.id}
    for old, new in pairs.items():
        answered = pairs.get(places.get(olds[old].parent, -1))
        there = news[new].parent
        if olds[old].id and there is not None and numbers.get(there) != answered:
            found = numbers.get(there)
            yield Difference(
                Fault.COMMENT_PARENT,
                _comment_text(olds[old].name, olds[old].letters),
                "" if found is None else _comment_text(news[found].name, news[found].letters),
            )


def find_comments(olds: Sequence[OldComment], page: str) -> list[Difference]:
    """Find comments on a page of which only the letters are known: the page has a comment's text and its name."""
    differences = []
    for comment in olds:
        there = all(part in page for part in (comment.name, comment.title, comment.text))
        if comment.visible and not there:
            differences.append(Difference(Fault.COMMENT_MISSING, _comment_text(comment.name, comment.letters)))
        elif there and not comment.visible and comment.letters:
            differences.append(Difference(Fault.COMMENT_SHOWN, _comment_text(comment.name, comment.letters)))
    return differences


def _assign(olds: Sequence[OldComment], news: Sequence[NewComment]) -> dict[int, int]:
    """Return the new comment for each old one, by their indexes."""
    pairs: dict[int, int] = {}
    free = dict.fromkeys(range(len(news)))
    for old_keys, new_key in _COMMENT_KEYS:
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for new in free:
            waiting[new_key(news[new])].append(new)
        for old, comment in enumerate(olds):
            fitting = next((waiting[key] for key in old_keys(comment) if old not in pairs and waiting.get(key)), None)
            if fitting:
                pairs[old] = fitting.popleft()
                del free[pairs[old]]
    for old in [old for old in range(len(olds)) if old not in pairs][:_MAX_COMPARED_COMMENTS]:
        mine = sketch(olds[old].letters)
        scored = [(likeness(mine, sketch(news[new].letters)), -new) for new in list(free)[:_MAX_COMPARED_COMMENTS]]
        best, new = max(scored, default=(0.0, 0))
        if best >= _MIN_SIMILARITY:
            pairs[old] = -new
            del free[-new]
    return pairs


_COMMENT_KEYS: tuple[tuple[Callable[[OldComment], Iterable[Hashable]], Callable[[NewComment], Hashable]], ...] = (
    (
        lambda old: [] if old.moment is None else [(old.name, old.letters, old.moment.timestamp())],
        lambda new: (new.name, new.letters, _second(new)),
    ),
    (lambda old: [(old.name, old.letters, day) for day in old.days], lambda new: (new.name, new.letters, _day(new))),
    (lambda old: [(old.name, old.letters)], lambda new: (new.name, new.letters)),
    (lambda old: [old.letters], lambda new: new.letters),
    (lambda old: [(old.name, day) for day in old.days], lambda new: (new.name, _day(new))),
)
"""The keys that two equal comments share, the surest first."""


def _compare_comment(old: OldComment, new: NewComment) -> Iterator[Difference]:
    if old.visible and new.held:
        yield Difference(Fault.COMMENT_HELD, _comment_text(old.name, old.letters))
    if not old.visible and not new.held:
        yield Difference(Fault.COMMENT_SHOWN, _comment_text(old.name, old.letters))
    if old.letters != new.letters:
        yield Difference(Fault.COMMENT_CHANGED, *first_difference(old.letters, new.letters))
    if old.name and old.name != new.name:
        yield Difference(Fault.COMMENT_CHANGED, old.name, new.name)
    yield from _compare_stated(old, new)
    if old.moment is not None and new.when is not None and new.when.instant is not None:
        if abs(new.when.instant - old.moment) > _TIME_TOLERANCE:
            yield Difference(Fault.COMMENT_CHANGED, f"{old.moment:%Y-%m-%d %H:%M}", str(new.when.shown)[:16])
        return
    day = _day(new)
    if old.days and day is not None and day not in old.days:
        yield Difference(Fault.COMMENT_CHANGED, min(old.days).isoformat(), day.isoformat())


def _compare_stated(old: OldComment, new: NewComment) -> Iterator[Difference]:
    """Yield the differences in parts that only some services state."""
    if old.spam is not None and not old.visible and new.held and old.spam is not new.spam:
        yield Difference(Fault.COMMENT_CHANGED, *map(_held_as, (old.spam, new.spam)))
    if old.kind is CommentKind.COMMENT and new.kind not in {"", CommentKind.COMMENT}:
        yield Difference(Fault.COMMENT_CHANGED, str(old.kind), new.kind)
    # WordPress changes signs in addresses.
    if old.url is not None and new.id and only_words(unquote(old.url)) != only_words(unquote(new.url)):
        yield Difference(Fault.COMMENT_CHANGED, old.url, new.url)


def _held_as(spam: bool) -> str:
    return message("spam") if spam else message("waiting for approval")


def _second(comment: NewComment) -> float | None:
    instant = None if comment.when is None else comment.when.instant
    return None if instant is None else instant.timestamp()


def _day(comment: NewComment) -> date | None:
    return None if comment.when is None else day_of(comment.when)


def _comment_text(name: str, letters: str) -> str:
    return f"{name}: {letters}"
