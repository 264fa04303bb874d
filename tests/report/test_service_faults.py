"""Services that misbehave: what a check says of each, it says of the replay of the report about it, and not without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter import lossless_json
from exporter.demo.service import DemoService
from tests.report.originals import blog
from tests.report.reports import Before, replayed, reported, troubles

Change = Callable[[dict[str, Any], int], object]


def changed(operation: str, change: Change, page: int | None = None) -> Before:
    """Return a service whose answers to one operation are changed, on one page or on all."""

    async def before(service: DemoService, request: web.Request) -> web.StreamResponse | None:
        number = int(request.query.get("page", "0"))
        if not request.path.endswith(operation) or (page is not None and number != page):
            return None
        answer = await service.operation(request)
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        document = lossless_json.loads(answer.body)
        change(document["json"]["data"], number)
        return web.Response(text=json.dumps(document), content_type="application/json")

    return before


def answers(
    operation: str, text: str, status: int = 200, page: int | None = None, kind: str = "application/json"
) -> Before:
    """Return a service that answers one operation with a text."""

    async def before(_: DemoService, request: web.Request) -> web.StreamResponse | None:
        number = int(request.query.get("page", "0"))
        if not request.path.endswith(operation) or (page is not None and number != page):
            return None
        return web.Response(text=text, status=status, content_type=kind)

    return before


def first_page_again(operation: str) -> Before:
    """Return a service that answers every page with the first one."""

    async def before(service: DemoService, request: web.Request) -> web.StreamResponse | None:
        if not request.path.endswith(operation) or request.query.get("page") in {"1", None}:
            return None
        return await service.operation(request.clone(rel_url=request.rel_url.update_query(page="1")))

    return before


def set_paging(**members: Any) -> Change:
    return lambda data, _: data["paging"].update(members)


def each_record(change: Callable[[dict[str, Any]], object]) -> Change:
    def made(data: dict[str, Any], _: int) -> None:
        for record in data["list"]:
            change(record)

    return made


FAULTS: dict[str, Before] = {
    "entries: pages repeat": first_page_again("entry/list"),
    "comments: pages repeat": first_page_again("comment/list"),
    "files: pages repeat": first_page_again("file/list"),
    "entries: page_no is wrong": changed("entry/list", set_paging(page_no=1)),
    "comments: page_no is of another page": changed("comment/list", set_paging(page_no="3"), 2),
    "entries: next_no goes back": changed("entry/list", set_paging(next_no=1), 2),
    "comments: next_no skips": changed("comment/list", set_paging(next_no=3), 1),
    "entries: all_page is negative": changed("entry/list", set_paging(all_page=-1), 1),
    "entries: no paging object": changed("entry/list", lambda data, _: data.pop("paging")),
    "entries: a page is empty": changed("entry/list", lambda data, _: data["list"].clear(), 2),
    "files: a page is short": changed("file/list", lambda data, _: data["list"].pop(), 1),
    "files: the total is wrong": changed("file/list", lambda data, _: data["summary"].update(filenum="99")),
    "comments: ids are missing": changed("comment/list", each_record(lambda record: record.pop("cm_id"))),
    "entries: ids shift": changed("entry/get", lambda data, _: data.update(entry_id=str(int(data["entry_id"]) + 1))),
    "entries: types are mixed": changed("entry/list", each_record(lambda record: record.update(title=[1], open_flg=1.5, comment_count={}))),
    "entries: fields are missing": changed("entry/get", lambda data, _: [data.pop(name) for name in ("year", "is_private")]),
    "entries: fields are new": changed("entry/get", lambda data, _: data.update(mood="嬉しい一日", weather=3)),
    "files: records are no objects": changed("file/list", lambda data, _: data.update(list=[1, None, "ファイル", []])),
    "comments: the list is an object": changed("comment/list", lambda data, _: data.update(list={})),
    "entries: HTML in place of JSON": answers("entry/get", "<html><title>お待ちください</title><p>混雑しています", kind="text/html"),
    "comments: cut JSON": answers("comment/list", '{"json":{"result":"ok","data":{"list":[{"cm_id":"9', page=2),
    "files: nothing at all": answers("file/list", ""),
    "entries: an error in an envelope": answers("entry/get", '{"json":{"result":"ng","message":"記事がありません","data":{}}}'),
    "comments: 404": answers("comment/list", '{"json":{"result":"error","message":"なし"}}', 404),
    "files: 503": answers("file/list", "busy", 503),
    "user: refused": answers("/v1/user", "", 401),
    "entries: data is null": answers("entry/get", '{"json":{"result":"ok","message":"","data":null}}'),
    "entries: a flag nobody knows": changed("entry/get", lambda data, _: data.update(is_private="x", cm_receipt_flg="")),
    "entries: impossible dates": changed("entry/get", lambda data, _: data.update(mon="13", last_update="2019-02-30 00:00:00")),
    "files: NaN for a size": answers("file/list", '{"json":{"result":"ok","data":{"list":[{"file_id":"5","file_size":NaN}],"page":1,"limit":20}}}'),
}  # fmt: skip


Troubles = list[tuple[str, int, str]]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Troubles:
    """What a check says where nothing is wrong."""
    return troubles(asyncio.run(reported(blog(), tmp_path_factory.mktemp("right") / "report.jsonl")))


async def test_a_service_that_is_right_is_right_in_its_replay(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    result = await reported(blog(), path)
    assert (result.exit_code, result.findings) == (0, [])
    again = await replayed(path)
    assert troubles(again) == troubles(result)


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_shows_in_the_replay_as_at_the_service(name: str, right: Troubles, tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    wrong = await reported(blog(), path, FAULTS[name])
    assert troubles(wrong) != right
    assert troubles(await replayed(path)) == troubles(wrong)


def test_there_are_thirty() -> None:
    assert len(FAULTS) >= 30
