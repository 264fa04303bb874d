"""The order of an entry's comments in which each one comes after the comment that it answers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from exporter.export.posts import PostComment


class NoParent(Enum):
    """Why a comment that answers another one answers the entry instead."""

    MISSING = auto()
    """The other comment is not among those of the entry."""
    LOOP = auto()
    """The other comment answers this one, directly or through others."""


class Threaded(NamedTuple):
    """A comment in its thread.

    Attributes:
        comment: the comment.
        parent: the id of the comment that it answers; empty if it answers the entry.
        lost: why it answers the entry although its service states another comment; ``None`` if it does not.
    """

    comment: PostComment
    parent: str
    lost: NoParent | None


def threaded(comments: Sequence[PostComment]) -> Iterator[Threaded]:
    """Yield an entry's comments, each after the one that it answers, otherwise in their order.

    Of the comments that answer each other in a loop, the first one answers the entry.
    """
    parents = {each.comment.id: each.comment.parent for each in comments}
    first = _firsts_of_loops(parents)
    made: dict[str, Threaded] = {}
    for found in comments:
        own, parent = found.comment.id, found.comment.parent
        lost = NoParent.LOOP if own in first else NoParent.MISSING if parent and parent not in parents else None
        made[own] = Threaded(found, "" if lost is not None else parent, lost)
    done: set[str] = set()
    for each in made.values():
        waiting: list[Threaded] = []
        above: Threaded | None = each
        while above is not None and above.comment.comment.id not in done:
            waiting.append(above)
            done.add(above.comment.comment.id)
            above = made.get(above.parent)
        yield from reversed(waiting)


def _firsts_of_loops(parents: dict[str, str]) -> set[str]:
    """Return the first comment of each loop, in the order of the comments."""
    order = {own: at for at, own in enumerate(parents)}
    seen: dict[str, str] = {}
    found: set[str] = set()
    for start in parents:
        own = start
        while own in parents and own not in seen:
            seen[own] = start
            own = parents[own]
        if own in parents and seen[own] == start:
            loop = [own]
            while (own := parents[own]) != loop[0]:
                loop.append(own)
            found.add(min(loop, key=order.__getitem__))
    return found
