"""What is done about an address."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.crawl.assets.addresses import Wanted
from exporter.crawl.assets.plan import Action, Choice, Decision, Mode, Note, decide, spread
from exporter.model.asset import Asset, AssetState

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
URL = "https://h/a.gif"
STORED = Asset(URL, sha256="a" * 64)
LOST = Asset(URL, 404, error="it answered 404", absence=AssetState.LOST)
PENDING = Asset(URL, 503, error="it answered 503", absence=AssetState.PENDING)
LARGE = Asset(URL, 200, bytes=1000, error="it is larger", absence=AssetState.LEFT_OUT)
PRIVATE = Asset(URL, error="its host is no public address", absence=AssetState.LEFT_OUT)
SHOWN = Wanted(URL, entries={"1"})
UPLOAD = Wanted(URL, files={"1"}, stamp="new")


def note(asset: Asset, tries: int, ago: timedelta = timedelta(0), stamp: str = "") -> Note:
    return Note(asset, tries, NOW - ago, stamp=stamp)


def decided(wanted: Wanted, base: Asset | None, tried: Note | None, *, has: bool = True, **more: Any) -> Decision:
    return decide(wanted, base, tried, lambda asset: has and asset.sha256 is not None, Choice(**more), NOW)


@pytest.mark.parametrize("mode", list(Mode))
def test_what_is_stored_is_kept(mode: Mode) -> None:
    assert decided(SHOWN, STORED, None, mode=mode) == Decision(Action.KEEP, STORED)
    assert decided(SHOWN, None, note(STORED, 0), mode=mode) == Decision(Action.KEEP, STORED)
    assert decided(SHOWN, LOST, note(STORED, 0), mode=mode) == Decision(Action.KEEP, STORED)


def test_what_is_new_or_vanished_is_read() -> None:
    assert decided(SHOWN, None, None) == Decision(Action.READ, None)
    assert decided(SHOWN, STORED, None, has=False) == Decision(Action.READ, STORED)
    assert decided(SHOWN, LOST, None) == Decision(Action.READ, LOST)


def test_what_is_lost_waits_for_its_time() -> None:
    assert decided(SHOWN, LOST, note(LOST, 1)) == Decision(Action.READ, LOST)
    assert decided(SHOWN, LOST, note(LOST, 2)) == Decision(Action.WAIT, LOST)
    assert decided(SHOWN, None, note(LOST, 2, timedelta(hours=11))) == Decision(Action.WAIT, LOST)
    assert decided(SHOWN, None, note(LOST, 2, timedelta(hours=12))) == Decision(Action.READ, LOST)
    assert decided(SHOWN, LOST, note(LOST, 2), retry_lost=True) == Decision(Action.READ, LOST)


@pytest.mark.parametrize("gone", [404, 410])
def test_a_record_without_a_state_is_judged_by_its_status(gone: int) -> None:
    """Versions of before did not say why a file is absent."""
    old = Asset(URL, gone, error=f"it answered {gone}")
    assert decided(SHOWN, old, note(old, 2)).action is Action.WAIT
    for status in (None, 200, 403, 500):
        failed = Asset(URL, status, error="?")
        assert decided(SHOWN, failed, note(failed, 9)).action is Action.READ


@pytest.mark.parametrize("tries", [0, 1, 2, 9])
def test_what_failed_for_now_is_read_at_every_run(tries: int) -> None:
    assert decided(SHOWN, PENDING, note(PENDING, tries)) == Decision(Action.READ, PENDING)
    assert decided(SHOWN, LOST, note(PENDING, tries)).action is Action.READ
    assert decided(SHOWN, PENDING, note(LOST, 2)).action is Action.WAIT


def test_what_was_too_large_is_left_out_until_more_is_allowed() -> None:
    assert decided(SHOWN, LARGE, note(LARGE, 0), max_bytes=1000) == Decision(Action.SKIP, LARGE)
    assert decided(SHOWN, None, note(LARGE, 0), max_bytes=999) == Decision(Action.SKIP, LARGE)
    assert decided(SHOWN, LARGE, None, max_bytes=1000) == Decision(Action.SKIP, LARGE)
    assert decided(SHOWN, LARGE, note(LARGE, 0), max_bytes=1001) == Decision(Action.READ, LARGE)
    assert decided(SHOWN, LARGE, note(LARGE, 0), max_bytes=1000, retry_lost=True).action is Action.SKIP


def test_what_was_left_out_for_its_address_is_looked_at_again() -> None:
    """The setting that lets it through may have come since; asking the guard costs no request."""
    assert decided(SHOWN, PRIVATE, note(PRIVATE, 0)) == Decision(Action.READ, PRIVATE)


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
    assert decided(SHOWN, PENDING, note(PENDING, 0), mode=Mode.NONE) == Decision(Action.SKIP, PENDING)
    assert decided(SHOWN, None, None, mode=Mode.EMBEDDED) == Decision(Action.READ, None)
    assert decided(UPLOAD, None, None, mode=Mode.EMBEDDED) == Decision(Action.SKIP, None)
    both = Wanted(URL, entries={"1"}, files={"1"})
    assert {decided(both, None, None, mode=mode).action for mode in Mode if mode is not Mode.NONE} == {Action.READ}


@pytest.mark.parametrize(
    ("url", "skipped"),
    [("https://ads.example.jp/a", True), ("https://x.ads.example.jp/a", True), ("https://ADS.example.jp:8080/a", True),
     ("https://example.jp/ads.example.jp", False), ("https://badads.example.jp/a", False), ("https://h/", False)],
)  # fmt: skip
def test_hosts_may_be_left_out(url: str, skipped: bool) -> None:
    wanted, hosts = Wanted(url, entries={"1"}, files={"1"}), frozenset({"ads.example.jp"})
    assert decided(wanted, None, None, skipped_hosts=hosts).action is (Action.SKIP if skipped else Action.READ)
    assert decided(wanted, STORED, None, skipped_hosts=hosts).action is Action.KEEP
    assert decided(wanted, STORED, None, skipped_hosts=hosts, has=False).action is (
        Action.SKIP if skipped else Action.READ
    )


def test_hosts_take_turns() -> None:
    urls = ["http://a/1", "http://a/2", "http://a/3", "http://b/1", "http://c/1", "http://c/2"]
    assert list(spread(urls)) == [urls[0], urls[3], urls[4], urls[1], urls[5], urls[2]]


@given(st.lists(st.sampled_from(["http://a/", "http://b/", "https://c:1/"]).map(lambda host: host + "x")))
def test_no_address_is_lost_or_doubled_by_turns(urls: list[str]) -> None:
    numbered = [f"{url}{number}" for number, url in enumerate(urls)]
    assert sorted(spread(numbered)) == sorted(numbered)
