"""The ``Archive`` object: created, opened, read, and read again after a prune during the read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.errors import ArchiveDamaged, NoArchive, NoSuchRecord, UsageError
from exporter.model.kinds import Kind
from tests.archive.builder import Built

NOW = datetime(2026, 1, 31, 12, 34, 56, tzinfo=UTC)


def test_an_archive_is_created_once_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    assert not Archive.exists(path)
    with pytest.raises(NoArchive):
        Archive.open(path)
    made = Archive.create(path, "sea.example", NOW, service="other/v2")
    assert Archive.exists(path)
    assert made.path == path
    assert (made.info.blog_id, made.info.created_at, made.info.service) == (
        "sea.example",
        "2026-01-31T12:34:56Z",
        "other/v2",
    )
    assert (made.versions(), made.newest(), made.runs()) == ([], None, [])
    before = made.layout.info.read_bytes()
    assert Archive.create(path, "sea.example", NOW).info == made.info
    assert made.layout.info.read_bytes() == before
    with pytest.raises(UsageError, match=r"is the archive of sea\.example"):
        Archive.create(path, "lake.example", NOW)


def test_records_are_those_of_the_state(five: Built) -> None:
    archive = Archive.open(five.root)
    for version in (*archive.versions(), None):
        state = archive.state(version)
        for kind in Kind:
            assert list(archive.records(kind, version)) == list(state.scan(kind))
        state.close()
    with pytest.raises(NoSuchRecord):
        list(archive.records(Kind.ENTRIES, 77))


def test_changes_to_a_returned_record_affect_no_other_reader(five: Built) -> None:
    archive = Archive.open(five.root)
    (record_id, record), *_ = archive.records(Kind.ENTRIES)
    before = dict(record)
    record.clear()
    assert dict(archive.records(Kind.ENTRIES))[record_id] == before


def test_a_damaged_record_is_refused(archive: Built) -> None:
    archive.layout.latest_record.unlink()
    for path in (*archive.layout.versions.glob("*/comments.jsonl"), archive.layout.latest_segment(Kind.COMMENTS)):
        path.write_bytes(path.read_bytes().replace(b'"data":{', b'"data":{"x":1,'))
    with pytest.raises(ArchiveDamaged, match="comments"):
        list(Archive.open(archive.root).records(Kind.COMMENTS))
