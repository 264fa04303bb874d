"""The questions of ``init`` about access: a client ID, a token that is tried, and a blog that nothing is known of."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.login.conftest import BROWSER
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, guarded
from tests.support.public_blog import PublicBlog, posts
from tests.support.public_blog import serving as serving_pages
from tests.support.runs import Runs, serving
from tests.support.terminal import Terminal

BLOG_ID = "generated.blog.example.jp"
REST = ("--assets", "none", "--at", "never", "--archive", "saved")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An empty home, whose user has a browser that agrees at once."""
    return {
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "BLOG_EXPORTER_SIGN_IN_STORE": "file",
        "BROWSER": BROWSER,
        "TERM": "dumb",
    }


OAUTH = {
    "BLOG_EXPORTER_OAUTH_AUTHORIZE_URL": "{base_url}/oauth",
    "BLOG_EXPORTER_OAUTH_TOKEN_URL": "{base_url}/oauth/token",
}


def table(tmp_path: Path) -> dict[str, Any]:
    """Return the only blog of the settings file."""
    text = (tmp_path / "config" / "blog-exporter" / "blog-exporter.toml").read_text("utf-8")
    (values,) = tomllib.loads(text)["blogs"].values()
    found: dict[str, Any] = values
    return found


def test_a_client_id_is_explained_tried_and_asked_for_once(runs: Runs, tmp_path: Path, home: dict[str, str]) -> None:
    with guarded(generated_blog(3, 1, 1)) as server:
        arguments = ("init", f"https://{BLOG_ID}/", "--base-url", server.base_url, *REST)
        terminal = Terminal(runs, arguments, tmp_path, {**home, **OAUTH})
        terminal.answer("What is the blog called?", "")
        terminal.answer("Number [1]", "2")
        terminal.answer("Client ID (Enter if you have none)", "wr0ng-id")
        terminal.answer("Client ID (Enter if you have none)", CLIENT_ID)
        terminal.answer("Client secret", "wr0ng-s3cret")
        terminal.answer("Client ID (Enter if you have none)", CLIENT_ID)
        terminal.answer("Client secret", CLIENT_SECRET)
        assert terminal.end() == 0, terminal.shown
        shown = terminal.shown
        explained, _, later = shown.partition("How should the blog be read?")
        assert "that needs a client ID: the name by which the service knows a program." in explained
        assert "only what everybody can see" in later
        assert shown.count("that needs a client ID") == 1
        assert later.count("answers 400 to this client ID") == 1
        assert later.count("The service refuses the client ID or its secret (invalid_client") == 1
        assert "Your blog as it is now is safe in" in shown
        assert not [secret for secret in (*server.issued, CLIENT_SECRET, "wr0ng-s3cret") if secret in shown]
        server.revoke_all()
        again = Terminal(runs, ("login", "--base-url", server.base_url), tmp_path, {**home, **OAUTH})
        assert again.end() == 0, again.shown
        assert "Signed in." in again.shown
        assert "Client ID (" not in again.shown


async def test_the_public_part_needs_no_client_id(
    runs: Runs, tmp_path: Path, home: dict[str, str], program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving_pages(PublicBlog("livedoor", posts(2))) as origin:
        arguments = ("init", f"{origin}/", "--base-url", "https://api.example.jp", *REST)
        terminal = Terminal(runs, arguments, tmp_path, {**home, **OAUTH, "BLOG_EXPORTER_LANG": "en"})

        def session() -> int:
            terminal.answer("What is the blog called?", "")
            terminal.answer("Number [1]", "2")
            terminal.answer("Client ID (Enter if you have none)", "")
            terminal.answer("Number [1]", "")
            return terminal.end()

        assert await asyncio.to_thread(session) == 0, terminal.shown
    assert "Only what everybody can see will be saved: no drafts and no private entries." in terminal.shown
    found = table(tmp_path)
    assert (found["service"], found["base_url"].rstrip("/")) == ("public-site", origin)
    assert (tmp_path / "saved" / "versions" / "000001").is_dir()


def test_a_token_is_tried_and_an_unknown_blog_leads_to_the_next_question(
    runs: Runs, tmp_path: Path, home: dict[str, str]
) -> None:
    with serving(generated_blog(3, 1, 1, blog_id="127.0.0.1"), require_token="right-token-1") as service:
        terminal = Terminal(runs, ("init", f"{service.base_url}/blog/", *REST), tmp_path, home)
        terminal.answer("Number [1]", "3")
        terminal.answer("Path of the export file", "no-such-file.txt")
        terminal.answer("Path of the export file", "")
        terminal.answer("Number [1]", "2")
        terminal.answer("Address of the API", "nonsense")
        terminal.answer("Address of the API", service.base_url)
        terminal.answer("What is the blog called?", "")
        terminal.answer("Access token", "wr0ng-token")
        terminal.answer("Access token", "right-token-1")
        assert terminal.end() == 0, terminal.shown
    shown = terminal.shown
    assert shown.count("No known service has 127.0.0.1, and as an address:") == 1
    assert shown.count("There is no file no-such-file.txt.") == 1
    assert shown.count("The service refuses this token.") == 1
    assert "The token works. It is of the account" in shown
    assert "wr0ng-token" not in shown
    assert "right-token" not in shown
    assert table(tmp_path)["base_url"] == service.base_url
    assert Path(table(tmp_path)["token_file"]).read_text("utf-8") == "right-token-1\n"


def test_an_unknown_blog_leads_to_an_export_file(runs: Runs, tmp_path: Path, home: dict[str, str]) -> None:
    exported = tmp_path / "日記 export.txt"
    exported.write_text(
        "AUTHOR: 花子\nTITLE: 海\nDATE: 01/02/2015 03:04:05 PM\nSTATUS: Publish\n-----\nBODY:\n潮だまり\n-----\n--------\n",
        encoding="utf-8",
    )
    japanese = {**home, "BLOG_EXPORTER_LANG": "ja"}
    terminal = Terminal(runs, ("init", "http://127.0.0.1:9/", "--archive", "saved"), tmp_path, japanese)
    terminal.answer("[1]", "3")
    terminal.answer(":", f"'{exported}'")
    assert terminal.end() == 0, terminal.shown
    assert (tmp_path / "saved" / "versions" / "000001").is_dir()
