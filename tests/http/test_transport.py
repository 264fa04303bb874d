"""The transport against real sockets: one test for each pitfall of the HTTP library."""

from __future__ import annotations

import asyncio
import gzip
import os
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from exporter import __version__
from exporter.errors import (
    BadBody,
    BlogExporterError,
    BodyTooLarge,
    ConnectFailed,
    RedirectRefused,
    RequestTimeout,
    ServiceError,
    TransportError,
    Unreachable,
)
from exporter.http.deadline import Timeouts
from exporter.http.engine import Client, Engine
from exporter.http.retry import RetryPolicy
from exporter.http.transport import HttpRequest, HttpResponse, Redirecting, Sender, Statistics
from exporter.model.exchange import Request, Response
from tests.http.scripted import NoBody
from tests.http.service import Service, raw_service, read_head, says

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@asynccontextmanager
async def client_of(url: str, **given: Any) -> AsyncIterator[Client]:
    """Yield a client that tries once."""
    async with Engine() as engine:
        yield engine.client(url, **{"policy": RetryPolicy(retries=0), **given})


async def ask(client: Client, path: str = "/x", params: Mapping[str, str] | None = None, **headers: str) -> Response:
    return await client.fetch(Request("entry/get", path, params or {}, headers), lambda response: response)


async def get(url: str, path: str = "/x", **given: Any) -> Response:
    async with client_of(url, **given) as client:
        return await ask(client, path)


async def failure(url: str, **given: Any) -> BlogExporterError:
    with pytest.raises(BlogExporterError) as caught:
        await get(url, **given)
    return caught.value


# Requests


async def test_path_parameters_and_headers_arrive_as_given(service: Service) -> None:
    async with client_of(service.url + "/base/") as client:
        odd = {"id": "a.blog.example", "entry_id": "a/b?c&d=e f+%20日記#\ud83d", "..": "../%2e%2e/"}
        answer = await ask(client, "/blog/v1/entry/get", odd, **{"X-Key": "v"})
    request = service.seen[0]
    assert answer.status == 200
    assert request.path == "/base/blog/v1/entry/get"
    assert request.query["id"] == "a.blog.example"
    assert request.query[".."] == "../%2e%2e/"
    assert "entry_id=a%2Fb%3Fc%26d%3De%20f%2B%2520%E6%97%A5%E8%A8%98%23%ED%A0%BD&" in request.raw_path
    assert request.headers["X-Key"] == "v"
    assert __version__ in request.headers["User-Agent"]
    assert request.headers["Accept-Encoding"] == "gzip, deflate"


async def test_without_parameters_there_is_no_question_mark(service: Service) -> None:
    await get(service.url, path="/v1/user")
    assert service.seen[0].raw_path == "/v1/user"


