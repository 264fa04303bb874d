"""No command writes its output over an archive's files, with or without ``--force``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.hostile.commands import PUBLIC

ROOT = Path(__file__).parent.parent.parent / "sample_output"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "{mine}", "--report", "{inside}"),
    ("compare", "{mine}", "{folder}", "--report", "{inside}", *PUBLIC),
    ("diff", "{mine}", "--html", "{inside}"),
    ("export", "jsonl", "{mine}", "{inside}"),
    ("export", "markdown", "{mine}", "{inside}", *PUBLIC),
    ("site", "{mine}", "{inside}"),
    ("move", "wordpress", "{mine}", "--to", "http://127.0.0.1:9", "--map", "{inside}", "--new-home-user", "x", *PUBLIC),
)


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: f"{words[0]} {words[1]}")
@pytest.mark.parametrize("inside", ["archive.json", "versions/000001/entries.jsonl", "new", "latest/site/new"])
@pytest.mark.parametrize("whose", ["mine", "other"])
def test_no_output_goes_into_an_archive(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], inside: str, whose: str
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", "abcd")
    places = {"mine": tmp_path / "mine", "other": tmp_path / "other"}
    for place in places.values():
        shutil.copytree(ROOT, place)
    before = tree(tmp_path)
    places |= {"inside": places[whose] / inside, "folder": ROOT / "latest" / "markdown"}
    words = [word.format(**places) for word in command]
    for force in ([], ["--force"] if command[0] != "move" else []):
        done = program(*words, *force)
        assert done.code == 2, done.err
        assert {name: data for name, data in tree(tmp_path).items() if "/.work/" not in name} == before
