"""What an owner and a crawler say to each other: JSON objects, one on a line, none long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from exporter import lossless_json
from exporter.permits.budget import Portion

LONGEST_LINE: Final = 1 << 20
LONGEST_NAME: Final = 300
MOST_HOSTS: Final = 1000
"""Of one crawler, and so much of their names."""
_MEMORY: Final = 1 << 26
_MOST: Final = 1_000_000
_LARGEST_COUNT: Final = (1 << 53) - 1


def seconds() -> float:
    """Return seconds that never go back, and go on while the machine sleeps where the system counts these."""
    # A lease that lasted through a machine's sleep would last longer than its owner thinks.
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def line(value: Mapping[str, Any]) -> bytes:
    """Return an object as a line."""
    return lossless_json.dumps(dict(value)) + b"\n"


async def read(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Return the next object.

    Raises:
        ConnectionError: there is none.
        ValueError: it is none, or too long.
    """
    found = await reader.readline()
    if not found.endswith(b"\n"):
        raise ConnectionError
    value = lossless_json.loads(found, _MEMORY)
    if isinstance(value, dict):
        return value
    raise ValueError


def whole(value: object) -> int:
    """Return a whole number that is not below 0.

    Raises:
        ValueError: it is none, or too large to be true.
    """
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ValueError
    return value


def count(value: object) -> int:
    """Return a number of what is counted for as long as a crawler lives, ten times a second and more.

    Raises:
        ValueError: it is none.
    """
    if type(value) is not int or not 0 <= value <= _LARGEST_COUNT:
        raise ValueError
    return value


def number(value: object) -> float:
    """Return a number that is not below 0.

    Raises:
        ValueError: it is none, or too large to be true.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise ValueError
    return float(value)


def share(value: object) -> Portion:
    """Return a share.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, list) or len(value) != len(Portion._fields):
        raise ValueError
    return Portion(*map(whole, value))
