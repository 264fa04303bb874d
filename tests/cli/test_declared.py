"""What the owner declares about flags belongs to one archive, is kept in it, and is about the values that it has then."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.cli.destinations import DESTINATIONS
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.cli.conftest import Program, Result
from tests.support.declared import declare, declared_in
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.questions import questions
from tests.support.records import entry_record
from tests.support.runs import Runs, backup_command
from tests.support.terminal import Terminal

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def entry(number: int, open_flg: str, period_flg: str = "f") -> dict[str, bytes | None]:
    """Return an entry that is not private, by its id."""
    date = datetime(2020, 1, number)  # noqa: DTZ001 - as the service writes it
    text = entry_record(
        "sea.example", number, f"word{number}", f"<p>text{number}</p>", date, user_id="1", open_flg=open_flg
    )
    return {str(number): record(**{**text, "period_flg": period_flg})}


def blog(root: Path, *flags: str) -> Built:
    """Make an archive with an entry for each value of ``open_flg``."""
    root.mkdir()
    built = Built(root)
    entries = {key: text for number, flag in enumerate(flags, 1) for key, text in entry(number, flag).items()}
    built.commit({Kind.ENTRIES: entries})
    return built


@pytest.fixture
def one(tmp_path: Path) -> Built:
    return blog(tmp_path / "one", "1", "2")


PUBLIC = ("--public-open-flg", "1,2")


@pytest.mark.parametrize("first", ["one", "other"])
def test_what_is_declared_for_an_archive_opens_no_other_with_the_same_id(
    program: Program, tmp_path: Path, first: str
) -> None:
    for name in ("one", "other"):
        blog(tmp_path / name, "1", "2")
    second = {"one": "other", "other": "one"}[first]
    assert program("export", "jsonl", tmp_path / first, tmp_path / "out", *PUBLIC).code == 0
    assert program("export", "jsonl", tmp_path / first, tmp_path / "again").code == 0
    for arguments in (
        ("export", "jsonl", tmp_path / second, tmp_path / "leak"),
        ("site", tmp_path / second, tmp_path / "leak", "--public-only"),
        ("library", "build", tmp_path / first, tmp_path / second, "--out", tmp_path / "leak", "--public-only"),
    ):
        refused = program(*arguments)
        assert (refused.code, "othing says yet which entries are public" in refused.err) == (2, True), refused.err
        assert not (tmp_path / "leak").exists()
    assert declared_in(tmp_path / second) == []
    assert not (tmp_path / "config").exists()


def test_a_value_that_comes_later_is_undeclared_until_it_is_declared(
    program: Program, one: Built, tmp_path: Path
) -> None:
    assert program("export", "jsonl", one.root, tmp_path / "out", "--public-open-flg", "1,2,3").code == 0
    one.commit({Kind.ENTRIES: entry(3, "3")})
    for arguments in (
        ("export", "jsonl", one.root, tmp_path / "new"),
        ("site", one.root, tmp_path / "new", "--public-only"),
        ("library", "build", one.root, "--out", tmp_path / "new", "--public-only"),
    ):
        refused = program(*arguments)
        assert refused.code == 2
        assert "Nothing says yet whether entries with open_flg 3 are public" in refused.err.splitlines()[-1]
    assert "word3" in program("export", "jsonl", one.root, tmp_path / "new").err
    assert not (tmp_path / "new").exists()
    assert program("export", "wxr", one.root, tmp_path / "drafts", "--all-as-draft").code == 0
    again = program("export", "jsonl", one.root, tmp_path / "again", "--public-open-flg", "1,2,3")
    assert (again.code, "Kept for" in again.err) == (0, True)
    assert [line["seen"] for line in declared_in(one.root)] == [{"open_flg": ["1", "2"]}, {"open_flg": ["1", "2", "3"]}]
    result = program("export", "jsonl", one.root, tmp_path / "new", "--json")
    assert result.json["exports"][0]["out"]["entries"] == 3


def test_the_same_answer_about_an_older_version_leaves_the_newer_values_declared(
    program: Program, one: Built, tmp_path: Path
) -> None:
    one.commit({Kind.ENTRIES: entry(3, "3")})
    said = ("--public-open-flg", "1,2,3")
    assert program("export", "jsonl", one.root, tmp_path / "out", *said).code == 0
    assert program("export", "jsonl", one.root, tmp_path / "older", *said, "--at", 1).code == 0
    assert program("export", "jsonl", one.root, tmp_path / "newest").code == 0


def test_an_answer_about_periods_is_about_the_values_then_and_belongs_to_the_public_ones(
    program: Program, one: Built, tmp_path: Path
) -> None:
    def published(name: str, *options: str) -> int:
        result = program("export", "jsonl", one.root, tmp_path / name, *options, "--json")
        assert result.code == 0, result.err
        return int(result.json["exports"][0]["out"]["entries"])

    assert published("before", *PUBLIC, "--period-flg-public") == 2
    one.commit({Kind.ENTRIES: entry(3, "1", "t")})
    assert published("kept") == 2
    assert published("said", *PUBLIC, "--period-flg-public") == 3
    assert published("kept-again") == 3
    assert published("taken-back", *PUBLIC) == 2
    assert published("kept-then") == 2


def printed_command(result: Result) -> list[str]:
    """Return the arguments of the command that an error names as the next one."""
    (text,) = re.findall(r"run: blog-exporter (.*?)(?: If they are, add|$)", result.err.splitlines()[-1])
    return shlex.split(text)


def test_a_comment_with_a_later_value_stops_until_it_is_declared(program: Program, one: Built, tmp_path: Path) -> None:
    one.commit({Kind.COMMENTS: {"1": record(cm_id="1", entry_id="1", delete_flg="f")}})
    said = (*PUBLIC, "--visible-delete-flg", "f,t")
    assert program("export", "jsonl", one.root, tmp_path / "out", *said).code == 0
    one.commit({Kind.COMMENTS: {"2": record(cm_id="2", entry_id="1", delete_flg="t")}})
    for arguments in (
        ("export", "jsonl", one.root, tmp_path / "new"),
        ("site", one.root, tmp_path / "new", "--public-only"),
        ("library", "build", one.root, "--out", tmp_path / "new", "--public-only"),
    ):
        refused = program(*arguments)
        assert (refused.code, "whether comments with delete_flg t are shown" in refused.err) == (2, True)
        assert not (tmp_path / "new").exists()
    assert program("export", "csv", one.root, tmp_path / "table").code == 0
    result = program(*printed_command(program("export", "jsonl", one.root, tmp_path / "new")), "--json")
    assert result.json["exports"][0]["out"]["comments"] == 2


@pytest.mark.parametrize(
    ("flags", "comments", "given", "added", "says", "out"),
    [
        ("11", "ff", (), ["--public-open-flg", "1", "--visible-delete-flg", "f"],
         "All have open_flg 1, is_private f, period_flg f, delete_flg f: if everybody can see them", (2, 2)),
        ("11", "", (), ["--public-open-flg", "1"], "All have open_flg 1, is_private f, period_flg f: if", (2, 0)),
        ("122", "ft", (), ["--public-open-flg", "2", "--visible-delete-flg", "f"], "and no others, run: ", (2, 0)),
        ("11", "tft", ("--public-open-flg", "1"), ["--visible-delete-flg", "t"], "which comments are shown.", (2, 2)),
    ],
)  # fmt: skip
def test_what_nobody_declared_stops_with_the_command_that_declares_it(
    program: Program,
    tmp_path: Path,
    flags: str,
    comments: str,
    given: tuple[str, ...],
    added: list[str],
    says: str,
    out: tuple[int, int],
) -> None:
    built = blog(tmp_path / "one", *flags)
    said = {
        str(number): record(cm_id=str(number), entry_id="1", delete_flg=flag) for number, flag in enumerate(comments, 1)
    }
    built.commit({Kind.COMMENTS: said})
    asked = ("export", "jsonl", built.root, tmp_path / "out -- 1", *given)
    refused = program(*asked)
    assert (refused.code, declared_in(built.root), says in refused.err) == (2, [], True), refused.err
    assert ("--all-as-draft" in program("export", "wxr", *asked[2:]).err) == (not given)
    command = printed_command(refused)
    assert command == [*map(str, asked), *added]
    done = program(*command, "--json").json["exports"][0]
    assert (done["out"]["entries"], done["out"]["comments"]) == out


def test_comments_need_no_declaration_if_none_is_published_by_it(program: Program, one: Built, tmp_path: Path) -> None:
    one.commit({Kind.COMMENTS: {"1": record(cm_id="1", entry_id="1", delete_flg="t")}})
    for number, (form, *options) in enumerate(
        [
            ("csv",), ("atom",), ("epub", "--comments", "none"), ("wxr", "--all-as-draft"),
            ("wxr", "--hidden-comments"), ("jsonl", "--only", "private"),
        ]
    ):  # fmt: skip
        out = tmp_path / f"out{number}"
        said = () if "--all-as-draft" in options else PUBLIC
        assert program("export", form, one.root, out, *said, *options).code == 0
    assert program("export", "atom", one.root, tmp_path / "new", *PUBLIC, "--comments", "body").code == 2
    none = program("export", "jsonl", one.root, tmp_path / "none", *PUBLIC, "--visible-delete-flg", "none", "--json")
    assert none.code == 0, none
    closing = none.json["exports"][0]["closing"]
    assert (closing["comments_hidden"]["count"], closing["comments_undeclared"]["count"]) == (1, 0)
    assert program("export", "jsonl", one.root, tmp_path / "new").code == 0


GOOD = '{"at":"","service":"blog-v1","settings":{"public_open_flg":"1"},"seen":{"open_flg":["1"]}}\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{\n", "line 1: it is no declaration about flags"),
        ("[]\n", "line 1: it is no declaration about flags"),
        (GOOD + "\n", "line 2: it is no declaration about flags"),
        ("[" * 100_000 + "\n", "line 1: it is no declaration about flags"),
        (GOOD.replace('"1"}', "1}"), "line 1: it is no declaration about flags"),
        (GOOD.replace('["1"]', '"1"'), "line 1: it is no declaration about flags"),
        (GOOD.replace('["1"]', "[1]"), "line 1: it is no declaration about flags"),
        (GOOD.replace('"at":""', '"at":1'), "line 1: it is no declaration about flags"),
        (GOOD.removesuffix("\n"), "line 1: its last line was cut short"),
        (
            GOOD.replace("public_open_flg", "period_flg_public").replace('"1"}', '"maybe\\u001b"}'),
            "period_flg_public is",
        ),
    ],
)
def test_a_damaged_or_forged_line_is_refused_with_one_message(
    program: Program, one: Built, tmp_path: Path, text: str, fault: str
) -> None:
    (one.root / "declared.jsonl").write_text(text, "utf-8")
    refused = program("export", "jsonl", one.root, tmp_path / "out")
    assert refused.code == 13
    (line,) = refused.err.splitlines()
    assert line.startswith(f"blog-exporter: error: {one.root / 'declared.jsonl'} is damaged: {fault}")
    assert "\x1b" not in line
    assert not (tmp_path / "out").exists()


def test_a_link_in_its_place_is_not_followed(program: Program, one: Built, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(GOOD, "utf-8")
    (one.root / "declared.jsonl").symlink_to(tmp_path / "elsewhere")
    refused = program("export", "jsonl", one.root, tmp_path / "out")
    assert (refused.code, len(refused.err.splitlines())) == (13, 1)


def test_a_declaration_about_another_service_says_nothing(program: Program, one: Built, tmp_path: Path) -> None:
    (one.root / "declared.jsonl").write_text(GOOD.replace("blog-v1", "blog-v9"), "utf-8")
    assert program("export", "jsonl", one.root, tmp_path / "out").code == 2


def test_an_archive_that_is_being_written_is_exported_with_a_warning(
    program: Program, one: Built, tmp_path: Path
) -> None:
    with ArchiveLock(Layout(one.root).lock) as lock:
        lock.acquire(NOW)
        result = program("export", "jsonl", one.root, tmp_path / "out", *PUBLIC)
    assert result.code == 0
    assert "The answers could not be kept" in result.err
    assert 'Put them into the settings file: public_open_flg = "1,2"' in result.err
    assert declared_in(one.root) == []


def test_an_archive_that_cannot_be_written_is_exported_with_a_warning(
    program: Program, one: Built, tmp_path: Path
) -> None:
    (one.root / ".declared.jsonl.tmp").mkdir()  # a place where even root cannot write a file
    result = program("export", "jsonl", one.root, tmp_path / "out", *PUBLIC)
    assert (result.code, "The answers could not be kept" in result.err) == (0, True)
    with contextlib.suppress(FileNotFoundError):
        assert (one.root / "declared.jsonl").read_bytes() == b""


def test_the_same_answer_is_kept_once(program: Program, one: Built, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        assert program("export", "jsonl", one.root, tmp_path / name, *PUBLIC).code == 0
    assert declared_in(one.root) == [{"settings": {"public_open_flg": "1,2"}, "seen": {"open_flg": ["1", "2"]}}]


def test_an_export_of_an_older_version_declares_what_that_version_has(
    program: Program, one: Built, tmp_path: Path
) -> None:
    one.commit({Kind.ENTRIES: entry(3, "3")})
    assert program("export", "jsonl", one.root, tmp_path / "out", *PUBLIC, "--at", "1").code == 0
    assert declared_in(one.root)[0]["seen"] == {"open_flg": ["1", "2"]}
    assert program("export", "jsonl", one.root, tmp_path / "new").code == 2


def test_a_fleet_does_not_use_what_single_exports_declared(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "fleet" / "ab"
    folder.mkdir(parents=True)
    built = blog(folder / "sea.example", "1", "2")
    declare(built.root, {"public_open_flg": "1,2"}, {"open_flg": ["1", "2"]})
    refused = program("fleet", "export", "jsonl", tmp_path / "fleet", tmp_path / "out")
    assert (refused.code, (tmp_path / "out").exists()) == (2, False)


def test_forgetting_keeps_the_declaration_which_holds_values_alone(
    program: Program, one: Built, tmp_path: Path
) -> None:
    assert program("export", "jsonl", one.root, tmp_path / "out", *PUBLIC).code == 0
    before = (one.root / "declared.jsonl").read_bytes()
    assert json.loads(before).keys() == {"at", "service", "settings", "seen"}
    done = program("forget", one.root, "--entry", "2", "--yes")
    assert done.code == 0, done.err
    assert (one.root / "declared.jsonl").read_bytes() == before
    result = program("export", "jsonl", one.root, tmp_path / "new", "--json")
    assert result.json["exports"][0]["out"]["entries"] == 1


def test_a_backup_keeps_what_it_was_told_and_does_not_fail_because_of_damage(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    with DemoService(generated_blog(3)).run_in_thread() as service:
        run = backup_command(service, root, "--assets", "none", "--no-site", "--no-markdown")
        done = program(*run, "--public-open-flg", "1")
        assert done.code == 0, done.err
        (line,) = declared_in(root)
        assert line["settings"] == {"public_open_flg": "1"}
        assert program("export", "jsonl", root, tmp_path / "out").code == 0
        assert "public_open_flg" not in (root / "settings.toml").read_text("utf-8")
        (root / "declared.jsonl").write_text("{", "utf-8")
        again = program(*run, "--warc", "--closing", "2099-12-31")
    assert "declared.jsonl is damaged: line 1: its last line was cut short" in again.err
    assert json.loads((root / "runs.jsonl").read_text("utf-8").splitlines()[-1])["outcome"] != "failed"


def test_a_warning_names_the_answer_that_damage_keeps_from_being_kept(
    program: Program, one: Built, tmp_path: Path
) -> None:
    (one.root / "declared.jsonl").write_text("{}\n", "utf-8")
    every = (*PUBLIC, "--period-flg-public", "--visible-delete-flg", "f")
    result = program("export", "jsonl", one.root, tmp_path / "out", *every)
    assert (result.code, "The answers could not be kept" in result.err) == (0, True)
    assert (one.root / "declared.jsonl").read_text("utf-8") == "{}\n"


def test_a_value_that_no_entry_has_is_named_as_long_as_it_is_kept(program: Program, one: Built, tmp_path: Path) -> None:
    declare(one.root, {"public_open_flg": "7"}, {"open_flg": ["1", "2"]})
    refused = program("export", "jsonl", one.root, tmp_path / "out")
    assert (refused.code, "public_open_flg is 7, which does not occur" in refused.err) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_the_questions_are_asked_again_if_a_value_came_later(runs: Runs, one: Built, tmp_path: Path) -> None:
    declare(one.root, {"public_open_flg": "1,2"}, {"open_flg": ["1", "2"]})
    one.commit({Kind.ENTRIES: entry(3, "3")})
    words = questions("en")
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "LC_ALL": "C.UTF-8"}
    terminal = Terminal(runs, ["export", one.root], tmp_path, environment)
    number = next(place for place, each in enumerate(DESTINATIONS, 1) if each.name == "csv")
    terminal.answer(words["number"], str(number))
    for reply in ("y", "y", "n"):
        terminal.answer(words["public"], reply)
    terminal.answer(words["rest"], "n")
    terminal.answer(words["out"], "out")
    terminal.answer(words["go"], "y")
    assert terminal.end() == 0, terminal.shown
    assert "entries with open_flg 3, which it did not have when you said" in " ".join(terminal.shown.split())
    newest = {"settings": {"public_open_flg": "1,2"}, "seen": {"open_flg": ["1", "2", "3"]}}
    assert declared_in(one.root)[1:] == [newest]
