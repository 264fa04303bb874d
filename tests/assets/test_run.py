"""Whole runs against a real server: what is read, what is kept, what is remembered."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from exporter.api.download import DownloadLimits
from exporter.api.retry import RetryPolicy
from exporter.archive.assets import AssetStore
from exporter.crawl.assets.events import AssetFailed, AssetRead, AssetsPlanned
from exporter.crawl.assets.plan import Mode
from exporter.crawl.assets.run import AssetRun, AssetSettings
from exporter.errors import UsageError
from exporter.model.kinds import Kind
from exporter.render.addresses import AddressPattern
from tests.assets.web import Blog, Web, png

SEVEN = ["url", "status", "content_type", "bytes", "sha256", "error", "refs"]


def settings(**more: Any) -> AssetSettings:
    return AssetSettings(**{"base": "https://blog.example.jp/", "allow_private_network": True, **more})


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def shown(address: str) -> str:
    return f'<p>文<img src="{address}" alt="絵"></p>'


async def test_thirty_addresses_of_fifteen_pictures_are_read_once_each(served: Web, blog: Blog) -> None:
    for number in range(29):
        served.pictures[f"/{number}.jpg"] = png(number % 15)
    for number in range(60):
        blog.entry(number, shown(f"{served.url}/{number % 30}.jpg"))
    result = await blog.backup(settings())
    assert len(result.records) == 30
    assert served.asked == {f"/{number}.jpg": 1 for number in range(30)}
    assert [path.name for path in blog.stored()] == sorted(f"{sha(png(number))}.png" for number in range(15))
    assert [(lost.url, lost.status, lost.error) for lost in result.lost] == [
        (f"{served.url}/29.jpg", 404, "it answered 404")
    ]
    assert result.lost[0].refs == [{"entry": "29"}, {"entry": "59"}]
    record = result.records[f"{served.url}/1.jpg"]
    assert {name: record[name] for name in SEVEN} == {
        "url": f"{served.url}/1.jpg",
        "status": 200,
        "content_type": "image/png",
        "bytes": len(png(1)),
        "sha256": sha(png(1)),
        "error": None,
        "refs": [{"entry": "1"}, {"entry": "31"}],
    }
    assert (record["width"], record["height"]) == (2, 3)
    assert result.read == 29
    assert blog.events[0] == AssetsPlanned(30, 0, 0)
    assert [event.url for event in blog.events if isinstance(event, AssetFailed)] == [f"{served.url}/29.jpg"]
    assert sum(isinstance(event, AssetRead) for event in blog.events) == 29

    served.asked.clear()
    again = await blog.backup(settings())
    assert served.asked == {"/29.jpg": 1}
    assert again.records == result.records
    assert json.dumps(again.records) == json.dumps(result.records)
    assert len(again.lost) == 1


async def test_a_lost_picture_is_tried_with_growing_gaps_and_comes_back(served: Web, blog: Blog) -> None:
    blog.entry(1, shown(f"{served.url}/a.gif"))
    tried = []
    for day in range(70):
        before = served.asked["/a.gif"]
        result = await blog.backup(settings())
        assert len(result.lost) == 1
        tried += [day] if served.asked["/a.gif"] > before else []
        assert result.waiting == int(day not in tried)
        blog.clock.advance(timedelta(days=1).total_seconds())
    assert tried == [0, 1, 2, 3, 5, 9, 17, 33, 63]
    served.pictures["/a.gif"] = png(1)
    assert (await blog.backup(settings())).lost != []
    found = await blog.backup(settings(retry_now=True))
    assert found.lost == []
    assert found.records[f"{served.url}/a.gif"]["sha256"] == sha(png(1))


async def test_trying_again_alone_changes_no_record(served: Web, blog: Blog) -> None:
    blog.entry(1, shown(f"{served.url}/a.gif"))
    first = await blog.backup(settings())

    async def broken(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=410)

    served.answers["/a.gif"] = broken
    assert (await blog.backup(settings())).records == first.records


async def test_without_the_journal_nothing_but_the_lost_is_read_again(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif") + shown(f"{served.url}/b.gif"))
    first = await blog.backup(settings())
    (blog.layout.work / "assets.jsonl").unlink()
    again = await blog.backup(settings())
    assert served.asked == {"/a.gif": 1, "/b.gif": 2}
    assert again.records == first.records


async def test_a_run_cut_off_before_its_commit_reads_nothing_twice(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif"))
    first = await blog.backup(settings())
    blog.kinds[Kind.ASSETS].clear()
    assert (await blog.backup(settings())).records == first.records
    assert served.asked["/a.gif"] == 1


async def test_a_stored_file_that_vanished_is_read_again(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif"))
    first = await blog.backup(settings())
    blog.stored()[0].unlink()
    again = await blog.backup(settings())
    assert again.records == first.records
    assert len(blog.stored()) == 1
    del served.pictures["/a.gif"]
    blog.stored()[0].unlink()
    lost = await blog.backup(settings())
    assert lost.records == first.records
    assert [asset.url for asset in lost.lost] == [f"{served.url}/a.gif"]


async def test_a_damaged_file_is_read_again(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif"))
    await blog.backup(settings())
    path = blog.stored()[0]
    path.write_bytes(b"x" * path.stat().st_size)
    await blog.backup(settings())
    assert served.asked["/a.gif"] == 2
    assert path.read_bytes() == png(1)
    await blog.backup(settings(recheck=True))
    assert served.asked["/a.gif"] == 2


async def test_a_picture_nobody_shows_any_more_stays_without_refs(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif") + shown(f"{served.url}/gone.gif"))
    await blog.backup(settings())
    blog.entry(1, "")
    result = await blog.backup(settings())
    assert [record["refs"] for record in result.records.values()] == [[], []]
    assert result.records[f"{served.url}/a.gif"]["sha256"] == sha(png(1))
    assert result.lost == []
    assert served.asked == {"/a.gif": 1, "/gone.gif": 1}


async def test_an_upload_and_an_address_that_mean_the_same_are_one(served: Web, blog: Blog) -> None:
    served.pictures["/f/u1/7"] = png(7)
    pattern = AddressPattern(served.url + "/f/{user_id}/{mtime}", "--file-url")
    blog.file(3, user_id="u1", mtime="7", file_size=str(len(png(7))), extension="png", name="海.png")
    blog.file(4, user_id="u1", mtime="7", file_size="1", extension="png", name="同.png")
    blog.entry(12, f"<a href='{served.url}/f/u1/7'>大</a>")
    blog.entry(2, shown(f"{served.url.replace('http:', '')}/f/u1/7"))
    result = await blog.backup(settings(base="http://blog.example.jp/", file_url=pattern))
    (record,) = result.records.values()
    assert record["refs"] == [{"entry": "2"}, {"entry": "12"}, {"file": "3"}, {"file": "4"}]
    assert record["error"] is None
    assert served.asked == {"/f/u1/7": 1}


async def test_a_size_other_than_the_file_list_says_is_kept_and_named(served: Web, blog: Blog) -> None:
    served.pictures["/f/7"] = png(7)
    blog.file(3, mtime="7", file_size="5", extension="png")
    result = await blog.backup(settings(file_url=AddressPattern(served.url + "/f/{mtime}", "--file-url")))
    (record,) = result.records.values()
    assert record["sha256"] == sha(png(7))
    assert record["error"] == f"it has {len(png(7))} bytes, the file list says 5"
    assert result.lost == []


async def test_an_upload_that_was_replaced_is_asked_for_again_and_an_unchanged_one_is_not_sent(
    served: Web, blog: Blog
) -> None:
    bodies = [png(1)]

    async def tagged(request: web.Request) -> web.StreamResponse:
        tag = f'"{len(bodies)}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304)
        return web.Response(body=bodies[-1], headers={"ETag": tag})

    served.answers["/f/3"] = tagged
    wanted = settings(file_url=AddressPattern(served.url + "/f/{file_id}", "--file-url"))
    blog.file(3, mtime="7", extension="png")
    first = await blog.backup(wanted)
    await blog.backup(wanted)
    assert served.asked["/f/3"] == 1
    blog.file(3, mtime="8", extension="png")
    assert (await blog.backup(wanted)).records == first.records
    assert served.asked["/f/3"] == 2
    bodies.append(png(2))
    blog.file(3, mtime="9", extension="png")
    changed = await blog.backup(wanted)
    assert changed.records[f"{served.url}/f/3"]["sha256"] == sha(png(2))
    assert len(blog.stored()) == 2
    served.answers["/f/3"] = broken
    blog.file(3, mtime="10", extension="png")
    kept = await blog.backup(wanted)
    assert kept.records == changed.records
    assert kept.lost == []
    assert served.asked["/f/3"] == 4
    await blog.backup(wanted)
    assert served.asked["/f/3"] == 5


async def broken(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=404)


async def test_modes(served: Web, blog: Blog) -> None:
    served.pictures |= {"/f/1": png(1), "/linked.gif": png(2)}
    pattern = AddressPattern(served.url + "/f/{file_id}", "--file-url")
    blog.file(1, extension="png")
    blog.entry(1, shown(f"{served.url}/linked.gif"))
    nothing = await blog.backup(settings(file_url=pattern, mode=Mode.NONE))
    assert (nothing.records, served.asked) == ({}, {})
    files = await blog.backup(settings(file_url=pattern, mode=Mode.FILES))
    assert list(files.records) == [f"{served.url}/f/1"]
    linked = await blog.backup(settings(file_url=pattern))
    assert list(linked.records) == [f"{served.url}/f/1", f"{served.url}/linked.gif"]
    again = await blog.backup(settings(file_url=pattern, mode=Mode.FILES))
    assert again.records == linked.records


async def test_a_page_in_place_of_a_picture_is_a_failure(served: Web, blog: Blog) -> None:
    async def page(_request: web.Request) -> web.StreamResponse:
        return web.Response(text="<!DOCTYPE html><title>404</title>", content_type="image/jpeg")

    served.answers["/a.jpg"] = page
    blog.entry(1, shown(f"{served.url}/a.jpg"))
    (record,) = (await blog.backup(settings())).records.values()
    assert (record["status"], record["sha256"]) == (200, None)
    assert record["error"] == "a page came in place of the file (text/html)"
    assert blog.stored() == []
    assert list((blog.layout.work / "assets").iterdir()) == []


async def test_what_is_gone_is_asked_of_a_web_archive(served: Web, blog: Blog) -> None:
    served.pictures[f"/web/{served.url}/a.jpg"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.jpg") + shown(f"{served.url}/b.jpg"))
    result = await blog.backup(settings(archive_fallback=served.url + "/web/{url}"))
    first, second = result.records.values()
    assert first["sha256"] == sha(png(1))
    assert (first["url"], first["source"]) == (f"{served.url}/a.jpg", f"{served.url}/web/{served.url}/a.jpg")
    assert (second["status"], second["error"]) == (404, "it answered 404")
    served.asked.clear()
    again = await blog.backup(settings(archive_fallback=served.url + "/web/{url}"))
    assert again.records == result.records
    assert set(served.asked) == {"/b.jpg", f"/web/{served.url}/b.jpg"}


async def test_a_fallback_without_the_address_is_refused(blog: Blog) -> None:
    blog.entry(1, "")
    with pytest.raises(UsageError, match=r"\{url\}"):
        await blog.backup(settings(archive_fallback="https://archive.example/"))


async def test_a_field_that_no_record_has_is_refused(blog: Blog) -> None:
    blog.file(1, extension="png")
    with pytest.raises(UsageError, match=r"\{mtme\} is no field of the record \(did you mean mtime\?\)"):
        await blog.backup(settings(file_url=AddressPattern("https://h/{mtme}", "--file-url")))


async def test_a_server_error_is_tried_again_within_the_run(served: Web, blog: Blog) -> None:
    async def at_last(_request: web.Request) -> web.StreamResponse:
        if served.asked["/a.jpg"] < 3:
            return web.Response(status=503, headers={"Retry-After": "7"})
        return web.Response(body=png(1))

    served.answers["/a.jpg"] = at_last
    blog.entry(1, shown(f"{served.url}/a.jpg"))
    result = await blog.backup(settings())
    assert result.lost == []
    assert (result.statistics.requests, result.statistics.retries) == (3, 2)
    assert min(blog.clock.sleeps) >= 7


async def test_a_server_error_that_stays_is_told_with_its_status(served: Web, blog: Blog) -> None:
    async def down(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    served.answers["/a.jpg"] = down
    blog.entry(1, shown(f"{served.url}/a.jpg"))
    (record,) = (await blog.backup(settings())).records.values()
    assert (record["status"], record["error"]) == (500, "it answered 500")
    assert served.asked["/a.jpg"] == 4


async def test_a_body_of_unknown_length_without_its_end_is_read_twice(served: Web, blog: Blog) -> None:
    bodies = [png(1)[:-20], png(1)]

    async def unframed(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        body = bodies[0] if len(bodies) == 1 else bodies.pop(0)
        request.transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
        request.transport.close()
        return web.Response()

    served.answers["/a.png"] = unframed
    blog.entry(1, shown(f"{served.url}/a.png"))
    (record,) = (await blog.backup(settings())).records.values()
    assert (record["sha256"], record["error"]) == (sha(png(1)), None)
    assert served.asked["/a.png"] == 2
    bodies[:] = [png(2)[:-20]]
    served.answers["/b.png"] = unframed
    blog.entry(1, shown(f"{served.url}/b.png"))
    records = (await blog.backup(settings())).records
    cut = records[f"{served.url}/b.png"]
    assert (cut["sha256"], cut["error"]) == (sha(png(2)[:-20]), "its end is missing, at the server too")
    bodies[:] = [png(3)[:-20], png(3)[:-30]]
    served.answers["/c.png"] = unframed
    blog.entry(1, shown(f"{served.url}/c.png"))
    result = await blog.backup(settings())
    assert [(lost.url, lost.error) for lost in result.lost] == [(f"{served.url}/c.png", "the file was cut short")]


async def test_a_file_over_the_cap_is_named_and_leaves_nothing(served: Web, blog: Blog) -> None:
    served.pictures["/a.png"] = png(1) + bytes(3_000_000)
    blog.entry(1, shown(f"{served.url}/a.png"))
    result = await blog.backup(settings(limits=DownloadLimits(max_bytes=2_000_000)))
    assert [lost.error for lost in result.lost] == ["it is larger than 2000000 bytes (--max-asset-size)"]
    assert (blog.stored(), list((blog.layout.work / "assets").iterdir())) == ([], [])


async def test_a_bomb_is_cut(served: Web, blog: Blog) -> None:
    async def bomb(_request: web.Request) -> web.StreamResponse:
        packed = gzip.compress(bytes(50_000_000))
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    served.answers["/a.png"] = bomb
    blog.entry(1, shown(f"{served.url}/a.png"))
    result = await blog.backup(settings(limits=DownloadLimits(max_bytes=1_000_000)))
    assert result.statistics.bytes <= 1_000_000
    assert len(result.lost) == 1


async def test_by_default_nothing_private_is_touched(served: Web, blog: Blog) -> None:
    port = served.url.rpartition(":")[2]
    blog.entry(1, "".join(shown(f"http://{host}:{port}/a.png") for host in ("127.0.0.1", "[::1]", "localhost")))
    blog.entry(2, shown("http://localhost/a.png") + shown("http://127.0.0.1:8080/b.png") + shown("http://10.0.0.1/"))
    result = await blog.backup(settings(allow_private_network=False))
    assert len(result.lost) == 6
    assert all("--allow-private-network" in str(lost.error) for lost in result.lost)
    assert served.requests == []


class OneHost(AbstractResolver):
    """Resolves every name to the server under test."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=2, proto=0, flags=0)]

    async def close(self) -> None:
        return None


