"""Run a check: send the requests in order, and stop if the service does not answer."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from exporter.archive.layout import Layout
from exporter.archive.names import newest_id
from exporter.check.facts import MAY_HOLD_SECRETS, CheckResult, Exchange, OperationFacts, page_facts
from exporter.check.fetching import MAX_PAUSE_SECONDS, WITH_UPLOADS, fetch_samples
from exporter.check.findings import findings, missing_parts
from exporter.clock import Clock, SystemClock
from exporter.errors import (
    ApiError,
    HostGivenUp,
    LongPause,
    NotAuthorised,
    RedirectRefused,
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
from exporter.service.interface import Call, Cursor
from exporter.setting_sources import Origin
from exporter.setting_types import setting_text
from exporter.settings import SETTINGS, Settings

Answer = TypeVar("Answer")

REQUESTS: Final = 10
"""The limit without a report: the user, the entry list twice, an entry, a comment list, a file list, an upload and a
picture, and two for redirects."""
ENTRIES_OF_A_REPORT: Final = 20
ENTRIES_FOR_ADDRESS: Final = 10
"""The limit of entries read to infer the address of uploads, if no setting names it."""
_MAX_TIMEOUT: Final = timedelta(seconds=30)
_MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
_LISTS: Final = {Kind.ENTRY_LIST: 2, Kind.COMMENTS: 1, Kind.FILES: 1}
"""The number of pages to read; two of the entry list, because the name of its page parameter is uncertain."""

_EMPTY_PAGES: Final = 1
"""Pages without records that are read in addition."""


def in_use(settings: Settings) -> dict[str, tuple[str, str]]:
    """Return the value, as text, and the source of each setting that is not a default; secrets are masked."""
    return {
        name: ("…" if name in MAY_HOLD_SECRETS else _text_of(settings.get(name)), source.place(name))
        for name, source in settings.sources.items()
        if name in SETTINGS and source.origin is not Origin.DEFAULT
    }


def _text_of(value: Any) -> str:
    if isinstance(value, frozenset | tuple):
        return ",".join(sorted(value))
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return setting_text(value)


def free_bytes(place: Path) -> int | None:
    """Return the free bytes on the disk where a folder is or will be; ``None`` if unknown."""
    absolute = place.absolute()
    try:
        return shutil.disk_usage(next(each for each in (absolute, *absolute.parents) if each.is_dir())).free
    except OSError:
        return None


def _token_source(settings: Settings) -> str | None:
    """Return the source of the token; ``None`` if no token is set, or a wrong setting hides it."""
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
    keep: bool = False,
    clock: Clock | None = None,
    locate: Callable[[str], str] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> CheckResult:
    """Send a few requests to a blog's service, and find out whether a backup would save everything.

    Each request is sent once. After a failed connection, a timeout, or a ``Retry-After`` of more than a few seconds, no
    more requests are sent.

    Args:
        blog_id: the blog.
        settings: the settings of a backup.
        place: the archive's folder, which need not exist.
        keep: keep requests and answers for a report, and read all entries of the newest page.
        clock: the time to compare the service's time with.
        locate: maps a file's address to the one that is requested.
        warn: called with a sentence if the token would travel unencrypted.

    Returns:
        The result; failures are findings, and no network error is raised.
    """
    result = CheckResult(
        blog_id,
        os.path.abspath(place),  # noqa: ASYNC240, PTH100 - touches no disk
        settings.base_url,
        in_use(settings),
        token=_token_source(settings),
        free=free_bytes(place),
        missing=missing_parts(),
    )
    infers_address = settings.file_url is None and settings.assets in WITH_UPLOADS
    result.most_requests = (
        REQUESTS + (ENTRIES_FOR_ADDRESS if infers_address else 0) + (ENTRIES_OF_A_REPORT if keep else 0)
    )
    trouble: UsageError | NotAuthorised | None = None
    problems: dict[str, list[str]] = {}
    patient = replace(
        settings,
        retries=0,
        connect_timeout=min(settings.connect_timeout, _MAX_TIMEOUT),
        read_timeout=min(settings.read_timeout, _MAX_TIMEOUT),
        total_timeout=min(settings.total_timeout, _MAX_TIMEOUT),
        max_body=min(settings.max_body, _MAX_ANSWER_BYTES),
    )
    async with Engine(most_requests=result.most_requests) as engine:
        try:
            async with open_service(
                blog_id,
                patient,
                renamed_to=newest_id(Layout(place), settings.service),
                engine=engine,
                longest_pause=MAX_PAUSE_SECONDS,
                warn=warn,
            ) as opened:
                requests = _Requests(opened, result, clock or SystemClock(), problems, keep=keep)
                await requests.send_all()
                await fetch_samples(result, opened, patient, requests, locate)
        except (UsageError, NotAuthorised) as error:
            trouble = error
        result.requests = engine.statistics.requests
    result.findings = findings(result, settings, trouble, problems)
    return result


@dataclass(eq=False)
class _Requests:
    """Sends the requests one after another; ``problems`` receives the problems with the pages of each list."""

    opened: OpenService
    result: CheckResult
    clock: Clock
    problems: dict[str, list[str]]
    keep: bool

    def __post_init__(self) -> None:
        self._records: dict[Kind, list[Any]] = {}
        self._read: set[str] = set()
        self._stopped = False

    def records(self, kind: Kind) -> list[Any]:
        """Return the records that were read, as the service sent them."""
        return self._records.get(kind, [])

    async def send_all(self) -> None:
        """Request the user, the lists, and entries."""
        service = self.opened.service
        if service.capabilities.user:
            user = await self._ask(Kind.USER, None, service.user_call())
            if user is not None:
                found = service.user(user)
                self.result.user = found.id, found.name
                self._note(Kind.USER, [user])
        for kind, pages in _LISTS.items():
            await self._list(kind, pages)
        for entry_id in self._listed()[: ENTRIES_OF_A_REPORT if self.keep else 1]:
            await self._entry(entry_id)

    async def more_entries(self) -> AsyncIterator[Any]:
        """Read further listed entries, newest first, until the service stops answering."""
        unread = [each for each in self._listed() if each not in self._read]
        for entry_id in unread[:ENTRIES_FOR_ADDRESS]:
            entry = await self._entry(entry_id)
            if self._stopped:
                return
            if entry is not None:
                yield entry

    def _listed(self) -> list[str]:
        service = self.opened.service
        keys = [service.key(Kind.ENTRY_LIST, item) for item in self.records(Kind.ENTRY_LIST)]
        return [key for key in dict.fromkeys(keys) if key is not None]

    async def _entry(self, entry_id: str) -> Any:
        self._read.add(entry_id)
        service = self.opened.service
        item = next((i for i in self.records(Kind.ENTRY_LIST) if service.key(Kind.ENTRY_LIST, i) == entry_id), None)
        entry = await self._ask(Kind.ENTRIES, None, service.listed_entry_call(self.opened.blog_id, entry_id, item))
        if entry is None or entry.data is None:
            return None
        self._note(Kind.ENTRIES, [entry.data])
        return entry.data

    async def _list(self, kind: Kind, most: int) -> None:
        """Read the first pages of a list. A page without records, such as one of category names, does not count."""
        service = self.opened.service
        pages = service.pages(kind, self.opened.blog_id, self._listed()[:1])
        known: set[str] = set()
        read = 0
        for _ in range(most + _EMPTY_PAGES):
            cursors = pages.wanted(0) if read < most else []
            if not cursors:
                break
            page = await self._ask(kind, cursors[0], pages.call(cursors[0]))
            if page is None:
                return
            self._note(kind, page.items)
            read += bool(page.items)
            facts = self.result.operations[-1]
            facts.pages, facts.page_size, facts.total, facts.total_size = (
                page.pages, page.page_size, page.total, page.total_size,
            )  # fmt: skip
            pages.accept(page_facts(service, kind, cursors[0], page, known))
        if pages.problems:
            self.problems[self.result.operations[-1].name] = pages.problems

    def _note(self, kind: Kind, records: list[Any]) -> None:
        facts = self.result.operations[-1]
        facts.records = len(records)
        facts.unusable = sum(self.opened.service.key(kind, record) is None for record in records)
        facts.note_fields(self.opened.service, records)
        self._records.setdefault(kind, []).extend(records)

    async def _ask(self, kind: Kind, page: Cursor | None, call: Call[Answer]) -> Answer | None:
        """Send one request; return ``None`` and note the problem if there is no usable answer."""
        request, result = call.request, self.result
        facts = OperationFacts(request.operation, kind, page if isinstance(page, int) else None)
        if self._stopped:
            return None
        result.operations.append(facts)
        heard: list[Response] = []

        def parse(response: Response) -> Answer:
            heard.append(response)
            return call.parse(response)

        begun = time.monotonic()
        answer = None
        try:
            answer = await self.opened.client.fetch(request, parse, once=True)
            facts.answered = True
        except LongPause as pause:
            self._stopped = True
            before = result.operations[-2:-1]
            if not before or before[0].answered:
                # The pause was requested while a sign-in was renewed, not by an operation of this check.
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
            self._stopped = isinstance(error, Unreachable | RequestTimeout | HostGivenUp)
        facts.seconds = round(time.monotonic() - begun, 3)
        response = heard[0] if heard else None
        if response is not None:
            facts.status = response.status
            self._note_clock(response)
        if self.keep:
            headers, body = (response.headers, response.body) if response is not None else ({}, b"")
            result.exchanges.append(Exchange(facts, request.path, request.params, headers, body))
        return answer

    def _note_clock(self, response: Response) -> None:
        if self.result.clock_skew is not None or "date" not in response.headers:
            return
        try:
            sent = parsedate_to_datetime(response.headers["date"])
            skew = (self.clock.now() - sent).total_seconds()
        except (ValueError, TypeError, OverflowError, IndexError):
            return
        self.result.clock_skew = round(skew, 1)


def _status_of(error: ServiceError) -> int | None:
    if isinstance(error, RetryableStatus | ApiError | RedirectRefused):
        return error.status
    return 401 if isinstance(error, NotAuthorised) else None
