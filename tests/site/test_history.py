"""The versions on the site: which entries changed, which are gone, and their earlier states."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path

import pytest

from exporter.archive.history import diff_versions
from exporter.errors import ArchiveDamaged
from exporter.model.changes import Change
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site.history import ArchiveHistory
from tests.archive.builder import Built, entry, five_versions, record
from tests.site.building import build, of_records
from tests.site.past_blog import past_blog


def test_the_history_has_entries_with_more_than_one_state(tmp_path: Path) -> None:
    history = ArchiveHistory(five_versions(tmp_path / "a").reader, DEFAULT_SERVICE)
    lives = history.changed_entries()
    assert lives["2"] == (1, 2)
    assert lives["3"] == (1, 3, 5)
    assert lives["7"] == (2, 3, 4)
    assert "1" not in lives
    assert "6" not in lives


def test_an_older_version_shows_no_later_ones(tmp_path: Path) -> None:
    history = ArchiveHistory(five_versions(tmp_path / "a").reader, DEFAULT_SERVICE, 3)
    assert [row.version for row in history.rows()] == [1, 2, 3]
    assert history.gone_entries().keys() == {"3", "7"}
    assert history.changes(1) == ([], 0)
    assert {change.change for change in history.changes(3)[0]} == {Change.GONE}


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(each, marks=pytest.mark.thorough) for each in range(2, 6))])
@pytest.mark.parametrize("hurt", [False, True])
def test_changes_equal_those_found_by_comparing_all_of_the_earlier_versions(
    tmp_path: Path, seed: int, hurt: bool
) -> None:
    chance = random.Random(seed)
    built, most = Built(tmp_path / "a"), chance.choice([6, 14])
    for _ in range(9):
        changes: dict[Kind, dict[str, bytes | None]] = {}
        for kind, name in ((Kind.ENTRIES, "entry_id"), (Kind.COMMENTS, "cm_id")):
            ids = [str(number) for number in range(1, most) if chance.random() < 0.4]
            there = built.states[-1][kind] if built.states else {}
            changes[kind] = {
                each: None
                if each in there and chance.random() < 0.4
                else record(**{name: each, "title": f"{chance.random()}"})
                for each in ids
            }
        built.commit(changes)
    if hurt:
        segment = built.layout.segment(chance.randrange(1, 10), chance.choice([Kind.ENTRIES, Kind.COMMENTS]))
        segment.write_bytes(segment.read_bytes().replace(b'{"op":"put"', b'{"op":"pus"', 1))
    history = ArchiveHistory(built.reader, DEFAULT_SERVICE)
    for row in history.rows()[1:]:
        damage: list[ArchiveDamaged] = []
        found = list(diff_versions(built.reader, row.version - 1, row.version, DEFAULT_SERVICE, damage.append))
        assert history.changes(row.version) == (found, len(damage))


def test_removed_records_keep_their_last_state(tmp_path: Path) -> None:
    built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": entry(1, "はじめ"), "2": entry(2, "二")}})
    built.commit({Kind.ENTRIES: {"1": entry(1, "おわり")}})
    built.commit({Kind.ENTRIES: {"1": None}})
    gone = ArchiveHistory(built.reader, DEFAULT_SERVICE).gone_entries()["1"]
    assert gone.version == 3
    assert gone.load()["title"] == "おわり"
    steps = ArchiveHistory(built.reader, DEFAULT_SERVICE).states("1")
    assert [step.record and step.record["title"] for step in steps] == ["はじめ", "おわり", None]


def test_pages_of_an_entry_that_came_back(tmp_path: Path) -> None:
    built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": entry(1, "題")}})
    built.commit({Kind.ENTRIES: {"1": None}})
    built.commit({Kind.ENTRIES: {"1": entry(1, "また")}})
    build(built)
    text = (built.layout.latest / "site" / "history" / "entry-1.html").read_text("utf-8")
    assert text.count("data-step") == 3
    assert "以降、元のブログにはありません" in text
    assert "以降、元のブログにはありません" not in (built.layout.latest / "site" / "entry" / "1.html").read_text(
        "utf-8"
    )


def test_only_markup_changed(tmp_path: Path) -> None:
    built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": record(entry_id="1", title="t", entry_text="<b>x</b>")}})
    built.commit({Kind.ENTRIES: {"1": record(entry_id="1", title="t", entry_text="<i>x</i>")}})
    build(built)
    text = (built.layout.latest / "site" / "history" / "version-2.html").read_text("utf-8")
    assert "<del>b</del><ins>i</ins>" in text


def test_long_histories_are_cut(tmp_path: Path) -> None:
    built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": entry(1, "題")}})
    built.commit({Kind.COMMENTS: {str(number): record(cm_id=str(number), entry_id="1") for number in range(350)}})
    built.commit({Kind.USER: {"u": record(id="u", nickname="n")}})
    build(built)
    history = built.layout.latest / "site" / "history"
    assert "ほか 50\u00a0件" in (history / "version-2.html").read_text("utf-8")
    assert "このバージョンで変わった記事はありません" in (history / "version-3.html").read_text("utf-8")


def test_the_about_page_lists_the_newest_versions_and_each_version_has_a_page(tmp_path: Path) -> None:
    """If every night read the manifests of all versions, its cost would grow with their number."""
    built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": entry(1, "題")}})
    for number in range(15):
        built.commit({Kind.USER: {"u": record(id="u", nickname=str(number))}})
    build(built)
    site = built.layout.latest / "site"
    about = (site / "about.html").read_text("utf-8")
    assert about.count('class="hash"') == 12
    assert "バージョン 16" in about
    assert "バージョン 4" not in about
    assert "ほか 4\u00a0件" in about
    for number in built.reader.versions():
        digest = hashlib.sha256(built.layout.manifest(number).read_bytes()).hexdigest()
        assert digest in (site / f"history/version-{number}.html").read_text("utf-8")


def test_without_a_history_there_is_still_an_about_page(demo: Built) -> None:
    from exporter.site.view import SiteView  # noqa: PLC0415

    state = demo.reader.state()
    files = {file.path: file for file in SiteView(DEFAULT_SERVICE).files(state)}
    assert "history.html" not in files
    assert "バージョンの記録はありません" in files["about.html"].render().decode()
    state.close()


@pytest.mark.parametrize(
    ("language", "line"), [("ja", "<li>記事 13: answered 404</li>"), ("en", "<li>Entries 13: answered 404</li>")]
)
def test_values_that_cannot_be_parsed_are_shown_as_stored(tmp_path: Path, language: str, line: str) -> None:
    built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": entry(1, "題")}})
    build(built, language=language)
    site = built.layout.latest / "site"
    assert line in (site / "about.html").read_text("utf-8")
    assert line in (site / "history/version-1.html").read_text("utf-8")


def test_home_and_about_agree_on_the_number_of_entries_and_explain_it(tmp_path: Path) -> None:
    built = past_blog(tmp_path / "blog")
    build(built)
    pages = [(built.layout.latest / "site" / name).read_text("utf-8") for name in ("index.html", "about.html")]
    found = [
        re.search(
            r"記事 (\d+)\u00a0件 · うち (\d+)\u00a0件はサービスから削除されています · うち (\d+)\u00a0件は非公開", page
        )
        for page in pages
    ]
    assert all(found)
    assert len({each.groups() for each in found if each}) == 1
