"""A report also scrambles text that replaces a date."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.demo.content import RecordList, fields
from tests.report.originals import blog
from tests.report.reports import replayed, reported, troubles

ODD = ["0", "00", "-5", "9" * 30, "1e9", "1234567", "soon", "", "٣٤", None, 0, -1, 10**20, 1.5, True]


@pytest.mark.parametrize("mtime", ODD, ids=repr)
async def test_a_report_is_written_whatever_an_upload_says_about_its_time(mtime: object, tmp_path: Path) -> None:
    made = blog()
    made.files = RecordList({**fields(each), "mtime": mtime} for each in made.files)
    path = tmp_path / "report.jsonl"
    found = await reported(made, path)
    assert troubles(await replayed(path)) == troubles(found)
