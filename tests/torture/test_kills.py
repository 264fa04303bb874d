"""Killed at any instant: the archive is valid, nothing is lost, and the next run resumes."""

from __future__ import annotations

import random
import shutil
import signal
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from exporter.demo.content import Blog, fields
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.records import comment_record
from tests.support.runs import (
    Runs,
    State,
    all_findings,
    backup_command,
    command_for,
    findings,
    folded,
    held,
    lines_of_runs,
    serving,
    tree,
)

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = [pytest.mark.thorough, pytest.mark.no_cover]

WINDOW = 8
NEEDED = {"lock", "latest.json", "latest.rows", "views.jsonl", "freshness.jsonl"}
CACHES = {
    "assets",
    "assets.jsonl",
    "checked.jsonl",
    "documents.jsonl",
    "runs.jsonl",
    "embedded.jsonl",
    "versions.json",
    "site.facts",
    "site.pictures",
    "notified.json",
    "pages-entry_list.jsonl",
    "pages-comments.jsonl",
    "pages-files.jsonl",
}
"""All files that a finished run leaves in ``.work/``: no checkpoint, no half-made folder, no temporary file."""


@pytest.fixture
def blog() -> Blog:
    return generated_blog(23, 45, 21)


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog) as running:
        yield running


def change(blog: Blog) -> None:
    """Edit an entry, delete one with its list item, add one, and add and delete comments and files."""
    blog.entries[3] = {**fields(blog.entries[3]), "title": "改題", "entry_text": "<p>直しました。</p>"}
    del blog.entries[5]
    blog.entries[900] = {**fields(blog.entries[4]), "entry_id": "900", "title": "新しい記事"}
    del blog.comments[0]
    blog.comments.append(comment_record(901, 900, "みなと", "一番乗り！", datetime(2030, 1, 1)))  # noqa: DTZ001
    del blog.files[0]


def check_killed(root: Path, allowed: list[State]) -> None:
    """A killed run leaves no archive yet, or a valid one in one of the allowed states."""
    if not (root / "archive.json").exists():
        return
    assert findings(root) == []
    if any((root / "versions").iterdir()):
        assert folded(root) in allowed


def check_finished(root: Path, expected: State) -> None:
    """A finished run leaves a complete archive and no remains."""
    assert all_findings(root) == []
    assert folded(root) == expected
    versions = [int(path.name) for path in sorted((root / "versions").iterdir())]
    assert [run["version"] for run in lines_of_runs(root) if run["version"] is not None] == versions
    left = {path.name for path in (root / ".work").iterdir()}
    assert NEEDED <= left <= NEEDED | CACHES
    assert not list((root / ".work").glob("assets/*"))


def matrix(runs: Runs, service: DemoService, blog: Blog, start: Path, root: Path, *, step: int) -> int:
    """Kill a run before its n-th call for every ``step``-th n, then let one finish; return the number of kills."""
    before = [folded(start)] if (start / "archive.json").exists() else []
    expected = held(blog)
    command = (*command_for(service, root), "-q")
    for kills, number in enumerate(range(1, 10_000, step)):
        shutil.rmtree(root, ignore_errors=True)
        if start.exists():
            shutil.copytree(start, root)
        done = runs.run(*command, kill_at=number)
        if done.code != -signal.SIGKILL:
            assert (done.code, done.err) == (0, "")
            assert done.calls < number
            return kills
        check_killed(root, [*before, expected])
        done = runs.run(*command)
        assert (done.code, done.err) == (0, ""), number
        check_finished(root, expected)
        assert {path.read_bytes() for path in root.glob("assets/*/*")} >= set(blog.pictures.values())
    raise AssertionError("the run never ended")


@pytest.mark.parametrize(
    "step", [pytest.param(13, id="every 13th"), pytest.param(1, marks=pytest.mark.slow, id="every")]
)
def test_a_first_run_killed_before_any_call(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, step: int
) -> None:
    assert matrix(runs, service, blog, tmp_path / "nothing", tmp_path / "archive", step=step) * step > 90


