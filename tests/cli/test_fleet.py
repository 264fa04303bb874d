"""``fleet``: many blogs from a real service, each with its own archive."""

from __future__ import annotations

import asyncio
import itertools
import json
import shlex
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp import web

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.fleet.ledger import FILE_NAME
from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.copies.support import files_in
from tests.site.test_view import entry
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Runs

BLOGS = [f"b{number}.blog.example.jp" for number in range(12)]


@pytest.fixture(scope="module")
def platform() -> Iterator[DemoService]:
    first, *more = (generated_blog(4, 2, 1, blog_id=name, seed=number) for number, name in enumerate(BLOGS))
    with DemoService(first, None, *more).run_in_thread() as served:
        yield served


@pytest.fixture
def service(platform: DemoService) -> Iterator[DemoService]:
    platform.requests.clear()
    yield platform
    platform.before = None


@pytest.fixture
def blogs(tmp_path: Path) -> Path:
    path = tmp_path / "blogs.txt"
    path.write_text("".join(f"{name}\n" for name in BLOGS), encoding="utf-8")
    return path


def options(service: DemoService) -> list[str]:
    return ["--base-url", service.base_url, "--assets", "none", "--retries", "0", "--give-up-after", "60s"]


def failures_noted(root: Path) -> int:
    with closing(sqlite3.connect(root / FILE_NAME)) as connection:
        (found,) = connection.execute("SELECT count(*) FROM attempts WHERE exit_code <> 0").fetchone()
        return int(found)


def test_every_blog_becomes_an_archive_and_is_not_asked_for_again(
    program: Program, service: DemoService, blogs: Path, tmp_path: Path
) -> None:
    done = program("fleet", "run", blogs, "--into", tmp_path / "fleet", *options(service), "--json")
    assert done.code == 0, done.err
    assert done.json["blogs"] == {"listed": 12, "new": 0, "saved": 12, "partial": 0, "failed": 0}
    assert done.json["requests"] == len(service.requests)
    for name in BLOGS:
        place = archive_place(tmp_path / "fleet", name)
        assert program("verify", place).code == 0
        assert len((place / "latest" / "entries.jsonl").read_text("utf-8").splitlines()) == 4
        assert not (place / "latest" / "site").exists()
    service.requests.clear()
    again = program("fleet", "run", blogs, "--into", tmp_path / "fleet", *options(service))
    assert (again.code, service.requests) == (0, [])
    later = program(
        "fleet", "run", blogs, "--into", tmp_path / "fleet", *options(service), "--again-after", "0s", "--site"
    )
    assert later.code == 0
    assert (archive_place(tmp_path / "fleet", BLOGS[0]) / "latest" / "site" / "index.html").is_file()
    assert Archive.open(archive_place(tmp_path / "fleet", BLOGS[0])).newest() == 1


def test_a_failing_blog_does_not_stop_the_others(program: Program, service: DemoService, tmp_path: Path) -> None:
    blogs = tmp_path / "blogs.csv"
    blogs.write_text("blog_id,priority,retries\ngone.blog.example.jp,9,\nb1.blog.example.jp,,2\n", encoding="utf-8")
    fleet = tmp_path / "fleet"
    done = program(
        "fleet", "run", blogs, "--into", fleet, *options(service), "--tries", "1", "--at-once", "1", "--json"
    )
    assert done.code == 3
    assert done.answer_before_error["blogs"] == {"listed": 2, "new": 0, "saved": 1, "partial": 0, "failed": 1}
    assert "gone.blog.example.jp: " in done.err
    assert "1 blog of the fleet" in done.err
    assert next(filter(None, (request.params.get("id") for request in service.requests))) == "gone.blog.example.jp"
    shown = program("fleet", "status", fleet)
    assert shown.code == 3
    assert "1 of 2 blogs archived, 1 failed in the newest attempt." in shown.out
    assert "such as gone.blog.example.jp" in shown.out
    assert program("fleet", "status", fleet, "--json").answer_before_error["due_later"] == 1
    assert 'blog_exporter_fleet_blogs{fleet="' in program("fleet", "status", fleet, "--prometheus").out
    only = tmp_path / "only.txt"
    only.write_text("gone.blog.example.jp\n", encoding="utf-8")
    nothing = program("fleet", "run", only, "--into", tmp_path / "other", *options(service), "--tries", "1")
    assert nothing.code == 20
    assert "No blog could be saved" in nothing.err


def test_a_momentary_failure_is_retried_in_the_same_run(
    program: Program, service: DemoService, blogs: Path, tmp_path: Path
) -> None:
    root = tmp_path / "fleet"

    async def refuse_until_it_is_noted(request: web.Request) -> web.StreamResponse | None:
        if request.query.get("id") != BLOGS[3] or failures_noted(root):
            return None
        return web.Response(status=503)

    service.before = refuse_until_it_is_noted
    done = program("fleet", "run", blogs, "--into", root, *options(service), "--retry-after", "1s")
    assert done.code == 0, done.err
    assert f"{BLOGS[3]}: " in done.err
    assert "again in 1." in done.err
    assert "12 of 12 blogs archived." in done.err


