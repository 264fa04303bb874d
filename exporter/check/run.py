"""One check of a blog's service: which requests are sent, in which order, and when it stops asking."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from exporter.check.facts import MAY_HOLD_SECRETS, CheckResult, Exchange, OperationFacts
from exporter.check.fetching import LONGEST_PAUSE, WITH_UPLOADS, fetch_samples
from exporter.check.fields import note_fields, page_facts
from exporter.check.findings import findings
from exporter.check.machine import free_bytes, missing_parts
from exporter.clock import Clock, SystemClock
from exporter.errors import (
    ApiError,
    HostGivenUp,
    LongPause,
    NotAuthorised,
    RequestTimeout,
    RetryableStatus,
    ServiceError,
    Unreachable,
    UsageError,
)
from exporter.http.engine import Engine
from exporter.library.backup import OpenService, open_service
from exporter.login.facts import token_facts
from exporter.message import message, said
from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.service.interface import Call, Cursor, Page
from exporter.settings import SETTINGS, Origin, Settings

Answer = TypeVar("Answer")

REQUESTS: Final = 10
"""Of a check that is asked for nothing more: the user, the entry list twice, an entry, a comment list, a file list, an
upload and a picture, and two for redirects."""
ENTRIES_OF_A_REPORT: Final = 20
ENTRIES_FOR_ADDRESS: Final = 10
"""Most entries that are read to find out where uploads are served, if no setting says it."""
_LONGEST: Final = timedelta(seconds=30)
_LARGEST_ANSWER: Final = 8 * 1024 * 1024
_LISTS: Final = (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a check does beside the diagnosis.

    Attributes:
        entries: ids of entries to be read.
        pages: how many pages of each list are read.
        keep: keep what is asked and answered, and read the entries of the newest page: for a report.
    """

    entries: tuple[str, ...] = ()
    pages: int = 1
    keep: bool = False

    def most_requests(self, settings: Settings) -> int:
        """Return the upper limit of requests, redirects included, whatever fails."""
        more_pages = len(_LISTS) * (self.pages - 1)
        to_infer = settings.file_url is None and settings.assets in WITH_UPLOADS
        entries = (ENTRIES_FOR_ADDRESS if to_infer else 0) + (ENTRIES_OF_A_REPORT if self.keep else 0)
        return REQUESTS + len(self.entries) + more_pages + entries


def in_use(settings: Settings) -> dict[str, tuple[str, str]]:
    """Return the settings that something sets, as text, with where each comes from; no secret is among them."""
    return {
        name: ("…" if name in MAY_HOLD_SECRETS else _text_of(getattr(settings, name)), source.place(name))
        for name, source in settings.sources.items()
        if name in SETTINGS and source.origin is not Origin.DEFAULT
    }


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return str(value)


def check_offline(blog_id: str, settings: Settings, place: Path) -> CheckResult:
    """Return what is known without a question to the service; arguments as for :func:`check`."""
    return CheckResult(
        blog_id,
        os.path.abspath(place),  # noqa: PTH100 - touches no disk
        settings.base_url,
        in_use(settings),
        token=_token_place(settings),
        free=free_bytes(place),
        missing=missing_parts(),
    )


def _token_place(settings: Settings) -> str | None:
    """Return where the token comes from; ``None`` where there is none, or a setting keeps that from being told."""
    try:
        facts = token_facts(settings)
    except UsageError:
        return None
    return facts.place if settings.token or settings.token_command or facts.account is not None else None


