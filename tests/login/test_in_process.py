"""The same commands in the tests' own process, with the same server."""

from __future__ import annotations

import io
import shlex
import sys
from dataclasses import replace

import pytest

from tests.cli.conftest import Program
from tests.login.conftest import visited_here
from tests.support.generated import generated_blog
from tests.support.oauth_server import OAuthServer
from tests.support.runs import serving


@pytest.fixture
def at_home(program: Program, home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Program:
    for name, value in home.items():
        monkeypatch.setenv(name, value)
    return program


def test_in_and_out(at_home: Program, server: OAuthServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def visit(address: str) -> bool:
        visited_here(address)
        return True

    monkeypatch.setattr("webbrowser.open", visit)
    base = ("--base-url", server.base_url)
    assert "The program renews it" in at_home("login", *base).err
    server.expire_all()
    assert "Signed in with blog-exporter login" in at_home("whoami", *base).out
    assert server.counts["refreshed"] == 1
    assert "has no address to revoke them" in at_home("logout", *base).err
    assert at_home("logout", *base, "--json").json["signed_out"] is False
    monkeypatch.setenv("BLOG_EXPORTER_OAUTH_REVOKE_URL", "{base_url}/oauth/revoke")
    server.manners = replace(server.manners, said=None, refreshes=False)
    assert "does not say when it ends" in at_home("login", *base, "--account", "me", "--sign-in-store", "file").err
    assert "Signed in as me" in at_home("whoami", *base).out
    assert "revoked them" in at_home("logout", *base).err
    at_home("login", *base)
    server.manners = replace(server.manners, revokes=False)
    assert "did not revoke them (it refused)" in at_home("logout", *base).err
    assert at_home("whoami", *base).code == 12


def test_no_answer(at_home: Program, server: OAuthServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_CLIENT_SECRET", "")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    refused = at_home("login", "--base-url", server.base_url, "--no-browser")
    assert refused.code == 2
    assert "There is no terminal for the question" in refused.err


def test_other_tokens(at_home: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(generated_blog(3, 1, 1), require_token="a-token-1") as service:
        base = ("--base-url", service.base_url)
        words = [sys.executable, "-c", "print('a-token-1')"]
        monkeypatch.setenv("BLOG_EXPORTER_TOKEN_COMMAND", shlex.join(words))
        assert "The token comes from variable BLOG_EXPORTER_TOKEN_COMMAND." in at_home("whoami", *base).out
        monkeypatch.setenv("BLOG_EXPORTER_TOKEN_COMMAND", "echo wrong")
        refused = at_home("whoami", *base)
        assert (refused.code, "was refused" in refused.err) == (12, True)
        monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "a-token-1")
        assert "The token comes from variable BLOG_EXPORTER_TOKEN." in at_home("whoami", *base).out
