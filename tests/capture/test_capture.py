"""Captures of real servers on loopback: everything in scope is recorded, once, and never twice if nothing changed."""

from __future__ import annotations

import asyncio
import gzip
import json
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.captures import capture_runs, captures
from exporter.archive.layout import Layout
from exporter.capture.events import AddressCaptured, CaptureEvent, CaptureResumed, HomeMoved
from exporter.capture.outcome import CaptureOutcome
from exporter.capture.run import CaptureRun
from exporter.errors import Interrupted, ServiceError
from exporter.html.page_references import page_references
from exporter.message import message
from tests.archive.sums import sums_agree
from tests.capture.running import CSS, HTML, PNG, Site, answers, capture, captured, html, lookup, moved, warc_bytes
from tests.support.styled_blog import styled_blog
from tests.support.wire_server import Asked, Reply, Way

ELSEWHERE = frozenset({"pictures.example.jp", "video.example.com"})


def test_every_post_and_its_files_are_in_the_capture(tmp_path: Path) -> None:
    blog = styled_blog(mixed=True)
    blog.server.recording = True

    async def run() -> CaptureOutcome:
        async with blog.serving() as origin:
            return await capture(tmp_path, origin, skipped_hosts=ELSEWHERE)

    outcome = asyncio.run(run())
    found = answers(tmp_path / "captures")
    origin = blog.origin
    assert outcome.exit_code == 0, outcome.error
    for number in blog.posts:
        assert found[blog.address(number)][0].status == "200"
    for path in (
        "/", "/robots.txt", "/sitemap.xml", "/RSS/", "/Page/2/", "/css/style.css", "/css/base.css", "/css/print.css",
        "/font/shio.ttf?v=1", "/favicon.ico", "/js/lazy.js", "/image/paper.png", "/image/wave.png", "/image/bullet.png",
        "/image/edge.png", "/image/top.png", "/image/late.png", "/image/banner-2x.png", "/image/small.png",
        "/image/touch.png",
    ):  # fmt: skip
        assert f"{origin}{path}" in found, path
    asked = {each.path for each in blog.server.exchanges}
    assert {url.removeprefix(origin) for url in found} == asked
    assert not any("reply=" in path or path.startswith(("/admin", "/share", "/Calendar")) for path in asked)
    assert set(blog.server.asked.values()) == {1}
    assert outcome.left_out["reply"]
    assert outcome.left_out["robots"]


