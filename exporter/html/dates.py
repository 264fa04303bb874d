"""Dates as pages write them, in Japanese or English. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from exporter.clock import at_home

_WEEKDAYS = "月火水木金土日"
_MONTHS = ("January", "February", "March", "April", "May", "June", "July",
           "August", "September", "October", "November", "December")  # fmt: skip


class Dates:
    """Writes dates in one language; the archive's own times are in UTC and are shown in ``zone``."""

    def __init__(self, language: str, zone: tzinfo = UTC) -> None:
        self._japanese = language == "ja"
        self._zone = zone

    def day(self, date: datetime | None) -> str:
        """Return a day in the form of the language; empty for ``None``."""
        if date is None:
            return ""
        if self._japanese:
            return f"{date.year}年{date.month}月{date.day}日（{_WEEKDAYS[date.weekday()]}）"
        return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"

    def short_day(self, date: datetime) -> str:
        """Return a day with its year and without its weekday."""
        return f"{date.year}年{date.month}月{date.day}日" if self._japanese else self.day(date)

    def month_of(self, date: datetime) -> str:
        """Return a month with its year."""
        return f"{date.year}年{date.month}月" if self._japanese else f"{_MONTHS[date.month - 1]} {date.year}"

    def local_minute(self, moment: datetime) -> str:
        """Return a moment in the site's zone."""
        return self.minute(moment.astimezone(self._zone))

    def local_day(self, moment: datetime) -> str:
        """Return the day of a moment in the site's zone."""
        return self.day(moment.astimezone(self._zone))

    def minute(self, date: datetime | None) -> str:
        """Return a day with the time; empty for ``None``."""
        return "" if date is None else f"{self.day(date)} {date:%H:%M}"

    def written(self, written: str) -> str:
        """Return a time from the archive, such as the end of a version; an invalid one is returned unchanged."""
        return self.minute(at_home(written, self._zone)) or written

    def local(self, written: str) -> str:
        """Return a time from the service, in the blog's own clock; an invalid one is returned unchanged."""
        try:
            return self.minute(datetime.fromisoformat(written))
        except ValueError:
            return written

    def year(self, year: str) -> str:
        """Return a year's name."""
        return f"{year}年" if self._japanese else year

    def month(self, month: int) -> str:
        """Return a month's name, 1 to 12."""
        return f"{month}月" if self._japanese else _MONTHS[month - 1]
