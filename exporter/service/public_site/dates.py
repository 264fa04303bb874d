"""The dates on pages and in feeds: ISO 8601, RFC 2822, and the forms that Japanese templates use. Pure."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import Final

_MAX_CHARACTERS: Final = 200
_DAY: Final = re.compile(
    r"(?<![0-9])([12][0-9]{3})\s*[年/.\-]\s*([01]?[0-9])\s*[月/.\-]\s*([0-3]?[0-9])(?![0-9])\s*日?"
)
_TIME: Final = re.compile(
    r"(?P<before>午前|午後|AM|PM|am|pm)?\s*(?P<hour>[0-2]?[0-9])\s*[:：時]\s*(?P<minute>[0-5][0-9])"
    r"(?:\s*[:：分]\s*(?P<second>[0-5][0-9]))?\s*(?P<after>AM|PM|am|pm)?"
)
_AFTERNOON: Final = frozenset({"午後", "pm"})
_FIRST_YEAR: Final = 1990


def read_page_date(text: str, timezone: tzinfo) -> datetime | None:
    """Return the first date in a text, in the zone of the blog unless it states an offset; ``None`` without one."""
    text = text.strip()[:_MAX_CHARACTERS]
    if not text:
        return None
    found = _iso(text) or _rfc(text) or _japanese(text)
    if found is None or found.year < _FIRST_YEAR:
        return None
    try:
        return found.replace(tzinfo=timezone) if found.tzinfo is None else found.astimezone(timezone)
    except OverflowError:
        return None


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _rfc(text: str) -> datetime | None:
    if "," not in text and ":" not in text:
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - only feeds have such dates

    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _japanese(text: str) -> datetime | None:
    day = _DAY.search(text)
    if day is None:
        return None
    time = _TIME.search(text, day.end())
    hour = minute = second = 0
    if time is not None:
        hour, minute, second = int(time["hour"]), int(time["minute"]), int(time["second"] or 0)
        half = (time["before"] or time["after"] or "").lower()
        if half and hour == 12:
            hour = 0
        if half in _AFTERNOON and hour < 12:
            hour += 12
    try:
        return datetime(int(day[1]), int(day[2]), int(day[3]), hour, minute, second)  # noqa: DTZ001
    except ValueError:
        return None
