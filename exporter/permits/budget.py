"""Who may use how much of a host's budget: slots for requests under way, places for requests in a second. Pure.

A crawler's share is some slots and some places, and it keeps to them by itself, as :mod:`exporter.http.throttle` has
it: so the sum holds in every second without a word about any single request, whatever clocks and delays do. What is in
no share is free; what may be in one is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final, NamedTuple

from exporter.http.throttle import AdaptiveLimit, Turn

MARGIN: Final = 1.0
"""Seconds more than need be that something is withheld; clocks of machines differ by less over a request's time."""
_TURN: Final = 10.0  # seconds for which those have a slot or place who are more than there are of these


class HostLimits(NamedTuple):
    """What all crawlers together may ask of a host: requests at a time, and requests per second."""

    concurrency: int = 6
    rate: float | None = None

    @property
    def whole(self) -> Portion:
        """All slots and places; no places where there is no rate."""
        return Portion(self.concurrency, ceil(self.rate or 0.0))

    @property
    def seconds(self) -> float:
        """How long a place counts after an answer, at least."""
        return ceil(self.rate) / self.rate if self.rate else 0.0


class Portion(NamedTuple):
    """A part of a host's budget."""

    slots: int
    places: int


class Heard(NamedTuple):
    """How a request ended: seconds of the owner's clock at its start, of its answer, and whether it was refused.

    ``cuts`` is how often the ceiling had been lowered, as far as its crawler knew when it started.
    """

    cuts: int
    started: float
    latency: float
    refused: bool


@dataclass(slots=True)
class _Holder:
    held: Portion
    wanted: Portion
    under_way: int
    until: float


class Budget:
    """The budget of one host. All times are seconds of the owner's clock.

    What a crawler holds is what it said last, and what it was given since. Where it is silent for longer than a lease,
    it may start nothing more; but what it had started may be under way for the longest time that a request takes, and
    only then is its share free.

    Where another owner was there before, everything counts as held by somebody, until a crawler with a lease that lasts
    says how much of that is its own, or until no lease and no request of that time can last any more.

    Args:
        limits: of all crawlers together.
        lease: seconds for which a share is given.
        longest: seconds that a request may take in all.
        settled: when nothing can be left of the time of another owner.

    Attributes:
        ceiling: what the host bears, learned from all crawlers.
        paused_until: when requests may start again, as the host wished.
    """

    def __init__(self, limits: HostLimits, lease: float, longest: float, settled: float) -> None:
        self.limits = limits
        self.ceiling = AdaptiveLimit()
        self.ceiling.restrict(limits.concurrency)
        self.paused_until = float("-inf")
        self._lease = lease
        self._withheld = lease + longest + limits.seconds + MARGIN
        self._settled = settled
        self._unknown = limits.whole
        self._holders: dict[str, _Holder] = {}

    def holders(self, now: float) -> int:
        """Return how many crawlers hold something, or may."""
        for name in [name for name, each in self._holders.items() if each.until - self._lease + self._withheld <= now]:
            del self._holders[name]
        return len(self._holders)

    def report(self, name: str, held: Portion, wanted: Portion, under_way: int, now: float, *, lasts: bool) -> Portion:
        """Note what a crawler holds, and return what it holds from now on: as much, or more.

        Args:
            name: the crawler's.
            held: all that it may use without asking, or has used so that it still counts.
            wanted: what it would use if it could.
            under_way: its requests.
            now: the time.
            lasts: whether its lease lasts still.
        """
        if name not in self._holders and lasts and now < self._settled:
            self._unknown = Portion(*(max(0, all_ - mine) for all_, mine in zip(self._unknown, held, strict=True)))
            # As much was borne when the owner before was there.
            known = sum(each.held.slots for each in self._holders.values()) + held.slots
            self.ceiling.limit = min(self.ceiling.concurrency, max(self.ceiling.limit, float(known)))
        holder = self._holders[name] = _Holder(held, wanted, under_way, now + self._lease)
        self.holders(now)
        aim, free = self.aim(name, now), self._free(now)
        more = (max(0, min(each - mine, rest)) for each, mine, rest in zip(aim, held, free, strict=True))
        holder.held = Portion(*(mine + some for mine, some in zip(held, more, strict=True)))
        return holder.held

    def holds(self, name: str) -> bool:
        """Tell whether a crawler holds something, or may."""
        return name in self._holders

    def gone(self, name: str) -> None:
        """Note that a crawler holds nothing any more, as it says itself."""
        self._holders.pop(name, None)

    def aim(self, name: str, now: float) -> Portion:
        """Return what a crawler should hold, as others want some too."""
        living = {each: holder for each, holder in self._holders.items() if holder.until >= now}
        free = self._free(now)
        slots = free.slots + sum(each.held.slots for each in living.values())
        places = free.places + sum(each.held.places for each in living.values())
        turn = int(now / _TURN)
        slots_of = fair(slots, {each: holder.wanted.slots for each, holder in living.items()}, turn)
        # A place is of no use without a slot; but who waits for a place in one cannot give it back before.
        users = {each: holder for each, holder in living.items() if slots_of[each] or holder.under_way}
        wanted = {each: holder.wanted.places for each, holder in users.items()}
        return Portion(slots_of[name], fair(places, wanted, turn).get(name, 0))

    def heard(self, heard: Heard) -> None:
        """Learn from how a crawler's request ended."""
        under_way = sum(each.under_way for each in self._holders.values())
        turn = Turn(0, heard.started, under_way, heard.cuts)
        if heard.refused:
            self.ceiling.refused(turn)
        else:
            self.ceiling.answered(turn, heard.latency, held_back=False)

    def _free(self, now: float) -> Portion:
        unknown = self._unknown if now < self._settled else Portion(0, 0)
        held = [each.held for each in self._holders.values()]
        return Portion(
            int(self.ceiling.limit) - unknown.slots - sum(each.slots for each in held),
            self.limits.whole.places - unknown.places - sum(each.places for each in held),
        )


def fair(total: int, wanted: Mapping[str, int], turn: int) -> dict[str, int]:
    """Return how a number is shared: nobody has more than another who wants more; what nobody wants is spread.

    Where there are more who want some than there is, they take turns.
    """
    total = max(0, total)
    names = sorted(wanted)
    wanting = [name for name in names if wanted[name]]
    found = dict.fromkeys(names, 0)
    if total < len(wanting):
        first = turn * total % len(wanting)
        return found | dict.fromkeys((wanting + wanting)[first : first + total], 1)
    by_want = sorted(names, key=lambda name: wanted[name])
    for place, name in enumerate(by_want):
        found[name] = min(wanted[name], total // (len(names) - place))
        total -= found[name]
    for name in names:
        found[name] += total // len(names)
    return found
