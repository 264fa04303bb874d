"""How readers of Markdown differ: line breaks, lists, and texts and structures that one of them misreads. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from exporter.html.tree import CODE_BLOCKS, HTML_BLOCKS

HARD_BREAK: Final = "\\\n"
"""A line break in CommonMark. Older Markdown readers only know two spaces at the end of a line."""
_BETWEEN_TAGS: Final = "^(?!(?:<br>)+\n|<hr>\n)<[a-z][^\n]*>\n\n"
"""A tag on a separate line, except breaks: some Markdown readers do not read Markdown below it."""


def finds(*patterns: str) -> Callable[[str], bool]:
    """Return a function that matches a text against the patterns, line by line."""
    pattern = re.compile("|".join(patterns), re.MULTILINE)
    return lambda text: pattern.search(text) is not None


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a reader of Markdown needs; the defaults are CommonMark with GFM's tables and strikethrough.

    Attributes:
        line_break: what breaks a line.
        item_indent: the columns by which the content of a list item is indented; 0 for the width of its marker.
        joined: the kinds of blocks, ``list`` or ``quote``, of which two in succession become one.
        keeps_start: whether an ordered list begins with the number that is written.
        not_nested: tags of blocks that lists and quotes cannot contain as Markdown; ``table`` stands for those that
            need HTML.
        footnotes: whether footnotes are known; their labels become ids, and the generator writes them at the end.
        misread: returns whether the reader takes a text for its own commands, or leaves a part of it unread.
        signs: text that only this reader takes for markup, to be escaped by a backslash before each character.
    """

    line_break: str = HARD_BREAK
    item_indent: int = 0
    joined: frozenset[str] = frozenset()
    keeps_start: bool = True
    not_nested: frozenset[str] = frozenset()
    footnotes: bool = False
    misread: Callable[[str], bool] = lambda _: False
    signs: re.Pattern[str] | None = None


COMMONMARK: Final = Dialect()

PYTHON_MARKDOWN: Final = Dialect(
    line_break="  \n",
    item_indent=4,
    joined=frozenset({"list", "quote"}),
    keeps_start=False,
    not_nested=CODE_BLOCKS | HTML_BLOCKS | {"center", "table"},
    footnotes=True,
    misread=finds(
        _BETWEEN_TAGS,
        "~~",
        r"\\[^\\`*_{}\[\]()>#+.!\n-]",  # escapes that it does not know
        r"\\\]:",  # notes and addresses, though escaped
        r"\{[^{}\n]*\}",  # attributes
        r"^[-+*>\d.) ]*#+[^#\s]",  # headings without a space
    ),
)
"""Python-Markdown with its ``extra`` extensions, as Pelican reads by default."""

_TABLE: Final = re.compile(r"(?:\A|(?<=\n\n))\|.*\n\|[-:| ]+\n(?:\|.*(?:\n|\Z))+")
_kramdown_misreads = finds(
    _BETWEEN_TAGS,
    r"\\\]:",  # notes and addresses, though escaped
    r"\{:",  # attributes
    r"\$\$",  # formulas
    r"\\\\$",  # breaks, though escaped
    r"^[-+*>\d.) ]*\^$",  # ends of blocks
)

KRAMDOWN: Final = Dialect(
    joined=frozenset({"list"}),
    keeps_start=False,
    not_nested=frozenset({"hr"}),
    footnotes=True,
    misread=lambda text: "|" in _TABLE.sub("", text) or _kramdown_misreads(text),
)
"""kramdown with its parser for GFM, as Jekyll reads. Everything else with a ``|`` might become a table."""
