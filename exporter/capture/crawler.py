"""Ask a blog's public addresses in order, record each exchange, and follow the references in the answers.

The home page and robots.txt come first. Then the crawler follows the entries' permalinks, the sitemaps, the feeds and
all links inside the scope, with the files that the pages need. Two groups of workers ask the blog's own
host and the others, so that a slow host delays only itself. The engine's throttles limit both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from yarl import URL

from exporter.archive import atomic
from exporter.capture.events import AddressCaptured, AddressFailed, CaptureEvent, Effect, HomeMoved, LimitReached
from exporter.capture.frontier import Address, AddressState, Finished, FoundAs
from exporter.capture.outcome import EntryAddress
from exporter.capture.recording import Answer, NotStored, conditions
from exporter.capture.scope import AddressKind, CaptureScope, LeftOut, WantedAddress
from exporter.capture.work import sync_descriptor
from exporter.crawl.tasks import finish_in_thread, task_group
from exporter.errors import AddressRefused, HostGivenUp, NotPublic, ServiceError, TransportError
from exporter.html.links import host_of
from exporter.html.page_references import ReferenceRole
from exporter.html.web_address import parsed, web_address
from exporter.http.address_guard import origin_of
from exporter.http.wire import Cut, WireExchange
from exporter.message import message, said
from exporter.service.public_site.page_rules import rules_for_host
from exporter.service.public_site.robots import Robots, read_robots
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.capture.outcome import CaptureSettings
    from exporter.capture.work import CaptureWork
    from exporter.clock import Clock
    from exporter.http.engine import Capturer, Engine

_OTHER_WORKERS: Final = 6
_SYNC_SECONDS: Final = 1.0
_MAX_HOME_REDIRECTS: Final = 8
_MAX_PAGE_REDIRECTS: Final = 8
_MAX_SITEMAPS: Final = 2_000
_MAX_SEEN: Final = 50_000
_NOT_PUBLIC: Final = frozenset({401, 402, 403, 407, 451})
_ERROR: Final = 400
_MAX_FAILED_IN_A_ROW: Final = 30
"""Addresses on the blog's host in a row without an answer. After them it is down, and each further one would wait."""
_USUAL_SITEMAPS: Final = ("sitemap.xml",)


