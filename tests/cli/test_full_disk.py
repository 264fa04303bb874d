"""A full disk ends every command with exit code 28 and one line that says so, at any point."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

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


def run_with_room(size: int, archive: Path, out: Path, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run a command that can write files of up to ``size`` bytes."""
    home = archive.parent / "home"
    home.mkdir(exist_ok=True)
    variables = {name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR")}
    words = [word.format(archive=archive, out=out) for word in command]
    return subprocess.run(
        [sys.executable, "-m", "exporter", *words],
        env={name: value for name, value in {**os.environ, **variables}.items() if not name.startswith("COV")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("size", [20, 3_000, 40_000])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_28_and_never_a_traceback(archive: Path, tmp_path: Path, name: str, size: int) -> None:
    done = run_with_room(size, archive, tmp_path / "out", COMMANDS[name])
    assert done.returncode in {0, 3, 28}, done.stderr
    assert "Traceback" not in done.stderr
    assert "Unexpected" not in done.stderr
    if done.returncode == 28:
        assert "No space left while writing" in done.stderr
    whole = subprocess.run(
        [sys.executable, "-m", "exporter", "verify", archive, "-q"], capture_output=True, text=True, check=False
    )
    assert whole.returncode == 0, whole.stderr
