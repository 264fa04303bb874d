"""A process that looks at pictures and makes thumbnails, so that a picture made to break a decoder breaks nothing else.

It is handed pictures over its standard input, one at a time, and says what they are over its standard output; it opens
no file. What the two say to each other is in :mod:`exporter.site.thumbnail_exchange`.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from typing import BinaryIO, Final

from PIL import ExifTags, Image, ImageOps

from exporter.site.thumbnail_exchange import ANSWER, REQUEST, Made

_LONGEST: Final = 960
"""Pixels of the longer side: a line of text on a good screen, and twice the height of a row of pictures."""
_QUALITY: Final = 78
_EFFORT: Final = 1
_LIGHT_BYTES: Final = 150_000
_LIGHT_PIXELS: Final = 2_000_000
"""A picture with no more of both is as quick to show as its thumbnail."""
_WORTH: Final = 2
"""A thumbnail has at most the bytes of its picture by this number, or there is none."""

_FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "WEBP")
_MODES: Final = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
_SEE_THROUGH: Final = frozenset({"LA", "PA", "RGBA"})
_LARGEST_PROFILE: Final = 100_000
_MOST_PIXELS: Final = 130_000_000
_MOST_MEMORY: Final = 100_000_000
"""Bytes that the decoder of a picture may take; with Python and Pillow, the process stays below 150 MB."""
_HARD_LIMIT: Final = 320_000_000
_TURNED: Final = frozenset({5, 6, 7, 8})
"""Values of the tag Orientation whose width is the height (EXIF 2.32, section 4.6.4)."""


def made_of(data: bytes) -> Made:
    """Look at a picture and make its thumbnail.

    The picture stands itself where it is light already or moves, where its colours need a profile that a thumbnail
    cannot have, or where it would take too much memory.

    Raises:
        Exception: of many kinds; it is no picture, or a broken one.
    """
    with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
        size = picture.size
        width, height = reversed(size) if _orientation(picture) in _TURNED else size
        light = len(data) <= _LIGHT_BYTES and width * height <= _LIGHT_PIXELS
        moves = picture.format != "MPO" and getattr(picture, "is_animated", False)
        if light or moves or not _has_known_colours(picture):
            return Made(width, height, b"")
        picture.draft(None, (_LONGEST, _LONGEST))
        if _memory(picture, size) > _MOST_MEMORY:
            return Made(width, height, b"")
        thumbnail = _reduced(picture)
        return Made(width, height, thumbnail if len(thumbnail) * _WORTH <= len(data) else b"")


def _orientation(picture: Image.Image) -> object:
    """Return what EXIF says; of a PNG it may stand behind the pixels, and these would be decoded to look for it."""
    if "exif" not in picture.info and picture.format == "PNG" and _memory(picture, picture.size) > _MOST_MEMORY:
        return None
    return picture.getexif().get(ExifTags.Base.Orientation)


def _has_known_colours(picture: Image.Image) -> bool:
    profile = picture.info.get("icc_profile") or b""
    if picture.mode not in _MODES or len(profile) > _LARGEST_PROFILE:
        return False
    return not profile or (profile[16:20] == b"RGB " and picture.mode in {"P", "RGB", "RGBA"})


def _memory(picture: Image.Image, size: tuple[int, int]) -> int:
    """Return how many bytes decoding a picture takes that has this size before it is decoded at a fraction of it."""
    pixels = picture.width * picture.height
    if picture.format == "WEBP":
        return 12 * pixels
    # A progressive JPEG is held as a whole, in coefficients of two bytes.
    whole = 6 * size[0] * size[1] if picture.info.get("progressive") else 0
    copies = 2 if _is_see_through(picture) else 1
    return whole + 4 * copies * pixels + (pixels if picture.mode == "P" else 0)


def _is_see_through(picture: Image.Image) -> bool:
    return picture.mode in _SEE_THROUGH or "transparency" in picture.info


def _reduced(picture: Image.Image) -> bytes:
    """Return a picture at a fraction of its size as WebP, upright, with its colour profile and nothing else it says."""
    mode = "RGBA" if _is_see_through(picture) else "RGB"
    profile = picture.info.get("icc_profile") or b""
    shown = picture if picture.mode == mode else picture.convert(mode)
    if mode == "RGBA" and max(shown.size) > _LONGEST:
        # What Pillow would resize is another copy, which need not lie beside the picture.
        shown = shown.convert("RGBa")
        picture.close()
    shown.thumbnail((_LONGEST, _LONGEST), reducing_gap=2.0)
    if shown.mode == "RGBa":
        shown = shown.convert(mode)
    into = io.BytesIO()
    ImageOps.exif_transpose(shown).save(
        into, "WEBP", quality=_QUALITY, method=_EFFORT, icc_profile=profile, exif=b"", xmp=b""
    )
    return into.getvalue()


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Look at pictures until there are no more."""
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    while len(head := source.read(REQUEST.size)) == REQUEST.size:
        data = source.read(*REQUEST.unpack(head))
        try:
            made = made_of(data)
        except Exception:  # noqa: BLE001  whatever a decoder says of what strangers wrote, the picture is shown as it is
            made = Made(0, 0, b"")
        sink.write(ANSWER.pack(made.width, made.height, len(made.thumbnail)) + made.thumbnail)
        sink.flush()


def _limit_memory() -> None:
    """Have the system refuse memory that no picture here takes, where it can do that."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  not there on every system

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (_HARD_LIMIT, most))


if __name__ == "__main__":
    _limit_memory()
    serve(sys.stdin.buffer, sys.stdout.buffer)
