"""Running the real command in separate processes, and inspecting its results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.demo.content import Blog, Record, fields, wire
from exporter.model.kinds import Kind, key_of
from tests.support.demo_service import DemoService
from tests.support.schemas import check_json

ROOT = Path(__file__).parent.parent.parent
State = dict[Kind, dict[str, bytes]]


@dataclass(frozen=True)
class Done:
    """A run's end: ``code`` is the exit code, or minus the signal; ``calls`` counts calls that change the disk."""

    code: int
    out: str
    err: str
    calls: int

    @property
    def document(self) -> Any:
        """Standard output, which must be one JSON object on one line."""
        assert self.out.count("\n") == 1, self
        return json.loads(self.out)

    @property
    def answer_before_error(self) -> Any:
        """The first of two JSON objects of a command; the second one describes its error."""
        answer, error = (json.loads(line) for line in self.out.splitlines())
        assert error["error"]["exit_code"] == self.code, self
        return answer


def unmeasured() -> dict[str, str]:
    """Return the environment for a process without coverage and without settings of the program."""
    left_out = ("BLOG_EXPORTER_", "COVERAGE_PROCESS_")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


class Zygote:
    """A process that has imported the program and is forked for each run; use it in ``with``."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        # The coverage of a forked process is never saved.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.zygote"],
            cwd=ROOT, env=unmeasured(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def order(self, order: dict[str, Any]) -> None:
        """Ask for a run."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def answer(self) -> int:
        """Wait for the next answer: the process id, then the result."""
        assert self._process is not None
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


class Runs:
    """Starts runs of ``blog-exporter`` one after another; use it in ``with``.

    Args:
        folder: for the output of the runs; made if it is missing.
        zygote: the process to fork, without another run under way.
        durable: let the runs call fsync, on which the results of a kill do not depend.
    """

    def __init__(self, folder: Path, zygote: Zygote, *, durable: bool = False) -> None:
        self._folder = folder
        self._zygote = zygote
        self._durable = durable
        self._last: Run | None = None

    def __enter__(self) -> Self:
        self._folder.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None and not self._last.ended:
            self._last.signal(signal.SIGKILL)
            self._last.wait()

    def start(
        self,
        *arguments: object,
        kill_at: int | None = None,
        file_size: int | None = None,
        environ: dict[str, str] | None = None,
        trace: Path | None = None,
        folder: Path = ROOT,
        now: str | None = None,
        together: bool = False,
    ) -> Run:
        """Start a run.

        Args:
            arguments: arguments of the command line.
            kill_at: the number of the call before which the run kills itself.
            file_size: a limit, in bytes.
            environ: variables in addition to those of this process.
            trace: the file for a list of opened and changed paths, see :class:`tests.support.trace.Trace`.
            folder: its working directory.
            now: a fixed time for its clock, in ISO 8601; by default the clock runs.
            together: write standard output to standard error as well, like a terminal.
        """
        order = {
            "arguments": [str(argument) for argument in arguments],
            "kill_at": kill_at,
            "file_size": file_size,
            "environ": {
                "XDG_CONFIG_HOME": str(self._folder / "no-config"),
                "XDG_DATA_HOME": str(self._folder / "no-data"),
                **(environ or {}),
            },
            "durable": self._durable,
            "trace": None if trace is None else str(trace),
            "folder": str(folder),
            "now": now,
            "stdout": str(self._folder / ("stderr" if together else "stdout")),
            "stderr": str(self._folder / "stderr"),
            "calls": str(self._folder / "calls"),
        }
        for name in ("stdout", "stderr", "calls"):
            (self._folder / name).write_bytes(b"")
        self._last = Run(self._zygote, order)
        return self._last

    def run(self, *arguments: object, **how: Any) -> Done:
        """Start a run and wait for its end."""
        return self.start(*arguments, **how).wait()


