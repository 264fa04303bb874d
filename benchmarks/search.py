"""The first search and later ones, compared with reading a file with the same texts, folded beforehand."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import SCRIPTS
from benchmarks.exports import make_archive
from benchmarks.measure import Bench, Sample, Steps, ours, run
from benchmarks.table import Row
from exporter import lossless_json
from exporter.archive.layout import Layout
from exporter.search.folding import fold

_WORD = "100枚目"
_SCAN = "brute scan"


def search(bench: Bench) -> Iterator[Row]:
    """Measure a search that must read the archive, and the next one."""
    with bench.memory() as folder:
        archive, texts = folder / "archive", folder / "texts"
        make_archive(archive, bench.size(10_000, 1_000))
        _write_folded(Layout(archive), texts)
        command = ours("search", archive, _WORD, "--quiet")

        def first() -> Sample:
            shutil.rmtree(Layout(archive).work)
            return run(command)

        first()
        scan = [sys.executable, str(SCRIPTS / "scan.py"), str(texts), _WORD]
        # The first search must come before the later one in every round.
        steps: Steps = {_SCAN: scan, "search, first": first, "search, later": command}
        samples = bench.turns(steps)
    for name in list(steps)[1:]:
        yield bench.row(samples, name, _SCAN)


def _write_folded(layout: Layout, texts: Path) -> None:
    with texts.open("w", encoding="utf-8") as file:
        for line in (layout.latest / "entries.jsonl").read_bytes().splitlines():
            entry = lossless_json.loads(line)["data"]
            file.write(fold(f"{entry['title']} {entry['entry_text']}").replace("\n", " ") + "\n")
