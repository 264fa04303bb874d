from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.http.clocks import JumpClock
from tests.http.service import Service, running_service


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with running_service() as running:
        yield running


@pytest.fixture
def clock() -> JumpClock:
    return JumpClock()
