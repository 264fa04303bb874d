"""HTML bodies as Markdown: their blocks, and how these are put into lists, quotes and each other. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.html.anchors import mark_places
from exporter.html.embeds import link_frames, parse_body
from exporter.html.footnotes import Numbering, take_footnotes
from exporter.html.limits import TooComplex, TooLarge, too_large_words
from exporter.html.markdown_escape import code_fence, escape_heading_end
from exporter.html.markdown_inline import HARD_BREAK, collect, enter_inline, is_leaf, render_inline
from exporter.html.markdown_runs import Marks, Run, Runs, paragraphs, trimmed
from exporter.html.markdown_short import Step, short_paragraphs
from exporter.html.safe_html import safe_html
from exporter.html.simple import Piece, element_at, element_of, plain, simple_pieces
from exporter.html.tags import BLOCKS, CODE_BLOCKS, DROPPED, HEADINGS, HTML_BLOCKS, LINE_TAGS, LISTS, PLAIN_INLINE
from exporter.html.text import text_of
from exporter.html.tree import BARE, Element
from exporter.text import visible

_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|brush)[-:]\s*([A-Za-z0-9_+#.\-]{1,30})")
_LINE_INSIDE = re.compile(r"\n(?!\n)")
_EMPTY_ITEM = "<!-- -->"
_CODE_INSIDE = PLAIN_INLINE | {"br", "code", "tt", "samp"}


class Block(NamedTuple):
    """A finished block.

    Attributes:
        kind: ``text``, ``heading``, ``code``, ``table``, ``rule``, ``html``, ``quote`` or ``list``.
        text: the Markdown, without a line end at its end.
        marker: a list's bullet, or the mark behind its numbers.
        follows: whether it may be directly under a paragraph.
        stray: whether it is an item without a list around it.
    """

    kind: str
    text: str
    marker: str = ""
    follows: bool = False
    stray: bool = False


def join(blocks: list[Block], *, tight: bool = False) -> str:
    """Return the blocks with a blank line between them; tight lists are directly under their item's text."""
    parts: list[str] = []
    for number, block in enumerate(blocks):
        if number:
            parts.append("\n" if tight and block.follows else "\n\n")
        parts.append(block.text)
    return "".join(parts)


def quote_block(inside: list[Block]) -> Block:
    """Return a block quote of these blocks."""
    return Block("quote", "\n".join(f"> {line}" if line else ">" for line in join(inside).split("\n")))


def list_block(into: list[Block], items: list[list[Block]], start: int | None, *, stray: bool) -> None:
    """Append a list to ``into``; ``start`` is its first number, ``None`` for bullets.

    A list behind another takes the other marker, or the two would become one; stray items in a row are one list.
    """
    before = into[-1] if into else None
    ordered = start is not None
    markers = (".", ")") if ordered else ("-", "+")
    joined = before is not None and stray and before.stray
    marker = markers[1] if before is not None and before.marker == markers[0] and not joined else markers[0]
    if joined and before is not None:
        marker = before.marker
    tight = all(_is_tight(item) for item in items)
    lines = [
        _item(item, f"{start + number}{marker}" if start is not None else marker, tight=tight)
        for number, item in enumerate(items)
    ]
    text = ("\n" if tight else "\n\n").join(lines)
    follows = (start is None or start == 1) and bool(items[0])
    if joined and before is not None:
        into[-1] = Block("list", f"{before.text}\n{text}", marker, before.follows, stray)
    else:
        into.append(Block("list", text, marker, follows, stray))


def _is_tight(item: list[Block]) -> bool:
    return all(block.kind == "text" if number == 0 else block.follows for number, block in enumerate(item))


def _item(blocks: list[Block], marker: str, *, tight: bool) -> str:
    indent = " " * (len(marker) + 1)
    lines = join(blocks, tight=tight).split("\n") if blocks else [_EMPTY_ITEM]
    rest = "".join(f"\n{indent}{line}" if line else "\n" for line in lines[1:])
    return f"{marker} {lines[0]}{rest}"


def code_block(element: Element) -> str | None:
    """Return a fenced block with the element's text as it is; ``None`` when marks or links in it need HTML."""
    parts: list[str] = []
    for node in element.walk():
        if isinstance(node, str):
            parts.append(node)
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag not in _CODE_INSIDE and node.tag not in DROPPED:
            return None
    text = "".join(parts).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    return code_fence(text, _language(element))


def _language(element: Element) -> str:
    inner = next((child for child in element.children if isinstance(child, Element)), None)
    for holder in (element, inner):
        found = _LANGUAGE.search(holder.attributes.get("class", "")) if holder is not None else None
        if found is not None:
            return found[1]
    return ""


_SECTIONS = frozenset({"tbody", "tfoot", "thead"})
_CELLS = frozenset({"td", "th"})
_ALIGNED = {"left": ":---", "center": ":---:", "right": "---:"}


