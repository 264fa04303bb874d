"""``forget``: its list of places, its questions and its answers as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.archive.layout import Layout
from tests.cli.conftest import Program

READER = "まめこ"


@pytest.fixture
def place(archive: Path, tmp_path: Path) -> Path:
    """The demo's archive in a fleet's folder."""
    found = archive_place(tmp_path / "fleet", Archive.open(archive).info.blog_id)
    found.parent.mkdir(parents=True)
    return archive.rename(found)


def test_the_list_names_every_place(program: Program, place: Path) -> None:
    fleet = place.parent.parent
    for words in (("catalogue", "sqlite", fleet), ("search", fleet, "パン", "--update")):
        assert program("fleet", *words).code == 0
    shown = program("forget", place, "entries", 67, "--author", READER, "--dry-run")
    assert shown.code == 0, shown
    for part in (
        "To remove: 1 entry and ", "  versions/   ", "  latest/     made anew", f"  fleet       {fleet}",
        "catalogue.sqlite: without this blog until its next update", ".txt: without this blog",
    ):  # fmt: skip
        assert part in shown.out
    assert not Layout(place).forgotten.exists()
    removed = program("forget", place, "--author", READER, "--yes")
    assert removed.code == 3, removed
    assert re.search("Also mentioned in (entry|comment) [0-9]+, which stays", removed.err)
    assert READER.encode() not in (fleet / "catalogue.sqlite").read_bytes()
    assert "dry_run" not in removed.out
    assert program("forget", place, "--author", READER, "--yes").code == 5


def test_its_answer_as_json_names_the_records(program: Program, archive: Path) -> None:
    planned, done = (program("forget", archive, "--comment", 252, how, "--json").json for how in ("--dry-run", "--yes"))
    assert (planned["dry_run"], done["dry_run"]) == (True, False)
    assert planned["comments"] == done["comments"] == 1
    assert planned["places"] == done["places"]
    assert planned["places"]["lines"] > 0


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_without_a_terminal_it_asks_for_yes(program: Program, archive: Path, how: tuple[str, ...]) -> None:
    refused = program("forget", archive, "--comment", 252, *how)
    assert refused.code == 2
    assert "add --yes" in (refused.out + refused.err)
    assert not Layout(archive).forgotten.exists()


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2), ("", 2)])
def test_only_a_clear_yes_removes(
    program: Program, archive: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("exporter.cli.forget.sys", _Terminal())
    monkeypatch.setattr("exporter.cli.questions.Questions.agreed", lambda *_, **__: answer == "y")
    assert program("forget", archive, "--comment", 252).code == code
    assert Layout(archive).forgotten.exists() == (code == 0)


class _Terminal:
    """A program's streams on a terminal."""

    class stdin:  # noqa: N801 - the name in sys
        isatty = staticmethod(lambda: True)

    stderr = stdin
