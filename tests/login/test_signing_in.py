"""Signing in: the questions, the requests of browsers and others to the port, and pasted addresses."""

from __future__ import annotations

import asyncio
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from exporter.errors import ClientRefused, NotAuthorised, ServiceError, UsageError, WrongSignInAnswer
from exporter.login.protocol import OAuthAddresses, SignInAttempt, read_tokens
from exporter.login.sign_in import sign_in, sign_out
from exporter.login.store import SignInStore
from exporter.settings import Settings, resolve
from tests.login.conftest import visited
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer

FAR = OAuthAddresses("https://api.example.jp", "https://api.example.jp/oauth?x=1", "https://api.example.jp/t", None)


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch, home: dict[str, str]) -> None:
    for name, value in home.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def settings(server: OAuthServer) -> Settings:
    return resolve({"base_url": server.base_url, "retries": "1"})


@pytest.fixture
def store(tmp_path: Path) -> SignInStore:
    return SignInStore(tmp_path / "data" / "blog-exporter")


class Person:
    """Answers questions, and records the output."""

    def __init__(self, *answers: str | Callable[[str], str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, bool]] = []
        self.said: list[str] = []

    def __call__(self, question: str, /, *, hidden: bool = False) -> str:
        self.asked.append((question, hidden))
        answer = self.answers.pop(0)
        return answer if isinstance(answer, str) else answer(self.address)

    @property
    def address(self) -> str:
        return next(line for line in reversed(self.said) if line.startswith("http"))

    def say(self, text: str) -> None:
        self.said.append(text)


def get(address: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def test_the_address_for_the_browser(server: OAuthServer, settings: Settings, store: SignInStore) -> None:
    settings = replace(settings, oauth_scope="blog.read user", oauth_scope_separator=",")
    person = Person(visited)
    done = await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)
    asked = {name: value for name, (value,) in parse_qs(urlsplit(person.address).query).items()}
    assert asked.pop("redirect_uri").startswith("http://127.0.0.1:")
    assert len(asked.pop("state")) >= 32
    assert len(asked.pop("code_challenge")) == 43
    assert asked == {
        "response_type": "code", "client_id": CLIENT_ID, "scope": "blog.read,user", "code_challenge_method": "S256",
    }  # fmt: skip
    assert server.counts["scope blog.read,user"] == 1
    assert done.sign_in.account == ""
    assert "an address that begins with http://127.0.0.1:" in person.said[2]


async def test_client_id_and_secret_are_asked_for(
    server: OAuthServer, settings: Settings, store: SignInStore, tmp_path: Path
) -> None:
    settings = replace(settings, oauth_client_id=None, client_secret=None, oauth_pkce=False)
    person = Person(CLIENT_ID, CLIENT_SECRET, visited)
    done = await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)
    assert [hidden for _, hidden in person.asked] == [False, True, False]
    assert (done.sign_in.client_id, done.sign_in.client_secret) == (CLIENT_ID, CLIENT_SECRET)
    assert "code_challenge" not in person.address
    with pytest.raises(UsageError, match="needs a client ID"):
        await sign_in(settings, ask=Person(""), open_browser=None, store=SignInStore(tmp_path / "empty"))
    known = replace(settings, oauth_client_id=CLIENT_ID, client_secret="wr0ng-s3cret")
    wrong = Person(visited)
    with pytest.raises(ClientRefused, match=r"invalid_client.*Check oauth_client_id and its secret") as caught:
        await sign_in(known, ask=wrong, open_browser=None, say=wrong.say, store=store)
    assert "wr0ng" not in str(caught.value)


async def test_a_wrongly_pasted_address_is_reported(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    async def attempt(answer: str | Callable[[str], str]) -> str:
        person = Person(answer)
        with pytest.raises(NotAuthorised) as caught:
            await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)
        return str(caught.value)

    assert "No address was given" in await attempt(" ")
    assert "another state, or none" in await attempt("http://127.0.0.1:1/?code=c&state=s")
    assert "another state, or none" in await attempt("not an address")
    assert "refused on the service's page (access_denied)" in await attempt(lambda each: visited(each, "deny"))
    assert "no longer accepts this sign-in (invalid_grant" in await attempt(
        lambda each: visited(each).replace("code=code-", "code=other-")
    )
    assert store.accounts(server.base_url) == []


