"""Staying signed in: tokens expire during a run, are renewed once by the first caller, or cannot be renewed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pytest
from aiohttp import web

from exporter.clock import SystemClock
from exporter.demo.content import Blog
from exporter.errors import NotAuthorised, ServiceError, UsageError
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.login.facts import ending_notice, sign_in_ends, token_facts
from exporter.login.sign_in import sign_in
from exporter.login.source import credentials_for
from exporter.login.store import SignIn, SignInStore
from exporter.model.exchange import Request, Response
from exporter.settings import Settings, resolve
from tests.login.conftest import visited_here
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_SECRET, OAuthServer, guarded
from tests.support.runs import ROOT, Runs, backup_command, folded, held

USER = Request("user", "/v1/user", {}, {})


class Later(SystemClock):
    """A clock that is some seconds ahead, and never waits."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        return


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch, home: dict[str, str]) -> None:
    for name, value in home.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def settings(server: OAuthServer) -> Settings:
    return settings_of(server)


def settings_of(server: OAuthServer, **more: str) -> Settings:
    return resolve({"base_url": server.base_url, "retries": "2", **more})


@pytest.fixture
def store(tmp_path: Path) -> SignInStore:
    return SignInStore(tmp_path / "data" / "blog-exporter")


def browser(decision: str = "allow") -> Callable[[str], bool]:
    def open_address(address: str) -> bool:
        visited_here(address, decision)
        return True

    return open_address


def nobody(question: str, /, *, hidden: bool = False) -> str:
    raise AssertionError(question)


async def signed_in(settings: Settings, store: SignInStore, **how: Any) -> SignIn:
    return (await sign_in(settings, ask=nobody, open_browser=browser(), store=store, **how)).sign_in


class Caller:
    """Sends requests to the service as a run does."""

    def __init__(self, settings: Settings, store: SignInStore, clock: Later | None = None) -> None:
        self.settings, self.store, self.clock = settings, store, clock or Later()

    async def __aenter__(self) -> Self:
        self.engine = await Engine(clock=self.clock).__aenter__()
        source = credentials_for(self.settings, self.engine, store=self.store, clock=self.clock)
        self.client = self.engine.client(self.settings.base_url or "", source, policy=RetryPolicy(retries=1))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.__aexit__(None, None, None)

    async def ask(self) -> int:
        def parse(response: Response) -> int:
            if response.status == 401:
                raise NotAuthorised(response.advice + response.body.decode())
            return response.status

        return await self.client.fetch(USER, parse)


