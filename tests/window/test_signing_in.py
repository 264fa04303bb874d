"""Signing in from the window against a real OAuth server, also when the person must paste the service's answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.login.conftest import visited
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded
from tests.support.runs import Zygote
from tests.window.opened import opened, opened_in_thread, until
from tests.window.test_pages import BLOG_ID, Reader


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with guarded(generated_blog(3, 1, 0)) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: OAuthServer) -> Path:
    """A home whose settings know the guarded service. No server runs at its redirect address."""
    settings = tmp_path / ".config" / "blog-exporter" / "blog-exporter.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f'[profiles.own]\nblog_hosts = "{BLOG_ID}"\nbase_url = "{server.base_url}"\n'
        'oauth_authorize_url = "{base_url}/oauth"\noauth_token_url = "{base_url}/oauth/token"\n'
        'oauth_redirect_uri = "https://client.example.jp/back"\n'
    )
    return tmp_path


@pytest.fixture
def reader(home: Path, zygote: Zygote) -> Iterator[Reader]:
    with opened_in_thread(home, zygote) as window:
        yield Reader(window)


def asked(reader: Reader) -> tuple[str, str, str]:
    """Begin to sign in; return three addresses: the found blog's page, the sign-in's page, and the service."""
    _, place, _ = reader.send("look", address=BLOG_ID)
    found, page = reader.settled(place)
    assert "This service gives your blog only to you." in page
    form = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    _, there, _ = reader.send(found.replace("found", "sign-in"), **form)

    def address() -> str:
        known = re.search(r'href="(http://127\.0\.0\.1:\d+/oauth\?[^"]+)"', reader.get(there))
        return known[1] if known is not None else ""

    return found, there, until(address, "the service's address")


def test_a_pasted_answer_signs_in(reader: Reader, server: OAuthServer) -> None:
    found, there, address = asked(reader)
    reader.send(f"{there}/reply", answer=visited(address))
    place, page = reader.settled(there)
    assert place == found
    assert "You are signed in" in page
    assert server.counts["authorization_code"] == 1


@pytest.mark.thorough
def test_a_refusal_is_said_and_leads_back(reader: Reader) -> None:
    found, there, address = asked(reader)
    reader.send(f"{there}/reply", answer=visited(address, "deny"))
    _, page = reader.settled(there)
    assert "access_denied" in page
    assert f'{found}"' in page


@pytest.mark.thorough
def test_a_question_that_no_window_can_answer_any_more_ends(home: Path) -> None:
    with opened(home, "en") as killed:
        _, there, _ = asked(Reader(killed))
        killed.kill()
        with opened(home, "en") as window:
            _, page = Reader(window).settled(there)
    assert "Nobody answered this question" in page
