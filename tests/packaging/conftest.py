"""The packages, built by standard tools in a separate environment and installed into a new one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.runs import ROOT

TOOLS = ROOT / ".venv-packages" / "bin"
EPOCH = "1700000000"
"""Any timestamp: built files must contain no other."""


def run(*words: object, cwd: Path | None = None, **environ: str) -> str:
    """Run a program in English outside of the project and return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BLOG_EXPORTER_", "COVERAGE_"))}
    kept = {**kept, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": EPOCH, **environ}
    done = subprocess.run([str(word) for word in words], cwd=cwd or Path("/"), env=kept, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Packages:
    """The files that would be published."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the project without generated files."""
    copy = tmp_path_factory.mktemp("source") / "blog-exporter"
    made = shutil.ignore_patterns(".git", ".venv*", "node_modules", "__pycache__", "dist", ".*_cache", ".hypothesis")
    return Path(shutil.copytree(ROOT, copy, ignore=made))


@pytest.fixture(scope="session")
def packages(source: Path) -> Packages:
    """The sdist, and the wheel that is built from it."""
    assert (TOOLS / "pyproject-build").exists(), "the tools are not installed; make packages gets them"
    out = source.parent / "dist"
    run(TOOLS / "python", "-m", "build", "--no-isolation", "--outdir", out, source)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Packages(sdist, wheel)


@pytest.fixture(scope="session")
def installed(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel and its dependencies."""
    place = tmp_path_factory.mktemp("installed") / "日本 語"
    run(sys.executable, "-m", "venv", place)
    run(place / "bin" / "python", "-m", "pip", "install", "--quiet", packages.wheel)
    return place / "bin"
