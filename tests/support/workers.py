"""Worker processes that cost little, for tests that look at no part of them.

A process for the pictures of each site, or for a command about a fleet, took half a second. The tests of the sites, of
fleets and of the workers have the real ones.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import pkgutil
from collections.abc import Callable
from multiprocessing.forkserver import _forkserver
from typing import Any, Self

from exporter.worker import Worker
from tests.support.disks import without_waiting


def call_here(worker: Worker, function: Callable[..., Any] | str, *args: Any) -> None:
    """Replace :meth:`exporter.worker.Worker.submit`: do the call in this thread, with the same kinds of values."""
    call = pkgutil.resolve_name(function) if isinstance(function, str) else function
    first = () if worker._shared is None else (worker._shared,)
    try:
        answer = True, call(*first, *pickle.loads(pickle.dumps(args)))
    except Exception as error:  # noqa: BLE001 - as in the real process
        answer = False, f"{type(error).__name__}: {error}"[:200]
    worker._sizes.append(0)
    worker._answers.put(pickle.loads(pickle.dumps(answer)))


class ForkedProcesses:
    """Replaces a context of :mod:`multiprocessing` that starts a fresh Python for each process; use it in ``with``.

    One process has imported the program and is forked.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self.Pipe = self._context.Pipe

    def __enter__(self) -> Self:
        self._context.set_forkserver_preload([
            __name__, "exporter.fleet.local_pool", "exporter.fleet.work", "exporter.library.views", "exporter.site.view",
        ])  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        # It ends with the tests anyway; only then nobody knows what it took.
        _forkserver._stop()  # type: ignore[attr-defined]  # the stubs know no private names

    def Process(self, target: Callable[..., Any], args: tuple[Any, ...], daemon: bool) -> Any:  # noqa: N802 - as in a context
        """Return a process that has the variables of this one."""
        return self._context.Process(target=_as_here, args=(dict(os.environ), target, args), daemon=daemon)


def _as_here(environ: dict[str, str], target: Callable[..., Any], args: tuple[Any, ...]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.fsync = without_waiting  # type: ignore[assignment]  # only descriptors are given
    target(*args)
