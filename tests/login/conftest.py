"""A guarded service, a home of its own for sign-ins, and a browser that agrees at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.demo.content import Blog
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded

BROWSER = f"{sys.executable} {Path(__file__).with_name('browser.py')} allow %s"


@pytest.fixture
def blog() -> Blog:
    return generated_blog(12, 3, 2)


@pytest.fixture
def server(blog: Blog) -> Iterator[OAuthServer]:
    with guarded(blog) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody with an empty home, without a keyring, and a browser that agrees at once."""
    return {
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "BROWSER": BROWSER,
        "BLOG_EXPORTER_OAUTH_CLIENT_ID": CLIENT_ID,
        "BLOG_EXPORTER_CLIENT_SECRET": CLIENT_SECRET,
    }
