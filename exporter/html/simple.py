"""Bodies of nothing but common tags, each closed in its place, read without a parser. Pure.

Most bodies of a blog are such. Their tree says nothing that their source does not, and costs many times as much: what
the parser and the page make of them is what is written. Whatever could be in doubt is not simple, and left to
:func:`~exporter.html.tree.parse`; nothing that keeps a page safe relies on what is found here.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

from exporter.html.tags import tag_set
from exporter.html.tree import Element

Piece = str | Element
"""A text or a tag: ``"p"``, ``"/p"``, ``"br"``, or where it has attributes an element without children."""

_VOID: Final = tag_set("br hr img")
_BLOCKS: Final = tag_set("blockquote center div p")
_HOLDERS: Final = _BLOCKS - {"p"}
"""Blocks that hold blocks."""
_IN_LINES: Final = tag_set("a b big br code em font i img s small span strike strong sub sup tt u")
_TAGS: Final = _VOID | _BLOCKS | _IN_LINES
_BARE: Final = {
    **{tag: tag for tag in _TAGS - {"img"}},
    **{f"/{tag}": f"/{tag}" for tag in _TAGS - _VOID},
    "br/": "br", "br /": "br", "hr/": "hr", "hr /": "hr",
}  # fmt: skip
"""Tags without attributes, as they are often written."""

_MOST_CHARACTERS: Final = 100_000
_MOST_TAGS: Final = 900
_LONGEST_TAG: Final = 5_000
_DEEPEST: Final = 50
_CUT: Final = re.compile(r"<([^<>]*)>")
_IN_TAG: Final = r"[ \t\n\f]"
_OPENING: Final = re.compile(
    rf"([a-zA-Z]+)((?:{_IN_TAG}+[a-zA-Z-]+=(?:\"[^\"]*\"|'[^']*'))*){_IN_TAG}*(/?)|(/[a-zA-Z]+){_IN_TAG}*"
)
_ATTRIBUTE: Final = re.compile(r"([a-zA-Z-]+)=(?:\"([^\"]*)\"|'([^']*)')")
_OTHER_REFERENCE: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|nbsp|#39);)")


def simple_pieces(source: str) -> list[Piece] | None:
    """Return a body cut at its tags: text, tag, text, and so on up to a last text; ``None`` where it is not simple.

    A simple body's tree is what its tags say: blocks hold blocks or lines, nothing closes or opens by itself, no link
    leads into the body or has nothing to read or see. Texts have their character references, see :func:`plain`.

    Args:
        source: HTML, as :func:`~exporter.text.visible` leaves it.
    """
    if len(source) > _MOST_CHARACTERS or ("&" in source and _OTHER_REFERENCE.search(source)):
        return None
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    pieces: list[Piece] = [*_CUT.split(source)]
    tags = len(pieces) // 2
    if tags > _MOST_TAGS or source.count("<") != tags:
        return None
    for at in range(1, len(pieces), 2):
        written = str(pieces[at])
        tag = _BARE.get(written) or _tag(written)
        if tag is None:
            return None
        pieces[at] = tag
    return pieces if _is_nested(pieces) else None


def _is_nested(pieces: list[Piece]) -> bool:
    """Tell whether each tag may stand in its place, and is closed there."""
    opened: list[str] = []
    link = 0
    for at in range(1, len(pieces), 2):
        piece = pieces[at]
        tag = piece if isinstance(piece, str) else piece.tag
        if tag[0] == "/":
            if not opened or opened.pop() != tag[1:] or (tag == "/a" and not _says_something(pieces[link + 1 : at])):
                return False
        elif not _may_open(tag, opened):
            return False
        elif tag not in _VOID:
            opened.append(tag)
            link = at if tag == "a" else link
        if len(opened) > _DEEPEST:
            return False
    return not opened


def _may_open(tag: str, opened: list[str]) -> bool:
    if tag in _IN_LINES:
        return tag != "a" or "a" not in opened
    return not opened or opened[-1] in _HOLDERS


def plain(text: str) -> str:
    """Return a text of a simple body with its character references read."""
    return unescape(text) if "&" in text else text


def _tag(written: str) -> Piece | None:
    found = _OPENING.fullmatch(written) if len(written) <= _LONGEST_TAG else None
    if found is None:
        return None
    if found[4] is not None:
        return _BARE.get(found[4].lower())
    tag = found[1].lower()
    if tag not in _TAGS or (found[3] and tag not in _VOID):
        return None
    values = _ATTRIBUTE.findall(found[2])
    if not values and tag != "img":
        return tag
    attributes = {name.lower(): plain(double or single) for name, double, single in values}
    if len(attributes) < len(values) or (tag == "a" and attributes.get("href", "").strip().startswith("#")):
        return None
    return Element(tag, attributes, [])


def _says_something(inside: list[Piece]) -> bool:
    return any(
        not at % 2 and plain(piece).strip() if isinstance(piece, str) else piece.tag == "img"
        for at, piece in enumerate(inside)
    )
