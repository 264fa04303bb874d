"""A blog that is read by its address: another address is its new one, or another blog."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from html import escape
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.cli.test_source import Command, command
from tests.library.test_two_ways import exported
from tests.support.public_blog import BlogPost, PublicBlog, posts, serving

__all__ = ["command"]

OPTIONS = ("--retries", "0", "--page-rules", "livedoor", "--rate", "1000", "--no-site", "--assets", "none")
CAPTURE = ("capture", "mine", "--retries", "0", "--rate", "1000", "--allow-private-network")


def stranger() -> PublicBlog:
    """Return another blog, with other titles, dates and texts at the same numbers."""
    blog = PublicBlog("livedoor", posts(8), dead_every=0)
    for number, post in blog.posts.items():
        post.title, post.date = f"theirs {number}", post.date - timedelta(days=3000)
        post.text = f"<p>their own words {number}</p>"
    return blog


class UndatedBlog(PublicBlog):
    """A blog whose pages and lists show no dates."""

    def page(self, post: BlogPost) -> str:
        return re.sub(r'<p class="article-date">.*?</p>', "", super().page(post))

    def feed(self) -> str:
        return re.sub(r"<published>.*?</published>", "", super().feed())

    def sitemap_xml(self) -> str:
        return re.sub(r"<lastmod>.*?</lastmod>", "", super().sitemap_xml())


class OtherThemeBlog(PublicBlog):
    """A blog whose theme adds the blog's name to each title, and leaves out the time."""

    def page(self, post: BlogPost) -> str:
        day = super().page(post).replace(post.date.isoformat(), f"{post.date:%Y-%m-%d}")
        return day.replace(f"{escape(post.title)}</h1>", f"{escape(post.title)} | ブログ</h1>")


