"""A crawler's side of the permits: throttles whose limits are its shares of budgets that others own."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from exporter.clock import Clock, SystemClock
from exporter.errors import PermitEnded, UsageError
from exporter.http.throttle import SPACING, AdaptiveLimit, RateWindow, Throttle, Throttles, Turn
from exporter.http.transport import HttpRequest
from exporter.message import message
from exporter.permits import wire
from exporter.permits.budget import Portion
from exporter.permits.meeting_place import MeetingPlace

_BEAT: Final = 0.1  # seconds between two reports
_HASTE: Final = 0.01  # the same where somebody waits and nothing is held
_IDLE: Final = 5.0  # seconds after which a host that nobody asks is given back
_MOST_HEARD: Final = 200
_NOTHING: Final = Portion(0, 0)
_FADING: Final = 0.9
_PARTING: Final = 3.0
_LONGEST_PAUSE: Final = 604_800.0  # seconds of which an owner is told


class _ToldCeiling(AdaptiveLimit):
    """A ceiling that somebody else finds: it passes on what was heard."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = 0.0
        self.heard: list[tuple[int, float, float, bool]] = []

    def restrict(self, concurrency: float) -> None:
        """Leave the limit to the owner."""

    def answered(self, turn: Turn, latency: float, *, held_back: bool) -> None:  # noqa: ARG002
        """Pass an answer on."""
        if len(self.heard) < _MOST_HEARD:
            self.heard.append((turn.cuts, turn.started, max(0.0, latency), False))

    def refused(self, turn: Turn) -> None:
        """Pass a refusal on."""
        self.heard.append((turn.cuts, turn.started, 0.0, True))


class LeasedThrottle(Throttle):
    """Lets through as many requests as a crawler's share of a host's budget has slots and places for."""

    def __init__(self, clock: Clock, gate: RemoteGate) -> None:
        super().__init__(1, None, clock)
        self.watches = True
        self._gate = gate
        self._ceiling: _ToldCeiling = _ToldCeiling()
        self._share = self._aim = _NOTHING
        self._wanted = (0.0, 0.0)
        self._wished_until = float("-inf")
        self._known = 0
        self._used_at = clock.monotonic()

    def pause_until(self, moment: float) -> None:
        """Let no request of any crawler start before ``moment``, as the host wished."""
        super().pause_until(moment)
        if moment > self._wished_until:
            self._wished_until, self._known = moment, 0

    async def enter(self, longest_pause: float = float("inf")) -> Turn:
        """Wait for the turn of a request.

        Raises:
            LongPause: the host wished a pause that is longer than this for a while yet.
        """
        self._used_at = self._clock.monotonic()
        if not self._ceiling.limit:
            self._gate.hurry()
        return await super().enter(longest_pause)

    def prepare(self, request: HttpRequest, turn: Turn) -> None:
        """Have a request look at the lease once more, and say when its answer begins."""
        super().prepare(request, turn)
        request.before_sending = self.before_sending

    def before_sending(self) -> None:
        """Look whether the lease lasts.

        From here to the write is a call of a few microseconds. A process that is stopped in between, and for longer
        than its share is withheld, sends one request too many when it goes on: a process can do no better.

        Raises:
            PermitEnded: it does not.
        """
        if not self._gate.lasts():
            raise PermitEnded(message("not sent: nobody has renewed the right to send it"))

    def lapse(self) -> None:
        """Start nothing more; what has started goes on."""
        self._share = self._aim = _NOTHING
        self._limit()

    def report(self, epoch: int, *, lasts: bool, idle: bool) -> dict[str, Any] | None:
        """Give back what is not to be held, and return what is.

        Args:
            epoch: the owner's.
            lasts: whether the lease does.
            idle: whether nobody will want any.

        Returns:
            The report for the owner; ``None`` where nothing is held and nothing is wanted, and nothing to be told.
        """
        now = self._clock.monotonic()
        used = Portion(self._active, self._counted)
        if used == _NOTHING and not self._waiting and (idle or now - self._used_at > _IDLE):
            self.lapse()
            if now >= self._wished_until or self._known == epoch:
                return None
        aimed = (min(mine, aim) for mine, aim in zip(self._share, self._aim, strict=True))
        self._share = Portion(*(max(each, most) for each, most in zip(used, aimed, strict=True)))
        self._limit()
        asking = self._active + len(self._waiting)
        # How many more would be sent if they might is not known while they may not.
        wants = asking, (asking + used.places) * (2 if self._waiting or self._next.locked() else 1)
        self._wanted = (max(wants[0], _FADING * self._wanted[0]), max(wants[1], _FADING * self._wanted[1]))
        heard, self._ceiling.heard = self._ceiling.heard[-_MOST_HEARD:], []
        return {
            "held": self._share,
            "wanted": tuple(map(int, self._wanted)),
            "under_way": self._active,
            "lasts": lasts,
            "pause": min(_LONGEST_PAUSE, max(0.0, self._wished_until - now)),
            "heard": [(cuts, now - started, latency, refused) for cuts, started, latency, refused in heard],
        }

    def told(self, epoch: int, answer: object) -> None:
        """Hold what the owner of an epoch says, which is no less than was reported.

        Raises:
            ValueError: it says nothing that makes sense.
        """
        if not isinstance(answer, dict):
            raise ValueError  # noqa: TRY004 - as for all else that comes over the network
        rate = answer.get("rate")
        if rate is not None and self._window is None:
            self._window = RateWindow(wire.number(rate), self._clock)
        self._share, self._aim = wire.share(answer.get("share")), wire.share(answer.get("aim"))
        self._ceiling.cuts = wire.count(answer.get("cuts"))
        if pause := wire.number(answer.get("pause")):
            now = self._clock.monotonic()
            super().pause_until(now + pause)
            if pause >= min(_LONGEST_PAUSE - _BEAT, self._wished_until - now):
                self._known = epoch
        self._limit()

    @property
    def _counted(self) -> int:
        return 0 if self._window is None else self._window.counted

    def _limit(self) -> None:
        slots, places = (min(mine, aim) for mine, aim in zip(self._share, self._aim, strict=True))
        self._ceiling.limit = float(slots)
        if self._window is not None:
            self._window.places = places
            # Not longer than a beat, as the next one may bring more.
            self._window.interval = min(_BEAT, SPACING * self._window.seconds / max(1, places))
            self._window.changed()
        self._admit()


