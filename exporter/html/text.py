"""A body's HTML as the text that a reader saw, with a parser or, for what no parser should read, without one. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from exporter.html.limits import TooComplex, TooLarge
from exporter.html.tags import BLOCKS, DROPPED
from exporter.html.tree import Element, parse

_TAG = re.compile(r"<[^<>]*>")
_TEXT_LINE_ENDS = re.compile(r"(?<![ \t\r])[ \t\r]*\n[ \t\r\n]*")
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


def plain_text(source: str, read: Callable[[str], Element] = parse) -> str:
    """Return the text of a body: blocks and ``<br>`` end a line, pictures give their ``alt``, scripts nothing.

    Args:
        source: HTML or text.
        read: parses the HTML, for callers that keep trees.
    """
    if "<" not in source and "&" not in source:
        return source
    try:
        body = read(source)
    except TooLarge:
        return text_of(source)
    except TooComplex:
        return html.unescape(_TAG.sub(" ", source))
    parts: list[str] = []
    todo: list[Element | str] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag == "img":
            parts.append(node.attributes.get("alt", ""))
        elif node.tag not in DROPPED:
            if node.tag in BLOCKS:
                parts.append("\n")
                todo.append("\n")
            todo.extend(reversed(node.children))
    return _TEXT_LINE_ENDS.sub("\n", "".join(parts)).strip()


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
