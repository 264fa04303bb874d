"""The client over a mocked session: its results for each response, without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from aiohttp import ClientResponse
from aioresponses import aioresponses

from exporter.errors import ApiError
from exporter.http.engine import Engine
from exporter.model.kinds import Kind
from exporter.service.blog_v1 import BlogV1
from exporter.service.interface import Page
from tests.http.service import envelope

BASE = "https://api.example"


class Mockable(ClientResponse):
    """Adds the argument that aiohttp 3.14 requires and aioresponses 0.7.9 does not know."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"stream_writer": Mock(output_size=0), **kwargs})


@pytest.fixture
def mocked() -> Iterator[aioresponses]:
    with aioresponses() as mock:
        yield mock


async def test_an_entry(mocked: aioresponses) -> None:
    mocked.get(
        f"{BASE}/blog/v1/entry/get?id=b.example&entry_id=7", body=envelope({"entry_id": "7"}), response_class=Mockable
    )
    async with Engine() as engine:
        client = engine.client(BASE)
        assert (await client.fetch(*BlogV1().entry_call("b.example", "7"))).data == {"entry_id": "7"}


async def test_a_page_of_comments(mocked: aioresponses) -> None:
    body = envelope({"list": [{"cm_id": "1"}], "paging": {"page_no": 3, "next_no": None, "all_page": 3}})
    mocked.get(f"{BASE}/blog/v1/comment/list?id=b.example&page=3", body=body, response_class=Mockable)
    async with Engine() as engine:
        client = engine.client(BASE)
        page = await client.fetch(*BlogV1().pages(Kind.COMMENTS, "b.example", ()).call(3))
    assert page == Page([{"cm_id": "1"}], echo=3, pages=3)


async def test_a_failure(mocked: aioresponses) -> None:
    mocked.get(f"{BASE}/v1/user", status=404, body=envelope(None, "ng", "nobody"), response_class=Mockable)
    async with Engine() as engine:
        client = engine.client(BASE)
        with pytest.raises(ApiError, match="user\\? answered 404: nobody"):
            await client.fetch(*BlogV1().user_call())
