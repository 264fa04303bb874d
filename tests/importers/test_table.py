"""The page names every tested format, and every format is tested."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.export.formats import FORMATS
from tests.importers.conftest import ROOT
from tests.importers.ledger import Count, Ledger, Row, as_markdown

REPORT = {"left_out": [{"kind": "comments", "reason": "no place", "count": 3, "ids": []}], "by_address": []}


def test_every_format_has_a_consumer() -> None:
    page = (ROOT / "docs" / "importers.md").read_text(encoding="utf-8")
    table = page.partition("<!-- table:")[2].partition("<!-- end")[0]
    rows = {line.split("|")[1].split(",")[0].strip() for line in table.splitlines() if line.startswith("|")}
    assert rows - {"Format", "---"} == set(FORMATS)


def test_a_loss_needs_a_reason() -> None:
    ledger = Ledger()
    ledger.enter("atom", "reader", "demo", Count(1, 3), Count(1), REPORT, 0.1)
    assert ledger.rows[0].why == "comments: no place"
    with pytest.raises(AssertionError, match="no reason is given"):
        ledger.enter("atom", "reader", "demo", Count(2, 3), Count(1, 3), REPORT, 0.1)
    with pytest.raises(AssertionError, match="does have all"):
        ledger.enter("atom", "reader", "demo", Count(2), Count(2), REPORT, 0.1, posts="it does not care")


def test_private_records_are_not_a_reason() -> None:
    for reason in ("not public: is_private is 't'", "delete_flg 't' is not visible", "its entry is not in the archive"):
        row: dict[str, Any] = {"kind": "comments", "reason": reason, "count": 1, "ids": []}
        report: dict[str, Any] = {"left_out": [row], "by_address": []}
        with pytest.raises(AssertionError, match="no reason is given"):
            Ledger().enter("atom", "reader", "demo", Count(1, 3), Count(1, 2), report, 0.1)


def test_a_row() -> None:
    row = Row("wxr", "WordPress", "demo", Count(2, 1, 1, 0), Count(2, None, 1, 0), 1.26, "why")
    assert as_markdown([row]).splitlines()[-1] == "| wxr | WordPress | 2 | 1 → – | 1 | 0 | 1.3 | why |"
