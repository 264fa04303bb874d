"""The font of upright letters: turned outlines, vertical forms, and only from a font that may be changed."""

from __future__ import annotations

from io import BytesIO

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.boundsPen import BoundsPen
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.ttLib import TTFont

from exporter.typeset.upright import NotFree, turned
from exporter.typeset.vertical import on_their_side


def font(licence: str) -> bytes:
    """Return a font in which あ is a tall bar at the left, 。 has a form for vertical lines, and A is latin."""
    made = FontBuilder(1000, isTTF=False)
    names = [".notdef", "a", "stop", "stop.vert", "latin"]
    made.setupGlyphOrder(names)
    made.setupCharacterMap({ord("あ"): "a", ord("。"): "stop", ord("A"): "latin"})
    outlines = {}
    for name, (left, bottom, right, top) in {
        ".notdef": (0, 0, 1, 1), "a": (100, -100, 200, 850), "stop": (50, -50, 250, 150),
        "stop.vert": (700, 600, 900, 800), "latin": (50, 0, 450, 700),
    }.items():  # fmt: skip
        pen = T2CharStringPen(1000, None)
        pen.moveTo((left, bottom))
        pen.lineTo((right, bottom))
        pen.lineTo((right, top))
        pen.lineTo((left, top))
        pen.closePath()
        outlines[name] = pen.getCharString()
    made.setupCFF("Test", {"FullName": "Test"}, outlines, {})
    made.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    made.setupHorizontalHeader(ascent=880, descent=-120)
    made.setupNameTable({"familyName": "Test", "styleName": "Regular", "licenseDescription": licence})
    made.setupOS2()
    made.setupPost()
    made.addOpenTypeFeatures("feature vert { sub stop by stop.vert; } vert;")
    out = BytesIO()
    made.font.save(out)
    return out.getvalue()


def bounds(made: TTFont, char: str) -> tuple[int, ...]:
    glyphs = made.getGlyphSet()
    pen = BoundsPen(glyphs)
    glyphs[made.getBestCmap()[ord(char)]].draw(pen)
    assert pen.bounds is not None
    return tuple(map(round, pen.bounds))


def test_letters_are_turned_about_the_middle_of_the_line() -> None:
    made = turned(font("SIL Open Font License, Version 1.1"), 0, "あ。A海", (), 400)
    assert made.characters == {"あ", "。"}
    read = TTFont(BytesIO(made.content))
    # The top of a letter, 880 above the baseline, comes first in the line; its left side is below its right side.
    assert bounds(read, "あ") == (30, -20, 980, 80)
    assert bounds(read, "。") == (80, 580, 280, 780)
    assert read["hmtx"]["u03042"][0] == 1000


def test_the_same_letters_give_the_same_font() -> None:
    source = font("Apache License 2.0")
    assert turned(source, 0, "あ。", {"A", "AA"}, 400) == turned(source, 0, "。あ", {"AA", "A"}, 400)


def test_a_font_that_may_not_be_changed_is_refused() -> None:
    with pytest.raises(NotFree):
        turned(font("All rights reserved."), 0, "あ", (), 400)


def test_emoji_are_turned_one_by_one_and_the_sizes_of_pictures_change_places() -> None:
    made = turned(font("SIL Open Font License"), 0, "あ", (), 400)
    assert on_their_side('<p title="🎂">あ🎂A</p><img src="media/a.png" width="40" />', [made]) == (
        '<p title="🎂">あ<span class="sign">🎂</span>A</p><img src="media/a.png" style="height: 40px" />'
    )


def test_a_group_has_the_room_of_one_letter() -> None:
    made = TTFont(BytesIO(turned(font("SIL Open Font License"), 0, "", {"AA", "A"}, 400).groups))
    glyphs = made.getGlyphSet()
    pair = "u00041_u00041"
    assert made["hmtx"][pair][0] == 1000
    pen = BoundsPen(glyphs)
    glyphs[pair].draw(pen)
    # Two letters, each at half its width, one above the other when the line is still on its side.
    assert pen.bounds == (160, -95, 860, 605)
