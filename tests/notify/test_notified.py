"""The same problem is notified once, again if it changes or lasts, and its end once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter.archive.layout import Layout
from exporter.notify.notified import Event, Notified, load, save

NIGHT = datetime(2026, 11, 1, 18, 17, tzinfo=UTC)
WEEK = timedelta(days=7)


def nights(*troubles: str, remind_after: timedelta = WEEK) -> list[Event | None]:
    """Simulate nights; each argument has a night's problems, separated by spaces."""
    notified, events = Notified(), []
    for number, names in enumerate(troubles):
        event, notified = notified.after(names.split(), NIGHT + timedelta(days=number), remind_after)
        notified = Notified.decode(notified.encode())
        events.append(event)
    return events


def test_nothing_when_all_is_well() -> None:
    assert nights("", "", "") == [None, None, None]


def test_once_when_it_breaks_and_once_when_it_heals() -> None:
    assert nights("", "a", "a", "a", "", "") == [None, Event.FAILED, None, None, Event.HEALED, None]


def test_a_new_problem_is_notified_and_a_partial_recovery_is_not() -> None:
    assert nights("a", "a b", "b", "a", "c", "") == [Event.FAILED, Event.FAILED, None, None, Event.FAILED, Event.HEALED]


def test_a_lasting_problem_is_notified_each_week() -> None:
    assert [number for number, event in enumerate(nights(*["a"] * 16)) if event] == [0, 7, 14]
    assert nights("a", "a", remind_after=timedelta()) == [Event.FAILED, Event.REMINDER]


def test_a_clock_that_went_back_does_not_silence_it() -> None:
    _, notified = Notified().after(["a"], NIGHT + timedelta(days=4000), WEEK)
    assert notified.after(["a"], NIGHT, WEEK)[0] is Event.REMINDER


def test_it_gives_the_start_of_a_problem() -> None:
    _, notified = Notified().after(["a"], NIGHT, WEEK)
    _, notified = notified.after(["b"], NIGHT + timedelta(days=1), WEEK)
    assert notified.since == NIGHT


def test_endless_problems_stay_a_small_file() -> None:
    notified = Notified()
    for night in range(5):
        _, notified = notified.after(
            [f"{night} {number}" for number in range(2000)], NIGHT + timedelta(days=night), WEEK
        )
    assert len(notified.encode()) < 64_000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"since":null,"notified":[]}',
        b'{"since":"x","notified":{}}',
        b'{"since":"2026-11-01","notified":{}}',
        b'{"since":"0001-01-01T00:00:00+23:59","notified":{}}',
        b'{"since":null,"notified":{"a":"9999-12-31T23:59:59-23:59"}}',
    ],
)
def test_an_unreadable_file_counts_as_empty(content: bytes, tmp_path: Path) -> None:
    path = Layout(tmp_path).notified
    assert load(path) == Notified()
    (tmp_path / ".work").mkdir()
    (tmp_path / ".work" / "notified.json").write_bytes(content)
    assert load(path) == Notified()


def test_the_file_is_overwritten_in_place(tmp_path: Path) -> None:
    (tmp_path / ".work").mkdir()
    path, file = Layout(tmp_path).notified, tmp_path / ".work" / "notified.json"
    save(path, Notified())
    before = file.stat()
    _, notified = Notified().after(["a"], NIGHT, WEEK)
    save(path, notified)
    assert load(path) == notified
    assert (file.stat().st_ino, file.stat().st_size, file.stat().st_mode & 0o777) == (
        before.st_ino,
        before.st_size,
        0o600,
    )


def test_a_link_instead_of_the_file_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    (tmp_path / "archive" / ".work").mkdir(parents=True)
    (tmp_path / "archive" / ".work" / "notified.json").symlink_to(outside)
    save(Layout(tmp_path / "archive").notified, Notified())
    assert outside.read_bytes() == b"mine"
