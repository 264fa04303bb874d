from __future__ import annotations

from pathlib import Path

import pytest

from exporter.archive import atomic
from exporter.archive import history as module
from exporter.archive.archive import Archive
from exporter.archive.history import VersionRow, version_rows
from exporter.archive.manifest import KindCounts
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind
from tests.archive.versions import ArchiveMaker, comment, entry


def made(root: Path, versions: int = 3) -> ArchiveMaker:
    maker = ArchiveMaker(root / "archive")
    for number in range(1, versions + 1):
        maker.commit(
            {
                Kind.ENTRIES: {str(number): entry(str(number)), "0": entry("0", str(number))},
                Kind.COMMENTS: {"7": comment("7")},
            }
        )
    return maker


def test_rows_match_the_manifests(tmp_path: Path) -> None:
    rows = version_rows(made(tmp_path).reader)
    assert [row.version for row in rows] == [1, 2, 3]
    second = rows[1]
    assert (second.started_at, second.finished_at) == ("2026-01-02T11:55:00Z", "2026-01-02T12:00:00Z")
    assert (second.complete, second.problems, second.pruned) == (True, 0, 0)
    assert second.counts()[Kind.ENTRIES] == KindCounts(3, 1, 1, 0)
    assert second.counts()[Kind.COMMENTS] == KindCounts(1, 0, 0, 0)
    assert second.document()["counts"]["entries"] == {"total": 3, "new": 1, "changed": 1, "gone": 0}


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that receives the number of each version whose manifest is read."""
    read: list[int] = []
    real = module._row_of

    def row(reader: Archive, number: int) -> VersionRow:
        read.append(number)
        return real(reader, number)

    monkeypatch.setattr(module, "_row_of", row)
    return read


def test_manifests_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = made(tmp_path)
    read = counting(monkeypatch)
    rows = version_rows(maker.reader)
    assert version_rows(maker.reader) == rows
    assert read == [1, 2, 3]
    maker.commit({Kind.ENTRIES: {"9": entry("9")}})
    assert [row.version for row in version_rows(maker.reader)] == [1, 2, 3, 4]
    assert read == [1, 2, 3, 4]


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "edition", "folder"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    reader = made(tmp_path).reader
    rows = version_rows(reader)
    path = reader.layout.version_log
    data = path.read_bytes()
    if harm == "folder":
        path.unlink()
        path.mkdir()
    elif harm == "edition":
        monkeypatch.setattr(module, "_EDITION", 0)
    else:
        path.write_bytes({"cut": data[:-5], "flip": data.replace(b"2026", b"2036"), "empty": b""}[harm])
    read = counting(monkeypatch)
    assert version_rows(reader) == rows
    assert read == [1, 2, 3]


def test_a_cache_of_another_history_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = made(tmp_path).reader
    version_rows(reader)
    manifest = reader.layout.manifest(3)
    manifest.write_bytes(manifest.read_bytes().replace(b"2026-01-03T12", b"2026-01-03T13"))
    read = counting(monkeypatch)
    assert version_rows(reader)[-1].finished_at == "2026-01-03T13:00:00Z"
    assert read == [1, 2, 3]


def test_fewer_versions_than_the_cache_knows(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    version_rows(reader)
    for path in reader.layout.version(3).iterdir():
        path.unlink()
    reader.layout.version(3).rmdir()
    assert [row.version for row in version_rows(reader)] == [1, 2]


def test_a_read_only_archive_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = made(tmp_path).reader

    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError

    monkeypatch.setattr(atomic, "write_file", refuse)
    assert len(version_rows(reader)) == 3
    assert not reader.layout.version_log.exists()


def test_an_archive_without_versions_has_no_rows(tmp_path: Path) -> None:
    assert version_rows(ArchiveMaker(tmp_path / "archive").reader) == []


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    reader.layout.manifest(2).write_bytes(b"{}")
    with pytest.raises(ArchiveDamaged, match="000002"):
        version_rows(reader)


def test_cached_rows_equal_the_rows(tmp_path: Path) -> None:
    maker = made(tmp_path)
    version_rows(maker.reader)
    maker.commit({Kind.ENTRIES: {"2": None}, Kind.FILES: {"5": {"file_id": "5"}}})
    fresh = version_rows(maker.reader)
    kept = version_rows(maker.reader)
    assert kept == fresh
    assert [row.version for row in kept] == [1, 2, 3, 4]
    assert kept[3].text() == "     4  2026-01-04T12:00:00Z  entries -1, uploads +1"
    assert kept[2].text() == "     3  2026-01-03T12:00:00Z  entries +1 ~1"


def test_a_row_names_unusual_facts() -> None:
    counts = {str(kind): {"total": 9, "new": 0, "changed": 0, "gone": 0} for kind in Kind}
    row = VersionRow(7, "2026-01-01T00:00:00Z", "\x1b[2J\u202e", complete=False, problems=1, numbers=counts, pruned=3)
    assert row.text() == "     7  \\x1b[2J\\u202e  lists only   3 older folded in   INCOMPLETE"
