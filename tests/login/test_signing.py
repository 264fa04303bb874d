"""Requests are signed when they are sent, each with a proof of its own, and no secret is in a message."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from exporter.errors import UsageError
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.login.signing import OAuth1, Wsse
from exporter.login.source import credentials_for
from exporter.settings import Settings, resolve
from tests.http.clocks import JumpClock

KEY = "k3y/of+the=blog"


def wsse(header: str) -> dict[str, str]:
    return dict(re.findall(r'(\w+)="([^"]*)"', header))


def test_the_digest_is_that_of_the_documents() -> None:
    headers = Wsse("mika", KEY).headers("GET", "https://blog.example/")
    assert headers["Authorization"] == 'WSSE profile="UsernameToken"'
    token = wsse(headers["X-WSSE"])
    whole = base64.b64decode(token["Nonce"]) + token["Created"].encode() + KEY.encode()
    assert token["PasswordDigest"] == base64.b64encode(hashlib.sha1(whole).digest()).decode()
    assert token["Username"] == "mika"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", token["Created"])


@pytest.mark.parametrize("signer", [Wsse("mika", KEY), OAuth1("consumer", "its secret", "token", "its own")])
def test_no_two_requests_have_the_same_proof(signer: Wsse | OAuth1) -> None:
    made = [signer.headers("GET", "https://blog.example/a?b=c%20d")[signer.header] for _ in range(50)]
    assert len(set(made)) == 50


@pytest.mark.parametrize("signer", [Wsse("mika", KEY), OAuth1("consumer", "its secret", "token", "its own")])
def test_secrets_are_not_shown(signer: Wsse | OAuth1) -> None:
    credentials = Credentials(signer=signer)
    shown = f"{signer!r} {credentials!r}"
    assert not [secret for secret in signer.secrets if f"'{secret}'" in shown]
    said = credentials.redactor(f"the answer repeats {' '.join(signer.secrets)}")
    assert said == f"the answer repeats {' '.join('***' for _ in signer.secrets)}"
    assert credentials.headers == {}
    assert credentials.token_header == signer.header


def test_a_request_that_waits_is_signed_when_it_is_sent() -> None:
    clock = JumpClock()
    signer = Wsse("mika", KEY, clock)
    first = wsse(signer.headers("GET", "https://blog.example/")["X-WSSE"])["Created"]
    clock.advance(3600)
    assert wsse(signer.headers("GET", "https://blog.example/")["X-WSSE"])["Created"] > first


@pytest.mark.parametrize("user", ['a"b', "a\nb", "ミカ"])
def test_a_name_that_no_header_can_have_is_refused(user: str) -> None:
    with pytest.raises(UsageError):
        Wsse(user, KEY)


def settings(**given: Any) -> Settings:
    return Settings(base_url="https://blog.example", **given)


async def source(wanted: Settings) -> Any:
    async with Engine() as engine:
        return await credentials_for(wanted, engine).credentials()


async def test_each_authentication_makes_its_credentials() -> None:
    assert (await source(settings(token="t"))).headers == {"Authorization": "Bearer t"}
    assert (await source(settings(token="t", user="u"))).headers == {"Authorization": "Basic dTp0"}
    assert (await source(settings(token="t", user="u", auth="bearer"))).headers == {"Authorization": "Bearer t"}
    assert isinstance((await source(settings(token="t", user="u", auth="wsse"))).signer, Wsse)
    four = settings(token="t", auth="oauth1", oauth_client_id="c", client_secret="s", token_secret="x")
    assert isinstance((await source(four)).signer, OAuth1)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"auth": "basic"}, "--user"),
        ({"auth": "wsse"}, "--user"),
        ({"auth": "oauth1"}, "four values"),
        ({"auth": "oauth1", "oauth_client_id": "c", "client_secret": "s"}, "BLOG_EXPORTER_TOKEN_SECRET"),
    ],
)
async def test_a_missing_part_is_named(given: dict[str, str], missing: str) -> None:
    with pytest.raises(UsageError, match=missing):
        await source(settings(token="t", **given))


@pytest.mark.thorough
async def test_a_command_may_print_the_key(tmp_path: Path) -> None:
    printed = tmp_path / "key"
    printed.write_text(KEY)
    wanted = settings(token_command=f"cat {printed}", user="mika", auth="wsse")
    async with Engine() as engine:
        source = credentials_for(wanted, engine)
        first = await source.credentials()
        assert isinstance(first.signer, Wsse)
        assert source.redactor(f"x {KEY}") == "x ***"
        assert await source.renewed(first) is None
        printed.write_text("another key")
        renewed = await source.renewed(await source.credentials())
        assert renewed is not None
        assert renewed.signer is not None
        assert renewed.signer.secrets == ("another key",)


async def test_signed_requests_give_no_warning_about_the_token() -> None:
    warned: list[str] = []
    async with Engine() as engine:
        for auth in ("wsse", "basic"):
            wanted = Settings(base_url="http://blog.example", token="t", user="u", auth=auth)
            credentials_for(wanted, engine, warn=warned.append)
    assert len(warned) == 1


def test_the_secret_of_a_token_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("from a file\n")
    path.chmod(0o600)
    assert resolve({"token_secret_file": str(path)}, environ={}).token_secret == "from a file"
    environ = {"BLOG_EXPORTER_TOKEN_SECRET": "from the environment"}
    found = resolve({"token_secret_file": str(path)}, environ=environ)
    assert found.token_secret == "from the environment"
    assert "from the environment" not in repr(found)
    assert found.without_secrets().token_secret is None
