"""Ghost itself, started on a new SQLite database, with requests like those of its administration pages."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import requests

from tests.importers.conftest import PLACE

PROGRAM: Final = PLACE / "ghost"
START_SECONDS: Final = 180
_OWNER: Final = {"email": "owner@new.example.com", "password": "a-long-and-odd-pass-phrase"}


class Ghost:
    """A running Ghost, logged in as its owner."""

    def __init__(self, address: str, content: Path) -> None:
        self.address = address
        self.content = content
        self._api = f"{address}/ghost/api/admin/"
        self._session = requests.Session()
        self._session.headers.update({"Origin": address, "Accept-Version": "v5.0"})
        setup = {**_OWNER, "name": "owner", "blogTitle": "new home"}
        self._ask("POST", "authentication/setup/", json={"setup": [setup]})
        self._ask("POST", "session/", json={"username": _OWNER["email"], "password": _OWNER["password"]})

    def empty(self) -> None:
        """Delete every post."""
        self._ask("DELETE", "db/")

    def tell_zone(self, name: str) -> None:
        """Set the time zone of displayed days, as its settings page does."""
        self._ask("PUT", "settings/", json={"settings": [{"key": "timezone", "value": name}]})

    def take(self, file: Path) -> dict[str, Any]:
        """Import a ZIP, wait until it is done, and return Ghost's own export."""
        with file.open("rb") as packed:
            answer = self._ask("POST", "db/", files={"importfile": (file.name, packed, "application/zip")}).json()
        assert answer["problems"] == []
        return self._settled()

    def page(self, slug: str) -> str:
        """Return a post as visitors see it."""
        return requests.get(f"{self.address}/{slug}/", timeout=60).text

    def _settled(self) -> dict[str, Any]:
        """Return the export once it has stopped growing, because Ghost imports in the background."""
        before = ""
        for _ in range(60):
            data = self._ask("GET", "db/").json()["db"][0]["data"]
            now = json.dumps([data["posts"], data["posts_tags"]])
            if now == before and data["posts"]:
                return dict(data)
            before = now
            time.sleep(2)
        raise AssertionError("Ghost does not finish its import")

    def _ask(self, method: str, path: str, **options: Any) -> requests.Response:
        answer = self._session.request(method, self._api + path, timeout=120, **options)
        assert answer.ok, f"Ghost answered {answer.status_code} to {method} {path}: {answer.text[:2000]}"
        return answer


@contextmanager
def running(folder: Path, node: str) -> Iterator[Ghost]:
    """Start Ghost; all files that it writes are in the folder."""
    content = folder / "content"
    for name in ("images", "media", "files", "data", "logs", "settings", "public", "adapters"):
        (content / name).mkdir(parents=True)
    shutil.copytree(PROGRAM / "content" / "themes", content / "themes")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    # Ghost reads its settings from the program's folder, or from here.
    settings = {
        "NODE_ENV": "production",
        "url": address,
        "server__host": "127.0.0.1",
        "server__port": str(port),
        "database__client": "sqlite3",
        "database__connection__filename": str(folder / "ghost.db"),
        "database__useNullAsDefault": "true",
        "paths__contentPath": str(content),
        "logging__transports": '["stdout"]',
        "mail__transport": "stub",
        "privacy__useUpdateCheck": "false",
        "privacy__useGravatar": "false",
        "privacy__useRpcPing": "false",
    }
    log = folder / "log.txt"
    with log.open("wb") as out:
        environ = {**settings, "PATH": os.environ["PATH"], "HOME": str(folder)}
        process = subprocess.Popen([node, "index.js"], cwd=PROGRAM, env=environ, stdout=out, stderr=subprocess.STDOUT)
        try:
            _wait(process, address, log)
            yield Ghost(address, content)
        finally:
            process.terminate()
            process.wait(30)


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if requests.get(f"{address}/ghost/api/admin/site/", timeout=5).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.5)
    raise AssertionError(f"Ghost does not start:\n{log.read_text()[-3000:]}")
