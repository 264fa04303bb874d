"""``fleet capture``: the public pages of many blogs, each in its own archive."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import accumulate
from pathlib import Path

import pytest

from exporter.archive.captures import captures
from exporter.archive.fleet_folder import archive_place
from exporter.archive.layout import Layout
from exporter.warc.lookup import CaptureLookup
from tests.cli.conftest import Program
from tests.fleet.captured import PageServer
from tests.support.runs import Runs

NAMES = [f"b{number}.blog.example.jp" for number in range(4)]
QUICK = ("--rate", "200", "--retries", "0", "--tries", "1", "--allow-private-network")


def pages_of(name: str, posts: int = 3) -> dict[str, str]:
    """Return the pages of a blog in a folder."""
    links = "".join(f'<a href="/{name}/{number}.html">{number}</a>' for number in range(posts))
    return {
        f"/{name}/": f"<title>{name}</title>{links}",
        **{f"/{name}/{number}.html": f"<title>{number}</title><p>{name} {number}" for number in range(posts)},
    }


@pytest.fixture
def server() -> Iterator[PageServer]:
    pages = {path: text for name in NAMES for path, text in pages_of(name).items()}
    with PageServer(pages).running() as served:
        yield served


def write_list(path: Path, server: PageServer, names: Sequence[str] = NAMES, more: str = "") -> Path:
    tables = (f'[[blogs]]\nblog_id = "{name}"\nhome_url = "{server.origin}/{name}/"\n{more}\n' for name in names)
    path.write_text("".join(tables), encoding="utf-8")
    return path


def captured_in(root: Path, name: str) -> list[int]:
    return [each.number for each in captures(Layout(archive_place(root, name)))]


def test_the_pages_of_every_blog_are_captured_once(program: Program, server: PageServer, tmp_path: Path) -> None:
    root, blogs = tmp_path / "fleet", write_list(tmp_path / "blogs.toml", server)
    command = ["fleet", "capture", blogs, "--into", root, *QUICK, "--json"]
    first = program(*command)
    assert first.code == 0, first
    assert first.json["blogs"] == {"listed": 4, "new": 0, "saved": 4, "partial": 0, "failed": 0}
    assert first.json["requests"] >= 4 * 4
    for name in NAMES:
        assert captured_in(root, name) == [1]
        lookup = CaptureLookup(Layout(archive_place(root, name)))
        found = lookup.nearest(f"{server.origin}/{name}/2.html")
        assert found is not None
        with lookup.replay(found) as replay:
            assert b"".join(replay.payload).endswith(f"{name} 2".encode())
    asked = len(server.asked)
    assert program(*command).json["requests"] == 0
    assert len(server.asked) == asked
    server.pages[f"/{NAMES[0]}/2.html"] = "<p>changed"
    again = program(*command, "--again-after", "0s")
    assert again.code == 0, again
    assert [captured_in(root, name) for name in NAMES] == [[1, 2], [1], [1], [1]]
    status = program("fleet", "status", root, "--captures", "--json")
    assert (status.code, status.json["blogs"]["saved"], status.json["run"]["number"]) == (0, 4, 3)
    assert program("fleet", "status", root).code == 10
    with closing(sqlite3.connect(root / "captures.sqlite")) as ledger:
        rows = ledger.execute(
            "SELECT exit_code, coalesce(version, 0), requests > 0 FROM attempts ORDER BY number"
        ).fetchall()
    assert sorted(rows) == [(0, 0, 1)] * 3 + [(0, 1, 1)] * 4 + [(0, 2, 1)]


def test_a_failing_blog_stops_no_other(program: Program, server: PageServer, tmp_path: Path) -> None:
    del server.pages[f"/{NAMES[1]}/"]
    root, blogs = tmp_path / "fleet", write_list(tmp_path / "blogs.toml", server)
    done = program("fleet", "capture", blogs, "--into", root, *QUICK, "--json")
    assert done.code == 3, done
    assert done.answer_before_error["blogs"]["saved"] == 3
    assert NAMES[1] in done.err
    status = program("fleet", "status", root, "--captures", "--json")
    assert [each["example"] for each in status.answer_before_error["failures"]] == [NAMES[1]]


def test_a_list_cannot_reach_a_private_network_or_name_the_operator(
    program: Program, server: PageServer, tmp_path: Path
) -> None:
    blogs = write_list(tmp_path / "blogs.toml", server, NAMES[:1])
    done = program("fleet", "capture", blogs, "--into", tmp_path / "fleet", "--retries", "0", "--tries", "1")
    assert done.code in {3, 20}, done
    assert server.asked == []
    for line in ('operator = "a@b.example"', 'user_agent = "x"', "allow_private_network = true"):
        blogs = write_list(tmp_path / "blogs.toml", server, NAMES[:1], line)
        done = program("fleet", "capture", blogs, "--into", tmp_path / "fleet")
        assert (done.code, "a list cannot set" in done.err) == (2, True), done


def test_requests_and_captures_name_the_operator(program: Program, server: PageServer, tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('operator = "図書館 <web@library.example>"\n', encoding="utf-8")
    root, blogs = tmp_path / "fleet", write_list(tmp_path / "blogs.toml", server, NAMES[:1])
    assert program("fleet", "capture", blogs, "--into", root, *QUICK, "--config", config).code == 0
    (agent,) = {agent for _, agent in server.asked}
    assert agent.startswith("blog-exporter/")
    assert agent.endswith("(+web@library.example)")
    (capture,) = captures(Layout(archive_place(root, NAMES[0])))
    assert (capture.info().user_agent, capture.info().operator) == (agent, "図書館 <web@library.example>")


def test_the_blogs_of_a_service_share_its_limits(program: Program, server: PageServer, tmp_path: Path) -> None:
    root, blogs = tmp_path / "fleet", tmp_path / "blogs.toml"
    with PageServer(server.pages).running() as other:
        server.delay = other.delay = 0.03
        tables = write_list(blogs, server, NAMES[:2]).read_text("utf-8")
        tables += write_list(blogs, other, NAMES[2:]).read_text("utf-8")
        blogs.write_text(tables, encoding="utf-8")
        command = ["fleet", "capture", blogs, "--into", root, *QUICK, "--concurrency", "2"]
        done = program(*command, "--base-url", "https://api.example.jp")
    assert done.code == 0, done
    starts = [(begun, 1) for begun, _ in server.spans + other.spans]
    ends = [(end, -1) for _, end in server.spans + other.spans]
    assert max(accumulate(change for _, change in sorted(starts + ends))) == 2


@pytest.mark.thorough
def test_an_interrupted_run_is_resumed(runs: Runs, program: Program, server: PageServer, tmp_path: Path) -> None:
    server.delay = 0.05
    root, blogs = tmp_path / "fleet", write_list(tmp_path / "blogs.toml", server)
    command = ["fleet", "capture", blogs, "--into", root, *QUICK, "--concurrency", "1"]
    run = runs.start(*command)
    deadline = time.monotonic() + 60
    while len(server.asked) < 9 and time.monotonic() < deadline:
        time.sleep(0.02)
    run.signal(signal.SIGINT)
    assert run.wait().code == 130
    before = [path for path, _ in server.asked]
    done = program(*command)
    assert done.code == 0, done
    asked = [path for path, _ in server.asked]
    pages = [path for name in NAMES for path in pages_of(name)]
    assert {*pages} <= {*asked}
    assert sum(asked.count(path) - 1 for path in pages if path.endswith(".html")) <= len(NAMES), (before, asked)
    for name in NAMES:
        assert captured_in(root, name) == [1]


@pytest.mark.thorough
def test_several_hosts_are_divided_among_workers(program: Program, server: PageServer, tmp_path: Path) -> None:
    root, blogs = tmp_path / "fleet", tmp_path / "blogs.toml"
    with PageServer(server.pages).running() as other:
        write_list(blogs, server, NAMES[:2])
        tables = blogs.read_text("utf-8")
        write_list(blogs, other, NAMES[2:])
        blogs.write_text(tables + blogs.read_text("utf-8"), encoding="utf-8")
        done = program("fleet", "capture", blogs, "--into", root, *QUICK, "--workers", "2", "--json")
        assert done.code == 0, done
        assert other.asked
    assert done.json["blogs"]["saved"] == 4
    assert [captured_in(root, name) for name in NAMES] == [[1]] * 4
    with closing(sqlite3.connect(root / "captures.sqlite")) as ledger:
        workers = {worker for (worker,) in ledger.execute("SELECT worker FROM attempts")}
    assert len(workers) == 2
    assert not (root / ".work" / "capture-hosts").exists()
