"""The importers themselves: run only when asked for with ``-m importers``, and then a missing tool is a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TOOLS = Path(os.environ.get("IMPORTERS", ROOT / ".venv-importers")) / "bin"

Tool = Callable[..., str]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out unless the marker was named: they need tools that no user needs."""
    mine = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in mine:
        item.add_marker("importers")
    if "importers" not in (config.option.markexpr or ""):
        config.hook.pytest_deselected(items=mine)
        items[:] = [item for item in items if item not in mine]


@pytest.fixture
def tool() -> Tool:
    """Run a tool of the importers' environment, or of the system, and return what it printed."""

    def run(name: str, *arguments: object, cwd: Path | None = None) -> str:
        places = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
        path = shutil.which(name, path=places)
        if path is None:
            pytest.fail(f"{name} is not installed; CONTRIBUTING.md says how to get the importers")
        environ = {**os.environ, "PATH": places, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": str(cwd or ROOT)}
        done = subprocess.run(
            [path, *map(str, arguments)], cwd=cwd, env=environ, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{name} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout + done.stderr

    return run
