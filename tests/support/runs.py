"""Running the real command in separate processes, and inspecting its results."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.demo.content import Blog, Record, fields, wire
from exporter.model.kinds import Kind, key_of
from exporter.schedule import programs
from tests.support.demo_service import DemoService
from tests.support.schemas import check_json
from tests.support.zygote import MOST_BYTES

ROOT = Path(__file__).parent.parent.parent
State = dict[Kind, dict[str, bytes]]


@dataclass(frozen=True)
class Done:
    """A run's end.

    Attributes:
        code: the exit code, or minus the signal.
        calls: how many calls changed the disk.
        seconds: its CPU time, with that of its children.
    """

    code: int
    out: str
    err: str
    calls: int
    seconds: float

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
    """A process that has imported the program and is forked for each run; use it in ``with``.

    Attributes:
        seconds: the CPU time of all runs whose result was read, until the process ends.
    """

    seconds = 0.0

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._orders, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The kernel keeps a whole order, also one with all variables of a shell.
        self._orders.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_BYTES)

    def __enter__(self) -> Self:
        # It is not measured itself. Each of its forks is, if the tests are.
        with self._theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.zygote", str(self._theirs.fileno())],
                cwd=ROOT, env=unmeasured(), stdin=subprocess.DEVNULL, pass_fds=[self._theirs.fileno()],
            )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._orders.close()
        if self._process is not None:
            self._process.wait()
        # From now on they are among those of the ended processes.
        Zygote.seconds = 0.0

    def order(self, order: dict[str, Any], streams: Sequence[int]) -> int:
        """Ask for a run with these three streams. Return the pipe for its process id and its result, a line each."""
        reading, writing = os.pipe()
        try:
            socket.send_fds(self._orders, [json.dumps(order).encode()], [*streams, writing])
        finally:
            os.close(writing)
        return reading


SPECIAL = frozenset(
    {"kill_at", "kill_after", "file_size", "trace", "closed", "terminal", "stdin", "stdout", "stderr", "frozen"}
)
"""Options of runs after which no printed command is run."""


class Runs:
    """Starts runs of ``blog-exporter``, which may overlap; use it in ``with``.

    Args:
        folder: for the output of the runs; made if it is missing.
        zygote: the process to fork.
        durable: let the runs call fsync, on which the results of a kill do not depend.
        workers: let the runs start processes for pictures and pages.
    """

    def __init__(self, folder: Path, zygote: Zygote, *, durable: bool = False, workers: bool = True) -> None:
        self._folder = folder
        self._zygote = zygote
        self._durable = durable
        self._workers = workers
        self._started: list[Run] = []

    def __enter__(self) -> Self:
        self._folder.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._started:
            run.end()

    def start(
        self,
        *arguments: object,
        kill_at: int | None = None,
        kill_after: Path | None = None,
        kill_with: signal.Signals = signal.SIGKILL,
        file_size: int | None = None,
        environ: dict[str, str] | None = None,
        without: Sequence[str] = (),
        trace: Path | None = None,
        folder: Path = ROOT,
        now: str | None = None,
        processes: Path | None = None,
        together: bool = False,
        name: str | None = None,
        frozen: bool = False,
        terminal: bool = False,
        closed: Sequence[int] = (),
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        rehearsed: Path | None = None,
    ) -> Run:
        """Start a run.

        Args:
            arguments: arguments of the command line.
            kill_at: the number of the call before which the run kills itself.
            kill_after: a folder, or a file that is not empty: the run kills itself before its first call after it exists.
            kill_with: the signal that it then sends itself.
            file_size: a limit, in bytes.
            environ: variables in addition to those of this process.
            without: names of variables that the run does not get.
            trace: the file for a list of opened and changed paths, see :class:`tests.support.trace.Trace`.
            folder: its working directory.
            now: a fixed time for its clock, in ISO 8601; by default the clock runs.
            processes: a folder in place of ``/proc``, where it looks for cron.
            together: write standard output to standard error as well, like a terminal.
            name: the path of the program, if it starts as the installed one: it knows by which words it was started.
            frozen: say to the program that it is the built one.
            terminal: make the terminal of standard input the one whose Ctrl-C interrupts the run.
            closed: the standard descriptors that are closed when it starts; it needs a name then.
            stdin: a descriptor to read; by default nothing.
            stdout: a descriptor to write; by default a file, whose text :class:`Done` has.
            stderr: the same.
            rehearsed: a folder that keeps its content: only the run sees what it changes there.
        """
        from tests.support.printed import is_paused  # noqa: PLC0415 - it starts runs itself

        number = len(self._started)
        files = {each: self._folder / f"{each}-{number}" for each in ("stdout", "stderr", "calls", "printed")}
        words = [str(argument) for argument in arguments]
        order = {
            "arguments": words,
            "kill_at": kill_at,
            "kill_after": None if kill_after is None else str(kill_after),
            "kill_with": int(kill_with),
            "file_size": file_size,
            "environ": {
                "XDG_CONFIG_HOME": str(self._folder / "no-config"),
                "XDG_DATA_HOME": str(self._folder / "no-data"),
                **(environ or {}),
            },
            "without": list(without),
            "coverage": os.environ.get("COVERAGE_PROCESS_CONFIG"),
            "durable": self._durable,
            "workers": self._workers,
            "trace": None if trace is None else str(trace),
            "folder": str(folder),
            "now": now,
            "processes": None if processes is None else str(processes),
            "platform": programs.PLATFORM,
            "name": name,
            "frozen": frozen,
            "terminal": terminal,
            "closed": list(closed),
            "rehearsed": None if rehearsed is None else str(rehearsed),
            "calls": str(files["calls"]),
            "printed": str(files["printed"]) if file_size is None and not is_paused() else None,
        }
        if together:
            files["stdout"] = files["stderr"]
        with ExitStack() as opened:
            streams = [
                opened.enter_context(path.open(mode)).fileno() if given is None else given
                for given, path, mode in (
                    (stdin, Path(os.devnull), "rb"),
                    (stdout, files["stdout"], "ab"),
                    (stderr, files["stderr"], "ab"),
                )
            ]
            run = Run(self._zygote.order(order, streams), words, files)
        self._started.append(run)
        return run

    def run(self, *arguments: object, **how: Any) -> Done:
        """Start a run and wait for its end. Each command that it prints is run too, see :mod:`tests.support.printed`."""
        from tests.support.printed import try_printed  # noqa: PLC0415 - it starts runs itself

        run = self.start(*arguments, **how)
        done = run.wait()
        if not how.keys() & SPECIAL:
            environ = {**(how.get("environ") or {}), "BLOG_EXPORTER_RETRIES": "0"}
            place = self._folder.parent
            again = partial(self.start, **{"folder": place, **how, "environ": environ, "rehearsed": place})
            try_printed(run.printed(), done.out + done.err, again)
        return done


class Run:
    """A run under way, or ended."""

    def __init__(self, results: int, arguments: Sequence[str], files: dict[str, Path]) -> None:
        self._results = os.fdopen(results, "rb", buffering=0)
        self._arguments = arguments
        self._files = files
        self.pid = int(self._results.readline())

    @property
    def ended(self) -> bool:
        """Whether :meth:`wait` has returned."""
        return self._results.closed

    @property
    def is_over(self) -> bool:
        """Whether the process has ended, so that :meth:`wait` does not wait."""
        return self.ended or self._ends_within(0.0)

    def _ends_within(self, seconds: float) -> bool:
        # Not select, which knows the first 1,024 descriptors of a process alone.
        waiting = select.poll()
        waiting.register(self._results, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a run that has ended already is fine."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def goes_on_until(self, happened: Callable[[], bool]) -> bool:
        """Wait for an event that others notice; return false if the run ends before it."""
        while not happened():
            if self._ends_within(0.002):
                return False
        return True

    def stdout(self) -> str:
        """Return its output so far."""
        return self._read("stdout")

    def stderr(self) -> str:
        """Return its messages so far."""
        return self._read("stderr")

    def printed(self) -> dict[str, str]:
        """Return the command lines that it made for people, and the call of the program that made each."""
        found: dict[str, str] = json.loads(self._read("printed") or "{}")
        return found

    def end(self) -> None:
        """Kill it if it still runs."""
        if not self.ended:
            self.signal(signal.SIGKILL)
            self._code()

    def wait(self, timeout: float = 600.0) -> Done:
        """Wait for the end; a run that takes too long is killed, and its output shown."""
        if not self._ends_within(timeout):
            self.signal(signal.SIGKILL)
        code, seconds = self._code()
        said = self.stdout()
        check_json(self._arguments, said)
        return Done(code, said, self.stderr(), int(self._read("calls") or 0), seconds)

    def _code(self) -> tuple[int, float]:
        with self._results:
            code, seconds = self._results.readline().split()
        Zygote.seconds += float(seconds)
        return int(code), float(seconds)

    def _read(self, name: str) -> str:
        file = self._files[name]
        return file.read_text(encoding="utf-8") if file.exists() else ""


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
