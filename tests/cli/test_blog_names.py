"""Every command accepts a blog's name, its address, its ID and its folder. A typo gets a suggestion."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from exporter.archive.settings_file import note_archive
from exporter.cli.blog_names import archive_named, without_password
from exporter.errors import NoArchive, UsageError
from exporter.model.kinds import Kind
from tests.archive.builder import record
from tests.cli.conftest import Program
from tests.site.test_view import entry, many_entries

_WORDS = {
    "status": ("{}",),
    "log": ("{}",),
    "diff": ("{}",),
    "show": ("{}", "user"),
    "files": ("{}",),
    "inspect": ("{}",),
    "search": ("{}", "海"),
    "verify": ("{}",),
    "rebuild": ("{}", "--no-site", "--no-markdown"),
    "prune": ("{}", "--keep-last", "9", "--dry-run"),
    "site": ("{}",),
    "export": ("jsonl", "{}", "OUT"),
    "compare": ("{}", "OUT-OF-A-FOLDER"),
    "sync": ("{}", "OUT"),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions of few entries."""
    built = many_entries(tmp_path_factory.mktemp("small") / "archive", 3)
    built.commit({Kind.ENTRIES: {"3": entry(3, "書き直した")}, Kind.USER: {"1": record(id="1")}})
    built.refresh()
    return built.root


@pytest.fixture
def archive(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "archive"))


@pytest.fixture
def blog_id(archive: Path) -> str:
    return str(json.loads((archive / "archive.json").read_bytes())["blog_id"])


@pytest.fixture
def named(archive: Path, blog_id: str, tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name the archive sakura in the user's settings file, and work in an empty folder."""
    assert program is not None
    folder = tmp_path / "config" / "blog-exporter"
    folder.mkdir(parents=True)
    (folder / "blog-exporter.toml").write_text(f'[blogs.sakura]\nblog_id = "{blog_id}"\narchive = "{archive}"\n')
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return archive


@pytest.mark.parametrize("command", _WORDS)
@pytest.mark.parametrize("kind", ["name", "address", "blog ID"])
@pytest.mark.sample(6)
def test_each_command_finds_the_archive(
    program: Program, named: Path, blog_id: str, tmp_path: Path, command: str, kind: str
) -> None:
    words = {"name": "sakura", "address": f"https://{blog_id}/Entry/1/", "blog ID": blog_id}[kind]

    def run(place: object, out: Path) -> tuple[int, str]:
        arguments = [str(place) if word == "{}" else word.replace("OUT", str(out)) for word in _WORDS[command]]
        done = program(command, *arguments)
        return done.code, done.err.replace(str(place), "").replace(str(out), "")

    assert run(words, tmp_path / "first") == run(named, tmp_path / "second")


@pytest.mark.parametrize("command", ["status", "verify", "log", "prune", "compare", "backup", "schedule", "login"])
def test_a_typo_gets_a_suggestion(program: Program, named: Path, command: str) -> None:
    assert named.is_dir()
    words = {"prune": ["--keep-last", "1"], "compare": ["x"]}.get(command, [])
    first = ["schedule", "print"] if command == "schedule" else [command]
    done = program(*first, "sakra", *words)
    assert done.code in {2, 10}
    assert "Did you mean sakura?" in done.err


@pytest.mark.parametrize("command", ["status", "remove"])
def test_a_typo_in_the_name_of_a_schedule_gets_a_suggestion(
    program: Program, named: Path, blog_id: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "no-scheduler"))
    typo = program("schedule", command, "sakra")
    assert (typo.code, "Did you mean sakura?" in typo.err) == (10, True)
    for words in ("sakura", blog_id, f"https://{blog_id}/"):
        found = program("schedule", command, words)
        assert f"scheduled for {named}." in found.out + found.err, words


def test_a_folder_with_an_archive_is_found_before_an_address(named: Path, blog_id: str, tmp_path: Path) -> None:
    shutil.copytree(named, tmp_path / "empty" / blog_id)
    assert archive_named(blog_id) == Path(blog_id)


def test_an_address_of_two_archives_is_not_guessed(named: Path, blog_id: str, tmp_path: Path) -> None:
    shutil.copytree(named, tmp_path / "other")
    note_archive(tmp_path / "other")
    with pytest.raises(UsageError, match="several archives"):
        archive_named(f"https://{blog_id}/")


def test_an_unknown_address_asks_for_the_folder(named: Path) -> None:
    assert named.is_dir()
    with pytest.raises(NoArchive, match=r"No archive of other\.blog\.example is known"):
        archive_named("https://other.blog.example/")


