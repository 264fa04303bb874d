"""The API of one blog, through an engine of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from exporter.http.engine import Engine
from exporter.model.assumptions import DEFAULT, Assumptions
from exporter.service.blog_v1 import BlogApi


@asynccontextmanager
async def open_api(
    base_url: str, blog_id: str, *, assume: Assumptions = DEFAULT, **given: Any
) -> AsyncIterator[BlogApi]:
    """Yield it; ``given`` are arguments of its client."""
    async with Engine() as engine:
        yield BlogApi(engine.client(base_url, **given), blog_id, assume)
