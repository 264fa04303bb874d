"""``python -m benchmarks``: a whole backup against clients that read the same addresses and do less.

Every client is a process of its own that reads the very same addresses from the same service; they take turns, and
what is printed are medians and the ratios of each round, so that a machine that is busy now and then is fair to all.
"""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.blog_size import BLOG_ID, BlogSize, add_options, addresses
from benchmarks.measure import Cores, Cost, Sample, measure, running_service

_MIB = 1024 * 1024
_BARE = "aiohttp, bare"
_TIGHT = "aiohttp, tight script"
_OURS = "blog-exporter backup"
_THREADS = "requests, threads"
_SERIAL = "requests, one by one"
_HEADING = (
    f"{'':22}{'requests':>9}{'wall s':>8}{'(least - most)':>18}{'CPU s':>8}{'µs/request':>12}"
    f"{'wall ×':>8}{'CPU ×':>8}{'peak MB':>9}"
)
_CRAWL_ONLY = ("--no-markdown", "--no-site", "--assets=none")
_MOST_TIMES_BARE = 2.0
_LEAST_TIMES_FASTER = 2.0
_MOST_MEMORY = 150 * _MIB
_LARGE = 10


@dataclass(frozen=True, slots=True)
class Bench:
    """What all measurements of a run share."""

    concurrency: int
    cores: Cores
    folder: Path

    def commands(self, base_url: str, size: BlogSize, turn: int) -> dict[str, list[str]]:
        """Return each client's command; ``turn`` gives the ones that write a new place every time."""
        shared = [base_url, *size.options()]
        busy = [*shared, f"--concurrency={self.concurrency}"]
        out = self.folder / f"records-{turn}.jsonl"
        return {
            _BARE: [*_module("benchmarks.client_bare"), *busy],
            _TIGHT: [*_module("benchmarks.client_tight"), *busy, f"--out={out}"],
            _OURS: self.backup(base_url, turn),
            _THREADS: [*_module("benchmarks.client_requests"), *busy],
            _SERIAL: [*_module("benchmarks.client_requests"), *shared, "--concurrency=1"],
        }

    def backup(self, base_url: str, turn: int) -> list[str]:
        """Return the command of a first backup into a new archive, without views."""
        archive = self.folder / f"archive-{turn}"
        options = [f"--archive={archive}", f"--base-url={base_url}", f"--concurrency={self.concurrency}"]
        return [*_module("exporter"), "backup", BLOG_ID, *options, *_CRAWL_ONLY, "--json", "--quiet"]

    def clear(self) -> None:
        """Remove what a client wrote, so that the next one finds as much free memory for its files."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", name]


def compare(bench: Bench, size: BlogSize, rounds: int) -> dict[str, list[Sample]]:
    """Let every client read a blog of that size ``rounds`` times in turns, each round begun by another client."""
    samples: dict[str, list[Sample]] = {}
    with running_service(size, bench.cores.service) as base_url:
        for turn in range(rounds):
            order = list(bench.commands(base_url, size, turn).items())
            at = turn % len(order)
            for name, command in order[at:] + order[:at]:
                samples.setdefault(name, []).append(measure(command, bench.cores.client))
                bench.clear()
    return samples


def back_up_once(bench: Bench, size: BlogSize) -> Sample:
    """Back up a blog of that size once, for its memory."""
    with running_service(size, bench.cores.service) as base_url:
        return measure(bench.backup(base_url, -1), bench.cores.client)


def table(samples: dict[str, list[Sample]]) -> list[str]:
    """Return the lines of the table; ratios are medians over the rounds, per request, against the bare loop."""
    lines = [_HEADING]
    for name, taken in samples.items():
        walls = [sample.wall for sample in taken]
        requests = taken[0].requests
        lines.append(
            f"{name:22}{requests:>9,}{median(walls):>8.2f}{f'({min(walls):.2f} - {max(walls):.2f})':>18}"
            f"{median(sample.cpu for sample in taken):>8.2f}{median(walls) / requests * 1e6:>12.0f}"
            f"{ratio(samples, name, _BARE, 'wall'):>8.2f}{ratio(samples, name, _BARE, 'cpu'):>8.2f}"
            f"{max(sample.peak for sample in taken) / _MIB:>9.0f}"
        )
    return lines


def ratio(samples: dict[str, list[Sample]], name: str, other: str, cost: Cost) -> float:
    """Return how many times as much a request costs with one client as with another: the median over the rounds."""
    return median(
        one.per_request(cost) / two.per_request(cost) for one, two in zip(samples[name], samples[other], strict=True)
    )


def verdicts(samples: dict[str, list[Sample]], peaks: dict[str, int]) -> list[str]:
    """Return a line for each target, and whether it is met."""
    bare = ratio(samples, _OURS, _BARE, "wall")
    faster = min(ratio(samples, name, _OURS, "wall") for name in (_THREADS, _SERIAL))
    lines = [
        _verdict(bare <= _MOST_TIMES_BARE, f"{bare:.2f} times the bare loop, at most {_MOST_TIMES_BARE:g} wanted"),
        _verdict(
            faster >= _LEAST_TIMES_FASTER, f"{faster:.2f} times as fast as requests, {_LEAST_TIMES_FASTER:g} wanted"
        ),
    ]
    for what, peak in peaks.items():
        text = f"{peak / _MIB:.0f} MB at the peak with {what}, at most {_MOST_MEMORY // _MIB} wanted"
        lines.append(_verdict(peak <= _MOST_MEMORY, text))
    return lines


def _verdict(met: bool, text: str) -> str:
    return f"{'met   ' if met else 'MISSED'}  {text}"


def options_of(arguments: Sequence[str] | None) -> Namespace:
    """Read the command line."""
    parser = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add_options(parser)
    parser.add_argument("--rounds", type=int, default=5, help="how often each client runs (%(default)s)")
    parser.add_argument("--concurrency", type=int, default=8, help="requests at a time (%(default)s)")
    parser.add_argument(
        "--large",
        type=int,
        default=_LARGE,
        help="measure memory at so many times the size too, 0 for not (%(default)s)",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = options_of(arguments)
    size = BlogSize.of(options)
    cores = Cores.of_this_machine()
    pinned = "not pinned" if cores.client is None else f"service on core {cores.service}, clients on {cores.client}"
    count = sum(1 for _ in addresses(size))
    print(f"{size}: {count:,} requests, {options.concurrency} at a time, {options.rounds} rounds, {pinned}", flush=True)
    with TemporaryDirectory(prefix="bench-") as folder:
        bench = Bench(options.concurrency, cores, Path(folder))
        samples = compare(bench, size, options.rounds)
        print("\n".join(table(samples)), flush=True)
        peaks = {str(size): max(sample.peak for sample in samples[_OURS])}
        if options.large:
            large = size.times(options.large)
            sample = back_up_once(bench, large)
            peaks[str(large)] = sample.peak
            print(f"{large}: {sample.requests:,} requests, {sample.wall:.1f} s, {sample.cpu:.1f} s of CPU")
    print("\n".join(verdicts(samples, peaks)))
    return 0
