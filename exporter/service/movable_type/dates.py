"""Dates in the forms in which export files write them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final, NamedTuple

_AMERICAN: Final = re.compile(r"(?P<month>\d{1,2})[/.-](?P<day>\d{1,2})[/.-](?P<year>\d{4}|\d{2})", re.ASCII)
_ISO: Final = re.compile(r"(?P<year>\d{4})\s*[/.年-]\s*(?P<month>\d{1,2})\s*[/.月-]\s*(?P<day>\d{1,2})\s*日?", re.ASCII)
_HALF: Final = r"(?P<{}>[AP]\.?M\.?|午前|午後)"
_TIME: Final = re.compile(
    rf"(?:{_HALF.format('before')}\s*)?(?P<hour>\d{{1,2}})\s*[:時]\s*(?P<minute>\d{{1,2}})\s*分?"
    rf"(?:\s*:?\s*(?P<second>\d{{1,2}})(?:\.\d{{1,9}})?\s*秒?)?(?:\s*{_HALF.format('after')})?",
    re.ASCII | re.IGNORECASE,
)
_OFFSET: Final = re.compile(r"(?P<utc>Z|UTC|GMT)|(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})|JST", re.ASCII)
_LONGEST: Final = 60
_JAPAN_HOURS: Final = 9
_FIRST_YEAR_OF_TWO_DIGITS: Final = 70


class WrittenDate(NamedTuple):
    """A date in the form of its file.

    Attributes:
        when: the date and time; its time zone is ``None`` if the text has no offset.
        has_time: whether the text has a time.
    """

    when: datetime
    has_time: bool

    @property
    def digits(self) -> str:
        """The 14 digits ``YYYYMMDDhhmmss``."""
        return f"{self.when.year:04}{self.when:%m%d%H%M%S}"

    def within(self, zone: tzinfo) -> datetime | None:
        """Return the date in a time zone, which is its own unless another one is written; ``None`` if out of range."""
        if self.when.tzinfo is None:
            return self.when.replace(tzinfo=zone)
        try:
            return self.when.astimezone(zone)
        except (OverflowError, ValueError):
            return None


def read_date(text: str) -> WrittenDate | None:
    """Read a date, or return ``None`` if it has no known form or does not exist.

    Movable Type writes ``MM/DD/YYYY hh:mm:ss AM`` (its import format; AM and PM are optional, and seconds always
    there). Its dialects also have the year first, no seconds, no time, 午前 and 午後, or an offset as in ISO 8601.
    Like Movable Type, this ignores ``PM`` after an hour over 12. If the first number is over 12, it is the day.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    day = _ISO.match(text) or _AMERICAN.match(text)
    if day is None:
        return None
    rest = text[day.end() :].lstrip(" \tT,")
    clock = _TIME.match(rest)
    rest = rest if clock is None else rest[clock.end() :].strip()
    offset = _OFFSET.fullmatch(rest) if clock is not None else None
    if rest and offset is None:
        return None
    hour, minute, second = (0, 0, 0) if clock is None else _clock(clock)
    year, month, number = int(day["year"]), int(day["month"]), int(day["day"])
    if len(day["year"]) == 2:
        year += 1900 if year >= _FIRST_YEAR_OF_TWO_DIGITS else 2000
    if day.re is _AMERICAN and month > 12 >= number:
        month, number = number, month
    try:
        when = datetime(year, month, number, hour, minute, second, tzinfo=None if offset is None else _zone(offset))
    except ValueError:
        return None
    return WrittenDate(when, clock is not None)


def _clock(found: re.Match[str]) -> tuple[int, int, int]:
    hour = int(found["hour"])
    half = (found["before"] or found["after"] or "").replace(".", "").upper()
    if half in {"PM", "午後"} and hour < 12:
        hour += 12
    elif half in {"AM", "午前"} and hour == 12:
        hour = 0
    return hour, int(found["minute"]), int(found["second"] or 0)


def _zone(found: re.Match[str]) -> tzinfo:
    if found["utc"]:
        return UTC
    if not found["sign"]:
        return timezone(timedelta(hours=_JAPAN_HOURS))
    offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
    return timezone(offset if found["sign"] == "+" else -offset)
