"""A run warns if its clock is far off, because the archive's times come from that clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web

from exporter.clock import timestamp
from exporter.crawl.events import ClockDiffers
from tests.crawl.conftest import NOON, Crawl, MakeCrawl
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import lines_of_runs


def dated(service: DemoService, written: str) -> None:
    """Put a date into every answer."""

    async def before(request: web.Request) -> web.StreamResponse | None:
        if request.path == "/v1/user":
            return None
        response = await service.operation(request)
        response.headers["Date"] = written
        return response

    service.before = before


async def warned(crawl: Crawl, now: datetime) -> list[ClockDiffers]:
    crawl.clock.time = now
    ran = await crawl.run()
    assert ran.code == 0
    return ran.of(ClockDiffers)


@pytest.mark.parametrize("year", [1970, 2000, 2009, 2019, 2025, 2027, 2031, 2036, 2037, 2099])
async def test_a_clock_in_another_year_than_the_services_is_named(crawl_of: MakeCrawl, year: int) -> None:
    async with DemoService(generated_blog(2, 1, 1)) as service:
        dated(service, format_datetime(NOON, usegmt=True))
        crawl = crawl_of(service)
        wrong = NOON.replace(year=year)
        assert await warned(crawl, wrong) == [ClockDiffers(timestamp(wrong), service=timestamp(NOON))]
        assert lines_of_runs(crawl.root)[-1]["service_time"] == timestamp(NOON)


@pytest.mark.parametrize("hours", [-23, 0, 23])
async def test_a_clock_that_is_off_by_hours_is_not(crawl_of: MakeCrawl, hours: int) -> None:
    async with DemoService(generated_blog(2, 1, 1)) as service:
        dated(service, format_datetime(NOON, usegmt=True))
        crawl = crawl_of(service)
        assert await warned(crawl, NOON + timedelta(hours=hours)) == []
        assert "service_time" not in lines_of_runs(crawl.root)[-1]


@pytest.mark.parametrize("written", ["", "yesterday", "Mon, 99 Foo 2026", "Sun, 31 Feb 2026 12:00:00 GMT"])
async def test_an_invalid_date_is_ignored(crawl_of: MakeCrawl, written: str) -> None:
    async with DemoService(generated_blog(2, 1, 1)) as service:
        dated(service, written)
        assert await warned(crawl_of(service), NOON) == []


async def test_a_clock_behind_the_run_before_is_named(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(2, 1, 1)) as service:
        dated(service, "")
        crawl = crawl_of(service)
        late = datetime(2037, 1, 1, tzinfo=UTC)
        assert await warned(crawl, late) == []
        assert await warned(crawl, NOON) == [ClockDiffers(timestamp(NOON), run_before=timestamp(late))]
        assert await warned(crawl, NOON + timedelta(days=1)) == []
