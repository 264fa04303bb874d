"""The command ``site``, and the site that other commands keep up to date."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.demo.content import fields
from exporter.model.kinds import Kind
from exporter.site import search_data
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.site.test_view import entry, many_entries
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return many_entries(tmp_path_factory.mktemp("small") / "a", 5).root


@pytest.fixture
def two_versions(tmp_path: Path) -> Path:
    built = many_entries(tmp_path / "a", 5)
    built.commit({Kind.ENTRIES: {"3": entry(3, "書き直した")}})
    return built.root


def start(root: Path) -> str:
    return (root / "latest/site/index.html").read_text("utf-8")


def test_it_makes_the_site_and_opens_it(small: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    found = program("site", small, "--title", "海の題", "--lang", "en", "--open", "--json")
    assert found.code == 0, found
    assert found.json["version"] == 1
    place = Path(found.json["site"])
    assert opened == [place.as_uri()]
    assert "海の題" in place.read_text("utf-8")
    assert program("site", small, "--json").json["files_made"] == 0
    assert '<html lang="en">' in place.read_text("utf-8")
    monkeypatch.setenv("BLOG_EXPORTER_SITE_TITLE", "設定の題")
    monkeypatch.setenv("BLOG_EXPORTER_SITE_LANG", "ja")
    assert program("site", small).code == 0
    assert "設定の題" in place.read_text("utf-8")
    assert '<html lang="ja">' in place.read_text("utf-8")
    assert program("site", small, "--title", "", "--lang", "ja").code == 0
    assert "の題" not in place.read_text("utf-8")


def test_an_older_version_stays_until_something_brings_back_the_newest(program: Program, two_versions: Path) -> None:
    assert program("site", two_versions).code == 0
    assert "書き直した" in start(two_versions)
    older = program("site", two_versions, "--at", "1")
    assert older.code == 0
    assert "All of latest/ shows version 1 now; the next backup, rebuild or site brings back the newest." in older.err
    assert "書き直した" not in start(two_versions)
    assert not (two_versions / "latest/site/history/version-2.html").exists()
    assert program("site", two_versions, "--at", "1", "--json").json["files_made"] == 0
    newest = program("site", two_versions)
    assert "All of" not in newest.err
    assert "書き直した" in start(two_versions)
    assert (two_versions / "latest/site/history/version-2.html").exists()


def test_a_copy_needs_no_other_files(small: Path, program: Program, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    found = program("site", small, out, "--at", "1", "--json")
    assert found.code == 0, found
    assert found.json["side"] == "all"
    assert (out / "history.html").is_file()
    assert program("site", small, out).code == 2
    assert program("site", small, out, "--force").code == 0


def test_options_that_need_a_folder_say_so(small: Path, program: Program) -> None:
    found = program("site", small, "--public-only")
    assert found.code == 2
    assert "OUT" in found.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--lang", "fr"], "fr"),
        (["--at", "soon"], "soon"),
        (["--entry-url", "x"], "entry_url"),
        (["{archive}/latest/copy"], "inside the archive"),
        (["{archive}"], "inside the archive"),
        (["{tmp}"], "there already"),
        (["{tmp}/file"], "there already"),
        (["{tmp}/file/copy"], "file"),
    ],
)
def test_invalid_options_are_reported_in_one_line(
    small: Path, program: Program, arguments: list[str], word: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    found = program("site", small, *(each.format(archive=small, tmp=tmp_path) for each in arguments))
    assert found.code == 2
    assert found.err.count("\n") == 1
    assert word in found.err
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "file").read_text() == "mine"


def test_a_missing_or_locked_archive(small: Path, program: Program, tmp_path: Path) -> None:
    assert program("site", tmp_path).code == 10
    with ArchiveLock(small / ".work/lock") as lock:
        lock.acquire(SystemClock().now(), 0)
        assert program("site", small).code == 11


def test_no_command_but_those_asked_adds_or_drops_a_view(program: Program, two_versions: Path) -> None:
    archive = two_versions
    site, markdown = archive / "latest/site", archive / "latest/markdown"
    assert program("rebuild", archive, "--no-site").code == 0
    assert (site.exists(), markdown.exists()) == (False, True)
    assert program("prune", archive, "--keep-last", 1).code == 0
    assert (site.exists(), markdown.exists()) == (False, True)
    assert program("rebuild", archive, "--no-markdown").code == 0
    assert (site.exists(), markdown.exists()) == (True, False)
    assert program("site", archive, "--title", "題").code == 0
    assert (site.exists(), markdown.exists()) == (True, False)
    assert program("rebuild", archive).code == 0
    assert (site.exists(), markdown.exists()) == (True, True)
    assert "<title>題</title>" in start(archive)


def test_prune_keeps_the_site_and_removes_old_versions_from_it(program: Program, two_versions: Path) -> None:
    archive = two_versions
    assert program("site", archive).code == 0
    assert (archive / "latest/site/history/version-1.html").exists()
    assert program("prune", archive, "--keep-last", 1).code == 0
    assert not (archive / "latest/site/history/version-1.html").exists()
    assert (archive / "latest/site/history/version-2.html").exists()
    assert program("verify", archive).code == 0


def test_a_missing_version(program: Program, archive: Path, tmp_path: Path) -> None:
    for target in ([], [tmp_path / "out"]):
        done = program("site", archive, *target, "--at", "9")
        assert (done.code, done.err.count("\n")) == (5, 1)
        assert "There is no version 9" in done.err
    assert not (tmp_path / "out").exists()


def test_backup_keeps_the_site_by_default(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blog = generated_blog(12, 5, 2)
    root = tmp_path / "archive"
    with DemoService(blog).run_in_thread() as service:
        where = ("--base-url", service.base_url, "--archive", root, "--assets", "embedded")
        command = ("backup", blog.blog_id, *where)
        first = program(*command)
        assert first.code == 0
        assert f"Read it: {root / 'latest/site/index.html'}" in first.err
        made = (root / "latest/site/entry/1.html").stat()
        assert program(*command).code == 0
        assert (root / "latest/site/entry/1.html").stat() == made
        blog.entries[1] = {**fields(blog.entries[1]), "title": "改題"}
        assert program(*command).code == 0
        assert "改題" in (root / "latest/site/entry/1.html").read_text("utf-8")
        without = program(*command, "--no-site")
        assert f"Read it: {root / 'latest/markdown/index.md'}" in without.err
        assert not (root / "latest/site").exists()
        monkeypatch.setenv("BLOG_EXPORTER_SITE", "no")
        assert "Read it" not in program(*command, "--no-markdown").err
        assert not (root / "latest/site").exists()
        monkeypatch.delenv("BLOG_EXPORTER_SITE")
        assert program(*command).code == 0
        assert "改題" in (root / "latest/site/entry/1.html").read_text("utf-8")


def test_a_changed_entry_costs_few_files(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_data, "SMALL_BLOG", 40)
    built = many_entries(tmp_path / "a", 60)
    address = ("--entry-url", "https://sea.example/Entry/{entry_id}/")
    assert program("site", built.root, *address, "--json").json["files_made"] > 60
    before = mtimes(built)
    raw = built.reader.state().load(Kind.ENTRIES, "30")
    built.commit({Kind.ENTRIES: {"30": lossless_json.dumps({**(raw or {}), "title": "変", "entry_text": "<p>た</p>"})}})
    found = program("site", built.root, "--json").json
    after = mtimes(built)
    changed = {path for path, stamp in after.items() if before.get(path) != stamp}
    assert len(changed) == found["files_made"] < 20
    assert {"entry/30.html", "history/entry-30-v1.html", "history/version-2.html", "statistics.html"} < changed
    assert sum(path.startswith("entry/") for path in changed) == 3
    assert sum(path.startswith("data/texts-") for path in changed) == 1
    assert sum(path.startswith("data/pairs-") for path in changed) == 1
    built.commit({Kind.ENTRIES: {"61": entry(60, "新しい")}})
    program("site", built.root)
    assert sum(mtimes(built)[path] != stamp for path, stamp in after.items()) < 20


def mtimes(built: Built) -> dict[str, int]:
    site = built.layout.latest / "site"
    return {path.relative_to(site).as_posix(): path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
