"""HTML of the markups in which blog software stores texts: lines and paragraphs, Markdown. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_MARKDOWN_CHARACTERS: Final = 500_000
"""A longer text takes seconds, so it is shown in paragraphs."""
_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n\s*")
_BLOCK: Final = re.compile(
    r"</?(?:address|article|aside|blockquote|center|details|dir|div|dl|dd|dt|fieldset|figure|figcaption|footer|form"
    r"|h[1-6]|header|hr|li|main|menu|nav|ol|p|pre|script|section|select|style|table|tbody|td|tfoot|th|thead|tr|ul)\b",
    re.IGNORECASE,
)


def paragraphs(text: str) -> str:
    """Return a text of lines and paragraphs as HTML, by the rule "Convert line breaks" of Movable Type.

    Blank lines separate paragraphs, and a line end is ``<br />`` (``MT::Util::html_text_transform``). A paragraph that
    begins with a block is HTML already.
    """
    made = []
    for part in _BLANK_LINES.split(text.replace("\r\n", "\n").strip("\n")):
        if part and _BLOCK.match(part) is None:
            lines = part.strip("\n").replace("\n", "<br />\n")
            made.append(f"<p>{lines}</p>")
        elif part:
            made.append(part)
    return "\n\n".join(made)


def from_markdown(text: str, *, smart: bool = False, tables: bool = False) -> str:
    """Return Markdown as HTML (CommonMark, which keeps HTML inside).

    ``smart`` curls quotes and joins dots and dashes; ``tables`` reads tables and struck text. The HTML may hold
    anything that the text does: it is not sanitized.
    """
    if len(text) > MAX_MARKDOWN_CHARACTERS:
        return paragraphs(text)
    return str(_parser(smart, tables).render(text)).rstrip("\n")


@cache
def _parser(smart: bool, tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - few blogs need it

    made = MarkdownIt("commonmark", {"html": True, "typographer": smart})
    return made.enable(
        [*(["replacements", "smartquotes"] if smart else []), *(["table", "strikethrough"] if tables else [])]
    )
