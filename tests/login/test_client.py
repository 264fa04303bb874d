"""The client ID: its explanation, the refusal of wrong ones when it is asked for, and how it is remembered."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.errors import UsageError
from exporter.login.client import client_explained, client_refusal, known_client
from exporter.login.sign_in import sign_in
from exporter.login.store import SignInStore
from exporter.service.registry import PROFILES
from exporter.settings import Settings, resolve
from tests.login.conftest import visited
from tests.login.test_signing_in import Person
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer


@pytest.fixture
def settings(server: OAuthServer) -> Settings:
    """The service without a known client."""
    return replace(resolve({"base_url": server.base_url, "retries": "1"}, environ={}), sign_in_store="file")


@pytest.fixture
def store(tmp_path: Path) -> SignInStore:
    return SignInStore(tmp_path / "data")


async def test_a_wrong_id_is_refused_at_its_question_and_asked_for_again(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    person = Person("wr0ng-id", CLIENT_ID, CLIENT_SECRET, visited)
    done = await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)
    assert done.sign_in.client_id == CLIENT_ID
    assert [hidden for _, hidden in person.asked] == [False, False, True, False]
    (complaint,) = [line for line in person.said if "answers 400 to this client ID" in line]
    assert "Please type it again." in complaint
    assert "or http://127.0.0.1/ is not registered as its redirect address" in complaint
    # The explanation comes before the first question, and nothing was opened for the wrong ID.
    assert person.said[0].startswith("To save drafts and private entries you sign in, and that needs a client ID:")
    assert sum(line.startswith("http") for line in person.said) == 1


async def test_a_wrong_secret_is_asked_for_again(server: OAuthServer, settings: Settings, store: SignInStore) -> None:
    person = Person(CLIENT_ID, "wr0ng-s3cret", visited, CLIENT_ID, CLIENT_SECRET, visited)
    done = await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)
    assert done.sign_in.client_secret == CLIENT_SECRET
    assert server.counts["invalid_client"] == 1
    assert sum("The service refuses the client ID or its secret (invalid_client" in line for line in person.said) == 1
    assert not any("wr0ng" in line for line in person.said)


async def test_an_empty_answer_ends_the_sign_in_with_the_ways_without_one(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    person = Person("wr0ng-id", "")
    with pytest.raises(UsageError, match=r"--token-file.*--service public-site"):
        await sign_in(settings, ask=person, open_browser=None, say=person.say, store=store)
    assert store.accounts(server.base_url) == []


async def test_the_client_of_a_sign_in_is_not_asked_for_again(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    first = Person(CLIENT_ID, CLIENT_SECRET, visited)
    await sign_in(settings, ask=first, open_browser=None, say=first.say, store=store)
    for account in (None, "family"):
        again = Person(visited)
        await sign_in(
            replace(settings, account=account), ask=again, open_browser=None, say=again.say, store=store
        )  # fmt: skip
        assert len(again.asked) == 1
        assert not any("client ID" in line for line in again.said)
    assert store.accounts(server.base_url) == ["", "family"]


async def test_a_remembered_secret_goes_to_no_other_address(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    first = Person(CLIENT_ID, CLIENT_SECRET, visited)
    await sign_in(settings, ask=first, open_browser=None, say=first.say, store=store)
    elsewhere = replace(settings, oauth_token_url=f"{server.base_url}/elsewhere")
    assert known_client(settings, store) is not None
    assert known_client(elsewhere, store) is None


async def test_a_remembered_client_that_the_service_no_longer_knows_is_asked_for(
    server: OAuthServer, settings: Settings, store: SignInStore
) -> None:
    first = Person(CLIENT_ID, CLIENT_SECRET, visited)
    made = await sign_in(settings, ask=first, open_browser=None, say=first.say, store=store)
    store.write(replace(made.sign_in, client_secret="0ld-s3cret"), "file")
    again = Person(visited, CLIENT_ID, CLIENT_SECRET, visited)
    done = await sign_in(settings, ask=again, open_browser=None, say=again.say, store=store)
    assert done.sign_in.client_secret == CLIENT_SECRET
    assert not any("0ld-s3" in line for line in again.said)


async def test_only_the_services_own_answer_condemns_an_id(server: OAuthServer, settings: Settings) -> None:
    assert await client_refusal(settings, CLIENT_ID) is None
    assert await client_refusal(settings, "wr0ng-id") is not None
    missing = replace(settings, oauth_authorize_url=f"{server.base_url}/no-such-page")
    assert await client_refusal(missing, "any") is None
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        nobody = replace(settings, oauth_authorize_url=f"http://127.0.0.1:{silent.getsockname()[1]}/oauth")
        assert await client_refusal(nobody, "any") is None


def test_the_explanation_says_what_is_known_and_nothing_else() -> None:
    ninja = client_explained(Settings(base_url="https://api.shinobi.jp/"))
    assert "https://api.shinobi.jp/document/" in ninja[1]
    assert "That page does not say where to register an application" in ninja[1]
    other = client_explained(Settings(base_url="https://api.example.jp"))
    assert other[0] == ninja[0]
    assert "with http://127.0.0.1/ as its redirect address" in other[1]
    assert "shinobi" not in other[1]
    assert "developer_page" not in PROFILES["ninja"].settings
