"""The frontier asks each address once, forgets nothing that was finished, and needs no memory for what waits."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from exporter.capture.frontier import AddressState, Finished, FoundAs, Frontier
from exporter.capture.scope import AddressKind, LeftOut

PAGE, FILE = AddressKind.PAGE, AddressKind.REQUISITE


def opened(folder: Path) -> Frontier:
    frontier = Frontier.open(folder)
    if frontier.meta("running") is None:
        frontier.begin(running="yes")
    return frontier


def test_each_address_is_taken_once_and_files_come_first(tmp_path: Path) -> None:
    frontier = opened(tmp_path)
    assert frontier.add("http://a/1", PAGE, own=True)
    assert not frontier.add("http://a/1", PAGE, own=True)
    frontier.add("http://a/2", PAGE, own=True)
    frontier.add("http://a/s.css", FILE, own=True)
    frontier.add("http://b/x.png", FILE, own=False)
    taken = [frontier.take(own=True) for _ in range(4)]
    assert [each.url if each else None for each in taken] == ["http://a/s.css", "http://a/1", "http://a/2", None]
    other = frontier.take(own=False)
    assert other is not None
    assert other.url == "http://b/x.png"
    frontier.close()


def test_addresses_under_way_are_asked_again_after_a_kill(tmp_path: Path) -> None:
    frontier = opened(tmp_path)
    for number in range(5):
        frontier.add(f"http://a/{number}", PAGE, own=True)
    done, lost = frontier.take(own=True), frontier.take(own=True)
    assert done is not None
    assert lost is not None
    frontier.finish(Finished(done, AddressState.DONE, 200))
    frontier.close()  # as a killed process, without another word
    again = opened(tmp_path)
    assert again.count(AddressState.DONE) == 1
    first = again.take(own=True)
    assert first is not None
    assert first.url == lost.url
    again.close()


def test_a_left_out_address_is_counted_once_with_its_reason(tmp_path: Path) -> None:
    frontier = opened(tmp_path)
    for _ in range(3):
        frontier.leave_out("http://a/login", LeftOut.SIGN_IN, PAGE)
    frontier.add("http://a/entry/login", PAGE, own=True, found=FoundAs.ENTRY)
    frontier.leave_out("http://a/entry/login", LeftOut.SIGN_IN, PAGE)
    assert frontier.left_out() == {LeftOut.SIGN_IN: 1}
    assert frontier.count(AddressState.PENDING) == 1
    frontier.close()


def test_the_next_capture_knows_the_newest_records(tmp_path: Path) -> None:
    frontier = opened(tmp_path)
    frontier.add("http://a/1", PAGE, own=True)
    address = frontier.take(own=True)
    assert address is not None
    frontier.finish(
        Finished(
            address, AddressState.DONE, 200, status=200, digest="sha1:X", etag='"e"', recorded="2026-01-01T00:00:00Z"
        )
    )
    frontier.begin(running="yes")
    assert frontier.take(own=True) is None
    frontier.add("http://a/1", PAGE, own=True)
    address = frontier.take(own=True)
    assert address is not None
    assert (address.status, address.digest, address.etag) == (200, "sha1:X", '"e"')
    frontier.close()


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "frontier.sqlite").write_bytes(b"no database " * 1_000)
    frontier = opened(tmp_path)
    assert frontier.add("http://a/1", PAGE, own=True)
    frontier.close()


@pytest.mark.parametrize("waiting", [10_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_waiting_addresses_need_no_memory(tmp_path: Path, waiting: int) -> None:
    frontier = opened(tmp_path)
    tracemalloc.start()
    for start in range(0, waiting, 10_000):
        with frontier.transaction():
            for number in range(start, start + 10_000):
                frontier.add(f"http://blog.example/2026/11/entry-{number:09d}.html", PAGE, own=True)
    with frontier.transaction():
        for _ in range(500):
            address = frontier.take(own=True)
            assert address is not None
            frontier.finish(Finished(address, AddressState.DONE, 200, status=200, digest="sha1:X"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert frontier.count(AddressState.PENDING) == waiting - 500
    assert peak < 2_000_000
    frontier.close()
