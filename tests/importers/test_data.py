"""Programs for tables: DuckDB reads CSV, JSON lines and Parquet, and Datasette serves and searches the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from exporter.text import visible
from tests.importers.blogs import BLOGS, Blog, blog
from tests.importers.conftest import Tool
from tests.importers.ledger import Count, Ledger

both_blogs = pytest.mark.parametrize("name", BLOGS)
QUERY = (
    "import duckdb, json, sys; print(json.dumps([duckdb.sql(each).fetchall() for each in sys.argv[1:]], default=str))"
)
ADDRESSES = "not exported, the bodies keep their addresses"


def asked(tool: Tool, *queries: str) -> list[list[list[Any]]]:
    """Run queries in DuckDB; return the rows of each."""
    return list(json.loads(tool("python", "-c", QUERY, *queries)))


def titles(moved: Blog) -> list[str]:
    return sorted(visible(post.record.title)[0] for post in moved.posts())


@both_blogs
def test_csv_in_duckdb(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("csv", tmp_path / "out")
        table = f"read_csv('{tmp_path}/out/entries-public.csv', header = true, all_varchar = true)"
        rows, categories = asked(tool, f"SELECT * FROM {table}", f"SELECT DISTINCT category FROM {table}")
        assert len({row[0] for row in rows}) == len(rows)
        count = Count(posts=len(rows), categories=len([each for each in categories if each[0]]))
        ledger.enter("csv", "DuckDB", name, moved.count(), count, report, tool.seconds, pictures=ADDRESSES)


@both_blogs
@pytest.mark.parametrize(
    ("form", "ending", "reader"), [("jsonl", "jsonl", "read_json"), ("parquet", "parquet", "read_parquet")]
)
def test_tables_in_duckdb(
    tool: Tool, ledger: Ledger, tmp_path: Path, name: str, form: str, ending: str, reader: str
) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export(form, tmp_path / "out")
        entries, comments = (f"{reader}('{tmp_path}/out/{kind}-public.{ending}')" for kind in ("entries", "comments"))
        found, joined, categories = asked(
            tool,
            f"SELECT title FROM {entries}",
            f"SELECT count(*) FROM {comments} SEMI JOIN {entries} USING (entry_id)",
            f"SELECT count(DISTINCT category) FROM {entries}",
        )
        assert sorted(visible(title)[0] for (title,) in found) == titles(moved)
        count = Count(len(found), joined[0][0], categories[0][0])
        ledger.enter(form, "DuckDB", name, moved.count(), count, report, tool.seconds, pictures=ADDRESSES)


@both_blogs
def test_datasette(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("sqlite", tmp_path / "out")
        counts = "SELECT (SELECT count(*) FROM entries), (SELECT count(*) FROM comments), (SELECT count(DISTINCT category) FROM entries), (SELECT count(DISTINCT file) FROM pictures)"
        (row,) = served(tool, tmp_path / "out", counts)
        ledger.enter("sqlite", "Datasette", name, moved.count(), Count(*row), report, tool.seconds)


@pytest.mark.parametrize("words", ["海", "猫", "パン", "波音町"])
def test_datasette_finds_words_of_any_length(tool: Tool, tmp_path: Path, words: str) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export("sqlite", tmp_path / "out")
        spaced = " ".join(words)
        rows = served(tool, tmp_path / "out", f"SELECT id FROM search('\"{spaced}\"') WHERE kind = 'entry'")
        texts = served(tool, tmp_path / "out", f"SELECT entry_id FROM entries WHERE instr(title || text, '{words}')")
        assert {found for (found,) in rows} >= {found for (found,) in texts} != set()


def served(tool: Tool, folder: Path, query: str) -> list[list[Any]]:
    """Return Datasette's response to a query, with the exported metadata of the database."""
    asked = "/blog-public.json?" + urlencode({"sql": query, "_shape": "arrays", "_size": "max"})
    metadata = [each for path in folder.glob("*metadata*.json") for each in ("--metadata", path)]
    answer = json.loads(tool("datasette", folder / "blog-public.sqlite", *metadata, "--get", asked))
    assert answer["ok"], answer
    return list(answer["rows"])
