from __future__ import annotations

from datetime import UTC, datetime

import pytest

from exporter.model.kinds import Kind
from exporter.search.index_file import FIELDS, Rank, SearchDocument, document_of
from exporter.service.registry import DEFAULT_SERVICE
from tests.archive.versions import comment, entry


def texts(kind: Kind, document: SearchDocument) -> list[tuple[str, Rank, str]]:
    """Return the texts that are not empty, each with its field and rank."""
    return [(*field, text) for field, text in zip(FIELDS[kind], document.texts, strict=True) if text]


def test_an_entry_has_all_its_texts() -> None:
    raw = entry("1", "海の日", "<p>波</p>", ps_title="続き", ps_text="<b>砂</b>")
    document = document_of(Kind.ENTRIES, raw, {"entry_id": "1", "category": "日記"}, DEFAULT_SERVICE)
    assert texts(Kind.ENTRIES, document) == [
        ("title", Rank.TITLE, "海の日"),
        ("body", Rank.BODY, "波"),
        ("continuation", Rank.BODY, "続き"),
        ("continuation", Rank.BODY, "砂"),
        ("category", Rank.BODY, "日記"),
    ]
    assert (document.entry_id, document.title) == ("1", "海の日")
    assert document.date is not None
    assert document.date.isoformat() == "2024-07-15T09:30:00+09:00"


def test_an_entry_that_is_only_listed() -> None:
    document = document_of(
        Kind.ENTRIES,
        None,
        {"entry_id": "3", "title": "下書き", "regist_date": "2024/01/02", "period_date": ""},
        DEFAULT_SERVICE,
    )
    assert texts(Kind.ENTRIES, document) == [("title", Rank.TITLE, "下書き")]
    assert document.date is not None
    assert document.date.date().isoformat() == "2024-01-02"


def test_a_comment_ranks_below_all_else() -> None:
    document = document_of(
        Kind.COMMENTS, comment("7", "1", "きれい<br>ですね", title="はじめまして"), None, DEFAULT_SERVICE
    )
    assert {rank for _, rank, _ in texts(Kind.COMMENTS, document)} == {Rank.COMMENT}
    assert [field for field, _, _ in texts(Kind.COMMENTS, document)] == ["title", "name", "text"]
    assert (document.entry_id, document.title) == ("1", "")


@pytest.mark.parametrize(
    ("mtime", "date"), [("0", datetime(1970, 1, 1, tzinfo=UTC)), ("9" * 30, None), ("", None), ("x", None)]
)
def test_a_file_is_dated_by_its_mtime(mtime: str, date: datetime | None) -> None:
    document = document_of(
        Kind.FILES,
        {"file_id": "9", "name": "umi.jpg", "title": None, "explanation": "浜", "mtime": mtime},
        None,
        DEFAULT_SERVICE,
    )
    assert document.date == date
    assert document.title == "umi.jpg"
    assert texts(Kind.FILES, document) == [("name", Rank.TITLE, "umi.jpg"), ("explanation", Rank.BODY, "浜")]
