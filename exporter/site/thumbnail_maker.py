"""Decode a picture and reduce it to a thumbnail. Only child processes import this module, see :mod:`exporter.worker`.

Pictures may be made to break a decoder. So nothing here opens a file, and the process has a memory limit.
"""

from __future__ import annotations

import io
import warnings
from typing import Final

from PIL import ExifTags, Image, ImageOps

_SIDE_PIXELS: Final = 960
"""Of the longer side: a line of text on a good screen, and twice the height of a row of pictures."""
_WEBP_QUALITY: Final = 78
_WEBP_METHOD: Final = 1
_LIGHT_BYTES: Final = 150_000
_LIGHT_PIXELS: Final = 2_000_000
"""A browser shows a picture below both limits as quickly as its thumbnail."""
_MIN_SIZE_RATIO: Final = 2
"""A thumbnail is used only if its picture has this many times its bytes."""

_FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "WEBP")
_MODES: Final = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
_SEE_THROUGH: Final = frozenset({"LA", "PA", "RGBA"})
_PROFILE_BYTES: Final = 100_000
_BOMB_PIXELS: Final = 130_000_000
_DECODER_BYTES: Final = 100_000_000
"""Memory that the decoder of a picture may take; with Python and Pillow, the process stays below 150 MB."""
_TURNED: Final = frozenset({5, 6, 7, 8})
"""Values of the tag Orientation that swap width and height (EXIF 2.32, section 4.6.4)."""


def reduced(data: bytes) -> tuple[int, int, bytes]:
    """Return the width and height that a picture is shown with, and its thumbnail as WebP.

    The thumbnail is empty if the site shows the picture itself: it is small, animated, would take too much memory, or
    needs a colour profile that a thumbnail cannot have. For a broken file or one that is not a picture, all are empty.
    """
    Image.MAX_IMAGE_PIXELS = _BOMB_PIXELS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return _reduced(data)
    except Exception:  # noqa: BLE001 - decoders raise anything over hostile files
        return 0, 0, b""


def _reduced(data: bytes) -> tuple[int, int, bytes]:
    with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
        size = picture.size
        width, height = reversed(size) if _orientation(picture) in _TURNED else size
        light = len(data) <= _LIGHT_BYTES and width * height <= _LIGHT_PIXELS
        moves = picture.format != "MPO" and getattr(picture, "is_animated", False)
        if light or moves or not _has_known_colours(picture):
            return width, height, b""
        picture.draft(None, (_SIDE_PIXELS, _SIDE_PIXELS))
        if _memory(picture, size) > _DECODER_BYTES:
            return width, height, b""
        thumbnail = _thumbnail(picture)
        return width, height, thumbnail if len(thumbnail) * _MIN_SIZE_RATIO <= len(data) else b""


def _orientation(picture: Image.Image) -> object:
    """Return the EXIF tag. A large PNG is not searched: its EXIF may follow the pixels, which decode first."""
    if "exif" not in picture.info and picture.format == "PNG" and _memory(picture, picture.size) > _DECODER_BYTES:
        return None
    return picture.getexif().get(ExifTags.Base.Orientation)


def _has_known_colours(picture: Image.Image) -> bool:
    profile = picture.info.get("icc_profile") or b""
    if picture.mode not in _MODES or len(profile) > _PROFILE_BYTES:
        return False
    return not profile or (profile[16:20] == b"RGB " and picture.mode in {"P", "RGB", "RGBA"})


def _memory(picture: Image.Image, size: tuple[int, int]) -> int:
    """Return the bytes of memory that decoding takes, given the size before the decoder reduced it."""
    pixels = picture.width * picture.height
    if picture.format == "WEBP":
        return 12 * pixels
    # The decoder holds all coefficients of a progressive JPEG, two bytes each.
    whole = 6 * size[0] * size[1] if picture.info.get("progressive") else 0
    copies = 2 if _is_see_through(picture) else 1
    return whole + 4 * copies * pixels + (pixels if picture.mode == "P" else 0)


def _is_see_through(picture: Image.Image) -> bool:
    return picture.mode in _SEE_THROUGH or "transparency" in picture.info


def _thumbnail(picture: Image.Image) -> bytes:
    """Return a picture reduced and upright as WebP, with its colour profile and no other metadata."""
    mode = "RGBA" if _is_see_through(picture) else "RGB"
    profile = picture.info.get("icc_profile") or b""
    shown = picture if picture.mode == mode else picture.convert(mode)
    if mode == "RGBA" and max(shown.size) > _SIDE_PIXELS:
        # Pillow resizes a premultiplied copy. The original is closed so that both are not in memory.
        shown = shown.convert("RGBa")
        picture.close()
    shown.thumbnail((_SIDE_PIXELS, _SIDE_PIXELS), reducing_gap=2.0)
    if shown.mode == "RGBa":
        shown = shown.convert(mode)
    into = io.BytesIO()
    ImageOps.exif_transpose(shown).save(
        into, "WEBP", quality=_WEBP_QUALITY, method=_WEBP_METHOD, icc_profile=profile, exif=b"", xmp=b""
    )
    return into.getvalue()
