"""Markdown made from bodies, compared with other converters, all of which lose more than this one."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator

from benchmarks import PEERS, SCRIPTS
from benchmarks.content import body
from benchmarks.measure import Bench, Steps
from benchmarks.table import Row

_OURS, _FLOOR = "Markdown of bodies", "a tree of each body"


def conversion(bench: Bench) -> Iterator[Row]:
    """Measure the conversion alone, each converter with the same bodies in a separate process."""
    chance = random.Random(2)
    bodies = [body(chance).replace("@id@", str(number)) for number in range(bench.size(2_000, 300))]
    script = str(SCRIPTS / "convert.py")
    with bench.memory() as folder:
        path = folder / "bodies.jsonl"
        path.write_text("".join(f"{json.dumps(each)}\n" for each in bodies), encoding="utf-8")
        steps: Steps = {
            _OURS: [sys.executable, script, "ours", str(path)],
            _FLOOR: [sys.executable, script, "parse", str(path)],
        }
        for tool in ("markdownify", "html-to-markdown"):
            if bench.peer(tool, str(PEERS / "bin" / "python")) is not None:
                steps[tool] = [str(PEERS / "bin" / "python"), script, tool, str(path)]
        node = bench.peer("turndown", "node")
        if node is not None and (SCRIPTS / "node_modules").is_dir():
            steps["turndown"] = [node, str(SCRIPTS / "turndown.mjs"), str(path)]
        samples = bench.turns(steps)
    for sample in (each for taken in samples.values() for each in taken):
        if int(sample.said) != len(bodies):
            raise RuntimeError("a converter left bodies out")
    for name in samples:
        if name != _OURS:
            yield bench.row(samples, _OURS, name)
