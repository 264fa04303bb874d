"""The queries in docs/catalogue.md, run on a small fleet, and that page's tables of columns."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from exporter.clock import SystemClock
from exporter.fleet.blog_list import ListedBlog
from exporter.fleet.catalogue import update
from exporter.fleet.catalogue_rows import TABLES
from exporter.fleet.ledger import FleetLedger
from exporter.fleet.local_pool import LocalPool
from exporter.settings import resolve
from tests.fleet.building import build_blog, entry
from tests.fleet.shelf import SHA, shelf

PAGE = (Path(__file__).parent.parent.parent / "docs/catalogue.md").read_text("utf-8")
QUESTIONS = re.findall(r"([^\n]+)\n\n```sql\n(.*?)```", PAGE, re.DOTALL)

ANSWERS: dict[str, Sequence[tuple[Any, ...]]] = {
    "How large is the fleet?": [(5, 6, 2, 78)],
    "Which blogs are not completely saved, and why?": [
        ("natsu.example.jp", "damaged", None, None, None, "DAMAGED"),
        ("yoru.example.jp", "partial", 0, 0, 1, None),
    ],
    "From which hosts are pictures missing, and in how many blogs?": [("gone.example.jp", "lost", 1, 1)],
    "How many entries were written in each year, and in how many blogs?": [(2019, 4, 3), (2020, 2, 2)],
    "In which languages are the blogs? (`und-Latn` means any language in Latin letters.)": [
        ("ja", 3, 5), ("und-Latn", 1, 1), (None, 1, 0),
    ],
    "Which blogs link to each other?": [("aki.example.jp", "fuyu.example.jp", 1)],
    "Which other sites have the most links?": [("elsewhere.example.org", 1, 1)],
    "Which blogs have private entries, which must not be published?": [("aki.example.jp", 1, 2019)],
    "Which pictures are in several blogs, and how many bytes would a single copy of each save?": [("ab" * 32, 2, 12, 12)],
    "How did the backups of each day go?": [("2026-01-31", "partial", 1, None), ("2026-01-31", "saved", 3, None)],
    "Who wrote on several blogs?": [("mame.example.jp", 2, 2)],
    "Which blogs on the list have no archive yet?": [("aru.example.jp", "new", 0), ("natsu.example.jp", "new", 0)],
}  # fmt: skip


@pytest.fixture(scope="module")
def catalogued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet with five archives, one of them damaged, and a ledger with six blogs."""
    root = shelf(tmp_path_factory.mktemp("questions") / "fleet")
    comment = {
        "cm_id": "9",
        "entry_id": "1",
        "name": "まめ",
        "regist_date": "2020/03/05",
        "url_text": "https://mame.example.jp/b",
    }
    picture = {
        "url": "https://yoru.example.jp/p.jpg",
        "status": 200,
        "content_type": "image/jpeg",
        "bytes": 12,
        "sha256": SHA,
        "error": None,
        "refs": [{"entry": "1"}],
    }
    entries = [entry(1, year="2020", entry_text='夜の<a href="https://elsewhere.example.org/x">そと</a>')]
    built = build_blog(
        root, "yoru.example.jp", entries, comments={"9": comment}, assets={"https://yoru.example.jp/p.jpg": picture}, complete=False
    )  # fmt: skip
    assert built.reader.completeness()[0]["complete"] is False
    damaged = build_blog(root, "natsu.example.jp", [entry(1)])
    shutil.rmtree(damaged.root / "latest")
    (damaged.root / "versions/000001/entries.jsonl").write_bytes(b"{")
    update(root, root / "catalogue.sqlite", resolve({}, environ={}), LocalPool(1), SystemClock())
    names = [
        "aki.example.jp",
        "fuyu.example.jp",
        "haru.example.com",
        "aru.example.jp",
        "natsu.example.jp",
        "yoru.example.jp",
    ]
    with FleetLedger.create(root) as ledger:
        ledger.list_blogs([ListedBlog(name) for name in names], 0.0)
    return root


@pytest.mark.parametrize(("question", "query"), QUESTIONS, ids=[each[0][:40] for each in QUESTIONS])
def test_the_answer(catalogued: Path, question: str, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(catalogued)
    *first, last = query.strip().removesuffix(";").split(";\n")
    with closing(sqlite3.connect("catalogue.sqlite")) as connection:
        for each in first:
            connection.execute(each)
        found = connection.execute(last).fetchall()
    shown = [tuple("DAMAGED" if "--repair" in str(value) else value for value in row) for row in found]
    assert shown == list(ANSWERS[next(key for key in ANSWERS if key in question)])


def test_every_question_has_its_answer() -> None:
    assert len(QUESTIONS) == len(ANSWERS) >= 10


def test_the_page_names_every_column() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert list(rows) == list(TABLES)
    for table, columns in TABLES.items():
        named = re.findall(r"`(\w+)`", rows[table])
        assert [name for name in named if name in columns][: len(named)]
        assert set(columns) <= set(named), table
