"""The lists of comments: pages of about a hundred, by year, on which comments stay when newer ones arrive."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from exporter.export.comment_index import CommentTable
from exporter.model.kinds import Kind
from exporter.site.catalogue import COMMENTS_ON_PAGE
from tests.archive.builder import Built, record
from tests.site.building import build
from tests.site.test_view import many_entries

_ANCHOR = re.compile(r'<li id="comment-(\d+)"')


def comments(first: int, last: int, day: str, entry: str = "1") -> dict[str, bytes]:
    return {
        str(number): record(cm_id=str(number), entry_id=entry, cm_text=f"声{number}", regist_date=day)
        for number in range(first, last + 1)
    }


def pages(built: Built) -> dict[str, list[int]]:
    """Return the comments of each page below ``comments/``, by its name."""
    folder = built.layout.latest / "site" / "comments"
    return {path.stem: [int(each) for each in _ANCHOR.findall(path.read_text("utf-8"))] for path in folder.iterdir()}


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A blog with a year of many comments, 1,100 of them in one month; it must not be changed."""
    built = many_entries(tmp_path_factory.mktemp("talkative") / "a", 3)
    built.commit(
        {
            Kind.COMMENTS: {
                **comments(1, 20, "2019/05/01"),
                **comments(21, 60, "2020/01/02"),
                **comments(61, 1160, "2020/03/04"),
                **comments(1161, 1170, "some day"),
                **comments(1171, 1700, "2021/01/01", entry="99"),
            }
        }
    )
    build(built)
    return built


def test_a_long_year_is_split_into_months_and_a_long_month_into_parts(talkative: Built) -> None:
    found = pages(talkative)
    assert {name: (len(ids), max(ids), min(ids)) for name, ids in found.items()} == {
        "2019": (20, 20, 1),
        "2020": (40, 1160, 1121),
        "2020-01": (40, 60, 21),
        "2020-03-1": (500, 560, 61),
        "2020-03-2": (500, 1060, 561),
        "2020-03-3": (100, 1160, 1061),
        "2021": (40, 1700, 1661),
        "2021-01-1": (500, 1670, 1171),
        "2021-01-2": (30, 1700, 1671),
        "orphans": (500, 1670, 1171),
        "orphans-2": (30, 1700, 1671),
        "undated": (10, 1170, 1161),
    }
    assert all(ids == sorted(ids, reverse=True) for ids in found.values())
    own = Counter(
        each for name, ids in found.items() if name not in ("2020", "2021") and "orph" not in name for each in ids
    )
    assert own == Counter(range(1, 1701))
    assert max(map(len, found.values())) == COMMENTS_ON_PAGE


def test_its_pages_link_to_each_other(talkative: Built) -> None:
    site = talkative.layout.latest / "site"
    year = (site / "comments" / "2020.html").read_text("utf-8")
    assert re.findall(r'<a href="\.\./comments/(2020[^"]*)"', year) == [
        "2020-03-3.html", "2020-03-2.html", "2020-03-1.html", "2020-01.html",
    ]  # fmt: skip
    part = (site / "comments" / "2020-03-1.html").read_text("utf-8")
    assert '<a rel="prev" href="../comments/2020-01.html"' in part
    assert '<a rel="next" href="../comments/2020-03-2.html"' in part
    assert "コメント 2020年 3月 (1)" in part


def test_a_new_comment_is_added_to_the_last_part(talkative: Built, tmp_path: Path) -> None:
    before = pages(talkative)
    shutil.copytree(talkative.root, tmp_path / "a")
    changing = Built.reopen(tmp_path / "a")
    changing.commit({Kind.COMMENTS: comments(1701, 1701, "2020/03/09")})
    build(changing)
    changed = {name for name, ids in pages(changing).items() if ids != before[name]}
    assert changed == {"2020", "2020-03-3"}


def test_the_search_finds_an_orphan_on_its_page(talkative: Built) -> None:
    rows = (talkative.layout.latest / "site" / "data" / "texts-orphans.js").read_text("utf-8")
    assert '["comments/orphans.html","","","",0,"",[["1171","","声1171"]]]' in rows
    assert '["comments/orphans-2.html","","","",0,"",[["1671","","声1671"]]]' in rows


def test_comments_are_sorted_by_day() -> None:
    table = CommentTable()
    for number, day in enumerate([5, 0, 400, 5, 0, 401]):
        table.add("1", str(number), day)
    years = {year: list(places) for year, places in table.by_year().items()}
    assert list(years) == ["0002", "0001", "undated"]
    assert years == {
        "0002": [5, 2], "0001": [3, 0], "undated": [4, 1],
    }  # fmt: skip
