"""The way to a scheduler of Dask: to one of this program's own, or to one that is there.

Whoever works with Dask here holds on to one scheduler after another. What a lost one knew is gone with it, so all that
it had not answered is handed out again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter import __version__
from exporter.errors import BlogExporterError, ServiceError, UsageError
from exporter.fleet.dask_cluster import DaskCluster, has_dashboard
from exporter.message import message

if TYPE_CHECKING:
    from distributed import Worker

START_SECONDS: Final = 60.0
"""So long the first scheduler may take to be there with a worker."""
PATIENCE_SECONDS: Final = 600.0
"""So long is waited for one that was there before."""
PAUSE_SECONDS: Final = 1.0
TRY_SECONDS: Final = 15.0
CLOSE_SECONDS: Final = 0.3
_ADDRESS: Final = re.compile(r"(tcp|tls|ws|wss)://[^\s/@?#]+")


@dataclass(frozen=True, slots=True)
class DaskLink:
    """A scheduler that has workers.

    Attributes:
        client: Dask's own, for this event loop.
        lost: is set when the scheduler died; whoever finds out in another way may set it too.
        dashboard: where Dask shows what it does, ``None`` where it does not.
    """

    client: Any
    lost: asyncio.Event
    dashboard: str | None


@dataclass(frozen=True)
class Refusal:
    """Why a worker can do nothing for a run."""

    reason: str


def version_refusal(version: str) -> str | None:
    """Return why this process cannot work for a program of some version; ``None`` where it can."""
    if version == __version__:
        return None
    return message(
        "The worker on {host} has version {theirs} of blog-exporter, this is {ours}: install the same everywhere.",
        host=socket.gethostname(), theirs=__version__, ours=version,
    )  # fmt: skip


def folder_refusal(folder: str) -> str:
    """Return what is said of a folder that this process does not see."""
    return message(
        "The worker on {host} does not see the folder {root} as this machine does: share it under the same path.",
        host=socket.gethostname(), root=folder,
    )  # fmt: skip


def is_wanted(worker: Worker, task: str) -> bool:
    """Tell whether somebody still waits for a task that a worker does; no other machine can end it."""
    found = worker.state.tasks.get(task)
    return worker.status.name in {"running", "paused"} and found is not None and found.state == "executing"


@asynccontextmanager
async def connected(folder: Path, workers: int, slots: int, scheduler: str | None) -> AsyncIterator[DaskLink]:
    """Give a scheduler that has workers.

    Args:
        folder: where our own keeps its log.
        workers: how many workers our own has.
        slots: how many tasks at a time each of these does.
        scheduler: the address of one that is there; none is started then.

    Raises:
        OSError: it is not there, or has no workers.
    """
    async with contextlib.AsyncExitStack() as stack:
        if scheduler is None:
            cluster = await stack.enter_async_context(DaskCluster(folder, workers, slots))
            address, security, lost = cluster.address, cluster.security, cluster.lost
        else:
            address, security, lost = scheduler, None, asyncio.Event()
        client = _client(address, security)
        stack.push_async_callback(_close, client)
        await client
        await client.wait_for_workers(1 if scheduler else workers, timeout=TRY_SECONDS)
        yield DaskLink(client, lost, _dashboard(client) if scheduler is not None or has_dashboard() else None)


def absent(error: OSError, folder: Path, scheduler: str | None) -> BlogExporterError:
    """Return what is said when there is no scheduler for too long."""
    reason = str(error) or type(error).__name__
    if scheduler is None:
        text = message(
            "The processes of Dask do not start ({reason}): see {log}.", reason=reason, log=folder / "dask.log"
        )
        return ServiceError(text)
    return ServiceError(
        message(
            "The scheduler {address} does not answer, or has no workers ({reason}): start dask scheduler, and "
            "dask worker {address} on each machine.",
            address=scheduler, reason=reason,
        )
    )  # fmt: skip


def check_dask(workers: int | None, scheduler: str | None) -> None:
    """Check that what is asked for can be done here.

    Raises:
        UsageError: it cannot.
    """
    if workers is not None and scheduler is not None:
        raise UsageError(message("Give --workers or --scheduler, not both: a scheduler has workers of its own."))
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        text = message(
            "--scheduler is {text}: an address such as tcp://10.0.0.5:8786 is expected.", text=repr(scheduler)
        )
        raise UsageError(text)
    if sys.platform == "win32":
        raise UsageError(message("The engine dask runs on Linux and macOS, not on Windows: leave --engine out."))
    try:
        import distributed  # noqa: F401, PLC0415 - an extra, and heavy
    except ImportError as error:
        raise UsageError(
            message(
                "The engine dask needs a library that is not installed ({error}): pip install 'blog-exporter[fleet]'",
                error=error,
            )
        ) from error


def _client(address: str, security: Any) -> Any:
    import distributed  # noqa: PLC0415 - an extra, and heavy

    for name in ("distributed", "distributed.client"):  # that a connection broke is said by who holds on to it
        logging.getLogger(name).setLevel(logging.CRITICAL)
    client: Any = distributed.Client
    return client(address, security=security, asynchronous=True, timeout=TRY_SECONDS, set_as_default=False)


async def _close(client: Any) -> None:
    with contextlib.suppress(Exception):  # whatever is left of it
        await client.close(timeout=CLOSE_SECONDS)


def _dashboard(client: Any) -> str | None:
    with contextlib.suppress(KeyError, ValueError, AttributeError):
        return client.dashboard_link or None
    return None
