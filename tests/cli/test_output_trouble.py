"""Full disks, closed pipes and lost terminals end no backup, and end a query with at most one line."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli.output import OnLoss, SafeStream
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import ROOT, all_findings, backup_command, lines_of_runs, serving, tree

pytestmark = pytest.mark.no_cover

PROGRAM = [sys.executable, "-m", "exporter"]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
QUERIES = [
    ("log",), ("log", "--json"), ("show", "entry", "50"), ("show", "entry", "50", "--json"), ("search", "の"), ("diff",),
    ("search", "の", "--json"), ("files",), ("files", "--csv"), ("inspect",), ("status", "--json"), ("verify", "--json"),
]  # fmt: skip


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BLOG_EXPORTER_", "LC_"))}
    return {**kept, "XDG_CONFIG_HOME": "/nonexistent", **more}


def shell(line: str, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the program as ``"$@"`` in a line of shell; the exit code is the program's, even in a pipe."""
    return subprocess.run(
        ["bash", "-c", f'{line}; exit "${{PIPESTATUS[0]}}"', "bash", *PROGRAM, *map(str, arguments)],
        cwd=ROOT, env=environment(**more), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def into_closed_pipe(*arguments: object, both: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the program with standard output, or both streams, going to a pipe whose reader is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [*PROGRAM, *map(str, arguments)], cwd=ROOT, env=environment(), stdout=writer,
            stderr=writer if both else subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
    finally:
        os.close(writer)


@pytest.fixture
def service() -> Iterator[DemoService]:
    """A service that fails once at every address, so that a run prints messages from the beginning."""
    with serving(generated_blog(30, 5, 5)) as running:
        running.before = faults.times(1, faults.status(500))
        yield running


def command(service: DemoService, root: Path) -> list[object]:
    return list(backup_command(service, root, "--assets", "none"))


def check_saved(root: Path) -> None:
    assert all_findings(root) == []
    assert [(line["outcome"], line["exit_code"], line["version"]) for line in lines_of_runs(root)] == [("saved", 0, 1)]


@pytest.mark.parametrize(
    "line",
    [
        '"$@" -v 2>&1 | head -1', '"$@" -v 2>&-', '"$@" -v 2>/dev/full', '"$@" -v --json >/dev/full 2>&1',
        '"$@" --json >&-', '"$@" -v 2>&- >&- <&-', '"$@" -v --json 2>&1 1>/dev/full', '"$@" -v 2</dev/null',
    ],
)  # fmt: skip
def test_a_backup_is_completed_if_its_output_is_lost(service: DemoService, tmp_path: Path, line: str) -> None:
    done = shell(line, *command(service, tmp_path / "archive"))
    assert done.returncode == 0, done
    check_saved(tmp_path / "archive")


def test_a_backup_without_a_reader_is_completed(service: DemoService, tmp_path: Path) -> None:
    done = into_closed_pipe(*command(service, tmp_path / "archive"), "-v", "--json", both=True)
    assert done.returncode == 0
    check_saved(tmp_path / "archive")


def test_a_lost_answer_of_a_backup_is_reported(service: DemoService, tmp_path: Path) -> None:
    done = shell('"$@" -q --json >/dev/full', *command(service, tmp_path / "archive"))
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "blog-exporter: warning: Standard output could not be written; the backup itself" in done.stderr


def test_a_failure_keeps_its_code_if_its_output_is_lost(tmp_path: Path) -> None:
    arguments = ["backup", "x.example", "--base-url", "http://127.0.0.1:1", "--archive", tmp_path / "a", "--retries", 0]
    for line in ('"$@" 2>/dev/full', '"$@" 2>&-', '"$@" --json >/dev/full'):
        assert shell(line, *arguments).returncode == 20
    assert into_closed_pipe(*arguments, "--json", both=True).returncode == 20


def test_a_backup_outlives_its_terminal(service: DemoService, tmp_path: Path) -> None:
    """A closed window leaves such a backup, with a live display that no one sees."""
    root = tmp_path / "archive"
    service.before = faults.slow(0.05)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *map(str, command(service, root)), "--title", ""], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs,
        env=environment(TERM="xterm-256color"), start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    assert b"\x1b[" in os.read(ours, 1 << 16), "this is a live display"
    os.close(ours)
    assert process.wait(60) == 0
    check_saved(root)


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_a_query_to_a_full_disk_fails_in_one_line(archive: Path, query: tuple[str, ...]) -> None:
    done = shell('"$@" >/dev/full', query[0], archive, *query[1:], "-q")
    assert done.returncode == 28, done
    assert re.fullmatch(r"blog-exporter: error: No space left while writing standard output [^\n]*\n", done.stderr)


@pytest.mark.parametrize("query", [*QUERIES, ("--help",), ("backup", "--help")], ids=" ".join)
def test_a_query_whose_reader_has_gone_ends_quietly(archive: Path, query: tuple[str, ...]) -> None:
    arguments = query if "--help" in query else (query[0], archive, *query[1:], "-q")
    done = into_closed_pipe(*arguments)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_a_query_does_without_the_streams_that_are_closed(archive: Path, query: tuple[str, ...]) -> None:
    assert shell('"$@" >&- 2>&- <&-', query[0], archive, *query[1:]).returncode == 0
    said = shell('"$@" 2>&-', query[0], archive, *query[1:])
    assert (said.returncode, said.stdout != "") == (0, True)


def test_damage_is_not_forgotten_when_the_reader_has_gone(archive: Path) -> None:
    lines = archive / "versions/000001/entries.jsonl"
    lines.chmod(0o600)
    lines.write_bytes(lines.read_bytes().replace(b'"put"', b'"pat"', 1))
    for arguments in (["verify", archive], ["verify", archive, "--json"]):
        assert into_closed_pipe(*arguments).returncode == 13
        assert shell('"$@" >/dev/full', *arguments).returncode == 13


@pytest.mark.parametrize("query", [("show", "entry", "50"), ("search", "の"), ("verify", "--json")], ids=" ".join)
def test_the_locale_changes_nothing(archive: Path, query: tuple[str, ...]) -> None:
    arguments = (query[0], archive, *query[1:])
    done, usual = shell('"$@"', *arguments, **ASCII), shell('"$@"', *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, usual.stdout, usual.stderr)


def test_an_archive_looks_the_same_in_any_locale(made: Path, tmp_path: Path) -> None:
    done = shell('"$@"', "demo", tmp_path / "demo", "-q", "--fixed-clock", **ASCII)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1), "of the picture that is gone"
    assert tree(tmp_path / "demo/latest") == tree(made / "latest")


def test_output_to_a_nonblocking_pipe_waits_for_its_reader() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    read: list[bytes] = []

    def take() -> None:
        with os.fdopen(reader, "rb") as stream:
            read.append(stream.read())

    thread = threading.Thread(target=take)
    with io.FileIO(writer, "w") as file, io.BufferedWriter(SafeStream(file, OnLoss.STOP)) as stream:
        thread.start()
        stream.write(bytes(3_000_000))
        stream.flush()
    thread.join()
    assert len(read[0]) == 3_000_000


def test_nothing_prints_without_the_output_functions() -> None:
    past = re.compile(r"sys\.__std|os\.write\(|open\((1|2)\b|stdout\.fileno|stderr\.fileno|(?<![\w.])print\(")
    found = [path for path in (ROOT / "exporter").rglob("*.py") if past.search(path.read_text(encoding="utf-8"))]
    # Files opened by name or locked, and a process's last message, which must not wait for a lock.
    assert {path.name for path in found} == {"atomic.py", "lock.py", "signals.py"}
