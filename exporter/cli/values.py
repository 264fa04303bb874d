"""Values as people write them: durations, sizes, offsets from UTC. Pure."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_DURATION = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[smhdw]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE = re.compile(r"(?P<amount>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[KMGT]?)I?B?", re.IGNORECASE)
_BYTES = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})")
_HOST = re.compile(r"[^\s/:@?#\[\]]+")
_LONGEST = 100 * 365 * 86400


def duration(text: str) -> timedelta:
    """Read ``90``, ``90s``, ``30m``, ``24h``, ``7d`` or ``2w``; a bare number is seconds.

    Raises:
        ValueError: it is none of these.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError("a duration such as 90s, 30m, 24h or 7d is expected")
    seconds = float(found["amount"]) * _SECONDS[found["unit"]]
    if seconds > _LONGEST:
        raise ValueError("a duration of at most 100 years is expected")
    return timedelta(seconds=seconds)


def duration_text(value: timedelta) -> str:
    """Write a duration in the form :func:`duration` reads, in its largest whole unit."""
    seconds = int(value.total_seconds())
    unit = next((unit for unit in "dhm" if seconds and seconds % _SECONDS[unit] == 0), "s")
    return f"{seconds // _SECONDS[unit]}{unit}"


def size(text: str) -> int:
    """Read ``1000``, ``64MB`` or ``1.5G`` as bytes; units are decimal.

    Raises:
        ValueError: it is none of these.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError("a size such as 500KB, 64MB or 2GB is expected")
    return int(float(found["amount"]) * _BYTES[found["unit"].upper()])


def yes_or_no(text: str) -> bool:
    """Read ``yes``, ``no`` and what else people write for them.

    Raises:
        ValueError: it is none of these.
    """
    found = {"yes": True, "true": True, "1": True, "on": True, "no": False, "false": False, "0": False, "off": False}
    if text.strip().lower() not in found:
        raise ValueError("yes or no is expected")
    return found[text.strip().lower()]


def zone(text: str) -> tzinfo:
    """Read a name such as ``Asia/Tokyo``, ``UTC``, or an offset such as ``+09:00``.

    Raises:
        ValueError: it is none of these.
    """
    found = _OFFSET.fullmatch(text.strip())
    if found is not None:
        offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
        return timezone(offset if found["sign"] == "+" else -offset)
    try:
        return ZoneInfo(text.strip())
    except (KeyError, OSError, ValueError):
        raise ValueError("a time zone such as Asia/Tokyo or an offset such as +09:00 is expected") from None


def words(text: str) -> frozenset[str]:
    """Read values with commas between them.

    Raises:
        ValueError: there is none.
    """
    found = frozenset(word.strip() for word in text.split(",") if word.strip())
    if not found:
        raise ValueError("a value, or several with commas between them, is expected")
    return found


def hosts(text: str) -> frozenset[str]:
    """Read names of hosts with commas between them; none is fine.

    Raises:
        ValueError: one of them is an address, or no name at all.
    """
    found = frozenset(host.strip().rstrip(".").lower() for host in text.split(",") if host.strip())
    if any(not _HOST.fullmatch(host) for host in found):
        raise ValueError("names of hosts are expected, such as img.example.jp, with commas between them")
    return found


def flags(text: str) -> frozenset[str]:
    """Read ``t``, ``f`` or both, with a comma between them.

    Raises:
        ValueError: it is none of these.
    """
    found = words(text)
    if not found <= {"t", "f"}:
        raise ValueError("t, f or f,t is expected")
    return found
