"""The dates on pages and in feeds. Pure."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Final

_MAX_CHARACTERS: Final = 200
_FIRST_YEAR: Final = 1990


def read_page_date(text: str, timezone: tzinfo) -> datetime | None:
    """Return the first date in a text, in the zone of the blog unless it states an offset; ``None`` without one."""
    text = text.strip()[:_MAX_CHARACTERS]
    if not text:
        return None
    try:
        found: datetime | None = datetime.fromisoformat(text)
    except ValueError:
        from exporter.service.public_site.date_forms import written_date  # noqa: PLC0415 - records have ISO dates only

        found = written_date(text)
    if found is None or found.year < _FIRST_YEAR:
        return None
    try:
        return found.replace(tzinfo=timezone) if found.tzinfo is None else found.astimezone(timezone)
    except OverflowError:
        return None


def stated_date(text: str, timezone: tzinfo) -> str:
    """Return the first date in a text in ISO 8601; empty without one."""
    found = read_page_date(text, timezone)
    return "" if found is None else found.isoformat()
