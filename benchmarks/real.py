"""Backup, site and exports of posts with the length and the markup of real blogs (:mod:`benchmarks.real_posts`).

The other measures have short posts with few kinds of markup, where bodies cost little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from benchmarks.content import BlogSize, addresses
from benchmarks.crawl import client, require_requests
from benchmarks.exports import LOOP, export, loop, make_archive
from benchmarks.measure import PLAIN, Bench, Steps, backup, ours, serving
from benchmarks.site import write_hugo
from benchmarks.table import Goal, Row

_NAME = "real posts: "
_BARE = "bare loop, real posts"
_BACKUPS = {
    "backup, no views": (PLAIN, Goal(wall=1.6, cpu=1.75)),
    "backup with Markdown": (("--no-site",), Goal(cpu=4.0)),
    "backup with Markdown and site": ((), Goal(cpu=7.0)),
}
_EXPORTS = {"jsonl": 3.0, "wxr": 5.0, "sqlite": 5.0, "epub": 6.0, "markdown": 7.0, "hugo": 7.0}


def real(bench: Bench) -> Iterator[Row]:
    """Measure backups with and without views, the whole site, and exports."""
    entries = bench.size(1_250, 250)
    size = BlogSize(entries, 2 * entries, entries // 5)
    with serving(size, "--real") as service, bench.memory() if bench.small else nullcontext(bench.place) as folder:
        url = service.base_url
        steps: Steps = {_BARE: client("bare", url, size)}
        for name, (options, _) in _BACKUPS.items():
            steps[_NAME + name] = bench.anew(partial(_backup, url, options), folder)
        samples = bench.turns(steps)
    require_requests(samples, sum(1 for _ in addresses(size)))
    for name, (_, goal) in _BACKUPS.items():
        yield bench.row(samples, _NAME + name, _BARE, goal)
    yield from _site_and_exports(bench, entries)


def _backup(url: str, options: Sequence[str], place: Path) -> list[str]:
    return backup(url, place, options)


def _site_and_exports(bench: Bench, entries: int) -> Iterator[Row]:
    against = f"{LOOP}, real posts"
    with bench.memory() as folder:
        archive = folder / "archive"
        make_archive(archive, entries, real=True)
        steps: Steps = {
            against: bench.anew(partial(loop, archive), folder),
            _NAME + "whole site": bench.anew(lambda place: ours("site", archive, place, "--quiet"), folder),
        }
        for name in _EXPORTS:
            steps[f"{_NAME}export {name}"] = bench.anew(partial(export, name, archive), folder)
        hugo = bench.peer("Hugo", "hugo")
        if hugo is not None:
            steps["Hugo, real posts"] = bench.cleared(write_hugo(archive, folder / "hugo", hugo), folder / "hugo/made")
        samples = bench.turns(steps)
    yield bench.row(samples, _NAME + "whole site", against, None, f"{entries:,} entries")
    if hugo is not None:
        yield bench.row(samples, _NAME + "whole site", "Hugo, real posts", Goal(cpu=4.0))
    for name, most in _EXPORTS.items():
        yield bench.row(samples, f"{_NAME}export {name}", against, Goal(cpu=most))
