"""Pictures are compared by their pixels: copies match, other pictures and truncated files do not."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from PIL import Image, ImageDraw

from exporter.compare.pictures import compare_pictures, look_of, same_look
from exporter.compare.posts import Fault, Picture, PictureFacts, PictureLook, Scope

ADDRESS = "https://new.example/1.jpg"


def drawn(seed: int, width: int = 800, height: int = 600) -> Image.Image:
    """Draw a picture that depends on the seed."""
    image = Image.linear_gradient("L").rotate(90 * seed).resize((width, height)).convert("RGB")
    draw = ImageDraw.Draw(image)
    for step in range(4):
        left, top = (seed * 131 + step * 197) % (width // 2), (seed * 89 + step * 151) % (height // 2)
        draw.ellipse((left, top, left + width // 3, top + height // 3), fill=(seed * 40 % 255, 60 * step, 200))
    return image


def encoded(image: Image.Image, form: str = "JPEG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def look(data: bytes) -> PictureLook:
    return look_of(io.BytesIO(data))


def faults(old: bytes, new: bytes, width: int = 800, height: int = 600) -> list[Fault]:
    """Compare a picture of 800 x 600 pixels with the one in a new home, which may have another size."""
    picture = Picture("https://old.example/1.jpg", "old", 800, 600, "1.jpg")
    facts = {ADDRESS: PictureFacts("new", width, height, look=look(new))}
    found = compare_pictures([picture], [ADDRESS], facts, Scope(old_look=lambda _: look(old)))
    assert found.unknown == 0, found.why
    return [each.change for each in found.differences]


@pytest.mark.parametrize(
    "copy",
    [
        encoded(drawn(1), quality=40),
        encoded(drawn(1), "PNG"),
        encoded(drawn(1).resize((640, 480)), quality=60),
        encoded(drawn(1).convert("P"), "GIF"),
        encoded(drawn(1), "WEBP", quality=50),
    ],
    ids=["compressed", "png", "smaller", "gif", "webp"],
)
def test_a_copy_of_a_picture_looks_the_same(copy: bytes) -> None:
    assert faults(encoded(drawn(1)), copy) == []


@pytest.mark.parametrize("seed", range(2, 12))
def test_another_picture_of_the_same_size_is_a_difference(seed: int) -> None:
    assert faults(encoded(drawn(1)), encoded(drawn(seed))) == [Fault.PICTURE_CHANGED]


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP"])
@pytest.mark.parametrize("part", [2, 4])
def test_a_picture_that_ends_early_is_a_difference(form: str, part: int) -> None:
    data = encoded(drawn(1), form)
    assert faults(encoded(drawn(1)), data[: len(data) // part]) == [Fault.PICTURE_CHANGED]


def test_a_copy_at_an_eighth_of_the_size_is_a_difference_and_one_at_half_is_not() -> None:
    old = encoded(drawn(1))
    assert faults(old, encoded(drawn(1).resize((100, 75))), 100, 75) == [Fault.PICTURE_CHANGED]
    assert faults(old, encoded(drawn(1).resize((400, 300))), 400, 300) == []


def test_turned_and_transparent_pictures_are_compared_as_they_are_shown() -> None:
    upright = drawn(1)
    assert same_look(look(encoded(upright.rotate(90, expand=True))).light, look(encoded(upright)).light)
    clear = Image.new("RGBA", (80, 60), (0, 0, 0, 0))
    assert look(encoded(clear, "PNG")).light == look(encoded(Image.new("RGB", (80, 60), "white"), "PNG")).light


def test_a_picture_that_cannot_be_decoded_is_not_called_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "format" in look(b"<svg xmlns='http://www.w3.org/2000/svg'/>").unknown
    monkeypatch.setattr("exporter.compare.pictures._DECODED_PIXELS", 100)
    assert "pixels" in look(encoded(drawn(1))).unknown
    data = encoded(drawn(1))
    monkeypatch.setitem(sys.modules, "PIL", None)
    unknown = look(data)
    assert "Pillow is not installed" in unknown.unknown
    picture = Picture("https://old.example/1.jpg", "old", 800, 600, "1.jpg")
    facts = {ADDRESS: PictureFacts("new", 800, 600, look=unknown)}
    found = compare_pictures([picture], [ADDRESS], facts, Scope(old_look=lambda _: unknown))
    assert (found.differences, found.unknown) == ([], 1)
