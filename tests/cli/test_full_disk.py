"""A full disk ends every command with exit code 28 and one line that says so, at any point."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.support.runs import Runs

SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f")
FORMATS = [
    "atom",
    "blogger-atom",
    "csv",
    "epub",
    "ghost",
    "html",
    "hugo",
    "jsonl",
    "movabletype",
    "parquet",
    "sqlite",
    "wxr",
]
COMMANDS: dict[str, tuple[str, ...]] = {
    **{f"export {name}": ("export", name, "{archive}", "{out}", *SAID) for name in FORMATS},
    "export bagit": ("export", "bagit", "{archive}", "{out}", *SAID, "--only", "all"),
    "site OUT": ("site", "{archive}", "{out}"),
    "rebuild": ("rebuild", "{archive}"),
    "prune": ("prune", "{archive}", "--keep-last", "1"),
    "verify": ("verify", "{archive}", "--repair"),
    "sync": ("sync", "{archive}", "{out}"),
    "search": ("search", "{archive}", "海"),
    "compare": ("compare", "{archive}", "{archive}/latest/markdown", *SAID, "--report", "{out}"),
    "inspect": ("inspect", "{archive}"),
    "status": ("status", "{archive}"),
    "demo": ("demo", "{out}"),
}


OFTEN = [
    ("export csv", 20), ("export wxr", 3_000), ("export sqlite", 40_000), ("site OUT", 3_000), ("rebuild", 3_000),
    ("prune", 20), ("sync", 3_000), ("search", 20), ("status", 20),
]  # fmt: skip
"""The cases that are always tried."""
RARELY = [(name, size) for size in (20, 3_000, 40_000) for name in COMMANDS if (name, size) not in OFTEN]


def run_with_room(runs: Runs, size: int, archive: Path, out: Path, command: tuple[str, ...]) -> tuple[int, str]:
    """Run a command that can write files of up to ``size`` bytes. Return its exit code and what it said."""
    home = archive.parent / "home"
    home.mkdir(exist_ok=True)
    variables = {name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR")}
    words = [word.format(archive=archive, out=out) for word in command]
    # A file of its messages would be as limited as all others.
    reading, writing = os.pipe()
    try:
        run = runs.start(*words, environ=variables, file_size=size, stdout=writing, stderr=writing)
    finally:
        os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        said = stream.read()
    return run.wait().code, said


@pytest.mark.parametrize(
    ("name", "size"), [*OFTEN, *(pytest.param(*case, marks=pytest.mark.thorough) for case in RARELY)]
)
@pytest.mark.sample(3)
def test_a_full_disk_is_28_and_never_a_traceback(
    runs: Runs, program: Program, archive: Path, tmp_path: Path, name: str, size: int
) -> None:
    code, said = run_with_room(runs, size, archive, tmp_path / "out", COMMANDS[name])
    assert code in {0, 3, 28}, said
    assert "Traceback" not in said
    assert "Unexpected" not in said
    if code == 28:
        assert "No space left while writing" in said
    whole = program("verify", archive, "-q")
    assert whole.code == 0, whole.err
