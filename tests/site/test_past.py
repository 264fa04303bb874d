"""The site's past: a page for each earlier state, and data that restore the blog of any version."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from exporter.archive.layout import Layout
from exporter.export.interface import Copy
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.catalogue import Catalogue, safe_name
from exporter.site.facts import SiteFacts
from exporter.site.history import ArchiveHistory
from exporter.site.view import SiteView, copied_site
from tests.archive.builder import Built, entry, five_versions
from tests.site.building import build
from tests.site.past_blog import an_entry, item, past_blog, replaced_picture, said

Rows = dict[str, list[Any]]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = past_blog(tmp_path_factory.mktemp("past") / "a")
    build(built)
    return built


def page(built: Built, path: str) -> str:
    return (built.layout.latest / "site" / path).read_text("utf-8")


def data(layout: Layout, name: str) -> Any:
    text = (layout.latest / "site" / "data" / name).read_text("utf-8")
    return json.loads(re.sub(r'^blogData\("[^"]*","[^"]*",', "", text).removesuffix(");\n"))


def rows_at(layout: Layout, version: int) -> Rows:
    """Return a version's list rows, as the script in the page makes them: by name, date, title, and so on."""
    index = data(layout, "past.js")
    chunks = [first for first, last in index["chunks"] if last > version]
    steps = [step for first in chunks for step in data(layout, f"past-{first}.js") if step[0] > version]
    before: dict[str, list[Any] | None] = {}
    talk: dict[str, tuple[str, int, bool]] = {}
    for _, entries, comments, _ in sorted(steps, key=lambda step: -step[0]):
        for name, _, *row in entries:
            before[name] = row[:5] if row else None
        for comment_id, name, put, html in comments:
            today = talk[comment_id][1] if comment_id in talk else put
            talk[comment_id] = name, today, html != ""
    found: Rows = {}
    numbers: dict[str, int] = {}
    for year in index["years"]:
        for name, *row, number in data(layout, f"list-{year}.js")["entries"]:
            numbers[name] = number
            if name not in before:
                found[name] = row
    found |= {name: row for name, row in before.items() if row is not None}
    for name, today, then in talk.values():
        numbers[name] = numbers.get(name, 0) + then - today
    return {name: [*row, numbers.get(name, 0)] for name, row in found.items()}


def truth_at(built: Built, version: int) -> Rows:
    """Return the same rows from a site of that version."""
    reader = built.reader
    state = reader.fold(version)
    history = ArchiveHistory(reader, DEFAULT_SERVICE, version)
    catalogue = Catalogue(state, DEFAULT_SERVICE, SiteFacts(state), history=history)
    found = {
        safe_name(post.id): [
            "" if post.date is None else post.date.isoformat()[:16], post.title, post.category,
            post.private + 2 * (post.gone_in is not None), post.access, post.comments,
        ]
        for post in catalogue.posts
    }  # fmt: skip
    state.close()
    return found


def test_the_lists_of_every_version_are_restored(past: Built) -> None:
    for version in past.reader.versions():
        assert rows_at(past.layout, version) == truth_at(past, version), version
    assert rows_at(past.layout, 1)["2"] == ["2016-02-04T21:05", "題2", "海辺", 0, "", 2]
    assert rows_at(past.layout, 3)["2"] == ["2017-02-04T21:05", "新しい題2", "海辺", 0, "", 2]
    assert "7" not in rows_at(past.layout, 2)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(each, marks=pytest.mark.thorough) for each in range(2, 8))])
