"""Writing an export to disk: all of it or nothing, the same bytes every time."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from exporter.errors import ArchiveDamaged, BlogExporterError, UsageError
from exporter.export.folder import check_target, measure_export, report_path, write_export, write_report
from exporter.export.interface import Content, Copy, Database, ExportFile, Inline, Packed, WrittenFile

PICTURE = bytes(range(256)) * 5000


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    root = tmp_path / "archive"
    (root / "assets").mkdir(parents=True)
    (root / "assets" / "a.png").write_bytes(PICTURE)
    return root


def fill(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (1)")
    connection.commit()


def files() -> list[ExportFile]:
    inner: list[Content | Copy] = [Content("in.json", [b"{}"]), Copy("i/a.png", "assets/a.png")]
    return [
        Content("deep/er/a.txt", [b"one", b"two"]),
        Copy("media/a.png", "assets/a.png"),
        Packed("a.zip", inner),
        Database("a.sqlite", fill),
        Content("page.html", [b"<", Inline("assets/a.png"), b">"]),
    ]


def test_every_kind_of_file(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    written = write_export(files(), archive, out)
    assert (out / "deep" / "er" / "a.txt").read_bytes() == b"onetwo"
    assert (out / "media" / "a.png").read_bytes() == PICTURE
    with zipfile.ZipFile(out / "a.zip") as packed:
        assert packed.namelist() == ["in.json", "i/a.png"]
        assert packed.read("i/a.png") == PICTURE
    assert sqlite3.connect(out / "a.sqlite").execute("SELECT a FROM t").fetchall() == [(1,)]
    assert (out / "page.html").read_bytes() == b"<" + base64.b64encode(PICTURE) + b">"
    for file in written:
        data = (out / file.path).read_bytes()
        assert (file.bytes, file.sha256) == (len(data), sha256(data).hexdigest())
    assert measure_export(files(), archive) == written
    assert write_export(files(), archive, tmp_path / "again") == written


def test_a_failure_leaves_no_files(archive: Path, tmp_path: Path) -> None:
    def failing() -> Iterator[ExportFile]:
        yield Content("a.txt", [b"x"])
        yield Copy("b.png", "assets/none.png")

    with pytest.raises(ArchiveDamaged, match=r"none\.png is missing"):
        write_export(failing(), archive, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive"]


def test_an_export_replaces_the_previous_one(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_export([Content("old.txt", [b"x"])], archive, out)
    write_report(out, {"a": 1})
    write_export([Content("new.txt", [b"x"])], archive, out)
    assert [path.name for path in out.iterdir()] == ["new.txt"]
    assert report_path(out).read_bytes() == b'{"a":1}\n'


@pytest.mark.parametrize(("made", "reported", "force", "message"), [
    ("nothing", False, False, ""), ("empty", False, False, ""), ("full", False, True, "no export made it"),
    ("full", True, False, "add --force"), ("full", True, True, ""), ("file", False, True, "no export made it"),
])  # fmt: skip
def test_where_an_export_may_be_written(tmp_path: Path, made: str, reported: bool, force: bool, message: str) -> None:
    out = tmp_path / "out"
    if made == "file":
        out.write_text("x")
    elif made != "nothing":
        out.mkdir()
    if made == "full":
        (out / "a").write_text("x")
    if reported:
        write_report(out, {"files": [WrittenFile("a", 1, sha256(b"x").hexdigest())._asdict()]})
    if not message:
        check_target(out, force=force)
        return
    with pytest.raises(UsageError, match=message):
        check_target(out, force=force)


def test_a_folder_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="name one"):
        check_target(Path("/"), force=True)


def test_the_report_exists_before_the_folder(tmp_path: Path, archive: Path) -> None:
    """If the export is killed in between, the next one recognizes its leftovers."""
    out = tmp_path / "out"
    seen = []

    def describe(written: list[WrittenFile]) -> dict[str, Any]:
        seen.append(out.exists())
        return {"files": [file._asdict() for file in written]}

    write_export([Content("a.txt", [b"x"])], archive, out, describe)
    assert seen == [False]
    assert [file["path"] for file in json.loads(report_path(out).read_bytes())["files"]] == ["a.txt"]
    check_target(out, force=True)


def listed(*files: WrittenFile) -> dict[str, Any]:
    return {"files": [file._asdict() for file in files]}


@pytest.mark.parametrize("report", [b"", b"{}", b"[]", b"null", b'{"files":5}', b'{"files":[5]}', b'{"files":[{"path":1}]}',
                                    b'{"files":[{"path":"novel.txt","bytes":5,"sha256":"0"}]}'])  # fmt: skip
def test_a_forged_report_does_not_permit_deletion(tmp_path: Path, report: bytes) -> None:
    out = tmp_path / "my-documents"
    (out / "deep").mkdir(parents=True)
    (out / "novel.txt").write_text("years")
    report_path(out).write_bytes(report)
    with pytest.raises(UsageError, match=r"holds deep, which is not as .*\.report\.json says"):
        check_target(out, force=True)
    assert (out / "novel.txt").read_text() == "years"


@pytest.mark.parametrize("change", ["new file", "new folder", "changed", "same size", "link", "linked folder", "pipe"])
def test_a_file_added_to_an_export_is_not_deleted_with_it(tmp_path: Path, archive: Path, change: str) -> None:
    out = tmp_path / "out"
    write_export([Content("posts/a.md", [b"one"]), Content("b.md", [b"two"])], archive, out, lambda made: listed(*made))
    check_target(out, force=True)
    path = out / "posts" / "a.md"
    named = "posts/a.md"
    match change:
        case "new file":
            (out / "posts" / "z.md").write_text("mine")
            named = "posts/z.md"
        case "new folder":
            (out / "posts" / "z" / "deep").mkdir(parents=True)
            named = "posts/z"
        case "changed":
            path.write_text("one, and more")
        case "same size":
            path.write_text("uno")
        case "link":
            path.unlink()
            path.symlink_to(tmp_path / "elsewhere")
        case "linked folder":
            (out / "posts").rename(tmp_path / "elsewhere")
            (out / "posts").symlink_to(tmp_path / "elsewhere")
            named = "posts"
        case "pipe":
            path.unlink()
            os.mkfifo(path)
    with pytest.raises(UsageError, match=f"holds {named}, which"):
        check_target(out, force=True)


def test_a_deleted_file_does_not_prevent_replacing_the_rest(tmp_path: Path, archive: Path) -> None:
    out = tmp_path / "out"
    write_export([Content("a.md", [b"one"]), Content("b.md", [b"two"])], archive, out, lambda made: listed(*made))
    (out / "a.md").unlink()
    check_target(out, force=True)


def test_an_export_that_failed_to_replace_another_can_be_repeated(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_export([Content("old.md", [b"one"])], archive, out, lambda made: listed(*made))

    def refuses(*_paths: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("exporter.archive.atomic.swap_folder", refuses)
        with pytest.raises(BlogExporterError):
            write_export([Content("new.md", [b"two"])], archive, out, lambda made: listed(*made))
    assert [path.name for path in out.iterdir()] == ["old.md"]
    check_target(out, force=True)
    write_export([Content("new.md", [b"two"])], archive, out, lambda made: listed(*made))
    assert [path.name for path in out.iterdir()] == ["new.md"]
    assert [file["path"] for file in json.loads(report_path(out).read_bytes())["files"]] == ["new.md"]
    assert "replaced" not in json.loads(report_path(out).read_bytes())
    check_target(out, force=True)


def test_a_folder_without_listed_files_is_recognized_by_one_hash(tmp_path: Path, archive: Path) -> None:
    """A private export also lists no files, because a path may be a title."""
    out = tmp_path / "out"
    for text in (b"one", b"two"):
        check_target(out, force=True)
        write_export([Content("posts/ひみつ.md", [text])], archive, out, lambda _made: {"files": []})
        assert "ひみつ" not in report_path(out).read_text("utf-8")
    (out / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"mine\.txt"):
        check_target(out, force=True)
    (out / "mine.txt").unlink()
    check_target(out, force=True)
    (out / "posts/ひみつ.md").write_bytes(b"too")
    with pytest.raises(UsageError):
        check_target(out, force=True)
