"""``python -m benchmarks`` runs all measurements, ``python -m benchmarks site starts`` only the named ones.

It prints one table. The results of all measurements are stored in ``results.md``, with the ratios of a short form that
uses small blogs. ``--check`` runs only the short form and fails if a ratio is more than a quarter above the stored one;
``--record`` stores new ratios, the median of three runs.
"""

from __future__ import annotations

import compileall
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import exporter
from benchmarks import (
    capturing,
    conversion,
    copies,
    crawl,
    exports,
    fleet,
    fleet_work,
    history,
    kept,
    real,
    scale,
    search,
    site,
    starts,
    throttle,
)
from benchmarks.measure import Bench
from benchmarks.table import RESULTS, Row, recorded, table, write_results

Measure = Callable[[Bench], Iterator[Row]]

MEASURES: dict[str, Measure] = {
    "starts": starts.starts,
    "crawl": crawl.crawl,
    "real": real.real,
    "unchanged": crawl.unchanged,
    "pictures": crawl.pictures,
    "history": history.history,
    "copies": copies.copies,
    "site": site.site,
    "exports": exports.exports,
    "conversion": conversion.conversion,
    "search": search.search,
    "clients": crawl.clients,
    "latency": crawl.latency,
    "throttle": throttle.throttle,
    "fleet": fleet.fleet,
    "capture": capturing.capture,
    "capture-latency": capturing.capture_latency,
}
"""The measurements that run by default."""
BY_NAME: dict[str, Measure] = {
    "large": crawl.large,
    "kept": kept.kept,
    "fleet-sites": fleet_work.fleet_sites,
    "fleet-sites-dask": fleet_work.fleet_sites_by_dask,
    "fleet-memory": fleet.fleet_memory,
    "fleet-forecast": fleet.fleet_forecast,
}
"""Slow measurements, which run only if they are named."""
SHORT = (
    "starts", "crawl", "real", "unchanged", "history", "copies", "site", "exports", "conversion", "search", "capture",
)  # fmt: skip
"""The measurements of the short form."""
_WORST = 1.25
_RECORDED_TIMES = 3
_SHORT_ROUNDS = 3


def measured(bench: Bench, names: Iterable[str]) -> Iterator[Row]:
    """Measure and yield the rows."""
    for name in names:
        begun = time.monotonic()
        yield from {**MEASURES, **BY_NAME}[name](bench)
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def fallen_behind(rows: Iterable[Row], known: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Return the CPU ratios that are too far above the recorded ones, divided by the recorded ones."""
    found = {(row.name, row.against): row.cpu for row in rows if row.cpu is not None}
    return {key: cpu / known[key] for key, cpu in found.items() if key in known and cpu > _WORST * known[key]}


def check(bench: Bench, names: Sequence[str]) -> int:
    """Run the short form; a measurement that is too slow runs a second time and fails only if it is slow again."""
    known = recorded()
    late: dict[tuple[str, str], float] = {}
    for name in names:
        rows = list(measured(bench, [name]))
        print("\n".join(table(rows)), flush=True)
        if fallen_behind(rows, known):
            again = fallen_behind(measured(bench, [name]), known)
            late |= {key: again[key] for key in fallen_behind(rows, known) if key in again}
    for (name, against), times in late.items():
        print(f"{name}, against {against}: {times:.2f} times the CPU that {RESULTS.name} has", file=sys.stderr)
    return 1 if late else 0


def medians(bench: Bench) -> list[Row]:
    """Run the short form several times, and return its rows with the median of each ratio."""
    runs = [list(measured(bench, SHORT)) for _ in range(_RECORDED_TIMES)]
    return [
        row[0] if row[0].cpu is None else replace(row[0], cpu=median(each.cpu for each in row if each.cpu is not None))
        for row in zip(*runs, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["scale"]:
        return scale.main(given[1:])
    parser = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MEASURE", help=", ".join([*MEASURES, *BY_NAME]))
    parser.add_argument("--rounds", type=int, help="how often each runs (5, in the short form 3)")
    parser.add_argument("--large", action="store_true", help="also a blog of a million comments, which takes long")
    parser.add_argument("--small", action="store_true", help="small blogs, for a look at whether all works")
    parser.add_argument("--check", action="store_true", help="compare the short form with what is kept")
    parser.add_argument("--record", action="store_true", help="keep the short form's ratios as they are now")
    options = parser.parse_args(given)
    unknown = set(options.names) - {*MEASURES, *BY_NAME}
    if unknown:
        parser.error(f"there is no measure {', '.join(sorted(unknown))}")
    compileall.compile_dir(Path(exporter.__path__[0]), quiet=1)
    with TemporaryDirectory(prefix="bench-") as folder:
        short = Bench(options.rounds or _SHORT_ROUNDS, Path(folder), small=True)
        if options.check:
            return check(short, options.names or SHORT)
        if options.record:
            write_results(None, medians(short))
            return 0
        bench = short if options.small else Bench(options.rounds or 5, Path(folder))
        names = [*(options.names or MEASURES), *(["large"] if options.large else [])]
        rows = list(measured(bench, names))
        print("\n".join(table(rows)))
        if not options.names and not options.small:
            write_results(rows, medians(short), bench.missing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
