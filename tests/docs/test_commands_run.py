"""Every command line of the documents runs as printed, on a machine with the places that it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs.machine import ENDLESS, Machine, is_asking
from tests.docs.test_commands import DOCUMENTS, SPOKEN, shown
from tests.support.runs import Runs, Zygote

NO_COMMANDS: Final = {
    "export titles DIR OUT": "architecture.md shows how a format is added",
    "login --no-browser": "the sentence is about the option; the blog is named before it",
    "move wordpress DIR --to URL": "a synopsis; the examples below it name the user",
}
"""Lines that no reader can run, and why."""


CLUSTER: Final = "--engine dask"
"""Lines with it need several machines; ``tests/cli/test_fleet_dask.py`` runs these commands on a cluster."""

DIFFERENT: Final = {"compare": 3, "move": 3}
"""Commands that say with an exit code how far the new home is the same, which depends on what was moved there."""


def lines() -> list[str]:
    """Return the command lines of all documents, each once; a sentence that only names a command is none."""
    found: dict[str, None] = {}
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        found |= dict.fromkeys(shown(text))
        found |= dict.fromkeys(line for line in SPOKEN.findall(text) if len(line.split()) > 1)
    return [line for line in found if line not in NO_COMMANDS and CLUSTER not in line]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("machine")
    with Runs(folder / "runs", zygote, workers=False) as runs, Machine.built(folder, runs) as built:
        yield built


@pytest.fixture
def own_runs(tmp_path: Path, zygote: Zygote) -> Iterator[Runs]:
    with Runs(tmp_path / "runs", zygote, workers=False) as started:
        yield started


@pytest.mark.thorough
@pytest.mark.parametrize("line", lines())
def test_a_command_of_the_documents_runs_as_printed(machine: Machine, own_runs: Runs, line: str) -> None:
    done = machine.run(own_runs, line)
    assert "Traceback" not in done.err
    ended = 130 if (line.split(maxsplit=1)[0] in ENDLESS and "--mcp" not in line) or is_asking(line.split()) else 0
    assert done.code in {ended, DIFFERENT.get(line.split(maxsplit=1)[0], ended)}, (line, done)
