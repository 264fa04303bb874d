"""Asking the address that gives tokens, and the one that takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from exporter.clock import Clock
from exporter.http.credentials import Credentials
from exporter.http.deadline import Timeouts
from exporter.http.retry import RetryPolicy
from exporter.login.protocol import Tokens, read_tokens
from exporter.model.exchange import Request, Response

if TYPE_CHECKING:
    from exporter.http.engine import Client, Engine

_LARGEST: Final = 1 << 18
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_GIVE_UP_AFTER: Final = 120.0


async def ask_for_tokens(
    engine: Engine, address: str, content: bytes, secrets: list[str], clock: Clock, retries: int
) -> Tokens:
    """Send a token request, again where that may help.

    Args:
        engine: sends it.
        address: where to; nothing is sent to any other place, redirects are not followed.
        content: the request, which holds secrets.
        secrets: kept out of every message.
        clock: tells when the tokens came.
        retries: how often it is sent again.

    Raises:
        SignInRevoked, NotAuthorised: the service refuses.
        ServiceError: it gives no usable answer.
    """

    def parse(response: Response) -> Tokens:
        return read_tokens(response.status, response.body, clock.now().timestamp())

    return await _client(engine, address, secrets, retries).fetch(_request(address, content, "sign-in"), parse)


async def give_back(engine: Engine, address: str, content: bytes, secrets: list[str]) -> bool:
    """Send a revocation request (RFC 7009), and tell whether the service took it.

    Raises:
        ServiceError: it gives no usable answer.
    """
    client = _client(engine, address, secrets, 1)
    return await client.fetch(_request(address, content, "sign-out"), lambda response: response.status < 300)


def _client(engine: Engine, address: str, secrets: list[str], retries: int) -> Client:
    parts = urlsplit(address)
    return engine.client(
        f"{parts.scheme}://{parts.netloc}",
        Credentials(secrets=tuple(secrets)),
        timeouts=Timeouts(),
        max_body=_LARGEST,
        policy=RetryPolicy(retries=retries, give_up_after=_GIVE_UP_AFTER),
        concurrency=8,
    )


def _request(address: str, content: bytes, operation: str) -> Request:
    parts = urlsplit(address)
    params = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Request(operation, parts.path or "/", params, _FORM, "POST", content)
