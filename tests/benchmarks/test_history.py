from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import history
from benchmarks.history_archive import build
from benchmarks.history_blog import HistorySize, NightlyBlog
from benchmarks.history_rivals import Taken, compare, rivals
from benchmarks.history_service import running_service
from benchmarks.measure import Cores, Sample
from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.model.kinds import Kind
from tests.archive import plain_reader

# Others run the same lines; measuring them here too would more than double the time.
pytestmark = pytest.mark.no_cover

SIZE = HistorySize(30, 12)


def test_few_versions_and_many_end_in_the_same_blog(tmp_path: Path) -> None:
    real = os.fsync
    many, few = (build(tmp_path / str(count), SIZE, count) for count in (12, 3))
    assert os.fsync is real
    ends = []
    for layout, count in ((many, 12), (few, 3)):
        assert list(verify(Archive.open(layout.root), quick=True)) == []
        assert [finding for finding in verify(Archive.open(layout.root)) if finding.damage] == []
        numbers, states = zip(*plain_reader.states(Path(str(layout.root))), strict=True)
        assert numbers == tuple(range(1, count + 1))
        ends.append(states[-1])
    assert ends[0] == ends[1]
    assert {kind: len(records) for kind, records in ends[0].items() if records} == {
        "entries": 30, "entry_list": 30, "comments": 11, "files": 40, "user": 1,
    }  # fmt: skip


def test_a_night_changes_little() -> None:
    blog = NightlyBlog(SIZE)
    assert len(blog.everything()[Kind.ENTRIES]) == SIZE.at_first == 26
    for changes in blog.pass_nights(SIZE.nights):
        assert len(changes[Kind.ENTRIES]) == (2 if blog.night % 3 == 0 else 1)
        assert len(changes[Kind.COMMENTS]) == 1
    assert (blog.night, len(blog.everything()[Kind.ENTRIES])) == (12, 30)


def test_a_blog_that_changed_is_not_measured(tmp_path: Path) -> None:
    build(tmp_path / "archive", HistorySize(30, 11), 2)
    with (
        running_service(SIZE, None) as base_url,
        pytest.raises(RuntimeError, match="does not hold the newest state"),
    ):
        history.settle([history.Place(tmp_path / "archive", 2)], base_url, Cores())


def test_what_a_folder_takes(tmp_path: Path) -> None:
    (tmp_path / "one" / "two").mkdir(parents=True)
    (tmp_path / "one" / "two" / "file").write_bytes(b"x" * 5000)
    (tmp_path / "one" / "empty").write_bytes(b"")
    taken = Taken.by(tmp_path / "one")
    assert (taken.bytes, taken.files) == (5000, 2)
    assert taken.on_disk % 512 == 0


@pytest.mark.parametrize("name", [pytest.param("restic", marks=pytest.mark.importers), "git"])
def test_every_program_keeps_the_same_nights(tmp_path: Path, name: str) -> None:
    assert name in rivals(), f"{name} is not installed; .ci/install gets it"
    taken = compare(tmp_path, SIZE, 3, [name])
    assert list(taken) == ["versions/", name]
    assert all(0 < first.bytes < last.bytes for first, last in taken.values())


def test_the_whole_prints_tables_and_what_was_met(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = history.Place.commands
    monkeypatch.setattr(
        history.Place,
        "commands",
        lambda place, url: {name: every(place, url)[name] for name in ("backup, no change", "log")},
    )
    history.main(["--entries=6", "--nights=2", "--few=1", "--rounds=1", "--kept=0"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 nights, 6 entries in the end, 1 rounds"
    assert [line.split()[0] for line in lines[5:7]] == ["backup,", "log"]
    assert sum(line.startswith("show --at ") for line in lines) == 2 * len(history.Place(Path(), 2).shown())
    assert [line.split()[0] in {"met", "MISSED"} for line in lines[-3:]] == [True] * 3


def test_ratios_are_medians_over_pairs_and_targets_are_judged() -> None:
    def pair(one: float, two: float) -> tuple[Sample, Sample]:
        return Sample(one, one / 2, 0, 0), Sample(two, two, 0, 0)

    pairs = {"backup, no change": [pair(1, 1), pair(9, 3), pair(2.2, 2)], "log": [pair(3, 1)]}
    assert history.ratio(pairs["backup, no change"], "wall") == pytest.approx(1.1)
    assert history.ratio(pairs["backup, no change"], "cpu") == pytest.approx(0.55)
    shown = {"show --at 1": [Sample(0.5, 0, 0, 0)], "show --at 2": [Sample(1.5, 0, 0, 0), Sample(0.9, 0, 0, 0)]}
    assert [line.split()[0] for line in history.verdicts(pairs, shown)] == ["met", "MISSED", "MISSED"]


def test_sizes_tell_what_a_night_adds() -> None:
    line = history.sizes_table({"git": [Taken(1000, 4096, 1), Taken(21_000, 8192, 3)]}, 5)[1]
    assert (line.split()[0], line.split()[-1]) == ("git", "5.00")
