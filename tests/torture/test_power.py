"""A power cut at any instant: records of finished runs are still stored, and the next backup restores the views."""

from __future__ import annotations

import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from exporter.demo.content import Blog, fields
from tests.support.demo_service import DemoService
from tests.support.disks import KINDS, Disk, NoDisk
from tests.support.generated import generated_blog
from tests.support.records import comment_record
from tests.support.runs import Runs, State, Zygote, all_findings, backup_command, findings, folded, held, serving, tree

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = [pytest.mark.thorough, pytest.mark.no_cover]


@pytest.fixture
def runs(zygote: Zygote, tmp_path: Path) -> Iterator[Runs]:
    """Runs with fsync, like those of users."""
    with Runs(tmp_path / "process", zygote, durable=True) as started:
        yield started


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    kind = str(request.param)
    try:
        made = Disk.make(tmp_path / "disk", kind)
        with made.mounted(tmp_path / "mounted"):
            pass
    except NoDisk as error:
        pytest.skip(f"only where {kind} can be made and mounted, as root: {error}")
    yield made
    made.file.unlink()


@dataclass
class Cut:
    """A disk after a power cut, and the saved state of each version that was reported before it."""

    disk: Disk
    saved: list[State]


@dataclass
class Figures:
    """The results of the cuts."""

    cuts: int = 0
    before_any_archive: int = 0
    lost: int = 0
    invalid: int = 0
    made_again: int = 0
    wrong_views: list[str] = field(default_factory=list)


def edit(blog: Blog, number: int) -> None:
    """Edit some entries, add one with a comment, and remove a comment."""
    for key in list(blog.entries)[number % 3 :: 3]:
        blog.entries[key] = {**fields(blog.entries[key]), "title": f"{number} 回目に改題された {key} 番の記事"}
    blog.entries[900 + number] = {**fields(blog.entries[1]), "entry_id": str(900 + number), "title": "新しい記事"}
    blog.comments.append(comment_record(900 + number, 900 + number, "みなと", "一番乗り！", datetime(2030, 1, 1)))  # noqa: DTZ001
    del blog.comments[0]


def command_for(service: DemoService, root: Path) -> tuple[object, ...]:
    files = service.base_url + "/v1/blog/user/{user_id}/{mtime}"
    return backup_command(service, root, "--file-url", files, "--allow-private-network", "--retries", 1, "-q")  # fmt: skip


def cut_runs(
    runs: Runs, service: DemoService, blog: Blog, disk: Disk, folder: Path, chance: random.Random, *, rounds: int
) -> list[Cut]:
    """Cut the power at two random moments of each run and once after its end; the blog changes before each run."""
    cuts: list[Cut] = []
    saved: list[State] = []
    with disk.mounted(folder / "mounted") as mounted:
        took = 4.0
        for number in range(rounds):
            edit(blog, number)
            begun = time.monotonic()
            run = runs.start(*command_for(service, mounted / "archive"))
            for moment in sorted(chance.uniform(0, took) for _ in range(2)):
                time.sleep(max(0.0, begun + moment - time.monotonic()))
                run.signal(signal.SIGSTOP)
                cuts.append(Cut(disk.cut(folder / f"cut{len(cuts)}"), list(saved)))
                run.signal(signal.SIGCONT)
            done = run.wait()
            assert (done.code, done.err) == (0, "")
            took = time.monotonic() - begun
            saved.append(held(blog))
            time.sleep(chance.choice((0, 0, 1, 3, 6)))
            cuts.append(Cut(disk.cut(folder / f"cut{len(cuts)}"), list(saved)))
    return cuts


def lost_from(root: Path, saved: list[State]) -> int:
    """Count the records of finished runs that are missing from an archive or changed."""
    return sum(
        found[kind].get(record_id) != data
        for version, expected in enumerate(saved, 1)
        for found in (folded(root, version),)
        for kind, records in expected.items()
        for record_id, data in records.items()
    )


