"""A real WordPress that answers on this machine: php's own server over a copy of an empty one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.importers.conftest import Tool

SCRIPT = Path(__file__).parent / "wordpress_home.php"
_WORKERS = 4
_PATIENCE = 30.0


@dataclass(frozen=True)
class Site:
    """A WordPress: its files, its address, and the application password of its user ``owner``."""

    folder: Path
    url: str
    password: str


@contextmanager
def running_site(tool: Tool, empty: Path, folder: Path) -> Iterator[Site]:
    """Run a WordPress of its own; fill it through ``tool`` before or while it answers."""
    shutil.copytree(empty, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    password = tool("php", SCRIPT, "open", folder, url).strip()
    # Application passwords are refused over plain http, but on a machine for trying things out.
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


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        assert server.poll() is None, "php's server ended"
        try:
            with urllib.request.urlopen(f"{url}/wp-json/"):
                return
        except urllib.error.URLError:
            assert time.monotonic() < deadline, "php's server does not answer"
            time.sleep(0.05)
