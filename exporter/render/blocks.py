"""Finished Markdown blocks, and how they are put into lists, quotes and each other."""

from __future__ import annotations

import re
from typing import NamedTuple

from exporter.render.elements import DROPPED, PLAIN_INLINE
from exporter.render.escape import code_fence
from exporter.render.htmltree import Element

_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|brush)[-:]\s*([A-Za-z0-9_+#.\-]{1,30})")
_EMPTY_ITEM = "<!-- -->"
_CODE_INSIDE = PLAIN_INLINE | {"br", "code", "tt", "samp"}


class Block(NamedTuple):
    """A finished block.

    Attributes:
        kind: ``text``, ``heading``, ``code``, ``table``, ``rule``, ``html``, ``quote`` or ``list``.
        text: the Markdown, without a line end at its end.
        marker: a list's bullet, or the mark behind its numbers.
        follows: whether it may stand directly under a paragraph.
        stray: whether it is an item without a list around it.
    """

    kind: str
    text: str
    marker: str = ""
    follows: bool = False
    stray: bool = False


def join(blocks: list[Block], *, tight: bool = False) -> str:
    """Return the blocks with a blank line between them; tight lists stand directly under their item's text."""
    parts: list[str] = []
    for number, block in enumerate(blocks):
        if number:
            parts.append("\n" if tight and block.follows else "\n\n")
        parts.append(block.text)
    return "".join(parts)


def quote_block(inside: list[Block]) -> Block:
    """Return a block quote of these blocks."""
    return Block("quote", "\n".join(f"> {line}" if line else ">" for line in join(inside).split("\n")))


def list_block(into: list[Block], items: list[list[Block]], start: int | None, *, stray: bool) -> None:
    """Append a list to ``into``; ``start`` is its first number, ``None`` for bullets.

    A list behind another takes the other marker, or the two would become one; stray items in a row are one list.
    """
    before = into[-1] if into else None
    ordered = start is not None
    markers = (".", ")") if ordered else ("-", "+")
    joined = before is not None and stray and before.stray
    marker = markers[1] if before is not None and before.marker == markers[0] and not joined else markers[0]
    if joined and before is not None:
        marker = before.marker
    tight = all(_is_tight(item) for item in items)
    lines = [
        _item(item, f"{start + number}{marker}" if start is not None else marker, tight=tight)
        for number, item in enumerate(items)
    ]
    text = ("\n" if tight else "\n\n").join(lines)
    follows = (start is None or start == 1) and bool(items[0])
    if joined and before is not None:
        into[-1] = Block("list", f"{before.text}\n{text}", marker, before.follows, stray)
    else:
        into.append(Block("list", text, marker, follows, stray))


def _is_tight(item: list[Block]) -> bool:
    return all(block.kind == "text" if number == 0 else block.follows for number, block in enumerate(item))


def _item(blocks: list[Block], marker: str, *, tight: bool) -> str:
    indent = " " * (len(marker) + 1)
    lines = join(blocks, tight=tight).split("\n") if blocks else [_EMPTY_ITEM]
    rest = "".join(f"\n{indent}{line}" if line else "\n" for line in lines[1:])
    return f"{marker} {lines[0]}{rest}"


def code_block(element: Element) -> str | None:
    """Return a fenced block with the element's text as it stands; ``None`` when marks or links in it need HTML."""
    parts: list[str] = []
    for node in element.walk():
        if isinstance(node, str):
            parts.append(node)
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag not in _CODE_INSIDE and node.tag not in DROPPED:
            return None
    text = "".join(parts).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    return code_fence(text, _language(element))


def _language(element: Element) -> str:
    inner = next((child for child in element.children if isinstance(child, Element)), None)
    for holder in (element, inner):
        found = _LANGUAGE.search(holder.attributes.get("class", "")) if holder is not None else None
        if found is not None:
            return found[1]
    return ""
