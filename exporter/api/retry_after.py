"""Reading ``Retry-After`` (RFC 9110, section 10.2.3). Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"([+-]?)([0-9]+)(?:\.[0-9]+)?")
_SANE_DIGITS = 12


def seconds_to_wait(value: str | None, now: datetime, sent_at: str | None = None) -> float | None:
    """Return the seconds asked for, never negative; ``None`` when there is no such wish or it makes no sense.

    A date counts from the answer's own ``Date`` (``sent_at``) when it has one, as the two clocks may differ, else from
    ``now``. A number with more digits than any wait has is infinite.
    """
    if value is None:
        return None
    value = value.strip()
    number = _SECONDS.fullmatch(value)
    if number is not None:
        if number[1] == "-":
            return 0.0
        return float(number[0]) if len(number[2]) <= _SANE_DIGITS else float("inf")
    moment = _date(value)
    if moment is None:
        return None
    reference = (_date(sent_at) if sent_at else None) or now
    return max(0.0, (moment - reference).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
