"""``python -m benchmarks.assets``: pictures into an archive, against ``curl --parallel`` into a folder.

Both read the same list from the same server on loopback, in turns. curl only writes files; the archive's way also
judges, hashes, and makes each file durable before it gets its name.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Cores, Sample, measure

_MIB = 1024 * 1024
_MOST_MEMORY = 150 * _MIB
_CURL, _OURS = "curl --parallel", "blog-exporter assets"


@contextmanager
def _serving(size: int) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.pictures", f"--bytes={size}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


def _curl(base_url: str, folder: Path, pictures: int, concurrency: int) -> list[str]:
    listed = folder.with_suffix(".list")
    lines = (f'url="{base_url}/{at}.png"\noutput="{folder}/{at}.png"\n' for at in range(pictures))
    listed.write_text("".join(lines), encoding="utf-8")
    config = shlex.quote(str(listed))
    options = f"--silent --no-progress-meter --parallel --parallel-max {concurrency} --create-dirs --config {config}"
    return ["sh", "-c", f"curl {options} && echo '{{\"requests\": {pictures}}}'"]


def _ours(base_url: str, folder: Path, pictures: int, concurrency: int) -> list[str]:
    options = [f"--pictures={pictures}", f"--concurrency={concurrency}"]
    return [sys.executable, "-m", "benchmarks.client_assets", base_url, str(folder), *options]


def compare(pictures: int, size: int, concurrency: int, rounds: int) -> dict[str, list[Sample]]:
    """Let both read all pictures ``rounds`` times, in turns, each round begun by the other."""
    samples: dict[str, list[Sample]] = {_CURL: [], _OURS: []}
    ways = [(_CURL, _curl), (_OURS, _ours)]
    with _serving(size) as base_url, TemporaryDirectory() as place:
        for turn in range(rounds):
            for name, way in ways if turn % 2 else reversed(ways):
                folder = Path(place) / f"{turn}-{name.split()[0]}"
                samples[name].append(measure(way(base_url, folder, pictures, concurrency), Cores().client))
                shutil.rmtree(folder)
    return samples


def main() -> int:
    """Measure, print, and return 1 when the memory is not flat."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    samples = compare(given.pictures, given.bytes, given.concurrency, given.rounds)
    print(f"{given.pictures} pictures of {given.bytes} bytes, {given.concurrency} at a time, {given.rounds} rounds")
    for name, all_of in samples.items():
        wall, peak = median(each.wall for each in all_of), max(each.peak for each in all_of)
        print(f"{name:22}{wall:8.2f} s wall{median(each.cpu for each in all_of):8.2f} s CPU{peak / _MIB:8.0f} MiB peak")
    ratios = [ours.wall / curl.wall for ours, curl in zip(samples[_OURS], samples[_CURL], strict=True)]
    print(f"ratio to curl: {median(ratios):.2f} ({min(ratios):.2f} - {max(ratios):.2f})")
    flat = max(each.peak for each in samples[_OURS]) < _MOST_MEMORY
    print(f"memory under {_MOST_MEMORY / _MIB:.0f} MiB: {'yes' if flat else 'NO'}")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
