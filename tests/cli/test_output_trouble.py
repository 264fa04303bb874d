"""Full disks, closed pipes and lost terminals end no backup, and end a query with at most one line."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.cli.output import OnLoss, SafeStream
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import ROOT, Done, Runs, all_findings, backup_command, lines_of_runs, serving, tree

pytestmark = pytest.mark.no_cover

PROGRAM = [sys.executable, "-m", "exporter"]
NAME = str(Path(sys.executable).parent / "blog-exporter")
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
OFTEN = [("log",), ("show", "entry", "50", "--json"), ("search", "の"), ("verify", "--json")]
RARELY = [
    ("log", "--json"), ("show", "entry", "50"), ("diff",), ("search", "の", "--json"), ("files",), ("files", "--csv"),
    ("inspect",), ("status", "--json"),
]  # fmt: skip
HELP = [("--help",), ("backup", "--help")]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BLOG_EXPORTER_", "LC_"))}
    return {**kept, "XDG_CONFIG_HOME": "/nonexistent", **more}


def shell(line: str, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the program as ``"$@"`` in a line of shell; the exit code is the program's, even in a pipe."""
    return subprocess.run(
        ["bash", "-c", f'{line}; exit "${{PIPESTATUS[0]}}"', "bash", *PROGRAM, *map(str, arguments)],
        cwd=ROOT, env=environment(**more), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def into_closed_pipe(runs: Runs, *arguments: object, both: bool = False) -> Done:
    """Run the program with standard output, or both streams, going to a pipe whose reader is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return runs.run(*arguments, name=NAME, stdout=writer, stderr=writer if both else None)
    finally:
        os.close(writer)


def to_full_disk(runs: Runs, *arguments: object, **how: Any) -> Done:
    """Run the program with standard output going to a full disk."""
    with Path("/dev/full").open("wb") as full:
        return runs.run(*arguments, name=NAME, stdout=full.fileno(), **how)


@pytest.fixture
def service() -> Iterator[DemoService]:
    """A service that fails at first, so that a run prints messages from the beginning."""
    with serving(generated_blog(3, 1, 1)) as running:
        running.before = failing_once()
        yield running


def failing_once() -> faults.Fault:
    """Return what fails the first request alone."""
    first = iter([faults.status(500)])

    async def answer(request: web.Request) -> web.StreamResponse | None:
        fault = next(first, None)
        return None if fault is None else await fault(request)

    return answer


def command(service: DemoService, root: Path) -> list[object]:
    return list(backup_command(service, root, "--assets", "none", "--no-site"))


def check_saved(root: Path) -> None:
    assert all_findings(root) == []
    assert [(line["outcome"], line["exit_code"], line["version"]) for line in lines_of_runs(root)] == [("saved", 0, 1)]


LINES = [
    '"$@" -v 2>&1 | head -1', '"$@" -v 2>&-', '"$@" -v 2>/dev/full', '"$@" -v --json >/dev/full 2>&1',
    '"$@" --json >&-', '"$@" -v 2>&- >&- <&-', '"$@" -v --json 2>&1 1>/dev/full', '"$@" -v 2</dev/null',
]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ['"$@" -v 2>&- >&- <&-', *(pytest.param(line, marks=pytest.mark.thorough) for line in LINES if "<&-" not in line)],
)
def test_a_backup_is_completed_if_a_shell_takes_its_output_away(
    service: DemoService, tmp_path: Path, line: str
) -> None:
    done = shell(line, *command(service, tmp_path / "archive"))
    assert done.returncode == 0, done
    check_saved(tmp_path / "archive")


def test_a_backup_is_completed_if_its_output_is_lost(runs: Runs, tmp_path: Path, subtests: pytest.Subtests) -> None:
    with Path("/dev/full").open("wb") as full, Path(os.devnull).open("rb") as unwritable:
        ways: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
            "no errors": (("-v",), {"closed": [2]}),
            "errors on a full disk": (("-v",), {"stderr": full.fileno()}),
            "all on a full disk": (("-v", "--json"), {"stdout": full.fileno(), "stderr": full.fileno()}),
            "no output": (("--json",), {"closed": [1]}),
            "no stream": (("-v",), {"closed": [0, 1, 2]}),
            "errors cannot be written": (("-v",), {"stderr": unwritable.fileno()}),
        }
        with serving(generated_blog(3, 1, 1)) as service:
            for number, (way, (options, streams)) in enumerate(ways.items()):
                with subtests.test(way):
                    root = tmp_path / str(number)
                    service.before = failing_once()
                    assert runs.run(*command(service, root), *options, name=NAME, **streams).code == 0
                    check_saved(root)


def test_a_backup_goes_on_after_the_first_line_is_read(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    run = runs.start(*command(service, tmp_path / "archive"), "-v", name=NAME, stdout=writing, stderr=writing)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as stream:
        assert stream.readline()
    assert run.wait().code == 0
    check_saved(tmp_path / "archive")


def test_a_backup_without_a_reader_is_completed(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    done = into_closed_pipe(runs, *command(service, tmp_path / "archive"), "-v", "--json", both=True)
    assert done.code == 0
    check_saved(tmp_path / "archive")


def test_a_lost_answer_of_a_backup_is_reported(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    done = to_full_disk(runs, *command(service, tmp_path / "archive"), "-q", "--json")
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert "blog-exporter: warning: Standard output could not be written; the backup itself" in done.err


def test_a_failure_keeps_its_code_if_its_output_is_lost(runs: Runs, tmp_path: Path) -> None:
    arguments = ["backup", "x.example", "--base-url", "http://127.0.0.1:1", "--archive", tmp_path / "a", "--retries", 0]
    with Path("/dev/full").open("wb") as full:
        assert runs.run(*arguments, name=NAME, stderr=full.fileno()).code == 20
    assert runs.run(*arguments, name=NAME, closed=[2]).code == 20
    assert to_full_disk(runs, *arguments, "--json").code == 20
    assert into_closed_pipe(runs, *arguments, "--json", both=True).code == 20


def test_a_backup_outlives_its_terminal(runs: Runs, service: DemoService, tmp_path: Path) -> None:
    """A closed window leaves such a backup, with a live display that no one sees."""
    root = tmp_path / "archive"
    held, go_on = threading.Event(), threading.Event()

    async def hold(_: web.Request) -> None:
        held.set()
        await asyncio.to_thread(go_on.wait)

    service.before = hold
    ours, theirs = pty.openpty()
    run = runs.start(
        *command(service, root), "--title", "", name=NAME, environ={"TERM": "xterm-256color"},
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    assert b"\x1b[" in os.read(ours, 1 << 16), "this is a live display"
    held.wait()
    os.close(ours)
    go_on.set()
    assert run.wait().code == 0
    check_saved(root)


@pytest.mark.parametrize(
    "query", [*OFTEN, *(pytest.param(each, marks=pytest.mark.thorough) for each in RARELY)], ids=" ".join
)
def test_a_query_to_a_full_disk_fails_in_one_line(runs: Runs, made: Path, query: tuple[str, ...]) -> None:
    done = to_full_disk(runs, query[0], made, *query[1:], "-q")
    assert done.code == 28, done
    assert re.fullmatch(r"blog-exporter: error: No space left while writing standard output [^\n]*\n", done.err)


@pytest.mark.parametrize(
    "query", [*OFTEN, *HELP, *(pytest.param(each, marks=pytest.mark.thorough) for each in RARELY)], ids=" ".join
)
def test_a_query_whose_reader_has_gone_ends_quietly(runs: Runs, made: Path, query: tuple[str, ...]) -> None:
    arguments = query if "--help" in query else (query[0], made, *query[1:], "-q")
    done = into_closed_pipe(runs, *arguments)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "query", [*OFTEN, *(pytest.param(each, marks=pytest.mark.thorough) for each in RARELY)], ids=" ".join
)
def test_a_query_does_without_the_streams_that_are_closed(runs: Runs, made: Path, query: tuple[str, ...]) -> None:
    assert runs.run(query[0], made, *query[1:], name=NAME, closed=[0, 1, 2]).code == 0
    said = runs.run(query[0], made, *query[1:], name=NAME, closed=[2])
    assert (said.code, said.out != "") == (0, True)


def test_damage_is_not_forgotten_when_the_reader_has_gone(runs: Runs, archive: Path) -> None:
    lines = archive / "versions/000001/entries.jsonl"
    lines.chmod(0o600)
    lines.write_bytes(lines.read_bytes().replace(b'"put"', b'"pat"', 1))
    for arguments in (["verify", archive], ["verify", archive, "--json"]):
        assert into_closed_pipe(runs, *arguments).code == 13
        assert to_full_disk(runs, *arguments).code == 13


@pytest.mark.parametrize(
    "query",
    [
        ("show", "entry", "50"),
        pytest.param(("search", "の"), marks=pytest.mark.thorough),
        pytest.param(("verify", "--json"), marks=pytest.mark.thorough),
    ],
    ids=" ".join,
)
def test_the_locale_changes_nothing(runs: Runs, made: Path, query: tuple[str, ...]) -> None:
    arguments = (query[0], made, *query[1:])
    done, usual = shell('"$@"', *arguments, **ASCII), runs.run(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, usual.out, usual.err)


@pytest.mark.thorough
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
