"""A service with every fault that networks and servers have, and the real command that reads through it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.demo.content import Blog, fields
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.faults import Fault
from tests.support.generated import generated_blog
from tests.support.runs import Done, Runs, all_findings, backup_command, folded, held, lines_of_runs, serving

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = [pytest.mark.thorough, pytest.mark.no_cover]


@pytest.fixture
def blog() -> Blog:
    return generated_blog(60, 45, 41)


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog) as running:
        yield running


def back_up(runs: Runs, service: DemoService, root: Path, *options: object, **how: Any) -> Done:
    return runs.run(*backup_command(service, root, "--assets", "embedded", "--no-site", *options), **how)


def quarter(runs: Runs, blog: Blog, root: Path, seed: int) -> faults.Log:
    """Back up with faults in a quarter of all responses, and check that nothing is missing."""
    log = faults.Log()
    with serving(blog) as service:
        service.before = faults.quarter_faulty(seed, log=log)
        done = back_up(runs, service, root)
    assert (done.code, "Complete" in done.err) == (0, True), done.err
    assert folded(root) == held(blog)
    assert all_findings(root) == []
    assert lines_of_runs(root)[-1]["retries"] == log.counts.total()
    return log


def test_a_quarter_of_all_answers_faulty(runs: Runs, blog: Blog, tmp_path: Path) -> None:
    log = quarter(runs, blog, tmp_path / "archive", seed=1)
    assert set(log.counts) == set(faults.KINDS)


@pytest.mark.slow
def test_a_quarter_of_all_answers_faulty_again_and_again(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    struck: dict[str, int] = {}
    for seed in range(10):
        blog = generated_blog(200, 150, 100, seed=seed + 1)
        for kind, count in quarter(runs, blog, tmp_path / str(seed), seed).counts.items():
            struck[kind] = struck.get(kind, 0) + count
    with capsys.disabled():
        sys.stdout.write(f"\n10 backups through 25 % faults, all complete with exit 0: {struck}\n")
    assert set(struck) == set(faults.KINDS)


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(500), faults.status(503, retry_after=0), faults.status(408), faults.status(425),
        faults.reset, faults.truncated, faults.truncated_chunks, faults.truncated_silently, faults.empty, faults.html,
        faults.bad_gzip, faults.cut_gzip,
    ],
    ids=[
        "500", "503", "408", "425", "reset", "truncated", "chunks", "silently", "empty", "html", "bad gzip", "cut gzip",
    ],
)  # fmt: skip
def test_every_address_fails_once(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, fault: Fault) -> None:
    for record in list(blog.entries)[12:]:
        del blog.entries[record]
    service.before = faults.times(1, fault)
    done = back_up(runs, service, tmp_path / "archive", "--concurrency", 32)
    assert done.code == 0, done.err
    assert folded(tmp_path / "archive") == held(blog)


@pytest.mark.parametrize("fault", [faults.hang, faults.drip(0.1)], ids=["hang", "drip"])
def test_answers_that_never_end(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, fault: Fault) -> None:
    service.before = faults.only("entry_id=7", faults.times(1, fault))
    patience = {"BLOG_EXPORTER_READ_TIMEOUT": "0.3s", "BLOG_EXPORTER_TOTAL_TIMEOUT": "0.6s"}
    done = back_up(runs, service, tmp_path / "archive", environ=patience)
    assert done.code == 0, done.err
    assert folded(tmp_path / "archive") == held(blog)


def test_every_request_obeys_a_requested_pause(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    asked: list[float] = []

    async def busy(request: web.Request) -> web.StreamResponse | None:
        if "entry_id=30" in request.path_qs and not asked:
            asked.append(time.monotonic())
            return web.Response(status=429, headers={"Retry-After": "2"})
        return None

    service.before = busy
    # With one request at a time, none is under way when the response is sent.
    assert back_up(runs, service, tmp_path / "archive", "--concurrency", 1).code == 0
    assert len(asked) == 1
    early = [each for each in service.requests if asked[0] < each.time < asked[0] + 2.0]
    assert early == []
    assert any(each.time > asked[0] + 2.0 for each in service.requests)


def test_an_absurd_pause_ends_the_run_and_keeps_what_was_read(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path
) -> None:
    root = tmp_path / "archive"

    async def much_later(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=503, headers={"Retry-After": "10000000"})

    service.before = faults.only("entry_id=30", much_later)
    done = back_up(runs, service, root)
    assert done.code == 20
    assert "10000000 s" in done.err
    assert (root / ".work/checkpoint").is_dir()
    read = len([each for each in service.requests if each.path.endswith("entry/get")])
    service.before = None
    service.requests.clear()
    done = back_up(runs, service, root)
    assert done.code == 0
    assert "Resuming the run of" in done.err
    again = len([each for each in service.requests if each.path.endswith("entry/get")])
    assert again <= 60 - read + 8
    assert folded(root) == held(blog)


def test_a_service_that_dies_in_the_middle(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    alive = 30

    async def dying(request: web.Request) -> web.StreamResponse | None:
        if request.path.endswith("entry/get") and len(service.requests) > alive:
            service.before = faults.status(500)
            return await faults.status(500)(request)
        return None

    service.before = dying
    begun = time.monotonic()
    done = back_up(runs, service, root, "--give-up-after", "2s", "--retries", 1)
    assert done.code == 20, done.err
    assert time.monotonic() - begun > 1.5
    assert "no good answer" in done.err
    assert lines_of_runs(root)[-1]["outcome"] == "failed"
    assert (root / ".work/checkpoint").is_dir()
    service.before = None
    assert back_up(runs, service, root).code == 0
    assert folded(root) == held(blog)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (faults.status(429, retry_after=600), "asks to wait 600 s, longer than the 3 s this run would"),
        (faults.status(503, retry_after=1), "no good answer for 3 s"),
        (faults.hang, "no good answer for 3 s"),
    ],
    ids=["a long pause", "short pauses", "hang"],
)
def test_the_wall_clock_ends_a_run(runs: Runs, service: DemoService, tmp_path: Path, fault: Fault, said: str) -> None:
    service.before = fault
    done = back_up(runs, service, tmp_path / "archive", "--give-up-after", "3s")  # a longer wait would be killed
    assert done.code == 20, done.err
    assert said in done.err
    assert "Run again later" in done.err.splitlines()[-1]


def test_a_service_that_starts_late(runs: Runs, blog: Blog, tmp_path: Path) -> None:
    """As on a machine that has just resumed from sleep: connections are refused until the network is ready."""
    root = tmp_path / "archive"
    with serving(blog) as earlier:
        url = earlier.base_url
        assert back_up(runs, earlier, root).code == 0
        blog.user = {**fields(blog.user), "nickname": "起きた書き手"}
    run = runs.start("backup", root, "-v")
    until = time.monotonic() + 60
    # A new address would be given up after that many refused connections; a service that once answered is waited for.
    while run.stderr().count("entry/list: cannot connect") < 4:
        assert time.monotonic() < until, run.stderr()
        time.sleep(0.02)
    with serving(blog, port=int(url.rsplit(":", 1)[1])):
        done = run.wait()
    assert done.code == 0, done.err
    assert folded(root) == held(blog)


def test_a_body_over_the_cap_costs_one_record(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('max_body = "200KB"\n')

    async def huge(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=b" " * 300_000, content_type="application/json")

    service.before = faults.only("entry_id=7", huge)
    done = back_up(runs, service, tmp_path / "archive", "--config", settings)
    assert done.code == 3
    assert "entries 7: " in done.err
    expected = held(blog)
    del expected[next(iter(expected))]["7"]
    assert folded(tmp_path / "archive") == expected


def test_a_name_that_does_not_resolve(runs: Runs, blog: Blog, tmp_path: Path) -> None:
    address = "http://nowhere.invalid"
    done = runs.run("backup", blog.blog_id, "--base-url", address, "--archive", tmp_path / "a", "--retries", 2)
    assert done.code == 20
    assert "nowhere.invalid" in done.err
    assert not (tmp_path / "a").exists()
