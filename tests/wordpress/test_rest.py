"""The REST API is found, its lists are read completely, and its refusals are reported."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from exporter.errors import ApiError, BadBody, NotAuthorised, ServiceError
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.wordpress import WordPressApi, application_password, open_wordpress
from tests.wordpress.fake import LOGIN, FakeWordPress, running_wordpress

ONCE = RetryPolicy(retries=0, give_up_after=60.0)
OWNER = application_password(*LOGIN)
NOBODY = Credentials()


async def opened(engine: Engine, home: FakeWordPress, credentials: Credentials = NOBODY) -> WordPressApi:
    return await open_wordpress(engine.client(home.url, credentials, policy=ONCE))


async def titles(api: WordPressApi, **params: str) -> list[str]:
    return [post["title"]["rendered"] async for page in api.pages("wp/v2/posts", params) for post in page.items]


@pytest.mark.parametrize("pretty", [True, False])
async def test_all_pages_of_a_list_are_read_in_order(pretty: bool) -> None:
    async with running_wordpress() as home, Engine() as engine:
        home.pretty = pretty
        for number in range(731):
            home.post(f"No. {number}", "")
        api = await opened(engine, home)
        assert bool(api.root) is pretty
        assert await titles(api) == [f"No. {number}" for number in range(731)]
        first = await api.page("wp/v2/posts", {}, 1)
        assert (first.total, first.pages) == (731, 8)


@pytest.mark.parametrize("count", [0, 1, 100, 101])
async def test_short_lists_end(count: int) -> None:
    async with running_wordpress() as home, Engine() as engine:
        for number in range(count):
            home.post(str(number), "")
        assert len(await titles(await opened(engine, home))) == count


@pytest.mark.parametrize("said", ["1", "0", "two", "99999999"])
async def test_a_full_page_is_not_the_last_one_but_a_repeated_page_is(said: str) -> None:
    async with running_wordpress() as home, Engine() as engine:
        for number in range(250):
            home.post(str(number), "")
        reply = home.reply
        home.reply = lambda route, answer, **headers: reply(  # type: ignore[method-assign]
            route, answer, **{"X-WP-TotalPages": said} if headers else {}
        )
        assert len(await titles(await opened(engine, home))) == 250
        answer = home.answer

        async def always_the_first(request: web.Request) -> web.StreamResponse:
            return await answer(request.clone(rel_url=request.rel_url.update_query(page="1")))

        home.service.handler = always_the_first
        assert len(await titles(await opened(engine, home))) == 100
        assert len(home.service.seen) < 20


async def test_a_list_ends_regardless_of_its_headers() -> None:
    async with running_wordpress() as home, Engine() as engine:
        for number in range(250):
            home.post(str(number), "")
        reply = home.reply

        def lying(route: str, answer: Any, **headers: str) -> web.Response:
            return reply(route, answer, **{"X-WP-Total": "-1", "X-WP-TotalPages": "99999999999999"} if headers else {})

        home.reply = lying  # type: ignore[method-assign]
        assert len(await titles(await opened(engine, home))) == 250


async def test_an_application_password_shows_private_posts() -> None:
    async with running_wordpress() as home, Engine() as engine:
        home.post("open", "")
        home.post("kept", "", status="draft")
        assert await titles(await opened(engine, home, OWNER), status="publish,draft") == ["open", "kept"]
        stranger = await opened(engine, home)
        assert await titles(stranger) == ["open"]
        with pytest.raises(ApiError, match=r"\(rest_invalid_param\)"):
            await titles(stranger, status="publish,draft")


async def test_a_wrong_password_is_reported_and_not_shown() -> None:
    async with running_wordpress() as home, Engine() as engine:
        with pytest.raises(NotAuthorised, match="check the user name, the application password") as refused:
            await opened(engine, home, application_password("owner", "wrong words"))
        assert "wrong" not in str(refused.value)


async def test_a_site_without_wordpress_is_reported() -> None:
    async with running_wordpress() as home, Engine() as engine:
        client = engine.client(home.url + "/elsewhere", policy=ONCE)
        home.change = lambda route, _answer: {"namespaces": "wp/v2"} if route == "" else []
        with pytest.raises(ServiceError, match="has no WordPress REST API"):
            await open_wordpress(client)

        async def page(_: web.Request) -> web.StreamResponse:
            return web.Response(text="<p>A page", content_type="text/html")

        home.service.handler = page
        with pytest.raises(ServiceError, match="has no WordPress REST API"):
            await open_wordpress(client)


async def test_answers_of_another_shape_are_refused() -> None:
    async with running_wordpress() as home, Engine() as engine:
        api = await opened(engine, home, OWNER)
        assert (await api.get("wp/v2/users/me"))["name"] == "owner"
        home.change = lambda _route, _answer: {"posts": []}
        with pytest.raises(ApiError, match="the answer is not a list"):
            await titles(api)

        async def nothing(_: web.Request) -> web.StreamResponse:
            return web.Response(body=b"", content_type="application/json")

        home.service.handler = nothing
        with pytest.raises((BadBody, ServiceError), match="empty body"):
            await titles(api)
