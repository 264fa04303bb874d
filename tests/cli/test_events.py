"""Progress for programs: with ``BLOG_EXPORTER_PROGRESS=json``, each line on standard error is a JSON object."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.cli.events import VARIABLE
from exporter.cli.output import Output
from exporter.cli.progress_bar import ProgressBar
from exporter.cli.versions import log_command
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import Runs
from tests.window.running import environment

Told = list[dict[str, Any]]
Run = Callable[..., tuple[int, Told]]
KINDS = {"question", "said", "notice", "warning", "error", "progress", "end"}


def read(text: str) -> Told:
    """Read the events; the last one tells the exit code, and each has the members of its kind."""
    assert text.endswith("\n"), text
    told: Told = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
    assert {each["event"] for each in told} <= KINDS
    assert [each["event"] for each in told].index("end") == len(told) - 1
    for each in told:
        if each["event"] == "progress":
            assert set(each) == {"event", "rows", "seconds_left"}
            for row in each["rows"]:
                assert isinstance(row["name"], str)
                assert isinstance(row["done"], int)
                assert row["total"] is None or row["total"] >= row["done"] >= 0
        elif each["event"] == "end":
            assert set(each) == {"event", "exit_code"}
        else:
            assert isinstance(each["text"], str)
    return told


@pytest.fixture
def run(runs: Runs, tmp_path: Path) -> Run:
    """Run the real command, and return its exit code and its events."""

    def ran(*words: object, **environ: str) -> tuple[int, Told]:
        given = {**environment(tmp_path), VARIABLE: "json", **environ}
        done = runs.run(*words, environ=given, folder=tmp_path)
        told = read(done.err)
        assert told[-1]["exit_code"] == done.code
        return done.code, told

    return ran


def rows(told: Told) -> dict[str, dict[str, Any]]:
    """Return the last counts of each row."""
    return {row["name"]: row for each in told if each["event"] == "progress" for row in each["rows"]}


def test_every_line_of_a_backup_and_of_what_follows_it_is_an_event(run: Run, tmp_path: Path) -> None:
    archive, copy = tmp_path / "日記", tmp_path / "copy"
    blog_id = (generated := generated_blog(4, 2, 2)).blog_id
    with DemoService(generated).run_in_thread() as service:
        network = ("--allow-private-network", "--retries", 1)
        blog = (blog_id, "--base-url", service.base_url, *network)
        code, told = run("backup", *blog, "--archive", archive)
        assert code in {0, 3}
        found = rows(told)
        assert (found["entries"]["done"], found["entries"]["total"]) == (4, 4)
        assert found["entry list"]["kind"] == "entry_list_pages"
        assert [each for each in told if each["event"] == "said"]
        for words in (
            ("check", *blog),
            ("init", *blog),
            ("capture", archive, "--home-url", service.base_url, *network),
        ):
            run(*words)
    code, told = run("verify", archive)
    assert rows(told)["verifying"]["done"] == rows(told)["verifying"]["total"] > 0
    assert run("sync", archive, copy)[0] == 0
    assert run("export", "markdown", archive, tmp_path / "out", "--all-as-draft")[0] == 0
    code, told = run("move", archive, "--to", "https://home.invalid", "--dry-run")
    assert code != 0
    (error,) = (each for each in told if each["event"] == "error")
    assert error["exit_code"] == code
    assert error["type"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["backup"],
        ["backup", "--nothing"],
        ["status", "nowhere"],
        ["init"],
        ["verify", "nowhere", "-vv"],
    ],
)
def test_every_error_is_an_event(run: Run, words: list[str]) -> None:
    code, told = run(*words)
    assert code != 0
    assert [each for each in told if each["event"] in {"error", "said"}]


def test_a_traceback_is_an_event(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "json")
    monkeypatch.setattr(log_command, "callback", lambda **_: 1 / 0)
    done = program("log", tmp_path, "-vv")
    told = read(done.err)
    assert done.code == told[-1]["exit_code"] == 1
    assert "ZeroDivisionError" in told[-2]["text"]
    assert any("Traceback" in each.get("text", "") for each in told)


def test_a_question_without_a_terminal_is_an_error(run: Run) -> None:
    code, told = run("login", "--service", "blog-v1", "--base-url", "https://127.0.0.1:1")
    assert code != 0
    assert told[-2]["event"] == "error"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupted_command_tells_it(runs: Runs, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    run = runs.start(
        "app", "--no-open", environ={**environment(tmp_path), VARIABLE: "json"}, folder=tmp_path, stdout=writing
    )
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as stream:
        assert b"http" in stream.readline()
        run.signal(signal.SIGINT)
        told = read(run.wait().err)
    assert told[-2]["event"] == "error"
    assert told[-2]["type"] == "Interrupted"


@pytest.mark.skipif(os.name == "nt", reason="its locale")
def test_events_are_utf_8_in_every_locale(tmp_path: Path) -> None:
    """A window reads them as UTF-8, also if the desktop runs in another encoding."""
    given = {"LC_ALL": "C", "PYTHONIOENCODING": "euc_jp", "BLOG_EXPORTER_LANG": "ja", VARIABLE: "json"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "exporter", "status", tmp_path / "日記"],
        env={**environment(tmp_path), **given}, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    told = read(done.stderr.decode())
    assert told[-1]["exit_code"] == done.returncode != 0
    assert "日記" in told[-2]["text"]


def test_without_the_variable_no_event_is_printed(program: Any, tmp_path: Path) -> None:
    found = program("status", tmp_path / "nowhere")
    assert found.err.startswith("blog-exporter: error: ")


def test_a_bar_tells_its_last_count(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(VARIABLE, "json")
    with ProgressBar(Output(), "verifying") as bar:
        for done in range(1, 1001):
            bar.update(done, 1000)
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert told[-1]["rows"] == [{"name": "verifying", "done": 1000, "total": 1000}]
    assert len(told) < 50