def test_its_folder_is_sealed_and_lists_pages(tmp_path: Path) -> None:
    site = Site({"/": html('<a href="/a">a</a>'), "/a": Reply(200, "<title>題 &amp;名</title>あ".encode(), HTML)})
    outcome = captured(site, tmp_path, operator="A. Person", user_agent="mine/1 (+mailto:a@example.jp)")
    folder = tmp_path / "captures" / "000001"
    assert outcome.capture == 1
    assert sums_agree(folder)
    pages = [json.loads(line) for line in (folder / "pages.jsonl").read_text("utf-8").splitlines()]
    assert [(page["url"].removeprefix(site.server.origin), page["title"], page["status"]) for page in pages] == [
        ("/", "t", 200),
        ("/a", "題 &名", 200),
    ]
    info = captures(Layout(tmp_path))[0].info()
    assert (info.kind, info.operator, info.user_agent) == ("pages", "A. Person", "mine/1 (+mailto:a@example.jp)")
    assert info.complete
    assert info.scope == [f"{site.server.origin}/"]
    lines = (folder / "index.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == outcome.records
    assert [run["outcome"] for run in capture_runs(Layout(tmp_path))] == ["captured"]
    assert (tmp_path / "archive.json").exists()


@pytest.mark.parametrize("validators", [True, False])
def test_an_unchanged_blog_writes_nothing(tmp_path: Path, validators: bool) -> None:
    blog = styled_blog(30, validators=validators)

    async def run() -> tuple[CaptureOutcome, CaptureOutcome]:
        async with blog.serving() as origin:
            first = await capture(tmp_path, origin, skipped_hosts=ELSEWHERE)
            return first, await capture(tmp_path, origin, skipped_hosts=ELSEWHERE)

    first, second = asyncio.run(run())
    assert (second.outcome, second.exit_code, second.records, second.capture) == ("unchanged", 0, 0, None)
    assert second.unchanged == first.records + first.unchanged
    assert (second.pages, second.requisites) == (first.pages, first.requisites)
    assert len(captures(Layout(tmp_path))) == 1
    assert [run["outcome"] for run in capture_runs(Layout(tmp_path))] == ["captured", "unchanged"]


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    pages = {"/": html('<a href="/a">a</a><a href="/b">b</a>'), "/a": html("old"), "/b": html("same")}
    site = Site({**pages})

    async def run() -> CaptureOutcome:
        async with site.serving() as origin:
            await capture(tmp_path, origin)
            site.pages["/a"] = html("new")
            return await capture(tmp_path, origin)

    outcome = asyncio.run(run())
    found = answers(tmp_path / "captures" / "000002")
    assert list(found) == [f"{site.server.origin}/a"]
    assert found[f"{site.server.origin}/a"][0].content.endswith(b"new")
    assert (outcome.records, outcome.unchanged) == (1, 4)


def test_a_lost_work_folder_does_not_make_everything_new(tmp_path: Path) -> None:
    blog = styled_blog(5, validators=False)

    async def run() -> CaptureOutcome:
        async with blog.serving() as origin:
            await capture(tmp_path, origin, skipped_hosts=ELSEWHERE)
            (tmp_path / ".work" / "capture" / "frontier.sqlite").unlink()
            return await capture(tmp_path, origin, skipped_hosts=ELSEWHERE)

    outcome = asyncio.run(run())
    # An index does not state where redirects lead, so these alone are written again.
    assert all(each.status in {"301", "302"} for each in chain(*answers(tmp_path / "captures" / "000002").values()))
    assert outcome.unchanged > 40


def test_the_same_payload_elsewhere_is_a_revisit(tmp_path: Path) -> None:
    picture = Reply(200, b"\x89PNG" + b"x" * 5_000, PNG)
    site = Site({"/": html('<img src="/one.png"><img src="/two.png">'), "/one.png": picture, "/two.png": picture})
    outcome = captured(site, tmp_path, concurrency=1)
    found = answers(tmp_path / "captures")
    kinds = sorted(found[f"{site.server.origin}{path}"][0].kind for path in ("/one.png", "/two.png"))
    assert kinds == ["response", "revisit"]
    assert outcome.revisits == 1
    finder = lookup(tmp_path)
    for path in ("/one.png", "/two.png"):
        record = finder.nearest(f"{site.server.origin}{path}")
        assert record is not None
        with finder.replay(record) as replay:
            assert b"".join(replay.payload) == picture.body


def test_an_earlier_payload_that_returns_is_a_revisit(tmp_path: Path) -> None:
    site = Site({"/": html("one")})

    async def run() -> list[CaptureOutcome]:
        async with site.serving() as origin:
            outcomes = []
            for text in ("one", "two", "one"):
                site.pages["/"] = html(text)
                outcomes.append(await capture(tmp_path, origin))
            return outcomes

    outcomes = asyncio.run(run())
    assert [outcome.records for outcome in outcomes] == [3, 1, 1]
    assert outcomes[-1].revisits == 1


def test_redirects_are_addresses_of_their_own(tmp_path: Path) -> None:
    site = Site(
        {
            "/": html('<a href="/old">x</a><a href="/loop-a">y</a><a href="/out">z</a>'),
            "/old": moved("/new", 301),
            "/new": html("here"),
            "/loop-a": moved("/loop-b"),
            "/loop-b": moved("/loop-a"),
            "/out": moved("https://elsewhere.example/x"),
        }
    )
    outcome = captured(site, tmp_path)
    found = answers(tmp_path / "captures")
    statuses = {url.removeprefix(site.server.origin): each[0].status for url, each in found.items()}
    assert statuses["/old"] == "301"
    assert statuses["/new"] == "200"
    assert {"/loop-a", "/loop-b", "/out"} <= set(statuses)
    assert any("lead back" in each["reason"] for each in outcome.absent)
    assert site.asked["/loop-a"] == site.asked["/loop-b"] == 1
    assert outcome.exit_code == 0


def test_a_redirect_without_end_ends(tmp_path: Path) -> None:
    def step(asked: Asked) -> Reply:
        return moved(f"/step?id={int(asked.path.partition('=')[2]) + 1}")

    site = Site({"/": html('<a href="/step?id=1">x</a>')} | {f"/step?id={n}": step for n in range(1, 100)})
    outcome = captured(site, tmp_path)
    assert len([path for path in site.asked if path.startswith("/step")]) < 12
    assert outcome.left_out["too_deep"] == 1


@pytest.mark.parametrize("pages", [1_500, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_a_calendar_of_100_000_pages_is_cut_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    read = min(20_000, pages - 500)
    monkeypatch.setattr("exporter.capture.content.page_references", partial(page_references, most=read))
    days = "".join(f'<a href="/calendar?day={n}&view=d">{n}</a>' for n in range(pages))
    site = Site({"/": html(days + '<a href="/post">p</a>'), "/post": html("post")})
    outcome = captured(site, tmp_path, concurrency=8)
    assert len([path for path in site.asked if path.startswith("/calendar")]) == 500
    assert outcome.left_out["too_many"] >= read - 500
    assert any("names more addresses" in each["reason"] for each in outcome.notes)


def test_gone_and_failing_pages_are_named(tmp_path: Path) -> None:
    site = Site(
        {
            "/": html('<a href="/gone">x</a><a href="/bad">y</a><a href="/hidden">z</a><a href="/cut">c</a>'),
            "/bad": Reply(500, b"oops", HTML),
            "/hidden": Reply(403, b"no", HTML),
            "/cut": html("long " * 1_000),
        },
        {"/cut": Way("length", cut=True)},
    )
    outcome = captured(site, tmp_path)
    named = {each["url"].removeprefix(site.server.origin): each["reason"] for each in outcome.problems}
    assert (outcome.exit_code, outcome.outcome, outcome.failed) == (3, "partial", 2)
    assert set(named) == {"/bad", "/cut"}
    assert "500" in named["/bad"]
    absent = {each["url"].removeprefix(site.server.origin): each["reason"] for each in outcome.absent}
    assert set(absent) == {"/gone", "/hidden"}
    found = answers(tmp_path / "captures")
    assert {each.status for each in found[f"{site.server.origin}/bad"]} == {"500"}
    assert f"{site.server.origin}/cut" in found
    assert not captures(Layout(tmp_path))[0].info().complete


@pytest.mark.thorough
def test_a_busy_server_is_obeyed(tmp_path: Path) -> None:
    blog = styled_blog(10)
    blog.server.refused_every, blog.server.retry_after = 9, "1"

    async def run() -> CaptureOutcome:
        async with blog.serving() as origin:
            return await capture(tmp_path, origin, skipped_hosts=ELSEWHERE)

    outcome = asyncio.run(run())
    assert outcome.exit_code == 0, outcome.error
    assert outcome.retries > 3
    assert all(blog.address(number) in answers(tmp_path / "captures") for number in blog.posts)


def test_robots_are_obeyed_unless_the_blog_is_yours(tmp_path: Path) -> None:
    rules = Reply(200, b"User-agent: *\nDisallow: /secret\n", (("Content-Type", "text/plain"),))
    pages: dict[str, Any] = {"/": html('<a href="/secret">x</a>'), "/secret": html("x"), "/robots.txt": rules}
    site = Site({**pages})
    outcome = captured(site, tmp_path / "a")
    assert "/secret" not in site.asked
    assert outcome.left_out == {"robots": 1}
    assert outcome.exit_code == 0
    site = Site({**pages})
    assert captured(site, tmp_path / "b", obey_robots=False).exit_code == 0
    assert "/secret" in site.asked


def test_an_entry_that_robots_forbid_is_a_problem(tmp_path: Path) -> None:
    rules = Reply(200, b"User-agent: *\nDisallow: /secret\n", (("Content-Type", "text/plain"),))
    site = Site({"/": html("x"), "/robots.txt": rules})

    async def run() -> CaptureOutcome:
        async with site.serving() as origin:
            return await capture(tmp_path, origin, lambda: [f"{origin}/secret"])

    outcome = asyncio.run(run())
    assert outcome.exit_code == 3
    assert outcome.problems[0]["url"].endswith("/secret")


def test_broken_robots_stop_the_capture(tmp_path: Path) -> None:
    site = Site({"/": html("x"), "/robots.txt": Reply(503, b"x", HTML)})
    with pytest.raises(ServiceError, match=r"robots\.txt"):
        captured(site, tmp_path)
    assert "/" not in site.asked


def test_private_addresses_are_refused_and_named(tmp_path: Path) -> None:
    site = Site(
        {"/": html('<img src="http://127.0.0.1:1/x.png"><img src="http://10.0.0.1/y.png"><img src="http://[::1]/z">')}
    )
    outcome = captured(site, tmp_path)
    assert outcome.exit_code == 3
    assert all("private-network" in each["reason"] for each in outcome.problems)
    assert len(outcome.problems) == 3


def test_permalinks_are_asked_whatever_their_form(tmp_path: Path) -> None:
    site = Site({"/": html("x"), "/login/": html("a post"), "/?s=1": html("another")})

    async def run() -> CaptureOutcome:
        async with site.serving() as origin:
            return await capture(tmp_path, origin, lambda: [f"{origin}/login/", f"{origin}/?s=1"])

    assert asyncio.run(run()).exit_code == 0
    assert {"/login/", "/?s=1"} <= set(site.asked)


def test_an_entry_that_may_be_private_leaves_no_trace_unless_it_is_shown(tmp_path: Path) -> None:
    site = Site(
        {
            "/": html('<a href="/linked">x</a>'),
            "/linked": html("linked"),
            "/shown": html("shown"),
            "/hidden-title": Reply(403, b"no", HTML),
            "/login-first": moved("/login"),
        }
    )
    paths = ("/linked", "/shown", "/hidden-title", "/login-first", "/draft-title")

    async def run() -> CaptureOutcome:
        async with site.serving() as origin:
            return await capture(tmp_path, origin, doubtful=lambda: [origin + path for path in paths])

    outcome = asyncio.run(run())
    assert outcome.exit_code == 0
    assert all(site.asked[path] == 1 for path in paths)
    found = {url.removeprefix(site.server.origin) for url in answers(tmp_path / "captures")}
    assert {"/linked", "/shown"} <= found
    for path in (tmp_path / "captures").rglob("*"):
        data = (
            b"" if path.is_dir() else gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        )
        assert not any(secret in data for secret in (b"hidden-title", b"draft-title", b"login-first")), path


def test_the_limit_of_pages_is_named(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(50))
    site = Site({"/": html(links + '<img src="/i.png">'), **{f"/{n}": html(str(n)) for n in range(50)}})
    site.pages["/i.png"] = Reply(200, b"png", PNG)
    outcome = captured(site, tmp_path, most_pages=10)
    assert outcome.exit_code == 3
    assert "--max-pages" in outcome.problems[0]["reason"]
    assert sum(path.strip("/").isdigit() for path in site.asked) <= 10
    assert "/i.png" in site.asked
    assert outcome.pending > 30


def test_the_next_capture_goes_on_where_a_limit_ended_one(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(30))
    site = Site({"/": html(links), **{f"/{n}": html(str(n)) for n in range(30)}})

    async def run() -> list[int]:
        async with site.serving() as origin:
            return [(await capture(tmp_path, origin, most_pages=12)).exit_code for _ in range(4)]

    assert asyncio.run(run()) == [3, 3, 3, 3]
    found = answers(tmp_path / "captures")
    assert all(f"{site.server.origin}/{n}" in found for n in range(30))


def test_the_limit_of_size_is_named(tmp_path: Path) -> None:
    links = "".join(f'<img src="/{n}.png">' for n in range(50))
    pictures = {f"/{n}.png": Reply(200, bytes((n + k * k) % 251 for k in range(20_000)), PNG) for n in range(50)}
    outcome = captured(Site({"/": html(links), **pictures}), tmp_path, max_size=5_000, concurrency=1)
    assert outcome.exit_code == 3
    assert "--max-size" in outcome.problems[0]["reason"]
    assert outcome.pending


def test_a_file_beyond_the_limit_is_cut_and_noted(tmp_path: Path) -> None:
    site = Site({"/": html('<img src="/big.png">'), "/big.png": Reply(200, b"x" * 2_000_000, PNG)})
    outcome = captured(site, tmp_path, max_bytes=100_000)
    assert outcome.exit_code == 0
    assert "max-asset-size" in outcome.notes[0]["reason"]


def test_an_interrupted_capture_is_resumed(tmp_path: Path) -> None:
    blog = styled_blog(20)
    seen: list[str] = []

    def interrupt(event: CaptureEvent, run: CaptureRun) -> None:
        if isinstance(event, AddressCaptured):
            seen.append(event.url)
            if len(seen) == 40:
                run.stop(Interrupted(message("Stopped.")))

    resumed: list[CaptureResumed] = []

    def watch(event: CaptureEvent, _: CaptureRun) -> None:
        if isinstance(event, CaptureResumed):
            resumed.append(event)

    async def run() -> CaptureOutcome:
        async with blog.serving() as origin:
            with pytest.raises(Interrupted):
                await capture(tmp_path, origin, skipped_hosts=ELSEWHERE, see=interrupt)
            return await capture(tmp_path, origin, skipped_hosts=ELSEWHERE, see=watch)

    outcome = asyncio.run(run())
    assert outcome.exit_code == 0
    assert outcome.resumed_from is not None
    assert resumed[0].answered >= 30
    assert sum(count - 1 for count in blog.server.asked.values()) <= 4
    found = answers(tmp_path / "captures")
    assert all(len(each) == 1 for each in found.values())
    assert all(blog.address(number) in found for number in blog.posts)


def test_records_that_a_power_cut_took_are_asked_again(tmp_path: Path) -> None:
    blog = styled_blog(10)

    def interrupt(event: CaptureEvent, run: CaptureRun) -> None:
        if isinstance(event, AddressCaptured) and event.known > 30:
            run.stop(Interrupted(message("Stopped.")))

    async def run() -> CaptureOutcome:
        async with blog.serving() as origin:
            with pytest.raises(Interrupted):
                await capture(tmp_path, origin, skipped_hosts=ELSEWHERE, see=interrupt)
            (segment,) = (tmp_path / ".work" / "capture" / "segments").iterdir()
            data = segment.read_bytes()
            segment.write_bytes(data[: len(data) * 2 // 3] + bytes(len(data) // 3))
            return await capture(tmp_path, origin, skipped_hosts=ELSEWHERE)

    outcome = asyncio.run(run())
    assert outcome.exit_code == 0
    assert outcome.resumed_from is not None
    found = answers(tmp_path / "captures")
    assert all(blog.address(number) in found for number in blog.posts)
    assert {url for url in found if len(found[url]) > 1} == set()


def test_a_blog_that_stops_answering_ends_the_capture(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(50))
    site = Site({"/": html(links)})

    async def run() -> CaptureOutcome:
        async with site.serving() as origin:
            site.pages |= {f"/{n}": Reply(503, b"x", (("Retry-After", "9999"),)) for n in range(50)}
            return await capture(tmp_path, origin)

    with pytest.raises(ServiceError, match="stopped answering"):
        asyncio.run(run())
    assert (tmp_path / ".work" / "capture" / "frontier.sqlite").exists()
    assert [run["outcome"] for run in capture_runs(Layout(tmp_path))] == ["failed"]


def test_a_blog_that_answers_only_errors_ends_the_capture(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(100))
    site = Site({"/": html(links), **{f"/{n}": Reply(502, b"x") for n in range(100)}})
    with pytest.raises(ServiceError, match="stopped answering"):
        captured(site, tmp_path)
    assert sum(path.strip("/").isdigit() for path in site.asked) < 50
    site.pages |= {f"/{n}": html(str(n)) for n in range(100)}


def test_a_home_page_that_moved_is_followed(tmp_path: Path) -> None:
    target = Site({"/": html('<a href="/post">p</a>'), "/post": html("post")})
    moves: list[HomeMoved] = []

    def watch(event: CaptureEvent, _: CaptureRun) -> None:
        if isinstance(event, HomeMoved):
            moves.append(event)

    async def run() -> CaptureOutcome:
        async with target.serving() as there:
            old = Site({"/": moved(f"{there}/", 301)})
            async with old.serving() as origin:
                return await capture(tmp_path, origin, see=watch, allow_private=True)

    outcome = asyncio.run(run())
    assert outcome.exit_code == 0
    assert len(moves) == 1
    assert "/post" in target.asked
    assert outcome.home == f"{target.server.origin}/"


def test_a_home_page_without_an_answer_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="answered 404"):
        captured(Site({}), tmp_path / "new")
    assert not (tmp_path / "new" / "archive.json").exists()


def test_nothing_is_asked_with_a_cookie(tmp_path: Path) -> None:
    sent: list[str] = []

    def answer(asked: Asked) -> Reply:
        sent.extend(name for name in asked.headers if name in {"cookie", "authorization"})
        return Reply(200, b'<a href="/b">b</a>', (*HTML, ("Set-Cookie", "session=1; Path=/")))

    captured(Site({"/": answer, "/b": answer}), tmp_path)
    assert sent == []


def test_sheets_and_frames_are_followed_to_their_files(tmp_path: Path) -> None:
    site = Site(
        {
            "/": html('<link rel=stylesheet href="/c/a.css"><iframe src="/frame"></iframe><img data-src="/lazy.png">'),
            "/c/a.css": Reply(200, b'@import "b.css"; a{background:url(../i/1.png)}', CSS),
            "/c/b.css": Reply(200, b"@font-face{src:url('/f.woff2')}", CSS),
            "/frame": html('<img src="/in-frame.png">'),
        }
    )
    captured(site, tmp_path)
    assert {"/c/b.css", "/i/1.png", "/f.woff2", "/in-frame.png", "/lazy.png"} <= set(site.asked)


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    blog = styled_blog(10)

    async def run() -> CaptureOutcome:
        async with blog.serving() as origin:
            return await capture(tmp_path / "none", origin, dry_run=True)

    outcome = asyncio.run(run())
    assert outcome.outcome == "planned"
    assert outcome.pending >= 10
    assert not (tmp_path / "none").exists()


def test_one_changed_page_writes_less_than_a_hundredth(tmp_path: Path) -> None:
    blog = styled_blog(90)

    async def run() -> tuple[CaptureOutcome, CaptureOutcome]:
        async with blog.serving() as origin:
            first = await capture(tmp_path, origin, skipped_hosts=ELSEWHERE, concurrency=8)
            number = max(blog.posts)
            blog.edit(number, body="<p>changed</p>")
            return first, await capture(tmp_path, origin, skipped_hosts=ELSEWHERE, concurrency=8)

    _, second = asyncio.run(run())
    assert second.records == 1
    assert warc_bytes(tmp_path, 2) < 0.01 * warc_bytes(tmp_path, 1)
