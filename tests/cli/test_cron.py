"""The README's line for cron, run by a real cron with only its placeholders and hour replaced."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.generated import generated_blog
from tests.support.runs import ROOT, findings, folded, held, lines_of_runs, serving

pytestmark = pytest.mark.importers

SPOOL = Path("/etc/cron.d")
PID_FILE = Path("/run/crond.pid")
FIRST_READING_SECONDS = 2
PATIENCE_SECONDS = 90
"""cron starts jobs once a minute; the rest is for the backup on a busy machine."""
WITNESS = """#!/bin/sh
env > {folder}/environment
/bin/sh "$@" > {folder}/said 2>&1
echo $? > {folder}/code.new
mv {folder}/code.new {folder}/code
"""
"""Replaces cron's shell, because this machine has no mail: stores the text of the mail and the exit code."""


def line_of_the_readme() -> str:
    lines = re.findall(r"^    ([0-9*]+ [0-9*]+ \* \* \* .*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert len(lines) == 1
    return str(lines[0])


@pytest.fixture
def cron() -> Iterator[None]:
    """Run cron for the test, unless the machine already runs it: one cron at a time, and only after its first reading.

    A second cron ends at once while another runs. And cron compares the times of its tables in whole seconds: what a
    test installs within the second of that reading would never be seen.
    """
    program = shutil.which("cron", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None, "cron is not installed; .ci/install gets it"
    assert os.geteuid() == 0, "cron reads /etc/cron.d, which root alone may write: run this test as root"
    with Path(tempfile.gettempdir(), "blog-exporter-tests-cron.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen([program, "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while process.poll() is None and _running_cron() != process.pid:
                time.sleep(0.05)
            time.sleep(FIRST_READING_SECONDS)
            yield
        finally:
            process.terminate()
            process.wait()


def _running_cron() -> int:
    """Read the process number that cron writes down before it reads its tables; -1 before that."""
    try:
        return int(PID_FILE.read_text())
    except (FileNotFoundError, ValueError):
        return -1


@pytest.mark.usefixtures("cron")
def test_the_line_of_the_readme_backs_up_at_night(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("blog-exporter")
    token = tmp_path / "token"
    token.write_text("tok3n\n")
    token.chmod(0o600)
    witness = tmp_path / "witness"
    witness.write_text(WITNESS.format(folder=tmp_path))
    witness.chmod(0o700)
    blog = generated_blog(5, 3, 0)
    table = SPOOL / f"blog-exporter-test-{uuid.uuid4().hex}"
    with serving(blog, require_token="tok3n") as service:
        line = line_of_the_readme()
        for placeholder, real in {
            "/home/YOU/.local/bin/blog-exporter": program,
            "NAME.blog.example.jp": blog.blog_id,
            "https://api.example.jp": service.base_url,
            "/home/YOU/.blog-token": token,
            "/home/YOU/blog": tmp_path / "archive",
            "17 3 * * *": "* * * * * root",
        }.items():
            assert line.count(placeholder) == 1, placeholder
            line = line.replace(placeholder, str(real))
        table.write_text(f"SHELL={witness}\nHOME={tmp_path}\n{line}\n")  # the home of root may know other archives
        try:
            table.chmod(0o644)
            until = time.monotonic() + PATIENCE_SECONDS
            while not (tmp_path / "code").exists():
                assert time.monotonic() < until, "cron has not run the line"
                time.sleep(0.1)
        finally:
            table.unlink()
    said = (tmp_path / "said").read_text("utf-8")
    assert "BLOG_EXPORTER" not in (tmp_path / "environment").read_text("utf-8")
    assert ((tmp_path / "code").read_text().strip(), said) == ("0", "")
    assert [line["outcome"] for line in lines_of_runs(tmp_path / "archive")] == ["saved"]
    assert folded(tmp_path / "archive") == held(blog)
    assert findings(tmp_path / "archive") == []
