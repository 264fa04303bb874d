"""Archives of all earlier formats, made when each format was new, stay readable."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.archive.history import record_at, revisions
from exporter.archive.verify import verify
from exporter.model.changes import Change
from exporter.model.kinds import Kind
from tests.archive.versions import plain_states

FROZEN = Path(__file__).parent / "frozen"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A copy of the format 1 archive, so that no test writes to the frozen one."""
    return Path(shutil.copytree(FROZEN / "format-1", tmp_path / "archive"))


def expected() -> dict[str, Any]:
    return dict(json.loads((FROZEN / "format-1.json").read_text(encoding="utf-8")))


def test_format_1_is_intact(archive: Path) -> None:
    assert [finding for finding in verify(Archive.open(archive)) if finding.damage] == []


def test_format_1_reads_back_at_every_version(archive: Path) -> None:
    reader = Archive.open(archive)
    assert reader.versions() == [1, 2, 3]
    for version in reader.versions():
        state = reader.fold(version)
        found = {
            str(kind): {line.record_id: hashlib.sha256(line.data).hexdigest() for line in state.lines(kind)}
            for kind in Kind
        }
        assert found == expected()[str(version)]


def test_format_1_reads_back_without_the_package(archive: Path) -> None:
    for version, state in plain_states(archive).items():
        found = {
            str(kind): {key: hashlib.sha256(data).hexdigest() for key, data in held.items()}
            for kind, held in state.items()
        }
        assert found == expected()[str(version)]


def test_odd_records_of_format_1(archive: Path) -> None:
    reader = Archive.open(archive)
    twice = record_at(reader, Kind.ENTRIES, "3", 1)
    assert twice is not None
    assert twice.line.data == b'{"entry_id":"3","title":"twice","title":"again","price":1.10,"zero":-0,"huge":1e400}'
    lone = record_at(reader, Kind.ENTRIES, "10", 2)
    assert lone is not None
    assert lone.data()["title"] == "\ud83d lone"
    assert lone.data()["separator"] == "\u2028\u0085"
    number = record_at(reader, Kind.ENTRIES, "2")
    assert number is not None
    assert number.data()["big"] == 123456789012345678901234567890
    assert [step.change for step in revisions(reader, Kind.COMMENTS, "7")] == [Change.NEW, Change.GONE, Change.NEW]
    deep = record_at(reader, Kind.ENTRIES, "deep")
    assert deep is not None
    assert lossless_json.freeze(lossless_json.loads(deep.line.data)) == deep.line.frozen