class Run:
    """A run under way."""

    def __init__(self, zygote: Zygote, order: dict[str, Any]) -> None:
        self._order = order
        self._zygote = zygote
        zygote.order(order)
        self.pid = zygote.answer()
        self.ended = False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a run that has ended already is fine."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def stderr(self) -> str:
        """Return its messages so far."""
        return Path(self._order["stderr"]).read_text(encoding="utf-8")

    def wait(self, timeout: float = 120.0) -> Done:
        """Wait for the end; a run that takes too long is killed, and its output shown."""
        timer = threading.Timer(timeout, self.signal, (signal.SIGKILL,))
        timer.start()
        code = self._zygote.answer()
        timer.cancel()
        self.ended = True
        calls = Path(self._order["calls"])
        said = Path(self._order["stdout"]).read_text(encoding="utf-8")
        check_json(self._order["arguments"], said)
        return Done(
            code,
            said,
            Path(self._order["stderr"]).read_text(encoding="utf-8"),
            int(calls.read_text() or 0),
        )


@contextmanager
def serving(blog: Blog, **options: Any) -> Iterator[DemoService]:
    """Serve a blog from a thread."""
    from tests.support.demo_service import ServiceOptions  # noqa: PLC0415

    with DemoService(blog, ServiceOptions(**options)).run_in_thread() as service:
        yield service


def backup_command(service: DemoService, root: Path, *options: object) -> tuple[object, ...]:
    """Return the arguments that back up the service's first blog, even if a test removed the archive."""
    return ("backup", next(iter(service.blogs)), "--base-url", service.base_url, "--archive", root, "--new", *options)


def command_for(service: DemoService, root: Path) -> tuple[object, ...]:
    """Return the command that backs up a blog with its files but without a site, which would take a second."""
    files = service.base_url + "/v1/blog/user/{user_id}/{mtime}"
    return backup_command(
        service, root, "--assets", "files", "--file-url", files, "--allow-private-network", "--retries", 1, "--no-site"
    )


def held(blog: Blog) -> State:
    """Return a service's content in canonical bytes, as an archive must fold to it."""

    def by(name: str, records: Iterator[Record]) -> dict[str, bytes]:
        return {str(key_of(fields(record)[name])): _frozen(record) for record in records}

    items = (
        blog.list_item(key) for key in {**blog.entries, **blog.list_items} if blog.list_items.get(key, 1) is not None
    )
    return {
        Kind.ENTRIES: {str(key): _frozen(record) for key, record in blog.entries.items()},
        Kind.ENTRY_LIST: by("entry_id", items),
        Kind.COMMENTS: by("cm_id", iter(blog.comments)),
        Kind.FILES: by("file_id", iter(blog.files)),
        Kind.USER: by("id", iter([blog.user])),
    }


def _frozen(record: Record) -> bytes:
    return canonical(wire(record))


def canonical(sent: bytes) -> bytes:
    """Return the bytes that an archive stores for a record that was sent."""
    return lossless_json.freeze(lossless_json.loads(sent)).data


def folded(root: Path, at: int | None = None) -> State:
    """Return an archive's content, from its versions alone."""
    reader = Archive.open(root)
    state = reader.fold(reader.resolve(at))
    try:
        return {
            kind: {line.record_id: line.data for line in state.lines(kind)} for kind in Kind if kind is not Kind.ASSETS
        }
    finally:
        state.close()


def findings(root: Path) -> list[str]:
    """Return verify's findings without notes, which only report missing derived files."""
    return [f"{each.code} {each.path} {each.detail}" for each in verify(Archive.open(root)) if each.damage]


def all_findings(root: Path) -> list[str]:
    """Return verify's findings with notes."""
    return [f"{each.code} {each.path} {each.detail}" for each in verify(Archive.open(root))]


def lines_of_runs(root: Path) -> list[dict[str, Any]]:
    """Return the lines of ``runs.jsonl``."""
    return Archive.open(root).runs()


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files under a folder, and an empty value for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}
