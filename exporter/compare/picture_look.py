"""A perceptual fingerprint for pictures: does the file decode, and how bright is each cell on a small grid?

A resized or recompressed copy has the same brightness everywhere. A different picture with the same dimensions has
not. A truncated file does not decode.
"""

from __future__ import annotations

import warnings
from typing import IO, Final, NamedTuple

from exporter.message import message

GRID: Final = 16
"""Cells in a row and in a column of the grid."""
_MOST_PIXELS: Final = 100_000_000
_FURTHEST: Final = 4.0
"""Pictures differ if their grids differ by more than this on average (0 to 255). Copies differ by less than 1."""


class PictureLook(NamedTuple):
    """The look of a picture.

    Attributes:
        light: the luminance of each cell, row by row; empty if it is not known.
        broken: why the picture does not decode; empty if it does, or if nothing tells.
        unknown: why the look is not known; empty if it is.
    """

    light: bytes = b""
    broken: str = ""
    unknown: str = ""


def look_of(file: IO[bytes]) -> PictureLook:
    """Decode a picture, or the first frame if it is animated, and return its look.

    Pictures of more than 100 million pixels are not decoded.
    """
    try:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - an extra
    except ImportError:
        return PictureLook(unknown=message("Pillow is not installed: pip install 'blog-exporter[site]'"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(file) as image:
                if image.width * image.height > _MOST_PIXELS:
                    return PictureLook(unknown=message("it has too many pixels"))
                image.draft("L", (GRID * 8, GRID * 8))
                image.load()
                plain = image.convert("RGBA") if "transparency" in image.info or image.mode == "RGBA" else image
                if plain.mode == "RGBA":
                    ground = Image.new("RGBA", plain.size, "white")
                    plain = Image.alpha_composite(ground, plain)
                grid = plain.convert("L").resize((GRID, GRID), Image.Resampling.BOX)
                return PictureLook(grid.tobytes())
        except UnidentifiedImageError:
            return PictureLook(unknown=message("its format is not known here"))
        except (OSError, SyntaxError, EOFError) as error:
            return PictureLook(broken=str(error))
        except Exception as error:  # noqa: BLE001 - decoders of hostile files raise anything
            return PictureLook(unknown=type(error).__name__)


def same_look(one: bytes, other: bytes) -> bool:
    """Return whether two grids belong to copies of the same picture, perhaps rotated by 90, 180 or 270 degrees."""
    return any(_distance(turned, other) <= _FURTHEST for turned in _turns(one))


def _turns(light: bytes) -> list[bytes]:
    found = [light]
    for _ in range(3):
        last = found[-1]
        found.append(bytes(last[(GRID - 1 - x) * GRID + y] for y in range(GRID) for x in range(GRID)))
    return found


def _distance(one: bytes, other: bytes) -> float:
    """Return the mean difference of two grids once their mean light is the same."""
    shift = (sum(one) - sum(other)) / len(one)
    return sum(abs(a - b - shift) for a, b in zip(one, other, strict=True)) / len(one) + abs(shift) / 4