def gfm_table(table: Element, marks: Marks = ()) -> str | None:
    """Return a GFM table with every cell of ``table``, its first row as the header; ``None`` when it needs HTML.

    It needs HTML when a cell spans others or holds a block, when rows differ in length, or when it has a caption.
    """
    rows = list(_rows(table))
    if not rows or None in rows:
        return None
    cells = [row for row in rows if row is not None]
    width = len(cells[0])
    if width == 0 or any(len(row) != width for row in cells):
        return None
    lines = ["| " + " | ".join(_cell_text(cell, marks) for cell in row) + " |" for row in cells]
    rule = [_ALIGNED.get(cell.attributes.get("align", "").strip().lower(), "---") for cell in cells[0]]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def _rows(table: Element) -> Iterator[list[Element] | None]:
    """Yield each row's cells, and ``None`` for whatever GFM cannot say; the parser puts every row into a section."""
    for part in _elements(table):
        if part.tag in _SECTIONS:
            for row in _elements(part):
                yield _cells(row) if row.tag == "tr" else None
        elif part.tag not in DROPPED:
            yield None


def _cells(row: Element) -> list[Element] | None:
    cells = list(_elements(row))
    return cells if all(_is_simple(cell) for cell in cells) else None


def _elements(parent: Element) -> Iterator[Element]:
    return (child for child in parent.children if isinstance(child, Element))


def _is_simple(cell: Element) -> bool:
    if cell.tag not in _CELLS:
        return False
    if any(cell.attributes.get(name, "1").strip() not in {"", "1"} for name in ("colspan", "rowspan")):
        return False
    return not any(isinstance(node, Element) and node.tag in BLOCKS for node in cell.walk())


def _cell_text(cell: Element, marks: Marks) -> str:
    runs = Runs()
    collect(cell, runs, marks)
    return render_inline(runs.take(), one_line=True).replace("|", "\\|")


_NESTING_MAX = 14
"""CommonMark parsers stop reading at some depth, the strictest at 20; deeper lists and quotes are written flat."""

_OWN_HTML_BLOCK = frozenset({"details", "dialog", "dl", "table"})
"""Tags that begin an HTML block by themselves (CommonMark 4.6, condition 6); others are put into a ``div``."""

_READ_WHOLE = frozenset({"code", "table"})
"""Tags that are written by all that is in them."""

_Leave = Callable[[], None]
_Level = tuple[Iterator[Element | str], _Leave]


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
    """Writes one body with these breaks of lines; ``keep_lines`` makes the line ends of its texts breaks."""

    def __init__(self, line_break: str, *, keep_lines: bool = False) -> None:
        self._hard_break = line_break
        self._open: list[_Container] = [_Container()]
        self._keep_lines = keep_lines
        self._steps: list[Step] = []
        self._marks: list[Marks] = [()]
        self._heading = 0
        self._centered = False

    @property
    def blocks(self) -> list[Block]:
        """The finished blocks of the outermost container."""
        return self._open[0].blocks

    def write(self, body: Element) -> None:
        """Write everything in the tree."""
        self._walk(body, self._flush)

    def write_pieces(self, pieces: list[Piece]) -> None:
        """Write a simple body, as its tree would be."""
        leaves: list[_Leave] = []
        at = 0
        while at < len(pieces):
            piece = pieces[at]
            if isinstance(piece, str) and at % 2 == 0:
                self._steps.append(plain(piece))
            elif isinstance(piece, str) and piece[0] == "/":
                leaves.pop()()
            else:
                is_whole = (piece if isinstance(piece, str) else piece.tag) in _READ_WHOLE
                element, at = element_at(pieces, at) if is_whole else (element_of(piece), at)
                leave = self._enter(element)
                if leave is not None and (is_whole or element.children):
                    self._walk(element, leave)
                elif leave is not None:
                    leaves.append(leave)
            at += 1
        self._flush()

    def _walk(self, parent: Element, leave_parent: _Leave) -> None:
        """Write what is in an element, without recursion, and leave it."""
        todo: list[_Level] = [(iter(parent.children), leave_parent)]
        while todo:
            children, leave = todo[-1]
            for child in children:
                if isinstance(child, str):
                    self._steps.append(child)
                    continue
                inside = self._enter(child)
                if inside is not None:
                    todo.append((iter(child.children), inside))
                    break
            else:
                todo.pop()
                leave()

    def _enter(self, element: Element) -> _Leave | None:
        """Write what the element itself shows; return what ends it, ``None`` where nothing in it is to be written."""
        tag = element.tag
        if tag not in BLOCKS:
            if tag in DROPPED:
                return None
            self._steps.append(element)
            return None if is_leaf(element) else self._leave_inline
        self._flush()
        if tag == "table":
            self._table(element)
        elif tag in HTML_BLOCKS:
            self._html(element)
        elif tag in CODE_BLOCKS:
            code = None if any(mark.kind != "tag" for mark in self._marks[-1]) else code_block(element)
            self._html(element) if code is None else self._add("code", code)
        elif tag == "hr":
            self._add("rule", "***")
        else:
            return self._enter_container(element)
        return None

    def _leave_inline(self) -> None:
        self._steps.append(None)

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
        """Write the inline content collected so far as a heading or as paragraphs."""
        steps, self._steps = self._steps, []
        if not steps:
            return
        parts = None
        if not self._heading and not self._marks[-1]:
            parts = short_paragraphs(steps, self._hard_break, keep_lines=self._keep_lines)
        if parts is None:
            runs = self._runs(steps)
            if self._heading:
                self._write_heading(runs)
                return
            split = paragraphs(runs)
            parts = [part if isinstance(part, int) else render_inline(part, self._hard_break) for part in split]
        for part in parts:
            if isinstance(part, int):
                self._add("html", "<br>" * part)
            else:
                self._add("text", part)

    def _runs(self, steps: list[Step]) -> list[Run]:
        """Return what the steps show, under the marks of the elements that are open, and go on from there."""
        runs = Runs(keep_lines=self._keep_lines)
        for step in steps:
            if step is None:
                self._marks.pop()
            elif isinstance(step, str):
                runs.text(step, self._marks[-1])
            else:
                below = enter_inline(step, self._marks[-1], runs)
                if below is not None:
                    self._marks.append(below)
        return runs.take()

    def _write_heading(self, runs: list[Run]) -> None:
        text = escape_heading_end(render_inline(trimmed(runs), one_line=True))
        if text:
            self._add("heading", f"{'#' * self._heading} {text}")
            self._heading = 0

    def _table(self, element: Element) -> None:
        text = gfm_table(element, self._marks[-1])
        if text is None:
            self._html(element)
        else:
            self._add("table", text)

    def _html(self, element: Element) -> None:
        text = safe_html(element)
        if not text:
            return
        tags = [mark.tag for mark in self._marks[-1] if mark.kind != "link"]
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


