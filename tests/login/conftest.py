"""A guarded service, a new home for sign-ins, and a browser that agrees at once."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.demo.content import Blog
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded

BROWSER = f"{sys.executable} {Path(__file__).with_name('browser.py')} allow %s"


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that its address can be pasted."""

    def redirect_request(self, *_: object) -> None:
        return None


def visited_here(address: str, decision: str = "allow") -> None:
    """Agree in a browser on this machine, which follows the redirect to the waiting program."""
    with urllib.request.urlopen(f"{address}&decision={decision}", timeout=20) as answer:
        answer.read()


def visited(address: str, decision: str = "allow") -> str:
    """Agree in a browser on another machine, and return the address that it could not open."""
    try:
        urllib.request.build_opener(Stay).open(f"{address}&decision={decision}", timeout=20)
    except urllib.error.HTTPError as error:
        return str(error.headers["Location"])
    raise AssertionError(address)


@pytest.fixture
def blog() -> Blog:
    return generated_blog(12, 3, 2)


@pytest.fixture
def server(blog: Blog) -> Iterator[OAuthServer]:
    with guarded(blog) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A user's environment with an empty home, no keyring, and a browser that agrees at once."""
    return {
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "BROWSER": BROWSER,
        "BLOG_EXPORTER_OAUTH_CLIENT_ID": CLIENT_ID,
        "BLOG_EXPORTER_CLIENT_SECRET": CLIENT_SECRET,
    }
