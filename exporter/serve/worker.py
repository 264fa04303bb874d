"""A thread that does one thing after another, and that the end of the program does not wait for."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Worker:
    """Does work that blocks, in the order in which it was given."""

    def __init__(self) -> None:
        self._todo: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # To index many thousands of entries takes longer than anybody waits after Ctrl-C.
        threading.Thread(target=self._run, name="records", daemon=True).start()

    def do(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Return what comes of the work, for the running event loop; cancelled before it began, it is not done."""
        future: Future[Any] = Future()
        self._todo.put((future, work))
        return asyncio.wrap_future(future)

    def end(self) -> None:
        """End the thread when all is done; nobody is to wait for that."""
        self._todo.put(None)

    def _run(self) -> None:
        while (given := self._todo.get()) is not None:
            future, work = given
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001  whatever it is, it is for the one who asked
                    future.set_exception(error)
