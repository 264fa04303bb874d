"""Making strangers' text fit for derived files."""

from __future__ import annotations

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def visible(text: str) -> tuple[str, int]:
    """Return the text with U+FFFD for what a text file cannot hold, and how many characters were replaced.

    That is lone surrogates, which UTF-8 cannot encode, and control characters other than tab, newline, form feed and
    carriage return.
    """
    return _NOT_TEXT.subn(REPLACEMENT, text)
