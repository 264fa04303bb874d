"""The threads of an entry's comments, in which each answer follows the comment that it answers. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from exporter.export.posts import PostComment

MAX_DEPTH: Final = 10
"""Deeper answers are shown at this depth, so that no page nests without end."""


class Threaded(NamedTuple):
    """A comment in its thread.

    Attributes:
        found: the comment.
        parent: the comment that it answers; ``None`` if it answers the entry, or a comment that is not exported.
        depth: 0 for a comment on the entry, 1 for an answer to it, and so on to :data:`MAX_DEPTH`.
    """

    found: PostComment
    parent: PostComment | None
    depth: int


def threads(comments: Sequence[PostComment]) -> list[Threaded]:
    """Return all comments in the order of reading: each one, then its answers.

    Comments that answer each other in a circle have no first one; the first in the given order then answers the entry.
    """
    by_id = {found.comment.id: found for found in comments}
    answers: defaultdict[str, list[PostComment]] = defaultdict(list)
    first = []
    for found in comments:
        parent = found.comment.parent
        if parent in by_id and parent != found.comment.id:
            answers[parent].append(found)
        else:
            first.append(found)
    if not answers:
        return [Threaded(found, None, 0) for found in comments]
    shown: dict[str, Threaded] = {}
    for found in [*first, *comments]:
        if found.comment.id not in shown:
            for each in _thread(found, answers, shown):
                shown[each.found.comment.id] = each
    return list(shown.values())


def _thread(
    first: PostComment, answers: dict[str, list[PostComment]], shown: dict[str, Threaded]
) -> Iterator[Threaded]:
    """Yield a comment and its answers, without those in ``shown``, which the caller extends."""
    waiting = [Threaded(first, None, 0)]
    while waiting:
        each = waiting.pop()
        if each.found.comment.id in shown:
            continue
        yield each
        depth = min(each.depth + 1, MAX_DEPTH)
        waiting += [Threaded(found, each.found, depth) for found in reversed(answers.get(each.found.comment.id, ()))]
