"""After a kill before any call that changes the disk, an archive is valid, shows an old or new state, and continues."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.archive import atomic, writer
from exporter.archive.archive import Archive
from exporter.archive.documents import seal
from exporter.archive.latest import is_current
from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.archive.verify import verify
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, CREATED, Built, entry, pages, run_line
from tests.support.instants import instants

# Other tests cover the same lines; measuring coverage here would more than double the time.
pytestmark = pytest.mark.no_cover

RECORD = (entry(99, "後"), 6)
NEW_VIEW = {"index.md": b"# new index\n", "2016/01/a.md": b"a\n", "2016/02/b.md": b"b\n"}


def write_file(root: Path) -> None:
    """Replace a small file."""
    atomic.write_file(root / "file", b"new" * 1000)


def create(root: Path) -> None:
    """Create an archive."""
    writer.create(Layout(root), ArchiveInfo(BLOG, CREATED))


def commit(root: Path) -> None:
    """Commit the sixth version."""
    Built.reopen(root).commit({Kind.ENTRIES: {"99": entry(99, "後")}}, run=False)


def append_run(root: Path) -> None:
    """Append the line of a run."""
    writer.append_run(Layout(root), run_line(outcome="unchanged", version=None))


def write_latest(root: Path) -> None:
    """Update ``latest/`` with a changed view."""
    Built.reopen(root).refresh(pages(NEW_VIEW))


def whole(root: Path) -> None:
    """Do everything that a run does after it has read the service."""
    commit(root)
    append_run(root)
    write_latest(root)


STEPS: dict[str, Callable[[Path], None]] = {
    step.__name__: step for step in (write_file, create, commit, append_run, write_latest, whole)
}


def crashes(step: str, template: Path, folder: Path, *, at_least: int, every: int = 1) -> Iterator[tuple[Path, bool]]:
    """Yield a copy of each state in which a kill leaves an archive, in order, and whether the step was completed."""
    root = folder / "archive"
    shutil.copytree(template, root)
    with instants(root, folder / "instants", step=every) as copies:
        STEPS[step](root)
    assert len(copies) >= at_least // every
    for copy in copies:
        yield copy, copy == copies[-1]


def damage(root: Path) -> list[str]:
    """Return the damage that ``verify`` finds, as text."""
    return [f"{found.code} {found.path} {found.detail}" for found in verify(Archive.open(root)) if found.damage]


def ids(root: Path) -> list[str]:
    """Return the IDs of the newest entries."""
    state = Archive.open(root).state()
    found = list(state.ids(Kind.ENTRIES))
    state.close()
    return found


def finish(root: Path) -> None:
    """Clean up and complete the archive as the next run does."""
    layout = Layout(root)
    writer.require_place(root, BLOG)
    writer.clean_leftovers(layout)
    if Archive.open(root).newest() == 5:
        STEPS["commit"](root)
    seal(layout)
    STEPS["write_latest"](root)
    assert damage(root) == []
    assert list(verify(Archive.open(root))) == []
    assert is_current(layout, 6, [pages(NEW_VIEW)])
    assert {path.name for path in layout.work.iterdir()} <= {
        "latest.json", "latest.rows", "views.jsonl", "checked.jsonl", "documents.jsonl", "runs.jsonl",
    }  # fmt: skip
    assert (layout.latest / "markdown/2016/02/b.md").read_bytes() == b"b\n"


def test_a_small_file_is_old_or_new(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.mkdir()
    (template / "file").write_bytes(b"old")
    seen = [(root / "file").read_bytes() for root, _ in crashes("write_file", template, tmp_path / "runs", at_least=2)]
    assert set(seen) == {b"old", b"new" * 1000}
    assert seen == sorted(seen, reverse=True)


def test_a_new_archive_can_be_begun_again(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.mkdir()
    whole = []
    for root, _ in crashes("create", template, tmp_path / "runs", at_least=9):
        writer.require_place(root, BLOG)
        whole.append((root / "archive.json").exists())
        if not whole[-1]:
            STEPS["create"](root)
        assert Archive.open(root).info == ArchiveInfo(BLOG, CREATED)
        assert {path.name for path in root.iterdir()} >= {"README.txt", "FORMAT.md", "runs.jsonl", "versions", "assets"}
        writer.clean_leftovers(Layout(root))
        assert not list(root.glob(".*.tmp"))
    assert whole == sorted(whole)
    assert set(whole) == {False, True}


@pytest.mark.parametrize("finished_ones", [4, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_version_exists_completely_or_not_at_all(five: Built, tmp_path: Path, finished_ones: int) -> None:
    seen: list[int | None] = []
    before = ids(five.root)
    for root, finished in crashes("commit", five.root, tmp_path / "runs", at_least=10):
        assert damage(root) == []
        newest = Archive.open(root).newest()
        assert set(ids(root)) - {"99"} == set(before)
        assert ("99" in ids(root)) == (newest == 6)
        seen.append(newest)
        assert newest == 6 or not finished
        if len(seen) % finished_ones == 0:
            finish(root)
    assert seen == sorted(seen, key=lambda number: number or 0)
    assert set(seen) == {5, 6}


def test_a_run_has_its_line_or_not(five: Built, tmp_path: Path) -> None:
    before = five.reader.runs()
    seen = []
    for root, _ in crashes("append_run", five.root, tmp_path / "runs", at_least=2):
        runs = Archive.open(root).runs()
        assert runs[:5] == before
        assert damage(root) == []
        seen.append(len(runs))
    assert seen == sorted(seen)
    assert set(seen) <= {5, 6}


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.thorough)])
def test_an_incomplete_latest_is_not_damage_and_not_used(archive: Built, tmp_path: Path, every: int) -> None:
    archive.commit({Kind.ENTRIES: {"99": RECORD[0]}})
    for root, _ in crashes("write_latest", archive.root, tmp_path / "runs", at_least=25, every=every):
        assert damage(root) == []
        assert "99" in ids(root)
        finish(root)


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_whole_run_is_valid_at_every_instant(five: Built, tmp_path: Path, every: int) -> None:
    states = crashes("whole", five.root, tmp_path / "runs", at_least=40, every=every)
    for number, (root, finished) in enumerate(states):
        assert damage(root) == []
        if finished:
            assert list(verify(Archive.open(root))) == []
        if number % 5 == 0:
            finish(root)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_line_of_a_run_is_passed_over_and_cut_off_by_the_next(archive: Built, cut: int) -> None:
    whole, sums = archive.layout.runs.read_bytes(), archive.layout.sums.read_bytes()
    STEPS["append_run"](archive.root)
    longer = archive.layout.runs.read_bytes()
    archive.layout.runs.write_bytes(longer[: len(whole) + min(cut, len(longer) - len(whole) - 1)])
    archive.layout.sums.write_bytes(sums)
    assert len(archive.reader.runs()) == 5
    assert damage(archive.root) == []
    STEPS["append_run"](archive.root)
    assert archive.layout.runs.read_bytes() == longer
