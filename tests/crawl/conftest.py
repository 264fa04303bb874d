"""Run crawls in this process with a real service on loopback and a simulated clock."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from exporter.archive.archive import Archive
from exporter.archive.latest import write_latest
from exporter.crawl.backup import BackupRun
from exporter.crawl.events import Event
from exporter.crawl.freshness import Refresh
from exporter.crawl.ingest import BackupSettings
from exporter.crawl.outcome import Outcome
from exporter.errors import BlogExporterError
from exporter.http.deadline import Timeouts
from exporter.http.engine import Client, Engine
from exporter.http.retry import RetryPolicy
from exporter.service.blog_v1 import BlogV1, Options
from exporter.service.interface import BlogService
from tests.support.demo_service import DemoService

E = TypeVar("E", bound=Event)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that only waits advance; the waits take no real time."""

    def __init__(self, now: datetime = NOON) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
        await asyncio.sleep(0)


@dataclass
class Ran:
    """A run's result: its outcome, its events, and the error that ended it."""

    outcome: Outcome
    events: list[Event]
    error: BlogExporterError | None = None

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def code(self) -> int:
        return self.outcome.exit_code

    @property
    def reasons(self) -> str:
        return "\n".join(f"{each.kind} {each.id}: {each.reason}" for each in self.outcome.problems)


@dataclass
class Crawl:
    """An archive and the service that it backs up."""

    root: Path
    service: DemoService
    clock: Clock = field(default_factory=Clock)
    retries: int = 2

    @property
    def gets(self) -> list[str]:
        """The IDs of the entries requested since the log was cleared."""
        return [each.params["entry_id"] for each in self.service.requests if each.path.endswith("entry/get")]

    @property
    def lists(self) -> int:
        return sum(each.path.endswith("/list") for each in self.service.requests)

    @asynccontextmanager
    async def started(self, **given: Any) -> AsyncIterator[BackupRun]:
        """Make a run; ``given`` contains settings of the run and the client, or assumptions about the service."""
        assume = Options(**{name: given.pop(name) for name in Options._fields if name in given})
        blog_id = given.pop("blog_id", next(iter(self.service.blogs)))
        given["refresh"] = Refresh(given.get("refresh", "all"))
        settings = BackupSettings(blog_id, given.pop("base_url", self.service.base_url), **given)
        async with Engine(clock=self.clock) as engine:
            client = engine.client(
                self.service.base_url,
                timeouts=Timeouts(read=60, total=120),
                policy=RetryPolicy(retries=self.retries, give_up_after=600),
                concurrency=settings.concurrency,
            )
            yield self.made(BlogV1(assume), client, settings)

    def made(self, service: BlogService, client: Client, settings: BackupSettings) -> BackupRun:
        return BackupRun(self.root, service, client, settings, self.clock)

    async def run(self, on: Callable[[BackupRun, Event], Awaitable[None] | None] | None = None, **given: Any) -> Ran:
        """Run to the end; ``on`` receives each event when it happens."""
        self.service.requests.clear()
        async with self.started(**given) as run:
            ran = Ran(run.outcome, [])
            try:
                async for event in run.events():
                    ran.events.append(event)
                    if on is not None:
                        waited = on(run, event)
                        if waited is not None:
                            await waited
            except BlogExporterError as error:
                ran.error = error
            return ran

    def show_latest(self) -> None:
        """Update ``latest/``, as the command does after a run."""
        write_latest(Archive.open(self.root).layout, Archive.open(self.root).state(), [])


MakeCrawl = Callable[[DemoService], Crawl]


def copy_as_killed(root: Path, left: Path) -> None:
    """Copy the files that a kill would leave while a thread still writes; retry if a file is renamed meanwhile."""
    while True:
        try:
            shutil.copytree(root, left)
        except shutil.Error:
            shutil.rmtree(left)
        else:
            return


@pytest.fixture
def crawl_of(tmp_path: Path) -> MakeCrawl:
    return lambda service: Crawl(tmp_path / "archive", service)