class RemoteGate(Throttles):
    """The throttles of a crawler that shares its hosts' budgets with others; see :func:`connect`.

    Ten times a second it reports to the owner what it holds and wants, and the owner answers what it may hold. Each
    answer is a lease that counts from the moment of the question: so it ends here before it ends for the owner. What
    was not renewed by then is not used: nothing is sent until there is an owner again.
    """

    def __init__(self, place: MeetingPlace, clock: Clock) -> None:
        super().__init__(clock, 1)
        self._place = place
        self._name = secrets.token_hex(16)
        self._leased: dict[str, LeasedThrottle] = {}
        self._until = float("-inf")
        self._epoch = 0
        self._sequence = 0
        self._hurry = asyncio.Event()
        self._leaving = False
        self._left = asyncio.Event()

    def of(self, origin: str) -> Throttle:
        """Return the throttle of a host."""
        origin = origin[: wire.LONGEST_NAME]
        if origin not in self._leased:
            self._leased[origin] = LeasedThrottle(self._clock, self)
        return self._leased[origin]

    def restrict(self, origin: str, concurrency: int, rate: float | None) -> None:
        """Leave the limits to the owner, which has those of all crawlers."""

    def hurry(self) -> None:
        """Ask the owner soon, as somebody waits."""
        self._hurry.set()

    def lasts(self) -> bool:
        """Tell whether the lease lasts."""
        lasts = wire.seconds() < self._until
        if not lasts:
            self._lapse()
        return lasts

    def _lapse(self) -> None:
        for each in self._leased.values():
            each.lapse()

    async def give_back(self) -> None:
        """Give everything back, if need be after it has ceased to count; nothing more is sent."""
        self._leaving = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._left.wait(), _PARTING)

    async def keep(self) -> None:
        """Speak with whoever is the owner."""
        while True:
            with contextlib.suppress(OSError, ValueError, TimeoutError, UsageError):
                await self._converse()
            await asyncio.sleep(_BEAT)

    async def _converse(self) -> None:
        owner = self._place.owner()
        if owner is None or not owner.host or owner.epoch < self._epoch:
            return
        lease = 1.0
        async with asyncio.timeout(lease):
            reader, writer = await asyncio.open_connection(owner.host, owner.port, limit=wire.LONGEST_LINE)
        try:
            async with asyncio.timeout(lease):
                await self._greet(reader, writer)
            while True:
                lease = await self._ask(reader, writer, lease)
                self._hurry.clear()
                await asyncio.sleep(_HASTE)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), _BEAT - _HASTE)
        finally:
            writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        challenge = secrets.token_hex(16)
        proof = self._place.proof("crawler", str((await wire.read(reader)).get("challenge")), self._name)
        writer.write(wire.line({"name": self._name, "challenge": challenge, "proof": proof}))
        said = await wire.read(reader)
        expected = self._place.proof("owner", challenge, self._name)
        if not secrets.compare_digest(str(said.get("proof")).encode(), expected.encode()):
            raise ValueError
        epoch = wire.count(said.get("epoch"))
        if epoch < self._epoch:
            raise ValueError
        self._epoch = epoch

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: float) -> float:
        """Report, hear, and return the seconds of the lease."""
        self._sequence += 1
        lasts = self.lasts()
        if self._leaving:
            self._lapse()
        asked = wire.seconds()
        leased = self._leased.items()
        reports = {origin: each.report(self._epoch, lasts=lasts, idle=self._leaving) for origin, each in leased}
        telling = [(origin, each) for origin, each in reports.items() if each is not None]
        # A report has room for so many hosts: those with a share come first, then pauses that are told of once.
        telling.sort(key=lambda told: (told[1]["held"] == _NOTHING, not told[1]["pause"]))
        hosts = dict(telling[: wire.MOST_HOSTS])
        writer.write(wire.line({"sequence": self._sequence, "hosts": hosts}))
        async with asyncio.timeout(patience):
            answer = await wire.read(reader)
        told = answer.get("hosts")
        if answer.get("sequence") != self._sequence or answer.get("epoch") != self._epoch or not isinstance(told, dict):
            raise ValueError
        lease = wire.number(answer.get("lease"))
        self._until = asked + lease
        for origin in hosts:
            self._leased[origin].told(self._epoch, told.get(origin))
        if self._leaving and not hosts:
            self._left.set()
        return lease


@asynccontextmanager
async def connect(folder: Path, clock: Clock | None = None) -> AsyncIterator[RemoteGate]:
    """Yield what an engine takes as its throttles, so that it sends what the budgets of a fleet have room for.

    Args:
        folder: where the owner is found; the one that :func:`~exporter.permits.owner.start_owner` was given.
        clock: measures the pace, and waits.

    Raises:
        UsageError: there is nothing to meet an owner by.
    """
    place = MeetingPlace(folder)
    place.terms()
    gate = RemoteGate(place, clock or SystemClock())
    keeping = asyncio.create_task(gate.keep())
    try:
        yield gate
    finally:
        await gate.give_back()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
