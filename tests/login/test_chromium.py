"""The real command and a real browser: the service's page, the agreement, and the way back."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from tests.login.test_command_line import kept
from tests.site.browser.launching import chromium
from tests.support.oauth_server import OAuthServer
from tests.support.runs import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium(None) as started:
        yield started


class Login:
    """``login`` in a separate process, which shows an address and waits; use it in ``with``."""

    def __init__(self, server: OAuthServer, home: dict[str, str], *options: str) -> None:
        words = [sys.executable, "-m", "exporter", "login", "--base-url", server.base_url, *options]
        # The test's browser opens the address; `true` opens nothing and reports success.
        environ = {**os.environ, **home, "BROWSER": "true"}
        self.process = subprocess.Popen(
            words,
            cwd=ROOT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.said = ""
        while not (found := re.search(r"^(http://\S+/oauth\?\S+)$", self.said, re.MULTILINE)):
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line
        self.address = found[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def end(self, pasted: str = "") -> tuple[int, str]:
        _, err = self.process.communicate(pasted, timeout=60)
        return self.process.returncode, self.said + err


def test_agreeing_in_the_browser_signs_in(browser: Browser, server: OAuthServer, home: dict[str, str]) -> None:
    page = browser.new_page()
    wrong: list[str] = []
    page.on("console", lambda entry: wrong.append(entry.text))
    with Login(server, home) as login:
        page.goto(login.address)
        page.get_by_role("button", name="Allow").click()
        page.get_by_role("heading", name="Signed in", exact=True).wait_for()
        assert page.url.startswith("http://127.0.0.1:")
        code, said = login.end()
    assert code == 0, said
    assert "Signed in." in said
    assert not [secret for secret in server.issued if secret in said]
    assert len(kept(home)) == 1
    assert [text for text in wrong if "404" not in text] == []  # the icon gets it


def test_denying_in_the_browser_is_reported(browser: Browser, server: OAuthServer, home: dict[str, str]) -> None:
    page = browser.new_page()
    with Login(server, {**home, "LANG": "ja_JP.UTF-8", "LC_ALL": "ja_JP.UTF-8"}) as login:
        page.goto(login.address)
        page.get_by_role("button", name="Deny").click()
        page.get_by_role("heading", name="サインインできませんでした").wait_for()
        assert page.locator("html").get_attribute("lang") == "ja"
        code, said = login.end()
    assert code == 12
    assert "access_denied" in said
    assert kept(home) == []


def test_the_address_is_copied_from_a_browser_that_cannot_open_it(
    browser: Browser, server: OAuthServer, home: dict[str, str]
) -> None:
    page = browser.new_page()
    with Login(server, home, "--no-browser") as login:
        page.goto(login.address)
        with page.expect_request(lambda request: "code=" in request.url and "127.0.0.1" in request.url) as back:
            page.get_by_role("button", name="Allow").click()
        code, said = login.end(f"{back.value.url}\n")
    assert code == 0, said
    assert len(kept(home)) == 1


def test_another_page_of_the_browser_cannot_end_or_take_over_the_waiting(
    browser: Browser, server: OAuthServer, home: dict[str, str], tmp_path: Path
) -> None:
    with Login(server, home) as login:
        port = re.search(r"127\.0\.0\.1%3A(\d+)%2F", login.address)
        assert port is not None
        evil = browser.new_page()
        source = tmp_path / "evil.html"
        source.write_text(
            f'<img src="http://127.0.0.1:{port[1]}/?code=evil&state=guess">'
            f'<script>fetch("http://127.0.0.1:{port[1]}/?error=access_denied&state=x", {{mode: "no-cors"}})</script>'
            f'<iframe src="http://127.0.0.1:{port[1]}/?code=evil&state="></iframe>'
        )
        evil.goto(source.as_uri())
        evil.wait_for_load_state("networkidle")
        page = browser.new_page()
        page.goto(login.address)
        page.get_by_role("button", name="Allow").click()
        page.get_by_role("heading", name="Signed in", exact=True).wait_for()
        code, said = login.end()
    assert code == 0, said
    assert "and was ignored" in said
