"""Processing a fleet's folder: the sites of many small blogs, made by two workers and by one.

The workers are processes of the command ``fleet site``; one and two workers are measured in turns. All blogs have the
same number of entries, so that the result shows how the work is divided, not how blogs differ.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

from benchmarks.archives import Nightly
from benchmarks.content import BlogSize, Content
from benchmarks.measure import Bench, Sample, ours, run
from benchmarks.table import Goal, Row
from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.library.views import refresh_latest
from exporter.model.kinds import Kind

ENTRIES = 20
COMMENTS = 2
_ONE, _TWO = "sites of a fleet, 1 worker", "sites of a fleet, 2 workers"
_DASK_ONE, _DASK_TWO = "sites of a fleet, Dask, 1 worker", "sites of a fleet, Dask, 2 workers"


def build_fleet(root: Path, blogs: int, entries: int = ENTRIES) -> None:
    """Make the archives of a fleet as a run without views leaves them; no two blogs share an entry."""
    total = blogs * entries
    content = Content(BlogSize(total, COMMENTS * total, 0))
    for number in range(blogs):
        ids = range(number * entries + 1, (number + 1) * entries + 1)
        blog_id = f"b{number:07d}.blog.example.jp"
        made = Nightly(archive_place(root, blog_id), blog_id)
        made.commit(
            {
                Kind.ENTRIES: [content.entry(each) for each in ids],
                Kind.ENTRY_LIST: [content.item(each) for each in ids],
                Kind.COMMENTS: [content.comment(total * turn + each) for turn in range(COMMENTS) for each in ids],
                Kind.USER: [content.user],
            }
        )
        with patch.object(os, "fsync"):
            refresh_latest(Archive.open(made.layout.root), [])


def without_sites(root: Path) -> None:
    """Remove all sites, as if none had ever been made."""
    for place in root.glob("??/*"):
        shutil.rmtree(place / "latest" / "site", ignore_errors=True)
        shutil.rmtree(place / ".work", ignore_errors=True)


def fleet_sites(bench: Bench) -> Iterator[Row]:
    """Measure two workers against one."""
    yield _two_against_one(bench, bench.size(2_000, 60), (_ONE, _TWO), (), Goal(wall=0.56))


def fleet_sites_by_dask(bench: Bench) -> Iterator[Row]:
    """Measure a Dask cluster of two workers against one of one worker; both times include the start."""
    yield _two_against_one(bench, bench.size(500, 60), (_DASK_ONE, _DASK_TWO), ("--engine", "dask"), Goal(wall=0.59))


def _two_against_one(bench: Bench, blogs: int, names: tuple[str, str], options: Sequence[str], goal: Goal) -> Row:
    one, two = names
    with bench.memory() as folder:
        root = folder / "fleet"
        build_fleet(root, blogs)

        def sites(workers: int) -> Sample:
            without_sites(root)
            return run(ours("fleet", "site", root, *options, "--workers", workers, "--json", "-q"))

        samples = bench.turns({one: lambda: sites(1), two: lambda: sites(2)}, most=3)
    speed = 1 / bench.ratio(samples, two, one, "wall")
    return bench.row(samples, two, one, goal, f"{blogs:,} blogs of {ENTRIES} entries: {speed:.2f} × as fast")
