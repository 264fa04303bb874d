"""The Parquet tables, and the message if their library is missing."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from exporter.errors import ArchiveDamaged, UsageError
from exporter.export.formats import FORMATS
from exporter.export.interface import ExportOptions, Filled
from exporter.export.report import Report
from exporter.html.links import AddressPattern
from exporter.model.kinds import Kind
from tests.export.hostile import hostile_blog
from tests.export.memory import SAID, Memory, export
from tests.support.parquet import read_parquet

OLD = AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x")


def rows(data: bytes) -> list[dict[str, Any]]:
    return [row for batch in read_parquet(io.BytesIO(data)) for row in batch.to_struct_array().to_pylist()]


def test_the_tables_equal_the_json_lines() -> None:
    tables = export("parquet", hostile_blog(), old_urls=(OLD,)).files
    lines = export("jsonl", hostile_blog(), old_urls=(OLD,)).files
    for kind in ("entries", "comments"):
        found = rows(tables[f"{kind}-public.parquet"])
        wanted = [json.loads(line) for line in lines[f"{kind}-public.jsonl"].splitlines()]
        assert [list(row) for row in found] == [list(row) for row in wanted]
        for row, line in zip(found, wanted, strict=True):
            for name, value in line.items():
                if isinstance(value, str) and name in {"date", "last_update"}:
                    assert row[name] == datetime.fromisoformat(value), name
                    assert row[name].utcoffset() == datetime.now(UTC).utcoffset()
                elif isinstance(value, str | list):
                    same = [a in {b, "\ufffd"} for a, b in zip("".join(row[name]), "".join(value), strict=True)]
                    assert all(same), name
                else:
                    assert row[name] == value, name


def test_an_empty_table_has_its_columns() -> None:
    made = export("parquet", Memory()).files
    assert read_parquet(io.BytesIO(made["comments-public.parquet"])).schema.names == [
        "cm_id", "entry_id", "date", "name", "title", "text", "url", "visible", "parent", "kind", "comment_status",
        "by_owner",
    ]  # fmt: skip


def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arro3", None)
    with pytest.raises(UsageError, match=r"pip install 'blog-exporter\[parquet\]'"):
        export("parquet", Memory())


class Damaged(Memory):
    """Fails when the second half is read."""

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        if kind is Kind.ENTRIES and int(record_id) > 5:
            raise ArchiveDamaged("line 6 is damaged")
        return super().load(kind, record_id)


def test_damage_is_reported_as_damage() -> None:
    blog = Damaged()
    for number in range(1, 11):
        blog.entry(str(number))
    with pytest.raises(ArchiveDamaged, match="line 6"):
        export("parquet", blog)


def test_a_full_disk_is_reported_as_such() -> None:
    class Full(io.BytesIO):
        def write(self, _data: Any) -> int:
            raise OSError(28, "No space left on device")

    def tables() -> Iterator[Filled]:
        for file in FORMATS["parquet"].files(hostile_blog(), ExportOptions(declared=SAID), Report()):
            assert isinstance(file, Filled)
            yield file

    with pytest.raises(OSError, match="No space left") as error:
        next(tables()).fill(Full())
    assert error.value.errno == 28
