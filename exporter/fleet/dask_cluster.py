"""A scheduler and workers of Dask on this machine, as processes of their own that may die at any moment.

Dask's own ``LocalCluster`` keeps its scheduler in the driver's process, and nothing starts that anew. Here a worker
that died is started again; when the scheduler died, all of it is thrown away, and whoever uses it makes another one.

Whoever reaches a scheduler of Dask can have any code run, and every user of a machine reaches its loopback addresses.
So these processes only talk to whoever has the key that is made for them, in a file that only its owner may read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self

import exporter
from exporter.archive.atomic import make_folder

_LOOK_SECONDS: Final = 0.05
_PARTING_SECONDS: Final = 2.5
"""What workers have to end in order, once the pipe of each is closed, before they are killed; they take less."""
_CALM_SECONDS: Final = 60.0
_MOST_DEATHS: Final = 30
"""Of workers within that time, for each; one that cannot start dies within a second."""
_LOG_BYTES: Final = 1_000_000
_NOTHING_SHOWN: Final = {"DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": '["distributed.http.health"]'}
_SHOWN_HERE: Final = ("--dashboard-address", "127.0.0.1:0")
_ENVIRONMENT: Final = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",  # what a dead worker had is handed out anew, less what ended
    "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "false",  # takes a task from who is at it, where the thief dies
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "100",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "100",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": '["distributed.http.health"]',
    "DASK_LOGGING__DISTRIBUTED": "warning",
}


def has_dashboard() -> bool:
    """Tell whether the library is there that Dask's dashboard needs."""
    return find_spec("bokeh") is not None


class DaskCluster:
    """Runs a scheduler and workers for as long as it is entered; they end with this process.

    Args:
        folder: for its key, its log and what workers put aside; made if it is not there.
        workers: how many.
        slots: tasks at a time in each.

    Attributes:
        address: of the scheduler.
        security: what a client needs to be let in.
        lost: is set when the scheduler died, or the workers die as soon as they start.
    """

    def __init__(self, folder: Path, workers: int, slots: int) -> None:
        self._folder = folder
        self._slots = slots
        self._count = workers
        self._workers: list[subprocess.Popen[bytes]] = []
        self._deaths: deque[float] = deque()
        self._names = 0
        self.lost = asyncio.Event()

    async def __aenter__(self) -> Self:
        make_folder(self._folder)
        self._place = self._folder / "cluster"
        shutil.rmtree(self._place, ignore_errors=True)  # of a driver that was killed
        self._place.mkdir(0o700)
        self._log = os.open(self._folder / "dask.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        if os.fstat(self._log).st_size > _LOG_BYTES:
            os.truncate(self._log, 0)
        self._secure(self._place / "key.pem")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tls://127.0.0.1:{port}"
        self._scheduler = self._start("scheduler", "--port", str(port), "--protocol", "tls")
        self._workers = [self._start_worker() for _ in range(self._count)]
        self._watcher = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watcher.cancel()
        for process in self._workers:
            _close(process)
        deadline = time.monotonic() + _PARTING_SECONDS
        while time.monotonic() < deadline and any(process.poll() is None for process in self._workers):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)
        for process in [*self._workers, self._scheduler]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in [*self._workers, self._scheduler]:
            process.wait()
            _close(process)
        os.close(self._log)
        shutil.rmtree(self._place, ignore_errors=True)

    def _secure(self, path: Path) -> None:
        from distributed.security import Security  # noqa: PLC0415 - an extra, and heavy

        kind: Any = Security
        made = kind.temporary()
        path.touch(0o600)
        path.write_text(made.tls_client_key + made.tls_client_cert, encoding="ascii")
        self._tls = ["--tls-ca-file", str(path), "--tls-cert", str(path), "--tls-key", str(path)]
        self.security = made

    def _start_worker(self) -> subprocess.Popen[bytes]:
        self._names += 1
        return self._start(
            "worker", self.address, "--name", f"worker-{self._names}", "--nthreads", str(self._slots), "--no-nanny",
            "--memory-limit", "0", "--death-timeout", "30", "--local-directory", str(self._place),
        )  # fmt: skip

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        module = "exporter.fleet.dask_process"
        shown = {} if has_dashboard() else _NOTHING_SHOWN
        return subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-m", module, kind, "--host", "127.0.0.1", *_SHOWN_HERE, *self._tls, *options],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), **_ENVIRONMENT, **shown},
            start_new_session=True,  # who interrupts this process means it alone; it ends the others
        )

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while self._scheduler.poll() is None:
            for place, process in enumerate(self._workers):
                if process.poll() is None:
                    continue
                self._deaths.append(loop.time())
                _close(process)
                self._workers[place] = self._start_worker()
            while self._deaths and self._deaths[0] < loop.time() - _CALM_SECONDS:
                self._deaths.popleft()
            if len(self._deaths) > _MOST_DEATHS * self._count:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        self.lost.set()


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
