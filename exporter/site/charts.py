"""Charts as inline SVG: bars and a grid of shades, each value with a tip. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from exporter.site.parts import escaped

_HEIGHT: Final = 160
_WIDTH: Final = 720
_BASE: Final = 22
_MOST_SAID: Final = 24
SHADES: Final = 4


class ChartValue(NamedTuple):
    """One value: what it is called, how large it is, the label under it, where it leads, and how the value is said."""

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
    """Return a chart of upright bars; ``title`` says what it shows to those who do not see it.

    Values stand over the bars; where these are too many for that, over the highest.
    """
    most = max((bar.value for bar in values), default=0) or 1
    step = _WIDTH / max(1, len(values))
    width = min(max(0.6, step * 0.8), 48)
    highest = next((at for at, bar in enumerate(values) if bar.value == most), None)
    parts = []
    for at, bar in enumerate(values):
        height = bar.value * (_HEIGHT - _BASE - 16) / most
        x = at * step
        shape = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            x + (step - width) / 2, _HEIGHT - _BASE - height, width, height
        )
        tip = Markup('<g><title>{}: {}</title><rect class="hit" x="{:.1f}" y="0" width="{:.1f}" height="{}"/>{}</g>')
        parts.append(_linked(bar.link, tip.format(bar.name, bar.number, x, step, _HEIGHT - _BASE, shape)))
        if bar.value and (len(values) <= _MOST_SAID or at == highest):
            place = min(max(x + step / 2, 24), _WIDTH - 24), _HEIGHT - _BASE - height - 4
            parts.append(Markup('<text x="{:.1f}" y="{:.1f}">{}</text>').format(*place, bar.number))
        if bar.label:
            parts.append(Markup('<text x="{:.1f}" y="{}">{}</text>').format(x + step / 2, _HEIGHT - 6, bar.label))
    return _svg(_WIDTH, _HEIGHT, title, parts)


def rows(values: Sequence[ChartValue], title: str) -> Markup:
    """Return a chart of lying bars with their names beside them."""
    most = max((bar.value for bar in values), default=0) or 1
    parts = []
    for at, bar in enumerate(values):
        y = at * 28
        width = bar.value * (_WIDTH - 290) / most
        row = Markup(
            '<g><title>{0}: {1:,}</title><text class="name" x="200" y="{2}">{3}</text>'
            '<rect x="212" y="{4}" width="{5:.1f}" height="18"/>'
            '<text class="value" x="{6:.1f}" y="{2}">{1:,}</text></g>'
        ).format(bar.name, bar.value, y + 18, _cut(bar.name), y + 4, width, 220 + width)
        parts.append(_linked(bar.link, row))
    return _svg(_WIDTH, max(28, len(values) * 28), title, parts)


def grid(
    lines: Sequence[tuple[str, Sequence[ChartValue]]],
    heads: Sequence[str],
    title: str,
    cell: int = 34,
    *,
    numbers: bool = False,
) -> Markup:
    """Return a grid of shades: a line for each name with a cell for each value, with heads above.

    Args:
        lines: name and values of each line.
        heads: the labels above the columns.
        title: what it shows, for those who do not see it.
        cell: the width of a column; lines are a little less high.
        numbers: whether the values stand in the cells.
    """
    most = max((bar.value for _, cells in lines for bar in cells), default=0) or 1
    left, height = 56, cell - cell // 5
    parts = [
        f'<text x="{left + at * cell + cell // 2}" y="14">{escaped(head)}</text>'
        for at, head in enumerate(heads)
        if head
    ]
    for line, (name, values) in enumerate(lines):
        y = 22 + line * height
        parts.append(f'<text class="name" x="{left - 8}" y="{y + height // 2 + 2}">{escaped(name)}</text>')
        for at, bar in enumerate(values):
            shade, x = -(-bar.value * SHADES // most), left + at * cell + 2
            shape = f'<rect class="shade s{shade}" x="{x}" y="{y}" width="{cell - 4}" height="{height - 4}" rx="4"/>'
            if numbers and bar.value:
                shape += f'<text class="number" x="{x + cell // 2 - 2}" y="{y + height // 2 + 2}">{bar.number}</text>'
            tip = f"<g><title>{escaped(bar.name)}: {bar.number}</title>{shape}</g>"
            parts.append(f'<a href="{escaped(bar.link)}">{tip}</a>' if bar.link and bar.value else tip)
    cells = Markup("".join(parts))  # noqa: S704  escaped above
    return _svg(left + len(heads) * cell, 26 + len(lines) * height, title, [cells])


def strip(values: Sequence[int], most: int) -> Markup:
    """Return a row of shades without words, ``most`` being the darkest; what it shows is said beside it."""
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


def _cut(name: str) -> str:
    return name if len(name) <= 12 else name[:11] + "…"


def _svg(width: int, height: int, title: str, parts: Sequence[Markup]) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="group" aria-label="{}">')
    return opening.format(width, height, title) + Markup("").join(parts) + Markup("</svg>")
