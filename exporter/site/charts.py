"""Charts as inline SVG: bars, each value with a tip, and rows of shades. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

_HEIGHT: Final = 160
_BASE: Final = 22
_ROW: Final = 38
_WIDE: Final = 680
_NARROW: Final = 330
"""Width in pixels on a large screen and on a phone."""
_LETTER: Final = 6.5
_LONGEST_NAME: Final = 24
SHADES: Final = 4


class ChartValue(NamedTuple):
    """One value: its name, its number, the label under it, its link, and its text form."""

    name: str
    value: int
    label: str = ""
    link: str = ""
    said: str = ""

    @property
    def number(self) -> str:
        """Return the value as people write it."""
        return self.said or f"{self.value:,}"


def bars(values: Sequence[ChartValue], title: str) -> Markup:
    """Return a chart with upright bars; ``title`` describes it to screen readers.

    Widths are a share of the page's width, heights and letters are fixed, so the chart is readable at any width. Values
    are above the bars; if they do not fit, only above the highest.
    """
    most = max((bar.value for bar in values), default=0) or 1
    step = 100 / max(1, len(values))
    width = min(max(0.1, step * 0.8), 7)
    highest = next((at for at, bar in enumerate(values) if bar.value == most), None)
    said = _every([bar.number for bar in values])
    labels = _every([bar.label for bar in values if bar.label])
    labelled = 0
    parts = []
    for at, bar in enumerate(values):
        height = bar.value * (_HEIGHT - _BASE - 16) / most
        x = at * step
        shape = Markup('<rect x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}"/>').format(
            x + (step - width) / 2, _HEIGHT - _BASE - height, width, height
        )
        tip = Markup('<g><title>{}: {}</title><rect class="hit" x="{:.2f}%" y="0" width="{:.2f}%" height="{}"/>{}</g>')
        parts.append(_linked(bar.link, tip.format(bar.name, bar.number, x, step, _HEIGHT - _BASE, shape)))
        if bar.value and (said[0] == 1 or at == highest):
            place = min(max(x + step / 2, 3), 97), _HEIGHT - _BASE - height - 4
            parts.append(_text(*place, bar.number, spare=said[1] > 1 and at != highest))
        if bar.label:
            if labelled % labels[0] == 0:
                parts.append(_text(x + step / 2, _HEIGHT - 6, bar.label, spare=labelled % labels[1] > 0))
            labelled += 1
    return _svg(_HEIGHT, title, parts)


def rows(values: Sequence[ChartValue], title: str) -> Markup:
    """Return a chart of lying bars with their names above them."""
    most = max((bar.value for bar in values), default=0) or 1
    parts = []
    for at, bar in enumerate(values):
        y = at * _ROW
        row = Markup(
            '<g><title>{0}: {1:,}</title><rect class="hit" x="0" y="{2}" width="100%" height="{3}"/>'
            '<text class="name" x="0" y="{4}">{5}</text><text class="value" x="100%" y="{4}">{1:,}</text>'
            '<rect x="0" y="{6}" width="{7:.1f}%" height="8" rx="4"/></g>'
        ).format(bar.name, bar.value, y, _ROW - 4, y + 14, _cut(bar.name), y + 21, bar.value * 100 / most)
        parts.append(_linked(bar.link, row))
    return _svg(len(values) * _ROW, title, parts)


def strip(values: Sequence[int], most: int) -> Markup:
    """Return a row of shades without text, with ``most`` as the darkest; the text next to it names the numbers."""
    parts = [
        Markup('<rect class="shade s{}" x="{}" y="0" width="7" height="8" rx="1.5"/>').format(
            -(-value * SHADES // most), at * 8
        )
        for at, value in enumerate(values)
    ]
    opening = Markup('<svg class="strip chart" viewBox="0 0 {} 8" aria-hidden="true">').format(len(values) * 8 - 1)
    return opening + Markup("").join(parts) + Markup("</svg>")


def _linked(link: str, shape: Markup) -> Markup:
    return Markup('<a href="{}">{}</a>').format(link, shape) if link else shape


def _every(texts: Sequence[str]) -> tuple[int, int]:
    """Return the labels in a row that fit, each or every second and so on: on a large screen, and on a phone."""
    room = max(map(len, texts), default=0) * _LETTER * len(texts)
    return max(1, -int(-room // _WIDE)), max(1, -int(-room // _NARROW))


def _text(x: float, y: float, text: str, *, spare: bool) -> Markup:
    """Return a text around a place; one to spare is left out on phones."""
    more = Markup(' class="spare"') if spare else ""
    return Markup('<text{} x="{:.2f}%" y="{:.1f}">{}</text>').format(more, x, y, text)


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _svg(height: int, title: str, parts: Sequence[Markup]) -> Markup:
    opening = Markup('<svg class="chart" width="100%" height="{}" role="group" aria-label="{}">')
    return opening.format(height, title) + Markup("").join(parts) + Markup("</svg>")
