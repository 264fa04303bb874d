"""Fonts for vertical lines, which WeasyPrint does not have.

A vertical page is laid out as a horizontal one that is turned clockwise in the end. So the letters that stand upright
in vertical lines, such as Japanese ones, must lie on their left side before. This module makes a font of such letters
from an installed one: the letters of the book in their forms for vertical lines, each turned, with the width that the
font gives for vertical lines. All other letters come from the font itself, and so lie on their right side as in every
vertical book.

The new font is a changed version of the old one. So it is made only from fonts whose licence permits changes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from io import BytesIO
from typing import Any, Final, NamedTuple

FAMILY: Final = "Upright"
"""The name of the new font in style sheets."""

_FREE: Final = ("OPEN FONT LICENSE", "SCRIPTS.SIL.ORG/OFL", "OPENFONTLICENSE.ORG", "APACHE LICENSE", "IPA FONT LICENSE")
_LICENCE_NAMES: Final = (13, 14)
_CENTRE: Final = 0.38
"""The middle of an upright letter above the baseline, in sizes of the letter: where that of a lying letter is."""


class Turned(NamedTuple):
    """A font that was made: its file's content, its weight, and the characters that it has."""

    content: bytes
    weight: int
    characters: frozenset[str]


class NotFree(Exception):
    """The licence of the font does not say that it may be changed."""


def turned(content: bytes, index: int, characters: Collection[str], weight: int) -> Turned:
    """Return a font of letters on their left side.

    Args:
        content: the file of an installed font, or of several.
        index: which font in the file.
        characters: those of the book.
        weight: the weight that the new font stands for.

    Raises:
        NotFree: its licence does not permit changes.
    """
    from fontTools.fontBuilder import FontBuilder  # noqa: PLC0415 - comes with WeasyPrint
    from fontTools.ttLib import TTFont  # noqa: PLC0415

    font = TTFont(BytesIO(content), fontNumber=index, lazy=True)
    if not _is_free(font):
        raise NotFree
    names, forms = font.getBestCmap(), _vertical_forms(font)
    upright = [each for each in sorted(characters) if _is_upright(each, names.get(ord(each), "") in forms)]
    glyphs = {each: names[ord(each)] for each in upright if ord(each) in names}
    units = font["head"].unitsPerEm
    outlines: dict[str, Any] = {".notdef": _outline(None, "", (0, 0), units)}
    widths = {".notdef": (units, 0)}
    shapes = font.getGlyphSet()
    for each, name in glyphs.items():
        form = forms.get(name, name)
        height, origin = _vertical_metrics(font, form)
        outlines[f"u{ord(each):05x}"] = _outline(shapes, form, (origin, font["hmtx"][form][0] // 2), units)
        widths[f"u{ord(each):05x}"] = (height, 0)
    made = FontBuilder(units, isTTF=False)
    made.setupGlyphOrder(list(outlines))
    made.setupCharacterMap({ord(each): f"u{ord(each):05x}" for each in glyphs})
    made.setupCFF(FAMILY, {"FullName": FAMILY}, outlines, {})
    made.setupHorizontalMetrics(widths)
    made.setupHorizontalHeader(ascent=font["hhea"].ascent, descent=font["hhea"].descent)
    made.setupNameTable({"familyName": FAMILY, "styleName": "Bold" if weight > 500 else "Regular"})
    made.setupOS2(usWeightClass=weight, fsType=0)
    made.setupPost()
    made.font["head"].created = made.font["head"].modified = 0
    out = BytesIO()
    made.font.save(out)
    return Turned(out.getvalue(), weight, frozenset(glyphs))


def _is_free(font: Any) -> bool:
    records = (font["name"].getDebugName(number) or "" for number in _LICENCE_NAMES)
    text = " ".join(records).upper()
    return any(words in text for words in _FREE)


def _is_upright(char: str, has_form: bool) -> bool:
    """Return whether a character stands upright in vertical lines (about as Unicode's UAX 50 says)."""
    width = unicodedata.east_asian_width(char)
    is_sign = width == "A" and unicodedata.category(char) in {"No", "So"}
    return has_form or width in {"W", "F"} or is_sign or "\uff65" <= char <= "\uff9f"


def _vertical_forms(font: Any) -> dict[str, str]:
    """Return the forms of glyphs for vertical lines: of brackets, commas and small letters."""
    if "GSUB" not in font:
        return {}
    table = font["GSUB"].table
    places = {
        place
        for each in table.FeatureList.FeatureRecord
        if each.FeatureTag == "vert"
        for place in each.Feature.LookupListIndex
    }
    found: dict[str, str] = {}
    for place in sorted(places):
        for part in _parts(table.LookupList.Lookup[place]):
            found.update(getattr(part, "mapping", {}))
    return found


def _parts(lookup: Any) -> Iterator[Any]:
    for each in lookup.SubTable:
        yield getattr(each, "ExtSubTable", each)


def _vertical_metrics(font: Any, name: str) -> tuple[int, int]:
    """Return how much room a glyph takes in a vertical line, and where that begins above the baseline."""
    units = font["head"].unitsPerEm
    height, bearing = font["vmtx"][name] if "vmtx" in font else (units, 0)
    if "VORG" in font:
        return height, font["VORG"][name]
    if "glyf" in font and "vmtx" in font and font["glyf"][name].numberOfContours:
        return height, bearing + font["glyf"][name].yMax
    return height, round(0.88 * units)


def _outline(glyphs: Any, name: str, middle: tuple[int, int], units: int) -> Any:
    """Return the outline of a glyph on its left side, from the top and the middle of the upright one."""
    from fontTools.pens.t2CharStringPen import T2CharStringPen  # noqa: PLC0415
    from fontTools.pens.transformPen import TransformPen  # noqa: PLC0415

    pen = T2CharStringPen(units, None)
    if glyphs is not None:
        top, half = middle
        glyphs[name].draw(TransformPen(pen, (0, 1, -1, 0, top, round(_CENTRE * units) - half)))
    return pen.getCharString()