@asynccontextmanager
async def neighbours(**blogs: PublicBlog) -> AsyncIterator[str]:
    """Serve blogs in folders of one host."""
    app = web.Application()
    server = TestServer(app, host="127.0.0.1")

    def handler(name: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            found = blogs[name].answer("/" + request.match_info["path"])
            if found is None:
                raise web.HTTPNotFound
            return web.Response(body=found[0], headers={"Content-Type": found[1]})

        return handle

    for name in blogs:
        app.router.add_get(f"/{name}/{{path:.*}}", handler(name))
    await server.start_server()
    origin = str(server.make_url("/")).rstrip("/")
    for name, blog in blogs.items():
        blog.origin = f"{origin}/{name}"
    try:
        yield origin
    finally:
        await server.close()


def names(root: Path) -> list[tuple[str, str]]:
    lines = map(json.loads, (root / "names.jsonl").read_bytes().splitlines())
    return [(line["blog_id"], line["address"]) for line in lines]


@pytest.mark.parametrize("form", ["address", "base URL"])
async def test_a_blog_continues_at_its_new_address(command: Command, tmp_path: Path, form: str) -> None:
    blog = PublicBlog("livedoor", posts(8), dead_every=0)
    async with serving(blog) as old:
        assert (await command("backup", old, "--archive", "mine", *OPTIONS)).code == 0
    async with serving(blog) as new:
        words = (f"{new}/", "--archive", "mine") if form == "address" else ("mine", "--base-url", new)
        moved = await command("backup", *words, *OPTIONS)
        assert moved.code == 0, moved.err
        host = new.removeprefix("http://")
        assert names(tmp_path / "mine") == [(host, new)]
        for each in (old, new):
            again = await command("backup", f"{each}/", "--archive", "mine", *OPTIONS)
            assert again.code == 0, again.err
        assert names(tmp_path / "mine") == [(host, new)]
    assert (await command("verify", "mine")).code == 0


async def test_another_blog_at_another_port_is_refused(command: Command, tmp_path: Path) -> None:
    async with serving(PublicBlog("livedoor", posts(8), dead_every=0)) as old, serving(stranger()) as other:
        assert (await command("backup", old, "--archive", "mine", *OPTIONS)).code == 0
        refused = await command("backup", other, "--archive", "mine", *OPTIONS)
        assert refused.code == 4, refused.err
        assert "shows another blog than the archive's" in refused.err
        assert not (tmp_path / "mine" / "names.jsonl").exists()
        again = await command("backup", "mine")
        assert (again.code, "Nothing had changed" in again.err) == (0, True), again.err


async def test_a_neighbour_on_the_same_host_is_another_blog(command: Command, tmp_path: Path) -> None:
    async with neighbours(alice=PublicBlog("livedoor", posts(8), dead_every=0), bob=stranger()) as origin:
        first = await command("backup", f"{origin}/alice/", "--archive", "mine", *OPTIONS)
        assert first.code == 0, first.err
        refused = await command("backup", f"{origin}/bob/", "--archive", "mine", *OPTIONS)
        assert refused.code == 4, refused.err
        again = await command("backup", f"{origin}/alice/", "--archive", "mine", *OPTIONS)
        assert (again.code, "Nothing had changed" in again.err) == (0, True), again.err


@pytest.mark.parametrize("lacking", ["dates", "titles", "both"])
async def test_a_stranger_without_dates_or_titles_is_refused(command: Command, tmp_path: Path, lacking: str) -> None:
    theirs = stranger().posts
    blog = (PublicBlog if lacking == "titles" else UndatedBlog)("livedoor", posts(8), dead_every=0)
    if lacking != "dates":
        for post in [*blog.posts.values(), *theirs.values()]:
            post.title = "日記"
    async with serving(blog) as address:
        assert (await command("backup", address, "--archive", "mine", *OPTIONS)).code == 0
        blog.posts = theirs
        refused = await command("backup", "mine")
        assert refused.code == 4, refused.err
        assert " are other entries: 100" in refused.err


@pytest.mark.parametrize("now", [OtherThemeBlog, UndatedBlog])
@pytest.mark.parametrize("title", [None, "日記"])
async def test_an_owner_may_choose_another_theme(
    command: Command, tmp_path: Path, now: type[PublicBlog], title: str | None
) -> None:
    blog = PublicBlog("livedoor", posts(24), dead_every=0)
    for post in blog.posts.values():
        post.title = title or post.title
    themed = now("livedoor", blog.posts, dead_every=0)
    async with serving(blog) as old, serving(themed) as new:
        assert (await command("backup", old, "--archive", "mine", *OPTIONS)).code == 0
        done = await command("backup", new, "--archive", "mine", *OPTIONS)
        assert done.code == 0, done.err


async def test_a_feed_of_new_entries_is_the_same_blog(command: Command, tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(8), dead_every=0, sitemap=False)
    async with serving(blog) as address:
        assert (await command("backup", address, "--archive", "mine", *OPTIONS)).code == 0
        blog.posts = {**blog.posts, **posts(10, 2001)}
        blog.overrides = {"/?p=1": (503, "busy")}
        done = await command("backup", "mine", *OPTIONS)
        assert "another blog" not in done.err
        assert done.code in {0, 3}, done.err


async def test_nothing_of_a_refused_stranger_stays(command: Command, tmp_path: Path) -> None:
    """A public site's pages are kept while they are read, before the whole blog is known."""
    blog, root = PublicBlog("livedoor", posts(8), dead_every=0), tmp_path / "mine"
    async with serving(blog) as origin:
        assert (await command("backup", origin, "--archive", "mine", *OPTIONS)).code == 0
        before = sorted(path.name for path in (root / "assets").rglob("*.gz"))
        assert len(before) == 8
        blog.posts = stranger().posts
        for _ in range(2):
            assert (await command("backup", "mine", *OPTIONS)).code == 4
            assert sorted(path.name for path in (root / "assets").rglob("*.gz")) == before
            captured = await command(*CAPTURE)
            assert captured.code == 4
            assert "The last backup of mine that read the blog was refused" in captured.err
            assert captured.err.endswith("how to accept them: blog-exporter backup mine\n")
            assert not (root / "captures").exists()
        blog.overrides = dict.fromkeys(("/", "/atom.xml", "/sitemap.xml", "/robots.txt"), (503, "busy"))
        assert (await command("backup", "mine", *OPTIONS)).code == 20
        blog.overrides = {}
        assert (await command(*CAPTURE)).code == 4, "a run that failed says nothing about the pages"
        blog.posts = posts(8)
        assert (await command("backup", "mine", *OPTIONS)).code == 0
        assert sorted(path.name for path in (root / "assets").rglob("*.gz")) == before
        captured = await command(*CAPTURE)
        assert captured.code == 0, captured.err


async def test_a_refused_file_says_nothing_about_the_pages(command: Command, tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(12), dead_every=0)
    exported(blog, tmp_path / "export.txt")
    exported(stranger(), tmp_path / "theirs.txt")
    async with serving(blog) as origin:
        capture = (*CAPTURE, "--home-url", f"{origin}/")
        saved = await command("backup", "export.txt", "--archive", "mine", "--no-site", "--json")
        assert (saved.code, saved.document["from_file"]) == (0, True)
        assert (await command("backup", "theirs.txt", "--archive", "mine")).code == 4
        captured = await command(*capture)
        assert captured.code == 0, captured.err
        joined = await command("backup", f"{origin}/", "--archive", "mine", *OPTIONS, "--json")
        assert (joined.code, joined.document["joined"]["matched"], "from_file" in joined.document) == (0, 12, False)
        blog.posts = stranger().posts
        assert (await command("backup", f"{origin}/", "--archive", "mine", *OPTIONS)).code == 4
        assert (await command("backup", "export.txt", "--archive", "mine")).code == 0
        assert (await command(*capture)).code == 4, "the file says nothing about the pages either"


async def test_a_blog_that_begins_again_is_accepted_with_the_options_that_are_named(command: Command) -> None:
    blog = PublicBlog("livedoor", posts(8), dead_every=0)
    async with serving(blog) as origin:
        assert (await command("backup", origin, "--archive", "mine", *OPTIONS)).code == 0
        blog.posts = posts(6, 3001)
        refused = await command("backup", "mine", *OPTIONS)
        assert refused.code == 4
        assert refused.err.endswith("run again with --accept-join --accept-removals.\n"), refused.err
        done = await command("backup", "mine", *OPTIONS, "--accept-join", "--accept-removals")
        assert done.code == 0, done.err


async def test_forgetting_takes_the_sentence_of_a_refused_run(command: Command, tmp_path: Path) -> None:
    theirs, title = stranger().posts, "'わたしの本名は山田花子です' " + "と" * 80
    blog = PublicBlog("livedoor", posts(8), dead_every=0)
    for post in blog.posts.values():
        post.title = title
    async with serving(blog) as address:
        assert (await command("backup", address, "--archive", "mine", *OPTIONS)).code == 0
        blog.posts = theirs
        refused = await command("backup", "mine")
        assert (refused.code, "1001 was " in refused.err, "(2" in refused.err) == (4, True, True), refused.err
        assert "山田花子" in (tmp_path / "mine" / "runs.jsonl").read_text("utf-8")
        for number in range(1001, 1009):
            forgotten = await command("forget", "mine", "--entry", str(number), "--yes")
            assert forgotten.code == (0 if number == 1008 else 3), "the others have the same title"
    assert "山田花子" not in (tmp_path / "mine" / "runs.jsonl").read_text("utf-8")
    assert (await command("verify", "mine")).code == 0
