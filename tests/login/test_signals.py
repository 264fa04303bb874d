"""Ctrl-C and SIGTERM at a question of ``login``: it ends at once, and the terminal shows typed text again."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest


def wait_until_it_waits(process: subprocess.Popen[bytes]) -> None:
    """Return once the process sleeps; a signal between its prompt and its read is handled only after the read."""
    asleep = 0
    while asleep < 10:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        asleep = asleep + 1 if state == "S" else 0
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("question", "number", "code"),
    [
        pytest.param("Client ID", signal.SIGINT, 130, marks=pytest.mark.thorough),
        pytest.param("Client ID", signal.SIGTERM, 143, marks=pytest.mark.thorough),
        ("Client secret", signal.SIGINT, 130),
        pytest.param("Client secret", signal.SIGTERM, 143, marks=pytest.mark.thorough),
    ],
)
def test_a_signal_ends_a_question(question: str, number: signal.Signals, code: int) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "exporter", "login", "--base-url", "http://127.0.0.1:9", "--no-browser"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    said = b""
    while question.encode() not in said or not said.endswith(b": "):
        said += os.read(ours, 4096)
        if question != "Client ID" and said.endswith(b"have none): "):
            os.write(ours, b"me\n")
    if question == "Client secret":
        while termios.tcgetattr(theirs)[3] & termios.ECHO:
            pass
    wait_until_it_waits(process)
    process.send_signal(number)
    assert process.wait(60) == code
    assert termios.tcgetattr(theirs)[3] & termios.ECHO
    os.close(theirs)
    os.close(ours)
