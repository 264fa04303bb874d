"""A token is sent to the service and appears nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from exporter.demo.content import Blog
from tests.support import faults
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.runs import Done, Runs, backup_command, serving

# Other tests cover the same lines; measuring coverage here would more than double the time.
pytestmark = pytest.mark.no_cover

TOKEN = "s3cret-t0ken-9f8e7d6c5b4a"


@pytest.fixture
def blog() -> Blog:
    return generated_blog(30, 5, 5)


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog, require_token=TOKEN) as running:
        yield running


def check_unseen(done: Done, root: Path) -> None:
    assert TOKEN not in done.out + done.err
    for path in root.rglob("*"):
        assert TOKEN not in path.name
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


async def gossip(request: web.Request) -> web.StreamResponse:
    """Fail, and repeat the caller's token in the message and in a header."""
    said = request.headers.get("Authorization", "")
    body = '{"json":{"result":"error","message":"you said %s","data":{}}}' % said  # noqa: UP031
    return web.Response(status=404, text=body, content_type="application/json", headers={"X-Echo": said})


@pytest.mark.parametrize("level", ["-q", "-v", "-vv", "--json"])
@pytest.mark.sample(2)
def test_a_token_is_nowhere(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, level: str) -> None:
    root = tmp_path / "archive"
    service.before = faults.first_of(
        faults.only("entry_id=7", gossip), faults.only("entry_id=8", faults.times(1, faults.status(503, 0)))
    )
    environ = {"BLOG_EXPORTER_TOKEN": TOKEN}
    command = backup_command(service, root, "--assets", "embedded", "--no-site", level)
    done = runs.run(*command, environ=environ)
    assert done.code == 3
    assert any(each.headers.get("Authorization") == f"Bearer {TOKEN}" for each in service.requests)
    check_unseen(done, root)
    # The checkpoint of an interrupted run does not contain it.
    done = runs.run(*command, environ=environ, kill_at=20)
    check_unseen(done, root)
    status = runs.run("status", root, "--json", environ=environ)
    assert (status.code, status.answer_before_error["interrupted_run"]) == (7, True)
    check_unseen(status, root)


def test_a_token_that_is_refused(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    wrong = TOKEN + "x"
    service.before = faults.only("", gossip_401)
    command = backup_command(service, tmp_path / "a", "--assets", "embedded", "--no-site", "-vv")
    done = runs.run(*command, environ={"BLOG_EXPORTER_TOKEN": wrong})
    assert done.code == 12
    assert "BLOG_EXPORTER_TOKEN" in done.err
    assert TOKEN not in done.err


async def gossip_401(request: web.Request) -> web.StreamResponse:
    return web.Response(status=401, text=f"no such token: {request.headers.get('Authorization')}")


@pytest.mark.parametrize("same_host", [True, False])
def test_a_token_never_follows_a_redirect_elsewhere(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, same_host: bool
) -> None:
    with DemoService(blog, ServiceOptions()).run_in_thread() as thief:
        target = thief.base_url if same_host else thief.base_url.replace("127.0.0.1", "localhost")

        async def redirect(request: web.Request) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": target + request.path_qs})

        service.before = redirect
        command = backup_command(service, tmp_path / "a", "--no-site", "-vv")
        done = runs.run(*command, environ={"BLOG_EXPORTER_TOKEN": TOKEN})
        assert done.code == 20
        assert thief.requests == []
        assert TOKEN not in done.err


def test_the_process_list_shows_no_token_and_no_child(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    looked = threading.Event()

    async def wait(_request: web.Request) -> None:
        await asyncio.to_thread(looked.wait)

    service.before = faults.only("entry/get", wait)
    run = runs.start(*backup_command(service, tmp_path / "a", "--token-file", token, "--assets", "embedded"))
    seen = 0
    assert run.goes_on_until(lambda: any(each.path.endswith("entry/get") for each in service.requests))
    try:
        for name in ("cmdline", "environ"):
            assert TOKEN.encode() not in Path(f"/proc/{run.pid}/{name}").read_bytes()
            seen += 1
        for thread in Path(f"/proc/{run.pid}/task").iterdir():
            with contextlib.suppress(
                FileNotFoundError, ProcessLookupError
            ):  # not every kernel tells, nor of an ended one
                assert (thread / "children").read_text() == ""
    finally:
        looked.set()
    done = run.wait()
    assert (done.code, seen) == (0, 2)
    check_unseen(done, tmp_path / "a")


def test_there_is_no_option_for_a_token(runs: Runs, blog: Blog) -> None:
    done = runs.run("backup", blog.blog_id, "--token", TOKEN)
    assert done.code == 2
    assert TOKEN not in done.err


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o600])
@pytest.mark.parametrize("where", ["settings", "token file"])
@pytest.mark.sample(2)
def test_files_with_a_token_that_others_can_read_get_a_warning(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, mode: int, where: str
) -> None:
    path = tmp_path / "kept"
    path.write_text(f'token = "{TOKEN}"\n' if where == "settings" else TOKEN)
    path.chmod(mode)
    option = "--config" if where == "settings" else "--token-file"
    command = backup_command(service, tmp_path / "a", "--assets", "embedded", "--no-site", option, path, "-q")
    done = runs.run(*command)
    assert done.code == 0
    assert ("others can read it: chmod 600" in done.err) is (mode != 0o600)
    check_unseen(done, tmp_path / "a")
    assert os.environ.get("BLOG_EXPORTER_TOKEN") is None


def test_a_token_sent_in_the_clear_is_warned_of_once(runs: Runs, blog: Blog, tmp_path: Path) -> None:
    patience = ["--retries", "0", "--quiet"]
    command = ("backup", blog.blog_id, "--base-url", "http://192.0.2.1", "--archive", tmp_path / "a", *patience)
    hurry = {"BLOG_EXPORTER_CONNECT_TIMEOUT": "1s"}
    far = runs.run(*command, environ={"BLOG_EXPORTER_TOKEN": TOKEN, **hurry})
    assert far.code == 20
    assert far.err.count("goes to 192.0.2.1 unencrypted") == 1
    check_unseen(far, tmp_path)
    assert "unencrypted" not in runs.run(*command, environ=hurry).err


def test_a_token_in_the_address_is_refused_and_nowhere(runs: Runs, blog: Blog, tmp_path: Path) -> None:
    for url in (f"https://api.example/?access_token={TOKEN}", f"http://api.example#{TOKEN}"):
        done = runs.run("backup", blog.blog_id, "--base-url", url, "--archive", tmp_path / "a", "-vv")
        assert done.code == 2
        assert "BLOG_EXPORTER_TOKEN" in done.err
        check_unseen(done, tmp_path)