def test_a_known_archive_that_is_missing_or_damaged_is_no_obstacle(named: Path, blog_id: str, tmp_path: Path) -> None:
    note_archive(tmp_path / "unplugged")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "archive.json").write_text("{")
    note_archive(tmp_path / "damaged")
    assert archive_named(blog_id) == named


@pytest.mark.parametrize("verb", ["backup", "check", "init", "capture", "status", "doctor", "login", "rename"])
@pytest.mark.parametrize("address", ["http://me:hush@h.example.jp/", "ｈttps://me：hush＠h.example.jp/@x"])
def test_a_password_in_an_address_is_refused_and_hidden(program: Program, named: Path, verb: str, address: str) -> None:
    assert named.is_dir()
    done = program(verb, "sakura", address) if verb == "rename" else program(verb, address)
    assert (done.code, "without a" in done.err) == (2, True), done.err
    assert "hush" not in done.out + done.err


def test_all_that_may_be_a_password_is_hidden() -> None:
    assert without_password("https://me:hu/sh@h.example.jp/") == "https://***@h.example.jp/"
    assert without_password("me：hush＠h.example.jp") == "***@h.example.jp"
    assert without_password("https://h.example.jp/") == "https://h.example.jp/"


def test_a_blog_in_a_folder_of_its_host_is_found_by_its_address(named: Path, tmp_path: Path) -> None:
    for number, blog_id in enumerate(("host.example.jp/sea", "host.example.jp:8080/sky", "host.example.jp")):
        place = tmp_path / f"known-{number}"
        place.mkdir()
        info = {**json.loads((named / "archive.json").read_bytes()), "blog_id": blog_id}
        (place / "archive.json").write_text(json.dumps(info))
        note_archive(place)
    for words, number in [
        ("https://host.example.jp/sea", 0),
        ("https://host.example.jp/sea/entry-1.html?x#y", 0),
        ("host.example.jp/sea", 0),
        ("http://host.example.jp:8080/sky/", 1),
        ("https://host.example.jp/seaside/", 2),
        ("「ｈｔｔｐｓ：//host.example.jp/」", 2),
    ]:
        assert archive_named(words) == tmp_path / f"known-{number}", words
    with pytest.raises(NoArchive):
        archive_named("https://other.example.jp/sea/")


def test_a_blog_of_the_settings_file_whose_archive_is_missing_keeps_its_place(named: Path, blog_id: str) -> None:
    named.rename(named.with_name("elsewhere"))
    assert archive_named(f"https://{blog_id}/") == named


def test_a_deleted_archive_is_no_suggestion_for_itself(program: Program, tmp_path: Path) -> None:
    place = tmp_path / "tsubaki"
    note_archive(place)
    for words in (place, f"{place}/"):
        done = program("status", words)
        assert (done.code, "Did you mean" in done.err) == (10, False), done.err


@pytest.mark.parametrize("verb", ["backup", "check", "status"])
def test_a_typo_in_the_name_of_a_known_folder_gets_a_suggestion(
    program: Program, named: Path, tmp_path: Path, verb: str
) -> None:
    (tmp_path / "config" / "blog-exporter" / "blog-exporter.toml").unlink()
    place = named.rename(tmp_path / "tsubaki")
    note_archive(place)
    done = program(verb, "tsubame")
    assert (done.code in {2, 10}, done.out) == (True, ""), done.err
    assert f"Did you mean {place}?" in done.err


@pytest.mark.parametrize("words", ["", "\0", "a" * 5000, "../..", "～", "x/y.z", "C:\\blog", "..", "-"])
def test_odd_words_remain_a_path(named: Path, words: str) -> None:
    assert named.is_dir()
    assert archive_named(words) == Path(words)


def test_a_missing_folder_in_an_archive_is_not_that_archive(named: Path, blog_id: str) -> None:
    assert archive_named(f"{blog_id}\\copy") == Path(f"{blog_id}\\copy")
    assert archive_named(f"{blog_id}/Entry/1") == named
    shutil.copytree(named, blog_id)
    with pytest.raises(NoArchive, match=rf"no folder \./{blog_id}/copy"):
        archive_named(f"{blog_id}/copy")


def test_settings_that_cannot_be_read_do_not_matter(program: Program, named: Path, tmp_path: Path) -> None:
    (tmp_path / "config" / "blog-exporter" / "blog-exporter.toml").write_text("[[[")
    assert program("verify", named).code == 0
