"""Reading single fields: each reader gives a value or ``None``, and says what was wrong instead of raising."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from exporter.jsontext import IntegerText
from exporter.model import assumptions

_DATE_TIME = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_SHOWN = 60
_EARLIEST_YEAR = 1000
"""API 2.2: a year has four digits; one of fewer has lost some, and its day cannot be told."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A field whose value is not what the document promises.

    Attributes:
        field: the field's name, or a short list of names.
        value: the value as text, cut to 60 characters.
        reason: what is wrong with it.
    """

    field: str
    value: str
    reason: str


class FieldReader:
    """Reads the fields of one raw record and collects problems."""

    def __init__(self, raw: Mapping[str, Any], timezone: tzinfo) -> None:
        self._raw = raw
        self._timezone = timezone
        self.problems: list[Problem] = []

    def text(self, name: str) -> str:
        """Return the field as text; a missing or null field is the empty string, numbers keep their digits."""
        value = self._raw.get(name)
        if isinstance(value, str):
            return str(value)
        if value is None:
            if name not in self._raw:
                self._problem(name, "", "is missing")
            return ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._problem(name, value, "is not text")
        return ""

    def optional_text(self, name: str) -> str | None:
        """Return the field as text, or ``None`` where the service sent null or nothing."""
        return None if self._raw.get(name) is None else self.text(name)

    def number(self, name: str) -> int | None:
        """Return a whole number sent as text or as a number; ``None`` when empty or impossible."""
        value = self._raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if value is None or value == "":
            return None
        if isinstance(value, str) and not isinstance(value, IntegerText) and _INTEGER.fullmatch(value.strip()):
            return int(value)
        self._problem(name, value, "is not a whole number")
        return None

    def flag(self, name: str) -> bool | None:
        """Return a ``t``/``f`` flag (section 3) as a bool; ``None`` when it is anything else."""
        value = self._raw.get(name)
        if isinstance(value, bool):
            return value
        if value == assumptions.FLAG_TRUE:
            return True
        if value == assumptions.FLAG_FALSE:
            return False
        if value is not None and value != "":
            self._problem(name, value, "is neither t nor f")
        return None

    def date(self, name: str) -> datetime | None:
        """Return ``YYYY-MM-DD hh:mm:ss`` or ``YYYY/MM/DD`` in the blog's timezone; ``None`` when impossible."""
        value = self._raw.get(name)
        if value is None or value == "":
            return None
        found = _DATE_TIME.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            self._problem(name, value, "is not a date")
            return None
        return self._date(name, [int(part or 0) for part in found.groups()])

    def date_from_parts(self, prefix: str = "") -> datetime | None:
        """Return the date spread over ``year`` … ``sec`` (with ``prefix``); ``None`` when empty or impossible."""
        names = [prefix + part for part in ("year", "mon", "day", "hour", "min", "sec")]
        values = [self._raw.get(name) for name in names]
        if all(value is None or value == "" for value in values):
            return None
        parts: list[int] = []
        for name, value in zip(names, values, strict=True):
            text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
            if not _INTEGER.fullmatch(text.strip()):
                self._problem(name, value, "is not a part of a date")
                return None
            parts.append(int(text))
        return self._date(f"{names[0]}…{names[-1]}", parts)

    def _date(self, name: str, parts: list[int]) -> datetime | None:
        try:
            if parts[0] >= _EARLIEST_YEAR:
                year, month, day, hour, minute, second = [*parts, 0, 0, 0][:6]
                return datetime(year, month, day, hour, minute, second, tzinfo=self._timezone)
        except (ValueError, OverflowError):
            pass
        self._problem(name, "-".join(str(part) for part in parts), "is an impossible date")
        return None

    def _problem(self, field: str, value: object, reason: str) -> None:
        self.problems.append(Problem(field, _shown(value)[:_SHOWN], reason))


def _shown(value: object) -> str:
    """Show a value in a few words; a container may be nested too deeply to be shown itself."""
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return str(value)
