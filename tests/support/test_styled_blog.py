"""The styled blog itself: its addresses, its traps, and the bytes that it records."""

from __future__ import annotations

import asyncio
import re
import urllib.request
from collections.abc import Iterator

import aiohttp
import pytest

from tests.support.styled_blog import StyledBlog, styled_blog
from tests.support.wire_server import MIXED, Way, installed


async def fetch(session: aiohttp.ClientSession, address: str) -> tuple[int, bytes]:
    async with session.get(address, allow_redirects=False) as answer:
        return answer.status, await answer.read()


def links(page: str) -> Iterator[str]:
    for found in re.finditer(r'(?:href|src|data-src)="(/[^"/][^"]*|/)"', page):
        yield found[1].partition("#")[0].replace("&amp;", "&")


async def test_every_post_and_all_its_parts_can_be_fetched() -> None:
    blog = styled_blog()
    assert len(blog.posts) > 50
    async with blog.serving() as origin, aiohttp.ClientSession() as session:
        wanted = {f"/Entry/{number}/" for number in blog.posts} | {"/", "/RSS/", "/sitemap.xml", "/robots.txt"}
        seen: set[str] = set()
        lost: set[str] = set()
        while wanted - seen:
            path = (wanted - seen).pop()
            seen.add(path)
            status, body = await fetch(session, origin + path)
            if status == 404:
                lost.add(path)
            if body.startswith(b"<!DOCTYPE") and not path.startswith("/Calendar"):
                wanted |= set(links(body.decode()))
        assert {"/Page/2/", "/css/style.css", "/image/late.png", "/Calendar/201603/", "/admin/login"} <= seen
        assert lost == {"/album/2016/kieta.jpg"}  # a picture that the demo blog lost
        assert (await fetch(session, f"{origin}/Entry/54/"))[0] == 404  # a private entry


async def test_traps_lead_on_without_end() -> None:
    blog = styled_blog(3)
    async with blog.serving() as origin, aiohttp.ClientSession() as session:
        _, body = await fetch(session, f"{origin}/Calendar/201612/")
        assert b"/Calendar/201701/" in body
        status, body = await fetch(session, f"{origin}/Entry/3/?reply=101")
        assert status == 200
        assert b"textarea" in body


async def test_an_unchanged_page_is_answered_with_304() -> None:
    blog = styled_blog(3)
    async with blog.serving() as origin, aiohttp.ClientSession() as session:
        async with session.get(origin) as answer:
            tag = answer.headers["ETag"]
        async with session.get(origin, headers={"If-None-Match": tag}) as answer:
            assert answer.status == 304
        blog.edit(3, title="別の題")
        async with session.get(origin, headers={"If-None-Match": tag}) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("way", [way for way in MIXED if way.coding != "zstd"], ids=str)
async def test_a_client_reads_every_way(way: Way) -> None:
    blog = styled_blog(3)
    blog.server.recording = True
    async with blog.serving() as origin, aiohttp.ClientSession() as session:
        plain = (await fetch(session, f"{origin}/Entry/3/"))[1]
        blog.ways["/Entry/3/"] = way
        async with session.get(f"{origin}/Entry/3/", headers={"Accept-Encoding": "gzip, deflate, br"}) as answer:
            assert await answer.read() == plain
            assert answer.headers.get("Content-Encoding", "") == (way.coding if installed(way.coding) else "")
    last = blog.server.exchanges[-1]
    assert last.request.startswith(b"GET /Entry/3/ HTTP/1.1\r\n")
    assert last.answer.startswith(b"HTTP/1.1 200")
    assert bool(last.hints) == way.hints


async def test_the_record_is_what_a_socket_receives() -> None:
    blog = styled_blog(3, mixed=True)
    blog.server.recording = True
    async with blog.serving() as origin:
        for path in ("/", "/Entry/3/", "/css/style.css", "/none", "/Entry/4", "/image/late.png"):
            request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n".encode()
            reader, writer = await asyncio.open_connection("127.0.0.1", int(origin.rpartition(":")[2]))
            writer.write(request)
            received = await reader.read()
            writer.close()
            last = blog.server.exchanges[-1]
            assert (last.path, last.request, last.hints + last.answer) == (path, request, received)


async def test_cut_answers_and_refusals() -> None:
    blog = styled_blog(3)
    blog.ways["/Entry/3/"] = Way(cut=True)
    async with blog.serving() as origin, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientPayloadError):
            await fetch(session, f"{origin}/Entry/3/")
        blog.server.refused_every = 2
        statuses = [(await fetch(session, origin))[0] for _ in range(5)]
        assert sorted(set(statuses)) == [200, 429, 503]


def test_a_count_makes_posts_of_their_own() -> None:
    blog: StyledBlog = styled_blog(2_000)
    assert len(blog.posts) == 2_000
    assert len({post.body for post in blog.posts.values()}) == 2_000


def test_blocking_callers_are_served_from_a_thread() -> None:
    blog = styled_blog(3)
    with blog.serving_in_thread() as origin, urllib.request.urlopen(f"{origin}/robots.txt") as answer:
        assert b"Sitemap" in answer.read()
    assert blog.server.asked["/robots.txt"] == 1
