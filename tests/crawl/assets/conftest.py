from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.crawl.assets.web import Blog, Web, running_web


@pytest.fixture
async def served() -> AsyncIterator[Web]:
    async with running_web() as running:
        yield running


@pytest.fixture
def blog(tmp_path: Path) -> Blog:
    return Blog(tmp_path / "blog")
