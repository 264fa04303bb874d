"""The first hour of somebody new: ``init`` on a real terminal, against a service that one signs in at."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded
from tests.support.schedulers import CRONTAB
from tests.support.terminal import Terminal

BLOG_ID: Final = "shiodamari.blog.example.jp"
TYPED: Final = (f"https://{BLOG_ID}/Entry/12/", "", "", "", "")
"""What is typed after the command: the address, and Enter."""
_BROWSER: Final = Path(__file__).parent.parent / "login" / "browser.py"


@dataclass(frozen=True)
class Hour:
    """What was seen and typed, and what is there afterwards.

    Attributes:
        code: the exit code.
        shown: all that the terminal showed.
        typed: the lines typed, the command itself among them.
        seconds: it took.
        config: the settings file.
        crontab: what cron was told.
        secrets: what nobody may see.
        verified: the exit code of ``verify`` afterwards.
        base_url: of the service.
    """

    code: int
    shown: str
    typed: tuple[str, ...]
    seconds: float
    config: Path
    crontab: str
    secrets: tuple[str, ...]
    verified: int
    base_url: str


def first_hour(home: Path, language: str) -> Hour:
    """Run ``init`` in an empty home, in a language, and answer as somebody who takes what is proposed."""
    with guarded(generated_blog(12, 6, 4, blog_id=BLOG_ID)) as server:
        environment = _environment(home, server, language)
        begun = time.monotonic()
        terminal = Terminal(["init"], home, environment)
        for line in TYPED:
            terminal.answer("]: " if not line else ": ", line)
        code = terminal.end()
        seconds = time.monotonic() - begun
        archive = home / "blogs" / BLOG_ID
        verify = [sys.executable, "-m", "exporter", "verify", str(archive), "--quiet"]
        verified = subprocess.run(verify, env={**os.environ, **environment}, check=False, capture_output=True)
    return Hour(
        code,
        terminal.shown,
        ("blog-exporter init", *TYPED),
        seconds,
        home / ".config" / "blog-exporter" / "blog-exporter.toml",
        (home / "table").read_text("utf-8"),
        (*server.issued, CLIENT_SECRET),
        verified.returncode,
        server.base_url,
    )


def _environment(home: Path, server: OAuthServer, language: str) -> dict[str, str]:
    """Return the variables of an empty home, whose service is known as that of a profile would be."""
    programs = home / "bin"
    programs.mkdir()
    (programs / "crontab").write_text(CRONTAB.format(folder=home))
    (programs / "crontab").chmod(0o700)
    secret = home / "client-secret"
    secret.write_text(CLIENT_SECRET)
    secret.chmod(0o600)
    return {
        "HOME": str(home),
        "PATH": str(programs),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "BROWSER": f"{sys.executable} {_BROWSER} allow %s",
        "LANG": "ja_JP.UTF-8" if language == "ja" else "C.UTF-8",
        "LC_ALL": "",
        "TERM": "dumb",
        "BLOG_EXPORTER_BASE_URL": server.base_url,
        "BLOG_EXPORTER_FILE_URL": server.base_url + "/v1/blog/user/{user_id}/{mtime}",
        "BLOG_EXPORTER_ALLOW_PRIVATE_NETWORK": "yes",
        "BLOG_EXPORTER_OAUTH_AUTHORIZE_URL": "{base_url}/oauth",
        "BLOG_EXPORTER_OAUTH_TOKEN_URL": "{base_url}/oauth/token",
        "BLOG_EXPORTER_OAUTH_CLIENT_ID": CLIENT_ID,
        "BLOG_EXPORTER_OAUTH_CLIENT_SECRET_FILE": str(secret),
        "BLOG_EXPORTER_SIGN_IN_STORE": "file",
    }
