"""A run in a separate process that a test kills: ``python -m tests.crawl.assets.killed ARCHIVE ADDRESS COUNT``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from exporter.crawl.assets.plan import AssetSettings
from tests.crawl.assets.web import Blog


def blog_with(root: Path, address: str, count: int) -> Blog:
    blog = Blog(root)
    for number in range(count):
        blog.entry(number, f'<img src="{address}/{number}.png">')
    return blog


SETTINGS = AssetSettings("https://blog.example.jp/", allow_private_network=True)


if __name__ == "__main__":
    asyncio.run(blog_with(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])).backup(SETTINGS))
