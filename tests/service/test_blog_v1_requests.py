"""The five operations, all the way over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from exporter.errors import ApiError, BadBody, NotAuthorised, RedirectRefused, RetryableStatus, Unreachable, UsageError
from exporter.http.credentials import Credentials
from exporter.http.deadline import Timeouts
from exporter.http.engine import Client, Engine
from exporter.http.retry import RetryEvent, RetryPolicy
from exporter.lossless_json import IntegerText, freeze
from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.service.blog_v1 import DEFAULT, BlogV1, Options, whole_number
from exporter.service.interface import EntryAnswer, Page, Validators, WrongRecord
from tests.http.service import Service, envelope, ok, raw_service, read_head

BLOG = "sample.blog.example"
QUICK = RetryPolicy(retries=3, base=0.002, ceiling=0.004)


LISTS = (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)


class Api:
    """Sends a service's calls as a crawl does."""

    def __init__(self, client: Client, assume: Options = DEFAULT) -> None:
        self.client = client
        self.service = BlogV1(assume)

    async def entry(self, entry_id: str, validators: Validators | None = None) -> EntryAnswer:
        return await self.client.fetch(*self.service.entry_call(BLOG, entry_id, validators))

    async def page(self, kind: Kind, number: int = 1) -> Page:
        return await self.client.fetch(*self.service.pages(kind, BLOG, ()).call(number), probe=True)

    async def user(self) -> dict[str, Any]:
        return await self.client.fetch(*self.service.user_call())


@asynccontextmanager
async def open_api(url: str, assume: Options = DEFAULT, **given: Any) -> AsyncIterator[Api]:
    async with Engine() as engine:
        yield Api(engine.client(url, **given), assume)


@pytest.fixture
async def api(service: Service) -> AsyncIterator[Api]:
    async with open_api(service.url, policy=QUICK) as opened:
        yield opened


# Entries


async def test_an_entry_is_asked_for_by_blog_and_id(service: Service, api: Api) -> None:
    service.answers(lambda: ok({"entry_id": "42", "unknown": None}))
    answer = await api.entry("42")
    assert answer.data == {"entry_id": "42", "unknown": None}
    assert answer.validators == Validators()
    request = service.seen[0]
    assert (request.method, request.path, dict(request.query)) == (
        "GET",
        "/blog/v1/entry/get",
        {"id": BLOG, "entry_id": "42"},
    )


@pytest.mark.parametrize("entry_id", ["007", "a&b=c", "日記", "../x", "%2e", "", " 1 "])
async def test_an_entry_id_is_sent_as_given(service: Service, api: Api, entry_id: str) -> None:
    service.answers(lambda: ok({"entry_id": entry_id or "none"}))
    with contextlib.suppress(WrongRecord):  # an empty id is answered with another one
        await api.entry(entry_id)
    assert service.seen[0].query["entry_id"] == entry_id
    assert service.seen[0].path == "/blog/v1/entry/get"


async def test_an_entry_keeps_data_that_plain_parsing_loses(service: Service, api: Api) -> None:
    text = '{"entry_id":"1","a":1,"a":2,"n":1.10,"emoji":"\\ud83d"}'
    service.answers(lambda: web.Response(text='{"json":{"result":"ok","message":"","data":' + text + "}}"))
    data = (await api.entry("1")).data
    assert freeze(data).data.decode() == text


async def test_an_unchanged_entry_is_not_sent_again(service: Service, api: Api) -> None:
    async def conditional(request: web.Request) -> web.StreamResponse:
        if request.headers.get("If-None-Match") == '"v1"':
            return web.Response(status=304)
        return ok({"entry_id": "1"}, ETag='"v1"', Last_Modified="ignored", **{"Last-Modified": "Sat, 31 Jan 2026"})

    service.handler = conditional
    first = await api.entry("1")
    assert first.validators == Validators('"v1"', "Sat, 31 Jan 2026")
    again = await api.entry("1", first.validators)
    assert again.data is None
    assert again.validators == first.validators
    assert service.seen[1].headers["If-Modified-Since"] == "Sat, 31 Jan 2026"


async def test_nothing_is_asked_conditionally_without_validators(service: Service, api: Api) -> None:
    service.answers(lambda: web.Response(status=304))
    for validators in (None, Validators(), Validators("\u65e5", "a\r\nX: y")):
        with pytest.raises(ApiError, match="answered 304"):
            await api.entry("1", validators)
    assert not any("If-None-Match" in request.headers for request in service.seen)
    assert not any("If-Modified-Since" in request.headers for request in service.seen)


def test_validators_that_cannot_be_sent_back_are_not_kept() -> None:
    assert Validators.of(Response(200, {"etag": '"\udce9"', "last-modified": "a\tb"}, b"")) == Validators()


# Lists


def paging(**numbers: Any) -> dict[str, Any]:
    return {"list": [{"entry_id": "1"}, 5, None], "paging": numbers}


