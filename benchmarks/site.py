"""``python -m benchmarks.site`` makes the offline site of a blog of any size, beside other makers of sites.

Hugo, Pelican (with ``--pelican``, its program) and a plain loop over a template are given the same entries and comments
in the same run. They make pages and lists of them; they neither clean what they are given, nor make data for a search,
nor know of a history.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Sample, run
from benchmarks.site_rivals import write_hugo, write_pelican

_MIB = 1024 * 1024
_OURS = "site, first"
_AGAIN = "site, nothing changed"
_EDITED = "site, one entry changed"
_MOST = {_OURS: ("CPU", 12.0), _AGAIN: ("CPU", 1.0)}
_MOST_MEMORY = 300 * _MIB
_MOST_FILES = 20


class Bench:
    """One run: an archive, and a folder for what is made of it."""

    def __init__(self, folder: Path, options: Namespace) -> None:
        self.folder = folder
        self.archive = folder / "archive"
        self.entries = options.entries
        self.pelican: Path | None = options.pelican
        self.made: dict[str, int] = {}

    def first(self) -> Sample:
        """Make an archive of two versions anew, and its whole site."""
        shutil.rmtree(self.archive, ignore_errors=True)
        self._archive("--entries", str(self.entries))
        return self._site(_OURS)

    def again(self) -> Sample:
        """Make the site when it is there already."""
        return self._site(_AGAIN)

    def edited(self) -> Sample:
        """Add a version with one changed entry, and bring the site up to date."""
        self._archive("--edits", "1")
        return self._site(_EDITED)

    def jinja(self) -> Sample:
        """Run the plain loop."""
        out = self.folder / "jinja"
        cost, _ = run([*_module("benchmarks.client_jinja"), str(self.archive), str(out)], None)
        self.made["plain Jinja2 loop"] = _files(out)
        shutil.rmtree(out)
        return cost

    def hugo(self) -> Sample:
        """Run Hugo."""
        folder = self.folder / "hugo"
        return self._rival("Hugo", write_hugo(self.archive, folder), folder, "public")

    def pelicans(self) -> Sample:
        """Run Pelican."""
        assert self.pelican is not None
        folder = self.folder / "pelican"
        return self._rival("Pelican", write_pelican(self.archive, folder, self.pelican), folder, "output")

    def _rival(self, name: str, command: list[str], folder: Path, out: str) -> Sample:
        cost, _ = run(command, None)
        self.made[name] = _files(folder / out)
        shutil.rmtree(folder)
        return cost

    def _site(self, what: str) -> Sample:
        cost, said = run([*_module("exporter"), "site", str(self.archive), "--json"], None)
        self.made[what] = int(json.loads(said)["files_made"])
        return cost

    def _archive(self, *options: str) -> None:
        run([*_module("benchmarks.site_archive"), str(self.archive), *options], None)


def measured(bench: Bench, rounds: int) -> dict[str, list[Sample]]:
    """Run everything ``rounds`` times in turns."""
    steps: dict[str, Callable[[], Sample]] = {_OURS: bench.first, _AGAIN: bench.again, _EDITED: bench.edited}
    steps["plain Jinja2 loop"] = bench.jinja
    if shutil.which("hugo"):
        steps["Hugo"] = bench.hugo
    if bench.pelican is not None:
        steps["Pelican"] = bench.pelicans
    samples: dict[str, list[Sample]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            samples[name].append(step())
    return samples


def table(samples: dict[str, list[Sample]], made: dict[str, int]) -> Iterator[str]:
    """Yield a line for each maker: medians of the seconds, the highest peak, and how many files were written."""
    yield f"{'':24}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}{'files':>8}"
    for name, taken in samples.items():
        wall, cpu = median(each.wall for each in taken), median(each.cpu for each in taken)
        yield f"{name:24}{wall:>8.2f}{cpu:>8.2f}{max(each.peak for each in taken) / _MIB:>9.0f}{made[name]:>8,}"


def verdicts(samples: dict[str, list[Sample]], made: dict[str, int]) -> Iterator[str]:
    """Yield a line for each target, and whether it is met."""
    for name, (what, most) in _MOST.items():
        found = median(each.cpu for each in samples[name])
        yield _verdict(found <= most, f"{name}: {found:.2f} s of {what}, at most {most:g} wanted")
    peak = max(each.peak for each in samples[_OURS])
    text = f"{_OURS}: {peak / _MIB:.0f} MB at the peak, at most {_MOST_MEMORY // _MIB} wanted"
    yield _verdict(peak <= _MOST_MEMORY, text)
    text = f"{_EDITED}: {made[_EDITED]} files written, fewer than {_MOST_FILES} wanted"
    yield _verdict(made[_EDITED] < _MOST_FILES, text)


def _verdict(met: bool, text: str) -> str:
    return f"{'met   ' if met else 'MISSED'}  {text}"


def _files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", name]


def main() -> int:
    """Measure and print."""
    parser = ArgumentParser(prog="python -m benchmarks.site", description=__doc__)
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pelican", type=Path, metavar="PROGRAM")
    options = parser.parse_args()
    print(f"{options.entries:,} entries, {2 * options.entries:,} comments, {options.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        bench = Bench(Path(folder), options)
        samples = measured(bench, options.rounds)
    print("\n".join([*table(samples, bench.made), *verdicts(samples, bench.made)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