async def test_a_token_is_renewed_before_it_expires(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    first = await signed_in(settings, store)
    assert first.expires_at is not None
    clock = Later()
    async with Caller(settings, store, clock) as caller:
        assert await caller.ask() == 200
        assert server.counts["refreshed"] == 0
        clock.seconds = 3600 - 299
        assert await caller.ask() == 200
        assert await caller.ask() == 200
    assert (server.counts["refreshed"], server.counts["401"]) == (1, 0)
    now = store.read(first.origin, "")
    assert now is not None
    assert now.access_token != first.access_token
    assert now.refresh_token not in {None, first.refresh_token}
    assert now.client_secret == CLIENT_SECRET


async def test_a_token_that_is_refused_is_renewed_once(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    import asyncio  # noqa: PLC0415

    await signed_in(settings, store)
    async with Caller(settings, store) as caller:
        assert await caller.ask() == 200
        server.expire_all()
        assert await asyncio.gather(*(caller.ask() for _ in range(6))) == [200] * 6
    assert server.counts["refreshed"] == 1


async def test_a_revoked_token_is_reported(server: OAuthServer, settings: Settings, store: SignInStore) -> None:
    first = await signed_in(settings, store)
    server.revoke_all()
    async with Caller(settings, store) as caller:
        with pytest.raises(NotAuthorised, match="Run: blog-exporter login --base-url") as caught:
            await caller.ask()
    assert caught.value.exit_code == 12
    assert not [each for each in first.secrets if each in str(caught.value)]


async def test_a_refresh_that_fails_at_first_is_tried_again(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    await signed_in(settings, store)
    server.manners = replace(server.manners, failures=2)
    server.expire_all()
    async with Caller(settings, store) as caller:
        assert await caller.ask() == 200
    assert (server.counts["500"], server.counts["refreshed"]) == (2, 1)


async def test_a_refresh_that_fails_for_good_ends_the_run_only_after_the_token_expired(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    await signed_in(settings, store)
    server.manners = replace(server.manners, failures=99)
    clock = Later(3600 - 10)
    async with Caller(settings, store, clock) as caller:
        assert await caller.ask() == 200
        assert await caller.ask() == 200
        assert server.counts["500"] == 3  # no second try at once
        server.expire_all()
        with pytest.raises(ServiceError, match=r"could not be renewed: .*500.*Run again later") as caught:
            await caller.ask()
    assert caught.value.exit_code == 20


async def test_without_a_refresh_token_one_must_sign_in_again(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    server.manners = replace(server.manners, refreshes=False, said="36000")
    before = datetime.now(UTC)
    await signed_in(settings, store)
    ends = sign_in_ends(settings, store=store)
    assert ends is not None
    assert timedelta(hours=10) <= ends - before < timedelta(hours=10, minutes=1)
    async with Caller(settings, store) as caller:
        assert await caller.ask() == 200
        server.expire_all()
        with pytest.raises(NotAuthorised, match=r"issued no refresh token\. Sign in again: blog-exporter login"):
            await caller.ask()


@pytest.mark.parametrize(
    ("said", "known"), [(None, False), ("soon", False), (0, False), (True, False), (1e400, False), (7.5, True)]
)
async def test_the_lifetime_of_a_token_may_have_any_form(
    server: OAuthServer, settings: Settings, store: SignInStore, said: Any, known: bool
) -> None:
    server.manners = replace(server.manners, refreshes=False, said=said)
    assert ((await signed_in(settings, store)).expires_at is not None) is known
    assert (sign_in_ends(settings, store=store) is not None) is known


async def test_a_deleted_sign_in_and_one_of_another_account(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    mine = await signed_in(replace(settings, account="me"), store)
    other = await signed_in(replace(settings, account="you"), store)
    assert store.accounts(mine.origin) == ["me", "you"]
    with pytest.raises(UsageError, match=r"Several accounts .*\(me, you\): choose one with --account"):
        token_facts(settings, store=store)
    async with Caller(replace(settings, account="you"), store) as caller:
        assert await caller.ask() == 200
    sent = [each.headers.get("Authorization") for each in server.service.requests if each.path == "/v1/user"]
    assert sent == [f"Bearer {other.access_token}"]
    with pytest.raises(NotAuthorised, match=r"as them\. Sign in: blog-exporter login --account them"):
        async with Caller(replace(settings, account="them"), store):
            pass
    async with Caller(replace(settings, account="me"), store) as caller:
        store.remove(mine)
        with pytest.raises(NotAuthorised, match=r"any more\. Sign in: blog-exporter login"):
            await caller.ask()
    assert token_facts(settings, store=store).account == "you"


async def test_without_any_token_the_message_says_to_sign_in(settings: Settings, store: SignInStore) -> None:
    async with Caller(settings, store) as caller:
        with pytest.raises(
            NotAuthorised, match=r"^set BLOG_EXPORTER_TOKEN .*, or sign in: blog-exporter login --base-url http://\S+"
        ):
            await caller.ask()
    assert token_facts(settings, store=store).place.startswith("nowhere")
    assert token_facts(Settings(), store=store).place.startswith("nowhere")
    assert sign_in_ends(settings, store=store) is None


async def test_a_refused_token_is_reported_with_its_source(
    server: OAuthServer, store: SignInStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "wr0ng-token-1")
    async with Caller(settings_of(server), store) as caller:
        with pytest.raises(NotAuthorised, match=r"the token \(variable BLOG_EXPORTER_TOKEN\) was refused") as caught:
            await caller.ask()
    assert "wr0ng" not in str(caught.value)
    assert server.counts["401"] == 1


async def test_a_token_in_the_address_is_sent_but_not_shown(server: OAuthServer, store: SignInStore) -> None:
    settings = settings_of(server, auth_query="access_token")
    first = await signed_in(settings, store)
    heard: list[str] = []
    async with Caller(settings, store) as caller:
        assert await caller.ask() == 200
        server.access.clear()
        server.refresh.clear()
        with pytest.raises(NotAuthorised) as caught:
            await caller.ask()
        heard.append(str(caught.value))
    asked = [each for each in server.service.requests if each.path == "/v1/user"]
    assert asked[0].params == {"access_token": first.access_token}
    assert not [each for each in asked if "Authorization" in each.headers]
    assert not [secret for secret in server.issued for text in heard if secret in text]


async def test_a_notice_comes_days_before(server: OAuthServer, settings: Settings, store: SignInStore) -> None:
    server.manners = replace(server.manners, refreshes=False, said=30 * 86400)
    await signed_in(settings, store)
    now, warned = datetime.now(UTC), list[str]()

    def notice(days: float) -> str | None:
        return ending_notice(settings, now + timedelta(days=days), warned.append)

    assert notice(0) is None
    assert "ends at" in (notice(24) or "")
    assert "ended at" in (notice(31) or "")
    assert "must look like" in (ending_notice(Settings(base_url="ftp://x"), now, warned.append) or "")
    assert "must look like" in (ending_notice(Settings(base_url="http://[x"), now, warned.append) or "")
    assert ending_notice(Settings(), now, warned.append) is None
    assert warned == []


# From here on the real command, in separate processes.


@pytest.fixture
def short_lived(blog: Blog) -> Iterator[OAuthServer]:
    with guarded(generated_blog(40, 5, 5), lifetime=60.0) as running:
        yield running


def test_a_token_that_expires_during_a_run_does_not_fail_it(
    runs: Runs, short_lived: OAuthServer, home: dict[str, str], tmp_path: Path
) -> None:
    server, root = short_lived, tmp_path / "archive"
    outputs = [runs.run("login", "--base-url", server.base_url, environ=home)]
    entries = 0

    async def before(request: web.Request) -> web.StreamResponse | None:
        nonlocal entries
        if request.path == "/blog/v1/entry/get":
            entries += 1
            if entries in {10, 30}:
                server.expire_all()
        return await server.before(request)

    server.service.before = before
    command = backup_command(server.service, root, "--no-site", "--assets", "none", "--concurrency", 2, "-vv", "--json")
    outputs.append(runs.run(*command, environ=home))
    assert [each.code for each in outputs] == [0, 0], outputs
    assert server.counts["refreshed"] >= 2
    assert folded(root) == held(next(iter(server.service.blogs.values())))
    server.revoke_all()
    outputs.append(runs.run(*command, environ=home))
    assert outputs[-1].code == 12
    assert "blog-exporter login --base-url" in outputs[-1].err
    outputs.append(runs.run("status", root, environ=home))
    outputs.append(runs.run("whoami", "--base-url", server.base_url, "-vv", environ=home))
    secrets = [*server.issued, CLIENT_SECRET]
    assert len(secrets) > 5
    texts = [each.out + each.err for each in outputs]
    texts += [str(path) if path.is_dir() else path.read_bytes().decode("latin-1") for path in root.rglob("*")]
    assert not [secret for secret in secrets for text in texts if secret in text]


@pytest.mark.thorough
def test_two_runs_at_once_renew_it_once(server: OAuthServer, runs: Runs, home: dict[str, str], tmp_path: Path) -> None:
    assert runs.run("login", "--base-url", server.base_url, environ=home).code == 0
    server.expire_all()
    server.manners = replace(server.manners, slow=0.7)
    words = [sys.executable, "-m", "exporter", "whoami", "--base-url", server.base_url]
    both = [
        subprocess.Popen(words, cwd=ROOT, env={**os.environ, **home}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    lines = []
    for process in both:
        lines.append(Path(f"/proc/{process.pid}/cmdline").read_bytes())
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert b"Signed in with blog-exporter login" in out
    assert (server.counts["refreshed"], server.counts["invalid_grant"]) == (1, 0)
    assert not [secret for secret in server.issued for line in lines if secret.encode() in line]


def test_a_status_warns_of_an_expiring_sign_in(
    runs: Runs, server: OAuthServer, home: dict[str, str], tmp_path: Path
) -> None:
    server.manners = replace(server.manners, refreshes=False, said="36000")
    environ = {**home, "BLOG_EXPORTER_BASE_URL": server.base_url}
    done = runs.run("login", environ=environ)
    assert "It ends at" in done.err
    root = tmp_path / "archive"
    assert runs.run(*backup_command(server.service, root, "--no-site", "--assets", "none"), environ=environ).code == 0
    status = runs.run("status", root, "-q", environ=environ)
    assert (status.code, status.out) == (0, "")
    assert "Sign in again before that: blog-exporter login --base-url" in status.err
