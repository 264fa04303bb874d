"""Tests with real importers: they run only with ``-m importers``, and then fail if a tool is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.importers.ledger import Ledger

ROOT = Path(__file__).parent.parent.parent
PLACE = Path(os.environ.get("IMPORTERS", ROOT / ".venv-importers"))
NODE_MODULES = PLACE / "npm" / "node_modules"
SYSTEM = "/usr/local/sbin:/usr/sbin:/sbin"
LEDGER = pytest.StashKey[Ledger]()
LONGEST = ("test_move", "test_wordpress", "test_compare", "test_books")
ONE_SERVER = (
    "test_ghost.py",
    "test_kinds.py",
    "test_shown.py",
    "test_wacz.py",
    "test_wordpress_shows.py",
    "test_wxr_source.py",
)


class Tool:
    """Runs programs from the importers' environment or the system.

    Attributes:
        seconds: total time of the programs.
        modules: the folder of npm packages.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.modules = NODE_MODULES

    def path(self, name: str) -> str:
        """Find a program."""
        path = shutil.which(name, path=self._places())
        if path is None:
            pytest.fail(f"{name} is not installed; CONTRIBUTING.md says how to get the importers")
        return path

    def __call__(self, name: str, *arguments: object, cwd: Path | None = None, into: Path | None = None) -> str:
        """Return the output of a program; with ``into``, write it there and return the error output."""
        environ = {**os.environ, "PATH": self._places(), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        environ |= {"HOME": str(cwd or ROOT), "NODE_PATH": str(NODE_MODULES)}
        begun = time.perf_counter()
        done = subprocess.run(
            [self.path(name), *map(str, arguments)], cwd=cwd, env=environ, capture_output=True, timeout=600
        )
        self.seconds += time.perf_counter() - begun
        said, errors = (part.decode("utf-8", "replace") for part in (done.stdout, done.stderr))
        assert done.returncode == 0, f"{name} failed:\n{said[-3000:]}\n{errors[-3000:]}"
        if into is None:
            return said + errors
        into.write_bytes(done.stdout)
        return errors

    def _places(self) -> str:
        return os.pathsep.join([f"{PLACE / 'bin'}", f"{NODE_MODULES / '.bin'}", os.environ["PATH"], SYSTEM])


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine; yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing."""


def pytest_configure(config: pytest.Config) -> None:
    """Make a ledger for the run."""
    config.stash.setdefault(LEDGER, Ledger())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark these tests, because they need tools that users do not need. Begin with the longest.

    The tests of a module that starts one server for all of them are a group, which one worker gets.
    """
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("importers")
            if item.path.name in ONE_SERVER:
                item.add_marker(pytest.mark.xdist_group(item.path.name))
    items.sort(key=lambda item: not item.path.name.startswith(LONGEST))


@pytest.fixture
def tool() -> Tool:
    """Run a tool."""
    return Tool()


@pytest.fixture
def ledger(request: pytest.FixtureRequest) -> Ledger:
    """The counts of records before and after each import."""
    return request.config.stash[LEDGER]
