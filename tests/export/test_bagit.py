"""The bag: the whole archive with checksums that others can verify, never made if public output is expected."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.export.folder import measure_export, write_export
from exporter.export.formats import FORMATS
from exporter.export.interface import ExportOptions, Summary, WrittenFile
from exporter.export.report import Report
from exporter.model.kinds import Kind
from tests.cli.conftest import Program
from tests.export.memory import Memory
from tests.support.runs import tree


def sums(path: Path) -> dict[str, str]:
    """Read a manifest."""
    rows = (line.split("  ", 1) for line in path.read_text("utf-8").splitlines())
    return {name: digest for digest, name in rows}


def digests(root: Path, folder: str) -> dict[str, str]:
    files = (path for path in (root / folder).rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_bag_is_the_archive_with_checksums(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "bagit", made, tmp_path / "out", "--only", "all", "--json")
    assert result.code == 0
    assert not (tmp_path / "out").exists()
    bag = tmp_path / "out.NOT-PUBLIC"
    assert (bag / "bagit.txt").read_text() == "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    payload = digests(bag, "data")
    assert sums(bag / "manifest-sha256.txt") == payload
    tags = {name for name in digests(bag, ".") if "/" not in name}
    assert set(sums(bag / "tagmanifest-sha256.txt")) == tags - {"tagmanifest-sha256.txt"}
    info = dict(line.split(": ", 1) for line in (bag / "bag-info.txt").read_text("utf-8").splitlines())
    size = sum((bag / name).stat().st_size for name in payload)
    assert info["Payload-Oxum"] == f"{size}.{len(payload)}"
    assert info["Internal-Sender-Description"].startswith("NOT PUBLIC")
    state = Archive.open(bag / "data").state()
    assert len(state.ids(Kind.ENTRIES)) == len(Archive.open(made).state().ids(Kind.ENTRIES))
    kept = {path: data for path, data in tree(made).items() if not path.startswith(".work")}
    assert tree(bag / "data") == kept
    counted = result.json["exports"][0]
    assert counted["in"] == {**counted["out"], "pictures": counted["in"]["pictures"]}
    assert counted["out"]["entries"] == len(state.ids(Kind.ENTRIES))
    assert counted["out"]["comments"] == len(state.ids(Kind.COMMENTS))
    state.close()


@pytest.mark.parametrize(("given", "said"), [
    ((), "say --only all"),
    (("--only", "private"), "say --only all"),
    (("--only", "all", "--at", "1"), "leave out --at"),
    (("--only", "all", "--since", "2020-01-01"), "leave out --since"),
    (("--only", "all", "--comments", "none"), "--comments is for ghost"),
])  # fmt: skip
def test_a_bag_of_a_part_of_the_archive_is_refused(
    program: Program, made: Path, tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    result = program("export", "bagit", made, tmp_path / "out", *given)
    assert result.code == 2
    assert said in result.err
    assert not list(tmp_path.glob("out*"))


def test_an_archive_makes_one_bag_only(made: Path, tmp_path: Path) -> None:
    def written(target: Path | None) -> list[WrittenFile]:
        state = Archive.open(made).state()
        files = FORMATS["bagit"].files(state, ExportOptions(), Report())
        found = measure_export(files, made) if target is None else write_export(files, made, target)
        state.close()
        return found

    assert written(tmp_path / "one") == written(None)


def test_names_that_would_end_a_line_are_encoded() -> None:
    files = FORMATS["bagit"].files(Memory(blog_id="a\nb.example"), ExportOptions(), Report())
    made = {file.path: file for file in files if isinstance(file, Summary)}
    payload = [WrittenFile("data/100%\r\n.md", 7, "ab"), WrittenFile("bagit.txt", 9, "cd")]
    assert b"".join(made["manifest-sha256.txt"].chunks(payload)) == b"ab  data/100%25%0D%0A.md\n"
    assert b"".join(made["tagmanifest-sha256.txt"].chunks(payload)) == b"cd  bagit.txt\n"
    info = b"".join(made["bag-info.txt"].chunks(payload)).decode()
    assert "External-Identifier: a b.example\n" in info
    assert "Payload-Oxum: 7.1\n" in info
    assert "Bagging-Date" not in info


def test_unread_entries_and_lost_files_are_counted() -> None:
    blog = Memory()
    blog.entry("1")
    blog.add(Kind.ENTRY_LIST, {"entry_id": "2", "category": "旅"})
    blog.comment("8", "77")
    blog.picture("https://files.example.jp/1", data=None)
    report = Report()
    list(FORMATS["bagit"].files(blog, ExportOptions(), report))
    document = report.document()
    assert document["in"] == {"entries": 2, "comments": 1, "pictures": 1, "categories": 1}
    assert document["out"] == {"entries": 1, "comments": 1, "pictures": 0, "categories": 1}
    assert [row["code"] for row in document["left_out"]] == ["not_read", "not_saved_yet"]
    assert document["closing"]["not_read"] == {"count": 1, "entries": ["2"]}
