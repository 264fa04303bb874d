"""``serve`` as people run it: an address, an end by Ctrl-C, and no word to the network without consent."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from exporter import lossless_json

SERVE = [sys.executable, "-m", "exporter", "serve"]


@pytest.mark.no_cover
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_serves_until_it_is_told_to_end(archive: Path, number: signal.Signals, code: int) -> None:
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
