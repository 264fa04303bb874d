"""A body's HTML as the text that a reader saw. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from exporter.html.tree import BLOCKS, DROPPED, Element, TooLarge, TooTangled, parse, text_of

_TAG = re.compile(r"<[^<>]*>")
_LINE_ENDS = re.compile(r"(?<![ \t\r])[ \t\r]*\n[ \t\r\n]*")


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
    except TooTangled:
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
    return _LINE_ENDS.sub("\n", "".join(parts)).strip()
