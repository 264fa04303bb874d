"""Running the real command in processes of its own, and looking at what it left."""

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
from exporter.demo.service import DemoService
from exporter.model.kinds import Kind, key_of

ROOT = Path(__file__).parent.parent.parent
State = dict[Kind, dict[str, bytes]]


@dataclass(frozen=True)
class Done:
    """How a run ended: ``code`` is the exit code, or minus the signal; ``calls`` counts those that change the disk."""

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
        """The JSON object that a command printed before the one about its error, which must be the last of two."""
        answer, error = (json.loads(line) for line in self.out.splitlines())
        assert error["error"]["exit_code"] == self.code, self
        return answer


class Runs:
    """Starts runs of ``blog-exporter`` by forking a process that has imported it; use it in ``with``.

    Args:
        folder: for what the runs say.
        warm: import every command first, not those alone that most tests need.
    """

    def __init__(self, folder: Path, *, warm: bool = False) -> None:
        self._folder = folder
        self._warm = warm
        self._zygote: subprocess.Popen[str] | None = None
        self._last: Run | None = None

    def __enter__(self) -> Self:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("BLOG_EXPORTER_")}
        environ["XDG_CONFIG_HOME"] = str(self._folder / "no-config")
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.support.zygote", *(["warm"] if self._warm else [])],
            cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        assert self._zygote is not None
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        if self._last is not None and not self._last.ended:
            self._last.signal(signal.SIGKILL)
        self._zygote.stdin.close()
        self._zygote.stdout.close()
        self._zygote.wait()

    def start(
        self,
        *arguments: object,
        kill_at: int | None = None,
        file_size: int | None = None,
        environ: dict[str, str] | None = None,
        trace: Path | None = None,
    ) -> Run:
        """Start a run.

        Args:
            arguments: of the command line.
            kill_at: the number of the call before which it kills itself.
            file_size: a limit, in bytes.
            environ: variables it gets beside those of this process.
            trace: where to write what it opened and changed, see :class:`tests.support.trace.Trace`.
        """
        assert self._zygote is not None
        order = {
            "arguments": [str(argument) for argument in arguments],
            "kill_at": kill_at,
            "file_size": file_size,
            "environ": environ or {},
            "trace": None if trace is None else str(trace),
            "stdout": str(self._folder / "stdout"),
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

    def __init__(self, zygote: subprocess.Popen[str], order: dict[str, Any]) -> None:
        assert zygote.stdin is not None
        assert zygote.stdout is not None
        self._order = order
        self._answers = zygote.stdout
        zygote.stdin.write(json.dumps(order) + "\n")
        zygote.stdin.flush()
        self.pid = int(self._answers.readline())
        self.ended = False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a run that has ended already is fine."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def stderr(self) -> str:
        """Return what it has said so far."""
        return Path(self._order["stderr"]).read_text(encoding="utf-8")

    def wait(self, timeout: float = 120.0) -> Done:
        """Wait for the end; a run that takes longer is killed, and shows it."""
        timer = threading.Timer(timeout, self.signal, (signal.SIGKILL,))
        timer.start()
        code = int(self._answers.readline())
        timer.cancel()
        self.ended = True
        calls = Path(self._order["calls"])
        return Done(
            code,
            Path(self._order["stdout"]).read_text(encoding="utf-8"),
            Path(self._order["stderr"]).read_text(encoding="utf-8"),
            int(calls.read_text() or 0),
        )


@contextmanager
def serving(blog: Blog, **options: Any) -> Iterator[DemoService]:
    """Serve a blog from a thread."""
    from exporter.demo.service import ServiceOptions  # noqa: PLC0415

    with DemoService(blog, ServiceOptions(**options)).run_in_thread() as service:
        yield service


def command_for(service: DemoService, root: Path) -> tuple[object, ...]:
    """Return the command that backs up a blog together with its files, and makes no site, which is a second's work."""
    files = service.base_url + "/v1/blog/user/{user_id}/{mtime}"
    return (
        "backup", next(iter(service.blogs)), "--base-url", service.base_url, "--archive", root,
        "--assets", "files", "--file-url", files, "--allow-private-network", "--retries", 1, "--no-site",
    )  # fmt: skip


def held(blog: Blog) -> State:
    """Return what a service holds, in canonical bytes, as an archive must fold to it."""

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
    """Return the bytes an archive keeps of a record that was sent."""
    return lossless_json.freeze(lossless_json.loads(sent)).data


def folded(root: Path, at: int | None = None) -> State:
    """Return what an archive holds, from its versions alone."""
    reader = Archive.open(root)
    state = reader.fold(reader.resolve(at))
    try:
        return {
            kind: {line.record_id: line.data for line in state.lines(kind)} for kind in Kind if kind is not Kind.ASSETS
        }
    finally:
        state.close()


def findings(root: Path) -> list[str]:
    """Return what verify finds, notes left out: they say that something derived is not there yet."""
    return [f"{each.code} {each.path} {each.detail}" for each in verify(Archive.open(root)) if each.damage]


def all_findings(root: Path) -> list[str]:
    """Return what verify finds, notes included."""
    return [f"{each.code} {each.path} {each.detail}" for each in verify(Archive.open(root))]


def lines_of_runs(root: Path) -> list[dict[str, Any]]:
    """Return the lines of ``runs.jsonl``."""
    return Archive.open(root).runs()


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files under a folder, and an empty value for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}
