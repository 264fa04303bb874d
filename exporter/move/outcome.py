"""What a move does, as it happens and in the end. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from exporter.message import Message, message


class Thing(StrEnum):
    """What is moved, in this order."""

    CATEGORY = "categories"
    PICTURE = "pictures"
    POST = "posts"
    COMMENT = "comments"

    @property
    def noun(self) -> str:
        """One of them, in words."""
        return "category" if self is Thing.CATEGORY else self.removesuffix("s")

    @property
    def words(self) -> Message:
        """All of them, in words."""
        return _THINGS[self]


class Did(StrEnum):
    """What became of one of them."""

    MADE = "made"
    CHANGED = "changed"
    """It was moved before, and brought up to what the archive has now."""
    THERE = "there"
    """It was there already, as it is to be."""
    LEFT = "left_alone"
    """A person changed or deleted it, there or in the old blog."""
    REFUSED = "refused"
    """The new home does not take it."""


class LeftAlone(StrEnum):
    """Why something is left as it is in the new home."""

    CHANGED = "changed there since it was moved"
    DELETED = "deleted there since it was moved"
    TRASHED = "put into the trash there"
    ONLY_THERE = "public there, but hidden or removed in the archive"
    WOULD_BE_PUBLIC = "not made, as WordPress shows every category to everybody"

    @property
    def words(self) -> Message:
        """It in words."""
        return _LEFT_ALONE[self]


class Stage(StrEnum):
    """What a move does, in this order."""

    HOME = "reading the new home"
    CATEGORIES = "categories"
    PICTURES = "pictures"
    ADDRESSES = "addresses of posts"
    POSTS = "posts and comments"
    LAST_LOOK = "looking again"

    @property
    def words(self) -> Message:
        """It in words."""
        return _STAGES[self]


_THINGS: Final = {
    Thing.CATEGORY: message("categories"),
    Thing.PICTURE: message("pictures"),
    Thing.POST: message("posts"),
    Thing.COMMENT: message("comments"),
}
_LEFT_ALONE: Final = {
    LeftAlone.CHANGED: message("changed there since it was moved"),
    LeftAlone.DELETED: message("deleted there since it was moved"),
    LeftAlone.TRASHED: message("put into the trash there"),
    LeftAlone.ONLY_THERE: message("public there, but hidden or removed in the archive"),
    LeftAlone.WOULD_BE_PUBLIC: message("not made, as WordPress shows every category to everybody"),
}
_STAGES: Final = {
    Stage.HOME: message("reading the new home"),
    Stage.CATEGORIES: message("categories"),
    Stage.PICTURES: message("pictures"),
    Stage.ADDRESSES: message("addresses of posts"),
    Stage.POSTS: message("posts and comments"),
    Stage.LAST_LOOK: message("looking again"),
}


class Exposure(NamedTuple):
    """Something private that everybody can see.

    Attributes:
        thing: what it is.
        key: its number in the new home.
        place: the list or page that shows it.
    """

    thing: Thing
    key: str
    place: str


class MoveStage(NamedTuple):
    """So many things come next; 0 where their number is not known."""

    stage: Stage
    total: int = 0


class MoveStep(NamedTuple):
    """One thing was dealt with."""

    thing: Thing
    key: str
    did: Did
    why: str = ""


class Reserved(NamedTuple):
    """An entry has a post in the new home; one that was made just now is private, and without its text."""

    key: str
    fresh: bool


MoveEvent = MoveStage | MoveStep | Reserved


@dataclass(slots=True)
class MoveOutcome:
    """The account of a move.

    Attributes:
        counts: how many of each thing had each fate.
        named: those that are not as the archive has them, by thing, fate and reason.
        missing: what a last look at the new home did not find, by thing.
        public: whether all of it is public; else nothing that its writer chose, such as a category, is told.
        twice: the numbers of what is there a second time, by key.
        exposed: what visitors without a login find of posts that are not public.
        links: how many links of public posts lead to other hosts, by host; WordPress would notify each.
    """

    counts: dict[Thing, Counter[Did]] = field(default_factory=lambda: {thing: Counter() for thing in Thing})
    named: defaultdict[tuple[Thing, Did, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    missing: defaultdict[Thing, list[str]] = field(default_factory=lambda: defaultdict(list))
    twice: dict[str, list[int]] = field(default_factory=dict)
    public: bool = True
    exposed: list[Exposure] = field(default_factory=list)
    links: Counter[str] = field(default_factory=Counter)

    def note(self, step: MoveStep) -> None:
        """Enter a step."""
        self.counts[step.thing][step.did] += 1
        if step.why:
            self.named[step.thing, step.did, step.why].append(step.key)

    def miss(self, thing: Thing, key: str) -> None:
        """Enter what should be there in the end and is not, unless it is known why."""
        if not any(key in keys for (of, _, _), keys in self.named.items() if of is thing):
            self.missing[thing].append(key)

    def told(self, thing: Thing, keys: list[str]) -> list[str]:
        """Return which of some things may be told: those of ids of the service always."""
        return keys if self.public or thing in {Thing.POST, Thing.COMMENT} else []

    @property
    def whole(self) -> bool:
        """Whether all that was to go is there, or was left to a person's will."""
        refused = any(counts[Did.REFUSED] for counts in self.counts.values())
        return not (refused or self.twice or self.exposed or any(self.missing.values()))

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {
            "things": {thing: {did: counts[did] for did in Did} for thing, counts in self.counts.items()},
            "named": [
                {"kind": thing, "fate": did, "reason": why, "count": len(keys), "ids": self.told(thing, keys)}
                for (thing, did, why), keys in self.named.items()
            ],
            "missing": {thing: self.told(thing, self.missing.get(thing, [])) for thing in Thing},
            "twice": [{"key": key, "ids": ids} for key, ids in self.twice.items()],
            "exposed": [{"kind": each.thing, "id": each.key, "place": each.place} for each in self.exposed],
            "links_not_notified": {"links": self.links.total(), "hosts": len(self.links)},
        }
