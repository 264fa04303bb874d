"""The decision about each address: read, keep, or leave out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.crawl.assets.addresses import Wanted
from exporter.crawl.assets.plan import (
    AssetAction,
    AssetDecision,
    AssetMode,
    AssetSettings,
    Attempt,
    decide,
    interleave_hosts,
)
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


def note(asset: Asset, tries: int, ago: timedelta = timedelta(0), stamp: str = "") -> Attempt:
    return Attempt(asset, tries, NOW - ago, stamp=stamp)


def decided(
    wanted: Wanted, base: Asset | None, tried: Attempt | None, *, has: bool = True, **more: Any
) -> AssetDecision:
    return decide(
        wanted, base, tried, lambda asset: has and asset.sha256 is not None, AssetSettings("https://h/", **more), NOW
    )


@pytest.mark.parametrize("mode", list(AssetMode))
def test_stored_files_are_kept(mode: AssetMode) -> None:
    assert decided(SHOWN, STORED, None, mode=mode) == AssetDecision(AssetAction.KEEP, STORED)
    assert decided(SHOWN, None, note(STORED, 0), mode=mode) == AssetDecision(AssetAction.KEEP, STORED)
    assert decided(SHOWN, LOST, note(STORED, 0), mode=mode) == AssetDecision(AssetAction.KEEP, STORED)


def test_new_and_vanished_files_are_read() -> None:
    assert decided(SHOWN, None, None) == AssetDecision(AssetAction.READ, None)
    assert decided(SHOWN, STORED, None, has=False) == AssetDecision(AssetAction.READ, STORED)
    assert decided(SHOWN, LOST, None) == AssetDecision(AssetAction.READ, LOST)


def test_a_lost_file_waits_for_its_next_attempt() -> None:
    assert decided(SHOWN, LOST, note(LOST, 1)) == AssetDecision(AssetAction.READ, LOST)
    assert decided(SHOWN, LOST, note(LOST, 2)) == AssetDecision(AssetAction.WAIT, LOST)
    assert decided(SHOWN, None, note(LOST, 2, timedelta(hours=11))) == AssetDecision(AssetAction.WAIT, LOST)
    assert decided(SHOWN, None, note(LOST, 2, timedelta(hours=12))) == AssetDecision(AssetAction.READ, LOST)
    assert decided(SHOWN, LOST, note(LOST, 2), retry_lost=True) == AssetDecision(AssetAction.READ, LOST)


@pytest.mark.parametrize("gone", [404, 410])
def test_a_record_without_a_state_is_judged_by_its_status(gone: int) -> None:
    """Earlier versions did not record why a file is absent."""
    old = Asset(URL, gone, error=f"it answered {gone}")
    assert decided(SHOWN, old, note(old, 2)).action is AssetAction.WAIT
    for status in (None, 200, 403, 500):
        failed = Asset(URL, status, error="?")
        assert decided(SHOWN, failed, note(failed, 9)).action is AssetAction.READ


@pytest.mark.parametrize("tries", [0, 1, 2, 9])
def test_temporary_failures_are_read_in_every_run(tries: int) -> None:
    assert decided(SHOWN, PENDING, note(PENDING, tries)) == AssetDecision(AssetAction.READ, PENDING)
    assert decided(SHOWN, LOST, note(PENDING, tries)).action is AssetAction.READ
    assert decided(SHOWN, PENDING, note(LOST, 2)).action is AssetAction.WAIT


def test_a_file_that_is_too_large_waits_until_the_limit_is_raised() -> None:
    assert decided(SHOWN, LARGE, note(LARGE, 0), max_bytes=1000) == AssetDecision(AssetAction.SKIP, LARGE)
    assert decided(SHOWN, None, note(LARGE, 0), max_bytes=999) == AssetDecision(AssetAction.SKIP, LARGE)
    assert decided(SHOWN, LARGE, None, max_bytes=1000) == AssetDecision(AssetAction.SKIP, LARGE)
    assert decided(SHOWN, LARGE, note(LARGE, 0), max_bytes=1001) == AssetDecision(AssetAction.READ, LARGE)
    assert decided(SHOWN, LARGE, note(LARGE, 0), max_bytes=1000, retry_lost=True).action is AssetAction.SKIP


def test_a_file_left_out_for_its_address_is_checked_again() -> None:
    """A setting may permit it now, and asking the guard needs no request."""
    assert decided(SHOWN, PRIVATE, note(PRIVATE, 0)) == AssetDecision(AssetAction.READ, PRIVATE)


def test_a_replaced_upload_is_read_again() -> None:
    assert decided(UPLOAD, STORED, note(STORED, 0, stamp="new")).action is AssetAction.KEEP
    assert decided(UPLOAD, STORED, note(STORED, 0, stamp="old")).action is AssetAction.READ
    assert decided(UPLOAD, STORED, note(STORED, 0)).action is AssetAction.KEEP
    assert decided(UPLOAD, STORED, note(STORED, 3, stamp="old")).action is AssetAction.KEEP
    assert decided(UPLOAD, STORED, note(STORED, 0, stamp="old"), mode=AssetMode.NONE).action is AssetAction.KEEP


def test_files_excluded_by_the_mode_are_not_requested() -> None:
    assert decided(SHOWN, LOST, None, mode=AssetMode.FILES) == AssetDecision(AssetAction.SKIP, LOST)
    assert decided(UPLOAD, None, None, mode=AssetMode.FILES) == AssetDecision(AssetAction.READ, None)
    assert decided(UPLOAD, None, None, mode=AssetMode.NONE) == AssetDecision(AssetAction.SKIP, None)
    assert decided(SHOWN, PENDING, note(PENDING, 0), mode=AssetMode.NONE) == AssetDecision(AssetAction.SKIP, PENDING)
    assert decided(SHOWN, None, None, mode=AssetMode.EMBEDDED) == AssetDecision(AssetAction.READ, None)
    assert decided(UPLOAD, None, None, mode=AssetMode.EMBEDDED) == AssetDecision(AssetAction.SKIP, None)
    both = Wanted(URL, entries={"1"}, files={"1"})
    assert {decided(both, None, None, mode=mode).action for mode in AssetMode if mode is not AssetMode.NONE} == {
        AssetAction.READ
    }


@pytest.mark.parametrize(
    ("url", "skipped"),
    [("https://ads.example.jp/a", True), ("https://x.ads.example.jp/a", True), ("https://ADS.example.jp:8080/a", True),
     ("https://example.jp/ads.example.jp", False), ("https://badads.example.jp/a", False), ("https://h/", False)],
)  # fmt: skip
def test_hosts_may_be_left_out(url: str, skipped: bool) -> None:
    wanted, hosts = Wanted(url, entries={"1"}, files={"1"}), frozenset({"ads.example.jp"})
    assert decided(wanted, None, None, skipped_hosts=hosts).action is (
        AssetAction.SKIP if skipped else AssetAction.READ
    )
    assert decided(wanted, STORED, None, skipped_hosts=hosts).action is AssetAction.KEEP
    assert decided(wanted, STORED, None, skipped_hosts=hosts, has=False).action is (
        AssetAction.SKIP if skipped else AssetAction.READ
    )


def test_hosts_take_turns() -> None:
    urls = ["http://a/1", "http://a/2", "http://a/3", "http://b/1", "http://c/1", "http://c/2"]
    assert list(interleave_hosts(urls)) == [urls[0], urls[3], urls[4], urls[1], urls[5], urls[2]]


@given(st.lists(st.sampled_from(["http://a/", "http://b/", "https://c:1/"]).map(lambda host: host + "x")))
def test_no_address_is_lost_or_doubled_by_turns(urls: list[str]) -> None:
    numbered = [f"{url}{number}" for number, url in enumerate(urls)]
    assert sorted(interleave_hosts(numbered)) == sorted(numbered)
