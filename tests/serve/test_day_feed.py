"""The feed of this day: which entries are in it and when, and that only public ones are."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest

from exporter.model.kinds import Kind
from exporter.serve.day_feed import day_feed
from exporter.settings import Settings, resolve
from tests.archive.builder import Built
from tests.serve.serving import served
from tests.site.building import of_records
from tests.site.test_public import SECRET
from tests.site.test_reminders import HOSTILE, dated

ATOM = "{http://www.w3.org/2005/Atom}"
SITE = "http://127.0.0.1:1/latest/site"
PUBLIC = resolve({"public_open_flg": "1"}, environ={})


def _feed(built: Built, day: date, settings: Settings = PUBLIC) -> ET.Element:
    now = datetime(day.year, day.month, day.day, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    made = day_feed(built.root, settings, now, SITE)
    assert made is not None
    assert made == day_feed(built.root, settings, now + timedelta(hours=5), SITE)
    return ET.fromstring(made)


def _titles(feed: ET.Element) -> list[str]:
    return [each.findtext(f"{ATOM}title", "") for each in feed.iter(f"{ATOM}entry")]


def _blog(root: Path, days: dict[str, Any]) -> Built:
    root.mkdir(exist_ok=True)
    return of_records(root, {Kind.ENTRIES: days})


def test_it_has_the_entries_of_this_week_in_earlier_years(tmp_path: Path) -> None:
    days = [date(2009, 5, 4), date(2012, 5, 4), date(2011, 5, 3), date(2011, 4, 28), date(2011, 4, 27), date(2011, 5, 5), date(2020, 5, 4)]  # fmt: skip
    built = _blog(tmp_path / "blog", {str(at): dated(at, day) for at, day in enumerate(days, 1)})
    feed = _feed(built, date(2020, 5, 4))
    assert _titles(feed) == ["2012: 題2", "2009: 題1", "2011: 題3", "2011: 題4"]
    first = next(feed.iter(f"{ATOM}entry"))
    assert first.findtext(f"{ATOM}updated") == "2020-05-04T00:00:00+09:00"
    assert [link.get("href") for link in first.iter(f"{ATOM}link")] == [f"{SITE}/entry/2.html"]
    assert first.findtext(f"{ATOM}summary") == "本文"
    ids = [each.findtext(f"{ATOM}id") for each in feed.iter(f"{ATOM}entry")]
    assert len(set(ids)) == 4
    later = [each.findtext(f"{ATOM}id") for each in _feed(built, date(2021, 5, 4)).iter(f"{ATOM}entry")]
    assert not set(ids) & set(later)
    moved = _feed(built, date(2020, 5, 4), replace(PUBLIC, entry_url="https://sea.example/{entry_id}"))
    assert next(moved.iter(f"{ATOM}link")).get("href") == "https://sea.example/2"


@pytest.mark.parametrize(("today", "count"), [(date(2023, 2, 28), 1), (date(2024, 2, 28), 0), (date(2024, 2, 29), 1)])
def test_the_leap_day_is_due_every_year(tmp_path: Path, today: date, count: int) -> None:
    assert len(_titles(_feed(_blog(tmp_path / "blog", {"1": dated(1, date(2020, 2, 29))}), today))) == count


def test_only_public_entries_are_in_it(tmp_path: Path) -> None:
    hidden: list[dict[str, Any]] = [{"is_private": "t"}, {"open_flg": "2"}, {"period_flg": "t"}, {"is_private": None}]
    entries = {str(at): dated(at, date(2010, 1, 2), title=SECRET, **how) for at, how in enumerate(hidden, 1)}
    built = _blog(tmp_path / "blog", {**entries, "9": dated(9, date(2011, 1, 2))})
    assert _titles(_feed(built, date(2020, 1, 2))) == ["2011: 題9"]
    assert day_feed(built.root, Settings(), datetime(2020, 1, 2, tzinfo=ZoneInfo("Asia/Tokyo")), SITE) is None


def test_texts_stay_texts(tmp_path: Path) -> None:
    built = _blog(tmp_path / "blog", {"1": dated(1, date(2010, 1, 2), title=HOSTILE, entry_text=f"<b>&{HOSTILE}</b>")})
    feed = _feed(built, date(2020, 1, 2))
    assert len(_titles(feed)) == 1
    assert "</title>" in _titles(feed)[0]
    assert "\x00" not in _titles(feed)[0]


def test_the_server_answers_with_it_below_its_token(tmp_path: Path) -> None:
    yesterday = datetime.now(ZoneInfo("Asia/Tokyo")).date() - timedelta(days=1)
    written = yesterday.replace(year=2008, day=min(yesterday.day, 28))
    built = _blog(tmp_path / "blog", {"1": dated(1, written)})
    with served(built.root) as server:
        refused = server.get("on-this-day.atom")
        assert refused.status == 404
        assert server.get("/on-this-day.atom").status == 404
    with served(built.root, settings=PUBLIC) as server:
        answer = server.get("on-this-day.atom")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/atom+xml; charset=utf-8")
        links = [link.get("href") for link in ET.fromstring(answer.body).iter(f"{ATOM}link")]
        assert links == [f"{server.address}latest/site/entry/1.html"]
        assert server.get("latest/site/on-this-day.ics").headers["Content-Type"] == "text/calendar; charset=utf-8"
