"""Requests that are sent to a WordPress, and the meaning of its answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from exporter.errors import ApiError, NotAuthorised, RetryableStatus
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.wordpress import RestRefusal, WordPressApi, application_password, open_wordpress
from tests.move.home import Home, running_home
from tests.wordpress.fake import LOGIN


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with running_home() as running:
        yield running


@pytest.fixture
async def api(home: Home) -> AsyncIterator[WordPressApi]:
    async with Engine() as engine:
        client = engine.client(home.url, application_password(*LOGIN), policy=RetryPolicy(retries=0))
        yield await open_wordpress(client)


async def nothing() -> None:
    """Find no record that was made."""


def answers(home: Home, response: web.Response) -> None:
    home.refuse_write = lambda _route, _fields: response


async def test_fields_arrive_as_json_with_the_requested_fields_of_the_answer(home: Home, api: WordPressApi) -> None:
    got: list[Any] = []
    home.refuse_write = lambda route, fields: got.append((route, fields))
    made = await api.send("wp/v2/categories", {"name": "海", "slug": "umi"}, {"_fields": "id"}, nothing)
    assert isinstance(made, dict)
    assert made["name"] == "海"
    assert got == [("wp/v2/categories", {"name": "海", "slug": "umi"})]
    request = home.service.seen[-1]
    assert (request.headers["Content-Type"], request.query["_fields"]) == ("application/json", "id")


async def test_a_refusal_has_a_code_a_text_and_data(home: Home, api: WordPressApi) -> None:
    body = {"code": "term_exists", "message": "There\x07 already.", "data": {"term_id": 7}}
    answers(home, web.json_response(body, status=400))
    refused = await api.send("wp/v2/categories", {}, {})
    assert refused == RestRefusal("term_exists", "There\\x07 already.", {"term_id": 7})


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ("<p>Firewall", RestRefusal("", "answered 403 with something that is not WordPress' own", {})),
        ("[]", RestRefusal("", "answered 403 with something that is not WordPress' own", {})),
        (json.dumps({"code": 1, "data": []}), RestRefusal("", "answered 403", {})),
    ],
)
async def test_a_proxy_may_refuse_too(home: Home, api: WordPressApi, body: str, refusal: RestRefusal) -> None:
    answers(home, web.Response(status=403, text=body))
    assert await api.send("wp/v2/posts", {}, {}) == refusal


async def test_a_revoked_password_ends_the_move(home: Home, api: WordPressApi) -> None:
    answers(home, home.refuse(401, "rest_cannot_create"))
    with pytest.raises(NotAuthorised):
        await api.send("wp/v2/posts", {}, {})


async def test_a_broken_server_is_no_refusal_of_a_file(home: Home, api: WordPressApi) -> None:
    answers(home, home.refuse(500, "rest_upload_sideload_error", "Not of this kind."))
    refused = await api.upload({}, "a.svg", "image/svg+xml", b"<svg/>", nothing)
    assert isinstance(refused, RestRefusal)
    assert refused.message == "Not of this kind."
    for response in (home.refuse(500, "internal_server_error"), web.Response(status=500, text="<p>Oops")):
        answers(home, response)
        with pytest.raises(RetryableStatus):
            await api.upload({}, "a.png", "image/png", b"png", nothing)


async def test_an_answer_of_another_shape_is_refused(home: Home, api: WordPressApi) -> None:
    answers(home, web.json_response([], status=201))
    with pytest.raises(ApiError, match="the answer is not an object"):
        await api.send("wp/v2/posts", {}, {})


async def test_deleting_what_is_gone_is_fine(home: Home, api: WordPressApi) -> None:
    answers(home, home.refuse(404, "rest_post_invalid_id"))
    await api.delete("wp/v2/posts/7")
    assert home.service.seen[-1].query["force"] == "true"
