"""``check`` on the command line: one page, an exit code, JSON, and no escapes from the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from exporter.demo.content import demo_blog, fields
from exporter.text import width
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService

FILES = "https://files.example.jp/v1/blog/user/{user_id}/{mtime}"


@pytest.fixture
def service() -> Iterator[DemoService]:
    found = DemoService(demo_blog())
    with found.run_in_thread():
        yield found


def test_one_page(program: Program, service: DemoService) -> None:
    blog = next(iter(service.blogs.values()))
    fields(blog.user)["nickname"] = "し\x1b[2Jお" * 90
    given = ("--base-url", service.base_url, "--assets", "none")
    done = program("check", blog.blog_id, *given)
    assert (done.code, done.err) == (0, "")
    assert max(width(line) for line in done.out.splitlines()) <= 80
    assert "\x1b" not in done.out
    for words in ("entry/list 2", "about 60 entries", "6 sent, at most 10", "All is well"):
        assert words in done.out
    document = program("check", blog.blog_id, *given, "--json").json
    assert (document["exit_code"], document["requests"], document["blog_id"]) == (0, 6, blog.blog_id)
    assert len(service.requests) == 12


def test_an_archive(program: Program, service: DemoService, archive: Path) -> None:
    async def before(request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=503) if "comment" in request.path else None

    service.before = before
    done = program("check", archive, "--base-url", service.base_url, "--file-url", "http://127.0.0.1:1/{mtime}")
    assert (done.code, done.err) == (3, "")
    assert "comment/list failed: comment/list answered 503" in done.out
    assert "Check again later" in done.out
    assert "127.0.0.1:1/" in done.out
    assert service.requests[0].path == "/v1/user"


def test_no_address(program: Program) -> None:
    done = program("check", "x.example.jp")
    assert done.code == 2
    assert "The service of x.example.jp is unknown. Name it with --base-url or --profile." in done.out
    assert "nobody: no token is set" in done.out


def test_a_blog_of_the_settings_file_and_the_settings_in_its_archive(
    program: Program, service: DemoService, tmp_path: Path
) -> None:
    blog = next(iter(service.blogs.values()))
    config = tmp_path / "config" / "blog-exporter" / "blog-exporter.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[blogs.umi]\nblog_id = "{blog.blog_id}"\narchive = "{tmp_path / "umi"}"\n'
        f'base_url = "{service.base_url}"\nassets = "none"\n'
    )
    done = program("check", "umi")
    assert (done.code, "[blogs.umi]:base_url" in "".join(done.out.split())) == (0, True)
    assert str(tmp_path / "umi") in "".join(line.strip() for line in done.out.splitlines())
