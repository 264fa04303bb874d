"""Reports made of a service that may misbehave, and what a check says of both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from exporter.check.facts import CheckResult
from exporter.check.run import Wishes, check
from exporter.demo.content import Blog
from exporter.demo.service import DemoService, ServiceOptions
from exporter.report.file import write_report
from exporter.report.replay import Replay
from exporter.service.registry import service_of
from exporter.settings import Settings, resolve

Before = Callable[[DemoService, web.Request], Awaitable[web.StreamResponse | None]]
WISHES = Wishes(pages=5, keep=True)


async def checked(service: DemoService, blog_id: str, tmp_path: Path, **given: Any) -> tuple[CheckResult, Settings]:
    """Check a service that runs."""
    settings = resolve({"base_url": service.base_url, "assets": "none", **given}, environ={})
    return await check(blog_id, settings, tmp_path, wishes=WISHES), settings


async def reported(blog: Blog, path: Path, before: Before | None = None) -> CheckResult:
    """Write a report about a blog whose service answers as ``before`` says, and return what the check found."""
    async with DemoService(blog, ServiceOptions(entry_page_size=5, comment_page_size=5, file_page_size=4)) as service:
        if before is not None:
            asked = before

            async def misbehave(request: web.Request) -> web.StreamResponse | None:
                return await asked(service, request)

            service.before = misbehave
        result, settings = await checked(service, blog.blog_id, path.parent)
        write_report(path, result, settings, service_of(settings, None), force=True)
    return result


async def replayed(path: Path) -> CheckResult:
    """Check the service that a report is served by."""
    replay = Replay(path)
    async with replay.service() as service:
        result, _ = await checked(service, replay.blog.blog_id, path.parent, **replay.settings)
    return result


def troubles(result: CheckResult) -> list[tuple[str, int, str]]:
    """Return what a check found to be wrong, without what differs by name."""
    found = [(finding.code, finding.exit_code, "") for finding in result.findings if finding.code != "clock"]
    asked = [
        (each.name, each.status or 0, f"{each.page} {each.answered} {each.records} {each.unusable} {each.total}")
        for each in result.operations
    ]
    return sorted(found) + asked
