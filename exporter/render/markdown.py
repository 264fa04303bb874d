"""A body's HTML to Markdown (CommonMark with GFM tables and strikethrough) that says the same.

Text, bold, links, pictures and table cells are kept; what Markdown lacks stays HTML, made safe. No input raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from exporter.render.blocks import join
from exporter.render.budget import text_of, too_large_words
from exporter.render.elements import LINE_TAGS
from exporter.render.escape import code_fence
from exporter.render.htmltree import Element, TooLarge, TooTangled, parse
from exporter.render.markdown_blocks import BlockWriter
from exporter.render.text import visible


class Markdown(NamedTuple):
    """A Markdown text without a line end at its end, and how many characters in it had to become U+FFFD."""

    text: str
    replaced: int


def to_markdown(html: str, change: Callable[[Element], None] | None = None) -> Markdown:
    """Convert a body, its tree changed by ``change`` first.

    A body without any tag that ends lines keeps its line ends, since the meanings of ``text_format`` are not known
    (API 2.8). One too tangled to parse is shown as its source, and one beyond :mod:`exporter.render.budget` as its text
    after a sentence that says so, each in a code block.
    """
    source, replaced = visible(html)
    try:
        body = parse(source)
    except TooLarge:
        shown = code_fence(text_of(source).replace("\r", ""))
        return Markdown(f"{too_large_words(len(html))}\n\n{shown}", replaced)
    except TooTangled:
        return Markdown(code_fence(source.replace("\r", ""), "html"), replaced)
    if change is not None:
        change(body)
    marked = any(isinstance(node, Element) and node.tag in LINE_TAGS for node in body.walk())
    writer = BlockWriter(keep_lines=not marked)
    writer.write(body)
    text, more = visible(join(writer.blocks))
    return Markdown(text, replaced + more)
