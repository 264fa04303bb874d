"""A small canvas of flat colours, enough to draw postcards with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import dist, hypot, sqrt

from exporter.demo import images

Colour = tuple[int, int, int]
Point = tuple[float, float]
_MOST_COLOURS = 256


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Return the colour ``share`` of the way from the first to the second."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


class Canvas:
    """Indexed pixels, row by row; whatever is drawn outside is cut off."""

    def __init__(self, width: int, height: int, ground: Colour) -> None:
        self.width = width
        self.height = height
        self._palette = [ground]
        self._indexes: dict[Colour, int] = {ground: 0}
        self._pixels = bytearray(width * height)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.width, self.height

    def png(self) -> bytes:
        """Return the picture as a PNG file."""
        return images.png(self.width, self.height, self._palette, bytes(self._pixels))

    def gif(self, *later: Canvas) -> bytes:
        """Return the picture as a GIF file, with later frames drawn in the same order of colours."""
        palette = max((frame._palette for frame in (self, *later)), key=len)
        return images.gif(self.width, self.height, palette, [bytes(frame._pixels) for frame in (self, *later)])

    def rect(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle."""
        for row in range(round(y), round(y + height)):
            self._span(row, x, x + width, colour)

    def gradient(self, top: int, bottom: int, first: Colour, last: Colour, steps: int = 40) -> None:
        """Fill the rows from ``top`` to ``bottom`` with bands that go from one colour to another."""
        for row in range(top, bottom):
            share = (row - top) * steps // max(1, bottom - top) / max(1, steps - 1)
            self._span(row, 0, self.width, mix(first, last, share))

    def ellipse(self, x: float, y: float, across: float, down: float, colour: Colour) -> None:
        """Fill an ellipse around a point; ``across`` and ``down`` are half its axes."""
        for row in range(int(y - down), int(y + down) + 1):
            rest = 1 - ((row - y) / down) ** 2
            if rest > 0:
                half = across * sqrt(rest)
                self._span(row, x - half, x + half, colour)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Fill a circle."""
        self.ellipse(x, y, radius, radius, colour)

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon, by the even-odd rule."""
        heights = [y for _, y in points]
        edges = list(zip(points, [*points[1:], points[0]], strict=True))
        for row in range(max(0, int(min(heights))), min(self.height, int(max(heights)) + 1)):
            crossings = sorted(
                x0 + (row - y0) * (x1 - x0) / (y1 - y0)
                for (x0, y0), (x1, y1) in edges
                if min(y0, y1) <= row < max(y0, y1)
            )
            for left, right in zip(crossings[::2], crossings[1::2], strict=True):
                self._span(row, left, right, colour)

    def line(self, start: Point, end: Point, thickness: float, colour: Colour) -> None:
        """Draw a straight stroke."""
        (x0, y0), (x1, y1) = start, end
        length = hypot(x1 - x0, y1 - y0) or 1
        across, down = (y1 - y0) / length * thickness / 2, (x1 - x0) / length * thickness / 2
        self.polygon(
            [(x0 + across, y0 - down), (x1 + across, y1 - down), (x1 - across, y1 + down), (x0 - across, y0 + down)],
            colour,
        )

    def ridge(self, height: Callable[[int], float], colour: Colour, bottom: int | None = None) -> None:
        """Fill every column from ``height(x)`` down to ``bottom``: hills, waves, tree lines."""
        index = self._index(colour)
        end = self.height if bottom is None else bottom
        for x in range(self.width):
            top = min(end, max(0, round(height(x))))
            self._pixels[top * self.width + x : end * self.width : self.width] = bytes([index]) * (end - top)

    def dot(self, x: float, y: float, colour: Colour) -> None:
        """Set one pixel."""
        self._span(round(y), x, x + 1, colour)

    def _span(self, row: int, left: float, right: float, colour: Colour) -> None:
        start, end = max(0, round(left)), min(self.width, round(right))
        if 0 <= row < self.height and start < end:
            at = row * self.width
            self._pixels[at + start : at + end] = bytes([self._index(colour)]) * (end - start)

    def _index(self, colour: Colour) -> int:
        index = self._indexes.get(colour)
        if index is None:
            if len(self._palette) < _MOST_COLOURS:
                self._palette.append(colour)
                index = len(self._palette) - 1
            else:
                index = min(range(_MOST_COLOURS), key=lambda known: dist(self._palette[known], colour))
            self._indexes[colour] = index
        return index
