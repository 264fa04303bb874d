"""``fleet catalogue``, ``fleet search`` and ``fleet index`` on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter.archive.fleet_folder import archive_place
from tests.cli.conftest import Program
from tests.fleet.building import build_blog, entry
from tests.fleet.shelf import shelf
from tests.fleet.tables import catalogue_rows as read
from tests.support.runs import Runs

HOSTILE = "\x1b[31m<b>悪い\u202e"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shelf(tmp_path_factory.mktemp("reading") / "fleet")


@pytest.fixture
def fleet(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "fleet"))


def damage(root: Path, blog_id: str) -> str:
    place = archive_place(root, blog_id)
    shutil.rmtree(place / "latest")
    (place / "versions/000001/entries.jsonl").write_bytes(b"{")
    (place / "runs.jsonl").write_bytes((place / "runs.jsonl").read_bytes() + b"\n")
    return place.relative_to(root).as_posix()


class TestCatalogue:
    def test_the_output_names_the_results(self, program: Program, fleet: Path) -> None:
        place = "catalogue.sqlite"
        first = program("fleet", "catalogue", "sqlite", fleet, "--workers", "1")
        assert (first.code, first.out) == (0, "")
        assert first.err == f"{fleet / place}: 3 blogs, 5 entries, 3 archives read, 0 unchanged.\n"
        shutil.rmtree(archive_place(fleet, "haru.example.com"))
        again = program("fleet", "catalogue", "sqlite", fleet, "--workers", "1")
        assert again.err == f"{fleet / place}: 2 blogs, 4 entries, 0 archives read, 2 unchanged, 1 gone.\n"
        document = program("fleet", "catalogue", "sqlite", fleet, "--workers", "1", "--json").json
        assert (document["catalogue"], document["changed"], document["unchanged"]) == (str(fleet / place), False, 2)

    def test_a_damaged_archive_is_named_and_the_code_is_3(self, program: Program, fleet: Path, tmp_path: Path) -> None:
        where = damage(fleet, "aki.example.jp")
        result = program("fleet", "catalogue", "sqlite", fleet, tmp_path / "mine.sqlite", "--workers", "1")
        assert result.code == 3
        assert f"warning: {where}: " in result.err
        assert "3 blogs" in result.err
        result = program("fleet", "catalogue", "sqlite", fleet, tmp_path / "mine.sqlite", "--workers", "1", "--json")
        assert [each["archive"] for each in result.json["trouble"]] == [where]

    def test_many_troubles_are_counted(self, program: Program, fleet: Path) -> None:
        shard = archive_place(fleet, "aki.example.jp").parent
        for number in range(23):
            (shard / f"stray{number}\x1b[31m").mkdir()
        result = program("fleet", "catalogue", "sqlite", fleet, "--workers", "1")
        assert result.err.count("no blog of this name") == 20
        assert "3 more could not be read." in result.err
        assert "\x1b" not in result.err

    def test_refusals(self, program: Program, fleet: Path, tmp_path: Path) -> None:
        assert program("fleet", "catalogue", "sqlite", tmp_path / "none").code == 10
        (tmp_path / "mine").write_text("mine")
        assert program("fleet", "catalogue", "sqlite", fleet, tmp_path / "mine").code == 2
        assert (tmp_path / "mine").read_text() == "mine"

    @pytest.mark.parametrize("form", ["parquet", "duckdb", "csv"])
    def test_another_format_is_refused_with_the_way_to_it(self, program: Program, fleet: Path, form: str) -> None:
        result = program("fleet", "catalogue", form, fleet)
        assert result.code == 2
        assert "DuckDB opens it with ATTACH 'catalogue.sqlite' AS c (TYPE sqlite)" in result.err
        assert "COPY c.blogs TO 'blogs.parquet'" in result.err

    def test_progress_is_shown(self, program: Program, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("exporter.cli.fleet_output.LINE_SECONDS", 0.0)
        result = program("fleet", "catalogue", "sqlite", fleet, "--workers", "1")
        assert "1 of 3 archives, " in result.err


class TestSearch:
    def test_names_blog_entry_date_and_snippet(self, program: Program, fleet: Path) -> None:
        result = program("fleet", "search", fleet, "海の日", "港", "--workers", "1")
        assert result.code == 0
        assert result.out == (
            "2019-03-03  aki.example.jp  entry 2  記事2\n    2番目の日記です。[海の日]に[港]まで歩いた。\n"
            "2019-03-02  fuyu.example.jp  entry 1  記事1\n    1番目の日記です。[海の日]に[港]まで歩いた。\n"
        )
        assert "2 hits in 2 blogs, index of 20" in result.err
        document = program("fleet", "search", fleet, "海", "--limit", "1", "--json").json
        assert (document["found"], document["blogs"], len(document["hits"])) == (3, 2, 1)
        assert "the best 1 are shown" in program("fleet", "search", fleet, "海", "--limit", "1").err
        assert "the newest 1 are shown" in program("fleet", "search", fleet, "海", "--limit", "1", "--sort", "date").err

    def test_later_changes_are_counted_and_updated(self, program: Program, fleet: Path) -> None:
        program("fleet", "search", fleet, "海", "--workers", "1")
        shutil.rmtree(archive_place(fleet, "fuyu.example.jp"))
        assert "1 of them changed since: use --update" in program("fleet", "search", fleet, "海").err
        assert program("fleet", "search", fleet, "海", "--update", "--workers", "1").err == "2 hits in 1 blog.\n"
        where = damage(fleet, "aki.example.jp")
        result = program("fleet", "search", fleet, "海", "--update", "--workers", "1")
        assert (result.code, where in result.err) == (3, True)

    def test_hostile_titles_are_harmless(self, program: Program, fleet: Path) -> None:
        build_blog(fleet, "natsu.example.jp", [entry(1, title=HOSTILE, entry_text=f"<p>{HOSTILE}</p>")])
        result = program("fleet", "search", fleet, "悪い", "--workers", "1")
        assert "\\x1b[31m" in result.out
        assert not {"\x1b", "\u202e"} & set(result.out)

    def test_refusals(self, program: Program, fleet: Path, tmp_path: Path) -> None:
        assert program("fleet", "search", tmp_path, "海").code == 10
        assert program("fleet", "search", fleet, '"open').code == 0
        assert program("fleet", "search", fleet, "海", "--kind", "dream").code == 2


class TestIndex:
    def test_makes_the_page(self, program: Program, fleet: Path) -> None:
        result = program("fleet", "index", fleet, "--lang", "en", "--title", "Ours", "--workers", "1")
        assert (result.code, result.err) == (0, f"{fleet / 'index.html'}: 3 blogs, 4 entries.\n")
        assert "<title>Ours</title>" in (fleet / "index.html").read_text("utf-8")
        document = program("fleet", "index", fleet, "--workers", "1", "--json").json
        assert (document["blogs"], document["read"], document["pages"]) == (3, 0, 1)
        assert "保存したブログの一覧" in (fleet / "index.html").read_text("utf-8")

    def test_trouble_is_named(self, program: Program, fleet: Path) -> None:
        where = damage(fleet, "aki.example.jp")
        result = program("fleet", "index", fleet, "--workers", "1")
        assert (result.code, where in result.err) == (3, True)


@pytest.mark.no_cover
class TestKills:
    """A kill before any call that changes the disk leaves an old or new catalogue, and the next run completes it."""

    @pytest.mark.parametrize(
        "kills",
        [1, pytest.param(3, marks=pytest.mark.thorough), pytest.param(1_000, marks=pytest.mark.slow)],
    )
    def test_the_old_one_or_the_new_one(self, runs: Runs, fleet: Path, tmp_path: Path, kills: int) -> None:
        name = "catalogue.sqlite"
        command = ("fleet", "catalogue", "sqlite", "--workers", "1")
        assert runs.start(*command, fleet).wait().code == 0
        shutil.rmtree(archive_place(fleet, "haru.example.com"))
        build_blog(fleet, "natsu.example.jp", [entry(1), entry(2)])
        old = [(row["blog_id"], row["entry_id"]) for row in read(fleet / name, "entries")]
        whole = Path(shutil.copytree(fleet, tmp_path / "whole"))
        calls = runs.start(*command, whole).wait().calls
        new = [(row["blog_id"], row["entry_id"]) for row in read(whole / name, "entries")]
        assert calls > 5
        assert old != new
        seen = set()
        for number in sorted({calls, *range(3, calls, max(1, calls // kills))}):
            root = Path(shutil.copytree(fleet, tmp_path / f"killed{number}"))
            assert runs.start(*command, root, kill_at=number).wait().code == -9
            found = [(row["blog_id"], row["entry_id"]) for row in read(root / name, "entries")]
            assert found in (old, new), number
            seen.add(found == new)
            assert runs.start(*command, root).wait().code == 0
            assert [(row["blog_id"], row["entry_id"]) for row in read(root / name, "entries")] == new
        assert False in seen
