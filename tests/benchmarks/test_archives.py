from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.archives import build, nightly
from benchmarks.content import BlogSize
from benchmarks.history import Changed, settle
from benchmarks.kept import Taken, compare
from benchmarks.measure import Bench, serving
from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.model.kinds import Kind
from tests.archive import plain_reader

# Others run the same lines; measuring them here too would more than double the time.
pytestmark = [pytest.mark.bench, pytest.mark.no_cover]

SIZE = BlogSize(5, 30, 2)


def test_few_versions_and_many_end_in_the_same_blog(tmp_path: Path) -> None:
    real = os.fsync
    ends = []
    for count in (12, 3):
        root = build(tmp_path / str(count), SIZE, count).layout.root
        assert list(verify(Archive.open(root), quick=True)) == []
        assert [finding for finding in verify(Archive.open(root)) if finding.damage] == []
        numbers, states = zip(*plain_reader.states(Path(str(root))), strict=True)
        assert numbers == tuple(range(1, count + 1))
        ends.append(states[-1])
    assert os.fsync is real
    assert ends[0] == ends[1]
    assert {kind: len(records) for kind, records in ends[0].items() if records} == {
        "entries": 5, "entry_list": 5, "comments": 30, "files": 2, "user": 1,
    }  # fmt: skip


def test_a_night_edits_an_entry_and_adds_a_comment(tmp_path: Path) -> None:
    before: dict[Kind, dict[str, object]] = {}
    for archive in nightly(tmp_path / "archive", SIZE, 12):
        reader = Archive.open(archive.layout.root)
        now: dict[Kind, dict[str, object]] = {kind: dict(reader.records(kind)) for kind in Kind}
        if before:
            assert sum(now[Kind.ENTRIES][each] != before[Kind.ENTRIES][each] for each in now[Kind.ENTRIES]) == 1
            assert len(now[Kind.COMMENTS]) - len(before[Kind.COMMENTS]) == 1
            assert all(now[kind] == before[kind] for kind in (Kind.ENTRY_LIST, Kind.FILES, Kind.USER))
        before = now


def test_a_service_holds_what_the_archive_ends_in_until_it_is_edited(tmp_path: Path) -> None:
    root = build(tmp_path / "archive", SIZE, 4).layout.root
    with serving(SIZE) as service:
        settle(root, service)
        assert Changed(root, service).run().json["counts"]["entries"]["changed"] == 1
        service.edit()
        with pytest.raises(RuntimeError, match="does not hold the newest state"):
            settle(root, service)


def test_what_a_folder_takes(tmp_path: Path) -> None:
    (tmp_path / "one" / "two").mkdir(parents=True)
    (tmp_path / "one" / "two" / "file").write_bytes(b"x" * 5000)
    (tmp_path / "one" / "empty").write_bytes(b"")
    taken = Taken.by(tmp_path / "one")
    assert (taken.bytes, taken.files) == (5000, 2)
    assert taken.on_disk % 512 == 0


@pytest.mark.parametrize("name", [pytest.param("restic", marks=pytest.mark.importers), "git"])
def test_every_program_keeps_the_same_nights(tmp_path: Path, bench: Bench, name: str) -> None:
    assert bench.peer(name, name, everywhere=True), f"{name} is not installed; .ci/install gets it"
    taken = compare(tmp_path, SIZE, 3, [name])
    assert list(taken) == ["versions/", name]
    assert all(0 < first.bytes < last.bytes for first, last in taken.values())
