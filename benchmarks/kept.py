"""The space that the history of ``latest/`` takes in this archive's versions/, in a restic repository, and in git.

Every night's ``latest/`` is written, backed up with restic, and committed to git. At the end git packs as tightly as
``git gc`` does. ``latest/`` contains only the records: Markdown would make the other programs' share larger.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.archives import nightly
from benchmarks.content import BlogSize
from benchmarks.measure import Bench
from benchmarks.table import Row
from exporter.archive.archive import Archive
from exporter.archive.latest import write_latest

_BLOCK = 512
_OURS = "versions/"


@dataclass(frozen=True, slots=True)
class Taken:
    """A folder's sum of file sizes, its space on disk (as ``du`` counts it), and its number of files."""

    bytes: int
    on_disk: int
    files: int

    @classmethod
    def by(cls, root: Path) -> Taken:
        """Sum up a folder."""
        found = [path.lstat() for path in (root, *root.rglob("*"))]
        files = [each for each in found if not stat.S_ISDIR(each.st_mode)]
        return cls(sum(each.st_size for each in files), sum(each.st_blocks for each in found) * _BLOCK, len(files))


class _Restic:
    name = "restic"

    def __init__(self, place: Path) -> None:
        self.kept = place / "restic"
        self._environment = {
            **os.environ,
            "RESTIC_REPOSITORY": str(self.kept),
            "RESTIC_PASSWORD": "bench",
            "RESTIC_CACHE_DIR": str(place / "restic-cache"),
        }
        self._run("init")

    def keep(self, folder: Path) -> None:
        self._run("backup", "latest", inside=folder.parent)

    def finish(self) -> None:
        self._run("check")

    def _run(self, *arguments: str, inside: Path | None = None) -> None:
        subprocess.run(["restic", "--quiet", *arguments], cwd=inside, env=self._environment, check=True)


class _Git:
    name = "git"

    def __init__(self, place: Path) -> None:
        self.kept = place / "git"
        self._run("init", "--quiet")
        for setting in ("gc.auto=0", "user.name=bench", "user.email=bench@example.jp"):
            self._run("config", *setting.split("="))

    def keep(self, folder: Path) -> None:
        self._run("add", "--all", inside=folder)
        self._run("commit", "--quiet", "--message=night", inside=folder)

    def finish(self) -> None:
        self._run("gc", "--quiet")

    def _run(self, *arguments: str, inside: Path = Path()) -> None:
        subprocess.run(["git", f"--git-dir={self.kept}", f"--work-tree={inside.absolute()}", *arguments], check=True)


def kept(bench: Bench) -> Iterator[Row]:
    """Measure the space that the last hundred nights take."""
    nights = bench.size(100, 5)
    names = [each.name for each in (_Restic, _Git) if bench.peer(each.name, each.name, everywhere=True)]
    with bench.memory() as folder:
        taken = compare(folder, BlogSize(bench.size(2_000, 50), nights + 100, 40), nights, names)
    for name, (first, last) in taken.items():
        night = (last.bytes - first.bytes) / (nights - 1) / 1000
        sizes = f"{last.bytes / 1e6:.1f} MB, {last.on_disk / 1e6:.1f} on disk, {last.files:,} files"
        yield Row(f"{nights} nights in {name}", "", note=f"{night:.1f} kB a night; {sizes}")


def compare(place: Path, size: BlogSize, nights: int, names: Sequence[str]) -> dict[str, list[Taken]]:
    """Store this number of nights with every program; return the space of each after the first night and after all."""
    others = [each(place) for each in (_Restic, _Git) if each.name in names]
    taken: dict[str, list[Taken]] = {name: [] for name in (_OURS, *names)}
    for archive in nightly(place / "archive", size, nights):
        layout = archive.layout
        write_latest(layout, Archive.open(layout.root).state(), [])
        for other in others:
            other.keep(layout.latest)
        if archive.night in {1, nights}:
            taken[_OURS].append(Taken.by(layout.versions))
            for other in others:
                other.finish()
                taken[other.name].append(Taken.by(other.kept))
    return taken
