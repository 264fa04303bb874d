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


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two copies of the sample archive, which no command may change."""
    folder = tmp_path_factory.mktemp("places")
    for name in ("mine", "other"):
        shutil.copytree(ROOT, folder / name)
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: f"{words[0]} {words[1]}")
@pytest.mark.sample(3)
def test_no_output_goes_into_an_archive(
    program: Program, places: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", "abcd")
    before = tree(places)
    mine, other = places / "mine", places / "other"
    for inside in ("archive.json", "versions/000001/entries.jsonl", "new", "latest/site/new"):
        for whose in (mine, other):
            with subtests.test(inside=inside, whose=whose.name):
                given = {"mine": mine, "other": other, "inside": whose / inside, "folder": ROOT / "latest" / "markdown"}
                words = [word.format(**given) for word in command]
                for force in ([], ["--force"] if command[0] != "move" else []):
                    done = program(*words, *force)
                    assert done.code == 2, done.err
    assert {name: data for name, data in tree(places).items() if "/.work/" not in name} == before
