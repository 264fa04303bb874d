"""The short way against the usual one: the same bytes go out, and the same becomes of what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from unittest.mock import patch

import aiohttp
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from exporter.errors import BlogExporterError
from exporter.http import direct as direct_way
from exporter.http.credentials import Credentials
from exporter.http.direct import KNOWN_VERSIONS, Direct, may_be_taken
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.model.exchange import Request, Response
from tests.http.service import raw_service, read_head

texts = st.text(max_size=8)
printable = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
answers = st.tuples(
    st.sampled_from(
        [b"HTTP/1.1 200 OK", b"HTTP/1.1 304 Not Modified", b"HTTP/1.0 404 No", b"HTTP/1.1 200", b"nonsense"]
    ),
    st.lists(
        st.sampled_from(
            [
                b"Content-Length: 5",
                b"Content-Length: 9",
                b"Transfer-Encoding: chunked",
                b"Content-Encoding: gzip",
                b"Connection: close",
                b"Connection: keep-alive",
                b"ETag: x",
                b"etag: y",
                b"no header",
                b"Set-Cookie: a=b",
            ]
        ),
        max_size=4,
    ),
    st.sampled_from([b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"5\r\nhel", b"hello and more"]),
)


async def heard_and_made(
    path: str, params: Mapping[str, str], headers: Mapping[str, str], token: str, answer: bytes
) -> tuple[list[bytes], object, object]:
    """Ask once; return the head that a server heard, and what the client made of its answer."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await read_head(reader)
        heard.extend(line for line in head.split(b"\r\n") if not line.startswith(b"Host: 127"))
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" + answer)
        await writer.drain()

    def whole(response: Response) -> tuple[int, Mapping[str, str], bytes]:
        return response.status, response.headers, response.body

    made: object
    async with raw_service(serve) as url, Engine() as shared:
        client = shared.client(url, Credentials(token), policy=RetryPolicy(retries=0))
        try:
            made = await client.fetch(Request("entry/get", path, params, headers), whole)
        except BlogExporterError as error:
            made = type(error), str(error).replace(url.partition("//")[2], "")
    return heard, made, shared.statistics


@given(
    path=st.builds("/{}".format, printable.filter(lambda text: "?" not in text and "#" not in text)),
    params=st.dictionaries(printable.filter(lambda text: "#" not in text), texts, max_size=2),
    headers=st.dictionaries(st.sampled_from(["If-None-Match", "accept", "X-Key", "Host"]), printable, max_size=2),
    token=st.builds("token-{}".format, printable),
    answer=answers,
)
def test_both_ways_are_one(
    path: str,
    params: dict[str, str],
    headers: dict[str, str],
    token: str,
    answer: tuple[bytes, list[bytes], bytes],
) -> None:
    head, fields, body = answer
    sent = b"\r\n".join([head, *fields, b"", body])
    direct = asyncio.run(heard_and_made(path, params, headers, token, sent))
    with patch.object(direct_way, "KNOWN_VERSIONS", frozenset()):
        usual = asyncio.run(heard_and_made(path, params, headers, token, sent))

    assert direct == usual


def test_this_version_is_known() -> None:
    assert aiohttp.__version__ in KNOWN_VERSIONS, "run tests/http with it, then add it"
    assert may_be_taken()


async def test_what_it_does_not_take_goes_the_usual_way() -> None:
    async with aiohttp.ClientSession() as session:
        own: dict[str, str] = {}
        direct = Direct(session, URL("http://h.example"), own, 1.0)

        assert direct.head("http://h.example", URL("http://h.example/a"), own)
        assert direct.head("http://h.example", URL("http://h.example/a"), {"A": "é"}) is None
        assert direct.head("http://h.example", URL("http://h.example/a\x01b", encoded=True), own) is None
        assert direct.head("http://other.example", URL("http://other.example/a"), own) is None