async def test_a_slow_host_does_not_hold_up_another(served: Web, blog: Blog) -> None:
    release = asyncio.Event()

    async def slow(_request: web.Request) -> web.StreamResponse:
        await release.wait()
        return web.Response(body=png(1))

    port = served.url.rpartition(":")[2]
    for number in range(20):
        served.answers[f"/slow{number}.png"] = slow
        blog.entry(number, shown(f"http://slow.example:{port}/slow{number}.png"))
    served.pictures["/quick.png"] = png(2)
    blog.entry(99, shown(f"http://z.example:{port}/quick.png"))

    def watch(event: object) -> None:
        if isinstance(event, AssetRead) and event.url.endswith("quick.png"):
            release.set()

    run = AssetRun(
        blog,
        AssetStore(blog.layout),
        blog.layout.work / "assets.jsonl",
        settings(),
        blog.clock,
        watch,
        resolver=OneHost(),
    )
    result = await asyncio.wait_for(run.run(), 20)
    assert (result.read, result.lost) == (21, [])


async def test_a_dead_host_is_left_alone_after_three_addresses(blog: Blog, served: Web) -> None:
    for number in range(12):
        blog.entry(number, shown(f"http://127.0.0.1:1/{number}.png"))
    result = await blog.backup(settings(concurrency=1, policy=RetryPolicy(retries=1)))
    reasons = [lost.error for lost in result.lost]
    assert reasons.count("its host cannot be connected to") == 3
    assert reasons.count("not asked in this run: 127.0.0.1:1 did not answer") == 9
    assert result.statistics.requests == 6


