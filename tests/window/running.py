"""A real window in a separate process, and raw requests to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from exporter.cli.events import VARIABLE
from tests.support.runs import unmeasured
from tests.window.opened import PATIENCE_SECONDS


class Answer(NamedTuple):
    """An answer: its status (0 if the connection was closed), its headers in small letters, and its body."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Running:
    """A running window: its process, its secret address, and the folder of its state."""

    process: subprocess.Popen[str]
    address: str
    folder: Path
    log: Path

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def root(self) -> str:
        """The first page's path, with the secret."""
        return urlsplit(self.address).path

    @property
    def token(self) -> str:
        return self.root.strip("/")

    def connect(self, seconds: float = PATIENCE_SECONDS) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), seconds)

    def raw(self, request: bytes) -> Answer:
        """Send bytes, and read one answer."""
        method = "HEAD" if request.startswith(b"HEAD ") else None
        with self.connect() as connection:
            with suppress(ConnectionError):  # it answered before it had read everything
                connection.sendall(request)
            return answer_of(connection, method)

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b"") -> Answer:
        """Send a request; ``path`` begins with a slash, or is below the secret."""
        target = path if path.startswith("/") else self.root + path
        named = {"Host": self.host, **(headers or {})}
        if body or method == "POST":
            named.setdefault("Content-Length", str(len(body)))
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items())]
        return self.raw("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)

    def own(self, **more: str) -> dict[str, str]:
        """Return the headers of a form on the window's own page."""
        return {
            "Origin": f"http://{self.host}", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate",
            "Content-Type": "application/x-www-form-urlencoded", **more,
        }  # fmt: skip

    def send(self, path: str, form: dict[str, str] | None = None) -> Answer:
        """Send a form of the window's own page."""
        return self.ask("POST", path, self.own(), urlencode(form or {}).encode())

    def plant(self, name: str, words: list[str], said: str = "", **note: Any) -> Path:
        """Write a job that has ended without an exit code, as if it was killed; return its folder."""
        folder = self.folder / "jobs" / name
        folder.mkdir(parents=True, exist_ok=True)
        about = {"words": words, "about": "backup", "place": "", "started": "2026-01-01T00:00:00+09:00", **note}
        (folder / "job.json").write_text(json.dumps({"language": "en", **about}), "utf-8")
        (folder / "said.jsonl").write_text(said or "{}\n", "utf-8")
        return folder

    def jobs(self) -> list[str]:
        found = self.folder / "jobs"
        return sorted(each.name for each in found.iterdir()) if found.is_dir() else []

    def uploads(self) -> list[Path]:
        return sorted(each for each in self.paths() if each.is_file() and self.folder / "uploads" in each.parents)

    def paths(self) -> list[Path]:
        """Return all that is below the window's folder; unlike ``rglob``, in which a folder may vanish meanwhile."""
        return [Path(top, name) for top, folders, files in os.walk(self.folder) for name in (*folders, *files)]

    def peak_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))) * 1024


def answer_of(connection: socket.socket, method: str | None = None) -> Answer:
    """Read an answer; its status is 0 if the connection ends without one."""
    response = HTTPResponse(connection, method=method)
    try:
        response.begin()
        body = response.read()
    except OSError:
        return Answer(0, {}, b"")
    except Exception as error:
        if type(error).__name__ in {"BadStatusLine", "RemoteDisconnected", "IncompleteRead"}:
            return Answer(0, {}, b"")
        raise
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a person whose home is empty."""
    places = {
        "XDG_STATE_HOME": "state",
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
        "XDG_CACHE_HOME": "cache",
    }
    own = {name: str(home / folder) for name, folder in places.items()}
    base = {name: value for name, value in unmeasured().items() if name != VARIABLE}
    return {**base, **own, "HOME": str(home), "BLOG_EXPORTER_LANG": "en"}


@contextmanager
def running(home: Path, *words: str, program: tuple[str, ...] = (), **environ: str) -> Iterator[Running]:
    """Run ``app`` for a person with this home."""
    home.mkdir(exist_ok=True)
    log = home / "window.log"
    start = program or (sys.executable, "-P", "-m", "exporter")
    with log.open("a", encoding="utf-8") as said:
        process = subprocess.Popen(
            [*start, "app", "--no-open", "--json", *words],
            env={**environment(home), **environ}, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=said, text=True,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        document = json.loads(line or "{}")
        assert "url" in document, log.read_text("utf-8")
        yield Running(process, document["url"], home / "state" / "blog-exporter" / "window", log)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
