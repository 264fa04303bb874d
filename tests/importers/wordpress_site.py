"""A real WordPress that answers on this machine: php's own server over a copy of an empty one."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.importers.conftest import Tool

SCRIPT = Path(__file__).parent / "wordpress_home.php"
_WORKERS = 4
_PATIENCE = 60.0
_CONFIG = "<?php define( 'DISABLE_WP_CRON', true );\n"
"""Turns off WordPress' background jobs, such as looking for updates."""
_BRIDGE = Path("wp-content/plugins/sqlite-database-integration/wp-includes/sqlite/class-wp-sqlite-translator.php")
_HASTY, _CALM = "PDO::ATTR_TIMEOUT           => 5,", "PDO::ATTR_TIMEOUT           => 600,"
"""When a lock lasts this number of seconds, WordPress silently skips the write."""


@dataclass(frozen=True)
class Site:
    """A WordPress: its files, its address, and the application password of its user ``owner``."""

    folder: Path
    url: str
    password: str


@contextmanager
def running_site(tool: Tool, empty: Path, folder: Path) -> Iterator[Site]:
    """Run a separate WordPress; ``tool`` may fill it before or while it runs."""
    shutil.copytree(empty, folder)
    _settle(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    password = tool("php", SCRIPT, "open", folder, url).strip()
    # WordPress refuses application passwords over plain http unless the environment is local.
    environ = {**os.environ, "WP_ENVIRONMENT_TYPE": "local", "PHP_CLI_SERVER_WORKERS": str(_WORKERS)}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [tool.path("php"), "-S", f"127.0.0.1:{port}", "-t", str(folder)],
            env=environ, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            _wait_for(url, server)
            yield Site(folder, url, password)
        finally:
            os.killpg(server.pid, 15)
            server.wait()


def _settle(site: Path) -> None:
    """Let WordPress complete each request, and do nothing else, even on a busy machine."""
    config, bridge = site / "wp-config.php", site / _BRIDGE
    config.write_text(config.read_text().replace("<?php", _CONFIG, 1))
    hasty = bridge.read_text()
    assert hasty.count(_HASTY) == 1
    bridge.write_text(hasty.replace(_HASTY, _CALM))


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        assert server.poll() is None, "php's server ended"
        try:
            with urllib.request.urlopen(f"{url}/wp-json/"):
                return
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < deadline, "php's server does not answer"
            time.sleep(0.05)
