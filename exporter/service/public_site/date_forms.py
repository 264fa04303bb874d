"""The dates that feeds and templates write in other forms than ISO 8601. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from typing import Final
from unicodedata import normalize

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ERAS: Final = {"令和": 2018, "平成": 1988, "R": 2018, "H": 1988}
"""The year before the first one of each era."""
_DAY_FIRST_SEPARATOR: Final = "."
_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_RFC: Final = re.compile(
    r"(?:[a-z]{3,9},?\s+)?[0-9]{1,2}\s+[a-z]{3}\s+[0-9]{2,4}\s+[0-9]{1,2}:[0-9]{2}(?!.*[ap]\.?m)", re.IGNORECASE
)
_YEAR_FIRST: Final = re.compile(
    r"(?<![0-9])(?P<year>[12][0-9]{3})\s*[年/.\-]\s*(?P<month>[01]?[0-9])\s*[月/.\-]\s*(?P<day>[0-3]?[0-9])(?![0-9])\s*日?"
)
_ERA: Final = re.compile(
    r"(?:(?P<era>令和|平成)|(?<![A-Za-z])(?P<letter>[RH]))\s*(?P<year>元|[0-9]{1,2})\s*[年/.\-]\s*(?P<month>[01]?[0-9])"
    r"\s*[月/.\-]\s*(?P<day>[0-3]?[0-9])(?![0-9])\s*日?"
)
_MONTH_FIRST: Final = re.compile(
    rf"(?<![a-z]){_MONTH}\s*(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?\s*,?\s+(?P<year>[12][0-9]{{3}})(?![0-9])",
    re.IGNORECASE,
)
_DAY_FIRST: Final = re.compile(
    rf"(?<![0-9])(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?[\s.\-]*(?:of\s+)?{_MONTH}[\s,\-]*(?P<year>[12][0-9]{{3}})(?![0-9])",
    re.IGNORECASE,
)
_YEAR_LAST: Final = re.compile(
    r"(?<![0-9])(?P<first>[0-3]?[0-9])(?P<mark>[./\-])\s?(?P<second>[0-3]?[0-9])(?P=mark)\s?(?P<year>[12][0-9]{3})(?![0-9])"
)
_CTIME: Final = re.compile(
    rf"(?<![a-z]){_MONTH}\s+(?P<day>[0-3]?[0-9])\s+(?=[0-9]{{1,2}}:[0-9]{{2}})[0-9:]+\s+(?:[a-z]{{3,4}}\s+)?"
    r"(?P<year>[12][0-9]{3})(?![0-9])",
    re.IGNORECASE,
)
_TIME: Final = re.compile(
    r"(?P<before>午前|午後|[ap]\.?m\.?)?\s*(?<![0-9])(?P<hour>[0-2]?[0-9])\s*"
    r"(?:[:：]\s*(?P<minute>[0-5]?[0-9])(?:\s*[:：]\s*(?P<second>[0-5]?[0-9]))?(?![0-9])"
    r"|時(?:\s*(?P<minutes>[0-5]?[0-9])\s*分?(?:\s*(?P<seconds>[0-5]?[0-9])\s*秒)?)?)"
    r"(?:\.[0-9]+)?\s*(?P<after>[ap]\.?m\b\.?)?\s*(?P<zone>Z\b|(?:UTC|GMT)?[+-][0-9]{2}:?[0-9]{2}(?![0-9])|UTC|GMT|JST)?",
    re.IGNORECASE,
)
_JST: Final = timezone(timedelta(hours=9))


def written_date(text: str) -> datetime | None:
    """Return the first date in a text; without a zone if it states none.

    A date such as ``02/01/2020`` is read only if no other order of day and month is possible. With full stops the day
    comes first.
    """
    text = normalize("NFKC", text)
    return _rfc(text) or _written(text)


def _rfc(text: str) -> datetime | None:
    if not _RFC.match(text):
        return None
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


Day = tuple[int, int, int]


def _written(text: str) -> datetime | None:
    """Return the date that begins first, with the time after it, or else before it."""
    found = [(match.start(), -match.end(), match, read) for form, read in _FORMS if (match := form.search(text))]
    if not found:
        return None
    _, _, match, read = min(found, key=lambda each: each[:2])
    day = read(match)
    if day is None:
        return None
    inside = _TIME.search(match[0]) if match.re is _CTIME else None
    time = inside or _TIME.search(text, match.end()) or _TIME.search(text[: match.start()])
    hour = minute = second = 0
    zone: tzinfo | None = None
    if time is not None:
        hour = int(time["hour"])
        minute, second = int(time["minute"] or time["minutes"] or 0), int(time["second"] or time["seconds"] or 0)
        half = (time["before"] or time["after"] or "").lower().replace(".", "")
        hour = 0 if half and hour == 12 else hour
        hour += 12 if half in {"午後", "pm"} and hour < 12 else 0
        zone = _zone(time["zone"] or "")
    try:
        return datetime(*day, hour, minute, second, tzinfo=zone)
    except ValueError:
        return None


def _zone(name: str) -> tzinfo | None:
    name = name.upper()
    if not name:
        return None
    if name == "JST":
        return _JST
    digits = name.lstrip("UTCGMZ").replace(":", "")
    if not digits:
        return UTC
    offset = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5]))
    return timezone(-offset if digits[0] == "-" else offset) if offset < timedelta(days=1) else None


def _numbers(match: re.Match[str]) -> Day:
    return int(match["year"]), int(match["month"]), int(match["day"])


def _named_month(match: re.Match[str]) -> Day:
    return int(match["year"]), _MONTHS.index(match["month"][:3].lower()) + 1, int(match["day"])


def _of_era(match: re.Match[str]) -> Day:
    year = 1 if match["year"] == "元" else int(match["year"])
    return _ERAS[match["era"] or match["letter"]] + year, int(match["month"]), int(match["day"])


def _year_last(match: re.Match[str]) -> Day | None:
    """Return the day if only one order is possible, or if the mark says which."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if match["mark"] == _DAY_FIRST_SEPARATOR or first > 12 or first == second:
        return year, second, first
    return (year, first, second) if second > 12 else None


_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Day | None]], ...]] = (
    (_YEAR_FIRST, _numbers),
    (_ERA, _of_era),
    (_CTIME, _named_month),
    (_MONTH_FIRST, _named_month),
    (_DAY_FIRST, _named_month),
    (_YEAR_LAST, _year_last),
)
