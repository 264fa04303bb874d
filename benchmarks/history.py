"""``python -m benchmarks.history``: what ten years of nightly versions cost, against ten versions of the same blog.

Every command is measured as a whole process, in turns on both archives; the ratios are medians over pairs of turns.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.history_archive import build
from benchmarks.history_blog import BLOG_ID, HistorySize, add_options
from benchmarks.history_rivals import Taken, compare, rivals
from benchmarks.history_service import running_service
from benchmarks.measure import Cores, Cost, Sample, run
from exporter.archive.archive import Archive
from exporter.model.kinds import Kind

_MIB = 1024 * 1024
_MOST_TIMES_FEW = 1.2
_MOST_SECONDS = 1.0
_JUDGED = ("backup, no change", "log")
_SHOW = "show --at"
Pairs = dict[str, list[tuple[Sample, Sample]]]


@dataclass(frozen=True, slots=True)
class Place:
    """One archive to measure: where it is and which versions it has."""

    root: Path
    versions: int

    def shown(self) -> list[int]:
        """Return the versions to look at: first, two in between, the middle, last."""
        return sorted({1, *(max(1, round(self.versions * part)) for part in (0.137, 0.5, 0.811, 1.0))})

    def commands(self, base_url: str) -> dict[str, list[str]]:
        """Return the commands to compare."""
        backup = ["backup", BLOG_ID, f"--archive={self.root}", f"--base-url={base_url}", "--assets=embedded"]
        made = {
            "backup, no change": [*backup, "--quiet", "--json"],
            "log": ["log", str(self.root)],
            "log --json": ["log", str(self.root), "--json"],
            "status": ["status", str(self.root)],
            "verify --quick": ["verify", str(self.root), "--quick"],
        }
        return {name: _program(*arguments) for name, arguments in made.items()}

    def longest_unchanged(self) -> str:
        """Return the entry whose newest state is the oldest, the one that takes longest to find."""
        state = Archive.open(self.root).state()
        entries = state.kinds[Kind.ENTRIES]
        _, record_id = min((entries.version(row), record_id) for record_id, row in entries.ordered())
        state.close()
        return record_id

    def show(self, entry_id: str, at: int, *form: str) -> list[str]:
        """Return the command that shows an entry as it was."""
        return _program("show", str(self.root), "entry", entry_id, f"--at={at}", *form)


def _program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "exporter", *arguments]


def settle(places: Sequence[Place], base_url: str, cores: Cores) -> None:
    """Let a backup make ``latest/`` of each archive.

    Raises:
        RuntimeError: it found a change, so that what follows would measure something else.
    """
    for place in places:
        _, said = run(place.commands(base_url)["backup, no change"], cores.client)
        if json.loads(said)["outcome"] != "unchanged":
            raise RuntimeError(f"the service does not hold the newest state of {place.root}")


def measure_pairs(many: Place, few: Place, base_url: str, cores: Cores, rounds: int) -> Pairs:
    """Run each command on both archives in turns, each round begun by the other."""
    pairs: Pairs = {}
    for name, command in many.commands(base_url).items():
        other = few.commands(base_url)[name]
        run(command, cores.client), run(other, cores.client)
        for turn in range(rounds):
            samples = [run(each, cores.client)[0] for each in ((command, other) if turn % 2 else (other, command))]
            first, second = samples if turn % 2 else reversed(samples)
            pairs.setdefault(name, []).append((first, second))
    return pairs


def measure_show(place: Place, cores: Cores, rounds: int) -> dict[str, list[Sample]]:
    """Show the entry that takes longest as of several versions, as JSON and as Markdown with its comments."""
    samples: dict[str, list[Sample]] = {}
    entry_id = place.longest_unchanged()
    for _ in range(rounds):
        for at in place.shown():
            for form in ("--json", "--markdown"):
                name = f"{_SHOW} {at} {form}"
                samples.setdefault(name, []).append(run(place.show(entry_id, at, form), cores.client)[0])
    return samples


def ratio(pairs: Sequence[tuple[Sample, Sample]], cost: Cost) -> float:
    """Return how many times as much the first of each pair costs: the median."""
    return median(_of(one, cost) / _of(two, cost) for one, two in pairs)


def _of(sample: Sample, cost: Cost) -> float:
    return sample.wall if cost == "wall" else sample.cpu


def pairs_table(pairs: Pairs, many: Place, few: Place) -> list[str]:
    """Return the lines of the table of commands."""
    heading = "".join(f"{f'{place.versions:,} versions':>22}" for place in (many, few))
    columns = f"{'wall s':>13}{'CPU s':>9}"
    lines = [f"{'':20}{heading}", f"{'':20}{columns}{columns}{'wall ×':>9}{'CPU ×':>8}"]
    for name, taken in pairs.items():
        cells = "".join(
            f"{median(pair[side].wall for pair in taken):>13.3f}{median(pair[side].cpu for pair in taken):>9.3f}"
            for side in (0, 1)
        )
        lines.append(f"{name:20}{cells}{ratio(taken, 'wall'):>9.2f}{ratio(taken, 'cpu'):>8.2f}")
    return lines


def show_table(samples: dict[str, list[Sample]]) -> list[str]:
    """Return a line for each version shown."""
    return [
        f"{name:30}{median(each.wall for each in taken):>9.3f} s wall{median(each.cpu for each in taken):>9.3f} s CPU"
        for name, taken in samples.items()
    ]


def sizes_table(taken: dict[str, list[Taken]], nights: int) -> list[str]:
    """Return a line for each program: sizes after the first night and after all, and what each later night added."""
    lines = [f"{'':12}{'first MB':>10}{'all MB':>10}{'on disk MB':>12}{'files':>8}{'kB a night':>12}"]
    for name, (first, last) in taken.items():
        added = (last.bytes - first.bytes) / (nights - 1) / 1000
        lines.append(
            f"{name:12}{first.bytes / _MIB:>10.2f}{last.bytes / _MIB:>10.2f}{last.on_disk / _MIB:>12.2f}"
            f"{last.files:>8,}{added:>12.2f}"
        )
    return lines


def verdicts(pairs: Pairs, shown: dict[str, list[Sample]]) -> list[str]:
    """Return a line for each target, and whether it is met."""
    lines = [
        _verdict(found <= _MOST_TIMES_FEW, f"{name}: {found:.2f} times as long, at most {_MOST_TIMES_FEW:g} wanted")
        for name in _JUDGED
        if (found := ratio(pairs[name], "wall"))
    ]
    slowest = max(median(sample.wall for sample in taken) for taken in shown.values())
    text = f"show --at: {slowest:.2f} s for the slowest version, at most {_MOST_SECONDS:g} wanted"
    return [*lines, _verdict(slowest <= _MOST_SECONDS, text)]


def _verdict(met: bool, text: str) -> str:
    return f"{'met   ' if met else 'MISSED'}  {text}"


def options_of(arguments: Sequence[str] | None) -> Namespace:
    """Read the command line."""
    parser = ArgumentParser(prog="python -m benchmarks.history", description=__doc__)
    add_options(parser)
    parser.add_argument("--few", type=int, default=10, help="versions of the archive compared with (%(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="how often each command runs (%(default)s)")
    parser.add_argument(
        "--kept", type=int, default=100, help="nights given to restic and git too, at least 2, 0 for none (%(default)s)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 when a target is missed."""
    options = options_of(arguments)
    size, cores = HistorySize.of(options), Cores.of_this_machine()
    print(f"{size.nights:,} nights, {size.entries:,} entries in the end, {options.rounds} rounds", flush=True)
    with TemporaryDirectory(prefix="history-") as folder:
        many, few = (Place(Path(folder) / str(count), count) for count in (size.nights, options.few))
        for place in (many, few):
            taken = Taken.by(build(place.root, size, place.versions).versions)
            print(
                f"versions/ of {place.versions:,}: {taken.bytes / _MIB:.1f} MB in {taken.files:,} files, "
                f"{taken.on_disk / _MIB:.1f} MB on disk",
                flush=True,
            )
        with running_service(size, cores.service) as base_url:
            settle((many, few), base_url, cores)
            pairs = measure_pairs(many, few, base_url, cores, options.rounds)
        print("\n".join(pairs_table(pairs, many, few)), flush=True)
        shown = measure_show(many, cores, options.rounds)
        print("\n".join(show_table(shown)), flush=True)
    if options.kept:
        with TemporaryDirectory(prefix="history-") as folder:
            kept = compare(Path(folder), size, options.kept, rivals())
        print(f"the last {options.kept:,} nights' records kept by each:")
        print("\n".join(sizes_table(kept, options.kept)), flush=True)
    said = verdicts(pairs, shown)
    print("\n".join(said))
    return 1 if any(line.startswith("MISSED") for line in said) else 0


if __name__ == "__main__":
    sys.exit(main())
