"""The differences, paragraph by paragraph, that a reader sees between two states of a body. Pure.

A picture, a frame or a player is compared as one character, so that :mod:`exporter.html.diff` aligns it with the words
around it. Cells of a row are on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.html.diff import in_context, word_diff
from exporter.html.embedded import parse_body
from exporter.html.players import embeds
from exporter.html.tree import BLOCKS, DROPPED, LINE_TAGS, Element, TooComplex, tag_set
from exporter.text import REPLACEMENT

if TYPE_CHECKING:
    from exporter.html.diff import Op

_FIRST: Final = 0xF0000
_MAX_THINGS: Final = 60_000
"""Further pictures and players of a body are compared by their names only."""
_THING: Final = re.compile("[\U000f0000-\U000ffffd]")
_PIECE: Final = re.compile("([\U000f0000-\U000ffffd]|\n)")
_SPACES: Final = re.compile("[ \t\n\r\f]+")
_PLAYERS: Final = tag_set("applet audio embed frame iframe object video")
_TYPED: Final = tag_set("pre listing plaintext textarea xmp")
_CELLS: Final = tag_set("td th")
_CELL_END: Final = "\x1f"
"""No parsed text contains it."""
_BETWEEN_CELLS: Final = " │ "


class SeenThing(NamedTuple):
    """A picture, a frame or a player in a body.

    Attributes:
        tag: ``img``, ``video``, ``audio`` or ``iframe``, which stands for every other player.
        address: as in the body, or of the page that the player shows.
        name: its replacement text or its title; may be empty.
    """

    tag: str
    address: str
    name: str


Line = list[tuple["Op", "str | SeenThing"]]
"""A paragraph: its pieces, each with its operation."""


def reading_diff(before: str, after: str, width: int) -> list[Line] | None:
    """Return the changed paragraphs as a reader sees them; none if both states read the same.

    Args:
        before: HTML or text.
        after: the later state.
        width: characters of unchanged text next to each change.

    Returns:
        ``None`` if a body is too large or too complex to be parsed.
    """
    marks: dict[SeenThing, str] = {}
    try:
        old, new = _reading(before, marks), _reading(after, marks)
    except TooComplex:
        return None
    if old == new:
        return []
    things = {mark: thing for thing, mark in marks.items()}
    lines: list[Line] = [[]]
    for op, text in in_context(word_diff(old, new), width, sentences=True):
        for piece in filter(None, _PIECE.split(text)):
            if piece == "\n":
                lines.append([])
            else:
                lines[-1].append((op, things.get(piece, piece)))
    return [line for line in lines if line]


def _reading(source: str, marks: dict[SeenThing, str]) -> str:
    """Return the text of a body with a character of ``marks`` for each picture and player.

    Raises:
        TooLarge, TooComplex: it cannot be parsed.
    """
    body = parse_body(source)
    typed = not any(node.tag in LINE_TAGS for node in body.elements())
    lines = (line.strip(f" \t\r{_CELL_END}") for line in "".join(_parts(body, marks, typed=typed)).split("\n"))
    return "\n".join(filter(None, lines)).replace(_CELL_END, _BETWEEN_CELLS)


def _parts(body: Element, marks: dict[SeenThing, str], *, typed: bool) -> Iterator[str]:
    """Yield the text in pieces; with ``typed`` its line ends count."""
    nodes: Iterator[Element | str] = iter((body,))
    end = ""
    left: list[tuple[Iterator[Element | str], str, bool]] = []
    while True:
        for node in nodes:
            if isinstance(node, str):
                text = _THING.sub(REPLACEMENT, node)
                yield text if typed else _SPACES.sub(" ", text)
            elif node.tag == "br":
                yield "\n"
            elif node.tag == "img":
                source, alt = node.attributes.get("src", ""), node.attributes.get("alt", "")
                yield _mark(SeenThing("img", source.strip(), alt), marks)
            elif node.tag in _PLAYERS:
                yield f"\n{_player(node, marks)}\n"
            elif node.tag not in DROPPED:
                left.append((nodes, end, typed))
                nodes, typed = iter(node.children), typed or node.tag in _TYPED
                end = _CELL_END if node.tag in _CELLS else "\n" if node.tag in BLOCKS else ""
                if end == "\n":
                    yield end
                break
        else:
            yield end
            if not left:
                return
            nodes, end, typed = left.pop()


def _player(element: Element, marks: dict[SeenThing, str]) -> str:
    tag = element.tag if element.tag in {"audio", "video"} else "iframe"
    found = next(embeds(element), None)
    return "" if found is None else _mark(SeenThing(tag, found.address, found.title), marks)


def _mark(thing: SeenThing, marks: dict[SeenThing, str]) -> str:
    if thing not in marks:
        if len(marks) == _MAX_THINGS or not thing.address:
            return _THING.sub(REPLACEMENT, thing.name)
        marks[thing] = chr(_FIRST + len(marks))
    return marks[thing]
