from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDictProxy

from tests.support.demo_service import DemoService


@dataclass(frozen=True)
class Answer:
    """A complete answer."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> Any:
        """The payload of a success."""
        assert self.status == 200
        assert self.json["json"].keys() == {"result", "message", "data"}
        assert (self.json["json"]["result"], self.json["json"]["message"]) == ("ok", "")
        return self.json["json"]["data"]


Get = Callable[..., Awaitable[Answer]]


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def get(client: aiohttp.ClientSession) -> Get:
    """Return a function that calls an operation for the first blog: ``await get(service, "entry/get", entry_id=3)``."""

    async def call(
        service: DemoService, operation: str, headers: dict[str, str] | None = None, **params: Any
    ) -> Answer:
        params.setdefault("id", next(iter(service.blogs)))
        given = {name: str(value) for name, value in params.items() if value is not None}
        address = f"{service.base_url}/blog/v1/{operation}"
        async with client.get(address, params=given, headers=headers) as response:
            return Answer(response.status, response.headers, await response.read())

    return call