@dataclass
class Crawler:
    """Asks the addresses of one capture.

    Attributes:
        work: its addresses and records.
        capturer: sends the requests.
        engine: limits them.
        settings: those of the capture.
        clock: measures the time.
        permalinks: returns the addresses of the archive's entries; called in a thread.
        emit: is called with events.
        answered: is called when the home page was answered.
        scope: decides about addresses; it follows a home page that has moved.
        limits: sentences about the limits of time and size that were reached, by name.
    """

    work: CaptureWork
    capturer: Capturer
    engine: Engine
    settings: CaptureSettings
    clock: Clock
    permalinks: Callable[[], Iterable[EntryAddress]]
    emit: Callable[[CaptureEvent], None]
    answered: Callable[[], None]

    def __post_init__(self) -> None:
        settings = self.settings
        self.scope = CaptureScope(settings.home, self.clock.now().year, skipped_hosts=settings.skipped_hosts)
        self.limits: dict[str, str] = {}
        self._frontier = self.work.frontier
        self._homes = {settings.home}
        self._robots: dict[str, Robots] = {}
        self._seen: set[tuple[str, ReferenceRole, bool]] = set()
        self._news = asyncio.Event()
        self._active = self._maps = self._pages_asked = self._failed_in_a_row = 0

    async def run(self) -> None:
        """Ask everything; in a dry run only robots.txt, the home page, sitemaps and feeds.

        Raises:
            ServiceError: the blog does not answer, or has stopped to.
            NoSpace: the disk is full.
        """
        begun = self.clock.monotonic()
        await self._enter()
        await self._add_seeds()
        if self.settings.dry_run:
            while seeds := self._frontier.seeds():
                for url in seeds:
                    await self._ask_now(url, AddressKind.PAGE, FoundAs.LINK)
            return
        await self._ask_all(begun)
        if not self.limits and await self._add_doubtful():
            await self._ask_all(begun)

    async def _ask_all(self, begun: float) -> None:
        """Ask until no address is left."""
        async with task_group() as group:
            ticker = group.create_task(self._tick(begun))
            workers = [
                group.create_task(self._worker(own=own))
                for own, number in ((True, self.settings.concurrency), (False, _OTHER_WORKERS))
                for _ in range(number)
            ]
            await asyncio.wait(workers)
            ticker.cancel()

    # The beginning.

    async def _enter(self) -> None:
        """Read robots.txt and the home page, and follow it to where it finally is.

        Raises:
            ServiceError: one of them does not answer, or robots.txt forbids the home page.
        """
        home = self.settings.home
        for _ in range(_MAX_HOME_REDIRECTS):
            settings, origin = self.settings, _origin(home)
            self.engine.limit(origin, settings.concurrency, settings.rate, settings.longest_pause)
            await self._read_robots(origin)
            if not self._permits(home):
                raise ServiceError(
                    "robots.txt of {home} forbids this program to read the blog. If the blog is yours, set obey_robots "
                    "to no.",
                    home=printable(home, 200),
                )
            status, location = await self._ask_now(home, AddressKind.PAGE, FoundAs.SEED)
            self._require_answer(home, status)
            self.answered()
            target = None if location is None else web_address(location, parsed(home))
            if target is None or str(target) in self._homes:
                return
            moved = str(target)
            if not self.scope.is_own_host(moved):
                self.emit(HomeMoved(home, moved))
            self.scope = self.scope.moved_to(_home_after(home, moved))
            self._homes.add(moved)
            home = moved

    def _require_answer(self, url: str, status: int | None) -> None:
        if status is None:
            raise ServiceError(
                "{url} could not be read: {reason}. Check the address, or try again later.",
                url=printable(url, 200),
                reason=self._frontier.reason_of(url),
            )
        if status >= _ERROR:
            raise ServiceError(
                "{url} answered {status}, so no blog is shown there. Check the address, or try again later.",
                url=printable(url, 200),
                status=status,
            )

    async def _ask_now(self, url: str, kind: AddressKind, found: FoundAs) -> tuple[int | None, str | None]:
        """Ask an address before the workers begin, unless it was asked already; return its status and redirect."""
        with self._frontier.transaction():
            self._frontier.add(url, kind, own=True, found=found)
        address = self._frontier.take_one(url)
        if address is not None:
            await self._ask(address)
        return self._frontier.answer_of(url)

    async def _read_robots(self, origin: str) -> None:
        """Read robots.txt of a host. A host without one permits everything (RFC 9309, section 2.3.1.3).

        Raises:
            ServiceError: the host does not answer, so that its rules are unknown (section 2.3.1.4).
        """
        if origin in self._robots:
            return
        url = f"{origin}/robots.txt"
        status, _ = await self._ask_now(url, AddressKind.REQUISITE, FoundAs.GUESS)
        if status is None and self.settings.obey_robots:
            self._require_answer(url, status)
        text = self._frontier.meta(f"robots {origin}") or ""
        self._robots[origin] = read_robots(text.encode("utf-8", "surrogateescape"))
        delay = self._robots[origin].delay
        if delay is not None and self.settings.obey_robots:
            self.engine.limit(origin, 1, 1.0 / delay)

    def _permits(self, url: str) -> bool:
        rules = self._robots.get(_origin(url))
        return not self.settings.obey_robots or rules is None or rules.permits(url)

    async def _add_seeds(self) -> None:
        """Add the entries' permalinks and the sitemaps."""
        frontier = self._frontier
        if frontier.meta("seeded") is None:
            entries = await finish_in_thread(lambda: list(self.permalinks()))
            with frontier.transaction():
                for url in (each.url for each in entries if each.is_public):
                    self._add_entry(url)
                self._add_maps()
                frontier.set_meta(seeded="yes")
        else:
            for url in frontier.urls(AddressKind.PAGE):
                self.scope.count(url)
        self._pages_asked = frontier.asked(AddressKind.PAGE)

    def _add_entry(self, url: str, found: FoundAs = FoundAs.ENTRY) -> bool:
        """Add the permalink of an entry, and return whether it is new. Only robots.txt can leave it out."""
        place = parsed(url)
        if place is None:
            return False
        spelled = self.scope.own(url) or str(place)
        if self._permits(spelled):
            return self._frontier.add(spelled, AddressKind.PAGE, own=self.scope.is_own_host(spelled), found=found)
        self._frontier.leave_out(spelled, LeftOut.ROBOTS, AddressKind.PAGE, found=found)
        return False

    async def _add_doubtful(self) -> bool:
        """Add the permalinks of entries that may be private and that no page names; return whether there are any."""
        entries = await finish_in_thread(lambda: list(self.permalinks()))
        with self._frontier.transaction():
            return sum(self._add_entry(each.url, FoundAs.DOUBT) for each in entries if not each.is_public) > 0

    def _add_maps(self) -> None:
        """Add the sitemaps that robots.txt states, or else those that the blog's service has."""
        stated = [url for rules in self._robots.values() for url in rules.sitemaps]
        for url in stated:
            self._add_map(url, FoundAs.SEED)
        if not stated:
            rules = rules_for_host(host_of(self.scope.home))
            for name in rules.sitemaps if rules is not None and rules.sitemaps else _USUAL_SITEMAPS:
                self._add_map(self.scope.description[0] + name, FoundAs.GUESS)

    def _add_map(self, url: str, found: FoundAs) -> None:
        """Add a sitemap. A host of many blogs states those of all of them."""
        own = self.scope.own(url)
        self._maps += 1
        if own is not None and self._maps <= _MAX_SITEMAPS and self._permits(own):
            self._frontier.add(own, AddressKind.PAGE, own=True, found=found)

    # The workers.

    async def _tick(self, begun: float) -> None:
        """Make the records durable every second, and end the capture at its time limit."""
        limit = self.settings.max_time
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            unsynced = self.work.unsynced()
            if unsynced is not None:
                with atomic.translated(self.work.folder):
                    await asyncio.get_running_loop().run_in_executor(None, sync_descriptor, unsynced[0])
                self.work.synced(unsynced[1])
            if limit is not None and self.clock.monotonic() - begun > limit:
                self._reach("time", message("the time limit of {n:,.0f} s was reached (--max-time)", n=limit))

    def _reach(self, name: str, reason: str) -> None:
        if name not in self.limits:
            self.limits[name] = reason
            self.emit(LimitReached(reason))
            self._news.set()

    async def _worker(self, *, own: bool) -> None:
        """Ask addresses until all are answered or a limit is reached."""
        while not self.limits:
            address = self._next(own=own)
            if address is not None:
                self._active += 1
                try:
                    await self._ask(address)
                finally:
                    self._active -= 1
                    self._news.set()
            elif self._active:
                self._news.clear()
                await self._news.wait()
            else:
                return

    def _next(self, *, own: bool) -> Address | None:
        """Return the next address to ask; pages only below their limit."""
        address = self._frontier.take(own=own, pages=self._pages_asked < self.settings.most_pages)
        if address is not None and address.kind is AddressKind.PAGE:
            self._pages_asked += 1
        return address

    # One address.

    async def _ask(self, address: Address) -> None:
        """Ask an address, record the exchanges, and add what its answer refers to.

        Raises:
            ServiceError: the blog's own host has stopped answering.
        """
        attempts: list[WireExchange] = []
        failure: TransportError | None = None

        async def keep(exchange: WireExchange) -> None:
            attempts.append(exchange)

        try:
            try:
                await self.capturer.fetch(address.url, keep, conditions(address))
            except TransportError as error:
                failure = error
            self._settle(address, attempts, failure)
        except NotStored:
            await self._ask(address._replace(etag=None, modified=None))
            return
        finally:
            for exchange in attempts:
                exchange.close()
        if address.own:
            self._failed_in_a_row = 0 if failure is None else self._failed_in_a_row + 1
        if address.own and (isinstance(failure, HostGivenUp) or self._failed_in_a_row > _MAX_FAILED_IN_A_ROW):
            raise ServiceError(
                "{home} has stopped answering ({reason}). What was captured is kept; run the capture again later.",
                home=printable(self.scope.home, 200),
                reason=failure,
            )
        limit = self.settings.max_size
        if limit is not None and self.work.written >= limit:
            self._reach("size", message("the size limit of {n:,} bytes was reached (--max-size)", n=limit))

    def _settle(self, address: Address, attempts: list[WireExchange], failure: TransportError | None) -> None:
        """Record the attempts for an address, and store its result with everything that it names."""
        result = Finished(address, AddressState.FAILED, tries=max(1, len(attempts)))
        answer: Answer | None = None
        with self._frontier.transaction():
            for exchange in attempts:
                answer = self.work.recorder.record(exchange, result) or answer
            if failure is not None or answer is None:
                _fail(result, failure, answer)
            else:
                self._judge(result, answer)
                self._add_references(address, answer)
            self._frontier.finish(result)
        if failure is not None or answer is None:
            self.emit(AddressFailed(address.url, address.kind, result.reason or ""))
        else:
            known = self._frontier.known
            self.emit(AddressCaptured(address.url, address.kind, answer.status, answer.effect, answer.size, known))

    def _judge(self, result: Finished, answer: Answer) -> None:
        """Set the state of an address that was answered."""
        address, status, references = result.address, answer.status, answer.references
        result.state, result.effect, result.title = AddressState.DONE, answer.effect, references.title
        result.answered = status
        result.is_listed = result.recorded is not None and address.kind is AddressKind.PAGE and references.is_page
        result.reason = references.note or None
        if references.robots is not None:
            self._frontier.set_meta(**{f"robots {_origin(address.url)}": references.robots})
        if answer.cut is Cut.LENGTH:
            result.reason = message(
                "it is larger than {n:,} bytes and was cut (--max-asset-size)", n=self.settings.max_bytes
            )
        elif status in _NOT_PUBLIC:
            result.reason = message("it is not shown to the public (it answered {status})", status=status)
            result.state = AddressState.GONE if address.kind is AddressKind.PAGE else AddressState.FAILED
        elif status >= _ERROR:
            result.state, result.reason = AddressState.GONE, message("it answered {status}", status=status)
        elif answer.location is not None:
            self._redirect(result, answer.location)
        if answer.effect is Effect.FORGOTTEN:
            result.state, result.reason, result.title = AddressState.LEFT_OUT, str(LeftOut.FORGOTTEN), ""

    def _redirect(self, result: Finished, location: str) -> None:
        """Add a redirect's target as a separate address, spelled as the server did."""
        address = result.address
        target = web_address(location, parsed(address.url))
        if target is None:
            result.reason = message("it redirects to something that is not a web address")
            return
        exact = str(target)
        is_page = address.kind is AddressKind.PAGE
        place = self.scope.link(exact) if is_page else self.scope.requisite(exact, address.steps + 1)
        if place is None:
            return
        if is_page and address.steps >= _MAX_PAGE_REDIRECTS:
            place = LeftOut.TOO_DEEP
        if isinstance(place, WantedAddress):
            place = place._replace(url=exact)
        self._add(place, exact, address, steps=address.steps + 1)
        result.target = self._frontier.id_of(exact)
        if result.target is not None and self._frontier.leads_back(address.id, result.target):
            result.state, result.reason = AddressState.GONE, message("its redirects lead back to it")

    def _add_references(self, address: Address, answer: Answer) -> None:
        """Add the addresses in an answer."""
        steps = 0 if address.kind is AddressKind.PAGE else address.steps
        of_home = address.url in self._homes
        if len(self._seen) > _MAX_SEEN:
            self._seen.clear()
        for url, role in answer.references.found.items():
            key = (url, role, steps == 0)
            if key in self._seen:
                continue
            if steps == 0 and not of_home:
                self._seen.add(key)
            place = self.scope.reference(url, role, steps=steps, of_home=of_home)
            if place is not None:
                is_page = isinstance(place, WantedAddress) and place.kind is AddressKind.PAGE
                found = FoundAs.SEED if is_page and role is ReferenceRole.FEED else FoundAs.LINK
                self._add(place, url, address, steps=0 if is_page else steps + 1, found=found)
        for url in answer.references.maps:
            self._add_map(url, FoundAs.SEED)

    def _add(
        self, place: WantedAddress | LeftOut, url: str, finder: Address, *, steps: int, found: FoundAs = FoundAs.LINK
    ) -> None:
        """Add an address as the scope decided about it, unless robots.txt forbids it or there are too many."""
        frontier = self._frontier
        if self.work.recorder.forgotten.is_address(url):
            # The frontier stays as a cache, and may not name it.
            url, place = f"forgotten:{sha256(url.encode('utf-8', 'replace')).hexdigest()}", LeftOut.FORGOTTEN
        if isinstance(place, LeftOut):
            frontier.leave_out(url, place, AddressKind.PAGE, finder=finder.id)
            return
        own = self.scope.is_own_host(place.url)
        if own and not self._permits(place.url):
            frontier.leave_out(place.url, LeftOut.ROBOTS, place.kind, finder=finder.id)
            return
        is_new = frontier.add(place.url, place.kind, own=own, steps=steps, finder=finder.id, found=found)
        beyond = self.scope.count(place.url) if is_new and place.kind is AddressKind.PAGE else None
        if beyond is not None:
            frontier.drop(place.url, beyond)


def _fail(result: Finished, failure: TransportError | None, answer: Answer | None) -> None:
    """Note that an address has no answer for now, or can never be asked."""
    result.reason = message("the answer was no HTTP") if failure is None else said(failure)
    if isinstance(failure, AddressRefused) and not isinstance(failure, NotPublic):
        result.state = AddressState.GONE
    if answer is not None:
        result.effect = answer.effect


def _origin(url: str) -> str:
    return origin_of(URL(url, encoded=True))


def _home_after(home: str, moved: str) -> str:
    """Return the address of the home page after a redirect.

    On another host the blog may have another folder. On the same host it keeps its own, because a home page that leads
    to a page of its blog says nothing about the others.
    """
    before, after = parsed(home), parsed(moved)
    if before is None or after is None:
        return moved
    folder = before.path[: before.path.rfind("/") + 1]
    return str(after._replace(path=before.path, query=None)) if after.path.startswith(folder) else moved
