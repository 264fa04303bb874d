"""Justified Japanese lines, which WeasyPrint does not have: it widens the spaces between words, and Japanese has none.

A line that ends early, since no line may begin with a closing bracket or a full stop, gets the rest between all of its
characters. For a line of 35 characters that is less than a hundredth of an inch each.
"""

from __future__ import annotations

import re
from typing import Any, Final

_JAPANESE: Final = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uff60]")
_MAX_STRETCH: Final = 0.12
"""The most room added after a character, in sizes of the letter. A line that needs more is unchanged."""


def justify_japanese() -> None:
    """Let WeasyPrint justify lines of Japanese from now on, in this process."""
    from weasyprint.layout import inline  # noqa: PLC0415 - an extra, and not light

    justified = inline.justify_line

    def justify_line(context: Any, line: Any, extra: float) -> None:
        texts = [each for each in line.descendants() if type(each).__name__ == "TextBox"]
        written = "".join(each.text for each in texts)
        if _JAPANESE.search(written) is None:
            justified(context, line, extra)
            return
        gaps = len(written) - 1
        size = max((each.style["font_size"] for each in texts), default=0)
        if gaps > 0 and 0 < extra <= gaps * size * _MAX_STRETCH:
            _spread(context, line, extra / gaps)

    inline.justify_line = justify_line


def _spread(context: Any, line: Any, room: float) -> None:
    """Add room after each character in a line."""
    _move(context, line, room, 0.0)


def _move(context: Any, box: Any, room: float, by: float) -> float:
    """Move a box, widen the texts in it, and return how far the next one has to be moved."""
    from weasyprint.text.line_break import create_layout  # noqa: PLC0415

    if type(box).__name__ == "TextBox":
        box.position_x += by
        style = box.style.copy()
        before = 0 if style["letter_spacing"] == "normal" else style["letter_spacing"]
        style["letter_spacing"] = before + room
        box.style = style
        layout = create_layout(box.text, style, context, None, 0)
        layout.deactivate()
        box.pango_layout = layout
        wider = room * len(box.text)
        box.width += wider
        return by + wider
    if hasattr(box, "children") and type(box).__name__ in {"LineBox", "InlineBox"}:
        start = by
        box.position_x += by
        for child in box.children:
            if child.is_in_normal_flow():
                by = _move(context, child, room, by)
        box.width += by - start
        return by
    box.translate(by, 0)
    return by
