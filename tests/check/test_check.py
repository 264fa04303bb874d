"""``check`` against a real service on loopback: healthy, failing in each way, and within its limit of requests."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.check import findings, service_check
from exporter.check.facts import CheckResult
from exporter.check.service_check import ENTRIES_FOR_ADDRESS, ENTRIES_OF_A_REPORT, REQUESTS, check
from exporter.clock import FixedClock
from exporter.demo.content import Blog, demo_blog, fields
from exporter.http.engine import Client
from exporter.library.backup import OpenService, open_service
from exporter.settings import resolve
from tests.support.demo_service import DemoService, ServiceOptions

FILES = "https://files.example.jp/v1/blog/user/{user_id}/{mtime}"
Before = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


async def checked(
    tmp_path: Path,
    *,
    blog: Blog | None = None,
    before: Before | None = None,
    options: ServiceOptions | None = None,
    keep: bool = False,
    token: str = "",
    clock: FixedClock | None = None,
    most: int = REQUESTS,
    **settings: str,
) -> CheckResult:
    """Check a sample service, and assert that it received at most ``most`` requests."""
    async with DemoService(blog or demo_blog(), options) as service:
        service.before = before
        given = {"base_url": service.base_url, "file_url": FILES, "allow_private_network": "yes", **settings}
        found = resolve(given, environ={"BLOG_EXPORTER_TOKEN": token} if token else {})
        blog_id = next(iter(service.blogs))
        result = await check(blog_id, found, tmp_path / "a" / "b", keep=keep, clock=clock, locate=service.local)
        assert len(service.requests) == result.requests <= result.most_requests == most
    return result


def codes(result: CheckResult) -> dict[str, int]:
    return {finding.name: finding.exit_code for finding in result.findings}


async def test_a_healthy_blog(tmp_path: Path) -> None:
    result = await checked(tmp_path)
    assert (result.exit_code, [each.name for each in result.operations if not each.answered]) == (0, [])
    assert [(each.what, each.problem, each.status) for each in result.downloads] == [
        ("upload", "", 200),
        ("picture", "", 200),
    ]
    assert result.user is not None
    assert result.user[1] == "しおね"
    assert result.estimate is not None
    assert (result.estimate.entries, result.estimate.files) == (60, 40)
    assert result.estimate.bytes > 1_000_000
    assert result.free is not None
    assert result.free > 0
    assert abs(result.clock_skew or 0.0) < 60
    assert result.settings["file_url"] == (FILES, "option --file-url")
    assert "retries" not in result.settings
    assert not (tmp_path / "a").exists()
    assert result.exchanges == []


@pytest.mark.parametrize(("pause", "asked"), [("300", 4), ("1", 8)])
async def test_a_long_retry_after_ends_the_check(tmp_path: Path, pause: str, asked: int) -> None:
    begun = time.monotonic()
    result = await checked(tmp_path, before=always(503, where="/comment/", **{"Retry-After": pause}))
    assert time.monotonic() - begun < 60
    assert [each.name for each in result.operations if not each.answered] == ["comment/list"]
    said = "it asks to wait 300 s, so nothing more was asked"
    assert any(said in finding.said for finding in result.findings) is (pause == "300")
    assert (result.requests, result.exit_code) == (asked, 3)


async def test_a_long_pause_after_renewing_a_sign_in_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def paused(*args: Any, **more: Any) -> AsyncIterator[OpenService]:
        async with open_service(*args, **more) as opened:
            assert isinstance(opened.client, Client)
            opened.client.retrying.throttles.of(opened.client.origin).pause_until(time.monotonic() + 300)
            yield opened

    monkeypatch.setattr(service_check, "open_service", paused)
    result = await checked(tmp_path)
    assert [(each.name, each.answered) for each in result.operations] == [("user", False)]
    assert (
        "the service asks to wait 300 s, longer than the 5 s this run would (give_up_after). Run again later"
        in result.operations[0].problem
    )
    assert (result.requests, result.exit_code) == (0, 20)


def always(status: int = 200, text: str = "<html>Not here", *, where: str = "", **headers: str) -> Before:
    async def before(request: web.Request) -> web.StreamResponse | None:
        if where not in request.path:
            return None
        return web.Response(status=status, text=text, headers=headers, content_type="text/html")

    return before


@pytest.mark.parametrize(
    ("before", "exit_code", "code"),
    [
        (always(), 20, "failed"),
        (always(500), 20, "failed"),
        (always(401), 12, "not_authorised"),
        (always(403, where="/v1/user"), 12, "not_authorised"),
        (always(404), 20, "failed"),
        (always(500, where="comment"), 3, "failed"),
        (always(200, "", where="file/list"), 3, "failed"),
        (always(302, "", Location="http://other.example/"), 20, "failed"),
        (always(302, "", Location="/blog/v1/entry/list?id=x"), 20, "no_answer"),
        (always(404, where="/v1/blog/user"), 3, "not_fetched"),
        (always(200, "<!DOCTYPE html><p>login", where="/v1/blog/user"), 3, "not_fetched"),
        (always(200, '{"json":{"result":"error","message":"\\u001b[2Jno","data":{}}}', where="entry/get"), 3, "failed"),
        (always(200, '{"json":{"result":"ok","data":{"list":[1,null,[],{}]}}}', where="file/list"), 3, "no_id"),
    ],
)
async def test_each_failure_is_a_finding_with_advice(tmp_path: Path, before: Before, exit_code: int, code: str) -> None:
    result = await checked(tmp_path, before=before)
    assert (result.exit_code, code in codes(result)) == (exit_code, True), result.findings
    assert all(finding.said and finding.advice for finding in result.findings if finding.exit_code)


async def test_redirects_and_failing_downloads_stay_within_the_limit(tmp_path: Path) -> None:
    async def before(request: web.Request) -> web.StreamResponse | None:
        if "again" in request.query:
            return None
        return web.Response(status=307, headers={"Location": str(request.rel_url.update_query(again="1"))})

    result = await checked(tmp_path, before=before)
    assert result.requests == result.most_requests == REQUESTS
    assert "no_answer" in codes(result)


async def test_a_service_that_never_answers_is_asked_once(tmp_path: Path) -> None:
    async def before(_: web.Request) -> web.StreamResponse | None:
        await asyncio.sleep(5)
        return None

    result = await checked(tmp_path, before=before, read_timeout="1s", total_timeout="1s")
    assert (result.exit_code, result.requests, len(result.operations)) == (20, 1, 1)
    assert result.estimate is None


async def test_no_server_listens(tmp_path: Path) -> None:
    settings = resolve({"base_url": "http://127.0.0.1:9"}, environ={})
    result = await check("x.example.jp", settings, tmp_path)
    # A machine without ssh-keygen gets a note about that as well.
    assert (result.exit_code, {**codes(result), "missing_parts": 0}) == (20, {"no_answer": 20, "missing_parts": 0})


@pytest.mark.parametrize("options", [{}, {"base_url": "ftp://x"}, {"base_url": "http://u:p@x.example"}])
async def test_a_wrong_address_is_a_usage_error(tmp_path: Path, options: dict[str, str]) -> None:
    result = await check("x.example.jp", resolve(options, environ={}), tmp_path)
    assert (result.exit_code, result.requests, codes(result)) == (2, 0, {"settings": 2})


async def test_the_token_is_sent_and_shown_nowhere(tmp_path: Path) -> None:
    options = ServiceOptions(require_token="s3cret-token")
    assert (await checked(tmp_path, options=options)).exit_code == 12
    assert (await checked(tmp_path, options=options, token="wrong-t0ken")).exit_code == 12
    result = await checked(tmp_path, options=options, token="s3cret-token")
    assert (result.exit_code, result.token) == (0, "variable BLOG_EXPORTER_TOKEN")
    assert "s3cret" not in str(result.document())


async def test_an_account_that_is_not_signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    settings = resolve({"base_url": "http://127.0.0.1:9", "account": "nobody"}, environ={})
    result = await check("x.example.jp", settings, tmp_path)
    assert (result.exit_code, result.requests, codes(result)) == (12, 0, {"not_authorised": 12})


async def test_a_page_parameter_that_is_ignored_loses_entries(tmp_path: Path) -> None:
    result = await checked(tmp_path, options=ServiceOptions(ignore_entry_page=True))
    assert (result.exit_code, codes(result)["paging"]) == (3, 3)


async def test_uploads_without_a_known_address_might_be_lost(tmp_path: Path) -> None:
    blog = demo_blog()
    for entry in blog.entries.values():
        fields(entry)["entry_text"] = ""
    async with DemoService(blog) as service:
        result = await check(blog.blog_id, resolve({"base_url": service.base_url}, environ={}), tmp_path)
        asked = [request for request in service.requests if request.path == "/blog/v1/entry/get"]
    assert (result.exit_code, codes(result)["upload_address_unknown"]) == (3, 3)
    assert [each.what for each in result.downloads] == ["upload"]
    assert len({request.params["entry_id"] for request in asked}) == len(asked) == 1 + ENTRIES_FOR_ADDRESS
    assert result.requests <= result.most_requests == REQUESTS + ENTRIES_FOR_ADDRESS


async def test_entries_are_read_until_their_addresses_show_the_upload_rule(tmp_path: Path) -> None:
    blog = demo_blog()
    addresses = [FILES.format(**fields(file)) for file in blog.files]
    for place, key in enumerate(sorted(blog.entries, key=int, reverse=True)):
        shown = addresses[-place - 1 : -place or None] if place < 6 else []
        fields(blog.entries[key])["entry_text"] = "".join(f'<img src="{address}">' for address in shown)
    async with DemoService(blog) as service:
        settings = resolve({"base_url": service.base_url, "allow_private_network": "yes"}, environ={})
        result = await check(blog.blog_id, settings, tmp_path, locate=service.local)
        asked = [request for request in service.requests if request.path == "/blog/v1/entry/get"]
    assert (result.exit_code, [(each.what, each.problem) for each in result.downloads]) == (
        0,
        [("upload", ""), ("picture", "")],
    )
    assert 1 < len(asked) < 1 + ENTRIES_FOR_ADDRESS


async def test_no_more_entries_are_asked_for_when_the_service_stops_answering(tmp_path: Path) -> None:
    blog = demo_blog()
    for entry in blog.entries.values():
        fields(entry)["entry_text"] = ""
    gets = 0

    async def before(request: web.Request) -> web.StreamResponse | None:
        nonlocal gets
        gets += request.path.endswith("/entry/get")
        limited = request.path.endswith("/entry/get") and gets == 3
        return web.Response(status=429, headers={"Retry-After": "300"}) if limited else None

    async with DemoService(blog) as service:
        service.before = before
        result = await check(blog.blog_id, resolve({"base_url": service.base_url}, environ={}), tmp_path)
    assert gets == 3
    assert codes(result)["upload_address_unknown"] == 3


async def test_the_rule_that_embedded_addresses_show_is_used(tmp_path: Path) -> None:
    blog = demo_blog()
    addresses = [FILES.format(**fields(file)) for file in blog.files]
    newest = max(int(key) for key in blog.entries)
    fields(blog.entries[newest])["entry_text"] = "".join(f'<img src="{address}">' for address in addresses[-9:])
    async with DemoService(blog) as service:
        settings = resolve({"base_url": service.base_url, "allow_private_network": "yes"}, environ={})
        result = await check(blog.blog_id, settings, tmp_path, locate=service.local)
    assert [(each.what, each.problem) for each in result.downloads] == [("upload", ""), ("picture", "")]


async def test_files_are_not_fetched_if_the_settings_exclude_them(tmp_path: Path) -> None:
    result = await checked(tmp_path, assets="none", rate="2")
    assert (result.exit_code, result.downloads) == (0, [])
    assert result.estimate is not None
    assert result.estimate.seconds >= result.estimate.requests / 2


async def test_a_lost_picture_is_a_remark(tmp_path: Path) -> None:
    blog = demo_blog()
    for entry in blog.entries.values():
        fields(entry)["entry_text"] = '<img src="https://gone.example/1.png">'
    result = await checked(tmp_path, blog=blog, assets="embedded")
    assert (result.exit_code, codes(result)["picture_lost"]) == (0, 0)


async def test_a_large_picture_is_not_read_to_its_end(tmp_path: Path) -> None:
    result = await checked(tmp_path, max_asset_size="10B")
    assert [(each.problem, each.bytes <= 10) for each in result.downloads] == [("", True), ("", True)]


async def test_fields_and_codes_are_reported(tmp_path: Path) -> None:
    blog = demo_blog()
    entry = fields(blog.entries[max(int(key) for key in blog.entries)])
    del entry["tb_receipt_flg"]
    entry |= {"mood": "good", "x" * 90: "", "is_private": "maybe", "text_format": None}
    result = await checked(tmp_path, blog=blog)
    got = next(each for each in result.operations if each.name == "entry/get")
    assert (got.missing, got.unknown) == (["tb_receipt_flg"], ["mood", "x" * 39 + "…"])
    assert (got.codes["is_private"], got.codes["text_format"]) == (["maybe"], ["null"])
    assert got.doubts == {"is_private": "maybe is neither t nor f"}
    assert {"missing_fields", "unknown_fields", "unknown_values"} <= codes(result).keys()


async def test_a_wrong_clock_and_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_check, "free_bytes", lambda _: 1000)
    late = await checked(tmp_path, clock=FixedClock(datetime.now(UTC) - timedelta(hours=1)))
    assert (late.exit_code, codes(late)["no_room"], codes(late)["clock"]) == (28, 28, 0)
    early = await checked(tmp_path, clock=FixedClock(datetime.now(UTC) + timedelta(hours=1)))
    assert (early.clock_skew or 0) > 3000


@pytest.mark.parametrize("date", ["yesterday", "Mon, 99 Foo 2020", "Sun, 01 Jan 9999 00:00:00 -9999"])
async def test_an_invalid_date(tmp_path: Path, date: str) -> None:
    async def before(_: web.Request) -> web.StreamResponse | None:
        return web.Response(text="{}", headers={"Date": date})

    assert (await checked(tmp_path, before=before)).clock_skew is None


async def test_more_entries_are_read_for_a_report_and_still_bounded(tmp_path: Path) -> None:
    result = await checked(tmp_path, keep=True, most=REQUESTS + ENTRIES_OF_A_REPORT)
    asked = [each for each in result.exchanges if each.facts.name == "entry/get"]
    assert len({each.params["entry_id"] for each in asked}) == len(asked) == ENTRIES_OF_A_REPORT
    assert [each.facts for each in result.exchanges] == result.operations
    assert all(each.body for each in result.exchanges)


def test_missing_parts_of_this_machine_are_reported(tmp_path: Path) -> None:
    assert list(findings.missing_parts(lambda _: False, lambda _: None)) == ["Pillow", "arro3", "keyring", "jq"]
    assert findings.missing_parts(lambda _: True, lambda _: "/usr/bin/jq") == {}
    assert service_check.free_bytes(tmp_path / "not" / "there") is not None


def test_the_free_space_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Path) -> Any:
        raise PermissionError

    monkeypatch.setattr(shutil, "disk_usage", fails)
    assert service_check.free_bytes(tmp_path) is None


def test_settings_are_shown_as_they_are_written() -> None:
    given = {"site": "no", "retries": "3", "wait_lock": "90s", "skip_asset_hosts": "b.example,a.example"}
    given["ping_url"] = "https://hc-ping.example/5f0c7a1e"
    settings = resolve(given, environ={"BLOG_EXPORTER_RATE": "2", "BLOG_EXPORTER_TOKEN": "secret"})
    assert service_check.in_use(settings) == {
        "retries": ("3", "option --retries"),
        "rate": ("2.0", "variable BLOG_EXPORTER_RATE"),
        "site": ("no", "option --site"),
        "skip_asset_hosts": ("a.example,b.example", "option --skip-asset-hosts"),
        "wait_lock": ("90s", "option --wait-lock"),
        "ping_url": ("…", "option --ping-url"),
    }
