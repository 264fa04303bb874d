"""The rule for spaces in Japanese: one between half-width words and Japanese; none between Japanese words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LETTER = "[\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff]"
_MARK = "[、。「」『』（）・：；！？]"
_MISPLACED = re.compile(f"(?<! )(?<=[^\\s]) (?={_MARK})|(?<={_MARK}) (?=[^\\s])|(?<={_LETTER}) (?={_LETTER})")
_MISSING = re.compile(f"(?<=[A-Za-z0-9]){_LETTER}|(?<={_LETTER})[A-Za-z0-9]")
NAMES = re.compile("FC2ブログ|Seesaaブログ|タスク スケジューラ")
"""Services and programs whose own names have another form."""
_FIELD = re.compile(r"\{[^{}]*\}")


def misplaced_spaces(text: str) -> list[str]:
    """Return the surroundings of each space that the rule forbids."""
    return list(_around(_MISPLACED, NAMES.sub(_blank, text)))


def missing_spaces(text: str) -> list[str]:
    """Return the surroundings of each place where the rule wants a space."""
    return list(_around(_MISSING, _FIELD.sub(_blank, NAMES.sub(_blank, text))))


def _blank(found: re.Match[str]) -> str:
    return "\ufffc" * len(found[0])


def _around(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for found in pattern.finditer(text):
        yield text[max(0, found.start() - 8) : found.end() + 8]
