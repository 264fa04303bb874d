"""Charts as inline SVG, drawn here: bars and a grid of shades, each value with a tip. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

_HEIGHT: Final = 160
_WIDTH: Final = 720
_BASE: Final = 22
_CELL: Final = 34
_SHADES: Final = 4


class Bar(NamedTuple):
    """One value: what it is called, how large it is, what stands under it, and where it leads."""

    name: str
    value: int
    label: str = ""
    link: str = ""


def bars(values: Sequence[Bar], title: str) -> Markup:
    """Return a chart of upright bars; ``title`` says what it shows to those who do not see it."""
    most = max((bar.value for bar in values), default=0) or 1
    step = _WIDTH / max(1, len(values))
    parts = []
    for at, bar in enumerate(values):
        height = bar.value * (_HEIGHT - _BASE - 8) / most
        x = at * step
        shape = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            x + step * 0.1, _HEIGHT - _BASE - height, max(0.6, step * 0.8), height
        )
        tip = Markup('<g><title>{}: {:,}</title><rect class="hit" x="{:.1f}" y="0" width="{:.1f}" height="{}"/>{}</g>')
        parts.append(_linked(bar.link, tip.format(bar.name, bar.value, x, step, _HEIGHT - _BASE, shape)))
        if bar.label:
            parts.append(Markup('<text x="{:.1f}" y="{}">{}</text>').format(x + step / 2, _HEIGHT - 6, bar.label))
    return _svg(_WIDTH, _HEIGHT, title, parts)


def rows(values: Sequence[Bar], title: str) -> Markup:
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


def grid(lines: Sequence[tuple[str, Sequence[Bar]]], heads: Sequence[str], title: str) -> Markup:
    """Return a grid of shades: a line for each name with a cell for each value, the heads above."""
    most = max((bar.value for _, cells in lines for bar in cells), default=0) or 1
    left = 56
    parts = [
        Markup('<text x="{}" y="14">{}</text>').format(left + at * _CELL + _CELL // 2, head)
        for at, head in enumerate(heads)
    ]
    for line, (name, cells) in enumerate(lines):
        y = 22 + line * (_CELL - 6)
        parts.append(Markup('<text class="name" x="{}" y="{}">{}</text>').format(left - 8, y + 19, name))
        for at, bar in enumerate(cells):
            shade = -(-bar.value * _SHADES // most)
            cell = Markup(
                '<g><title>{}: {:,}</title><rect class="shade s{}" x="{}" y="{}" width="{}" height="{}" rx="4"/></g>'
            ).format(bar.name, bar.value, shade, left + at * _CELL + 2, y, _CELL - 4, _CELL - 10)
            parts.append(_linked(bar.link if bar.value else "", cell))
    return _svg(left + len(heads) * _CELL, 26 + len(lines) * (_CELL - 6), title, parts)


def _linked(link: str, shape: Markup) -> Markup:
    return Markup('<a href="{}">{}</a>').format(link, shape) if link else shape


def _cut(name: str) -> str:
    return name if len(name) <= 12 else name[:11] + "…"


def _svg(width: int, height: int, title: str, parts: Sequence[Markup]) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="group" aria-label="{}">')
    return opening.format(width, height, title) + Markup("").join(parts) + Markup("</svg>")