class Markdown(NamedTuple):
    """A Markdown text without a line end at its end, how many characters in it became U+FFFD, and its footnotes."""

    text: str
    replaced: int
    footnotes: int = 0


def to_markdown(
    html: str,
    change: Callable[[Element], None] | None = None,
    places: Collection[str] = (),
    *,
    line_break: str = HARD_BREAK,
    footnotes: Numbering | None = None,
) -> Markdown:
    """Convert a body, its tree changed by ``change`` first: each element by itself, whatever is around it.

    A body without any tag that ends lines keeps its line ends, since the meanings of ``text_format`` are not known
    (API 2.8). One too complex to parse is shown as its source, and one beyond :mod:`exporter.html.limits` as its text
    after a sentence that says so, each in a code block. The ids of ``places`` are marked as HTML, and ``line_break`` is
    what breaks a line. Links to these that are footnotes become those of GFM, numbered as ``footnotes`` says.
    """
    source, replaced = visible(html)
    pieces = None if places else simple_pieces(source)
    if pieces is not None:
        if change is not None:
            change(Element("body", {}, [piece for piece in pieces if isinstance(piece, Element)]))
        return Markdown(pieces_to_markdown(pieces, line_break), replaced)
    try:
        body = parse_body(source, bare=frozenset() if places else BARE)
    except TooLarge:
        shown = code_fence(text_of(source).replace("\r", ""))
        return Markdown(f"{too_large_words(len(html))}\n\n{shown}", replaced)
    except TooComplex:
        return Markdown(code_fence(source.replace("\r", ""), "html"), replaced)
    notes = take_footnotes(body, footnotes) if footnotes is not None and places and "[^" not in source else []
    if places:
        mark_places(body, places)
    if "<iframe" in source.lower():
        link_frames(body)
    if change is not None:
        change(body)
    marked = any(isinstance(node, Element) and node.tag in LINE_TAGS for node in body.walk())
    writer = BlockWriter(line_break, keep_lines=not marked)
    writer.write(body)
    blocks = writer.blocks
    for note in notes:
        if change is not None:
            change(note.held)
        writer = BlockWriter(line_break)
        writer.write(note.held)
        text = _LINE_INSIDE.sub("\n    ", join(writer.blocks))
        blocks.append(Block("footnote", f"[^{note.label}]: {text}"))
    # What no text file can hold comes from numbers in character references alone.
    text, more = visible(join(blocks)) if "&#" in source else (join(blocks), 0)
    return Markdown(text, replaced + more, len(notes))


def pieces_to_markdown(pieces: list[Piece], line_break: str = HARD_BREAK) -> str:
    """Convert a simple body, whose elements are used up by it."""
    tags = (piece if isinstance(piece, str) else piece.tag for piece in pieces[1::2])
    writer = BlockWriter(line_break, keep_lines=LINE_TAGS.isdisjoint(tags))
    writer.write_pieces(pieces)
    return join(writer.blocks)
