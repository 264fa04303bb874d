"""``inspect`` and ``export`` with the archive of the sample blog."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.export import csv_table
from exporter.export.formats import Format
from exporter.export.interface import Content
from exporter.export.targets import TARGETS, Matter
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.cli.conftest import Program, Result
from tests.support.runs import tree

SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f")


@pytest.fixture
def configuration(program: Program, tmp_path: Path) -> Path:
    """The file in which the program stores answers."""
    return tmp_path / "config" / "blog-exporter"


def exports(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = result.json["exports"]
    return found


def test_inspect_shows_every_combination(program: Program, made: Path) -> None:
    found = program("inspect", made, "--json").json
    assert sum(row["count"] for row in found["entries"]) == 60
    assert [row["delete_flg"] for row in found["comments"]] == ["f", "t"]
    assert {(row["open_flg"], row["is_private"], row["period_flg"]) for row in found["entries"]} == {
        ("1", "f", "f"), ("2", "f", "f"), ("1", "f", "t"), ("1", "t", "f"),
    }  # fmt: skip
    shown = program("inspect", made, "--at", "1")
    assert shown.code == 0
    assert "はじめまして" in shown.out
    assert "--public-open-flg" in shown.err


def test_an_export_stops_with_the_table_until_flags_are_declared(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "wxr", made, tmp_path / "out", "--quiet")
    assert result.code == 2
    assert "open_flg" in result.err
    assert "はじめまして" in result.err
    assert result.err.splitlines()[-1].startswith("blog-exporter: error: Nothing says yet which entries are public")
    assert not (tmp_path / "out").exists()


def test_what_a_backup_may_still_bring_is_named_for_every_folder(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    root.mkdir()
    read = {"1": record(entry_id="1", title="", entry_text="", open_flg="1", is_private="f", period_flg="f")}
    unread = {"2": record(entry_id="2", title="")}
    Built(root).commit({Kind.ENTRIES: read, Kind.ENTRY_LIST: unread})
    for number, arguments in enumerate(
        (("bagit", "--only", "all"), ("jsonl", "--only", "private", *SAID), ("jsonl", "--only", "all"), ("jsonl",))
    ):
        form, *options = arguments
        done = program("export", form, root, tmp_path / f"out{number}", *options)
        assert done.code == 0
        assert done.err.count("What is not saved yet may come with: ") == 1, arguments
        assert "nothing of this is lost" not in done.out


def test_an_answer_is_kept_in_the_archive(program: Program, made: Path, tmp_path: Path, configuration: Path) -> None:
    first = program("export", "wxr", made, tmp_path / "one", *SAID)
    assert first.code == 0
    assert "Kept for shiodamari.blog.example.jp" in first.err
    (line,) = (made / "declared.jsonl").read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert kept["settings"] == {"public_open_flg": "1", "visible_delete_flg": "f"}
    assert kept["seen"] == {"open_flg": ["1", "2"], "delete_flg": ["f", "t"]}
    assert not configuration.exists()
    second = program("export", "wxr", made, tmp_path / "two")
    assert second.code == 0
    assert "Kept" not in second.err
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    quiet = program("export", "wxr", made, tmp_path / "three", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_a_variable_goes_before_a_kept_answer(
    program: Program, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("export", "csv", made, tmp_path / "one", *SAID, "--period-flg-public")
    monkeypatch.setenv("BLOG_EXPORTER_PUBLIC_OPEN_FLG", "2")
    monkeypatch.setenv("BLOG_EXPORTER_PERIOD_FLG_PUBLIC", "no")
    result = program("export", "csv", made, tmp_path / "two", "--json")
    assert exports(result)[0]["out"]["entries"] == 2


def test_a_dry_run_writes_and_keeps_nothing(program: Program, made: Path, tmp_path: Path, configuration: Path) -> None:
    before = tree(tmp_path)
    result = program("export", "wxr", made, tmp_path / "out", *SAID, "--dry-run", "--json")
    assert result.code == 0
    assert result.json["dry_run"] is True
    assert exports(result)[0]["out"]["entries"] == 55
    assert tree(tmp_path) == before
    assert not configuration.exists()


def test_the_report_is_next_to_the_folder_and_covers_both_sides(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "movabletype", made, tmp_path / "out", *SAID, "--only", "all", "--json")
    public, rest = exports(result)
    assert public == json.loads((tmp_path / "out.report.json").read_text(encoding="utf-8"))
    report = json.loads((tmp_path / "out.NOT-PUBLIC.report.json").read_text(encoding="utf-8"))
    assert len(report.pop("content_sha256")) == 64
    assert rest == report
    assert public["out"]["entries"] + rest["out"]["entries"] == public["in"]["entries"] == 60
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["movabletype-public.txt"]
    assert [path.name for path in (tmp_path / "out.NOT-PUBLIC").iterdir()] == ["movabletype-NOT-PUBLIC.txt"]


def test_everything_as_a_draft_needs_no_answer(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "wxr", made, tmp_path / "out", "--all-as-draft", "--only", "all", "--json")
    assert [(side["side"], side["out"]["entries"]) for side in exports(result)] == [("drafts", 59), ("private", 1)]
    for path, count in (("out/wordpress-drafts.xml", 59), ("out.NOT-PUBLIC/wordpress-NOT-PUBLIC.xml", 1)):
        data = (tmp_path / path).read_text(encoding="utf-8")
        assert "[publish]" not in data
        assert data.count("<wp:status><![CDATA[draft]]>") == count


def test_only_an_export_is_replaced_and_only_on_request(program: Program, made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert program("export", "jsonl", made, out, *SAID).code == 0
    again = program("export", "csv", made, out)
    assert (again.code, "add --force" in again.err) == (2, True)
    assert program("export", "csv", made, out, "--force").code == 0
    assert [path.name for path in out.iterdir()] == ["entries-public.csv"]
    other = tmp_path / "other"
    other.mkdir()
    assert program("export", "csv", made, other).code == 0
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    refused = program("export", "csv", made, mine, "--force")
    assert (refused.code, "no export made it" in refused.err) == (2, True)
    assert program("export", "csv", made, mine / "thesis.txt", "--force").code == 2
    assert (mine / "thesis.txt").read_text() == "x"


def test_an_earlier_version_can_be_exported(program: Program, made: Path, tmp_path: Path) -> None:
    new = exports(program("export", "jsonl", made, tmp_path / "new", *SAID, "--json"))[0]
    old = exports(program("export", "jsonl", made, tmp_path / "old", "--at", "1", "--json"))[0]
    assert (old["version"], new["version"]) == (1, 2)
    assert old["in"]["comments"] != new["in"]["comments"]


def test_the_known_limits_of_a_target_split_the_files(program: Program, made: Path, tmp_path: Path) -> None:
    program("export", "wxr", made, tmp_path / "out", *SAID, "--target", "hatena")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["wordpress-public-001.xml"]
    program("export", "wxr", made, tmp_path / "small", "--max-bytes", "100KB")
    assert len(list((tmp_path / "small").iterdir())) > 2


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.sample(3)
def test_a_target_is_its_format_and_named_in_the_report(
    program: Program, made: Path, tmp_path: Path, name: str
) -> None:
    target = TARGETS[name]
    result = program("export", name, made, tmp_path / "out", *SAID, "--json")
    (side,) = result.json["exports"]
    assert (side["format"], side["target"]) == (target.form, name)
    same = exports(program("export", target.form, made, tmp_path / "same", *SAID, "--target", name, "--json"))[0]
    assert (same["format"], same["target"]) == (target.form, name)
    numbered = [path.stem.endswith("-001") for path in (tmp_path / "out").iterdir()]
    assert numbered == [target.max_entries > 0]
    assert [file["sha256"] for file in side["files"]] == [file["sha256"] for file in same["files"]]
    doubted = f"It is not confirmed that {target.title} takes {target.form} files"
    assert (doubted in result.err) == (not target.keeps(Matter.FORMAT))


def test_a_target_splits_by_its_limits_by_default(
    program: Program, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "hatena", replace(TARGETS["hatena"], max_entries=10, max_bytes=100_000))
    program("export", "hatena", made, tmp_path / "one", *SAID)
    assert len(list((tmp_path / "one").iterdir())) > 5
    program("export", "hatena", made, tmp_path / "two", *SAID, "--max-entries", "50", "--max-bytes", "9MB")
    assert len(list((tmp_path / "two").iterdir())) == 2
    result = program("export", "wxr", made, tmp_path / "three", *SAID, "--target", "hatena", "--json")
    assert result.json["exports"][0]["target"] == "hatena"
    assert len(list((tmp_path / "three").iterdir())) > 5
    assert exports(program("export", "wxr", made, tmp_path / "four", *SAID, "--json"))[0]["target"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--since", "yesterday"), "is not a day such as 2016-03-19"),
        (("--max-bytes", "much"), "a size such as"),
        (("--new-url", "nowhere"), "--new-url must be an address"),
        (("--visible-delete-flg", "x"), "t, f, f,t or none is expected"),
        (("--public-open-flg", ","), "a value, or several"),
        (("--target", "geocities"), "hatena"),
        (("--target", "movable-type"), "Movable Type takes movabletype, not wxr: export movable-type DIR OUT."),
        (("--since", "2020-01-02", "--until", "2020-01-01"), "No day is both"),
        (("--media-base-url", "javascript:x"), "must be an address such as"),
        (("--lang", "de"), "ja"),
    ],
)
def test_wrong_options_are_reported_in_one_line(
    program: Program, made: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = program("export", "wxr", made, tmp_path / "out", *arguments)
    assert result.code == 2
    assert message in result.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("category", "message"),
    [
        ("日程", "No entry is of the category 日程 (did you mean 日記?)."),
        ("qqq", "No entry is of the category qqq."),
    ],
)
def test_a_missing_category_cannot_be_exported(
    program: Program, made: Path, tmp_path: Path, category: str, message: str
) -> None:
    result = program("export", "wxr", made, tmp_path / "out", *SAID, "--category", category)
    assert result.code == 5
    assert result.err.splitlines()[-1].endswith(message)
    assert not (tmp_path / "out").exists()


def test_a_missing_version_cannot_be_exported(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "wxr", made, tmp_path / "out", "--at", "99")
    assert (result.code, "There is no version 99" in result.err.splitlines()[-1]) == (5, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wrx", "DIR", "OUT"), "There is no format 'wrx' (did you mean wxr?)."),
        (("qqq", "DIR", "OUT"), "There is no format 'qqq': it is one of wxr, movabletype"),
        (("qqq", "DIR", "OUT"), "or a target, one of wordpress, hatena, note"),
        (("wordpres", "DIR", "OUT"), "There is no format 'wordpres' (did you mean wordpress?)."),
        (("liverdoor", "DIR", "OUT"), "(did you mean livedoor?)."),
        (("note", "DIR"), "export note needs DIR, the archive, and OUT, a new folder"),
        (("note", "DIR", "OUT", "--target", "hatena"), "note is a target itself; leave out --target hatena."),
        (("note", "DIR", "OUT", "--title", "本"), "--title is for epub, pdf, html, not for note"),
        (("wxr",), "export wxr needs DIR, the archive, and OUT, a new folder"),
        (("wxr", "DIR"), "export wxr needs DIR, the archive, and OUT, a new folder"),
        (("csv", "DIR", "DIR/export"), "cannot be inside each other"),
        (("csv", "DIR", "DIR"), "cannot be inside each other"),
        (("csv", "DIR", "DIR/.."), "cannot be inside each other"),
        (("csv", "OUT", "DIR"), "is not an archive"),
        (("csv", "DIR", "."), ". cannot be a new folder"),
        (("wxr", "DIR", "/"), "/ cannot be a new folder"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(
    program: Program, archive: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    before = tree(tmp_path)
    places = {"DIR": str(archive), "OUT": str(tmp_path / "out")}
    parts = [places["DIR"] + each[3:] if each.startswith("DIR") else places.get(each, each) for each in arguments]
    result = program("export", *parts, *SAID)
    assert result.code in {2, 10}
    (line,) = result.err.splitlines()
    assert message in line
    assert tree(tmp_path) == before


def test_options_that_mean_nothing_to_a_format_are_named(program: Program, made: Path, tmp_path: Path) -> None:
    odd = ("--hidden-comments", "--media-folder", "--body", "html", "--target", "hatena")
    result = program("export", "csv", made, tmp_path / "out", *SAID, *odd)
    assert result.code == 0
    for option in ("--hidden-comments", "--media-folder", "--body", "--target"):
        assert f"warning: {option} has no effect on csv." in result.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["entries-public.csv"]


def test_an_export_of_nothing_says_so(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "csv", made, tmp_path / "out", *SAID, "--since", "2031-01-01")
    assert (result.code, "warning: No entry is in" in result.err) == (0, True)


def test_files_beyond_hatenas_limits_are_warned_of(
    program: Program, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Hatena" not in program("export", "wxr", made, tmp_path / "one", *SAID).err
    monkeypatch.setitem(TARGETS, "hatena", replace(TARGETS["hatena"], max_entries=10, max_bytes=1_000))
    said = "Hatena Blog reads at most 10 entries and 1.0 kB in a file; for smaller files, add --target hatena."
    assert said in program("export", "wxr", made, tmp_path / "two", *SAID).err
    assert "add --target" not in program("export", "wxr", made, tmp_path / "three", *SAID, "--target", "hatena").err
    assert "add --target" not in program("export", "csv", made, tmp_path / "four", *SAID).err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_half_way_leaves_nothing(
    program: Program, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def export(*_: object) -> Iterator[Content]:
        def chunks() -> Iterator[bytes]:
            yield b"half"
            assert list(tmp_path.glob(".out.tmp/a.txt"))
            os.kill(os.getpid(), number)
            yield b"never"

        yield Content("a.txt", chunks())

    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patched:
        patched.setattr(csv_table, "FORMAT", Format("x", export))
        result = program("export", "csv", made, tmp_path / "out", *SAID)
    assert result.code == code
    assert len(result.err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is before
    assert program("export", "csv", made, tmp_path / "out", *SAID).code == 0


def test_redirects_need_their_patterns(program: Program, made: Path, tmp_path: Path) -> None:
    refused = program("export", "redirects", made, tmp_path / "out", *SAID)
    assert (refused.code, "--new-url" in refused.err) == (2, True)
    assert not list(tmp_path.glob("*out*"))
    patterns = ("--old-url", "https://{blog_id}/Entry/{entry_id}/", "--new-url", "https://new.example/{name}/")
    assert program("export", "redirects", made, tmp_path / "out", *SAID, *patterns).code == 0
    assert "/Entry/3/ https://new.example/entry-3/ 301" in (tmp_path / "out" / "_redirects").read_text()


def test_pictures_come_along(program: Program, made: Path, tmp_path: Path) -> None:
    document = exports(program("export", "hugo", made, tmp_path / "out", *SAID, "--json"))[0]
    pages = list((tmp_path / "out").rglob("index.md"))
    assert len(pages) == document["out"]["entries"] == 55
    pictures = {
        path.name for path in (tmp_path / "out").rglob("*") if path.suffix in {".png", ".jpg", ".gif", ".mp3", ".mp4"}
    }
    assert len(pictures) == document["out"]["pictures"]
