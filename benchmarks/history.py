"""The cost of ten years of nightly versions, against ten versions that end in the same blog; and verifying all."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.archives import build
from benchmarks.content import BlogSize
from benchmarks.measure import PLAIN, Bench, Sample, Service, Step, backup, ours, run, serving
from benchmarks.table import Goal, Row

_FEW = 10


def history(bench: Bench) -> Iterator[Row]:
    """Measure commands that should not depend on the number of versions, and ``verify``, which must read them all."""
    nights = bench.size(3_650, 200)
    size = BlogSize(bench.size(2_000, 300), nights + 400, 40)
    with bench.memory() as folder, serving(size) as service:
        many, few = folder / "many", folder / "few"
        for root, versions in ((many, nights), (few, _FEW)):
            build(root, size, versions)
            settle(root, service)
            run(ours("log", root, "--json"))  # reads every manifest once; later ones read those of new versions
        names = {many: f"{nights:,} versions", few: f"{_FEW} versions"}

        def compared(what: str, most: float, step: Callable[[Path], Step | list[str]]) -> Row:
            on_many, on_few = (f"{what}, {name}" for name in names.values())
            samples = bench.turns({f"{what}, {name}": step(root) for root, name in names.items()})
            return bench.row(samples, on_many, on_few, Goal(wall=most))

        yield compared("unchanged backup", 1.1, lambda root: unchanged(root, service))
        yield compared("log", 1.2, lambda root: ours("log", root))
        yield compared("status", 1.2, lambda root: ours("status", root))
        yield from _verified(bench, many, f"verify, {nights:,} versions")
        yield compared("changed backup", 1.1, lambda root: Changed(root, service).run)


def unchanged(root: Path, service: Service) -> list[str]:
    """Return the command of a backup that finds nothing new."""
    return backup(service.base_url, root, ["--refresh=changed", *PLAIN])


class Changed:
    """A backup that finds an edited entry each time."""

    def __init__(self, root: Path, service: Service) -> None:
        self._command = unchanged(root, service)
        self._service = service

    def run(self) -> Sample:
        """Edit the entry and back up."""
        self._service.edit()
        sample = run(self._command)
        if sample.json["outcome"] != "saved":
            raise RuntimeError("the backup found no change")
        return sample


def settle(root: Path, service: Service) -> None:
    """Check with a backup that the service holds the newest state.

    Raises:
        RuntimeError: the backup found a change, so the next measurement would be wrong.
    """
    if run(unchanged(root, service)).json["outcome"] != "unchanged":
        raise RuntimeError(f"the service does not hold the newest state of {root}")


def _verified(bench: Bench, root: Path, name: str) -> Iterator[Row]:
    if bench.peer("sha256sum", "sha256sum", everywhere=True) is None:
        return
    against = "sha256sum of all files"
    find = f"find {shlex.quote(str(root / 'versions'))} -type f -print0 | xargs -0 sha256sum > /dev/null"
    samples = bench.turns({name: ours("verify", root, "--json"), against: ["sh", "-c", find]})
    if not all(json.loads(sample.said)["intact"] for sample in samples[name]):
        raise RuntimeError("the archive is damaged")
    yield bench.row(samples, name, against)
