"""The search's data: pairs find every text, and a change affects one chunk and one shard."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html import embedded
from exporter.html.tree import Element, parse
from exporter.search import folding
from exporter.search.folding import fold
from exporter.site import search_data, view
from exporter.site.folds import case_table, folds_script
from exporter.site.search_data import BEYOND, END, LETTERS, SEVERAL, encoded, pairs_of
from exporter.site.templating import data_script
from tests.archive.builder import Built
from tests.site.building import build
from tests.site.test_view import many_entries

_CALL = re.compile(rb'blogData\("([a-z]+)","([a-z0-9]*)",(.*)\);\n', re.DOTALL)


def loaded(path: Path) -> Any:
    found = _CALL.fullmatch(path.read_bytes())
    assert found is not None
    return json.loads(found[3])


def bits_of(shard: str, pair: str) -> int:
    """Look a pair up as the page does."""
    start = shard.index("\n" + pair[0]) + 2
    line = shard[start : shard.index("\n", start)]
    found = 0
    at = 0
    while at < len(line):
        several = line[at + 1] == SEVERAL
        if line[at] == pair[1] and not several:
            return 1 << LETTERS.index(line[at + 1])
        if line[at] == pair[1]:
            for letter in line[at + 2 : at + 7]:
                found = found * 64 + LETTERS.index(letter)
            return found
        at += 7 if several else 2
    return found


class TestPairs:
    @given(
        st.dictionaries(
            st.text(alphabet='あいab<"\\ 𠮷海'.replace("𠮷", BEYOND), min_size=2, max_size=2),
            st.integers(1, 2**30 - 1),
            min_size=1,
        )
    )
    def test_encoded_pairs_are_found(self, bits: dict[str, int]) -> None:
        shard = encoded(bits)
        assert {pair: bits_of(shard, pair) for pair in bits} == bits

    @given(st.lists(st.text(max_size=12), max_size=5))
    def test_no_pair_of_any_text_is_missed(self, texts: list[str]) -> None:
        found = pairs_of([["", "", each, "", 0, "", [["1", each, each]]] for each in texts])
        for each in texts:
            key = re.sub("[\U00010000-\U0010ffff]", BEYOND, fold(each)) + END
            assert set(map("".join, pairwise(key))) <= found

    @pytest.mark.parametrize(("start", "end"), [(0x3041, 0x309F), (0x30A1, 0x30FF)])
    @given(text=st.text(alphabet="ぁあいんゟァアンーヿ海ab1\U00020bb7", max_size=40))
    def test_three_kana_of_a_kind_are_a_pair(self, start: int, end: int, text: str) -> None:
        """As the page looks them up: the code of the first two, then the third."""
        found = pairs_of([["", "", "", "", 0, text, []]])
        one = f"([{chr(start)}-{chr(end)}])"
        for first, second, third in re.findall(f"(?={one * 3})", fold(text)):
            assert chr(0xE700 + ((ord(first) - start) * 95 + ord(second) - start) % 0x1000) + third in found

    def test_every_text_is_in_its_chunk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(search_data, "SMALL_BLOG", 400)
        built = many_entries(tmp_path / "a", 600)
        build(built)
        data = built.layout.latest / "site" / "data"
        index = loaded(data / "search.js")
        assert isinstance(index, dict)
        names = [name for name, _ in index["chunks"]]
        assert sum(count for _, count in index["chunks"]) == 600
        checked = 0
        for first, last, shard_name in index["shards"]:
            shard = loaded(data / f"pairs-{shard_name}.js")
            assert isinstance(shard, str)
            for at, name in enumerate(names[first:last]):
                texts = loaded(data / f"texts-{name}.js")
                assert isinstance(texts, list)
                for page, _, title, *_ in texts:
                    assert (data.parent / page).is_file()
                    key = fold(title) + END
                    for pair in map("".join, pairwise(key)):
                        assert bits_of(shard, pair) >> at & 1
                        checked += 1
        assert checked > 1_800

    def test_a_small_blog_has_none(self, tmp_path: Path) -> None:
        built = many_entries(tmp_path / "a", 30)
        build(built)
        data = built.layout.latest / "site" / "data"
        assert not list(data.glob("pairs-*"))
        assert loaded(data / "search.js")["shards"] == []

    def test_comments_and_orphans_are_included(self, demo: Built) -> None:
        data = demo.layout.latest / "site" / "data"
        texts = "".join(path.read_text("utf-8") for path in data.glob("texts-*"))
        assert "わかめもお楽しみに" in texts
        assert "消えてしまいましたか" in (data / "texts-orphans.js").read_text("utf-8")


class TestFolds:
    def test_lower_case_and_the_table_equal_case_folding(self) -> None:
        table = case_table()
        for code in range(0x110000):
            if not 0xD800 <= code <= 0xDFFF:
                char = chr(code)
                assert "".join(table.get(each, each) for each in char.lower()) == char.casefold(), hex(code)

    def test_the_table_is_small(self) -> None:
        assert 50 < len(case_table()) < 400
        assert len(folds_script()) < 16_000

    @pytest.mark.parametrize("name", ["SELECTORS", "NOT_WHOLE"])
    def test_the_browser_leaves_out_and_keeps_the_same_characters(self, name: str) -> None:
        script = (Path(view.__file__).parent / "static/folding.js").read_text("utf-8")
        (found,) = re.findall(rf"const {name} = /(.*)/gu;", script)
        assert (
            re.sub(r"\\u\{?([0-9a-f]+)\}?", lambda code: chr(int(code[1], 16)), found)
            == {
                "SELECTORS": folding._SELECTOR.pattern,
                "NOT_WHOLE": folding._NOT_WHOLE.pattern,
            }[name]
        )


class TestScripts:
    def test_nothing_ends_a_script(self) -> None:
        text = data_script("texts", "1", ["</script><!--\u2028\u2029", 1])
        assert text.isascii()
        assert b"<" not in text
        assert loaded_value(text) == ["</script><!--\u2028\u2029", 1]


def loaded_value(text: bytes) -> object:
    found = _CALL.fullmatch(text)
    assert found is not None
    return json.loads(found[3])


def test_each_body_of_a_new_site_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def noted(html: str) -> Element:
        parsed.append(html)
        return parse(html)

    monkeypatch.setattr(embedded, "parse", noted)
    build(many_entries(tmp_path, 30))

    assert len(parsed) == len(set(parsed)) == 30