def test_a_blog_that_is_gone_is_asked_for_once_in_a_run(program: Program, service: DemoService, tmp_path: Path) -> None:
    blogs = tmp_path / "blogs.txt"
    blogs.write_text("gone.blog.example.jp\n", encoding="utf-8")
    done = program(
        "fleet", "run", blogs, "--into", tmp_path / "fleet", *options(service), "--tries", "9", "--retry-after", "1s"
    )
    assert done.code == 20
    assert len(service.requests) == 4


def test_a_cause_that_waiting_does_not_change_is_named_once_and_not_retried(
    program: Program, service: DemoService, tmp_path: Path
) -> None:
    root, blogs = tmp_path / "fleet", tmp_path / "blogs.txt"
    blogs.write_text(f"{BLOGS[0]}\n{BLOGS[1]}\nnone.blog.example.jp\n", encoding="utf-8")

    async def refuse_one_at_first(request: web.Request) -> web.StreamResponse | None:
        is_refused = request.path.endswith("/entry/get") and request.query.get("id") == BLOGS[1] and not partly()
        return web.Response(status=503) if is_refused else None

    def partly() -> int:
        with closing(sqlite3.connect(root / FILE_NAME)) as connection:
            found = connection.execute(
                "SELECT count(*) FROM attempts a JOIN blogs b ON b.number = a.blog WHERE b.blog_id = ?", (BLOGS[1],)
            )
            return int(found.fetchone()[0])

    service.before = refuse_one_at_first
    words = ("fleet", "run", blogs, "--into", root, *options(service), "--assets", "linked", "--retry-after", "1s")
    done = program(*words, "--json")
    with closing(sqlite3.connect(root / FILE_NAME)) as connection:
        found = connection.execute("SELECT blog_id, a.exit_code, kind FROM attempts a JOIN blogs b ON b.number = blog")
        attempts = sorted(found.fetchall())
    assert attempts == [
        (BLOGS[0], 3, "StaysIncomplete"),
        (BLOGS[1], 3, "Incomplete"),
        (BLOGS[1], 3, "StaysIncomplete"),
        ("none.blog.example.jp", 20, "BlogGone"),
    ]
    lines = [line for line in done.err.splitlines() if line.startswith("  ")]
    assert sorted(line.split(": ")[1] for line in lines) == ["archived, incomplete"] * 3 + ["failed"]
    assert [line.endswith("not again in this run.") for line in lines].count(True) == 3
    assert [line for line in lines if "not again" in line and "tries again" in line] == []
    state = "2 of 3 blogs archived, 2 of them incomplete, 1 failed in the newest attempt."
    answer = done.answer_before_error
    assert (done.code, answer["archived"], answer["lasting"]) == (3, 2, 3)
    assert answer["blogs"] == {"listed": 3, "new": 0, "saved": 0, "partial": 2, "failed": 1}
    shown = program("fleet", "status", root)
    for text in (done.err, shown.out):
        assert state in text
    for text in (done.err, shown.err):
        assert "waiting does not change the causes" in text
    again = program("fleet", "run", blogs, "--into", root, *options(service), "--retry-now")
    assert (again.code, "2 of 3 blogs archived, 1 failed" in again.err) == (3, True), again.err


@pytest.mark.parametrize("name", ["run", "capture"])
def test_the_line_for_a_missing_folder_is_complete(program: Program, name: str, blogs: Path, tmp_path: Path) -> None:
    done = program("fleet", name, blogs, "--rate", "5")
    assert done.code == 2
    command = shlex.split(done.err.partition("Add it: ")[2])
    assert command[-6:] == [name, str(blogs), "--rate", "5", "--into", "DIR"]
    assert f"fleet {name} [OPTIONS] LIST --into DIR" in program("fleet", name).err


@pytest.mark.parametrize("at_once", ["1", "12"])
@pytest.mark.parametrize("spellings", [["{}"], ["{}", "{}/"]])
@pytest.mark.sample(1)
def test_a_service_that_asks_for_a_long_pause_gets_no_more_requests(
    program: Program, service: DemoService, tmp_path: Path, at_once: str, spellings: list[str]
) -> None:
    blogs = tmp_path / "blogs.csv"
    addresses = itertools.cycle(spelling.format(service.base_url) for spelling in spellings)
    lines = [f"{name},{address}\n" for name, address in zip(BLOGS, addresses, strict=False)]
    blogs.write_text("blog_id,base_url\n" + "".join(lines), encoding="utf-8")
    refused: list[float] = []

    async def busy(request: web.Request) -> web.StreamResponse | None:
        if len(service.requests) < 10:
            return None
        refused.append(time.monotonic())
        return web.Response(status=503, headers={"Retry-After": "3600"})

    service.before = busy
    words = ("--assets", "none", "--concurrency", "2", "--at-once", at_once)
    done = program("fleet", "run", blogs, "--into", tmp_path / "fleet", *words, "--tries", "2", "--retry-after", "1s")
    assert done.code in {3, 20}
    assert "asks to wait 3600 s" in done.err
    assert len(refused) <= 2, "the requests under way at the first refusal"


