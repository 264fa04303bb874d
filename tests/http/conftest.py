from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from exporter.http import direct
from tests.http.clocks import JumpClock
from tests.http.service import Service, running_service


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with running_service() as running:
        yield running


@pytest.fixture
def clock() -> JumpClock:
    return JumpClock()


@pytest.fixture(params=["direct", "usual"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have clients send requests the short way, and again through aiohttp's session."""
    if request.param == "usual":
        monkeypatch.setattr(direct, "KNOWN_VERSIONS", frozenset())