def check(runs: Runs, service: DemoService, blog: Blog, cut: Cut, folder: Path, figures: Figures) -> None:
    """Check a disk after a cut, run the next backup there, and compare its views with those of a rebuild."""
    figures.cuts += 1
    with cut.disk.mounted(folder / "after") as mounted:
        root = mounted / "archive"
        if (root / "archive.json").exists():
            figures.invalid += bool(findings(root))
            figures.lost += lost_from(root, cut.saved)
        else:
            assert not cut.saved
            figures.before_any_archive += 1
        done = runs.run(*command_for(service, root)[:-1])
        assert done.code == 0, done.err
        figures.made_again += "Made again in latest/" in done.err
        figures.lost += lost_from(root, cut.saved)
        assert folded(root) == held(blog)
        assert all_findings(root) == []
        after = tree(root / "latest")
        assert runs.run("rebuild", root).code == 0
        rebuilt = tree(root / "latest")
        figures.wrong_views += [name for name in {*after, *rebuilt} if after.get(name) != rebuilt.get(name)]
        assert {path.read_bytes() for path in root.glob("assets/*/*")} >= set(blog.pictures.values())
    cut.disk.file.unlink()


def power_cuts(runs: Runs, disk: Disk, folder: Path, *, seed: int, rounds: int) -> Figures:
    figures = Figures()
    chance = random.Random(f"{disk.kind} {seed}")
    blog = generated_blog(40, 45, 21, seed=seed)
    with serving(blog) as service:
        cuts = cut_runs(runs, service, blog, disk, folder, chance, rounds=rounds)
        for cut in cuts:
            check(runs, service, blog, cut, folder, figures)
    return figures


def test_power_cuts(runs: Runs, disk: Disk, tmp_path: Path) -> None:
    figures = power_cuts(runs, disk, tmp_path, seed=1, rounds=1)
    assert figures.cuts == 3
    assert (figures.lost, figures.invalid, figures.wrong_views) == (0, 0, [])


@pytest.mark.slow
def test_twenty_power_cuts_of_each_file_system(
    runs: Runs, disk: Disk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    total = Figures()
    for seed in (2, 3):
        figures = power_cuts(runs, disk, tmp_path, seed=seed, rounds=4)
        for name in ("cuts", "before_any_archive", "lost", "invalid", "made_again", "wrong_views"):
            setattr(total, name, getattr(total, name) + getattr(figures, name))
        disk = Disk.make(disk.file, disk.kind)
    with capsys.disabled():
        sys.stdout.write(f"\n{disk.kind}: {total}\n")
    assert total.cuts >= 20
    assert (total.lost, total.invalid, total.wrong_views) == (0, 0, [])


def test_damage_by_the_disk_is_repaired(runs: Runs, tmp_path: Path) -> None:
    """As a power cut leaves the files of a program without fsync: names without content."""
    root = tmp_path / "archive"
    blog = generated_blog(12, 10, 6)
    with serving(blog) as service:
        assert runs.run(*command_for(service, root)).code == 0
        whole = tree(root / "latest")
        views = sorted((root / "latest/markdown").rglob("*.md")) + sorted((root / "latest/site").rglob("*.html"))
        assert len(views) > 24
        for path in views:
            path.write_bytes(b"")
        entries = root / "latest/entries.jsonl"
        entries.write_bytes(entries.read_bytes()[:-100])
        shutil.rmtree(root / "latest/site/assets", ignore_errors=True)
        done = runs.run(*command_for(service, root)[:-1])
    assert done.code == 0
    assert "Made again in latest/:" in done.err
    assert tree(root / "latest") == whole
    assert all_findings(root) == []
    # If the service is down that day, the repair is the same.
    views[3].write_bytes(b"")
    away = runs.run("backup", blog.blog_id, "--base-url", "http://127.0.0.1:9", "--archive", root, "--retries", 0)
    assert away.code == 20
    assert "Made again in latest/: 1 damaged file." in away.err
    assert views[3].read_bytes() == whole[str(views[3].relative_to(root / "latest"))]
    views[3].write_bytes(b"")
    assert runs.run("site", root).code == 0
    assert all_findings(root) == []
