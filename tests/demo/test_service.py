"""The sample service follows the API document."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import urllib.request
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from exporter.demo.content import Blog, RawJson, RecordList, fields
from tests.demo.conftest import Get
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog

ENTRY_FIELDS = [
    "blog_id",
    "entry_id",
    "regist_user_id",
    "title",
    "name",
    "category_id",
    "period_flg",
    "open_flg",
    "entry_text",
    "ps_title",
    "ps_text",
    "text_format",
    "cm_receipt_flg",
    "tb_receipt_flg",
    "year",
    "mon",
    "day",
    "hour",
    "min",
    "sec",
    "period_year",
    "period_mon",
    "period_day",
    "period_hour",
    "period_min",
    "period_sec",
    "last_update",
    "template_text",
    "is_private",
]
LIST_FIELDS = [
    "regist_date",
    "entry_id",
    "title",
    "name",
    "open_flg",
    "period_flg",
    "period_date",
    "cm_receipt_flg",
    "tb_receipt_flg",
    "category",
    "comment_count",
    "trackback_count",
]
COMMENT_FIELDS = [
    "regist_date",
    "cm_id",
    "entry_id",
    "name",
    "title",
    "cm_text",
    "delete_flg",
    "url",
    "url_text",
    "res_flg",
]
FILE_FIELDS = [
    "file_id",
    "name",
    "title",
    "explanation",
    "file_size",
    "height",
    "width",
    "user_id",
    "mtime",
    "extension",
]


async def pages(get: Get, service: DemoService, operation: str) -> list[dict[str, Any]]:
    """Follow next_no from the first page and return all items."""
    items: list[dict[str, Any]] = []
    number: int | None = 1
    while number is not None:
        data = (await get(service, operation, page=number)).data
        assert data["paging"]["page_no"] == number
        items += data["list"]
        number = data["paging"]["next_no"]
    return items


async def test_entry_get_answers_the_document_s_record(get: Get) -> None:
    blog = generated_blog(3)
    async with DemoService(blog) as service:
        answer = await get(service, "entry/get", entry_id=2)
    assert list(answer.data) == ENTRY_FIELDS
    assert answer.data == blog.entries[2]
    assert all(isinstance(value, str) for value in answer.data.values())
    assert answer.headers["Content-Type"] == "application/json"
    assert "ETag" not in answer.headers


async def test_entry_list_items_are_derived_from_the_entries(get: Get) -> None:
    blog = generated_blog(3, comments=9, seed=4)
    async with DemoService(blog) as service:
        items = (await get(service, "entry/list")).data["list"]
        for item in items:
            entry = (await get(service, "entry/get", entry_id=item["entry_id"])).data
            assert list(item) == LIST_FIELDS
            for name in ("entry_id", "title", "name", "open_flg", "period_flg", "cm_receipt_flg", "tb_receipt_flg"):
                assert item[name] == entry[name]
            assert item["regist_date"] == f"{entry['year']}/{entry['mon']}/{entry['day']}"
            assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", item["period_date"])
            assert item["category"] == blog.categories[entry["category_id"]]
            assert item["trackback_count"] == "0"
    assert [item["entry_id"] for item in items] == ["3", "2", "1"]
    assert sum(int(item["comment_count"]) for item in items) == 9


async def test_comments_and_files_have_the_document_s_fields(get: Get) -> None:
    async with DemoService(generated_blog(2, comments=2, files=2)) as service:
        comments = (await get(service, "comment/list", page=1)).data
        files = (await get(service, "file/list", page=1)).data
    assert [list(item) for item in comments["list"]] == [COMMENT_FIELDS] * 2
    assert comments.keys() == {"list", "paging"}
    assert [list(item) for item in files["list"]] == [FILE_FIELDS] * 2
    assert files.keys() == {"list", "page", "limit", "summary"}
    assert (files["page"], files["limit"]) == (1, 20)
    size = sum(int(item["file_size"]) for item in files["list"])
    assert files["summary"] == {"filenum": "2", "totalsize": str(size), "max_size": "1073741824"}


async def test_user_has_no_envelope(client: aiohttp.ClientSession) -> None:
    blog = generated_blog(0)
    async with DemoService(blog) as service, client.get(f"{service.base_url}/v1/user") as response:
        assert await response.json() == blog.user
        assert list(fields(blog.user)) == ["id", "nickname"]


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, [0]), (1, [1]), (19, [19]), (20, [20]), (21, [20, 1]), (40, [20, 20])]
)
async def test_every_list_pages_by_twenty(get: Get, count: int, sizes: list[int]) -> None:
    async with DemoService(generated_blog(count, comments=count, files=count)) as service:
        for operation in ("entry/list", "comment/list"):
            for number, size in enumerate(sizes, 1):
                data = (await get(service, operation, page=number)).data
                assert len(data["list"]) == size
                assert data["paging"] == {
                    "prev_no": number - 1 or None,
                    "next_no": number + 1 if number < len(sizes) else None,
                    "page_no": number,
                    "all_page": len(sizes),
                }
        assert [
            len((await get(service, "file/list", page=number)).data["list"]) for number in range(1, len(sizes) + 1)
        ] == sizes


@pytest.mark.parametrize("newest_first", [True, False])
async def test_pages_join_to_everything_in_order(get: Get, newest_first: bool) -> None:
    options = ServiceOptions(entry_page_size=7, comment_page_size=3, file_page_size=4, newest_first=newest_first)
    async with DemoService(generated_blog(23, comments=10, files=9), options) as service:
        entries = [item["entry_id"] for item in await pages(get, service, "entry/list")]
        comments = [item["cm_id"] for item in await pages(get, service, "comment/list")]
        files = [
            item["file_id"] for page in (1, 2, 3) for item in (await get(service, "file/list", page=page)).data["list"]
        ]
        assert (await get(service, "file/list")).data["limit"] == 4
    for ids, count in ((entries, 23), (comments, 10), (files, 9)):
        expected = [str(number) for number in range(1, count + 1)]
        assert ids == (expected[::-1] if newest_first else expected)


async def test_a_new_entry_shifts_the_pages(get: Get) -> None:
    blog = generated_blog(20)
    async with DemoService(blog) as service:
        blog.entries[21] = fields(blog.entries[20]) | {"entry_id": "21"}
        first, second = [(await get(service, "entry/list", page=page)).data for page in (1, 2)]
    assert [first["list"][0]["entry_id"], second["list"][0]["entry_id"]] == ["21", "1"]
    assert second["paging"]["all_page"] == 2


async def test_past_the_end_entries_and_comments_are_empty(get: Get) -> None:
    async with DemoService(generated_blog(21, comments=21)) as service:
        for operation in ("entry/list", "comment/list"):
            data = (await get(service, operation, page=9)).data
            assert data["list"] == []
            assert data["paging"] == {"prev_no": 8, "next_no": None, "page_no": 9, "all_page": 2}


async def test_past_the_end_files_behave_as_configured(get: Get) -> None:
    async with DemoService(generated_blog(0, files=25)) as service:
        last = (await get(service, "file/list", page=2)).data
        assert (await get(service, "file/list", page=3)).data == {**last, "list": [], "page": 3}
        service.options = replace(service.options, past_end="repeat")
        assert (await get(service, "file/list", page=3)).data == {**last, "page": 3}
        service.options = replace(service.options, past_end="404")
        refused = await get(service, "file/list", page=3)
        assert refused.status == 404
        assert refused.json == {"json": {"result": "error", "message": "page is not found", "data": {}}}
        assert (await get(service, "file/list", page=2)).data == last


async def test_no_files_is_one_empty_page_in_every_mode(get: Get) -> None:
    async with DemoService(generated_blog(0)) as service:
        modes: tuple[Any, ...] = ("empty", "repeat", "404")
        for mode in modes:
            service.options = ServiceOptions(past_end=mode)
            data = (await get(service, "file/list", page=1)).data
            assert data["list"] == []
            assert (data["summary"]["filenum"], data["summary"]["totalsize"]) == ("0", "0")


async def test_the_entry_list_s_parameter_has_a_different_name(get: Get) -> None:
    async with DemoService(generated_blog(30), ServiceOptions(entry_page_param="page_no")) as service:
        assert (await get(service, "entry/list", page=2)).data["paging"]["page_no"] == 1
        assert (await get(service, "entry/list", page_no=2)).data["paging"]["page_no"] == 2


async def test_an_entry_list_can_ignore_its_page(get: Get) -> None:
    async with DemoService(generated_blog(30), ServiceOptions(ignore_entry_page=True)) as service:
        first, second = [(await get(service, "entry/list", page=page)).data for page in (1, 2)]
    assert first == second
    assert first["paging"] == {"prev_no": None, "next_no": 2, "page_no": 1, "all_page": 2}


async def test_all_page_of_an_empty_list_can_be_zero(get: Get) -> None:
    async with DemoService(generated_blog(0), ServiceOptions(empty_all_page=0)) as service:
        for operation in ("entry/list", "comment/list"):
            assert (await get(service, operation)).data["paging"]["all_page"] == 0


@pytest.mark.parametrize(
    ("operation", "params", "status", "message"),
    [
        ("entry/get", {"entry_id": 99}, 404, "entry is not found"),
        ("entry/get", {"entry_id": None}, 404, "entry is not found"),
        ("entry/get", {"entry_id": "01"}, 404, "entry is not found"),
        ("entry/get", {"entry_id": 1, "id": "nobody.example.jp"}, 404, "blog is not found"),
        ("entry/list", {"id": "nobody.example.jp"}, 404, "blog is not found"),
        ("comment/list", {"id": None}, 400, "id is required"),
        ("file/list", {"page": 0}, 400, "page is not a page number"),
        ("entry/list", {"page": "two"}, 400, "page is not a page number"),
        ("comment/list", {"page": "-1"}, 400, "page is not a page number"),
        ("comment/list", {"page": "9" * 40}, 400, "page is not a page number"),
    ],
)
async def test_errors_are_envelopes(
    get: Get, operation: str, params: dict[str, Any], status: int, message: str
) -> None:
    async with DemoService(generated_blog(1)) as service:
        params = {"id": next(iter(service.blogs)), **params}
        blank = {name: "" if value is None else value for name, value in params.items()}
        answer = await get(service, operation, **blank)
    assert answer.status == status
    assert answer.json == {"json": {"result": "error", "message": message, "data": {}}}
    assert answer.headers["Content-Type"] == "application/json"


async def test_a_token_is_asked_for_by_all_five_operations(get: Get, client: aiohttp.ClientSession) -> None:
    bearer = {"Authorization": "Bearer himitsu"}
    async with DemoService(generated_blog(1), ServiceOptions(require_token="himitsu")) as service:
        for operation in ("entry/get", "entry/list", "comment/list", "file/list"):
            for headers in (None, {"Authorization": "Bearer other"}, {"Authorization": "himitsu"}):
                refused = await get(service, operation, entry_id=1, headers=headers)
                assert refused.status == 401
                assert refused.headers["WWW-Authenticate"] == "Bearer"
                assert refused.json["json"]["message"] == "authorization is required"
            assert (await get(service, operation, entry_id=1, headers=bearer)).status == 200
        for given, status in ((None, 401), (bearer, 200)):
            async with client.get(f"{service.base_url}/v1/user", headers=given) as response:
                assert response.status == status


async def test_an_etag_saves_the_body_until_the_entry_changes(get: Get) -> None:
    blog = generated_blog(2)
    async with DemoService(blog, ServiceOptions(etag=True)) as service:
        first = await get(service, "entry/get", entry_id=1)
        tag = first.headers["ETag"]
        assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
        for asked in (tag, f"W/{tag}", f'"other", {tag}'):
            again = await get(service, "entry/get", entry_id=1, headers={"If-None-Match": asked})
            assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
        assert (await get(service, "entry/get", entry_id=2, headers={"If-None-Match": tag})).status == 200
        fields(blog.entries[1])["title"] = "かわりました"
        changed = await get(service, "entry/get", entry_id=1, headers={"If-None-Match": tag})
        assert changed.data["title"] == "かわりました"
        assert changed.headers["ETag"] != tag
        assert "ETag" not in (await get(service, "entry/list")).headers


async def test_raw_records_arrive_byte_for_byte(get: Get) -> None:
    raws = {
        1: b'{"entry_id":"1","title":"a","title":"b"}',
        2: b'{ "entry_id": 2, "title": "\\ud83d", "n": 123456789012345678901234567890, "x": NaN, "f": 1.10 }',
        3: b"[1,2]",
        4: b"not json",
    }
    blog = Blog(
        "raw.example.jp",
        RawJson(b'{"id":"x","nickname":null}'),
        entries={key: RawJson(raw) for key, raw in raws.items()},
    )
    blog.comments.append(RawJson(b'{"cm_id":7,"entry_id":"2"}'))
    blog.files.append(RawJson(b'{"file_id":"1","file_size":12}'))
    async with DemoService(blog) as service:
        for key, raw in raws.items():
            body = (await get(service, "entry/get", entry_id=key)).body
            assert body == b'{"json":{"result":"ok","message":"","data":' + raw + b"}}"
        items = (await get(service, "entry/list")).data["list"]
        assert b'{"cm_id":7,"entry_id":"2"}' in (await get(service, "comment/list")).body
        assert (await get(service, "file/list")).data["summary"]["totalsize"] == "12"
    assert [(item["entry_id"], item["title"], item["comment_count"]) for item in items] == [
        ("4", "", "0"),
        ("3", "", "0"),
        (2, "\ud83d", "1"),
        ("1", "b", "0"),
    ]


async def test_odd_list_items_are_sent_unchanged(get: Get) -> None:
    blog = generated_blog(3)
    blog.list_items = {2: None, 3: {"entry_id": 3}, 77: {"entry_id": "77", "title": "listed only"}}
    async with DemoService(blog, ServiceOptions(entry_page_size=2)) as service:
        items = await pages(get, service, "entry/list")
        assert (await get(service, "entry/get", entry_id=2)).status == 200
        assert (await get(service, "entry/get", entry_id=77)).status == 404
        service.options = ServiceOptions(newest_first=False)
        oldest_first = (await get(service, "entry/list")).data["list"]
    assert [item["entry_id"] for item in items] == ["77", 3, "1"]
    assert items[1] == {"entry_id": 3}
    assert oldest_first == items[::-1]


async def test_one_service_serves_several_blogs(get: Get) -> None:
    first, second = generated_blog(1), generated_blog(2, blog_id="second.example.jp")
    async with DemoService(first, None, second) as service:
        service.blogs["third.example.jp"] = generated_blog(0, blog_id="third.example.jp")
        counts = [len((await get(service, "entry/list", id=blog_id)).data["list"]) for blog_id in service.blogs]
    assert counts == [1, 2, 0]


async def test_pictures_are_served_by_the_path_of_their_address(client: aiohttp.ClientSession) -> None:
    blog = generated_blog(0, files=1)
    address, body = next(iter(blog.pictures.items()))
    async with DemoService(blog) as service:
        assert service.local(address) == service.base_url + address.removeprefix("https://files.example.jp")
        file = blog.files[0]
        assert isinstance(file, dict)
        async with client.get(f"{service.base_url}/v1/blog/user/{file['user_id']}/{file['mtime']}") as response:
            assert (response.content_type, await response.read()) == ("image/png", body)
        blog.pictures["https://pictures.example.jp/夏/a b.gif?size=s&x=1"] = b"GIF89a!"
        blog.pictures["https://pictures.example.jp"] = b"\xff\xd8\xffjpeg"
        blog.pictures["https://pictures.example.jp/data"] = b"?"
        for added, kind in zip(
            list(blog.pictures)[1:], ("image/gif", "image/jpeg", "application/octet-stream"), strict=True
        ):
            async with client.get(service.local(added)) as response:
                assert (response.content_type, await response.read()) == (kind, blog.pictures[added])
        del blog.pictures[address]
        for gone in (address, "https://pictures.example.jp/gone.png"):
            async with client.get(service.local(gone)) as response:
                assert (response.status, response.content_type) == (404, "text/html")


async def test_pictures_of_every_blog_are_served(client: aiohttp.ClientSession) -> None:
    blogs = [generated_blog(0, files=1, blog_id=name) for name in ("a.example.jp", "b.example.jp")]
    async with DemoService(blogs[0], None, blogs[1]) as service:
        for blog in blogs:
            for address, body in blog.pictures.items():
                async with client.get(service.local(address)) as response:
                    assert await response.read() == body


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_json_can_be_compressed(get: Get, coding: Any) -> None:
    blog = generated_blog(1)
    async with DemoService(blog, ServiceOptions(compression=coding)) as service:
        answer = await get(service, "entry/get", entry_id=1)
    assert answer.headers["Content-Encoding"] == coding
    assert answer.data == blog.entries[1]


async def test_requests_are_logged_with_parameters_time_and_headers(get: Get) -> None:
    async with DemoService(generated_blog(1)) as service:
        await get(service, "entry/get", entry_id=1, headers={"X-Probe": "yes"})
        await get(service, "file/list", page=2)
        first, second = service.requests
        assert (first.path, first.params["entry_id"]) == ("/blog/v1/entry/get", "1")
        assert first.headers["x-probe"] == "yes"
        assert second.params == {"id": "generated.blog.example.jp", "page": "2"}
        assert first.time <= second.time
        service.options = ServiceOptions(log_requests=False)
        await get(service, "file/list", page=2)
        assert len(service.requests) == 2


async def test_before_may_answer_or_let_pass(get: Get) -> None:
    async def teapot_for_lists(request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=418) if request.path.endswith("/list") else None

    async with DemoService(generated_blog(1)) as service:
        service.before = teapot_for_lists
        assert (await get(service, "entry/list")).status == 418
        assert (await get(service, "entry/get", entry_id=1)).status == 200
        assert len(service.requests) == 2


async def test_stopping_frees_the_port_even_while_a_request_hangs(get: Get) -> None:
    reached = asyncio.Event()

    async def hang(request: web.Request) -> None:
        reached.set()
        await asyncio.Event().wait()

    async with DemoService(generated_blog(1)) as service:
        service.before = hang
        hanging = asyncio.ensure_future(get(service, "entry/list"))
        await reached.wait()
    with pytest.raises(aiohttp.ClientError):
        await hanging
    with socket.socket() as probe:
        port = int(service.base_url.rpartition(":")[2])
        assert probe.connect_ex(("127.0.0.1", port)) != 0


async def test_stopping_a_service_that_never_started_is_allowed() -> None:
    await DemoService(generated_blog(0)).__aexit__(None, None, None)


def test_it_serves_from_a_thread_for_callers_that_block() -> None:
    blog = generated_blog(2)
    with DemoService(blog).run_in_thread() as service:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", service.base_url)
        address = f"{service.base_url}/blog/v1/entry/get?id={blog.blog_id}&entry_id="
        with urllib.request.urlopen(address + "2") as response:
            assert json.load(response)["json"]["data"] == blog.entries[2]
        blog.entries[9] = {"entry_id": "9"}
        with urllib.request.urlopen(address + "9") as response:
            assert json.load(response)["json"]["data"] == {"entry_id": "9"}
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address + "2")


def test_the_thread_ends_when_the_block_raises() -> None:
    with (
        pytest.raises(RuntimeError, match="on purpose"),
        DemoService(Blog("a.example.jp", {}, comments=RecordList())).run_in_thread(),
    ):
        raise RuntimeError("on purpose")
