"""A worker pool in an existing Dask cluster, or in one that it starts on this machine.

Each call is a plain task. If its worker dies, Dask runs it again; if its workers die too often, the call fails. Workers
need the same version of this program and the fleet's folder under the same path; each proves that by reading a marker
file.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import re
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Self

from exporter import __version__
from exporter.archive.atomic import FILE_MODE, make_folder, translated
from exporter.errors import BlogExporterError, ServiceError, UsageError
from exporter.fleet.pool import Died, Outcome, Raised, called
from exporter.message import message
from exporter.worker import keep_to_one, processors

START_SECONDS: Final = 60.0
"""How long the first worker may take to appear."""
_PATIENCE_SECONDS: Final = 600.0
"""How long a cluster may be without workers later."""
_CONNECT_SECONDS: Final = 15.0
_CLOSE_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 30.0
"""How long our own cluster may take to stop: its workers get five seconds before they are killed."""
_ADDRESS: Final = re.compile(r"(tcp|tls|ws|wss)://[^\s/@?#]+")


class _Marker(NamedTuple):
    """A marker file that proves to a worker that it sees the same folder, and the folder for messages."""

    folder: Path
    path: Path
    text: str


@dataclass(frozen=True)
class _Job:
    """The data that all calls of a command share; it is sent to every worker, so it holds no secret."""

    markers: tuple[_Marker, ...]
    version: str


class DaskPool:
    """Implements :class:`~exporter.fleet.pool.WorkerPool` with a Dask cluster.

    Args:
        root: the fleet's folder.
        places: other folders that the work writes into; they may not exist yet.
        workers: how many workers to start on this machine; ``None`` for one per processor.
        scheduler: the address of an existing scheduler; then no worker is started.

    Raises:
        UsageError: on entering, if the cluster cannot be used from here.
        ServiceError: on entering, if it does not answer or has no workers.
    """

    runs_here = False

    def __init__(
        self, root: Path, places: Sequence[Path] = (), *, workers: int | None = None, scheduler: str | None = None
    ) -> None:
        self._root = root
        self._places = places
        self._workers = workers or processors()
        self._scheduler = scheduler
        self._run = f"blog-exporter-{secrets.token_hex(8)}"
        self._futures: dict[Any, int] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._client: Any = None
        self._closing = contextlib.ExitStack()
        self._last_seen = 0.0
        self.slots = self._workers if scheduler is None else 1
        self.dashboard: str | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            folder = self._root / ".work" / "dask"
            with translated(folder):
                make_folder(folder)
            places = {self._root: folder, **{place: _nearest(place) for place in self._places}}
            markers = [stack.enter_context(_marked(place, at / f".{self._run}")) for place, at in places.items()]
            self._job = _Job(tuple(markers), __version__)
            self._client = self._connected(stack, folder)
            self._closing = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._futures.clear()
        self._closing.close()

    def _connected(self, stack: contextlib.ExitStack, folder: Path) -> Any:
        import distributed  # noqa: PLC0415 - an extra, and heavy

        for name in ("distributed", "distributed.client", "distributed.nanny"):  # this module reports their errors
            logging.getLogger(name).setLevel(logging.CRITICAL)
        make_client: Any = distributed.Client
        try:
            address: Any = self._scheduler or stack.enter_context(self._local_cluster(folder))
            client = make_client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
            stack.callback(_quietly, client.close, timeout=_CLOSE_SECONDS)
            client.wait_for_workers(1 if self._scheduler else self._workers, timeout=START_SECONDS)
        except OSError as error:  # a TimeoutError too
            raise self._absent(error) from error
        if find_spec("bokeh") is not None:
            self.dashboard = client.dashboard_link or None
        self._last_seen = time.monotonic()
        self.slots = max(1, sum(client.nthreads().values()))
        return client

    @contextlib.contextmanager
    def _local_cluster(self, folder: Path) -> Iterator[Any]:
        import dask.config  # noqa: PLC0415 - an extra, and heavy
        from distributed import LocalCluster  # noqa: PLC0415

        make_cluster: Any = LocalCluster
        with dask.config.set(
            {"distributed.scheduler.allowed-failures": 0}
        ):  # callers such as results_as_completed try again
            # Any client of a scheduler can run any code, and loopback is open to all users, so a key is required.
            cluster = make_cluster(
                n_workers=self._workers, threads_per_worker=1, security=True, host="127.0.0.1", memory_limit=0,
                dashboard_address="127.0.0.1:0", local_directory=str(folder), silence_logs=logging.CRITICAL,
                preload=[__name__], env={"DASK_LOGGING__DISTRIBUTED": "error"},
            )  # fmt: skip
        try:
            yield cluster
        finally:
            _quietly(cluster.close, timeout=_STOP_SECONDS)

    def submit(self, number: int, work: Callable[[Any], Any], argument: Any) -> None:
        """Submit a call as a task."""
        key = f"{self._run}-{number}"
        future = self._client.submit(_run_call, self._job, pickle.dumps((work, argument)), key=key, pure=False)
        self._futures[future] = number
        future.add_done_callback(self._ended.put)

    def done(self, seconds: float) -> list[tuple[int, Outcome]]:
        """Return the calls that ended; see :meth:`~exporter.fleet.pool.WorkerPool.done`.

        Raises:
            UsageError: a worker cannot do the work.
            ServiceError: the scheduler is gone, or had no workers for too long.
        """
        found: list[tuple[int, Outcome]] = []
        with contextlib.suppress(Empty):
            while True:
                future = self._ended.get(timeout=seconds) if seconds and not found else self._ended.get_nowait()
                if future.done():
                    found.append((self._futures.pop(future), self._outcome(future)))
                else:  # its worker died before the result was fetched: Dask runs the task again
                    future.add_done_callback(self._ended.put)
        if not found and seconds:
            self._look_for_workers()
        return found

    def _look_for_workers(self) -> None:
        now = time.monotonic()
        try:
            workers = self._client.nthreads()
        except BlogExporterError:  # a signal interrupted this process
            raise
        except Exception as error:
            raise self._absent(error) from error
        if workers:
            self._last_seen, self.slots = now, sum(workers.values())
        elif now - self._last_seen > _PATIENCE_SECONDS:
            raise self._absent(TimeoutError())

    def _outcome(self, future: Any) -> Outcome:
        from distributed import KilledWorker  # noqa: PLC0415 - an extra, and heavy

        if future.status == "cancelled":
            raise self._absent(ConnectionError(future.status))
        try:
            answer = future.result()
        except KilledWorker:
            return Died("")
        except BlogExporterError:  # a signal interrupted this process
            raise
        except Exception as error:
            kind, reason = type(error).__name__, str(error)
            raise UsageError(
                "A worker of Dask cannot do the work: {kind}: {reason}.", kind=kind, reason=reason
            ) from error
        outcome: Outcome = pickle.loads(answer)  # noqa: S301 - workers can change the archives anyway
        return outcome

    def _absent(self, error: Exception) -> BlogExporterError:
        reason = str(error) or type(error).__name__
        if self._scheduler is None:
            return ServiceError("The Dask cluster on this machine does not work: {reason}.", reason=reason)
        return ServiceError(
            "The scheduler {address} does not answer, or has no workers ({reason}): start dask scheduler, and "
                "dask worker {address} on each machine.",
                address=self._scheduler, reason=reason
        )  # fmt: skip


def check_dask(workers: int | None, scheduler: str | None) -> None:
    """Check the options of the engine ``dask``.

    Raises:
        UsageError: they contradict each other, or the library is missing.
    """
    if workers is not None and scheduler is not None:
        raise UsageError(message("Give --workers or --scheduler, not both: a scheduler has workers of its own."))
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        raise UsageError(
            "--scheduler is {text}: an address such as tcp://10.0.0.5:8786 is expected.", text=repr(scheduler)
        )
    if sys.platform == "win32":
        raise UsageError(message("The engine dask runs on Linux and macOS, not on Windows: leave --engine out."))
    try:
        import distributed  # noqa: F401, PLC0415 - an extra, and heavy
    except ImportError as error:
        raise UsageError(
            "The engine dask needs a library that is not installed ({error}): pip install 'blog-exporter[fleet]'",
            error=error,
        ) from error


def _nearest(place: Path) -> Path:
    """Return a folder, or the nearest existing one above it."""
    return next(each for each in (place, *place.parents) if each.is_dir())


@contextlib.contextmanager
def _marked(folder: Path, path: Path) -> Iterator[_Marker]:
    marker = _Marker(folder, path, secrets.token_hex(16))
    with translated(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(marker.text)
    try:
        yield marker
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


def _quietly(close: Callable[..., Any], **options: Any) -> None:
    with contextlib.suppress(Exception):  # the connection may be broken
        close(**options)


def dask_setup(_worker: object) -> None:
    """Keep the output of a local worker off the user's terminal; Dask calls this when it starts one."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def _run_call(job: _Job, call: bytes) -> bytes:
    """Run a call; the task of a worker."""
    refusal = _refusal(job)
    if refusal is not None:
        return pickle.dumps(Raised(refusal))
    keep_to_one()
    return pickle.dumps(called(call))


@cache
def _refusal(job: _Job) -> UsageError | None:
    """Return why this worker cannot run the calls of a job; ``None`` if it can."""
    host = socket.gethostname()
    if job.version != __version__:
        return UsageError(
            "The worker on {host} has version {theirs} of blog-exporter, this is {ours}: install the same everywhere.",
            host=host, theirs=__version__, ours=job.version,
        )  # fmt: skip
    for marker in job.markers:
        try:
            seen = marker.path.read_text(encoding="ascii") == marker.text
        except OSError:
            seen = False
        if not seen:
            return UsageError(
                "The worker on {host} does not see the folder {root} as this machine does: share it under the same "
                "path.",
                host=host, root=marker.folder,
            )  # fmt: skip
    return None
