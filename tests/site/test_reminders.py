"""The site's calendar is valid, the same at every build, and names only public entries."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dateutil.rrule import rrulestr
from icalendar import Calendar

from exporter.export.posts import Visibility
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.pages.reminders import CALENDAR
from exporter.site.view import SiteView
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.site.building import of_records
from tests.site.test_public import SECRET, entry

DECLARED = Declared(public_access=frozenset({"1"}))
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
HOSTILE = "\r\nEND:VCALENDAR\nBEGIN:VEVENT\x00\x1b[2J\u2028X:1;,\\n\ud800</title>"


def _site(built: Built, *, public: bool = False, declared: Declared | None = DECLARED) -> dict[str, bytes]:
    visibility = None if declared is None else Visibility(declared, AS_OF, DEFAULT_SERVICE)
    options = SiteOptions(public=public, entry_addresses=("https://sea.example/e/{entry_id}.html",))
    view = SiteView(DEFAULT_SERVICE, None, options, visibility=visibility)
    with_dates = {CALENDAR, "about.html"}
    return {file.path: file.render() for file in view.files(built.reader.state()) if file.path in with_dates}


def _blog(root: Path, entries: dict[str, bytes]) -> Built:
    root.mkdir()
    return of_records(root, {Kind.ENTRIES: entries})


def dated(number: int, day: date, **other: Any) -> bytes:
    return entry(number, year=f"{day.year:04}", mon=f"{day.month:02}", day=f"{day.day:02}", **other)


def _events(data: bytes) -> list[Any]:
    """Check the lines (RFC 5545, section 3.1), and return the events."""
    assert data.endswith(b"END:VCALENDAR\r\n")
    lines = data.split(b"\r\n")
    assert all(len(line) <= 75 and line.decode() and b"\n" not in line and b"\r" not in line for line in lines[:-1])
    (calendar,) = Calendar.from_ical(data, multiple=True)
    assert not calendar.errors
    assert calendar["VERSION"] == "2.0"
    events = calendar.walk("VEVENT")
    assert len(events) == len({event["UID"] for event in events}) == lines.count(b"BEGIN:VEVENT")
    assert all(event["TRANSP"] == "TRANSPARENT" and not event.errors for event in events)
    return events


def test_each_day_with_entries_is_a_yearly_event(tmp_path: Path) -> None:
    days = {1: date(2012, 5, 4), 2: date(2009, 5, 4), 3: date(2020, 12, 31)}
    built = _blog(tmp_path / "blog", {str(key): dated(key, day) for key, day in days.items()})
    spring, winter = _events(_site(built)[CALENDAR])
    assert spring["SUMMARY"] == "題1 (2012) / 題2 (2009)"
    assert spring["DESCRIPTION"] == ("2012 題1\nhttps://sea.example/e/1.html\n2009 題2\nhttps://sea.example/e/2.html")
    assert spring["DTSTART"].dt == date(2009, 5, 4)
    assert spring["RRULE"].to_ical() == b"FREQ=YEARLY"
    assert spring["DTSTAMP"].dt == datetime(2012, 5, 3, 18, 4, 5, tzinfo=UTC)
    assert winter["DTSTART"].dt == date(2020, 12, 31)


def test_the_leap_day_is_on_the_last_of_february(tmp_path: Path) -> None:
    (event,) = _events(_site(_blog(tmp_path / "blog", {"1": dated(1, date(2020, 2, 29))}))[CALENDAR])
    found = rrulestr(
        event["RRULE"].to_ical().decode(), dtstart=datetime.combine(event["DTSTART"].dt, datetime.min.time())
    )
    assert [each.date() for each in found[:5]] == [
        date(2020, 2, 29), date(2021, 2, 28), date(2022, 2, 28), date(2023, 2, 28), date(2024, 2, 29),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "hidden",
    [
        {"is_private": "t"},
        {"is_private": None},
        {"open_flg": "2"},
        {"period_flg": "t"},
        {"year": "2030"},
        {"mon": "13"},
    ],
)
def test_an_entry_that_is_not_certainly_public_is_not_named(tmp_path: Path, hidden: dict[str, Any]) -> None:
    secret = entry(2, **{"title": SECRET, **hidden})
    with_public = _blog(tmp_path / "both", {"1": entry(1), "2": secret})
    made = _site(with_public)
    (event,) = _events(made[CALENDAR])
    assert event["SUMMARY"] == "題1 (2020)"
    assert SECRET.encode() not in made[CALENDAR].replace(b"\r\n ", b"")
    assert CALENDAR.encode() in made["about.html"]
    alone = _site(_blog(tmp_path / "alone", {"2": secret}))
    assert CALENDAR not in alone
    assert CALENDAR.encode() not in alone["about.html"]


def test_a_list_item_can_hide_an_entry(tmp_path: Path) -> None:
    built = _blog(tmp_path / "blog", {"1": entry(1), "2": entry(2, title=SECRET)})
    built.commit({Kind.ENTRY_LIST: {"2": entry(2, open_flg="9")}})
    assert SECRET.encode() not in _site(built)[CALENDAR].replace(b"\r\n ", b"")


def test_nothing_is_named_before_the_owner_declared_what_is_public(tmp_path: Path) -> None:
    built = _blog(tmp_path / "blog", {"1": entry(1)})
    assert CALENDAR not in _site(built, declared=None)
    assert len(_events(_site(built, declared=None, public=True)[CALENDAR])) == 1


def test_a_title_cannot_add_lines_or_events(tmp_path: Path) -> None:
    first, second = dated(1, date(2001, 1, 1), title=HOSTILE), dated(2, date(2002, 1, 1), title="海" * 200 + ",;\\")
    (event,) = _events(_site(_blog(tmp_path / "blog", {"1": first, "2": second}))[CALENDAR])
    assert "海" * 200 in event["SUMMARY"]
    assert event["DESCRIPTION"].count("\n") == 3
    assert "BEGIN:VEVENT" in event["DESCRIPTION"]
    assert "\x00" not in event["DESCRIPTION"]


def test_years_that_programs_cannot_repeat_from_are_cut(tmp_path: Path) -> None:
    built = _blog(tmp_path / "blog", {"1": dated(1, date(1000, 1, 1)), "2": dated(2, date(1200, 2, 29))})
    assert [event["DTSTART"].dt for event in _events(_site(built)[CALENDAR])] == [date(1904, 1, 1), date(1904, 2, 29)]


@pytest.mark.parametrize(("spread", "count"), [(400, 450), pytest.param(2_000, 5_000, marks=pytest.mark.thorough)])
def test_thousands_of_entries_make_a_small_file(tmp_path: Path, spread: int, count: int) -> None:
    start = date(2000, 1, 1)
    entries = {str(number): dated(number, start + timedelta(number % 400)) for number in range(1, spread)}
    entries |= {str(number): dated(number, date(2010, 7, 7)) for number in range(spread, count + 1)}
    built = _blog(tmp_path / "blog", entries)
    data = _site(built)[CALENDAR]
    events = _events(data)
    assert len(events) == 366
    assert len(data) < 600_000
    crowded = max(events, key=lambda event: len(event["DESCRIPTION"]))
    assert crowded["DTSTART"].dt == date(2000, 7, 7)
    assert crowded["DESCRIPTION"].count("https://") == 40
    assert data == _site(built)[CALENDAR]


def test_an_archive_keeps_the_calendar(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    built = _blog(tmp_path / "blog", {"1": entry(1), "2": entry(2, title=SECRET, open_flg="2")})
    made = built.layout.latest / "site" / CALENDAR
    assert program("site", built.root).code == 0
    assert not made.exists()
    monkeypatch.setenv("BLOG_EXPORTER_PUBLIC_OPEN_FLG", "1")
    assert program("site", built.root).code == 0
    first = made.read_bytes()
    assert len(_events(first)) == 1
    assert program("verify", built.root).code == 0
    assert program("rebuild", built.root).code == 0
    assert made.read_bytes() == first
    assert program("site", built.root, tmp_path / "copy").code == 0
    assert (tmp_path / "copy" / CALENDAR).read_bytes() == first
    built.commit({Kind.ENTRIES: {"1": entry(1, open_flg="2")}})
    assert program("site", built.root).code == 0
    assert not made.exists()
    assert program("site", built.root, "--at", "1").code == 0
    assert not made.exists()
