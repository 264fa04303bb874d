"""``fleet run`` over many small blogs: its rate compared with one blog's ``backup``, its memory, and its forecast.

Both send nearly the same number of requests to one service, with the same latency and concurrency, and their time per
request is compared. Pictures are off.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.content import BlogSize, addresses
from benchmarks.measure import PLAIN, Bench, Sample, backup, ours, run, serving
from benchmarks.table import Goal, Row
from exporter.errors import BlogExporterError
from exporter.fleet.overview import overview

BLOG = BlogSize(20, 40, 2)
"""One of the many blogs."""
_LATENCY, _CONCURRENCY = 0.1, 16
_ONE, _MANY = "backup of one blog", "fleet run, blogs of 20 entries"
_RATE = 0.9
_SOME = (0, 3)
_EARLY = 0.2


def blog_id(number: int) -> str:
    """Return the ID of a blog of the platform."""
    return f"b{number:07d}.blog.example.jp"


def write_list(path: Path, blogs: int) -> Path:
    """Write a list of this number of blogs."""
    path.write_text("".join(f"{blog_id(number)}\n" for number in range(blogs)), encoding="utf-8")
    return path


def fleet_run(base_url: str, listed: Path, root: Path, *options: object) -> list[str]:
    """Return the command that backs up all blogs of a list without pictures."""
    given = ("--into", root, "--base-url", base_url, "--assets", "none", *options, "--json")
    return ours("fleet", "run", listed, *given)


def requests_of(size: BlogSize) -> int:
    """Return the number of requests of a first backup of a blog."""
    return sum(1 for _ in addresses(size))


def fleet(bench: Bench) -> Iterator[Row]:
    """Measure many blogs against one blog with about as many addresses."""
    blogs, at_once = bench.size(200, 24), bench.size(50, 12)
    entries = blogs * requests_of(BLOG) * 10 // 13
    whole = BlogSize(entries, entries * 2, entries // 10)
    latency = bench.size(1000, 0) * _LATENCY / 1000
    options = (f"--concurrency={_CONCURRENCY}",)
    listed = write_list(bench.place / "blogs.txt", blogs)

    def per_thousand(sample: Sample) -> Sample:
        times = 1000 / sample.json["requests"]
        return Sample(sample.wall * times, sample.cpu * times, sample.peak)

    with (
        serving(whole, f"--latency={latency}") as one,
        serving(BLOG, f"--latency={latency}", "--platform=equal") as many,
    ):
        alone = bench.anew(partial(backup, one.base_url, options=(*options, *PLAIN)))
        together = bench.anew(
            lambda place: fleet_run(many.base_url, listed, place, "--at-once", at_once, *options, "-q")
        )
        samples = bench.turns({_ONE: lambda: per_thousand(alone()), _MANY: lambda: per_thousand(together())}, most=3)
    listed.unlink()
    yield bench.row(samples, _MANY, _ONE, Goal(wall=round(1 / _RATE, 2)), f"{blogs} blogs; seconds for 1,000 requests")


def fleet_memory(bench: Bench) -> Iterator[Row]:
    """Measure the memory for 500 concurrent blogs and for a ledger of a million blogs; slow."""
    blogs, at_once = bench.size(1_000_000, 200), bench.size(500, 20)
    seconds = bench.size(60_000, 1_000) / 1000
    with serving(BLOG, "--latency=0.3", "--platform=equal") as service, TemporaryDirectory(dir=bench.place) as place:
        root = Path(place) / "fleet"
        listed = write_list(Path(place) / "blogs.txt", blogs)
        # A separate run whose deadline is past reads the list, because the next run should measure only backups.
        first = run(fleet_run(service.base_url, listed, root, "--deadline", "2001-01-01", "-q"), _SOME)
        until = datetime.now(UTC) + timedelta(seconds=seconds + first.wall)
        deadline = ("--deadline", until.isoformat(), "--at-once", at_once, "--concurrency", 256, "-q")
        sample = run(fleet_run(service.base_url, listed, root, *deadline), _SOME)
    note = f"{at_once} blogs at once, {blogs:,} in the ledger, for {seconds:g} s; {sample.json['requests']:,} requests"
    goal = Goal() if bench.small else Goal(peak_mb=300)
    yield Row("memory of fleet run", "", None, None, sample.wall, sample.cpu, sample.peak, goal, note)
    yield Row("reading the list", "", None, None, first.wall, first.cpu, first.peak, goal, f"{blogs:,} lines")


def fleet_forecast(bench: Bench) -> Iterator[Row]:
    """Measure the forecast made after a fifth of the blogs against the real time; the blogs differ in size."""
    blogs, at_once = bench.size(600, 60), bench.size(50, 8)
    with (
        serving(BLOG, f"--latency={_LATENCY}", "--platform=varied") as service,
        TemporaryDirectory(dir=bench.place) as place,
    ):
        root = Path(place) / "fleet"
        listed = write_list(Path(place) / "blogs.txt", blogs)
        options = ("--at-once", at_once, f"--concurrency={_CONCURRENCY}", "-q")
        with ThreadPoolExecutor() as pool:
            running = pool.submit(run, fleet_run(service.base_url, listed, root, *options))
            promised = math.nan
            while not running.done():
                time.sleep(0.2)
                promised = _promised(root, blogs) if math.isnan(promised) else promised
        sample = running.result()
    took = sample.json["seconds"]
    error = abs(promised / took - 1)
    yield Row(
        "forecast when a fifth is done", "the time it took", 1 + error, None, sample.wall, sample.cpu, sample.peak,
        Goal() if bench.small else Goal(wall=1.1), f"{blogs} blogs: {promised:.0f} s promised, {took:.0f} s taken",
    )  # fmt: skip


def _promised(root: Path, blogs: int) -> float:
    """Return the seconds that a run will take by its forecast, or NaN before a fifth of the blogs is done."""
    try:
        found = overview(root, time.time())
    except BlogExporterError:
        return math.nan
    run, saved = found["run"], found["blogs"]["saved"]
    if run is None or run["forecast"] is None or saved < _EARLY * blogs:
        return math.nan
    return float(run["seconds"] + run["forecast"]["seconds"])
