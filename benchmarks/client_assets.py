"""Reading pictures the way a backup does: ``python -m benchmarks.client_assets URL FOLDER --pictures 5000``."""

from __future__ import annotations

import asyncio
import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from exporter.archive.assets import AssetStore
from exporter.archive.layout import Layout
from exporter.clock import SystemClock
from exporter.crawl.assets.run import AssetRun, AssetSettings
from exporter.http.engine import Engine
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE


class Records:
    """A blog with one entry for each picture."""

    def __init__(self, base_url: str, pictures: int) -> None:
        self._base_url = base_url
        self._pictures = pictures

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the entries' ids; there is nothing else."""
        return [str(number) for number in range(self._pictures if kind is Kind.ENTRIES else 0)]

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return something that tells the entries apart."""
        return f"{kind} {record_id}".encode()

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return an entry."""
        body = f'<p>文</p><img src="{self._base_url}/{record_id}.png">'
        return {"entry_text": body} if kind is Kind.ENTRIES else None

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the entries."""
        for record_id in self.ids(kind):
            yield record_id, self.load(kind, record_id) or {}


async def _run(base_url: str, folder: Path, pictures: int, concurrency: int) -> int:
    layout = Layout(folder)
    settings = AssetSettings(base_url, allow_private_network=True, concurrency=concurrency)
    records = Records(base_url, pictures)
    async with Engine(per_host=concurrency) as engine:
        run = AssetRun(
            DEFAULT_SERVICE,
            records,
            AssetStore(layout),
            layout.work / "assets.jsonl",
            settings,
            engine,
            SystemClock(),
        )
        result = await run.run()
    assert (result.read, result.absent) == (pictures, [])
    return result.statistics.requests


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=8)
    given = parser.parse_args()
    print(json.dumps({"requests": asyncio.run(_run(given.base_url, given.folder, given.pictures, given.concurrency))}))