@pytest.mark.parametrize(
    "step", [pytest.param(11, id="every 11th"), pytest.param(1, marks=pytest.mark.slow, id="every")]
)
def test_a_run_with_changes_killed_before_any_call(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, step: int
) -> None:
    start = tmp_path / "start"
    assert runs.run(*command_for(service, start), "-q").code == 0
    change(blog)
    assert matrix(runs, service, blog, start, tmp_path / "archive", step=step) * step > 60


def test_a_run_without_changes_killed_before_any_call(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path
) -> None:
    start = tmp_path / "start"
    assert runs.run(*command_for(service, start), "-q").code == 0
    assert matrix(runs, service, blog, start, tmp_path / "archive", step=8) > 3


@pytest.mark.parametrize(
    "step", [pytest.param(40, id="every 40th"), pytest.param(1, marks=pytest.mark.slow, id="every")]
)
def test_a_site_killed_before_any_call(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, step: int) -> None:
    """``latest/`` stays unchanged until the new site is complete, and the same command resumes."""
    start, root = tmp_path / "start", tmp_path / "archive"
    assert runs.run(*command_for(service, start), "-q").code == 0
    without = tree(start / "latest")
    shutil.copytree(start, root)
    assert runs.run("site", root, "-q").code == 0
    whole = tree(root / "latest")
    for kills, number in enumerate(range(1, 100_000, step)):
        shutil.rmtree(root)
        shutil.copytree(start, root)
        done = runs.run("site", root, kill_at=number)
        if done.code != -signal.SIGKILL:
            assert done.code == 0
            assert kills * step > 120
            break
        assert findings(root) == []
        assert tree(root / "latest") in (without, whole)
        assert runs.run("site", root).code == 0
        assert tree(root / "latest") == whole
        assert all_findings(root) == []
    assert tree(root / "latest") == whole


def test_a_run_killed_right_after_its_version_got_its_name(
    runs: Runs, service: DemoService, blog: Blog, tmp_path: Path
) -> None:
    """The next run writes the missing line, silently drops the used checkpoint, and updates ``latest/``."""
    root = tmp_path / "archive"
    command = backup_command(service, root, "--assets", "embedded", "--no-site")
    killed = runs.run(*command, kill_after=root / "versions/000001")
    assert killed.code == -signal.SIGKILL
    assert lines_of_runs(root) == []
    service.requests.clear()

    # Even if the service is down that day, latest/ shows the saved records.
    away = runs.run("backup", blog.blog_id, "--base-url", "http://127.0.0.1:9", "--archive", root, "--retries", 0)
    assert away.code == 20
    assert all_findings(root) == []
    assert [run["version"] for run in lines_of_runs(root)] == [1, None]
    line = lines_of_runs(root)[0]
    assert (line["outcome"], line["exit_code"], line["requests"]) == ("saved", 0, None)
    assert line["completeness"]["complete"]

    done = runs.run(*command)
    assert done.code == 0
    assert "set aside" not in done.err
    assert "Going on" not in done.err
    assert "no new version" in done.err
    check_finished(root, held(blog))


