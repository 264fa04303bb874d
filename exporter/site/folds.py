"""How the search page folds a query the way Python folded the texts. Pure.

A script has NFKC and lower case, but no case folding. The characters for which lower case alone is not what folding
gives go to the page as a table.
"""

from __future__ import annotations

from functools import cache
from typing import Final

_LAST_WITH_CASE: Final = 0x1FFFF
"""No letter beyond the first two planes of Unicode has a case."""


@cache
def case_table() -> dict[str, str]:
    """Return what each lower-cased character still folds to, where that is another."""
    found = {}
    for code in range(_LAST_WITH_CASE + 1):
        char = chr(code)
        if not 0xD800 <= code <= 0xDFFF and char.casefold() != char:
            found.update({each: each.casefold() for each in char.lower() if each.casefold() != each})
    return found
