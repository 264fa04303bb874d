"""``serve`` on the command line: its address, its end by Ctrl-C, and no access from the network without consent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from exporter import lossless_json
from tests.cli.conftest import Program

SERVE = [sys.executable, "-m", "exporter", "serve"]


@pytest.mark.no_cover
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_serves_until_a_signal_ends_it(archive: Path, number: signal.Signals, code: int) -> None:
    process = subprocess.Popen([*SERVE, str(archive), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    address = lossless_json.loads(process.stdout.readline())["url"]
    with urllib.request.urlopen(f"{address}api", timeout=30) as answer:
        assert lossless_json.loads(answer.read())["version"] == 2
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"the server has ended, and nothing was changed" in said
    assert b"Traceback" not in said


BROWSER = """
import pathlib, re, sys, urllib.request
given = sys.argv[-1]
page = pathlib.Path(urllib.request.url2pathname(given.removeprefix("file://")))
address = re.search(r'url=([^"]+)', page.read_text("utf-8"))[1]
with urllib.request.urlopen(address + "api", timeout=30) as answer:
    told = f"{given}\\n{page.stat().st_mode:o} {page.parent.stat().st_mode:o}\\n{address}\\n{answer.status}\\n"
seen = pathlib.Path(sys.argv[1])
seen.with_suffix(".new").write_text(told, "utf-8")
seen.with_suffix(".new").rename(seen)
"""
"""Opens the address like a browser, and records it."""


@pytest.mark.no_cover
def test_open_shows_it_in_a_browser_and_keeps_the_secret(archive: Path, tmp_path: Path) -> None:
    seen, script = tmp_path / "seen", tmp_path / "browser.py"
    script.write_text(BROWSER, "utf-8")
    environ = {**os.environ, "BROWSER": f"{sys.executable} {script} {seen} %s"}
    process = subprocess.Popen(
        [*SERVE, str(archive), "--open", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
    )
    assert process.stdout is not None
    address = lossless_json.loads(process.stdout.readline())["url"]
    until = time.monotonic() + 30
    while not seen.exists():
        assert time.monotonic() < until, "no browser was opened"
        time.sleep(0.05)
    given, modes, opened, status = seen.read_text("utf-8").splitlines()
    secret = urlsplit(address).path.strip("/")
    assert len(secret) > 20
    assert secret not in given
    assert (modes, opened, status) == ("100600 40700", address, "200")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert not Path(url2pathname(urlsplit(given).path)).parent.exists()


@pytest.mark.no_cover
def test_only_no_secret_leaves_the_secret_out(archive: Path) -> None:
    process = subprocess.Popen(
        [*SERVE, str(archive), "--no-secret", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    address = lossless_json.loads(process.stdout.readline())["url"]
    assert urlsplit(address).path == "/"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_a_network_needs_consent_in_plain_words(archive: Path) -> None:
    done = subprocess.run(
        [*SERVE, str(archive), "--host", "0.0.0.0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "private entries" in done.stderr
    assert "--let-the-network-read-all" in done.stderr


def test_an_empty_host_is_refused(archive: Path) -> None:
    done = subprocess.run([*SERVE, str(archive), "--host", ""], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--host is empty" in done.stderr


def test_everything_is_for_assistants_alone(program: Program, archive: Path) -> None:
    done = program("serve", archive, "--everything")
    assert done.code == 2
    assert "--everything needs --mcp" in done.err
