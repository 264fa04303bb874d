"""The record of failed attempts between runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter.crawl.assets.plan import Attempt, AttemptLog, retry_gap
from exporter.model.asset import Asset

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def lost(name: str, tries: int = 1) -> Attempt:
    return Attempt(Asset(f"http://h/{name}", 404, error="it answered 404"), tries, NOW)


def stored(name: str) -> Attempt:
    asset = Asset(f"http://h/{name}", 200, "image/png", 9, "a" * 64, width=1, height=2, source="http://w/")
    return Attempt(asset, 0, NOW, '"e"', "Sat", "3:9:1")


@pytest.mark.parametrize(
    ("tries", "hours"), [(0, 0), (1, 0), (2, 12), (3, 24), (4, 48), (7, 384), (8, 720), (9, 720), (10**9, 720)]
)
def test_gaps_grow_to_a_month(tries: int, hours: int) -> None:
    assert retry_gap(tries) == timedelta(hours=hours)
    assert lost("a", tries).due_at == NOW + timedelta(hours=hours)


def test_notes_outlive_a_run_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / ".work" / "assets.jsonl"
    journal = AttemptLog(path)
    for note in (lost("a"), stored("b"), lost("a", 2)):
        journal.add(note)
    found = AttemptLog(path)
    assert found.attempts == {"http://h/a": lost("a", 2), "http://h/b": stored("b")}
    journal.close()
    found.close()


def test_a_finished_run_leaves_a_line_for_each_that_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "assets.jsonl"
    journal = AttemptLog(path)
    for note in (lost("a"), stored("b"), lost("a", 2)):
        journal.add(note)
    journal.finish(["http://h/a", "http://h/unknown"])
    assert len(path.read_bytes().splitlines()) == 1
    again = AttemptLog(path)
    assert again.attempts == {"http://h/a": lost("a", 2)}
    again.close()


@pytest.mark.parametrize(
    "damage",
    [
        b'{"asset":{"url":"http://h/z"}',
        b"not json\n",
        b"[]\n",
        b"{}\n",
        b'{"asset":{"url":"u"},"tries":1,"tried_at":"never","etag":null,"last_modified":null,"stamp":""}\n',
    ],
)
def test_an_unreadable_record_is_ignored(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "assets.jsonl"
    journal = AttemptLog(path)
    journal.add(stored("b"))
    journal.close()
    path.write_bytes(path.read_bytes() + damage)
    again = AttemptLog(path)
    again.add(lost("c"))
    again.close()
    last = AttemptLog(path)
    assert last.attempts.keys() == {"http://h/b", "http://h/c"}
    last.close()
