"""Complete runs with a real server: the files that are read, kept and recorded."""

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

from exporter.archive.assets import AssetStore
from exporter.crawl.assets.download import AssetDownload
from exporter.crawl.assets.plan import AssetMode, AssetSettings
from exporter.crawl.events import AssetFailed, AssetRead, AssetsPlanned
from exporter.errors import UsageError
from exporter.html.links import AddressPattern
from exporter.http.address_guard import PORTS, AddressGuard
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.model.asset import AssetState
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from tests.crawl.assets.web import Answer, Blog, Web
from tests.support.pictures import png

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
    assert [(lost.url, lost.status, lost.error) for lost in result.absent] == [
        (f"{served.url}/29.jpg", 404, "it answered 404")
    ]
    assert result.records[f"{served.url}/29.jpg"]["refs"] == [{"entry": "29"}, {"entry": "59"}]
    assert result.records[f"{served.url}/29.jpg"]["state"] == "lost"
    assert list(result.states) == list(result.records)
    assert {url for url, state in result.states.items() if state is not AssetState.SAVED} == {f"{served.url}/29.jpg"}
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
    assert again.states == result.states
    assert [each.url for each in again.absent] == [f"{served.url}/29.jpg"]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_lost_picture_is_tried_with_growing_gaps_and_comes_back(served: Web, blog: Blog, status: int) -> None:
    served.answers["/a.gif"] = answering(status)
    url = f"{served.url}/a.gif"
    blog.entry(1, shown(url))
    tried = []
    for day in range(70):
        before = served.asked["/a.gif"]
        result = await blog.backup(settings())
        assert (result.states, [each.error for each in result.absent]) == (
            {url: AssetState.LOST},
            [f"it answered {status}"],
        )
        assert result.records[url]["state"] == "lost"
        tried += [day] if served.asked["/a.gif"] > before else []
        assert result.waiting == int(day not in tried)
        blog.clock.advance(timedelta(days=1).total_seconds())
    assert tried == [0, 1, 2, 3, 5, 9, 17, 33, 63]
    still = await blog.backup(settings(retry_lost=True))
    assert (still.states, still.waiting, served.asked["/a.gif"]) == ({url: AssetState.LOST}, 0, len(tried) + 1)
    del served.answers["/a.gif"]
    served.pictures["/a.gif"] = png(1)
    assert (await blog.backup(settings())).states == {url: AssetState.LOST}
    found = await blog.backup(settings(retry_lost=True))
    assert (found.states, found.absent) == ({url: AssetState.SAVED}, [])
    assert found.records[url]["sha256"] == sha(png(1))
    assert "state" not in found.records[url]
    await blog.backup(settings(retry_lost=True))
    assert served.asked["/a.gif"] == len(tried) + 2


def answering(status: int, **headers: str) -> Answer:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers=headers)

    return answer


async def reset(request: web.Request) -> web.StreamResponse:
    """Break the connection instead of answering."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def page(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<!DOCTYPE html><title>404</title>", content_type="image/jpeg")


async def silent(_request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    return web.Response()


class NoHost(AbstractResolver):
    """A resolver that knows no name."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        raise OSError(f"no address for {host}")

    async def close(self) -> None:
        return None


FOR_NOW = {
    "500": (answering(500), 500, "it answered 500"),
    "503": (answering(503), 503, "it answered 503"),
    "429": (answering(429, **{"Retry-After": "1"}), 429, "it answered 429"),
    "403": (answering(403), 403, "it answered 403"),
    "401": (answering(401), 401, "it answered 401"),
    "451": (answering(451), 451, "it answered 451"),
    "206": (answering(206), 206, "it answered 206"),
    "a redirect to nowhere": (
        answering(302, Location="http://[::1"),
        None,
        "its host redirects to something that is not a URL",
    ),
    "a redirect in a circle": (
        answering(302, Location="/a.jpg"),
        None,
        "its host redirects more than 5 times in a row",
    ),
    "reset": (reset, None, "the connection to 127.0.0.1 broke"),
    "time-out": (silent, None, ""),
    "HTML": (page, 200, "a page came in place of the file (text/html)"),
}


