"""Whether a report gives anything away: every string in it against every original, by its own look at them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from html.entities import html5
from itertools import groupby
from typing import Final

from exporter.report.characters import RUN, is_text
from exporter.report.names import KEPT

_FORMS: Final = re.compile(
    r"%[0-9a-fA-F]{2}|#[0-9a-fA-F]{3,8}(?![0-9a-zA-Z])|(?<![0-9a-zA-Z])[0-9]{1,4}(?:px|em|ex|rem|pt|vw|vh|w|x)(?![0-9a-zA-Z])"
    r"|&[a-zA-Z][a-zA-Z0-9]*;?"
)
"""Percent-encoded bytes, colours, lengths and names of character references: they hold no four characters of a text."""


def runs(text: str) -> Iterator[str]:
    """Yield the longest runs of characters of text, but for :data:`_FORMS`."""
    masked = _FORMS.sub(lambda found: found[0] if _is_unknown_name(found[0]) else " ", text)
    return ("".join(run) for textual, run in groupby(masked, is_text) if textual)


def _is_unknown_name(form: str) -> bool:
    return form.startswith("&") and form[1:] not in html5


def leaks(texts: Iterable[str], banned: Collection[str], exempt: Collection[str] = ()) -> Iterator[str]:
    """Yield every run of four original characters in texts.

    Args:
        texts: the strings of a report.
        banned: the runs of four characters of all originals, digits alone aside.
        exempt: words, in lower case, that may stand in a report beside :data:`~exporter.report.names.KEPT`.
    """
    for text in texts:
        for run in runs(text):
            if len(run) < RUN or run.lower() in KEPT or run.lower() in exempt:
                continue
            for at in range(len(run) - RUN + 1):
                window = run[at : at + RUN]
                if window in banned:
                    yield window
