"""``python -m benchmarks scale``: the days, machines, bytes, requests and money for a million blogs.

Without options it prints the answers and writes them into ``docs/scale.md``, from the costs in ``scale.toml``.
``--record`` measures these costs again, in some minutes. ``--check`` backs up 2,000 blogs, prints the predicted and the
measured numbers, and stores both in ``scale.toml``. Other options change the question (``--blogs``, ``--rate``, prices
...); then the answers are only printed.
"""

from __future__ import annotations

import os
import platform
import shutil
import tomllib
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.fleet import fleet_run, write_list
from benchmarks.kept import Taken
from benchmarks.measure import Sample, ours, run, serving
from benchmarks.scale_model import Costs, Line, Wishes, requests_of, simulate, size_of
from benchmarks.scale_page import Prices, page, plain

INPUTS: Final = Path(__file__).with_name("scale.toml")
PAGE: Final = Path(__file__).parent.parent / "docs" / "scale.md"
ASKED: Final = Wishes(
    blogs=1_000_000, entries=100, varied=True, rate=160, concurrency=32, latency=0.1, at_once=100, crawlers=1,
    failing=0.02, gap=60, pause_every=300, pause=3,
)  # fmt: skip
"""The fleet for which the page gives answers."""
CHECKED: Final = Wishes(blogs=2_000, entries=20, varied=True, rate=inf, concurrency=16, latency=0.1, at_once=100)
"""The fleet for the real run."""
_NOT_ALL = 3
_TRIED = ((20, 120), (100, 60))
_LEDGER = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer, check or record."""
    parser = ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--record", action="store_true", help="measure the costs anew")
    parser.add_argument("--check", action="store_true", help="save blogs for real, and compare with what is predicted")
    for name, default in (asdict(ASKED) | asdict(Prices())).items():
        if name != "varied":
            option = f"--{name.replace('_', '-')}"
            kind = str if isinstance(default, str) else int if isinstance(default, int) else float
            parser.add_argument(option, type=kind, default=default, help=f"[default: {default}]")
    options = vars(parser.parse_args(arguments))
    wishes = replace(ASKED, **{name: options[name] for name in asdict(ASKED) if name in options})
    prices = Prices(**{name: options[name] for name in asdict(Prices())})
    if options["record"]:
        save({**load(), "recorded": record()})
    if options["check"]:
        save({**load(), "check": check(costs_of(load()))})
    inputs = load()
    text = page(wishes, prices, costs_of(inputs), inputs)
    print("\n".join(plain(text)))
    if (wishes, prices) == (ASKED, Prices()):
        PAGE.write_text(text, encoding="utf-8")
    return 0


def current_page() -> str:
    """Return the current text of ``docs/scale.md``."""
    inputs = load()
    return page(ASKED, Prices(), costs_of(inputs), inputs)


def load(path: Path | None = None) -> dict[str, Any]:
    """Read the inputs."""
    return tomllib.loads((path or INPUTS).read_text("utf-8"))


def save(inputs: dict[str, Any], path: Path | None = None) -> None:
    """Write the inputs, below the comments at the start of the file."""
    file = path or INPUTS
    comments = [line for line in file.read_text("utf-8").splitlines() if line.startswith("#")] if file.exists() else []
    tables = [
        [f"[{table}]", *(f"{name} = {_toml(each)}" for name, each in members.items())]
        for table, members in inputs.items()
    ]
    file.write_text("\n\n".join("\n".join(lines) for lines in [comments, *tables] if lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_toml(each)}' for name, each in value.items())} }}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def costs_of(inputs: dict[str, Any]) -> Costs:
    """Return the recorded costs."""
    fields: dict[str, Any] = {}
    for name, each in inputs["recorded"].items():
        if name in Costs.__dataclass_fields__:
            fields[name] = Line(**each) if isinstance(each, dict) else each
    return Costs(**fields)


def taken_on() -> dict[str, Any]:
    """Return the date, the machine and its load for the record of a measurement."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return {"on": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine, "load": round(os.getloadavg()[0], 1)}


