"""Run the program in this process with the archive of the sample blog."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exporter import lossless_json
from exporter.cli.main import main
from exporter.fleet import local_pool
from exporter.worker import Worker
from tests.support import printed
from tests.support.runs import Runs, Zygote
from tests.support.schemas import check_json
from tests.support.workers import ForkedProcesses, call_here


@dataclass(frozen=True)
class Result:
    """The result of one run of the program."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON object on one line."""
        assert self.out.count("\n") == 1
        return lossless_json.loads(self.out.encode())

    @property
    def answer_before_error(self) -> Any:
        """The JSON object that a command printed before the object of its error; there must be two."""
        answer, error = (lossless_json.loads(line.encode()) for line in self.out.splitlines())
        assert error["error"]["exit_code"] == self.code
        return answer


Program = Callable[..., Result]


@pytest.fixture(scope="session")
def _forked_processes() -> Iterator[ForkedProcesses]:
    with ForkedProcesses() as context:
        yield context


@pytest.fixture(autouse=True)
def _cheap_workers(_forked_processes: ForkedProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "submit", call_here)
    monkeypatch.setattr(local_pool, "_CONTEXT", _forked_processes)


@pytest.fixture
def runs(zygote: Zygote, tmp_path: Path) -> Iterator[Runs]:
    """Run the real command in separate processes, without processes for pictures."""
    with Runs(tmp_path / "process", zygote, workers=False) as started:
        yield started


@pytest.fixture
def program(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, zygote: Zygote
) -> Program:
    """Return a function that runs the program with no settings except its arguments, and then each command that it prints."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    printed.run_with(zygote)

    def run(*arguments: object) -> Result:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        check_json(arguments, captured.out)
        printed.try_here(captured.out + captured.err, tmp_path)
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Path:
    """The demo's archive, made once, by a process: a browser of another test may keep this thread's event loop."""
    root = tmp_path_factory.mktemp("demo") / "archive"
    with Runs(root.parent / "runs", zygote) as runs:
        done = runs.run("demo", root, "--quiet", "--fixed-clock")
    assert done.code == 0, done.err
    return root


@pytest.fixture(autouse=True)
def nothing_declared(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove what a test declared in the demo's archive, which others read."""
    root = request.getfixturevalue("made") if "made" in request.fixturenames else None
    yield
    if isinstance(root, Path):
        (root / "declared.jsonl").unlink(missing_ok=True)


@pytest.fixture
def archive(made: Path, tmp_path: Path) -> Path:
    """A copy of the demo's archive that the test may change."""
    copy = tmp_path / "archive"
    shutil.copytree(made, copy)
    return copy
