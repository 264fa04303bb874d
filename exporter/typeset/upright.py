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
from collections.abc import Collection, Iterable, Iterator
from io import BytesIO
from typing import Any, Final, NamedTuple

FAMILY: Final = "Upright"
GROUPS: Final = "Groups"
"""The names of the new fonts in style sheets."""

_FREE: Final = ("OPEN FONT LICENSE", "SCRIPTS.SIL.ORG/OFL", "OPENFONTLICENSE.ORG", "APACHE LICENSE", "IPA FONT LICENSE")
_LICENCE_NAMES: Final = (13, 14)
_TOP: Final = 0.86
"""The top of a number's room above its baseline, so that digits are in the middle."""
_CENTRE: Final = 0.38
"""An upright letter's middle above the baseline, in sizes of the letter; a lying letter has the same middle."""


class Turned(NamedTuple):
    """Fonts that were made.

    Attributes:
        content: the file of the font of upright letters.
        groups: the file of a second font, used only for groups.
        weight: the weight that both stand for.
        characters: those that the first font has.
    """

    content: bytes
    groups: bytes
    weight: int
    characters: frozenset[str]


class NotFree(Exception):
    """The licence of the font does not say that it may be changed."""


def turned(content: bytes, index: int, characters: Collection[str], groups: Collection[str], weight: int) -> Turned:
    """Return fonts of letters on their left side.

    Args:
        content: the file of an installed font, or of several.
        index: which font in the file.
        characters: those of the book.
        groups: short numbers and signs that are upright as a whole, side by side in one letter's room.
        weight: the weight that the new fonts stand for.

    Raises:
        NotFree: its licence does not permit changes.
    """
    from fontTools.ttLib import TTFont  # noqa: PLC0415 - comes with WeasyPrint

    font = TTFont(BytesIO(content), fontNumber=index, lazy=True)
    if not _is_free(font):
        raise NotFree
    names, forms, shapes = font.getBestCmap(), _vertical_forms(font), font.getGlyphSet()
    units = font["head"].unitsPerEm
    letters = _New(FAMILY, units)
    for each in sorted(characters):
        name = names.get(ord(each))
        if name is not None and _is_upright(each, name in forms):
            form = forms.get(name, name)
            height, top = _vertical_metrics(font, form)
            half = font["hmtx"][form][0] // 2
            outline = _outline(shapes, units, [(form, (0, 1, -1, 0, top, round(_CENTRE * units) - half))])
            letters.add(each, outline, height)
    return Turned(
        letters.content(font, weight),
        _groups(font, shapes, [each for each in sorted(groups) if all(ord(one) in names for one in each)], weight),
        weight,
        frozenset(letters.characters),
    )


def _groups(font: Any, shapes: Any, groups: Iterable[str], weight: int) -> bytes:
    """Return the font in which each group, and each of its letters alone, is upright in one letter's room."""
    units, names = font["head"].unitsPerEm, font.getBestCmap()
    made = _New(GROUPS, units)
    for group in sorted({*groups, *"".join(groups)}, key=lambda each: (len(each), each)):
        widths = [font["hmtx"][names[ord(each)]][0] for each in group]
        scale = min(1.0, units / sum(widths))
        parts, at = [], round(_CENTRE * units - sum(widths) * scale / 2)
        for each, width in zip(group, widths, strict=True):
            parts.append((names[ord(each)], (0, scale, -1, 0, round(_TOP * units), at)))
            at += round(width * scale)
        made.add(group, _outline(shapes, units, parts), units)
    return made.content(font, weight)


class _New:
    """A font while it is made."""

    def __init__(self, family: str, units: int) -> None:
        self.characters: dict[str, str] = {}
        self._family = family
        self._units = units
        self._outlines: dict[str, Any] = {".notdef": _outline(None, units, [])}
        self._widths = {".notdef": (units, 0)}

    def add(self, text: str, outline: Any, width: int) -> None:
        """Add a glyph for a character, or for a group of characters that were added before."""
        name = "_".join(f"u{ord(each):05x}" for each in text)
        self.characters[text] = name
        self._outlines[name], self._widths[name] = outline, (width, 0)

    def content(self, font: Any, weight: int) -> bytes:
        """Return the font's file, with the height of lines of another one."""
        from fontTools.fontBuilder import FontBuilder  # noqa: PLC0415

        made = FontBuilder(self._units, isTTF=False)
        made.setupGlyphOrder(list(self._outlines))
        made.setupCharacterMap({ord(text): name for text, name in self.characters.items() if len(text) == 1})
        made.setupCFF(self._family, {"FullName": self._family}, self._outlines, {})
        made.setupHorizontalMetrics(self._widths)
        made.setupHorizontalHeader(ascent=font["hhea"].ascent, descent=font["hhea"].descent)
        made.setupNameTable({"familyName": self._family, "styleName": "Bold" if weight > 500 else "Regular"})
        made.setupOS2(usWeightClass=weight, fsType=0)
        made.setupPost()
        rules = [f"sub {name.replace('_', ' ')} by {name};" for name in self.characters.values() if "_" in name]
        if rules:
            # Not as ligatures, which justified lines do not have.
            made.addOpenTypeFeatures(f"feature ccmp {{ {' '.join(rules)} }} ccmp;")
        made.font["head"].created = made.font["head"].modified = 0
        out = BytesIO()
        made.font.save(out)
        return out.getvalue()


def _is_free(font: Any) -> bool:
    records = (font["name"].getDebugName(number) or "" for number in _LICENCE_NAMES)
    text = " ".join(records).upper()
    return any(words in text for words in _FREE)


def _is_upright(char: str, has_form: bool) -> bool:
    """Return whether a character is upright in vertical lines (about as Unicode's UAX 50 says)."""
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
    """Return a glyph's height in a vertical line, and its top above the baseline."""
    units = font["head"].unitsPerEm
    height, bearing = font["vmtx"][name] if "vmtx" in font else (units, 0)
    if "VORG" in font:
        return height, font["VORG"][name]
    if "glyf" in font and "vmtx" in font and font["glyf"][name].numberOfContours:
        return height, bearing + font["glyf"][name].yMax
    return height, round(0.88 * units)


def _outline(shapes: Any, units: int, parts: Iterable[tuple[str, tuple[float, ...]]]) -> Any:
    """Return an outline made of glyphs, each with its transformation."""
    from fontTools.pens.t2CharStringPen import T2CharStringPen  # noqa: PLC0415
    from fontTools.pens.transformPen import TransformPen  # noqa: PLC0415

    pen = T2CharStringPen(units, None)
    for name, matrix in parts:
        shapes[name].draw(TransformPen(pen, matrix))
    return pen.getCharString()
