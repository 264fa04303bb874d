"""How a text begins, as the home page shows it: one line, cut after some hundred characters. Pure."""

from __future__ import annotations

import re
from typing import Final

from exporter.html.text import text_of
from exporter.text import visible

_LONGEST: Final = 110
_CUT_OFF: Final = 20
"""Characters at the end of what is read that may be half of something."""
_FIRST_LOOK: Final = 500
_LOOKED_AT: Final = 200_000
"""How much of a body is read for its beginning: as a rule the first is enough."""
_PICTURE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)


def beginning_of(body: str) -> str:
    """Return how a body begins, without its pictures; it ends in ``…`` where the body goes on."""
    text = _one_line(body[:_FIRST_LOOK])
    if len(text) < _LONGEST + _CUT_OFF and len(body) > _FIRST_LOOK:
        text = _one_line(body[:_LOOKED_AT])
    return text if len(text) <= _LONGEST else text[:_LONGEST].rstrip() + "…"


def _one_line(html: str) -> str:
    return " ".join(visible(text_of(_PICTURE.sub("", html))[: _LONGEST * 2 + 1])[0].split())