async def test_the_code_is_pasted_from_a_registered_address(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    settings = replace(settings, oauth_redirect_uri="https://me.example/back")
    person = Person(visited)
    await sign_in(settings, ask=person, open_browser=lambda _: True, say=person.say, store=store)
    assert "https://me.example/back" in person.said[2]


async def test_the_command_listens_at_a_registered_port(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.listen()
        settings = replace(settings, oauth_redirect_uri=f"http://localhost:{port}/back")
        with pytest.raises(UsageError, match=f"Cannot wait for the browser on port {port}"):
            await sign_in(settings, ask=Person(), open_browser=lambda _: True, store=store)
    opened: list[str] = []

    def browser(address: str) -> bool:
        opened.append(visited(address))
        status, page = get(opened[0])
        return status == 200 and "Signed in" in page

    await sign_in(settings, ask=Person(), open_browser=browser, store=store)
    assert opened[0].startswith(f"http://localhost:{port}/back?code=")


async def test_strangers_at_the_port_change_nothing(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    seen: list[int] = []
    codes: list[str] = []
    last: Future[tuple[int, str]] = Future()

    def browser(address: str) -> bool:
        back = visited(address)
        parts = urlsplit(back)
        root = f"http://{parts.netloc}"
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as silent:
            silent.sendall(b"GET / HT")
            with socket.create_connection((parts.hostname or "", parts.port or 0)) as endless:
                endless.sendall(b"GET /" + b"x" * 40_000)
                seen.append(get(f"{root}/favicon.ico")[0])
                seen.append(get(f"{root}/?code=evil&state=guess")[0])
                seen.append(get(f"{root}/?error=access_denied&state=guess")[0])
                seen.append(get(f"{root}/?error=access_denied")[0])
                seen.append(get(back, Host="evil.example")[0])
                seen.append(get(back.replace("127.0.0.1", "127.0.0.1"), Host="127.0.0.1:1")[0])
        codes.extend(parse_qs(parts.query)["code"])
        last.set_result(get(back))
        return True

    person = Person()
    await sign_in(settings, ask=person, open_browser=browser, say=person.say, store=store)
    status, page = await asyncio.to_thread(last.result, 30)  # the browser may read its page after the sign-in ended
    assert [*seen, status] == [404, 400, 400, 400, 404, 404, 200]
    assert len(codes) == 1
    assert codes[0] not in page
    assert sum("and was ignored" in line for line in person.said) == 3


async def test_no_browser_a_refusal_and_no_answer(server: OAuthServer, settings: Settings, store: SignInStore) -> None:
    person = Person(visited)
    await sign_in(settings, ask=person, open_browser=lambda _: False, say=person.say, store=store)
    assert "No browser could be opened here." in person.said

    page: Future[str] = Future()

    def refusing(address: str) -> bool:
        page.set_result(get(visited(address, "deny"))[1])
        return True

    with pytest.raises(NotAuthorised, match="access_denied"):
        await sign_in(settings, ask=Person(), open_browser=refusing, store=store)
    assert "Not signed in" in await asyncio.to_thread(page.result, 30)
    with pytest.raises(NotAuthorised, match="Nobody signed in within 1 min"):
        await sign_in(settings, ask=Person(), open_browser=lambda _: True, store=store, wait=0.2)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"base_url": None}, "Sign in where"),
        ({"base_url": "http://api.example.jp"}, "base_url is http://api.example.jp: .*needs an https:// address"),
        ({"base_url": "https://x.example", "oauth_token_url": "http://x.example/t?s3cret"}, "oauth_token_url is http"),
        ({"base_url": "https://x.example", "oauth_authorize_url": "nowhere"}, "must look like https://HOST"),
        ({"base_url": "https://x.example", "oauth_revoke_url": "https://me:pw@x.example"}, "oauth_revoke_url must not"),
    ],
)
async def test_invalid_addresses(changed: dict[str, str | None], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        await sign_in(Settings(**changed), ask=Person(), open_browser=None)  # type: ignore[arg-type]  # of any type
    assert "s3cret" not in str(caught.value)


def test_an_address_of_the_service_keeps_its_own_parameters() -> None:
    made = SignInAttempt(FAR, "me", "http://127.0.0.1:5/", scope="", pkce=False)
    assert made.address.startswith("https://api.example.jp/oauth?x=1&response_type=code&client_id=me&")
    with pytest.raises(WrongSignInAnswer):
        made.code_in(f"https://[/?state={made.state}")
    with pytest.raises(WrongSignInAnswer, match="holds no code"):
        made.code_in(f"http://127.0.0.1:5/?state={made.state}")
    with pytest.raises(NotAuthorised, match=r"\(strange: why\\n\)|\(strange"):
        made.code_in(f"http://127.0.0.1:5/?state={made.state}&error=strange&error_description=why%0a")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"<html>"),
        (200, b"[1]"),
        (200, b"[" * 100_000),
        (200, b'{"token_type": "Bearer"}'),
        (200, b'{"access_token": 5}'),
        (200, b'{"access_token": ""}'),
        (400, b'{"access_token": "t"}'),
        (200, b'{"access_token": "t", "scope": 5}'),
    ],
)
def test_an_answer_without_a_token(status: int, body: bytes) -> None:
    with pytest.raises(ServiceError, match="gave no token: check oauth_token_url"):
        read_tokens(status, body, 0.0)


def test_an_answer_with_an_expiry_time() -> None:
    found = read_tokens(200, b'{"access_token": "t", "expires": 1700000000, "refresh_token": 5}', 1.6e9)
    assert (found.expires_at, found.refresh_token) == (1.7e9, None)
    found = read_tokens(200, b'{"access_token": "t", "expires": 1e300, "refresh_token_expires_in": "60"}', 100.0)
    assert found.refresh_ends_at == 160.0
    assert found.expires_at is not None
    assert found.expires_at < 1e10
    assert "t" not in repr(found).split("(")[1].split("expires")[0]


async def test_a_token_that_is_invalid_in_a_header_is_refused(
    server: OAuthServer, settings: Settings, store: SignInStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_secret", lambda kind: f"{kind}\n{len(server.codes)}" if kind == "access" else kind)
    person = Person(visited)
    with pytest.raises(UsageError, match="the token holds"):
        await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)
    assert store.accounts(server.base_url) == []


async def test_signing_out_revokes_the_tokens(server: OAuthServer, settings: Settings, store: SignInStore) -> None:
    assert await sign_out(settings, store=store) is None
    settings = replace(settings, oauth_revoke_url=f"{server.base_url}/oauth/revoke")

    async def again() -> None:
        person = Person(visited)
        await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)

    await again()
    done = await sign_out(settings, store=store)
    assert done is not None
    assert (done.revoked, server.counts["revoked"], store.accounts(server.base_url)) == (True, 2, [])
    await again()
    server.manners = replace(server.manners, revokes=False)
    done = await sign_out(settings, store=store)
    assert done is not None
    assert done.revoked is False
    settings = replace(settings, oauth_revoke_url="http://127.0.0.1:9/")
    await again()
    done = await sign_out(settings, store=store)
    assert done is not None
    assert "cannot connect" in done.reason
    assert store.accounts(server.base_url) == []
