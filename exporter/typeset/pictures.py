"""A book's pictures in their printed size.

Every picture is decoded and written anew, one at a time: as a JPEG, or as a PNG if it has few colours or transparent
parts. One that cannot be decoded, or that is larger than any photograph, becomes an empty frame.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

_LONG_SIDE: Final = 1_400
"""The long side in pixels of the largest picture: 300 dots an inch over the width of a page of A5."""
_MAX_PIXELS: Final = 120_000_000
_QUALITY: Final = 88
_SMALL: Final = 90
"""The short side in pixels from which a picture is alone between lines."""
_DRAWN: Final = frozenset({"1", "L", "LA", "P", "PA", "RGBA"})


def scale_pictures(folder: Path, *, turned: bool) -> set[str]:
    """Scale every picture in a folder down and overwrite it.

    Args:
        folder: has nothing but pictures.
        turned: whether they lie on their left side then.

    Returns:
        the names of those too large for a line of text.
    """
    from PIL import Image  # noqa: PLC0415 - comes with WeasyPrint

    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS
    plates = set()
    for path in sorted(folder.iterdir()):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                width, height = _scale(path, turned=turned)
        except Exception:  # noqa: BLE001 - a decoder may raise anything
            Image.new("L", (_SMALL, _SMALL), 230).save(path, "PNG")
            continue
        if min(width, height) >= _SMALL:
            plates.add(path.name)
    return plates


def _scale(path: Path, *, turned: bool) -> tuple[int, int]:
    """Scale a picture; return its size."""
    from PIL import Image, ImageOps  # noqa: PLC0415

    with Image.open(path) as opened:
        opened.draft("RGB", (_LONG_SIDE, _LONG_SIDE))
        picture: Any = ImageOps.exif_transpose(opened)
        is_photograph = opened.format in {"JPEG", "AVIF"} or picture.mode not in _DRAWN
        picture = picture.convert("RGB" if is_photograph else "RGBA" if picture.mode != "L" else "L")
        picture.thumbnail((_LONG_SIDE, _LONG_SIDE), Image.Resampling.LANCZOS)
    if turned:
        picture = picture.transpose(Image.Transpose.ROTATE_90)
    if is_photograph:
        picture.save(path, "JPEG", quality=_QUALITY)
    else:
        picture.save(path, "PNG")
    size: tuple[int, int] = picture.size
    return size