def test_the_lists_of_any_blog_are_restored(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    built = Built(tmp_path / "a")
    for _ in range(7):
        there = built.states[-1] if built.states else {kind: {} for kind in Kind}
        entries = {
            str(n): None
            if str(n) in there[Kind.ENTRIES] and chance.random() < 0.3
            else an_entry(n, f"題{chance.random()}", "文", chance.choice([2015, 2016]), is_private=chance.choice("tf"))
            for n in range(1, 8)
            if chance.random() < 0.5
        }
        items = {key: None if text is None else item(int(key), chance.choice("海山")) for key, text in entries.items()}
        comments = {
            str(n): None
            if str(n) in there[Kind.COMMENTS] and chance.random() < 0.4
            else said(n, 1 + n % 7, f"感想{chance.random()}")
            for n in range(20, 30)
            if chance.random() < 0.4
        }
        built.commit({Kind.ENTRIES: entries, Kind.ENTRY_LIST: items, Kind.COMMENTS: comments})
    build(built)
    for version in built.reader.versions():
        assert rows_at(built.layout, version) == truth_at(built, version), version


def test_odd_records_have_a_past(tmp_path: Path) -> None:
    built = five_versions(tmp_path / "a")
    build(built)
    for version in built.reader.versions():
        found = rows_at(built.layout, version)
        assert {name: row[:-1] for name, row in found.items()} == {
            name: row[:-1] for name, row in truth_at(built, version).items()
        }


def test_every_earlier_state_is_a_page(past: Built) -> None:
    states = sorted(path.name for path in (past.layout.latest / "site" / "history").glob("entry-*-v*.html"))
    assert states == ["entry-2-v1.html", "entry-2-v2.html", "entry-3-v1.html", "entry-4-v1.html"]
    first, second = page(past, "history/entry-2-v1.html"), page(past, "history/entry-2-v2.html")
    assert "以前の姿です。" in first
    assert "2024年1月31日（水） 21:00 に保存。2024年2月29日（木） 21:00 には変わっていました。" in first
    assert "朝の海。" in first
    assert 'href="../history/entry-2-v2.html"' in first
    assert 'href="../history/entry-2-v1.html"' in second
    assert '<a href="../entry/2.html" data-now>' in second
    assert "<script>alert" not in second
    assert "追記" in second
    assert re.search(r'<img src="../../../assets/[^"]*" alt="海"', second)
    assert "消えていました" in page(past, "history/entry-3-v1.html")


def test_an_earlier_state_has_the_comments_it_had_last(past: Built) -> None:
    first, second = page(past, "history/entry-2-v1.html"), page(past, "history/entry-2-v2.html")
    assert re.findall(r'id="comment-(\d+)"', first) == ["10", "12"]
    assert "はじめの感想。" in first
    assert re.findall(r'id="comment-(\d+)"', second) == ["10", "11"]
    assert "直した感想。" in second


def test_a_comment_stays_with_the_entry_that_it_belonged_to(tmp_path: Path) -> None:
    built = past_blog(tmp_path / "a")
    build(built)
    before = page(built, "history/entry-2-v2.html")
    built.commit({Kind.COMMENTS: {"11": said(11, 5, "移った感想。")}})
    build(built)
    assert page(built, "history/entry-2-v2.html") == before
    build(Built.reopen(built.root), title="別の名")
    assert re.findall(r'id="comment-(\d+)"', page(built, "history/entry-2-v2.html")) == ["10", "11"]


def test_steps_and_versions_lead_to_states(past: Built) -> None:
    life = page(past, "history/entry-2.html")
    assert re.findall(r'<a href="\.\./([^"]+)" data-v="\d">この姿を読む', life) == [
        "entry/2.html", "history/entry-2-v2.html", "history/entry-2-v1.html",
    ]  # fmt: skip
    version = page(past, "history/version-4.html")
    assert 'href="../history/entry-2-v2.html" data-now>変わる前の姿を読む' in version
    assert 'href="../history/entry-2.html#v4"' in version
    assert 'href="../index.html?v=4"' in version
    assert "?v=5" not in page(past, "history/version-5.html")
    # The page of a removed entry shows its last state.
    assert 'href="../entry/6.html" data-v="1">この姿を読む' in page(past, "history/entry-6.html")


def test_pictures_have_the_versions_that_showed_them(past: Built) -> None:
    rows = [row for year in ("2016", "2017") for row in data(past.layout, f"list-{year}.js")["pictures"]]
    assert sorted(users for *_, users, _ in rows) == [[["1", 0, 0], ["2", 0, 0]], [["7", 3, 0]]]


def test_an_earlier_state_has_its_own_picture(tmp_path: Path) -> None:
    built, (first, second) = replaced_picture(tmp_path / "a")
    build(built)
    shown = {name: page(built, f"history/entry-2-v{name}.html") for name in (1, 2)}
    assert first in shown[1]
    assert second not in shown[1]
    # If a picture was replaced during a state, its page has the later picture, and a script shows the earlier one.
    assert second in shown[2]
    assert second in page(built, "entry/1.html")
    assert [step[3] for step in data(built.layout, "past-2.js")] == [[], [[Path(second).stem, first]], []]


def test_a_copy_of_the_site_has_the_pictures_of_its_past(tmp_path: Path) -> None:
    built, paths = replaced_picture(tmp_path / "a")
    view = SiteView(DEFAULT_SERVICE, ArchiveHistory(built.reader, DEFAULT_SERVICE), SiteOptions(assets=""))
    state = built.reader.state()
    assert {*paths} <= {
        str(file.source) for file in copied_site(view, state, view.files(state)) if isinstance(file, Copy)
    }
    state.close()


def test_a_comment_leads_to_its_entry(past: Built) -> None:
    version = page(past, "history/version-2.html")
    assert len(re.findall(r'<a href="\.\./entry/2\.html">みなと</a>', version)) == 2


def test_times_are_in_the_time_zone_of_the_blog(past: Built) -> None:
    for name in ("history.html", "history/version-2.html", "history/entry-2.html", "about.html"):
        text = page(past, name)
        assert "UTC" not in text
        assert "2024年2月29日（木） 21:00" in text


def test_fields_have_names_and_short_ones_are_whole(past: Built) -> None:
    text = page(past, "history/version-4.html")
    assert "entry_text" not in text
    assert re.search(r"<h3>題名</h3>\s*<div class=.words.>\s*<p[^>]*><del>新しい題2</del> → <ins>最後の題2</ins>", text)
    assert re.search(r"<h3>非公開</h3>\s*<div class=.words.>\s*<p[^>]*><del>いいえ</del> → <ins>はい</ins>", text)
    moved = page(past, "history/entry-2.html")
    days = "<del>2016年2月4日（木） 21:05</del> → <ins>2017年2月4日（土） 21:05</ins>"
    assert re.search(rf"<h3>日時</h3>\s*<div class=.words.>\s*<p[^>]*>{re.escape(days)}", moved)


def test_one_version_has_no_past(tmp_path: Path) -> None:
    built = Built(tmp_path / "a")
    built.commit({Kind.ENTRIES: {"1": entry(1, "題")}})
    build(built)
    assert not list((built.layout.latest / "site" / "data").glob("past*"))
    assert "data-past" not in page(built, "history.html")


def test_a_new_version_writes_few_of_its_files(past: Built, tmp_path: Path) -> None:
    built = past_blog(tmp_path / "a")
    build(built)
    before = {path: path.stat().st_ino for path in (built.layout.latest / "site").rglob("*.*")}
    built.commit({Kind.ENTRIES: {"1": an_entry(1, "題1", "<p>直した。</p>")}})
    build(built)
    made = {path.name for path, inode in before.items() if path.stat().st_ino != inode}
    assert {"past.js", "past-2.js", "entry-2.html"} & made == {"past.js", "past-2.js"}
    assert not [name for name in made if "-v" in name]
    assert (built.layout.latest / "site" / "history" / "entry-1-v1.html").is_file()


def test_a_state_that_is_damaged_is_named(tmp_path: Path) -> None:
    built = past_blog(tmp_path / "a")
    segment = built.layout.segment(2, Kind.ENTRIES)
    segment.write_bytes(segment.read_bytes().replace("新しい題2".encode(), "醜くい題2".encode()))
    build(built)
    assert "このバージョンの姿は壊れていて" in page(built, "history/entry-2-v2.html")
    assert "このバージョンの姿は壊れていて" in page(built, "history/entry-2.html")
    assert rows_at(built.layout, 2)["2"][3] == 4
    segment.write_bytes(b"nothing\n")
    build(built)
    assert data(built.layout, "past.js")["damaged"] == [2]


def test_texts_of_strangers_in_the_past_are_harmless(tmp_path: Path) -> None:
    hostile = '</script><script>alert(1)</script><img src="x" onerror="alert(1)"><a href="javascript:alert(1)">海</a>'
    built = Built(tmp_path / "a")
    built.commit({Kind.ENTRIES: {"1": an_entry(1, hostile, hostile)}, Kind.COMMENTS: {"5": said(5, 1, hostile)}})
    built.commit({Kind.ENTRIES: {"1": an_entry(1, "題", "文")}, Kind.COMMENTS: {"5": None}})
    build(built)
    state = page(built, "history/entry-1-v1.html")
    assert "alert(1)" in state
    for text in (state, data(built.layout, "past-2.js")[0][2][0][3]):
        tree = LexborHTMLParser(text)
        assert not tree.css("[onerror], [href^=javascript], script:not([src])")
        assert "海" in (tree.text() or "")
    for name in ("past-2.js", "list-2016.js", "past.js"):
        assert "<" not in (built.layout.latest / "site" / "data" / name).read_text("utf-8")


def test_a_public_copy_has_no_past(tmp_path: Path) -> None:
    built = past_blog(tmp_path / "a")
    state = built.reader.state()
    files = {file.path: file for file in SiteView(DEFAULT_SERVICE, None, SiteOptions(public=True)).files(state)}
    assert not [path for path in files if "past" in path or path.startswith(("history", "data/list"))]
    assert b"past" not in files["index.html"].render()
    state.close()
