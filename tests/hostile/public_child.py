"""Back up a public blog in a process of its own, and print its result and its memory as JSON."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import exporter
from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.reader import is_archive
from exporter.crawl.events import SourceNotes
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind
from exporter.settings import resolve


def peak_megabytes() -> int:
    """Return this process's peak; unlike ``ru_maxrss``, it does not begin with that of the parent."""
    found = re.search(r"VmHWM:\s+([0-9]+) kB", Path("/proc/self/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) // 1024


async def main(origin: str, root: Path, rules: str) -> None:
    wanted = resolve(
        {
            "base_url": origin, "service": "public-site", "page_rules": rules, "rate": "10000", "assets": "none",
            "retries": "1", "give_up_after": "20s", "max_body": "64MB",
        },
        environ={},
    )  # fmt: skip
    notes: list[str] = []
    error = ""
    async with exporter.open_service("b.example", wanted) as opened:
        run = exporter.backup(root, opened, wanted)
        try:
            async for event in run:
                if isinstance(event, SourceNotes):
                    notes += event.notes
        except BlogExporterError as failed:
            error = str(failed)
    ids = list(Archive.open(root).state().ids(Kind.ENTRIES)) if is_archive(Layout(root)) else []
    found = {
        "exit_code": run.outcome.exit_code,
        "error": error,
        "notes": notes,
        "problems": [str(problem.reason) for problem in run.outcome.problems],
        "entries": ids,
        "memory_mb": peak_megabytes(),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
