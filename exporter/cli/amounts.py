"""Sizes, spans of time and times gone by, as people say them in either language."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from exporter.message import Message, message, message_n

_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


def size_text(count: float) -> str:
    """Write a number of bytes as people do: ``3.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def time_text(seconds: float) -> Message:
    """Write a span of time as people do: ``1 h 03 min``."""
    whole = int(seconds)
    if whole < 60:
        return message("{seconds} s", seconds=f"{seconds:.1f}" if seconds < 10 else str(whole))
    if whole < 3600:
        return message("{minutes} min {seconds:02d} s", minutes=whole // 60, seconds=whole % 60)
    return message("{hours} h {minutes:02d} min", hours=whole // 3600, minutes=whole % 3600 // 60)


def ago_text(since: timedelta) -> Message:
    """Write how long ago something was, in one unit: ``6 h ago``, ``3 days ago``."""
    if since < _MINUTE:
        return message("just now")
    if since < _HOUR:
        return message("{minutes} min ago", minutes=since // _MINUTE)
    if since < 2 * _DAY:
        return message("{hours} h ago", hours=since // _HOUR)
    return message_n("{n:,} day ago", "{n:,} days ago", since // _DAY)
