"""The events of a move and its result. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from exporter.message import message, stored_as


class Thing(StrEnum):
    """The kinds of records that are moved, in this order."""

    CATEGORY = message("categories")
    TAG = message("tags")
    PICTURE = message("pictures")
    POST = message("posts")
    COMMENT = message("comments")

    @property
    def noun(self) -> str:
        """The word for one of them."""
        return "category" if self is Thing.CATEGORY else self.removesuffix("s")


class Did(StrEnum):
    """The outcome for a record in a move."""

    MADE = "made"
    CHANGED = "changed"
    """An earlier run moved it, and this one updated it."""
    THERE = "there"
    """The new home already had it, up to date."""
    LEFT = "left_alone"
    """A person changed or deleted it in the new home or in the old blog."""
    REFUSED = "refused"
    """The new home does not take it."""


class LeftAlone:
    """Why a record of the new home is left unchanged: messages."""

    CHANGED: Final = message("changed there since it was moved")
    DELETED: Final = message("deleted there since it was moved")
    TRASHED: Final = message("put into the trash there")
    ONLY_THERE: Final = message("public there, but hidden or removed in the archive")
    SHOWN: Final = message("public there, but private in the archive")
    WOULD_BE_PUBLIC: Final = message("not made, as WordPress shows every category to everybody")
    TAG_WOULD_BE_PUBLIC: Final = message("not made, as WordPress shows every tag to everybody")


class Stage(StrEnum):
    """The stages of a move, in this order."""

    HOME = message("reading the new home")
    CATEGORIES = message("categories")
    TAGS = message("tags")
    PICTURES = message("pictures")
    ADDRESSES = message("addresses of posts")
    POSTS = message("posts and comments")
    LAST_LOOK = message("looking again")


class Exposure(NamedTuple):
    """A private record that everybody can see.

    Attributes:
        thing: its kind.
        key: its number in the new home.
        place: the list or page that shows it.
    """

    thing: Thing
    key: str
    place: str


class MoveStage(NamedTuple):
    """A stage begins; ``total`` is the number of its records, 0 if unknown."""

    stage: Stage
    total: int = 0


class MoveStep(NamedTuple):
    """One record was handled."""

    thing: Thing
    key: str
    did: Did
    why: str = ""


class Reserved(NamedTuple):
    """An entry has a post in the new home. A fresh one is private and has no text yet."""

    key: str
    fresh: bool


MoveEvent = MoveStage | MoveStep | Reserved


@dataclass(slots=True)
class MoveOutcome:
    """The result of a move.

    Attributes:
        counts: the number of records by kind and result.
        named: the records that differ from the archive, by kind, result and reason.
        missing: the records that the last look did not find in the new home, by kind.
        public: whether all posts are public. Otherwise reports name no text that the writer chose, such as a category.
        twice: the numbers of duplicates, by key.
        exposed: the private records that visitors without a login can see.
        unseen: why visitors could not open the new home for that search; empty if they could.
        links: the number of links from public posts to other hosts, by host. WordPress would notify each.
    """

    counts: dict[Thing, Counter[Did]] = field(default_factory=lambda: {thing: Counter() for thing in Thing})
    named: defaultdict[tuple[Thing, Did, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    missing: defaultdict[Thing, list[str]] = field(default_factory=lambda: defaultdict(list))
    twice: dict[str, list[int]] = field(default_factory=dict)
    public: bool = True
    exposed: list[Exposure] = field(default_factory=list)
    unseen: str = ""
    links: Counter[str] = field(default_factory=Counter)

    def note(self, step: MoveStep) -> None:
        """Count a step."""
        self.counts[step.thing][step.did] += 1
        if step.why:
            self.named[step.thing, step.did, step.why].append(step.key)

    def miss(self, thing: Thing, key: str) -> None:
        """Note a missing record, unless its reason is known already."""
        if not any(key in keys for (of, _, _), keys in self.named.items() if of is thing):
            self.missing[thing].append(key)

    def public_keys(self, thing: Thing, keys: list[str]) -> list[str]:
        """Return the keys that may be shown. Those of posts and comments are ids of the service and always may."""
        return keys if self.public or thing in {Thing.POST, Thing.COMMENT} else []

    @property
    def whole(self) -> bool:
        """Whether every record is in the new home, or a person decided otherwise."""
        refused = any(counts[Did.REFUSED] for counts in self.counts.values())
        return not (refused or self.twice or self.exposed or self.unseen or any(self.missing.values()))

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {
            "things": {thing: {did: counts[did] for did in Did} for thing, counts in self.counts.items()},
            "named": [
                {
                    "kind": thing,
                    "fate": did,
                    **stored_as("reason", why),
                    "count": len(keys),
                    "ids": self.public_keys(thing, keys),
                }
                for (thing, did, why), keys in self.named.items()
            ],
            "missing": {thing: self.public_keys(thing, self.missing.get(thing, [])) for thing in Thing},
            "twice": [{"key": key, "ids": ids} for key, ids in self.twice.items()],
            "unseen": None if not self.unseen else str(self.unseen),
            "exposed": [{"kind": each.thing, "id": each.key, "place": each.place} for each in self.exposed],
            "links_not_notified": {"links": self.links.total(), "hosts": len(self.links)},
        }
