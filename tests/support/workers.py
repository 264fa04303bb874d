"""Calls of :class:`exporter.worker.Worker` without its process, for tests that look at no part of it.

A process for the pictures of each site took half a second. The tests of the sites and of the worker have the real ones.
"""

from __future__ import annotations

import pickle
import pkgutil
from collections.abc import Callable
from typing import Any

from exporter.worker import Worker


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