async def test_a_page_of_the_entry_list(service: Service, api: Api) -> None:
    service.answers(lambda: ok(paging(prev_no=None, next_no=3, page_no=2, all_page="15")))
    page = await api.page(Kind.ENTRY_LIST, 2)
    assert page == Page([{"entry_id": "1"}, 5, None], echo=2, next=3, pages=15)
    assert service.seen[0].path == "/blog/v1/entry/list"
    assert dict(service.seen[0].query) == {"id": BLOG, "page": "2"}


async def test_a_page_of_the_comment_list(service: Service, api: Api) -> None:
    service.answers(lambda: ok(paging(next_no=None, page_no=1, all_page=1)))
    assert await api.page(Kind.COMMENTS) == Page([{"entry_id": "1"}, 5, None], echo=1, pages=1)
    assert service.seen[0].path == "/blog/v1/comment/list"


@pytest.mark.parametrize("wrong", [None, [], "x", 5])
async def test_a_list_without_a_paging_object_says_so(service: Service, api: Api, wrong: Any) -> None:
    service.answers(lambda: ok({"list": [], "paging": wrong}))
    assert await api.page(Kind.COMMENTS) == Page([])


async def test_a_page_of_the_file_list(service: Service, api: Api) -> None:
    summary = {"filenum": "131", "totalsize": "9000", "max_size": "x"}
    service.answers(lambda: ok({"list": [{"file_id": "1"}], "page": 1, "limit": 20, "summary": summary}))
    page = await api.page(Kind.FILES)
    assert page == Page([{"file_id": "1"}], echo=1, page_size=20, total=131, total_size=9000)
    assert service.seen[0].path == "/blog/v1/file/list"


@pytest.mark.parametrize("summary", [None, [], "131"])
async def test_a_file_list_without_a_summary(service: Service, api: Api, summary: Any) -> None:
    service.answers(lambda: ok({"list": [], "page": "x", "limit": None, "summary": summary}))
    assert await api.page(Kind.FILES) == Page([])


@pytest.mark.parametrize("items", [None, {}, "x"])
async def test_an_invalid_list_is_an_api_error(service: Service, api: Api, items: Any) -> None:
    service.answers(lambda: ok({"list": items}))
    for kind in LISTS:
        with pytest.raises(ApiError, match=r"`data.list` is not a list"):
            await api.page(kind)


async def test_every_page_parameter_can_be_set(service: Service) -> None:
    service.answers(lambda: ok({"list": []}))
    assume = Options(entry_list_page_param="p", comment_list_page_param="q", file_list_page_param="r")
    async with open_api(service.url, assume=assume) as api:
        await api.page(Kind.ENTRY_LIST)
        await api.page(Kind.COMMENTS, 2)
        await api.page(Kind.FILES, 3)
    assert [dict(request.query) for request in service.seen] == [
        {"id": BLOG, "p": "1"},
        {"id": BLOG, "q": "2"},
        {"id": BLOG, "r": "3"},
    ]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        ("12", 12),
        (" -3 ", -3),
        (2.0, 2),
        (2.5, None),
        (float("nan"), None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ("", None),
        ("1e3", None),
        ("9" * 19, None),
        (IntegerText("9" * 18), None),
        (10**30, 10**30),
        ("١٢", None),
        ([], None),
    ],
)
def test_numbers_are_read_from_numbers_and_digits(value: Any, number: int | None) -> None:
    assert whole_number(value) == number


@pytest.mark.parametrize(
    ("value", "amount"), [("7", 7), (7, 7), ("0", 0), ("-7", -7), ("", None), (None, None), ([], None), ("x", None)]
)
def test_amounts_are_read_from_list_items(value: object, amount: int | None) -> None:
    service = BlogV1()
    assert service.amount(Kind.ENTRY_LIST, {"comment_count": value, "file_size": "1"}) == amount
    assert service.amount(Kind.FILES, {"comment_count": "1", "file_size": value}) == amount


# The user


async def test_the_user(service: Service, api: Api) -> None:
    service.answers(lambda: web.json_response({"id": "0af3", "nickname": "さくら"}))
    assert await api.user() == {"id": "0af3", "nickname": "さくら"}
    assert service.seen[0].raw_path == "/v1/user"


# Credentials


async def test_credentials_go_with_every_request_and_into_no_error(service: Service) -> None:
    service.answers(
        lambda: ok({"entry_id": "1"}, ETag='"v1"'),
        lambda: ok({"entry_id": "1"}),
        lambda: ok({"list": []}),
        lambda: web.Response(body=envelope({}, "ng", "no s3cret!"), status=400),
    )
    async with open_api(service.url, credentials=Credentials("s3cret")) as api:
        answer = await api.entry("1")
        await api.entry("1", answer.validators)
        await api.page(Kind.FILES)
        with pytest.raises(ApiError) as caught:
            await api.user()
    assert [request.headers["Authorization"] for request in service.seen] == ["Bearer s3cret"] * 4
    assert "s3cret" not in str(caught.value) + caught.value.body


