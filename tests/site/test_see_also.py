"""The links below an entry: entries that mention it, and similar ones; edits of others leave its page unchanged."""

from __future__ import annotations

import re
from pathlib import Path

from exporter import lossless_json
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.site.building import build, of_records
from tests.site.test_view import entry

_OPTIONS = {"entry_addresses": ("https://sea.example/e/{entry_id}",)}
_ROW = re.compile(r'<section class="beside" id="(\w+)">(.*?)</section>', re.DOTALL)
_LINK = re.compile(r'href="([^"]*)"')


def beside(built: Built, number: int) -> dict[str, list[str]]:
    text = (built.layout.latest / "site" / "entry" / f"{number}.html").read_text("utf-8")
    return {name: _LINK.findall(rows) for name, rows in _ROW.findall(text)}


def test_entries_that_mention_an_entry_are_listed_below_it(tmp_path: Path) -> None:
    def mentioning(number: int, *others: int) -> bytes:
        return entry(number, f"題{number}" + "".join(f' <a href="/e/{other}">前</a>' for other in others))

    built = of_records(
        tmp_path / "a",
        {
            Kind.ENTRIES: {
                "1": entry(1, "一"),
                "2": mentioning(2, 1, 1, 2),
                "3": mentioning(3, 1, 99),
                "4": entry(4, "四"),
            }
        },
    )
    build(built, **_OPTIONS)
    assert beside(built, 1) == {"mentions": ["../entry/2.html", "../entry/3.html"]}
    assert beside(built, 2) == beside(built, 4) == {}
    built.commit({Kind.ENTRIES: {"4": mentioning(4, 2), "3": entry(3, "三")}})
    build(built, **_OPTIONS)
    assert beside(built, 1) == {"mentions": ["../entry/2.html"]}
    assert beside(built, 2) == {"mentions": ["../entry/4.html"]}


def test_an_entry_with_many_mentions_lists_the_first_thirty(tmp_path: Path) -> None:
    many = {str(number): entry(number, f'<a href="/e/1">目次</a>{number}') for number in range(2, 42)}
    built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": entry(1, "目次"), **many}})
    build(built, **_OPTIONS)
    assert len(beside(built, 1)["mentions"]) == 30
    assert "ほか 10\u00a0件" in (built.layout.latest / "site" / "entry" / "1.html").read_text("utf-8")


def test_similar_entries_depend_on_words_and_an_edit_leaves_others_unchanged(tmp_path: Path) -> None:
    words = {1: "灯台の百年祭", 2: "灯台へ行った、百年前の道", 3: "朝の散歩", 4: "図書館と珈琲豆"}
    built = of_records(
        tmp_path / "a", {Kind.ENTRIES: {str(number): entry(number, said) for number, said in words.items()}}
    )
    build(built)
    assert beside(built, 1) == {"alike": ["../entry/2.html"]}
    assert beside(built, 3) == {}
    raw = built.reader.state().load(Kind.ENTRIES, "1")
    assert raw is not None
    built.commit(
        {Kind.ENTRIES: {"1": lossless_json.dumps(raw | {"entry_text": raw["entry_text"] + "<p>よかった。</p>"})}}
    )
    other = built.layout.latest / "site" / "entry" / "2.html"
    before = other.stat().st_ino
    build(built)
    assert other.stat().st_ino == before
    built.commit({Kind.ENTRIES: {"1": entry(1, "図書館の珈琲豆")}})
    build(built)
    assert beside(built, 4) == {"alike": ["../entry/1.html"]}
    assert beside(built, 2) == {}


def test_a_hostile_title_below_an_entry_is_text(tmp_path: Path) -> None:
    bad = '灯台<script>百年</script>"'
    built = of_records(
        tmp_path / "a",
        {Kind.ENTRIES: {"1": entry(1, "灯台の百年"), "2": record(entry_id="2", title=bad, entry_text="灯台、百年")}},
    )
    build(built)
    text = (built.layout.latest / "site" / "entry" / "1.html").read_text("utf-8")
    assert "灯台&lt;script&gt;百年&lt;/script&gt;&#34;" in text
