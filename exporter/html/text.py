"""A body's HTML as the text that a reader saw, with a parser or, for what no parser should read, without one. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from exporter.html.embeds import parse_body
from exporter.html.limits import TooComplex, TooLarge
from exporter.html.simple import Piece, plain, simple_pieces
from exporter.html.tags import BLOCKS, DROPPED, LINE_TAGS
from exporter.html.tree import Element
from exporter.text import visible

_LINE_ENDING: Final = LINE_TAGS | {f"/{tag}" for tag in BLOCKS}
_TAG = re.compile(r"<[^<>]*>")
_SPACES: Final = re.compile("[ \t\n\r\f]+")
_PARTS: Final = 10_000
_TOKEN: Final = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?P<unseen>noembed|noframes|script|style|template|title)(?=[\s/>]).*?(?:</(?P=unseen)(?=[\s/>])[^>]*>?|\Z)"
    r"|<(?P<end>/?)(?P<tag>[a-z][^\s/>]*+)(?P<rest>(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?+)*+(?:>|\Z))"
    r"|<[!?/][^>]*+>?",
    re.DOTALL | re.IGNORECASE,
)
_ALT: Final = re.compile(r"(?<![^\s/\"'])alt\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_LINE_ENDS: Final = re.compile(r"(?<![ \t\r\f])[ \t\r\f]*\n[ \t\r\n\f]*")


def collapse(text: str) -> str:
    """Return text with what HTML calls white space collapsed to single spaces, and none at its ends."""
    return _SPACES.sub(" ", text).strip(" ")


def read_body(source: str) -> list[Piece] | Element:
    """Return a body as its pieces where it is simple, else as its tree.

    Raises:
        TooComplex: as for :func:`~exporter.html.tree.parse`.
    """
    return simple_pieces(visible(source)[0]) or parse_body(source)


def plain_text(source: str, read: Callable[[str], list[Piece] | Element] = read_body) -> str:
    """Return the text of a body: blocks and ``<br>`` end a line, pictures give their ``alt``, scripts nothing.

    Args:
        source: HTML or text.
        read: reads the HTML, for callers that keep what was read.
    """
    if "<" not in source and "&" not in source:
        return source
    try:
        body = read(source)
    except TooLarge:
        return text_of(source)
    except TooComplex:
        return html.unescape(_TAG.sub(" ", source))
    parts = _in_pieces(body) if isinstance(body, list) else _in_tree(body)
    lines = (line.strip(" \t\r") for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines)).strip()


def _in_pieces(pieces: list[Piece]) -> Iterator[str]:
    for at, piece in enumerate(pieces):
        if isinstance(piece, str):
            yield plain(piece) if at % 2 == 0 else "\n" if piece in _LINE_ENDING else ""
        elif piece.tag == "img":
            yield piece.attributes.get("alt", "")
        elif piece.tag in LINE_TAGS:
            yield "\n"


def _in_tree(body: Element) -> Iterator[str]:
    todo: list[Element | str] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            yield node
        elif node.tag == "br":
            yield "\n"
        elif node.tag == "img":
            yield node.attributes.get("alt", "")
        elif node.tag not in DROPPED:
            if node.tag in BLOCKS:
                yield "\n"
                todo.append("\n")
            todo.extend(reversed(node.children))


def text_of(source: str) -> str:
    """Return the text of a body without parsing it: blocks and ``<br>`` end a line, pictures give their ``alt``.

    Takes time and memory that grow with the length alone, whatever is in the body. Comments, scripts and styles give
    nothing; one that never ends lasts until the end of the body, as in browsers.
    """
    if "<" not in source:
        return html.unescape(source).strip()
    pieces = _text_pieces(source)
    chunks: list[str] = []
    # Joined as they come, since a small text takes some fifty bytes more than its characters.
    while batch := list(islice(pieces, _PARTS)):
        chunks.append("".join(batch))
    return _LINE_ENDS.sub("\n", "".join(chunks)).strip()


def _text_pieces(source: str) -> Iterator[str]:
    at = 0
    for found in _TOKEN.finditer(source):
        if found.start() > at:
            yield html.unescape(source[at : found.start()])
        at = found.end()
        tag = (found["tag"] or "").lower()
        if tag == "br" or tag in BLOCKS:
            yield "\n"
        elif tag == "img" and (alt := _ALT.search(found["rest"])) is not None:
            yield html.unescape(next(filter(None, alt.groups()), ""))
    if at < len(source):
        yield html.unescape(source[at:])
