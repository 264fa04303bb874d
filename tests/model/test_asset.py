"""An asset's fields, and their meaning if they are missing."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.model.asset import Asset, AssetState

SHA = "ab" * 32


@pytest.mark.parametrize("state", [AssetState.PENDING, AssetState.LOST, AssetState.LEFT_OUT, AssetState.REFUSED])
def test_a_record_reads_back_with_the_reason_for_a_missing_file(state: AssetState) -> None:
    asset = Asset("http://h/a.gif", 404, error="why", refs=({"entry": "1"},), absence=state)
    assert asset.data()["state"] == str(state)
    assert Asset.from_raw(asset.data()) == asset
    assert asset.state is state


def test_a_stored_file_counts_as_saved_in_any_case() -> None:
    stored = Asset("http://h/a.gif", 200, "image/gif", 9, SHA)
    assert stored.state is AssetState.SAVED
    assert "state" not in stored.data()
    assert Asset.from_raw({**stored.data(), "state": "lost"}).state is AssetState.SAVED


def test_without_a_valid_state_the_status_decides(subtests: pytest.Subtests) -> None:
    told_rows: list[Any] = ["saved", "", "gone", None, 7, ["lost"]]
    status_rows: list[tuple[Any, AssetState]] = [(404, AssetState.LOST), (410, AssetState.LOST), (403, AssetState.PENDING), (200, AssetState.PENDING),
     (None, AssetState.PENDING), ("404", AssetState.PENDING)]  # fmt: skip
    for told in told_rows:
        for status, state in status_rows:
            with subtests.test(told=told, status=status, state=state):
                raw = {"url": "http://h/a.gif", "status": status, "sha256": None, "state": told}
                assert Asset.from_raw(raw).state is state
                del raw["state"]
                assert Asset.from_raw(raw).state is state
