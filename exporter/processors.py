"""The number of processors that this process may use: all available ones, or one if it is one of many workers."""

from __future__ import annotations

import os

_given_to_others = False


def processors() -> int:
    """Return how many processors this process, and those that it starts, may keep busy."""
    if _given_to_others:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_to_one() -> None:
    """Let this process use one from now on: it is one of many that share the machine."""
    global _given_to_others  # noqa: PLW0603 - a fact of the process
    _given_to_others = True
