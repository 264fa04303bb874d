"""A process killed while it reads pictures loses none, stores no partial one, and later reads no stored one again."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import sys
from pathlib import Path

import pytest
from aiohttp import web

from exporter.model.asset import AssetState
from tests.crawl.assets.killed import SETTINGS, blog_with
from tests.crawl.assets.web import Blog, Web
from tests.support.pictures import png

COUNT = 60
ROOT = Path(__file__).parents[3]


def body(number: int) -> bytes:
    return png(number) + b"\0" * 50_000


def assert_none_torn(blog: Blog) -> None:
    for path in blog.stored():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem


@pytest.mark.thorough
@pytest.mark.parametrize("kill_at", [1, 9, 30, 57])
async def test_a_kill_loses_no_picture_and_stores_no_partial_one(served: Web, tmp_path: Path, kill_at: int) -> None:
    healed = False
    reached = asyncio.Event()

    async def picture(request: web.Request) -> web.StreamResponse:
        whole = body(int(request.path[1:-4]))
        answer = web.StreamResponse(headers={"Content-Length": str(len(whole))})
        await answer.prepare(request)
        await answer.write(whole[: len(whole) // 2])
        if served.asked.total() >= kill_at and not healed:
            reached.set()
            await asyncio.sleep(30)
        await answer.write(whole[len(whole) // 2 :])
        return answer

    for number in range(COUNT):
        served.answers[f"/{number}.png"] = picture
    blog = blog_with(tmp_path / "blog", served.url, COUNT)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.crawl.assets.killed", str(tmp_path / "blog"), served.url, str(COUNT), cwd=ROOT
    )
    await asyncio.wait_for(reached.wait(), 30)
    process.send_signal(signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    assert_none_torn(blog)
    arrived = len(blog.stored())
    assert arrived < COUNT

    healed = True
    served.asked.clear()
    result = await blog.backup(SETTINGS)
    assert result.absent == []
    assert set(result.states.values()) == {AssetState.SAVED}
    assert len(blog.stored()) == COUNT
    assert_none_torn(blog)
    assert {record["sha256"] for record in result.records.values()} == {path.stem for path in blog.stored()}
    assert COUNT - arrived <= served.asked.total() <= COUNT - arrived + SETTINGS.concurrency
    assert list((blog.layout.work / "assets").iterdir()) == []
