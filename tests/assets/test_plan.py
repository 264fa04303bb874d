"""What is done about an address."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.crawl.assets.collect import Wanted
from exporter.crawl.assets.journal import Note
from exporter.crawl.assets.plan import Action, Decision, Mode, decide, spread
from exporter.model.asset import Asset

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
URL = "https://h/a.gif"
STORED = Asset(URL, sha256="a" * 64)
LOST = Asset(URL, error="it answered 404")
SHOWN = Wanted(URL, entries={"1"})
UPLOAD = Wanted(URL, files={"1"}, stamp="new")


def note(asset: Asset, tries: int, ago: timedelta = timedelta(0), stamp: str = "") -> Note:
    return Note(asset, tries, NOW - ago, stamp=stamp)


def decided(wanted: Wanted, base: Asset | None, tried: Note | None, *, has: bool = True, **more: Any) -> Decision:
    settings = {"mode": Mode.LINKED, "now": NOW, **more}
    return decide(wanted, base, tried, lambda asset: has and asset.sha256 is not None, **settings)


@pytest.mark.parametrize("mode", list(Mode))
def test_what_is_stored_is_kept(mode: Mode) -> None:
    assert decided(SHOWN, STORED, None, mode=mode) == Decision(Action.KEEP, STORED)
    assert decided(SHOWN, None, note(STORED, 0), mode=mode) == Decision(Action.KEEP, STORED)
    assert decided(SHOWN, LOST, note(STORED, 0), mode=mode) == Decision(Action.KEEP, STORED)


def test_what_is_new_or_vanished_is_read() -> None:
    assert decided(SHOWN, None, None) == Decision(Action.READ, None)
    assert decided(SHOWN, STORED, None, has=False) == Decision(Action.READ, STORED)
    assert decided(SHOWN, LOST, None) == Decision(Action.READ, LOST)


def test_what_failed_waits_for_its_time() -> None:
    assert decided(SHOWN, LOST, note(LOST, 1)) == Decision(Action.READ, LOST)
    assert decided(SHOWN, LOST, note(LOST, 2)) == Decision(Action.WAIT, LOST)
    assert decided(SHOWN, None, note(LOST, 2, timedelta(hours=11))) == Decision(Action.WAIT, LOST)
    assert decided(SHOWN, None, note(LOST, 2, timedelta(hours=12))) == Decision(Action.READ, LOST)
    assert decided(SHOWN, LOST, note(LOST, 2), retry_now=True) == Decision(Action.READ, LOST)


def test_a_replaced_upload_is_read_again() -> None:
    assert decided(UPLOAD, STORED, note(STORED, 0, stamp="new")).action is Action.KEEP
    assert decided(UPLOAD, STORED, note(STORED, 0, stamp="old")).action is Action.READ
    assert decided(UPLOAD, STORED, note(STORED, 0)).action is Action.KEEP
    assert decided(UPLOAD, STORED, note(STORED, 3, stamp="old")).action is Action.KEEP
    assert decided(UPLOAD, STORED, note(STORED, 0, stamp="old"), mode=Mode.NONE).action is Action.KEEP


def test_what_the_mode_leaves_out_is_not_asked_for() -> None:
    assert decided(SHOWN, LOST, None, mode=Mode.FILES) == Decision(Action.SKIP, LOST)
    assert decided(UPLOAD, None, None, mode=Mode.FILES) == Decision(Action.READ, None)
    assert decided(UPLOAD, None, None, mode=Mode.NONE) == Decision(Action.SKIP, None)


def test_hosts_take_turns() -> None:
    urls = ["http://a/1", "http://a/2", "http://a/3", "http://b/1", "http://c/1", "http://c/2"]
    assert list(spread(urls)) == [urls[0], urls[3], urls[4], urls[1], urls[5], urls[2]]


@given(st.lists(st.sampled_from(["http://a/", "http://b/", "https://c:1/"]).map(lambda host: host + "x")))
def test_no_address_is_lost_or_doubled_by_turns(urls: list[str]) -> None:
    numbered = [f"{url}{number}" for number, url in enumerate(urls)]
    assert sorted(spread(numbered)) == sorted(numbered)
