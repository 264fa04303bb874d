"""A full disk, for real: a one-megabyte file system, or a limit on file sizes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.demo.content import Blog, fields
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import (
    Done,
    Runs,
    Zygote,
    all_findings,
    backup_command,
    findings,
    folded,
    held,
    lines_of_runs,
    serving,
)

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = pytest.mark.no_cover


@pytest.fixture
def runs(zygote: Zygote, tmp_path: Path) -> Iterator[Runs]:
    """Runs with fsync, like those of users."""
    with Runs(tmp_path / "process", zygote, durable=True) as started:
        yield started


@pytest.fixture
def blog() -> Blog:
    return generated_blog(60, 40, 21)


@pytest.fixture
def service(blog: Blog) -> Iterator[DemoService]:
    with serving(blog) as running:
        yield running


def back_up(runs: Runs, service: DemoService, root: Path, *options: str, **how: int) -> Done:
    return runs.run(*backup_command(service, root, "--assets", "none", *options), **how)


def edit(blog: Blog) -> None:
    """Edit every entry, so that a run needs as much space again."""
    for key, record in blog.entries.items():
        blog.entries[key] = {**fields(record), "title": f"改題された {key} 番の記事"}


@pytest.mark.parametrize("limit", [2_000, 60_000, 150_000, 200_000])
@pytest.mark.sample(1)
def test_a_limit_on_the_size_of_files(runs: Runs, service: DemoService, blog: Blog, tmp_path: Path, limit: int) -> None:
    root = tmp_path / "archive"
    assert back_up(runs, service, root, "--no-site").code == 0
    before = folded(root)
    edit(blog)
    service.requests.clear()
    done = back_up(runs, service, root, "--no-site", file_size=limit)
    assert done.code == 28, done.err
    assert "No space left" in done.err
    assert "Traceback" not in done.err
    assert findings(root) == []
    assert folded(root) == before
    # If not even one page fits, there is nothing to resume.
    assert (root / ".work/checkpoint").is_dir() or limit == 2_000
    assert not (root / ".work/new-version").exists()
    assert back_up(runs, service, root, "--no-site").code == 0
    assert folded(root) == held(blog)
    assert all_findings(root) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.thorough
def test_a_full_disk(runs: Runs, service: DemoService, blog: Blog, small_disk: Path) -> None:
    """On a disk of any size, either all records are saved, or the older state remains and the next run resumes."""
    root = small_disk / "archive"
    assert back_up(runs, service, root).code == 0
    before = folded(root)
    edit(blog)
    ballast = small_disk / "ballast"
    outcomes = []
    for free in (4, 40, 150, 300, 450):
        status = os.statvfs(small_disk)
        have = status.f_bavail * status.f_frsize
        ballast.write_bytes(b"x" * max(0, have - free * 1024))
        done = back_up(runs, service, root)
        outcomes.append(done.code)
        ballast.unlink()
        assert findings(root) == []
        if done.code != 28:
            break
        assert "No space left" in done.err
        assert "Traceback" not in done.err
        assert folded(root) in (before, held(blog))
    assert 28 in outcomes
    assert back_up(runs, service, root).code == 0
    assert folded(root) == held(blog)
    assert all_findings(root) == []
    assert [run["version"] for run in lines_of_runs(root) if run["version"]] == [1, 2]
