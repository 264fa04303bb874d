"""Bodies of nothing but common tags, each closed in its place, read without a parser. Pure.

Most bodies of a blog are such. Their tree says nothing that their source does not, and costs many times as much: what
the parser and the page make of them is what is written. Whatever could be in doubt is not simple, and left to
:func:`~exporter.html.tree.parse`; nothing that keeps a page safe relies on what is found here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import Final

from exporter.html.tags import HEADINGS, tag_set
from exporter.html.tree import Element

Piece = str | Element
"""A text or a tag: ``"p"``, ``"/p"``, ``"br"``, or where it has attributes an element without children."""

_VOID: Final = tag_set("br hr img")
_LINES: Final = tag_set("a b big br code em font i img s small span strike strong sub sup tt u")
"""Tags inside of lines."""
_BLOCKS: Final = tag_set("blockquote center div hr ol p table ul") | HEADINGS.keys()
_HOLDERS: Final = tag_set("blockquote center div li td") | {""}
"""What holds blocks; the body itself is nameless."""
_TEXTLESS: Final = tag_set("ol table tbody tr ul")
_PLACES: Final = {
    **dict.fromkeys(_LINES, _HOLDERS | _LINES | HEADINGS.keys() | {"p"}),
    **dict.fromkeys(_BLOCKS, _HOLDERS),
    "li": tag_set("ol ul"), "tbody": tag_set("table"), "tr": tag_set("tbody"), "td": tag_set("tr"),
}  # fmt: skip
"""By tag, in which others it may be."""
_BARE: Final = {
    **{tag: tag for tag in _PLACES.keys() - {"img"}},
    **{f"/{tag}": f"/{tag}" for tag in _PLACES.keys() - _VOID},
    "br/": "br", "br /": "br", "hr/": "hr", "hr /": "hr",
}  # fmt: skip
"""Tags without attributes, as they are often written."""
_CLOSES: Final = {f"/{tag}": tag for tag in _PLACES.keys() - _VOID}

_MOST_CHARACTERS: Final = 100_000
_MOST_TAGS: Final = 900
_LONGEST_TAG: Final = 1_000
_DEEPEST: Final = 50
_WHITE: Final = " \t\n\f"
_CUT: Final = re.compile(r"<([^<>]*)>")
_VALUE: Final = rf"=(?:\"([^\"]*)\"|'([^']*)'|([^\"'=`&{_WHITE}]+))"
_OPENING: Final = re.compile(
    rf"([a-zA-Z]+[1-6]?)((?:[{_WHITE}]+[a-zA-Z-]+(?:{_VALUE})?)*)[{_WHITE}]*(/?)|(/[a-zA-Z]+[1-6]?)[{_WHITE}]*"
)
_ATTRIBUTE: Final = re.compile(rf"([a-zA-Z-]+)(?:{_VALUE})?")
_OTHER_REFERENCE: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|nbsp|#39);)")


def simple_pieces(source: str) -> list[Piece] | None:
    """Return a body cut at its tags: text, tag, text, and so on up to a last text; ``None`` where it is not simple.

    A simple body's tree is what its tags say: all stand where they may, nothing closes or opens by itself, no link
    leads into the body or has nothing to read or see. Texts have their character references, see :func:`plain`.

    Args:
        source: HTML, as :func:`~exporter.text.visible` leaves it.
    """
    if len(source) > _MOST_CHARACTERS or ("&" in source and _OTHER_REFERENCE.search(source)):
        return None
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    cut = _CUT.split(source)
    if len(cut) // 2 > _MOST_TAGS or source.count("<") != len(cut) // 2:
        return None
    pieces: list[Piece] = [*cut]
    for at in range(1, len(cut), 2):
        tag = _BARE.get(cut[at]) or _tag(cut[at])
        if tag is None:
            return None
        pieces[at] = tag
    return pieces if _is_nested(pieces) else None


def _is_nested(pieces: list[Piece]) -> bool:
    """Tell whether each tag may stand in its place, and is closed there."""
    opened: list[str] = []
    inside = ""
    link = 0
    for at in range(1, len(pieces), 2):
        piece = pieces[at]
        tag = piece if isinstance(piece, str) else piece.tag
        if inside in _TEXTLESS and str(pieces[at - 1]).strip(_WHITE):
            return False
        if tag in _CLOSES:
            if _CLOSES[tag] != inside or (inside == "a" and not _says_something(pieces[link + 1 : at])):
                return False
            inside = opened.pop()
        elif inside not in _PLACES[tag] or (tag == "a" and "a" in [*opened, inside]) or len(opened) >= _DEEPEST:
            return False
        elif tag not in _VOID:
            opened.append(inside)
            inside = tag
            link = at if tag == "a" else link
    return not inside


def plain(text: str) -> str:
    """Return a text of a simple body with its character references read."""
    return unescape(text) if "&" in text else text


def element_at(pieces: list[Piece], at: int) -> tuple[Element, int]:
    """Return the element that begins with the piece at ``at``, with all that is in it, and where it ends."""
    first = element_of(pieces[at])
    inside = [first]
    while inside:
        at += 1
        piece = pieces[at]
        if at % 2 == 0:
            inside[-1].children += [plain(piece)] if isinstance(piece, str) and piece else []
        elif isinstance(piece, str) and piece in _CLOSES:
            inside.pop()
        else:
            element = element_of(piece)
            inside[-1].children.append(element)
            if element.tag not in _VOID and not element.children:
                inside.append(element)
    return first, at


def element_of(piece: Piece) -> Element:
    """Return the element that a tag begins, without what is in it."""
    return Element(piece, {}, []) if isinstance(piece, str) else piece


def _tag(written: str) -> Piece | None:
    if len(written) > _LONGEST_TAG:
        return None
    tag, attributes = _taken_apart(written)
    return Element(tag, dict(attributes), []) if attributes or tag == "img" else tag or None


@lru_cache(maxsize=1024)
def _taken_apart(written: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the tag and its attributes; an empty tag where it is not one of a simple body."""
    found = _OPENING.fullmatch(written)
    if found is None:
        return "", ()
    *_, slash, closing = found.groups()
    if closing is not None:
        return _BARE.get(closing.lower(), ""), ()
    tag = found[1].lower()
    if tag not in _PLACES or (slash and tag not in _VOID):
        return "", ()
    values = [
        (name.lower(), plain(double or single or bare)) for name, double, single, bare in _ATTRIBUTE.findall(found[2])
    ]
    leads_inside = tag == "a" and any(name == "href" and value.strip().startswith("#") for name, value in values)
    return ("", ()) if leads_inside or len(dict(values)) < len(values) else (tag, tuple(values))


def _says_something(inside: list[Piece]) -> bool:
    return any(
        not at % 2 and plain(piece).strip() if isinstance(piece, str) else piece.tag == "img"
        for at, piece in enumerate(inside)
    )
