"""The facts in a feed and on the page about one post, in a blog whose theme no rule knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

import exporter
from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from exporter.settings import resolve
from tests.cli.conftest import Program

BLOG = "taro.example"
TEXT = "<p>{n}番目の記事です。</p><p>海まで歩いて、<b>夕焼け</b>を見ました。</p>"


@dataclass
class ThemedBlog:
    """A blog whose pages are tables with menus; its feed has dates, categories and texts."""

    texts: dict[int, str] = field(default_factory=lambda: {n: TEXT.format(n=n) for n in (1, 2, 3)})
    in_feed: tuple[int, ...] = (3, 2, 1)
    counter: int = 0
    teaser: bool = False

    async def handle(self, request: web.Request) -> web.Response:
        self.counter += 1
        path = request.path
        if path == "/":
            links = "".join(f"<h2><a href='/note/{n}'>記事{n}</a></h2>" for n in self.texts)
            return self._page("<title>太郎</title><link rel=alternate type='application/rss+xml' href='/rss'>", links)
        if path == "/rss":
            return web.Response(text=self._rss(str(request.url.origin())), content_type="application/rss+xml")
        number = int(path.rpartition("/")[2]) if path.startswith("/note/") else 0
        if number not in self.texts:
            return web.Response(status=404, text="x")
        return self._page("<title>太郎の部屋</title>", f"<div class=zx>{self.texts[number]}</div>")

    def _page(self, head: str, content: str) -> web.Response:
        menu = f"<td>menu menu menu {self.counter} <a href='/a.html'>掲示板</a></td>"
        text = f"<html><head>{head}</head><body><table><tr>{menu}<td>{content}</td></tr></table></body></html>"
        return web.Response(text=text, content_type="text/html")

    def _rss(self, origin: str) -> str:
        items = "".join(
            f"<item><title>記事{n}</title><link>{origin}/note/{n}</link><pubDate>Thu, 0{n} Jan 2020 15:04:05 +0900</pubDate>"
            f"<category>旅行</category><category>海</category><content:encoded>"
            f"{escape('<p>海まで…</p>' if self.teaser else TEXT.format(n=n))}</content:encoded></item>"
            for n in self.in_feed
        )
        ns = "xmlns:content='http://purl.org/rss/1.0/modules/content/'"
        return f"<rss version='2.0' {ns}><channel><title>太郎</title>{items}</channel></rss>"


@pytest.fixture
async def blog(tmp_path: Path) -> Any:
    blog = ThemedBlog()
    app = web.Application()
    app.router.add_get("/{path:.*}", blog.handle)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()

    async def back_up() -> tuple[Any, dict[str, dict[str, Any]]]:
        options = {"base_url": str(server.make_url("/")).rstrip("/"), "service": "public-site", "rate": "10000"}
        wanted = resolve({**options, "site": "no", "markdown": "no", "assets": "none", "refresh": "all"}, environ={})
        async with exporter.open_service(BLOG, wanted) as opened:
            run = exporter.backup(tmp_path / "archive", opened, wanted)
            async for _ in run:
                pass
        return run.outcome, dict(Archive.open(tmp_path / "archive").records(Kind.ENTRIES))

    yield blog, back_up
    await server.close()


async def test_each_field_is_that_of_the_more_certain_source(blog: Any) -> None:
    _, back_up = blog
    _, entries = await back_up()
    assert len(entries) == 3
    for number in (1, 2, 3):
        raw = entries[f"note/{number}"]
        assert (raw["title"], raw["date"]) == (f"記事{number}", f"2020-01-0{number}T15:04:05+09:00")
        assert raw["categories"] == ["旅行", "海"]
        assert raw["body"] == TEXT.format(n=number)
        assert set(raw["taken_from"].values()) == {"feed"}
        assert raw["other"] == {"title": "太郎の部屋"}


async def test_all_of_them_are_exported(blog: Any, tmp_path: Path, program: Program) -> None:
    _, back_up = blog
    await back_up()
    done = program("export", "wordpress", tmp_path / "archive", tmp_path / "out")
    assert done.code == 0, done.err
    written = "".join(path.read_text("utf-8") for path in (tmp_path / "out").glob("*.xml"))
    assert written.count("<item>") - written.count("<wp:post_type>attachment") == 3
    assert written.count("<wp:post_date><![CDATA[2020-01-0") == 3


async def test_a_post_keeps_its_facts_when_the_feed_no_longer_has_it(blog: Any) -> None:
    themed, back_up = blog
    _, before = await back_up()
    themed.in_feed = (3,)
    outcome, after = await back_up()
    assert (outcome.version, after) == (None, before)
    themed.texts[1] = "<p>書き直した文章です。</p>"
    outcome, after = await back_up()
    assert outcome.counts["entries"].changed == 1
    assert "書き直した文章です。" in after["note/1"]["body"]
    assert after["note/1"]["taken_from"]["body"] != "feed"
    assert after["note/1"]["date"] == before["note/1"]["date"]


async def test_the_beginning_of_a_text_is_not_its_text(blog: Any) -> None:
    themed, back_up = blog
    themed.teaser = True
    _, entries = await back_up()
    assert "夕焼け" in entries["note/2"]["body"]
    assert entries["note/2"]["other"]["body"] == "<p>海まで…</p>"
    assert entries["note/2"]["date"] == "2020-01-02T15:04:05+09:00"