@pytest.mark.parametrize(("answer", "status", "reason"), FOR_NOW.values(), ids=FOR_NOW)
async def test_a_temporary_failure_is_pending_and_requested_in_every_run(
    served: Web, blog: Blog, answer: Answer, status: int | None, reason: str
) -> None:
    served.answers["/a.jpg"] = answer
    url = f"{served.url}/a.jpg"
    blog.entry(1, shown(url))
    patient = settings(policy=RetryPolicy(retries=0))
    once = settings(policy=RetryPolicy(retries=0), timeouts=Timeouts(read=0.3)) if answer is silent else patient
    records = []
    for _ in range(4):
        result = await blog.backup(once)
        assert result.statistics.requests
        assert (result.states, result.waiting, result.read) == ({url: AssetState.PENDING}, 0, 0)
        (absent,) = result.absent
        assert (absent.url, absent.status, absent.absence) == (url, status, AssetState.PENDING)
        assert reason in str(absent.error)
        assert absent.error
        records.append(result.records)
    assert records[0][url]["state"] == "pending"
    assert (records[0][url]["status"], records[0][url]["sha256"]) == (status, None)
    assert records[1:] == records[:1] * 3, "a retry alone changes no record"
    assert blog.stored() == []
    del served.answers["/a.jpg"]
    served.pictures["/a.jpg"] = png(1)
    found = await blog.backup(patient)
    assert (found.states, found.absent) == ({url: AssetState.SAVED}, [])
    assert found.records[url]["sha256"] == sha(png(1))


async def test_a_name_that_cannot_be_resolved_or_a_host_that_is_down_is_pending_at_every_run(blog: Blog) -> None:
    urls = ["http://127.0.0.1:1/b.png", "http://nobody.example/a.png"]
    blog.entry(1, "".join(map(shown, urls)))
    first = await blog.backup(settings(policy=RetryPolicy(retries=0)), resolver=NoHost())
    for _ in range(3):
        result = await blog.backup(settings(policy=RetryPolicy(retries=0)), resolver=NoHost())
        assert result.states == dict.fromkeys(urls, AssetState.PENDING)
        assert (result.statistics.requests, result.waiting) == (2, 0)
        assert result.records == first.records
    assert [record["state"] for record in first.records.values()] == ["pending", "pending"]


async def test_what_is_gone_after_it_was_pending_is_lost_and_the_other_way_round(served: Web, blog: Blog) -> None:
    url = f"{served.url}/a.jpg"
    blog.entry(1, shown(url))
    for status, state in [(403, "pending"), (404, "lost"), (403, "pending"), (410, "lost"), (404, "lost")]:
        served.answers["/a.jpg"] = answering(status)
        result = await blog.backup(settings())
        assert (result.states, result.records[url]["state"]) == ({url: AssetState(state)}, state)
    assert result.records[url]["status"] == 410, "it stays lost, and the record does not change"
    assert served.asked["/a.jpg"] == 5
    waiting = await blog.backup(settings())
    assert (waiting.waiting, waiting.states, served.asked["/a.jpg"]) == (1, {url: AssetState.LOST}, 5)


@pytest.mark.parametrize("address", ["http://u:p@127.0.0.1:{port}/a.png", "http://127.0.0.1:{port}/" + "a" * 8200])
async def test_an_unusable_address_is_lost(served: Web, blog: Blog, address: str) -> None:
    blog.entry(1, shown(address.format(port=served.url.rpartition(":")[2])))
    for waiting in (0, 0, 1):
        result = await blog.backup(settings())
        assert (list(result.states.values()), result.waiting) == ([AssetState.LOST], waiting)
        assert served.requests == []


async def test_trying_again_alone_changes_no_record(served: Web, blog: Blog) -> None:
    blog.entry(1, shown(f"{served.url}/a.gif"))
    first = await blog.backup(settings())
    served.answers["/a.gif"] = answering(410)
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
    assert lost.states == {f"{served.url}/a.gif": AssetState.LOST}
    assert [(asset.url, asset.error) for asset in lost.absent] == [(f"{served.url}/a.gif", "it answered 404")]


