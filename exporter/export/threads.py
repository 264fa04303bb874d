"""The threads of an entry's comments, by the parents that their service states. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from exporter.model.kinds import sort_key
from exporter.model.labels import is_marked
from exporter.model.records import Comment


class ThreadedComment(NamedTuple):
    """A comment in its thread.

    Attributes:
        comment: the comment.
        level: 0 for one that answers the entry, 1 for an answer to such a one, and so on.
        answers: the comment that it answers; ``None`` if it answers the entry, or one that the archive lacks.
    """

    comment: Comment
    level: int
    answers: Comment | None


def in_order(comments: Sequence[Comment]) -> list[Comment]:
    """Return comments in the order of their ids, or of their times if their service states more than a flag.

    Ids of other services need not grow with time, and their dates have a time.
    """
    by_id = sorted(comments, key=lambda each: sort_key(each.id))
    if not any(map(is_marked, comments)):
        return by_id
    return sorted(by_id, key=lambda each: float("inf") if each.date is None else each.date.timestamp())


def stated_answers(comments: Sequence[Comment]) -> list[int | None]:
    """Return for each comment the place of the one that it answers, or ``None``.

    The places never form a circle: the first comment of a circle answers nothing.
    """
    places = {comment.id: at for at, comment in enumerate(comments) if comment.id}
    found = [places.get(comment.parent) if comment.parent else None for comment in comments]
    ended: set[int] = set()
    for start in range(len(found)):
        way: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in ended:
            if at in way:
                circle = list(way)[list(way).index(at) :]
                found[min(circle)] = None
                break
            way[at] = None
            at = found[at]
        ended.update(way)
    return found


def threads(comments: Sequence[Comment]) -> Iterator[ThreadedComment]:
    """Yield comments, each with the answers to it after it. Thousands of levels are read without recursion."""
    ordered = in_order(comments)
    answers = stated_answers(ordered)
    below: defaultdict[int | None, list[int]] = defaultdict(list)
    for at, answered in enumerate(answers):
        below[answered].append(at)
    waiting = [(at, 0) for at in reversed(below[None])]
    while waiting:
        at, level = waiting.pop()
        answered = answers[at]
        yield ThreadedComment(ordered[at], level, None if answered is None else ordered[answered])
        waiting += ((each, level + 1) for each in reversed(below[at]))
