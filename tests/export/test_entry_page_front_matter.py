from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.export.entry_page import front_matter
from exporter.model.records import Problem
from exporter.service.registry import DEFAULT_SERVICE
from tests.html.records import entry, item

LOADERS: list[Any] = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]


def read(text: str, loader: Any = yaml.SafeLoader) -> dict[str, Any]:
    assert text.startswith("---\n")
    assert text.endswith("\n---\n")
    assert text.count("\n---\n") == 1
    found = yaml.load(text[4:-4], Loader=loader)
    assert isinstance(found, dict)
    return found


def test_the_fields() -> None:
    text, replaced = front_matter(DEFAULT_SERVICE.post(entry(), item()), 3)
    assert replaced == 0
    assert read(text) == {
        "title": "海の日", "date": "2024-03-05T12:34:56+09:00", "updated": "2024-03-06T01:02:03+09:00", "category": "日記",
        "source": {
            "blog_id": "umi.blog.example.jp", "entry_id": "42", "period_date": None,
            "category_id": "3", "name": "umi", "open_flg": "1", "period_flg": False, "is_private": False, "text_format": "2",
            "cm_receipt_flg": True, "tb_receipt_flg": False, "comments": 3,
        },
    }  # fmt: skip
    assert list(read(text)) == ["title", "date", "updated", "category", "source"]
    assert 'title: "海の日"' in text
    assert datetime.fromisoformat(read(text)["date"]).utcoffset() is not None


def test_problems_are_named() -> None:
    text, _ = front_matter(DEFAULT_SERVICE.post(entry(year="0000", is_private="x"), item(category=[])), 0)
    found = read(text)
    assert found["date"] is None
    assert found["source"]["is_private"] is None
    assert found["draft"] is True
    assert found["source"]["problems"] == [
        "year…sec: is an impossible date",
        "is_private: is neither t nor f",
        "category: is not text",
    ]


@pytest.mark.parametrize(("flag", "draft"), [("t", True), ("f", None), ("?", True)])
def test_private_and_doubtful_entries_are_drafts(flag: str, draft: bool | None) -> None:
    text, _ = front_matter(DEFAULT_SERVICE.post(entry(is_private=flag), item()), 0)
    assert read(text).get("draft") is draft


def test_without_a_list_item() -> None:
    assert read(front_matter(DEFAULT_SERVICE.post({}), 0)[0])["category"] is None


TITLES = [
    "a: b", "'a' \"b\"", "---", "\n---\nx: 1\n", "😀", "\u2028", "\u2029", "\x85", "x\x85", "字" * 400, "yes", "null", "012", "2024-01-01", "1e3", "~", "",
    " a ", "\t", "#a", "- a", "{a}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "\\", "\x00\x07\x1b\x7f\x9f", "\ufeff", "\ufffe\uffff", "=", "<<",
    "0x1F", "1:30", "1_000", ".inf", "on", "N", "\r\n", "\U0010ffff", "a\u3000", "\u00a0", "\u202e", "a #b", "... ",
]  # fmt: skip


def test_titles_read_back(subtests: pytest.Subtests) -> None:
    for loader in LOADERS:
        for title in TITLES:
            with subtests.test(loader=loader, title=title):
                text, replaced = front_matter(DEFAULT_SERVICE.post(entry(title=title)), 0)
                assert read(text, loader)["title"] == title
                assert replaced == 0


def test_lone_surrogates_are_replaced_and_counted() -> None:
    text, replaced = front_matter(
        DEFAULT_SERVICE.post(entry(title="a\ud83d", name="\udc00", cm_receipt_flg="\ud800")), 0
    )
    assert read(text)["title"] == "a\ufffd"
    assert replaced == 2


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_title_reads_back(title: str) -> None:
    text, _ = front_matter(DEFAULT_SERVICE.post(entry(title=title, name=title)), 0)
    for loader in LOADERS:
        assert read(text, loader)["title"] == read(text, loader)["source"]["name"] == title


PROBLEM = Problem("year", "", "is missing")
FACTS = st.dictionaries(
    st.sampled_from(["name", "open_flg", "is_private", "null", "on", "text-format", "N", "a b", "x" * 200, "1", "", "=", "~"]),
    st.one_of(st.none(), st.booleans(), st.text(max_size=20), st.sampled_from(TITLES)),
    max_size=5,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(TITLES), FACTS, st.integers(0, 10**6))
def test_the_fast_path_writes_the_same_as_the_yaml_writer(
    title: str, facts: dict[str, str | bool | None], comments: int
) -> None:
    post = replace(DEFAULT_SERVICE.post(entry(title=title), item()), facts=facts)
    long, _ = front_matter(replace(post, problems=(PROBLEM,)), comments)
    assert front_matter(post, comments) == (long.replace('  problems:\n  - "year: is missing"\n', ""), 0)


@pytest.mark.parametrize(
    "codes", [range(0x500), range(0x1FF0, 0x2100), range(0xD7F0, 0xD800), range(0xE000, 0xE010), range(0xFE00, 0x10010)]
)
def test_every_character_is_written_as_by_the_yaml_writer(codes: range) -> None:
    for code in codes:
        post = DEFAULT_SERVICE.post(entry(title=f"a{chr(code)}b "))
        long, _ = front_matter(replace(post, problems=(PROBLEM,)), 0)
        assert front_matter(replace(post, problems=()), 0)[0] == long.replace(
            '  problems:\n  - "year: is missing"\n', ""
        )