async def test_a_damaged_file_is_read_again(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif"))
    await blog.backup(settings())
    path = blog.stored()[0]
    path.write_bytes(b"x" * path.stat().st_size)
    await blog.backup(settings())
    assert served.asked["/a.gif"] == 2
    assert path.read_bytes() == png(1)


async def test_a_picture_that_is_no_longer_shown_stays_without_refs(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif") + shown(f"{served.url}/gone.gif"))
    await blog.backup(settings())
    blog.entry(1, "")
    result = await blog.backup(settings())
    assert [record["refs"] for record in result.records.values()] == [[], []]
    assert result.records[f"{served.url}/a.gif"]["sha256"] == sha(png(1))
    assert (result.absent, result.states) == ([], {})
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
    assert list(result.states.values()) == [AssetState.DOUBTFUL]
    assert [each.error for each in result.absent] == [record["error"]]


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
    served.answers["/f/3"] = answering(404)
    blog.file(3, mtime="10", extension="png")
    kept = await blog.backup(wanted)
    assert kept.records == changed.records
    assert served.asked["/f/3"] == 4
    await blog.backup(wanted)
    assert served.asked["/f/3"] == 5
    await blog.backup(wanted)
    assert served.asked["/f/3"] == 5, "lost files are requested at growing intervals"


async def test_an_upload_that_was_replaced_and_cannot_be_read_for_now_is_pending(served: Web, blog: Blog) -> None:
    """The archived file is not the current file of the service."""
    url = f"{served.url}/f/3"
    wanted = settings(file_url=AddressPattern(served.url + "/f/{file_id}", "--file-url"), policy=RetryPolicy(retries=0))
    served.pictures["/f/3"] = png(1)
    blog.file(3, mtime="7", extension="png")
    first = await blog.backup(wanted)
    served.answers["/f/3"] = answering(503)
    blog.file(3, mtime="8", extension="png")
    for asked in (2, 3, 4):
        result = await blog.backup(wanted)
        assert (result.records, result.states) == (first.records, {url: AssetState.PENDING})
        assert [(each.url, each.status) for each in result.absent] == [(url, 503)]
        assert served.asked["/f/3"] == asked
    del served.answers["/f/3"]
    served.pictures["/f/3"] = png(2)
    found = await blog.backup(wanted)
    assert (found.states, found.records[url]["sha256"]) == ({url: AssetState.SAVED}, sha(png(2)))


async def test_modes(served: Web, blog: Blog) -> None:
    served.pictures |= {"/f/1": png(1), "/linked.gif": png(2)}
    pattern = AddressPattern(served.url + "/f/{file_id}", "--file-url")
    blog.file(1, extension="png")
    blog.entry(1, shown(f"{served.url}/linked.gif"))
    nothing = await blog.backup(settings(file_url=pattern, mode=AssetMode.NONE))
    assert (nothing.records, served.asked) == ({}, {})
    files = await blog.backup(settings(file_url=pattern, mode=AssetMode.FILES))
    assert list(files.records) == [f"{served.url}/f/1"]
    linked = await blog.backup(settings(file_url=pattern))
    assert list(linked.records) == [f"{served.url}/f/1", f"{served.url}/linked.gif"]
    again = await blog.backup(settings(file_url=pattern, mode=AssetMode.FILES))
    assert again.records == linked.records
    assert set(again.states.values()) == {AssetState.SAVED}


async def test_files_excluded_by_a_mode_differ_from_missing_files(served: Web, blog: Blog) -> None:
    served.pictures |= {"/f/1": png(1), "/both": png(2), "/linked.gif": png(3)}
    upload, both, linked = f"{served.url}/f/1", f"{served.url}/f/2", f"{served.url}/linked.gif"
    served.pictures["/f/2"] = png(2)
    pattern = AddressPattern(served.url + "/f/{file_id}", "--file-url")
    blog.file(1, extension="png")
    blog.file(2, extension="png")
    blog.entry(1, shown(linked) + shown(both))
    saved, left_out = AssetState.SAVED, AssetState.LEFT_OUT
    for mode, states in {
        AssetMode.NONE: {upload: left_out, both: left_out, linked: left_out},
        AssetMode.EMBEDDED: {upload: left_out, both: saved, linked: saved},
        AssetMode.FILES: {upload: saved, both: saved, linked: saved},
    }.items():
        result = await blog.backup(settings(file_url=pattern, mode=mode))
        assert result.states == states
        assert [each.url for each in result.absent] == [url for url, state in states.items() if state is left_out]
        assert result.uploads == {"1": upload, "2": both}
    assert served.asked == {"/f/1": 1, "/f/2": 1, "/linked.gif": 1}


async def test_an_upload_without_a_known_address_is_reported(served: Web, blog: Blog) -> None:
    blog.file(1, extension="png")
    blog.file(2, extension="png", mtime="7")
    result = await blog.backup(settings())
    assert (result.uploads, result.records, result.inferred) == ({"1": None, "2": None}, {}, None)
    served.pictures["/7"] = png(7)
    result = await blog.backup(settings(file_url=AddressPattern(served.url + "/{mtime}", "--file-url")))
    assert result.uploads == {"1": None, "2": f"{served.url}/7"}


async def test_the_upload_rule_is_inferred_from_embedded_addresses(served: Web, blog: Blog) -> None:
    for number in range(6):
        served.pictures[f"/up/u1/170000000{number}.png"] = png(number)
        blog.file(number, user_id="u1", mtime=f"170000000{number}", extension="png")
    for number in range(3):
        blog.entry(number, shown(f"{served.url}/up/u1/170000000{number}.png"))
    result = await blog.backup(settings())
    assert result.inferred is not None
    assert result.inferred.matches == 3
    pattern = result.inferred.pattern.text
    assert pattern == f"{served.url}/up/{{user_id}}/{{mtime}}.{{extension}}"
    assert blog.events[0] == AssetsPlanned(6, 0, 0)
    assert result.uploads == {str(n): f"{served.url}/up/u1/170000000{n}.png" for n in range(6)}
    assert list(result.states.values()) == [AssetState.SAVED] * 6
    given = await blog.backup(settings(file_url=AddressPattern(served.url + "/other/{mtime}", "--file-url")))
    assert given.inferred is None
    assert given.uploads["0"] == f"{served.url}/other/1700000000"


@pytest.mark.parametrize("proven", [True, False])
async def test_a_rule_made_of_short_values_is_used_only_if_the_sizes_prove_it(
    served: Web, blog: Blog, proven: bool
) -> None:
    """Any picture can be called 1.png, but only uploads have the sizes in the file list."""
    for number in range(1, 7):
        served.pictures[f"/{number}.png"] = png(number)
        size = len(png(number)) + (0 if proven else 1)
        blog.file(number, mtime=f"170000000{number}", extension="png", file_size=str(size))
    for number in range(1, 4):
        blog.entry(number, shown(f"{served.url}/{number}.png"))
    result = await blog.backup(settings())
    assert (result.inferred is not None) is proven
    assert result.uploads == {str(n): f"{served.url}/{n}.png" if proven else None for n in range(1, 7)}
    assert served.asked == {f"/{number}.png": 1 for number in range(1, 7 if proven else 4)}
    assert list(result.states.values()) == [AssetState.SAVED] * (6 if proven else 3)
    assert (result.statistics.requests, result.read) == (served.asked.total(),) * 2
    again = await blog.backup(settings())
    assert (again.records, again.uploads, served.asked.total()) == (result.records, result.uploads, 6 if proven else 3)


async def test_what_is_gone_is_asked_once_also_where_a_rule_has_to_be_proven(served: Web, blog: Blog) -> None:
    for number in range(1, 7):
        blog.file(number, extension="png", file_size=str(len(png(number))))
        blog.entry(number, shown(f"{served.url}/{number}.png"))
        if number < 5:
            served.pictures[f"/{number}.png"] = png(number)
    for asked in (1, 2, 2):
        result = await blog.backup(settings())
        assert result.inferred is not None
        assert (served.asked["/1.png"], served.asked["/5.png"], served.asked["/6.png"]) == (1, asked, asked)
        assert list(result.states.values()) == [AssetState.SAVED] * 4 + [AssetState.LOST] * 2
    assert result.waiting == 2


async def test_hosts_may_be_left_out(served: Web, blog: Blog) -> None:
    served.pictures["/a.gif"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.gif"))
    skipped = await blog.backup(settings(skipped_hosts=frozenset({"127.0.0.1"})))
    assert (list(skipped.states.values()), skipped.records, served.asked) == ([AssetState.LEFT_OUT], {}, {})
    assert [each.url for each in skipped.absent] == [f"{served.url}/a.gif"]
    assert list((await blog.backup(settings())).states.values()) == [AssetState.SAVED]


async def test_a_page_in_place_of_a_picture_is_a_failure(served: Web, blog: Blog) -> None:
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
    blog.public = {"1"}
    result = await blog.backup(settings(archive_fallback=served.url + "/web/{url}"))
    first, second = result.records.values()
    assert first["sha256"] == sha(png(1))
    assert (first["url"], first["source"]) == (f"{served.url}/a.jpg", f"{served.url}/web/{served.url}/a.jpg")
    assert (second["status"], second["error"]) == (404, "it answered 404")
    served.asked.clear()
    again = await blog.backup(settings(archive_fallback=served.url + "/web/{url}"))
    assert again.records == result.records
    assert set(served.asked) == {"/b.jpg", f"/web/{served.url}/b.jpg"}


async def test_a_web_archive_is_asked_only_for_pictures_of_public_entries(served: Web, blog: Blog) -> None:
    """Also after an entry became private, and again when it is public; an upload that no public entry shows is not."""
    for name in "abc":
        served.pictures[f"/web/{served.url}/{name}.jpg"] = png(1)
    blog.entry(1, shown(f"{served.url}/a.jpg") + shown(f"{served.url}/b.jpg"))
    blog.entry(2, shown(f"{served.url}/b.jpg"))
    blog.file(1, user_id="c.jpg")
    pattern = AddressPattern(served.url + "/{user_id}", "--file-url")
    asked = settings(archive_fallback=served.url + "/web/{url}", file_url=pattern)
    blog.public = {"2"}
    await blog.backup(asked)
    assert {path for path in served.asked if path.startswith("/web/")} == {f"/web/{served.url}/b.jpg"}
    assert "/c.jpg" in served.asked
    blog.public = {"1"}
    await blog.backup(asked)
    assert {path for path in served.asked if path.startswith("/web/")} == {
        f"/web/{served.url}/a.jpg", f"/web/{served.url}/b.jpg",
    }  # fmt: skip


async def test_a_fallback_without_the_address_is_refused(blog: Blog) -> None:
    blog.entry(1, "")
    with pytest.raises(UsageError, match=r"\{url\}"):
        await blog.backup(settings(archive_fallback="https://archive.example/"))


async def test_a_field_that_no_record_has_is_refused(blog: Blog) -> None:
    blog.file(1, extension="png")
    with pytest.raises(UsageError, match=r"\{mtme\} is not a field of the record: it may be mtime\."):
        await blog.backup(settings(file_url=AddressPattern("https://h/{mtme}", "--file-url")))


async def test_a_server_error_is_tried_again_within_the_run(served: Web, blog: Blog) -> None:
    async def at_last(_request: web.Request) -> web.StreamResponse:
        if served.asked["/a.jpg"] < 3:
            return web.Response(status=503, headers={"Retry-After": "7"})
        return web.Response(body=png(1))

    served.answers["/a.jpg"] = at_last
    blog.entry(1, shown(f"{served.url}/a.jpg"))
    result = await blog.backup(settings())
    assert (result.absent, list(result.states.values())) == ([], [AssetState.SAVED])
    assert (result.statistics.requests, result.statistics.retries) == (3, 2)
    assert min(blog.clock.sleeps) >= 7


async def test_a_lasting_server_error_is_reported_with_its_status(served: Web, blog: Blog) -> None:
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
    assert [(each.url, each.error) for each in result.absent] == [(f"{served.url}/c.png", "the file was cut short")]
    assert result.states == {f"{served.url}/c.png": AssetState.PENDING}


async def test_a_file_over_the_cap_is_named_and_leaves_nothing(served: Web, blog: Blog) -> None:
    served.pictures["/a.png"] = png(1) + bytes(3_000_000)
    blog.entry(1, shown(f"{served.url}/a.png"))
    for _ in range(2):
        result = await blog.backup(settings(max_bytes=2_000_000))
        assert [each.error for each in result.absent] == ["it is larger than 2000000 bytes (--max-asset-size)"]
        assert result.states == {f"{served.url}/a.png": AssetState.LEFT_OUT}
        assert result.records[f"{served.url}/a.png"]["state"] == "left_out"
        assert (blog.stored(), list((blog.layout.work / "assets").iterdir())) == ([], [])
    await blog.backup(settings(max_bytes=1_000_000, retry_lost=True))
    assert served.asked["/a.png"] == 1, "it is requested only after the limit is raised"
    await blog.backup(settings(max_bytes=2_500_000))
    await blog.backup(settings(max_bytes=2_200_000))
    assert served.asked["/a.png"] == 2
    raised = await blog.backup(settings(max_bytes=4_000_000))
    assert (raised.absent, list(raised.states.values()), served.asked["/a.png"]) == ([], [AssetState.SAVED], 3)


async def test_a_compression_bomb_is_cut_off(served: Web, blog: Blog) -> None:
    async def bomb(_request: web.Request) -> web.StreamResponse:
        packed = gzip.compress(bytes(50_000_000))
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    served.answers["/a.png"] = bomb
    blog.entry(1, shown(f"{served.url}/a.png"))
    result = await blog.backup(settings(max_bytes=1_000_000))
    assert result.statistics.bytes <= 1_000_000
    assert result.states == {f"{served.url}/a.png": AssetState.LEFT_OUT}


async def test_by_default_nothing_private_is_touched(served: Web, blog: Blog) -> None:
    port = served.url.rpartition(":")[2]
    blog.entry(1, "".join(shown(f"http://{host}:{port}/a.png") for host in ("127.0.0.1", "[::1]", "localhost")))
    blog.entry(2, shown("http://localhost/a.png") + shown("http://127.0.0.1:8080/b.png") + shown("http://10.0.0.1/"))
    for _ in range(2):
        result = await blog.backup(settings(allow_private_network=False))
        assert len(result.absent) == 6
        assert all("--allow-private-network" in str(each.error) for each in result.absent)
        assert list(result.states.values()) == [AssetState.REFUSED] * 6
        assert served.requests == []
    served.pictures["/a.png"] = png(1)
    allowed = await blog.backup(settings())
    assert [url for url, state in allowed.states.items() if state is AssetState.SAVED] == [
        f"http://{host}:{port}/a.png" for host in ("127.0.0.1", "localhost")
    ]


VIDEO = b"\0\0\0\x18ftypmp42" + bytes(500)
FLASH = b"FWS\x08" + bytes(60)


async def test_media_files_are_read_and_players_of_other_services_are_counted(served: Web, blog: Blog) -> None:
    served.pictures |= {f"/{name}": VIDEO for name in ("v.mp4", "w.mp4", "play?id=3")}
    served.pictures |= {"/p.png": png(1), "/bg.png": png(2), "/o.swf": FLASH, "/e.swf": FLASH, "/m.swf": FLASH}
    at = served.url
    blog.entry(
        1,
        f"<video src={at}/v.mp4 poster={at}/p.png></video><audio><source src='{at}/play?id=3'></audio>"
        f"<video><source src={at}/w.mp4></video><object data={at}/o.swf><param name=movie value={at}/m.swf>"
        f"<embed src={at}/e.swf></object><style>p{{background:url({at}/bg.png)}}</style>"
        f"<embed src=https://www.youtube.com/v/x><iframe src=https://player.example/1></iframe>",
    )
    result = await blog.backup(settings())
    assert {url.removeprefix(at): state for url, state in result.states.items()} == dict.fromkeys(
        served.pictures, AssetState.SAVED
    )
    assert result.framed == 2


async def test_uploads_on_the_host_of_the_service_are_read_and_other_ports_refused(served: Web, blog: Blog) -> None:
    served.pictures["/a.png"] = png(1)
    port = int(served.url.rpartition(":")[2])
    beside, other = f"{served.url}/a.png", f"http://127.0.0.1:{port + 1}/a.png"
    blog.entry(1, shown(beside) + shown(other))
    result = await blog.backup(settings(allow_private_network=False, service_url=served.url + "/api"))
    assert result.states == {beside: AssetState.SAVED, other: AssetState.REFUSED}
    assert result.records[other]["state"] == "refused"


@pytest.mark.parametrize("first", ["service", "foreign"])
async def test_a_foreign_name_for_the_service_s_private_address_is_not_read(
    served: Web, blog: Blog, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """This includes web ports, and either of the two names may be requested first in the session."""
    served.pictures["/a.png"] = png(1)
    port = int(served.url.rpartition(":")[2])
    named, foreign = f"http://blog.internal:{port}/a.png", f"http://attacker.example:{port}/a.png"
    blog.entry(1, shown(named) + shown(foreign) if first == "service" else shown(foreign) + shown(named))
    chosen = settings(allow_private_network=False, service_url=f"http://blog.internal:{port}/api")
    guard = AddressGuard(ports=PORTS | {port}, service=chosen.service_url)
    monkeypatch.setattr("exporter.crawl.assets.download.AddressGuard", lambda **_: guard)
    result = await blog.backup(chosen, resolver=OneHost())
    assert result.states[named] is AssetState.SAVED
    assert result.states[foreign] is not AssetState.SAVED


async def test_a_name_that_resolves_to_a_private_address_for_now_is_pending(blog: Blog) -> None:
    """A captive portal or a blocking name server is no evidence about the picture."""
    blog.entry(1, shown("http://pictures.example/a.png"))
    for _ in range(3):
        result = await blog.backup(settings(allow_private_network=False), resolver=OneHost())
        assert result.states == {"http://pictures.example/a.png": AssetState.PENDING}
        assert "--allow-private-network" in str(result.absent[0].error)
        assert (result.waiting, [event for event in blog.events if isinstance(event, AssetsPlanned)][-1].count) == (
            0,
            1,
        )


class OneHost(AbstractResolver):
    """Resolves every name to the server under test."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=2, proto=0, flags=0)]

    async def close(self) -> None:
        return None


async def test_a_slow_host_does_not_delay_another(served: Web, blog: Blog) -> None:
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

    async with Engine(clock=blog.clock, resolver=OneHost()) as engine:
        journal = blog.layout.work / "assets.jsonl"
        run = AssetDownload(
            DEFAULT_SERVICE, blog, AssetStore(blog.layout), journal, settings(), engine, blog.clock, watch
        )
        result = await asyncio.wait_for(run.run(), 20)
    assert (result.read, result.absent) == (21, [])


async def test_a_dead_host_is_left_alone_after_three_addresses(blog: Blog, served: Web) -> None:
    for number in range(12):
        blog.entry(number, shown(f"http://127.0.0.1:1/{number}.png"))
    result = await blog.backup(settings(concurrency=1, policy=RetryPolicy(retries=1)))
    reasons = [each.error for each in result.absent]
    assert list(result.states.values()) == [AssetState.PENDING] * 12
    assert reasons.count("cannot connect to its host: nothing answers there") == 3
    assert reasons.count("not asked in this run: 127.0.0.1:1 did not answer") == 9
    assert result.statistics.requests == 6


async def test_downloads_of_large_files_resume(served: Web, blog: Blog) -> None:
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
    assert [str(mode) for mode in AssetMode] == ["linked", "embedded", "files", "none"]


def test_the_layout_is_the_formats(tmp_path: Path) -> None:
    blog = Blog(tmp_path)
    part = AssetStore(blog.layout).part("http://h/")
    part.write(png(1))
    stored = AssetStore(blog.layout).keep(part, "image/png")
    assert stored.path == f"assets/{sha(png(1))[:2]}/{sha(png(1))}.png"


@pytest.mark.parametrize("field", ["serial", ""])
async def test_an_inferred_rule_never_ends_a_run(served: Web, blog: Blog, field: str) -> None:
    """The user did not set the rule, so an unknown field in it is not a usage error."""
    for number in range(4):
        served.pictures[f"/up/serial-{number}.png"] = png(number)
        blog.file(number, **{field: f"serial-{number}"}, extension="png")
        blog.entry(number, shown(f"{served.url}/up/serial-{number}.png"))
    blog.file(5, extension="png")
    result = await blog.backup(settings())
    assert result.uploads["5"] is None
    assert list(result.states.values()) == [AssetState.SAVED] * 4
