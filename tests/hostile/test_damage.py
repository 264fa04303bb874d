"""Run every reading command on an archive that lost data: none may take lost records for records that never existed.

Each file is emptied, cut in half after a complete line, and removed, with and without ``latest/`` and ``.work/``. A
command either prints the same as for the intact archive, or exits with a code that names the problem.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from exporter.cli.main import main
from exporter.errors import ArchiveDamaged, NewerFormat, NoArchive
from tests.hostile.commands import HOME, PUBLIC
from tests.hostile.conftest import Whole

pytestmark = pytest.mark.thorough

REFUSALS = {ArchiveDamaged.exit_code, NoArchive.exit_code, NewerFormat.exit_code}
READERS: tuple[tuple[str, ...], ...] = (
    ("show", "{root}", "entry", "1"),
    ("show", "{root}", "entry", "2"),
    ("show", "{root}", "entry", "3"),
    ("show", "{root}", "entry", "1", "--at", "1"),
    ("show", "{root}", "comment", "1"),
    ("diff", "{root}"),
    ("log", "{root}"),
    ("search", "{root}", "海"),
    ("search", "{root}", "海", "--at", "1"),
    ("files", "{root}"),
    ("inspect", "{root}"),
    ("verify", "{root}"),
    ("compare", "{root}", HOME, *PUBLIC),
    ("export", "markdown", "{root}", "{out}/1", *PUBLIC),
    ("export", "markdown", "{root}", "{out}/2", "--at", "1", *PUBLIC),
    ("export", "wordpress", "{root}", "{out}/3", *PUBLIC),
    ("export", "jsonl", "{root}", "{out}/4", *PUBLIC),
    ("export", "movabletype", "{root}", "{out}/5", *PUBLIC),
    ("site", "{root}", "{out}/6"),
    ("sync", "{root}", "{out}/7"),
)
"""These commands change only the caches in ``.work/``, so they all run on one copy of the archive."""
WRITERS: tuple[tuple[str, ...], ...] = (("rebuild", "{root}"), ("prune", "{root}", "--keep-last", "1"))
COMMANDS = (*READERS, *WRITERS)
KEPT = ("latest", "versions")
WITHOUT = ((), ("latest",), (".work",), ("latest", ".work"))
Seen = tuple[int, str, dict[str, bytes]]
Look = Callable[[Sequence[tuple[str, ...]], tuple[str, ...], str, Callable[[Path], None] | None], Iterator[Seen]]


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    """Cut a file in the middle, after a complete line if it has several lines."""
    data = path.read_bytes()
    path.write_bytes(data[: data.find(b"\n", len(data) // 2) + 1 or len(data) // 2] if data.count(b"\n") > 1 else b"")


DAMAGES: tuple[Callable[[Path], None], ...] = (emptied, halved, Path.unlink)


def files_of(root: Path, folder: str) -> list[str]:
    """Return the files of one folder of the archive; pages and pictures have their own tests."""
    paths = (root / folder).rglob("*") if folder == "versions" else (root / folder).glob("*")
    return sorted(str(path.relative_to(root)) for path in paths if path.is_file() and path.name != "lock")


def tree(folder: Path) -> dict[str, bytes]:
    # The id of a copy is random.
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "copy-id")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def look(whole: Whole, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Look:
    """Return a function that runs commands on a copy of the archive with missing folders and one damaged file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root, out = tmp_path / "archive", tmp_path / "out"

    def fresh(without: tuple[str, ...], name: str, damage: Callable[[Path], None] | None) -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(whole.root, root, copy_function=os.link)
        for folder in without:
            shutil.rmtree(root / folder)
        if damage is not None:
            shutil.copy(whole.root / name, root / "copy")
            (root / "copy").replace(root / name)
            damage(root / name)

    def run(
        commands: Sequence[tuple[str, ...]], without: tuple[str, ...], name: str, damage: Callable[[Path], None] | None
    ) -> Iterator[Seen]:
        fresh(without, name, damage)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for command in commands:
            if command in WRITERS:
                fresh(without, name, damage)
            before = {folder: tree(root / folder) for folder in KEPT}
            capfd.readouterr()
            code = main([word.replace("{root}", str(root)).replace("{out}", str(out)) for word in command])
            said = capfd.readouterr().out
            place = next((Path(word.replace("{out}", str(out))) for word in command if "{out}" in word), None)
            written = {} if place is None else tree(place)
            if command[0] == "sync":
                # It holds no record: verify checks it, and a backup writes it again. The output names its size.
                written.pop("SHA256SUMS", None)
                written.pop("declared.jsonl", None)  # an earlier export may have written it
                said = ""
            after = {folder: tree(root / folder) for folder in KEPT}
            if command in READERS or code in REFUSALS:
                assert after == before, f"{command} changed the archive"
            else:
                written = {name: data for name, data in after["latest"].items() if "/" not in name}
                assert written, command
            yield code, said.replace(str(out), "OUT"), written

    return run


@pytest.mark.parametrize("folder", ["", "versions", "latest", ".work"])
@pytest.mark.parametrize(
    ("without", "damage"),
    [
        pytest.param(
            names, damage, id=f"without {' '.join(names) or 'nothing'}-{damage.__name__}",
            marks=[] if damage is Path.unlink or not names else pytest.mark.slow,
        )
        for names in WITHOUT
        for damage in DAMAGES
    ],
)  # fmt: skip
def test_lost_data_is_never_taken_for_data_that_never_existed(
    whole: Whole,
    look: Look,
    folder: str,
    damage: Callable[[Path], None],
    without: tuple[str, ...],
) -> None:
    if folder in without:
        return
    right = dict(zip(COMMANDS, look(COMMANDS, without, "", None), strict=True))
    wrong = []
    # Each file is tried with every second command, and its next damage with the others.
    for turn, name in enumerate(files_of(whole.root, folder), DAMAGES.index(damage)):
        commands = COMMANDS[turn % 2 :: 2]
        for command, found in zip(commands, look(commands, without, name, damage), strict=True):
            if found != right[command] and found[0] not in REFUSALS:
                wrong.append((name, command, found[0], right[command][0]))
    assert wrong == []
