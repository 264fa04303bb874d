"""``capture`` and ``backup --capture``: the real program, its exit codes, its JSON and its settings."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.demo.content import demo_blog
from tests.capture.running import answers
from tests.support.runs import Runs, serving
from tests.support.styled_blog import StyledBlog, styled_blog

ELSEWHERE = "pictures.example.jp,video.example.com"


@pytest.fixture
def blog() -> Iterator[StyledBlog]:
    made = styled_blog(12)
    with made.serving_in_thread():
        yield made


def command(blog: StyledBlog, root: Path) -> tuple[object, ...]:
    return (
        "capture", f"{blog.origin}/", "--archive", root, "--service", "public-site", "--rate", 10_000, "--concurrency", 4,
        "--skip-asset-hosts", ELSEWHERE,
    )  # fmt: skip


def test_a_first_capture_begins_an_archive_that_remembers(runs: Runs, blog: StyledBlog, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    done = runs.run(*command(blog, root), "--operator", "A. Person", "--json")
    assert done.code == 0, done.err
    document = done.document
    assert (document["outcome"], document["capture"], document["failed"]) == ("captured", 1, 0)
    assert all(blog.address(number) in answers(root / "captures") for number in blog.posts)
    assert "Complete: every page in the scope was answered." in done.err
    done = runs.run("capture", root, "--json")
    assert (done.code, done.document["outcome"], done.document["written"]) == (0, "unchanged", 0), done.err
    assert 'operator = "A. Person"' in (root / "settings.toml").read_text("utf-8")


def test_a_partial_capture_names_what_is_missing(runs: Runs, blog: StyledBlog, tmp_path: Path) -> None:
    blog.edit(next(iter(blog.posts)), body='<img src="http://nowhere.invalid/x.png">')
    done = runs.run(*command(blog, tmp_path / "blog"), "--retries", 0)
    assert done.code == 3
    assert "INCOMPLETE. Missing:" in done.err
    assert "nowhere.invalid" in done.err
    done = runs.run("capture", tmp_path / "blog", "-q", "--retries", 0)
    assert done.code == 3
    assert done.err.count("\n") == 1


def test_a_dry_run_prints_a_plan_and_writes_nothing(runs: Runs, blog: StyledBlog, tmp_path: Path) -> None:
    done = runs.run(*command(blog, tmp_path / "blog"), "--dry-run", "--json")
    assert (done.code, done.document["outcome"]) == (0, "planned"), done.err
    assert not (tmp_path / "blog").exists()


def test_a_dead_address_is_an_error_and_leaves_nothing(runs: Runs, tmp_path: Path) -> None:
    done = runs.run(
        "capture", "http://127.0.0.1:9/", "--archive", tmp_path / "blog", "--service", "public-site", "--home-url",
        "http://127.0.0.1:9/", "--retries", 0, "--json",
    )  # fmt: skip
    assert done.code == 20
    assert json.loads(done.out)["error"]["exit_code"] == 20
    assert not (tmp_path / "blog").exists()


def test_an_interrupted_capture_resumes(runs: Runs, tmp_path: Path) -> None:
    made = styled_blog(40)
    made.server.delay = 0.02
    with made.serving_in_thread():
        root = tmp_path / "blog"
        run = runs.start(*command(made, root))
        deadline = time.monotonic() + 60
        while made.server.asked.total() < 60 and time.monotonic() < deadline:
            time.sleep(0.01)
        run.signal(signal.SIGINT)
        done = run.wait()
        assert done.code == 130, done.err
        made.server.delay = 0
        done = runs.run(*command(made, root))
        assert done.code == 0
        assert "Resuming the capture" in done.err
        assert all(len(each) == 1 for each in answers(root / "captures").values())


def test_a_backup_captures_if_asked_and_remembers_it(runs: Runs, blog: StyledBlog, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    how = ("--rate", 10_000, "--concurrency", 4, "--skip-asset-hosts", ELSEWHERE, "--no-site")
    done = runs.run("backup", f"{blog.origin}/", "--archive", root, "--capture", *how, "--json")
    assert done.code == 0, done.err
    assert done.document["capture"]["outcome"] == "captured"
    number = next(iter(blog.posts))
    blog.edit(number, title="新しい題")
    done = runs.run("backup", root, "--json")
    assert (done.document["version"], done.document["capture"]["capture"]) == (2, 2), done.err
    assert blog.address(number) in answers(root / "captures" / "000002")


def test_a_capture_that_fails_makes_a_backup_partial(runs: Runs, blog: StyledBlog, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    how = ("--rate", 10_000, "--skip-asset-hosts", ELSEWHERE, "--no-site", "--home-url", "http://127.0.0.1:9/")
    done = runs.run("backup", f"{blog.origin}/", "--archive", root, "--capture", *how, "--retries", 0, "--json")
    assert done.code == 3, done.err
    assert done.document["capture"]["outcome"] == "failed"
    assert "The public pages could not be captured" in done.err


def test_an_archive_of_an_api_is_captured_by_its_permalinks(runs: Runs, tmp_path: Path) -> None:
    blog = demo_blog()
    site = styled_blog(blog=blog)
    root = tmp_path / "blog"
    with serving(blog) as service, site.serving_in_thread():
        options = ("--base-url", service.base_url, "--archive", root, "--assets", "none", "--no-site", "--no-markdown")
        done = runs.run("backup", next(iter(service.blogs)), *options)
        assert done.code == 0, done.err
        entry_url = f"{site.origin}/Entry/{{entry_id}}/"
        done = runs.run("capture", root, "--entry-url", entry_url, "--rate", 10_000, "--skip-asset-hosts", ELSEWHERE)
        assert done.code == 0, done.err
    found = answers(root / "captures")
    assert all(site.address(number) in found for number in site.posts)
    hidden = {int(key) for key in blog.entries} - set(site.posts)
    named = {number for number in hidden if any(f"/Entry/{number}/" in post.body for post in site.posts.values())}
    assert hidden - named
    # The others may be private, and no page names them: they were asked without a trace.
    assert [number for number in hidden - named if site.address(number) in found] == []


def test_another_capture_of_the_archive_is_refused(runs: Runs, tmp_path: Path) -> None:
    made = styled_blog(3)
    with made.serving_in_thread():
        root = tmp_path / "blog"
        assert runs.run(*command(made, root)).code == 0
        with ArchiveLock(Layout(root).lock) as lock:
            lock.acquire(SystemClock().now())
            assert runs.run("capture", root).code == 11
