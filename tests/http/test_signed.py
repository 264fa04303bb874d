"""A signed request gets new headers each time it is sent, and no other host gets them."""

from __future__ import annotations

import pytest
from aiohttp import web

from exporter.errors import RedirectRefused
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.login.signing import OAuth1, Wsse
from exporter.model.exchange import Request, Response
from exporter.service.answers import refusal
from tests.http.clocks import JumpClock
from tests.http.service import Service

REQUEST = Request("entry", "/atom/entry", {"page": "13 7/5"}, {"Accept": "application/xml"})
SIGNERS = [Wsse("mika", "the key"), OAuth1("consumer", "secret one", "the token", "secret two")]


def body(response: Response) -> bytes:
    return response.body


@pytest.mark.parametrize("signer", SIGNERS, ids=["wsse", "oauth1"])
async def test_a_retry_is_signed_again(service: Service, clock: JumpClock, signer: Wsse | OAuth1) -> None:
    answers = [500, 503, 200]

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=answers.pop(0), body=b"done")

    service.handler = answer
    async with Engine(clock=clock) as engine:
        client = engine.client(service.url, Credentials(signer=signer), policy=RetryPolicy(retries=3))
        assert await client.fetch(REQUEST, body) == b"done"
    proofs = [request.headers[signer.header] for request in service.seen]
    assert len(set(proofs)) == 3
    assert {request.headers["Accept"] for request in service.seen} == {"application/xml"}


@pytest.mark.parametrize("signer", SIGNERS, ids=["wsse", "oauth1"])
async def test_a_redirect_is_signed_for_its_own_address(
    service: Service, clock: JumpClock, signer: Wsse | OAuth1
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/new":
            return web.Response(body=b"moved")
        return web.Response(status=307, headers={"Location": "/new"})

    service.handler = answer
    async with Engine(clock=clock) as engine:
        assert await engine.client(service.url, Credentials(signer=signer)).fetch(REQUEST, body) == b"moved"
    first, second = (request.headers[signer.header] for request in service.seen)
    assert first != second


@pytest.mark.parametrize("signer", SIGNERS, ids=["wsse", "oauth1"])
async def test_another_host_gets_no_proof(service: Service, clock: JumpClock, signer: Wsse | OAuth1) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        target = str(request.url.with_host("localhost").with_path("/stolen"))
        return web.Response(status=302, headers={"Location": target})

    service.handler = answer
    async with Engine(clock=clock) as engine:
        with pytest.raises(RedirectRefused) as caught:
            await engine.client(service.url, Credentials(signer=signer)).fetch(REQUEST, body)
    assert [request.path for request in service.seen] == ["/atom/entry"]
    assert not [secret for secret in signer.secrets if secret in str(caught.value)]


@pytest.mark.parametrize("signer", SIGNERS, ids=["wsse", "oauth1"])
async def test_an_answer_that_repeats_a_secret_is_cleaned(
    service: Service, clock: JumpClock, signer: Wsse | OAuth1
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=400, text=" ".join(signer.secrets))

    service.handler = answer

    def refused(response: Response) -> bytes:
        raise refusal(REQUEST, response, response.body.decode())

    async with Engine(clock=clock) as engine:
        with pytest.raises(Exception, match=r"\*\*\*") as caught:
            await engine.client(service.url, Credentials(signer=signer)).fetch(REQUEST, refused)
    shown = f"{caught.value} {vars(caught.value)}"
    assert not [secret for secret in signer.secrets if secret in shown]
