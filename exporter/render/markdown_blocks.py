"""The walk over a body's tree that writes Markdown blocks: paragraphs, headings, lists, quotes, code, tables, HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from exporter.render.blocks import Block, code_block, list_block, quote_block
from exporter.render.elements import BLOCKS, CODE_BLOCKS, HEADINGS, HTML_BLOCKS, LISTS
from exporter.render.escape import escape_heading_end
from exporter.render.htmltree import Element
from exporter.render.inline_elements import enter_inline
from exporter.render.markdown_inline import render_inline
from exporter.render.runs import Marks, Runs, paragraphs, trimmed
from exporter.render.safehtml import safe_html
from exporter.render.tables import gfm_table

_NESTING_MAX = 14
"""CommonMark parsers stop reading at some depth, the strictest at 20; deeper lists and quotes are written flat."""

_OWN_HTML_BLOCK = frozenset({"details", "dialog", "dl", "iframe", "table"})
"""Tags that begin an HTML block by themselves (CommonMark 4.6, condition 6); others are put into a ``div``."""

_Leave = Callable[[], None]
_Level = tuple[Iterator[Element | str], Marks, _Leave]


@dataclass(slots=True, eq=False)
class _Container:
    """An open list or quote, or the body: where finished blocks go. A list has one list of blocks for each item."""

    items: list[list[Block]] = field(default_factory=lambda: [[]])
    is_list: bool = False
    cost: int = 0

    @property
    def blocks(self) -> list[Block]:
        if not self.items:
            self.items.append([])
        return self.items[-1]


class BlockWriter:
    """Writes one body; ``keep_lines`` makes the line ends of its texts breaks."""

    def __init__(self, *, keep_lines: bool = False) -> None:
        self._open: list[_Container] = [_Container()]
        self._runs = Runs(keep_lines=keep_lines)
        self._heading = 0
        self._centered = False

    @property
    def blocks(self) -> list[Block]:
        """The finished blocks of the outermost container."""
        return self._open[0].blocks

    def write(self, body: Element) -> None:
        """Walk the tree, without recursion, and write everything in it."""
        todo: list[_Level] = [(iter(body.children), (), self._flush)]
        while todo:
            children, marks, leave = todo[-1]
            for child in children:
                if isinstance(child, str):
                    self._runs.text(child, marks)
                    continue
                level = self._enter(child, marks)
                if level is not None:
                    todo.append(level)
                    break
            else:
                todo.pop()
                leave()

    def _enter(self, element: Element, marks: Marks) -> _Level | None:
        tag = element.tag
        if tag not in BLOCKS:
            below = enter_inline(element, marks, self._runs)
            return None if below is None else (iter(element.children), below, _nothing)
        self._flush()
        if tag == "table":
            self._table(element, marks)
        elif tag in HTML_BLOCKS:
            self._html(element, marks)
        elif tag in CODE_BLOCKS:
            code = None if any(mark.kind != "tag" for mark in marks) else code_block(element)
            self._html(element, marks) if code is None else self._add("code", code)
        elif tag == "hr":
            self._add("rule", "***")
        else:
            return (iter(element.children), marks, self._enter_container(element))
        return None

    def _enter_container(self, element: Element) -> _Leave:
        tag = element.tag
        top = self._open[-1]
        if tag in HEADINGS:
            self._heading = HEADINGS[tag]
            return self._leave_heading
        if tag == "center" and not self._centered:
            self._centered = True
            self._add("html", "<center>")
            return self._leave_center
        if tag == "li" and top.is_list:
            top.items.append([])
            return self._flush
        cost = 2 if tag in LISTS or tag == "li" else 1 if tag == "blockquote" else 0
        if not cost or sum(container.cost for container in self._open) + cost > _NESTING_MAX:
            return self._flush
        if tag == "blockquote":
            self._open.append(_Container(cost=cost))
            return self._leave_quote
        stray = tag == "li"
        self._open.append(_Container([[]] if stray else [], is_list=True, cost=cost))
        start = _start_of(element) if tag == "ol" else None
        return lambda: self._leave_list(start, stray=stray)

    def _leave_heading(self) -> None:
        self._flush()
        self._heading = 0

    def _leave_center(self) -> None:
        self._flush()
        self._centered = False
        blocks = self._open[-1].blocks
        if blocks and blocks[-1].text == "<center>":
            blocks.pop()
        else:
            self._add("html", "</center>")

    def _leave_quote(self) -> None:
        self._flush()
        inside = self._open.pop().blocks
        if inside:
            self._open[-1].blocks.append(quote_block(inside))

    def _leave_list(self, start: int | None, *, stray: bool) -> None:
        self._flush()
        items = self._open.pop().items
        if any(items):
            list_block(self._open[-1].blocks, items, start, stray=stray)

    def _flush(self) -> None:
        """Write the text collected so far as a heading or as paragraphs."""
        if not self._runs.runs:
            return
        runs = self._runs.take()
        if self._heading:
            text = escape_heading_end(render_inline(trimmed(runs), one_line=True))
            if text:
                self._add("heading", f"{'#' * self._heading} {text}")
                self._heading = 0
            return
        for part in paragraphs(runs):
            if isinstance(part, int):
                self._add("html", "<br>" * part)
            else:
                self._add("text", render_inline(part))

    def _table(self, element: Element, marks: Marks) -> None:
        text = gfm_table(element, marks)
        if text is None:
            self._html(element, marks)
        else:
            self._add("table", text)

    def _html(self, element: Element, marks: Marks) -> None:
        text = safe_html(element)
        if not text:
            return
        tags = [mark.tag for mark in marks if mark.kind != "link"]
        if tags or element.tag not in _OWN_HTML_BLOCK:
            opening = "".join(f"<{tag}>" for tag in tags)
            closing = "".join(f"</{tag}>" for tag in reversed(tags))
            text = f"<div>{opening}{text}{closing}</div>"
        self._add("html", text)

    def _add(self, kind: str, text: str) -> None:
        self._open[-1].blocks.append(Block(kind, text))


def _start_of(element: Element) -> int:
    start = element.attributes.get("start", "").strip()
    return int(start) if start.isascii() and start.isdigit() and len(start) <= 8 else 1


def _nothing() -> None:
    """Leave an element that stands in a line: nothing to finish."""