def record() -> dict[str, Any]:
    """Measure the costs for blogs of two sizes and derive the costs of a blog and of an entry."""
    found: dict[str, list[float]] = {}
    peaks: list[float] = []
    said = taken_on()
    with TemporaryDirectory(prefix="bench-scale-") as folder:
        place = Path(folder)
        started = run(ours("--help")).cpu
        for entries, blogs in _TRIED:
            root = place / str(entries)
            with serving(size_of(entries), "--platform=equal") as service:
                listed = write_list(place / "blogs.txt", blogs)
                sample = run(fleet_run(service.base_url, listed, root, "--at-once", 20, "-q"))
            amounts = _processed(root, place, sample.cpu - started, started)
            for name, amount in amounts.items():
                found.setdefault(name, []).append(amount / blogs)
        sizes = [entries for entries, _ in _TRIED]
        lines = {name: _line(sizes, values) for name, values in found.items()}
        lines["crawl"] = _line([requests_of(each) for each in sizes], found["crawl"])
        for at_once in (20, 220):
            with serving(size_of(20), "--latency=0.3", "--platform=equal") as service:
                listed = write_list(place / "blogs.txt", 2 * at_once)
                options = ("--at-once", at_once, "--concurrency", 64, "-q")
                peaks.append(run(fleet_run(service.base_url, listed, place / f"m{at_once}", *options)).peak)
        each = (peaks[1] - peaks[0]) / 200
        listed = write_list(place / "blogs.txt", _LEDGER)
        past = ("--deadline", "2001-01-01", "-q")
        read = run(fleet_run("http://127.0.0.1:9", listed, place / "ledger", *past), {_NOT_ALL})
        ledger_bytes = sum(path.stat().st_size for path in (place / "ledger").glob("fleet.sqlite*"))
    files = lines.pop("archive_files")
    return {
        **said,
        **lines,
        "archive_files": round(files["blog"] + 100 * files["each"]),
        "crawler_bytes": round(peaks[0] - 20 * each),
        "under_way_bytes": round(each),
        "ledger_bytes": ledger_bytes / _LEDGER,
        "ledger_seconds": (read.cpu - started) / _LEDGER,
    }


def _line(sizes: Sequence[float], values: Sequence[float]) -> dict[str, float]:
    each = max(0.0, (values[1] - values[0]) / (sizes[1] - sizes[0]))
    return {"blog": max(0.0, values[0] - each * sizes[0]), "each": each}


def _processed(root: Path, place: Path, crawl: float, started: float) -> dict[str, float]:
    """Process a fleet in all ways, and return the total costs of all its blogs."""
    archives = [Taken.by(each) for each in root.glob("??/*")]
    verify = run(ours("fleet", "verify", root, "--workers", 1, "-q"))
    catalogue = place / f"{root.name}.sqlite"
    listed = run(ours("fleet", "catalogue", "sqlite", root, catalogue, "--workers", 1, "-q"))
    site = run(ours("fleet", "site", root, "--workers", 1, "-q"))
    sites = [Taken.by(each / "latest" / "site") for each in root.glob("??/*")]
    return {
        "crawl": crawl,
        "archive_bytes": sum(each.on_disk for each in archives),
        "archive_files": sum(each.files for each in archives),
        "site": site.cpu - started,
        "site_bytes": sum(each.on_disk for each in sites),
        "verify": verify.cpu - started,
        "catalogue": listed.cpu - started,
        "catalogue_bytes": catalogue.stat().st_size,
    }


def check(costs: Costs) -> dict[str, Any]:
    """Predict a run, make it, and return both."""
    said = taken_on()
    entries = CHECKED.entries
    with (
        TemporaryDirectory(prefix="bench-scale-") as folder,
        serving(size_of(entries), f"--latency={CHECKED.latency}", "--platform=varied") as service,
    ):
        root = Path(folder) / "fleet"
        listed = write_list(Path(folder) / "blogs.txt", CHECKED.blogs)
        options = ("--at-once", CHECKED.at_once, "--concurrency", CHECKED.concurrency, "-q")
        sample = run(fleet_run(service.base_url, listed, root, *options))
        taken = sum(Taken.by(each).on_disk for each in root.glob("??/*"))
        shutil.rmtree(root)
    return {**said, **compared(costs, sample, taken)}


def compared(costs: Costs, sample: Sample, taken: int) -> dict[str, Any]:
    """Return the predicted and the measured numbers of the real run together."""
    run_of = simulate(CHECKED, costs)
    predicted = {
        "seconds": run_of.seconds,
        "requests": run_of.requests,
        "cpu_seconds": run_of.cpu,
        "archive_bytes": CHECKED.blogs * costs.archive_bytes.of(CHECKED.entries),
        "memory_bytes": costs.crawler_bytes + CHECKED.at_once * costs.under_way_bytes,
    }
    measured = (sample.json["seconds"], sample.json["requests"], sample.cpu, taken, sample.peak)
    return {
        name: {"predicted": float(each), "measured": float(real)}
        for (name, each), real in zip(predicted.items(), measured, strict=True)
    }
