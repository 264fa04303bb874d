"""A worker without a process, for tests that look at what a worker's results become."""

from __future__ import annotations

import pickle
import pkgutil
from collections.abc import Callable
from typing import Any

from exporter.worker import Worker, WorkerFailed


class LocalWorker(Worker):
    """Calls functions in this process; arguments and results are pickled as for a child process."""

    def __init__(self, shared: Any = None, memory: int | None = None) -> None:
        super().__init__(shared, memory)
        self._first = () if shared is None else (shared,)
        self._results: list[tuple[bool, Any]] = []

    @property
    def done(self) -> int:
        return len(self._results)

    @property
    def has_room(self) -> bool:
        return not self._results

    def submit(self, function: Callable[..., Any] | str, *args: Any) -> None:
        call, words = pickle.loads(pickle.dumps((function, args)))
        try:
            made = (pkgutil.resolve_name(call) if isinstance(call, str) else call)(*self._first, *words)
            self._results.append((True, pickle.loads(pickle.dumps(made))))
        except Exception as error:  # noqa: BLE001 - as in the child
            self._results.append((False, f"{type(error).__name__}: {error}"[:200]))

    def result(self, seconds: float | None = None) -> Any:
        succeeded, value = self._results.pop(0)
        if not succeeded:
            raise WorkerFailed(value)
        return value