def random_kills(
    runs: Runs, tmp_path: Path, *, backups: int, kills: int, seed: int, views: bool = False
) -> dict[str, float]:
    """Kill runs at random instants until each backup is finished; return the figures."""
    chance = random.Random(seed)
    figures = {"kills": 0, "invalid": 0, "lost": 0, "wrong": 0, "requests": 0, "undisturbed": 0, "allowed": 0.0}
    for number in range(backups):
        blog = generated_blog(60 if views else 120, 90, 40, seed=number + 1)
        expected = held(blog)
        with serving(blog) as service:
            command = (
                "backup",
                blog.blog_id,
                "--base-url",
                service.base_url,
                "--assets",
                "embedded",
                "-q",
                *(() if views else ("--no-markdown", "--no-site")),
                "--archive",
            )
            whole = runs.run(*command, tmp_path / f"undisturbed{seed}-{number}")
            assert whole.code == 0
            undisturbed = len(service.requests)
            lists = sum(request.path.endswith("/list") for request in service.requests)
            shutil.rmtree(tmp_path / f"undisturbed{seed}-{number}")
            service.requests.clear()
            root = tmp_path / f"archive{seed}-{number}"
            struck = 0
            while struck < kills:
                # The disk is the same until the next call, so these are all instants, however fast the machine is.
                done = runs.run(*command, root, kill_at=chance.randint(1, whole.calls * 6 // (5 * kills)))
                if done.code != -signal.SIGKILL:
                    # It finished before the kill: the next run starts over.
                    assert done.code == 0, done
                    break
                struck += 1
                if (root / "archive.json").exists():
                    figures["invalid"] += bool(findings(root))
            else:
                done = runs.run(*command, root)
                assert (done.code, done.err) == (0, "")
            figures["kills"] += struck
            figures["lost"] += sum(len(expected[kind].keys() - folded(root)[kind].keys()) for kind in expected)
            figures["requests"] += len(service.requests)
            figures["undisturbed"] += undisturbed
            # A resumed run reads the lists again.
            # A run that had read all records when killed while making views is done; the next one reads all again.
            read_whole = sum(run["outcome"] in {"saved", "unchanged"} for run in lines_of_runs(root))
            figures["allowed"] += 1.1 * undisturbed * read_whole + (WINDOW + lists) * struck
            check_finished(root, expected)
            after = tree(root / "latest")
            assert runs.run("rebuild", root, *(() if views else ("--no-markdown", "--no-site"))).code == 0
            rebuilt = tree(root / "latest")
            assert ("site/index.html" in after) is views
            figures["wrong"] += sum(after.get(name) != rebuilt.get(name) for name in {*after, *rebuilt})
            shutil.rmtree(root)
    return figures


@pytest.mark.parametrize("views", [False, True], ids=["records", "views"])
def test_random_kills(runs: Runs, tmp_path: Path, views: bool) -> None:
    figures = random_kills(runs, tmp_path, backups=1 if views else 2, kills=10, seed=1, views=views)
    assert figures["kills"] > 5
    assert (figures["invalid"], figures["lost"], figures["wrong"]) == (0, 0, 0)
    assert figures["requests"] <= figures["allowed"]


@pytest.mark.slow
@pytest.mark.parametrize("views", [False, True], ids=["records", "views"])
def test_two_hundred_random_kills(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str], views: bool) -> None:
    total: dict[str, float] = {}
    seed = 0
    while total.get("kills", 0) < 200:
        seed += 1
        for name, value in random_kills(runs, tmp_path, backups=4, kills=10, seed=seed, views=views).items():
            total[name] = total.get(name, 0) + value
    with capsys.disabled():
        sys.stdout.write(
            f"\n{total['kills']:.0f} random SIGKILLs: {total['invalid']:.0f} invalid archives, {total['lost']:.0f} lost "
            f"records, {total['wrong']:.0f} files in latest/ not as a rebuild makes them, {total['requests']:.0f} requests where undisturbed runs need {total['undisturbed']:.0f} "
            f"and {total['allowed']:.0f} are allowed\n"
        )
    assert (total["invalid"], total["lost"], total["wrong"]) == (0, 0, 0)
    assert total["requests"] <= total["allowed"]


def test_nothing_outside_the_archive_is_touched(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path) -> None:
    around = tmp_path / "around"
    around.mkdir()
    (around / "theirs.txt").write_text("mine")
    before = tree(around)
    root = around / "archive"
    command = backup_command(service, root, "--assets", "embedded", "-q")
    runs.run(*command, kill_at=60)
    done = runs.run(*command)
    assert done.code == 0
    assert {name: data for name, data in tree(around).items() if not name.startswith("archive")} == before
    assert not [path for path in root.rglob("*") if path.is_symlink()]
    assert {oct(path.stat().st_mode & 0o077) for path in root.rglob("*")} == {"0o0"}
