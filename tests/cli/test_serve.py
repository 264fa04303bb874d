"""``serve`` on the command line: its address, its end by Ctrl-C, and no access from the network without consent."""

from __future__ import annotations

import os
import select
import signal
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from exporter import lossless_json
from tests.cli.conftest import Program
from tests.support.runs import Run, Runs
from tests.support.terminal import PATIENCE_SECONDS


@contextmanager
def serving(runs: Runs, archive: Path, *options: str, **environ: str) -> Iterator[tuple[Run, str]]:
    """Start ``serve --json``, and give its address."""
    reading, writing = os.pipe()
    try:
        run = runs.start("serve", archive, *options, "--json", environ=environ, stdout=writing)
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        yield run, lossless_json.loads(stream.readline())["url"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_serves_until_a_signal_ends_it(runs: Runs, made: Path, number: signal.Signals, code: int) -> None:
    with serving(runs, made) as (run, address):
        with urllib.request.urlopen(f"{address}api", timeout=30) as answer:
            assert lossless_json.loads(answer.read())["version"] == 2
        run.signal(number)
        done = run.wait()
    assert done.code == code
    assert "the server has ended, and nothing was changed" in done.err
    assert "Traceback" not in done.err


BROWSER = """
import pathlib, re, sys, urllib.request
given = sys.argv[-1]
page = pathlib.Path(urllib.request.url2pathname(given.removeprefix("file://")))
address = re.search(r'url=([^"]+)', page.read_text("utf-8"))[1]
with urllib.request.urlopen(address + "api", timeout=30) as answer:
    told = f"{given}\\n{page.stat().st_mode:o} {page.parent.stat().st_mode:o}\\n{address}\\n{answer.status}\\n"
pathlib.Path(sys.argv[1]).write_text(told, "utf-8")
"""
"""Opens the address like a browser, and tells it through a named pipe."""


def told(pipe: Path) -> str:
    """Return what a process writes into a named pipe."""
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, encoding="utf-8") as stream:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        assert waiting.poll(PATIENCE_SECONDS * 1000), "nothing was written"
        os.set_blocking(handle, True)
        return stream.read()


def test_open_shows_it_in_a_browser_and_keeps_the_secret(runs: Runs, made: Path, tmp_path: Path) -> None:
    seen, script = tmp_path / "seen", tmp_path / "browser.py"
    script.write_text(BROWSER, "utf-8")
    os.mkfifo(seen)
    with serving(runs, made, "--open", BROWSER=f"{sys.executable} {script} {seen} %s") as (run, address):
        given, modes, opened, status = told(seen).splitlines()
        secret = urlsplit(address).path.strip("/")
        assert len(secret) > 20
        assert secret not in given
        assert (modes, opened, status) == ("100600 40700", address, "200")
        run.signal(signal.SIGINT)
        done = run.wait()
    assert done.code == 130
    assert "Traceback" not in done.err
    assert not Path(url2pathname(urlsplit(given).path)).parent.exists()


def test_only_no_secret_leaves_the_secret_out(runs: Runs, made: Path) -> None:
    with serving(runs, made, "--no-secret") as (run, address):
        assert urlsplit(address).path == "/"
        run.signal(signal.SIGINT)
        run.wait()


def test_a_network_needs_consent_in_plain_words(program: Program, made: Path) -> None:
    done = program("serve", made, "--host", "0.0.0.0")
    assert done.code == 2
    assert "private entries" in done.err
    assert "--let-the-network-read-all" in done.err


def test_an_empty_host_is_refused(program: Program, made: Path) -> None:
    done = program("serve", made, "--host", "")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--host is empty" in done.err


def test_everything_is_for_assistants_alone(program: Program, made: Path) -> None:
    done = program("serve", made, "--everything")
    assert done.code == 2
    assert "--everything needs --mcp" in done.err
