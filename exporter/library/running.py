"""Run asynchronous work for a synchronous call of the public API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from exporter.errors import UsageError

T = TypeVar("T")


def run_alone(work: Callable[[], Coroutine[Any, Any, T]], call: str, instead: str) -> T:
    """Run work in a separate event loop. SIGINT cancels it, and then raises ``KeyboardInterrupt``.

    Args:
        work: starts it.
        call: the function that the program called.
        instead: the function for programs that have an event loop.

    Raises:
        UsageError: an event loop runs already.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    raise UsageError(
        "{call} was called inside a running event loop, and it starts its own. Use {instead} there.",
        call=call,
        instead=instead,
    )