async def check(
    blog_id: str,
    settings: Settings,
    place: Path,
    *,
    wishes: Wishes | None = None,
    clock: Clock | None = None,
    locate: Callable[[str], str] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> CheckResult:
    """Ask a blog's service a handful of questions, and say whether a backup would save everything.

    Every request is sent once. A service that cannot be reached, does not answer in time, or wishes a pause of more
    than a few seconds, is asked no more.

    Args:
        blog_id: the blog.
        settings: as a backup would have them.
        place: where the archive is or will be.
        wishes: what is done beside the diagnosis.
        clock: tells the time that the service's is compared with.
        locate: says where a file's address is really asked for.
        warn: called with a sentence where the token would travel unencrypted.

    Returns:
        What was found; failures are findings, nothing of the network is raised.
    """
    wishes = wishes or Wishes()
    result = check_offline(blog_id, settings, place)
    result.most_requests = wishes.most_requests(settings)
    trouble: UsageError | NotAuthorised | None = None
    problems: dict[str, list[str]] = {}
    patient = replace(
        settings,
        retries=0,
        connect_timeout=min(settings.connect_timeout, _LONGEST),
        read_timeout=min(settings.read_timeout, _LONGEST),
        total_timeout=min(settings.total_timeout, _LONGEST),
        max_body=min(settings.max_body, _LARGEST_ANSWER),
    )
    async with Engine(most_requests=result.most_requests) as engine:
        try:
            async with open_service(blog_id, patient, engine=engine, longest_pause=LONGEST_PAUSE, warn=warn) as opened:
                asking = _Asking(opened, result, wishes, clock or SystemClock(), problems)
                await asking.everything()
                await fetch_samples(result, opened, patient, asking, locate)
        except (UsageError, NotAuthorised) as error:
            trouble = error
        result.requests = engine.statistics.requests
    result.findings = findings(result, settings, trouble, problems)
    return result


class _Asking:
    """Send the requests, one after another; ``problems`` gets what is wrong with the pages of each list."""

    def __init__(
        self,
        opened: OpenService,
        result: CheckResult,
        wishes: Wishes,
        clock: Clock,
        problems: dict[str, list[str]],
    ) -> None:
        self._opened = opened
        self._result = result
        self._wishes = wishes
        self._clock = clock
        self._records: dict[Kind, list[Any]] = {}
        self._read: set[str] = set()
        self._silent = False
        self._problems = problems

    def records(self, kind: Kind) -> list[Any]:
        """Return the records of a kind that were read, as sent."""
        return self._records.get(kind, [])

    async def everything(self) -> None:
        """Ask for the user, the lists, and entries."""
        service = self._opened.service
        if service.capabilities.user:
            user = await self._ask(Kind.USER, None, service.user_call())
            if user is not None:
                found = service.user(user)
                self._result.user = found.id, found.name
                self._note(Kind.USER, [user])
        for kind in _LISTS:
            await self._list(kind)
        newest = self._listed()[: ENTRIES_OF_A_REPORT if self._wishes.keep else 1]
        for entry_id in dict.fromkeys([*newest, *self._wishes.entries]):
            await self._entry(entry_id)

    async def more_entries(self) -> AsyncIterator[Any]:
        """Read listed entries that were not read yet, newest first, one a step, until the service stops answering."""
        unread = [each for each in self._listed() if each not in self._read]
        for entry_id in unread[:ENTRIES_FOR_ADDRESS]:
            entry = await self._entry(entry_id)
            if self._silent:
                return
            if entry is not None:
                yield entry

    def _listed(self) -> list[str]:
        service = self._opened.service
        keys = [service.key(Kind.ENTRY_LIST, item) for item in self.records(Kind.ENTRY_LIST)]
        return [key for key in dict.fromkeys(keys) if key is not None]

    async def _entry(self, entry_id: str) -> Any:
        self._read.add(entry_id)
        entry = await self._ask(Kind.ENTRIES, None, self._opened.service.entry_call(self._opened.blog_id, entry_id))
        if entry is None or entry.data is None:
            return None
        self._note(Kind.ENTRIES, [entry.data])
        return entry.data

    async def _list(self, kind: Kind) -> None:
        """Read the first pages of a list; of the entries two, since the name of their page parameter is not certain."""
        service = self._opened.service
        pages = service.pages(kind, self._opened.blog_id, self._listed()[:1])
        known: set[str] = set()
        least = 2 if kind is Kind.ENTRY_LIST else 1
        asked = 0
        while asked < max(least, self._wishes.pages) and (cursors := pages.wanted(0)):
            asked += 1
            page = await self._ask(kind, cursors[0], pages.call(cursors[0]))
            if page is None:
                return
            self._note(kind, page.items)
            self._note_page(page)
            pages.accept(page_facts(service, kind, cursors[0], page, known))
        if pages.problems:
            self._problems[self._result.operations[-1].name] = pages.problems

    def _note_page(self, page: Page) -> None:
        facts = self._result.operations[-1]
        facts.pages, facts.page_size = page.pages, page.page_size
        facts.total, facts.total_size = page.total, page.total_size

    def _note(self, kind: Kind, records: list[Any]) -> None:
        facts = self._result.operations[-1]
        facts.records = len(records)
        facts.unusable = sum(self._opened.service.key(kind, record) is None for record in records)
        note_fields(facts, self._opened.service, kind, records)
        self._records.setdefault(kind, []).extend(records)

    async def _ask(self, kind: Kind, page: Cursor | None, call: Call[Answer]) -> Answer | None:
        """Ask one question; ``None`` where there is no usable answer, which the operation's facts then say."""
        request, result = call.request, self._result
        facts = OperationFacts(request.operation, kind, page if isinstance(page, int) else None)
        if self._silent:
            return None
        result.operations.append(facts)
        heard: list[Response] = []

        def parse(response: Response) -> Answer:
            heard.append(response)
            return call.parse(response)

        begun = time.monotonic()
        answer = None
        try:
            answer = await self._opened.client.fetch(request, parse, once=True)
            facts.answered = True
        except LongPause as pause:
            self._silent = True
            before = result.operations[-2:-1]
            if not before or before[0].answered:
                # Not a question of this check was told so, but the renewal of a sign-in.
                facts.problem = said(pause)
            else:
                result.operations.pop()
                before[0].problem = message(
                    "{reason}; it asks to wait {wish:.0f} s, so nothing more was asked",
                    reason=before[0].problem,
                    wish=pause.seconds,
                )
                return None
        except ServiceError as error:
            facts.problem = said(error)
            facts.status = _status_of(error)
            self._silent = isinstance(error, Unreachable | RequestTimeout | HostGivenUp)
        facts.seconds = round(time.monotonic() - begun, 3)
        response = heard[0] if heard else None
        if response is not None:
            facts.status = response.status
            self._note_clock(response)
        if self._wishes.keep:
            headers, body = (response.headers, response.body) if response is not None else ({}, b"")
            asked = "" if page is None else str(page)
            kept = Exchange(request.operation, kind, request.path, request.params, facts.status, headers, body, asked)
            result.exchanges.append(kept)
        return answer

    def _note_clock(self, response: Response) -> None:
        if self._result.clock_skew is not None or "date" not in response.headers:
            return
        try:
            sent = parsedate_to_datetime(response.headers["date"])
            skew = (self._clock.now() - sent).total_seconds()
        except (ValueError, TypeError, OverflowError, IndexError):
            return
        self._result.clock_skew = round(skew, 1)


def _status_of(error: ServiceError) -> int | None:
    if isinstance(error, RetryableStatus | ApiError):
        return error.status
    return 401 if isinstance(error, NotAuthorised) else None