def test_wrong_options_are_refused_before_any_request(
    program: Program, service: DemoService, blogs: Path, tmp_path: Path
) -> None:
    into = ("--into", tmp_path / "fleet", *options(service))
    empty = tmp_path / "empty.txt"
    empty.write_text("# none\n")
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("a.example.jp\nb.example.jp c\n")
    Built(tmp_path / "archive").commit({Kind.ENTRIES: {"1": entry(1, "海")}})
    before = files_in(tmp_path / "archive")
    for words, reason in (
        (("run", tmp_path / "none.txt", *into), "none.txt cannot be read"),
        (("run", empty, *into), "lists no blog"),
        (("run", wrong, *into), "wrong.txt, line 2"),
        (("run", blogs, "--into", tmp_path / "archive", *options(service)), "is the archive of a blog"),
        (("run", blogs, *into, "--deadline", "soon"), "option --deadline is 'soon'"),
        (("run", blogs, *into, "--retry-after", "2"), "--retry-after"),
        (("run", blogs, *into, "--concurrency", "500"), "a whole number from 1 to 256"),
        (("status", tmp_path / "fleet", "--json", "--prometheus"), "not both"),
    ):
        done = program("fleet", *words)
        assert (done.code, reason in done.err) == (2, True), done.err
    assert program("fleet", "status", tmp_path / "nowhere").code == 10
    assert service.requests == []
    assert not (tmp_path / "fleet").exists()
    assert files_in(tmp_path / "archive") == before


def test_after_a_deadline_the_rest_is_named(
    program: Program, service: DemoService, blogs: Path, tmp_path: Path
) -> None:
    done = program(
        "fleet", "run", blogs, "--into", tmp_path / "fleet", *options(service), "--deadline", "2020-01-31", "--json"
    )
    assert done.code == 3
    assert done.answer_before_error["blogs"]["new"] == 12
    assert service.requests == []


def test_two_runs_at_once_and_one_that_is_killed(
    runs: Runs, program: Program, service: DemoService, blogs: Path, tmp_path: Path
) -> None:
    fleet = tmp_path / "fleet"
    slow: list[str] = []

    async def wait(request: web.Request) -> web.StreamResponse | None:
        slow.append(request.path)
        if len(slow) > 20:
            await asyncio.sleep(0.5)
        return None

    service.before = wait
    words = ("fleet", "run", str(blogs), "--into", str(fleet), *options(service), "--at-once", "3")
    first = runs.start(*words)
    while len(slow) < 25:
        time.sleep(0.02)
    locked = program(*words)
    assert locked.code == 11
    running = program("fleet", "status", fleet, "--json").answer_before_error["run"]
    assert (running["running"], running["exit_code"]) == (True, None)
    first.signal(signal.SIGKILL)
    first.wait()
    dead = program("fleet", "status", fleet)
    assert dead.code == 7
    assert "was killed" in dead.out
    second = runs.start(*words)
    before = len(slow)
    while len(slow) < before + 3:
        time.sleep(0.02)
    second.signal(signal.SIGINT)
    stopped = second.wait()
    assert stopped.code == 130
    assert "not tried yet" in stopped.err
    service.before = None
    assert program(*words).code == 0
    assert json.loads(program("fleet", "status", fleet, "--json").out)["blogs"]["saved"] == 12
    assert [name for name in BLOGS if program("verify", archive_place(fleet, name)).code] == []


def test_the_token_goes_only_to_the_operators_own_service(
    program: Program, service: DemoService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []

    async def note(request: web.Request) -> web.StreamResponse | None:
        seen.append(request.headers.get("Authorization"))
        return None

    service.before = note
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "operators-secret")
    listed = tmp_path / "blogs.txt"
    listed.write_text(f"{BLOGS[0]} base_url={service.base_url}\n", encoding="utf-8")
    elsewhere = ["--base-url", "http://127.0.0.1:9", "--retries", "0", "--assets", "none"]
    assert program("fleet", "run", listed, "--into", tmp_path / "fleet", *elsewhere).code == 0
    assert set(seen) == {None}
    seen.clear()
    own = ["--base-url", service.base_url, "--retries", "0", "--assets", "none"]
    assert program("fleet", "run", listed, "--into", tmp_path / "other", *own).code == 0
    assert set(seen) == {"Bearer operators-secret"}


def test_a_row_of_the_ledger_runs_no_program(program: Program, service: DemoService, tmp_path: Path) -> None:
    listed = tmp_path / "blogs.txt"
    listed.write_text(f"{BLOGS[0]} rate=50\n", encoding="utf-8")
    place = tmp_path / "fleet"
    assert program("fleet", "run", listed, "--into", place, *options(service)).code == 0
    with closing(sqlite3.connect(place / FILE_NAME)) as connection:
        changed = json.dumps({"token_command": f"touch {tmp_path / 'ran'}"})
        connection.execute("UPDATE blogs SET settings = ?, due_at = 0", (changed,))
        connection.commit()
    done = program("fleet", "run", "--into", place, *options(service))
    assert not (tmp_path / "ran").exists()
    assert done.code == 2, done.err