async def test_credentials_never_reach_another_origin(service: Service) -> None:
    heads = []

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_head(reader))

    async with raw_service(other) as elsewhere:
        service.answers(lambda: web.Response(status=307, headers={"Location": elsewhere}))
        credentials = Credentials("s3cret", header="X-Api-Key", scheme="")
        async with open_api(service.url, credentials=credentials, policy=QUICK) as api:
            with pytest.raises(RedirectRefused):
                await api.user()
    assert heads == []
    assert len(service.seen) == 1


# Failures and retries, over the wire


async def test_failures_are_retried_and_counted(service: Service) -> None:
    service.answers(
        lambda: web.Response(status=503),
        lambda: web.Response(text="<html>maintenance</html>", content_type="text/html"),
        lambda: web.Response(body=b""),
        lambda: ok({"entry_id": "1"}),
    )
    events: list[RetryEvent] = []
    async with open_api(service.url, policy=QUICK, on_retry=events.append) as api:
        assert (await api.entry("1")).data == {"entry_id": "1"}
        statistics = api.client.statistics
    assert (statistics.requests, statistics.retries) == (4, 3)
    assert statistics.bytes > len(envelope({"entry_id": "1"}))
    assert ["503" in event.reason or "HTML" in event.reason or "empty" in event.reason for event in events] == [
        True
    ] * 3


async def test_a_truncated_answer_is_asked_for_again() -> None:
    whole = envelope({"entry_id": "1"})
    requests = 0

    async def first_cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await read_head(reader)
        requests += 1
        body = whole[:-9] if requests == 1 else whole
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)

    async with raw_service(first_cut) as url, open_api(url, policy=QUICK) as api:
        assert (await api.entry("1")).data == {"entry_id": "1"}
    assert requests == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_is_not_tried_again(service: Service, api: Api, status: int) -> None:
    service.answers(lambda: web.Response(status=status))
    with pytest.raises(NotAuthorised, match="BLOG_EXPORTER_TOKEN"):
        await api.entry("1")
    assert len(service.seen) == 1


async def test_a_wrong_base_url_that_answers_html_is_named(service: Service, api: Api) -> None:
    service.answers(lambda: web.Response(text="<!doctype html>", content_type="text/html"))
    with pytest.raises(BadBody, match="is the base URL right"):
        await api.page(Kind.ENTRY_LIST)
    assert len(service.seen) == 4


async def test_a_mistyped_port_is_reported_soon() -> None:
    async with open_api("http://127.0.0.1:1", policy=QUICK) as api:
        with pytest.raises(Unreachable):
            await api.page(Kind.ENTRY_LIST)
        assert api.client.statistics.requests == 4


async def test_one_broken_entry_fails_because_the_list_still_answers(service: Service, api: Api) -> None:
    async def broken_entries(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500) if request.path.endswith("get") else ok({"list": []})

    service.handler = broken_entries
    await api.page(Kind.ENTRY_LIST)
    with pytest.raises(RetryableStatus):
        await api.entry("1")
    assert [request.path.rsplit("/", 2)[1] for request in service.seen] == ["entry"] * 6
    assert service.seen[-1].path.endswith("list")


async def test_the_number_of_requests_at_a_time_is_bounded(service: Service) -> None:
    now = most = 0

    async def slow(request: web.Request) -> web.StreamResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return ok({"entry_id": request.query["entry_id"]})

    service.handler = slow
    async with open_api(service.url, concurrency=3) as api:
        await asyncio.gather(*(api.entry(str(number)) for number in range(12)))
    assert most == 3


async def test_waiting_for_a_turn_does_not_count_as_the_services_time(service: Service) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.25)
        return ok({"entry_id": request.query["entry_id"]})

    service.handler = slow
    timeouts = Timeouts(connect=2.0, read=2.0, total=2.0)
    async with open_api(service.url, concurrency=1, timeouts=timeouts) as api:
        await asyncio.gather(*(api.entry(str(number)) for number in range(10)))
        assert api.client.statistics.retries == 0


@pytest.mark.parametrize("arguments", [{"concurrency": 0}, {"rate": -1.0}])
async def test_impossible_limits_are_refused_before_a_session_is_made(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        async with open_api("http://127.0.0.1:1", **arguments):
            pass


async def test_an_impossible_base_url_is_refused() -> None:
    with pytest.raises(UsageError, match="base URL"):
        async with open_api("api.example"):
            pass


def test_the_options_match_the_document() -> None:
    assert (DEFAULT.success_result, DEFAULT.comment_page_size, DEFAULT.file_page_size) == ("ok", 20, 20)
    assert DEFAULT.entry_list_page_param == DEFAULT.comment_list_page_param == DEFAULT.file_list_page_param == "page"
