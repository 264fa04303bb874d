"""The script with the tables that ``static/folding.js`` needs to fold like :mod:`exporter.search.folding`. Pure."""

from __future__ import annotations

from functools import cache
from typing import Final

from exporter.search.variants import GROUPS
from exporter.site.templating import data_script

_LAST_WITH_CASE: Final = 0x1FFFF
"""No letter beyond the first two planes of Unicode has a case."""


def folds_script() -> bytes:
    """Return ``folds.js``: what lower-casing leaves of case folding, and the groups of kanji that share a key."""
    return data_script("folds", "", [case_table(), " ".join(GROUPS)])


@cache
def case_table() -> dict[str, str]:
    """Return the characters that change when a lower-cased character is folded further."""
    found = {}
    for code in range(_LAST_WITH_CASE + 1):
        char = chr(code)
        if not 0xD800 <= code <= 0xDFFF and char.casefold() != char:
            found.update({each: each.casefold() for each in char.lower() if each.casefold() != each})
    return found
