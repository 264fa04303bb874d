"""An archive of a service that this program does not know can be read out; only ``backup`` refuses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.archive import writer
from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.model.kinds import Kind
from tests.archive.builder import CREATED, Built, record
from tests.cli.conftest import Program
from tests.support.runs import tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "archive"
    writer.create(Layout(place), ArchiveInfo("sea.example", CREATED, service="future"))
    built = Built.reopen(place)
    comments = {"x1": record(c="x1", said="hello")}
    built.commit(
        {Kind.ENTRIES: {"7": record(number="7", headline="Sea", words="<p>water</p>")}, Kind.COMMENTS: comments}
    )
    built.commit({Kind.ENTRIES: {"7": record(number="7", headline="Sea", words="<p>waves</p>")}})
    built.refresh()
    return place


def test_every_reading_command_works(root: Path, program: Program) -> None:
    shown = program("show", root, "entry", "7")
    assert shown.code == 0, shown.err
    assert shown.out.endswith("words\nwaves\n")
    for words in (["verify"], ["status"], ["log"], ["diff"], ["rebuild"], ["site"], ["search", "Sea"]):
        done = program(words[0], root, *words[1:])
        assert done.code == 0, (words, done.err)


def test_raw_records_are_exported_and_nothing_is_public(root: Path, program: Program, tmp_path: Path) -> None:
    done = program("export", "jsonl", root, tmp_path / "out", "--only", "all", "--hidden-comments")
    assert done.code == 0, done.err
    exported = "".join(each.read_text("utf-8") for each in tmp_path.glob("out*/*.jsonl"))
    assert "waves" in exported
    assert program("export", "jsonl", root, tmp_path / "public").code == 0
    assert "waves" not in "".join(each.read_text("utf-8") for each in tmp_path.glob("public/*"))


def test_a_backup_is_refused(root: Path, program: Program) -> None:
    before, latest = [each.read_bytes() for each in sorted(root.glob("versions/*/*"))], tree(root / "latest")
    done = program("backup", root, "--base-url", "http://127.0.0.1:9/")
    assert done.code == 2
    assert "The blog service 'future' is not known to this program" in done.err
    assert [each.read_bytes() for each in sorted(root.glob("versions/*/*"))] == before
    assert tree(root / "latest") == latest


@pytest.mark.parametrize(
    "settings",
    [
        'service = "future"\nbase_url = "https://api.example.jp"\n',
        'service = "future"\nfuture_key = "3"\n',
        'service = "future"\nassets = "everything"\n',
        "",
    ],
    ids=["known settings", "an unknown setting", "an unknown value", "none"],
)
def test_its_settings_are_not_blamed(settings: str, root: Path, program: Program) -> None:
    (root / "settings.toml").write_text(settings, "utf-8")
    for words in (["doctor", root, "--offline"], ["backup", root], ["schedule", "install", root], ["login", root]):
        done = program(*words)
        said = " ".join(f"{done.out} {done.err}".split())
        assert done.code == 2, (words, said)
        assert "is of the blog service 'future', which this version does not know" in said, words
        assert not [word for word in ("cannot be used", "you trust", "--base-url", "comes from") if word in said], words
    named = [each["name"] for each in program("doctor", root, "--offline", "--json").json["findings"]]
    assert named == ["service_not_known"]
    shown = program("log", root)
    assert (shown.code, "cannot be used" in shown.err) == (0, False), shown.err