async def test_large_files_go_on_where_a_stopped_run_was(served: Web, blog: Blog) -> None:
    body = png(1) + bytes(range(256)) * 8192 + png(2)[-12:]
    reached = asyncio.Event()
    ranges: list[str | None] = []

    async def large(request: web.Request) -> web.StreamResponse:
        ranges.append(request.headers.get("Range"))
        start = int(request.headers.get("Range", "bytes=0-")[6:-1])
        head = {"ETag": '"v1"', "Content-Length": str(len(body) - start)}
        if start:
            assert request.headers["If-Range"] == '"v1"'
            head["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        answer = web.StreamResponse(status=206 if start else 200, headers=head)
        await answer.prepare(request)
        if start:
            await answer.write(body[start:])
        else:
            await answer.write(body[:1_500_000])
            await asyncio.sleep(0.2)
            reached.set()
            await asyncio.sleep(30)
        return answer

    served.answers["/large.png"] = large
    blog.entry(1, shown(f"{served.url}/large.png"))
    stopped = asyncio.create_task(blog.backup(settings()))
    await reached.wait()
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    assert blog.stored() == []
    (record,) = (await blog.backup(settings())).records.values()
    assert (record["sha256"], record["bytes"]) == (sha(body), len(body))
    assert ranges[0] is None
    assert ranges[1] == "bytes=1500000-"
    assert list((blog.layout.work / "assets").iterdir()) == []


def test_modes_are_the_words_of_the_command_line() -> None:
    assert [str(mode) for mode in Mode] == ["linked", "files", "none"]


def test_the_layout_is_the_formats(tmp_path: Path) -> None:
    blog = Blog(tmp_path)
    part = AssetStore(blog.layout).part("http://h/")
    part.write(png(1))
    stored = AssetStore(blog.layout).keep(part, "image/png")
    assert stored.path == f"assets/{sha(png(1))[:2]}/{sha(png(1))}.png"
