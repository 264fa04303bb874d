"""How readers of Markdown differ: line breaks, lists, and texts and structures that one of them misreads. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from exporter.html.code_languages import LANGUAGES
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
    """The Markdown of one reader; the defaults are CommonMark with GFM's tables, strikethrough and task lists.

    Attributes:
        line_break: what breaks a line.
        item_indent: the columns by which the content of a list item is indented; 0 for the width of its marker.
        joined: the kinds of blocks, ``list`` or ``quote``, of which two in succession become one.
        keeps_start: whether an ordered list begins with the number that is written.
        not_nested: tags of blocks that lists and quotes cannot contain as Markdown; ``table`` stands for those that
            need HTML.
        expands_tabs: whether tabs become spaces, also in code.
        adds_row: whether a table of one row gets an empty second one.
        drops_hashes: whether a heading loses each ``#`` at its end, also directly after a word.
        tasks: whether ``[x]`` at the start of an item is a tick.
        footnotes: whether footnotes are known; their labels become ids, and the generator writes them at the end.
        misread: returns whether the reader takes a text for its own commands, or leaves a part of it unread.
        signs: matches in group ``sign`` text that only this reader takes for markup; other matches are left unchanged.
        html_signs: text that this reader also takes for markup inside of HTML.
        languages: the languages that code may name; ``None`` for any.
    """

    line_break: str = HARD_BREAK
    item_indent: int = 0
    joined: frozenset[str] = frozenset()
    keeps_start: bool = True
    not_nested: frozenset[str] = frozenset()
    expands_tabs: bool = False
    adds_row: bool = False
    drops_hashes: bool = False
    tasks: bool = True
    footnotes: bool = False
    misread: Callable[[str], bool] = lambda _: False
    signs: re.Pattern[str] | None = None
    html_signs: re.Pattern[str] | None = None
    languages: frozenset[str] | None = None

    def in_html(self, html: str) -> str:
        """Return HTML in which this reader finds no markup and no tab."""
        if self.expands_tabs:
            html = html.replace("\t", "&#9;")
        if self.html_signs is None:
            return html
        return self.html_signs.sub(lambda found: "".join(f"&#{ord(each)};" for each in found[0]), html)

    def escaped(self, text: str) -> str:
        """Return text that is already escaped for CommonMark with a backslash before each character of the signs."""
        if self.signs is None:
            return text
        return self.signs.sub(lambda found: "".join(f"\\{each}" for each in found["sign"] or "") or found[0], text)


COMMONMARK: Final = Dialect()

PYTHON_MARKDOWN: Final = Dialect(
    line_break="  \n",
    item_indent=4,
    joined=frozenset({"list", "quote"}),
    keeps_start=False,
    not_nested=CODE_BLOCKS | HTML_BLOCKS | {"center", "table"},
    expands_tabs=True,
    adds_row=True,
    drops_hashes=True,
    tasks=False,
    footnotes=True,
    signs=re.compile(r"^(?P<sign>#{7,}|#+(?=[^#\s]))", re.MULTILINE),  # headings of other readers
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
_NOTED: Final = re.compile(r"\[\^[\w-]+\]\\(?=\()")
"""A footnote's mark before an escaped parenthesis. Addresses have no ``^``, and titles no such escape."""
_kramdown_misreads = finds(
    _BETWEEN_TAGS,
    r"\\\]:",  # notes and addresses, though escaped
    r"\{:",  # attributes
    r"\$\$",  # formulas
    r"\\\\$",  # breaks, though escaped
    r"^[-+*>\d.) ]*\^$",  # ends of blocks
    r"\\[()\"]",  # escapes in addresses and titles
    r"`[^`\n]*\\\|",  # escapes in code
    r"<(code|kbd|samp|var)>(?:(?!</\1>)[^\n])*[\\*~`\[]",  # Markdown in code
)

KRAMDOWN: Final = Dialect(
    joined=frozenset({"list"}),
    keeps_start=False,
    not_nested=frozenset({"hr"}),
    footnotes=True,
    misread=lambda text: "|" in _TABLE.sub("", text) or _kramdown_misreads(_NOTED.sub("", text)),
)
"""kramdown with its parser for GFM, as Jekyll reads. Everything else with a ``|`` might become a table."""

OBSIDIAN: Final = Dialect(
    footnotes=True,
    signs=re.compile(
        r"<[a-z]+://[^>\s]*>|(?:https?|ftp)://[!-~]+"  # addresses, which stay links
        r"|(?P<sign>(?:\A|(?<=\s))\#(?=[^\s\#])"  # tags
        r"|(?<!\\)\[(?=\[)|(?<=\[)\[|%%|={2,}|(?<!\\)\$"  # links, comments, marked text, formulas
        r"|\^(?=\[)|(?:^|(?<=\s))\^(?=[\w-]+\s*$)"  # notes in the text, names of blocks
        r"|^\[(?=[^\s\\\]]\] ))",  # its additional ticks
        re.MULTILINE,
    ),
    html_signs=re.compile(r"\[\[|%%"),
    languages=LANGUAGES,
)
"""Obsidian. It draws and runs code of some languages, such as ``mermaid`` and ``query``, and those of its plug-ins."""
