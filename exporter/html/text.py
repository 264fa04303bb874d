"""A body's visible text, read with a parser, or without one if parsing would cost too much. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from exporter.html.embedded import parse_body
from exporter.html.service_habits import hides_beginning, quieten, without_contents
from exporter.html.tree import BLOCKS, DROPPED, Element, TooComplex, TooLarge

_TAG = re.compile(r"<[^<>]*>")
_SPACES: Final = re.compile("[ \t\n\r\f]+")
_PARTS_PER_CHUNK: Final = 10_000
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
    """Return text with HTML white space collapsed to single spaces, and removed at both ends."""
    return _SPACES.sub(" ", text).strip(" ")


def plain_text(source: str, *, quiet: bool = False) -> str:
    """Return a body's text: blocks and ``<br>`` end a line, pictures are their ``alt``, scripts are left out.

    With ``quiet``, marks of services are left out as :func:`~exporter.html.service_habits.quieten` does.
    """
    if "<" not in source and "&" not in source:
        return source
    try:
        body = parse_body(source)
    except TooLarge:
        return text_of(source)
    except TooComplex:
        return html.unescape(_TAG.sub(" ", source))
    if quiet:
        quieten(body, source)
    return text_in(body)


def text_start_quiet(source: str, characters: int) -> str:
    """Return the beginning of a body's text as :func:`text_start`, without a service's marks before it."""
    if hides_beginning(source):
        with suppress(TooComplex):
            body = parse_body(source)
            quieten(body, source)
            without_contents(body)
            text = text_in(body)
            if text:
                return text
    return text_start(source, characters)


def text_in(body: Element) -> str:
    """Return the text of a tree, as :func:`plain_text` does."""
    lines = [line.strip(" \t\r") for line in "".join(_parts(body)).split("\n")]
    return "\n".join(filter(None, lines)).strip()


def _parts(body: Element) -> list[str]:
    parts: list[str] = []
    nodes: Iterator[Element | str] = iter((body,))
    end = ""
    left: list[tuple[Iterator[Element | str], str]] = []
    while True:
        for node in nodes:
            if isinstance(node, str):
                parts.append(node)
            elif node.tag == "br":
                parts.append("\n")
            elif node.tag == "img":
                parts.append(node.attributes.get("alt", ""))
            elif node.tag not in DROPPED:
                left.append((nodes, end))
                nodes, end = iter(node.children), "\n" if node.tag in BLOCKS else ""
                parts.append(end)
                break
        else:
            parts.append(end)
            if not left:
                return parts
            nodes, end = left.pop()


def text_of(source: str) -> str:
    """Return a body's text without parsing it: blocks and ``<br>`` end a line, pictures are their ``alt``.

    Time and memory are linear in the length for any content. Comments, scripts and styles are left out; an unclosed one
    lasts until the end, as in browsers.
    """
    if "<" not in source:
        return html.unescape(source).strip()
    pieces = _text_pieces(source)
    chunks: list[str] = []
    # Joined in chunks, because each small string has an overhead of about fifty bytes.
    while batch := list(islice(pieces, _PARTS_PER_CHUNK)):
        chunks.append("".join(batch))
    return _joined(chunks)


def text_start(source: str, characters: int) -> str:
    """Return the beginning of a body's :func:`text_of` without reading the rest, as a rule.

    Returns:
        at least the given number of characters, or the whole text if it is shorter.
    """
    if "<" not in source:
        return text_of(source)
    pieces: list[str] = []
    length, enough = 0, characters
    for piece in _text_pieces(source):
        pieces.append(piece)
        length += len(piece)
        if length >= enough:
            # Later pieces can only change the white space at the end.
            text = _joined(pieces)
            if len(text) >= characters:
                return text
            enough = length * 2
    return _joined(pieces)


def _joined(pieces: list[str]) -> str:
    return _LINE_ENDS.sub("\n", "".join(pieces)).strip()


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