async def test_one_connection_serves_many_requests(service: Service) -> None:
    peers = set()

    async def remember(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(body=b"{}")

    service.handler = remember
    async with client_of(service.url) as client:
        for _ in range(5):
            await ask(client)
    assert len(peers) == 1


async def test_cookies_are_not_kept(service: Service) -> None:
    service.answers(lambda: web.Response(headers={"Set-Cookie": "a=b"}))
    async with client_of(service.url.replace("127.0.0.1", "localhost")) as client:
        await ask(client)
        await ask(client)
    assert "Cookie" not in service.seen[1].headers


async def test_netrc_and_proxy_variables_are_not_used(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    await get(service.url)
    assert "Authorization" not in service.seen[0].headers


async def test_header_names_come_out_in_lower_case(service: Service) -> None:
    service.answers(lambda: web.Response(status=404, headers={"ETag": '"1"', "X-Odd": "日本"}))
    answer = await get(service.url)
    assert answer.status == 404
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["x-odd"] == "日本"


# Encodings


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate", "chunked gzip"])
async def test_compressed_bodies_are_read(encoding: str) -> None:
    body = '{"a":"日記"}'.encode() * 1000
    if "gzip" in encoding:
        packed = gzip.compress(body)
    else:
        packer = zlib.compressobj(wbits=-15 if encoding.startswith("raw") else 15)
        packed = packer.compress(body) + packer.flush()
    head = HEAD + b"Content-Encoding: " + encoding.rsplit(maxsplit=1)[-1].encode() + b"\r\n"
    if encoding.startswith("chunked"):
        pieces = [head + b"Transfer-Encoding: chunked\r\n\r\n"]
        pieces += [b"1\r\n" + packed[at : at + 1] + b"\r\n" for at in range(len(packed))] + [b"0\r\n\r\n"]
    else:
        pieces = [head + b"Content-Length: %d\r\n\r\n" % len(packed) + packed]
    async with raw_service(says(*pieces)) as url:
        assert (await get(url)).body == body


async def test_bytes_in_another_encoding_than_declared_are_bad() -> None:
    async with raw_service(says(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\nnotgzip")) as url:
        assert isinstance(await failure(url), BadBody)


async def test_an_unrequested_encoding_is_bad_or_left_to_the_reader() -> None:
    async with raw_service(says(HEAD + b"Content-Encoding: br\r\nContent-Length: 3\r\n\r\n\x0b\x02\x80")) as url:
        assert isinstance(await failure(url), BadBody)


async def test_a_gzip_bomb_is_stopped_at_the_cap_with_little_memory() -> None:
    packer = zlib.compressobj(wbits=31)
    mib = bytes(1024 * 1024)
    bomb = b"".join(packer.compress(mib) for _ in range(100)) + packer.flush()
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with raw_service(says(head + bomb)) as url:
        tracemalloc.start()
        error = await failure(url, max_body=8 * len(mib))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert isinstance(error, BodyTooLarge)
    assert "more than 8388608 bytes" in str(error)
    assert peak < 40 * len(mib)


async def test_the_cap_applies_to_uncompressed_bodies(service: Service) -> None:
    service.answers(lambda: web.Response(body=bytes(1001)))
    assert isinstance(await failure(service.url, max_body=1000), BodyTooLarge)
    service.answers(lambda: web.Response(body=bytes(1000)))
    assert len((await get(service.url, max_body=1000)).body) == 1000


async def test_a_body_of_25_megabytes_passes(service: Service) -> None:
    body = os.urandom(1024) * 25_000
    service.answers(lambda: web.Response(body=body))
    assert (await get(service.url)).body == body


# Bodies cut short


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b'Content-Length: 50\r\n\r\n{"json":',
        HEAD + b'Transfer-Encoding: chunked\r\n\r\n8\r\n{"json":\r\n',
        HEAD + b'Transfer-Encoding: chunked\r\n\r\n50\r\n{"json":',
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
)
async def test_a_body_shorter_than_it_claims_is_bad(answer: bytes) -> None:
    async with raw_service(says(answer)) as url:
        assert isinstance(await failure(url), BadBody)


async def test_a_cut_that_http_cannot_detect_returns_the_received_bytes() -> None:
    async with raw_service(says(HEAD + b'Connection: close\r\n\r\n{"json":')) as url:
        assert (await get(url)).body == b'{"json":'


async def test_a_cut_gzip_stream_of_matching_length_is_short_or_an_error() -> None:
    body = os.urandom(20_000).hex().encode()
    cut = gzip.compress(body)[:-5000]
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(cut)
    async with raw_service(says(head + cut)) as url:
        try:
            arrived = (await get(url)).body
        except TransportError:
            arrived = b""
    assert len(arrived) < len(body)


async def test_a_reset_in_the_middle_is_an_error() -> None:
    async with raw_service(says(HEAD + b"Content-Length: 50\r\n\r\n{", pause=0.01, then="reset")) as url:
        assert isinstance(await failure(url), BadBody | ConnectFailed)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 20"])
async def test_no_answer_at_all_is_a_broken_connection(answer: bytes) -> None:
    async with raw_service(says(answer)) as url:
        assert isinstance(await failure(url), ConnectFailed | BadBody)


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH_9.9\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n: x\r\n\r\n"]
)
async def test_something_other_than_http_is_bad(answer: bytes) -> None:
    async with raw_service(says(answer)) as url:
        assert isinstance(await failure(url), BadBody)


async def test_headers_without_end_are_bad() -> None:
    async with raw_service(says(HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n")) as url:
        assert isinstance(await failure(url), BadBody)


# Connections


async def test_a_refused_connection_is_unreachable() -> None:
    async with raw_service(says()) as url:
        pass
    error = await failure(url)
    assert isinstance(error, Unreachable)
    assert "check the address" in str(error)


async def test_an_unknown_host_is_unreachable() -> None:
    assert isinstance(await failure("http://no-such-host.invalid"), Unreachable)


async def test_plain_http_instead_of_tls_is_unreachable(service: Service) -> None:
    assert isinstance(await failure(service.url.replace("http:", "https:")), Unreachable)


async def test_a_kept_connection_that_was_closed_is_reported_and_nothing_is_sent_twice() -> None:
    heads = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal heads
        await read_head(reader)
        heads += 1
        writer.write(HEAD + b"Content-Length: 2\r\n\r\n{}")
        await read_head(reader)
        heads += 1

    async with raw_service(once) as url, client_of(url) as client:
        assert (await ask(client)).body == b"{}"
        with pytest.raises(ServiceError, match="broke"):
            await ask(client)
    assert heads == 2


# Time


async def test_a_service_that_never_answers_times_out() -> None:
    async with raw_service(says(then="hang")) as url:
        error = await failure(url, timeouts=Timeouts(read=0.05))
    assert isinstance(error, RequestTimeout)
    assert "silent for 0.05 s" in str(error)


async def test_silence_within_a_body_times_out() -> None:
    async with raw_service(says(HEAD + b"Content-Length: 9\r\n\r\n", b"{", then="hang")) as url:
        error = await failure(url, timeouts=Timeouts(read=0.05))
    assert "silent for" in str(error)


async def test_each_piece_restarts_the_silence_timeout() -> None:
    pieces = [b"x"] * 8
    async with raw_service(says(HEAD + b"Content-Length: 8\r\n\r\n", *pieces, pause=0.3)) as url:
        assert (await get(url, timeouts=Timeouts(read=2.0))).body == b"x" * 8


async def test_endless_dripping_is_ended_by_the_total_timeout() -> None:
    async with raw_service(says(HEAD + b"Content-Length: 99\r\n\r\n", *[b"x"] * 99, pause=0.01)) as url:
        error = await failure(url, timeouts=Timeouts(read=10, total=0.1))
    assert isinstance(error, RequestTimeout)
    assert "not done within 0.1 s" in str(error)


class SilentResolver(AbstractResolver):
    """A name server that never answers."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        await asyncio.sleep(60)
        return []

    async def close(self) -> None:
        return None


async def test_connecting_times_out() -> None:
    async with Engine(resolver=SilentResolver()) as engine:
        client = engine.client("http://h.example:9", timeouts=Timeouts(connect=0.05), policy=RetryPolicy(retries=0))
        with pytest.raises(BlogExporterError) as caught:
            await ask(client)
    error = caught.value
    assert isinstance(error, Unreachable)
    assert "cannot connect to h.example:9: no answer within 0.05 s: check the address" in str(error)


async def test_no_request_waits_longer_than_the_limit() -> None:
    async with raw_service(says(then="hang")) as url:
        error = await failure(url, policy=RetryPolicy(give_up_after=0.05))
    assert "no good answer for 0 s" in str(error)
    assert "not done within 0.05 s" in str(error)


async def test_being_cancelled_is_no_error_of_the_service() -> None:
    async with raw_service(says(then="hang")) as url, client_of(url) as client:
        task = asyncio.create_task(ask(client))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


# Redirects


def to(location: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": location})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_inside_the_origin_is_followed_with_the_headers(service: Service, status: int) -> None:
    service.answers(lambda: to("/there?a=b%2Fc", status), lambda: web.Response(body=b"{}"))
    async with client_of(service.url) as client:
        assert (await ask(client, Authorization="Bearer t")).body == b"{}"
    assert service.seen[1].raw_path == "/there?a=b%2Fc"
    assert service.seen[1].headers["Authorization"] == "Bearer t"


async def test_a_redirect_to_another_origin_is_refused_and_nothing_is_sent_there(service: Service) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("something was sent to the other origin")

    async with raw_service(other) as elsewhere:
        service.answers(lambda: to(elsewhere + "/x"))
        error = await failure(service.url)
    assert isinstance(error, RedirectRefused)
    assert "another origin, http://127.0.0.1" in str(error)


@pytest.mark.parametrize(
    "location",
    [
        "https://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://127.0.0.1/",
        "//evil.example/",
        "http://me:secret@127.0.0.1:{port}/",
        "http://me@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}@evil.example/",
        "ftp://127.0.0.1:{port}/",
        "file:///etc/passwd",
        "http://[::1/",
        "http://127.0.0.1:99999999/",
        "javascript:alert(1)",
    ],
)
async def test_every_redirect_to_another_origin_is_refused(service: Service, location: str) -> None:
    service.answers(lambda: to(location.format(port=service.url.rsplit(":", 1)[1])))
    error = await failure(service.url)
    assert isinstance(error, RedirectRefused)
    assert "secret" not in str(error)
    assert len(service.seen) == 1


async def test_five_redirects_are_followed_and_a_sixth_is_not(service: Service) -> None:
    service.answers(*[lambda: to("/again")] * 5, lambda: web.Response(body=b"{}"))
    assert (await get(service.url)).body == b"{}"
    service.seen.clear()
    service.answers(lambda: to("/again"))
    assert "more than 5 times" in str(await failure(service.url))
    assert len(service.seen) == 6


async def test_a_redirect_without_a_location_is_returned(service: Service) -> None:
    service.answers(lambda: web.Response(status=302))
    assert (await get(service.url)).status == 302


class Leading:
    """A transport that redirects to one address, and answers there."""

    def __init__(self, location: str) -> None:
        self._location = location
        self.asked: list[str] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(str(request.url))
        first = len(self.asked) == 1
        return HttpResponse(request.origin, 302 if first else 200, {"location": self._location} if first else {})


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b?c=d", "http://h.example/b?c=d"),
        ("//g.example/%2e", "http://g.example/%2e"),
        ("https://g.example/海", "https://g.example/%E6%B5%B7"),
    ],
)
async def test_a_redirect_is_followed_to_its_location(location: str, target: str) -> None:
    leading = Leading(location)
    request = HttpRequest(URL("http://h.example/a"), "http://h.example", {}, NoBody(), Sender(Timeouts(), Statistics()))
    response = await Redirecting(leading, lambda url: url).send(request)
    assert leading.asked == ["http://h.example/a", target]
    assert (response.status, response.origin) == (200, target[: target.index("/", 8)])


async def test_a_gzip_body_of_several_members_is_read_whole() -> None:
    packed = gzip.compress(b'{"a":') + gzip.compress(b'"b"}')
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    for pieces in ([head + packed], [head, packed[:25], packed[25:26], packed[26:]]):
        async with raw_service(says(*pieces, pause=0.01)) as url:
            assert (await get(url)).body == b'{"a":"b"}'


async def test_a_refusal_is_no_failure_for_an_empty_body_called_compressed(service: Service) -> None:
    service.answers(lambda: web.Response(status=404, headers={"Content-Encoding": "gzip"}))
    assert (await get(service.url)).status == 404
