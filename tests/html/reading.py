"""Reads Markdown back the way a reader's program would: CommonMark with tables and strikethrough, then plain parsing.

It is independent of the package's own parser so that a difference between the two shows an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_BOLD = frozenset({"b", "strong"})
_SILENT = frozenset({"script", "style"})


_LINE_ENDS = frozenset(
    [
        "address",
        "blockquote",
        "br",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "summary",
        "table",
        "td",
        "th",
        "tr",
        "ul",
    ]
)


def fold(text: str) -> str:
    """Remove all white space, for comparing texts with unknown line breaks."""
    return re.sub(r"\s+", "", text)


def render(markdown: str) -> str:
    return str(_MARKDOWN.render(markdown))


@dataclass
class Reading:
    text: str = ""
    bold: str = ""
    cells: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    images: list[tuple[str, str]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    spaced: str = ""
    """The text, with each run of white space and line ends as one space."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Reading()
        self._open: list[str] = []
        self._cells: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found.tags.append(tag)
        self._edge(tag)
        if tag == "a":
            self.found.links.append(values.get("href") or "")
        if tag == "img":
            self.found.images.append((values.get("src") or "", values.get("alt") or ""))
        if tag in {"td", "th"}:
            self._cells.append(len(self.found.cells))
            self.found.cells.append("")
        if tag in _BOLD | _SILENT:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._edge(tag)
        if tag in {"td", "th"} and self._cells:
            self._cells.pop()
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in _SILENT:
            return
        self.found.text += data
        self.found.spaced += data
        if self._open:
            self.found.bold += data
        for cell in self._cells:
            self.found.cells[cell] += data

    def _edge(self, tag: str) -> None:
        if tag in _LINE_ENDS:
            self.found.spaced += "\n"


def read_html(html: str) -> Reading:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    found = reader.found
    found.spaced = " ".join(found.spaced.split())
    found.text, found.bold = fold(found.text), fold(found.bold)
    found.cells = [fold(cell) for cell in found.cells]
    return found


def read_markdown(markdown: str) -> Reading:
    return read_html(render(markdown))
