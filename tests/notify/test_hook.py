"""The command of on_failure: its arguments, input and environment, and its limits."""

from __future__ import annotations

import errno
import shlex
import sys
import time
from pathlib import Path

import pytest

from exporter.notify.delivery import run_command

WITNESS = "import os, sys; open({!r}, 'w').write(sys.stdin.read() + '|'.join(sorted(f'{{k}}={{v}}' for k, v in os.environ.items() if k.startswith('BLOG_EXPORTER_'))))"


def python(program: str) -> str:
    return shlex.join([sys.executable, "-c", program])


def test_it_gets_the_message_and_the_facts_but_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", "s3cret")
    seen = tmp_path / "seen"
    assert run_command(python(WITNESS.format(str(seen))), "壊れました; $(id)", {"EXIT_CODE": "3"}) is None
    assert seen.read_text() == "壊れました; $(id)\nBLOG_EXPORTER_EXIT_CODE=3"


def test_it_runs_without_a_shell(tmp_path: Path) -> None:
    assert run_command(f"echo hello > {tmp_path}/made; touch {tmp_path}/made", "", {}) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/no/such/program", "cannot be started: No such file"),
        (" ", "cannot be started: it names no program"),
        ("'unclosed", "cannot be started: No closing quotation"),
        pytest.param("false", "it ended with 1", marks=pytest.mark.thorough),
        (python("import sys; print('first', file=sys.stderr); sys.exit('no mailbox')"), "ended with 1: no mailbox"),
    ],
)
def test_its_failure_is_reported(command: str, said: str) -> None:
    assert said in str(run_command(command, "", {}))


@pytest.mark.thorough
def test_a_hanging_command_is_killed_with_its_children() -> None:
    begun = time.monotonic()
    wrong = run_command("sh -c 'sleep 60 & sleep 60'", "x" * 1_000_000, {}, timeout=0.2)
    assert "did not end within" in str(wrong)
    assert time.monotonic() - begun < 50


def test_it_is_notified_of_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    seen = tmp_path / "seen"
    assert run_command(python(WITNESS.format(str(seen))), "満杯です", {"EXIT_CODE": "28"}) is None
    assert seen.read_text() == "満杯です\nBLOG_EXPORTER_EXIT_CODE=28"
    assert run_command("false", "x" * 1_000_000, {}) == "it ended with 1"
