"""The metadata that Datasette reads with the database: names of existing tables and columns, and searches that find."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from exporter.export.sqlite import spaced
from tests.export.hostile import hostile_blog
from tests.export.memory import Made, Memory, export


@pytest.fixture
def made() -> Made:
    blog = Memory()
    blog.entry("1", title="海の日", entry_text='<p>潮の香り "引用"</p>')
    blog.entry("2", title="山", category="旅")
    blog.comment("7", "1", name="まめこ", cm_text="香ばしいABC")
    return export("sqlite", blog)


@pytest.fixture
def database(made: Made) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(made.files["blog-public.sqlite"])
        yield connection


@pytest.fixture
def told(made: Made) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.files["metadata.json"])["databases"]["blog-public"]
    return found


def test_every_column_is_described(database: sqlite3.Connection, told: dict[str, Any]) -> None:
    for table, about in told["tables"].items():
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        assert columns, table
        assert list(about.get("columns", columns)) == columns
        named = [about.get("sort_desc"), about.get("sort"), about.get("label_column"), *about.get("facets", [])]
        assert set(filter(None, named)) <= set(columns)


@pytest.mark.parametrize(("words", "expected"), [
    ("香", [("entry", "1"), ("comment", "1")]), ("海の", [("entry", "1")]), ("の海", []), ("山", [("entry", "2")]),
    ('潮"の', [("entry", "1")]), (" abc ", [("comment", "1")]), ("まめこ", [("comment", "1")]),
    ("引用", [("entry", "1")]), ("OR", []), ("*", []),
])  # fmt: skip
def test_the_stored_query_finds_any_part_of_a_text(
    database: sqlite3.Connection, told: dict[str, Any], words: str, expected: list[tuple[str, str]]
) -> None:
    rows = database.execute(told["queries"]["find"]["sql"], {"words": words}).fetchall()
    assert sorted((row[0], row[1]) for row in rows) == sorted(expected)


def test_the_search_boxes_find_a_single_character(
    made: Made, database: sqlite3.Connection, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Datasette(ModuleType):
        """The one name that the plugin imports from Datasette."""

        @staticmethod
        def hookimpl(*, trylast: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
            assert trylast
            return lambda hook: hook

    monkeypatch.setitem(sys.modules, "datasette", Datasette("datasette"))
    plugin: dict[str, Any] = {}
    exec(made.files["plugins/search_characters.py"], plugin)
    plugin["prepare_connection"](database)
    for table, key, words, expected in (
        ("entries", "entry_id", "香", ["1"]), ("entries", "entry_id", "海の日", ["1"]), ("entries", "entry_id", "", []),
        ("comments", "cm_id", "ばしい", ["7"]), ("comments", "cm_id", "海", []),
    ):  # fmt: skip
        about = told["tables"][table]
        sql = f"SELECT {key} FROM {table} WHERE {about['fts_pk']} IN (SELECT rowid FROM {about['fts_table']} WHERE {about['fts_table']} MATCH escape_fts(?))"
        assert [row[0] for row in database.execute(sql, [words])] == expected
    assert plugin["spaced"]('海"の X') == f'"{spaced("海の x")}"'


def test_hostile_words_break_no_query(told: dict[str, Any]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(export("sqlite", hostile_blog()).files["blog-public.sqlite"])
        for words in ('"', "'", '" OR "', "a*", "NEAR(", "", " ", "\u3000", "^x", "カモメ"):
            found = connection.execute(told["queries"]["find"]["sql"], {"words": words}).fetchall()
            assert bool(found) == (words in {'" OR "', "a*", "^x", "カモメ"}), words
