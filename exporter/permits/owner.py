"""The owner of all budgets: one process, and others that wait to take its place.

``python -m exporter.permits.owner FOLDER [ADDRESS]`` runs one, until its standard input ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from exporter.clock import SystemClock
from exporter.errors import ArchiveLocked, BlogExporterError
from exporter.message import said
from exporter.permits import wire
from exporter.permits.budget import MARGIN, Budget, Heard
from exporter.permits.meeting_place import MeetingPlace, Owner, Terms

_POLL: Final = 0.1
_LOOK: Final = 0.5  # seconds after which an owner looks whether it is one still
_GREETING: Final = 5.0
_SOON: Final = 1.0  # seconds before which none is started again
_SILENCE: Final = 60.0
_PARTING: Final = 2.5  # seconds for which an owner that is to end still hears what crawlers give back
_MOST_CRAWLERS: Final = 1000
_MOST_PAUSED: Final = 10_000
_ANYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with


class PermitOwner:
    """Gives crawlers their shares of the hosts' budgets.

    There is one at a time, by a lock of the operating system. Each has an epoch, one more than that of the owner
    before; it looks at it twice a second and right before it gives anything, and ends where there is a newer one, as
    might be where a network's file system gave the lock to two.

    Args:
        place: where the lock and the terms are.
        listen: the address to listen at.
    """

    def __init__(self, place: MeetingPlace, listen: str = "127.0.0.1") -> None:
        self._place = place
        self._listen = listen
        self._lock = place.lock()
        self._terms = Terms({})
        self._epoch = 0
        self._settled = float("-inf")
        self._looked = float("-inf")
        self._budgets: dict[str, Budget] = {}
        self._origins: defaultdict[str, set[str]] = defaultdict(set)
        self._newest: dict[str, int] = {}
        self._open: set[asyncio.StreamWriter] = set()
        self._over = asyncio.Event()
        self._server: asyncio.Server | None = None

    def stop(self) -> None:
        """End soon."""
        self._over.set()

    async def part(self) -> None:
        """End once every crawler has given back what it held, or soon: they may end at the same time as this."""
        if self._server is not None:
            self._server.close()
        deadline = wire.seconds() + _PARTING
        while self._open and wire.seconds() < deadline:  # noqa: ASYNC110 - connections tell nobody of their end
            await asyncio.sleep(_POLL / 10)
        self.stop()

    async def run(self) -> None:
        """Wait to become the owner, and be it until stopped, or until there is another."""
        while not self._locked():
            if await self._ends_within(_POLL):
                return
        server = await asyncio.start_server(self._serve, self._listen, 0, limit=wire.LONGEST_LINE)
        self._server = server
        try:
            self._take_over(server.sockets[0].getsockname()[1])
            while not await self._ends_within(_LOOK):
                self._sweep()
        finally:
            server.close()
            for each in self._open:
                each.close()
            self._resign()
            self._lock.release()

    def _locked(self) -> bool:
        try:
            self._lock.acquire(SystemClock().now())
        except ArchiveLocked:
            return False
        return True

    async def _ends_within(self, patience: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), patience)
        return self._over.is_set()

    def _take_over(self, port: int) -> None:
        self._terms = self._place.terms()
        before = self._place.owner()
        self._epoch = before.epoch + 1 if before is not None else 1
        host = socket.getfqdn() if self._listen in _ANYWHERE else self._listen
        self._looked = now = wire.seconds()
        if before is not None and before.host:
            # As long as the one before may think that it is one, and then as long as anything it gave can matter.
            self._settled = now + _LOOK + self._terms.lease + self._terms.longest + MARGIN
        self._place.publish(Owner(self._epoch, host, port))

    def _resign(self) -> None:
        """Tell the next owner that it need not wait, where nobody holds anything."""
        now = wire.seconds()
        if now >= self._settled and not any(each.holders(now) for each in self._budgets.values()) and self._is_owner():
            self._place.publish(Owner(self._epoch, "", 0))

    def _is_owner(self) -> bool:
        if wire.seconds() - self._looked >= _LOOK:
            found = self._place.owner()
            if found is None or found.epoch != self._epoch:
                self._over.set()
                return False
            self._looked = wire.seconds()
        return True

    def _sweep(self) -> None:
        """Forget what nobody holds any more, but no pause, unless there are very many."""
        now = wire.seconds()
        if not self._is_owner():
            return
        if now >= self._settled:
            unheld = [origin for origin, each in self._budgets.items() if not each.holders(now)]
            kept = [origin for origin in unheld if now < self._budgets[origin].paused_until]
            kept.sort(key=lambda origin: self._budgets[origin].paused_until)
            for origin in set(unheld) - set(kept[-_MOST_PAUSED:]) - self._terms.hosts.keys():
                del self._budgets[origin]
        for name, origins in list(self._origins.items()):
            if not any(each.holds(name) for each in map(self._budgets.get, origins) if each is not None):
                del self._origins[name], self._newest[name]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a crawler, or whoever else connects; who says what makes no sense is not answered."""
        self._open.add(writer)
        try:
            if len(self._open) > _MOST_CRAWLERS:
                return
            async with asyncio.timeout(_GREETING):
                name = await self._greeted(reader, writer)
            while True:
                async with asyncio.timeout(_SILENCE):
                    report = await wire.read(reader)
                writer.write(wire.line(self._answer(name, report)))
                await writer.drain()
        except (OSError, ValueError, TimeoutError, BlogExporterError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _greeted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Return a crawler's name once both sides have shown that they know the secret."""
        challenge = secrets.token_hex(16)
        writer.write(wire.line({"challenge": challenge}))
        said = await wire.read(reader)
        name, mine, proof = (str(said.get(each, ""))[: wire.LONGEST_NAME] for each in ("name", "challenge", "proof"))
        if not secrets.compare_digest(proof.encode(), self._place.proof("crawler", challenge, name).encode()):
            raise ValueError
        writer.write(wire.line({"proof": self._place.proof("owner", mine, name), "epoch": self._epoch}))
        return name

    def _answer(self, name: str, report: dict[str, Any]) -> dict[str, Any]:
        """Note what a crawler holds of each host, and return what it may.

        Raises:
            ValueError: it is no report, an older one than the last, or this is no owner any more.
        """
        sequence, hosts, now = wire.count(report.get("sequence")), report.get("hosts"), wire.seconds()
        if not isinstance(hosts, dict) or len(hosts) > wire.MOST_HOSTS or sequence <= self._newest.get(name, -1):
            raise ValueError
        if not self._is_owner():
            raise ValueError
        answers = {origin: self._share(name, str(origin), told, now) for origin, told in hosts.items()}
        for origin in self._origins[name] - hosts.keys():
            if origin in self._budgets:
                self._budgets[origin].gone(name)
        self._origins[name] = set(hosts)
        self._newest[name] = sequence
        return {"sequence": sequence, "epoch": self._epoch, "lease": self._terms.lease, "hosts": answers}

    def _share(self, name: str, origin: str, told: Any, now: float) -> dict[str, Any]:
        if not isinstance(told, dict) or len(origin) > wire.LONGEST_NAME or not isinstance(told.get("heard"), list):
            raise ValueError
        budget = self._budgets.get(origin)
        if budget is None:
            limits = self._terms.hosts.get(origin, self._terms.others)
            budget = Budget(limits, self._terms.lease, self._terms.longest, self._settled + limits.seconds)
            self._budgets[origin] = budget
        held, wanted = wire.share(told.get("held")), wire.share(told.get("wanted"))
        pause = wire.number(told.get("pause"))
        for each in told["heard"]:
            if not isinstance(each, list) or len(each) != len(Heard._fields):
                raise ValueError
            cuts, age, latency, refused = each
            started = now - wire.number(age)
            budget.heard(Heard(wire.count(cuts), started, wire.number(latency), bool(refused)))
        if pause:
            budget.paused_until = max(budget.paused_until, now + pause)
        under_way, lasts = wire.whole(told.get("under_way")), told.get("lasts") is True
        given = budget.report(name, held, wanted, under_way, now, lasts=lasts)
        return {
            "share": given,
            "aim": budget.aim(name, now),
            "pause": max(0.0, budget.paused_until - now),
            "cuts": budget.ceiling.cuts,
            "rate": budget.limits.rate,
        }


@asynccontextmanager
async def start_owner(
    folder: Path, terms: Terms, *, listen: str = "127.0.0.1", standbys: int = 1
) -> AsyncIterator[MeetingPlace]:
    """Keep an owner and its standbys alive as processes of this machine, until the block ends.

    Args:
        folder: where owners and crawlers meet; kept from run to run.
        terms: what they are to keep.
        listen: the address they listen at; ``0.0.0.0`` for crawlers on other machines.
        standbys: how many wait to take the owner's place.
    """
    place = MeetingPlace(folder).make(terms)
    running: list[asyncio.subprocess.Process] = []
    begun = [0.0] * (1 + standbys)

    async def start(number: int) -> asyncio.subprocess.Process:
        command = (sys.executable, "-m", "exporter.permits.owner", str(folder), listen)
        begun[number] = wire.seconds()
        return await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, start_new_session=True)

    async def keep() -> None:
        while True:
            for number, each in enumerate(running):
                if each.returncode is not None and wire.seconds() - begun[number] > _SOON:
                    running[number] = await start(number)
            await asyncio.sleep(_POLL)

    running.extend([await start(number) for number in range(1 + standbys)])
    keeping = asyncio.create_task(keep())
    try:
        yield place
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        for each in running:
            if each.stdin is not None:
                each.stdin.close()
        await asyncio.gather(*(each.wait() for each in running))


async def _main(folder: str, listen: str = "127.0.0.1") -> None:
    owner = PermitOwner(MeetingPlace(Path(folder)), listen)
    loop = asyncio.get_running_loop()
    parting = asyncio.Event()

    async def part() -> None:
        await parting.wait()
        await owner.part()

    def wait_for_the_end() -> None:
        # Whoever started this process holds the other end, and lets go of it when it ends, however it does.
        while os.read(0, 1):
            pass
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(parting.set)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    ending = asyncio.create_task(part())
    await owner.run()
    ending.cancel()


if __name__ == "__main__":
    try:
        asyncio.run(_main(*sys.argv[1:]))
    except BlogExporterError as failure:
        sys.exit(said(failure))
