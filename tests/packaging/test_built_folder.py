"""The folder of ``make app`` on a system without Python: a root with two libraries of Debian."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import run
from tests.support.runs import ROOT

pytestmark = pytest.mark.packages

FOLDER = ROOT / "dist" / "blog-exporter"
MAX_BYTES = 80_000_000


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A root with the built folder in ``/opt``, the C library and zlib, without which no Debian can install anything."""
    root = tmp_path / "root"
    for name in ("dev", "proc", "tmp"):
        (root / name).mkdir(parents=True)
    for line in run("dpkg", "-L", "libc6", "zlib1g").splitlines():
        found = Path(os.path.realpath(line))
        if found.is_file() and "/doc/" not in line:
            place = root / line.removeprefix("/usr").lstrip("/")  # on Debian, /lib is a link to /usr/lib
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(found, place)
    shutil.copytree(FOLDER, root / "opt" / "blog-exporter", symlinks=True)
    return root


def test_it_is_small() -> None:
    assert sum(each.lstat().st_size for each in FOLDER.rglob("*")) < MAX_BYTES


def test_it_works_on_a_system_without_python(bare: Path, tmp_path: Path) -> None:
    """The files have the same path inside and outside, because the checks look at them from outside."""
    files = tmp_path / "files"
    inside = bare / files.relative_to("/")
    for folder in (files, inside):
        folder.mkdir(parents=True)
    mounts = (("--rbind", "/dev", bare / "dev"), ("--rbind", "/proc", bare / "proc"), ("--bind", files, inside))
    enter = " && ".join(f"mount {how} {shlex.quote(str(what))} {shlex.quote(str(at))}" for how, what, at in mounts)
    program = ("/usr/sbin/chroot", str(bare), "/opt/blog-exporter/blog-exporter")
    done = subprocess.run(
        [
            "unshare", "--map-root-user", "--mount", "sh", "-c", f'{enter} && exec "$@"', "sh",
            sys.executable, str(ROOT / "app" / "check.py"), str(files), *program,
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "app: " in done.stdout
