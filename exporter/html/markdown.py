"""HTML bodies as Markdown: their blocks, and the nesting of these in lists and quotes. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from exporter.html.anchors import Numbering, mark_places, take_footnotes
from exporter.html.code_languages import LANGUAGE
from exporter.html.dialects import COMMONMARK, Dialect
from exporter.html.embedded import link_frames, parse_body
from exporter.html.markdown_escape import INVISIBLE_TEXT, code_fence, definition_end, escape_heading_end
from exporter.html.markdown_inline import (
    Marks,
    Run,
    Runs,
    collect,
    enter_inline,
    paragraphs,
    render_inline,
    trimmed,
)
from exporter.html.safe_html import safe_html
from exporter.html.service_habits import quieten
from exporter.html.task_lists import TICK
from exporter.html.text import text_of
from exporter.html.tree import (
    BLOCKS,
    CODE_BLOCKS,
    DROPPED,
    HEADINGS,
    HTML_BLOCKS,
    KEPT,
    LINE_TAGS,
    LISTS,
    PLAIN_INLINE,
    Element,
    TooComplex,
    TooLarge,
    too_large_words,
)
from exporter.text import visible

_LINE_INSIDE = re.compile(r"\n(?!\n)")
_NOTE_BREAK = "<br>\n"
"""A line break in footnotes: in these, Jekyll shows a backslash."""
_BLANK_LINE = "<br> <br>\n"
_NOTHING = "<!-- -->"
"""It fills an empty item, and separates two lists that would become one."""
_CODE_LINES = frozenset({"li", "ol", "ul"})
"""Tags of numbered lines, which Prettify and SyntaxHighlighter write into code."""
_CODE_INSIDE = PLAIN_INLINE | {"br", "code", "tt", "samp"}


class Block(NamedTuple):
    """A finished block.

    Attributes:
        kind: ``text``, ``heading``, ``code``, ``table``, ``rule``, ``html``, ``quote`` or ``list``.
        text: the Markdown, without a final line end.
        marker: a list's bullet, or the mark after its numbers.
        follows: whether it may directly follow a paragraph.
        stray: whether it is an item outside of a list.
    """

    kind: str
    text: str
    marker: str = ""
    follows: bool = False
    stray: bool = False


def join(blocks: list[Block], *, tight: bool = False) -> str:
    """Return the blocks with a blank line between them; tight lists directly follow their item's text."""
    parts: list[str] = []
    for number, block in enumerate(blocks):
        if number:
            parts.append("\n" if tight and block.follows else "\n\n")
        parts.append(block.text)
    return "".join(parts)


def quote_block(inside: list[Block]) -> Block:
    """Return a block quote of these blocks."""
    return Block("quote", "\n".join(f"> {line}" if line else ">" for line in join(inside).split("\n")))


def list_block(
    into: list[Block], items: list[list[Block]], start: int | None, dialect: Dialect = COMMONMARK, *, stray: bool
) -> None:
    """Append a list to ``into``; ``start`` is its first number, ``None`` for bullets.

    A list after another one uses the other marker, or a comment is between them, or the two would become one.
    Successive stray items form one list.
    """
    before = into[-1] if into else Block("text", "")
    joined = stray and before.stray
    if "list" in dialect.joined and before.kind == "list" and not joined:
        before = Block("html", _NOTHING)
        into.append(before)
    if dialect.item_indent:
        # Such readers do not read the following lines of a block that begins an item.
        items = [[Block("text", _NOTHING), *item] if item and _has_more_lines(item[0]) else item for item in items]
    markers = (".", ")") if start is not None else ("-", "+")
    marker = before.marker if joined else markers[before.marker == markers[0]]
    tight = all(_is_tight(item) for item in items)
    lines = [
        _item(item, f"{start + number}{marker}" if start is not None else marker, dialect, tight=tight)
        for number, item in enumerate(items)
    ]
    text = ("\n" if tight else "\n\n").join(lines)
    follows = (start is None or start == 1) and bool(items[0]) and not (dialect.item_indent and "\n\n" in text)
    if joined:
        into[-1] = Block("list", f"{before.text}\n{text}", marker, before.follows, stray)
    else:
        into.append(Block("list", text, marker, follows, stray))


def footnote_block(label: str, blocks: list[Block]) -> Block:
    """Return a GFM footnote that readers without footnotes show as text, after its label.

    Such a reader would hide a text without spaces, because it looks like a link's address. Text after it prevents this.
    The reader would show an indented paragraph as code, so blank lines inside one paragraph separate those of a note.
    """
    is_prose = all(block.kind == "text" or not block.text.replace("<br>", "") for block in blocks)
    text = _BLANK_LINE.join([block.text for block in blocks if block.kind == "text"]) if is_prose else join(blocks)
    end = definition_end(text)
    if end is not None and is_prose:
        text = f"{text[:end]} {INVISIBLE_TEXT}{text[end:]}"
    elif end is not None:
        text = f"{INVISIBLE_TEXT} {INVISIBLE_TEXT}\n\n{text}"
    text = _LINE_INSIDE.sub("\n    ", text)
    return Block("footnote", f"[^{label}]: {text}")


def _is_tight(item: list[Block]) -> bool:
    return all(block.kind == "text" if number == 0 else block.follows for number, block in enumerate(item))


def _has_more_lines(block: Block) -> bool:
    return block.kind in {"list", "quote", "table"} and "\n" in block.text


def _item(blocks: list[Block], marker: str, dialect: Dialect, *, tight: bool) -> str:
    indent = " " * (dialect.item_indent or len(marker) + 1)
    lines = join(blocks, tight=tight).split("\n") if blocks else [_NOTHING]
    rest = "".join(f"\n{indent}{line}" if line else "\n" for line in lines[1:])
    return f"{marker} {lines[0]}{rest}"


def code_block(element: Element, dialect: Dialect = COMMONMARK) -> str | None:
    """Return a fenced block with the element's text; ``None`` if marks, links or tabs in it need HTML."""
    parts: list[str] = []
    todo: list[Element | str | int] = [*reversed(element.children)]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            parts.append(node)
        elif isinstance(node, int):
            _end_line(parts, node)
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag in _CODE_LINES:
            _end_line(parts)
            inside = [each for each in node.children if node.tag == "li" or isinstance(each, Element) or each.strip()]
            todo += [*([len(parts)] if node.tag == "li" else []), *reversed(inside)]
        elif node.tag in _CODE_INSIDE:
            todo += reversed(node.children)
        elif node.tag not in DROPPED:
            return None
    text = "".join(parts).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if dialect.expands_tabs and "\t" in text:
        return None
    language = element.attributes.get(LANGUAGE, "")
    return code_fence(text, language if dialect.languages is None or language in dialect.languages else "")


def _end_line(parts: list[str], begun: int = 0) -> None:
    """End a line of code, also an empty one of which no part was written after the first ``begun``."""
    if parts and (len(parts) == begun or not parts[-1].endswith("\n")):
        parts.append("\n")


_SECTIONS = frozenset({"tbody", "tfoot", "thead"})
_CELLS = frozenset({"td", "th"})
_ALIGNED = {"left": ":---", "center": ":---:", "right": "---:"}


def gfm_table(table: Element, marks: Marks = (), dialect: Dialect = COMMONMARK) -> str | None:
    """Return a GFM table with every cell of ``table``, its first row as the header; ``None`` if it needs HTML.

    It needs HTML if a cell spans others or contains a block, if rows differ in length, or if it has a caption.
    """
    rows = list(_rows(table))
    if not rows or None in rows:
        return None
    cells = [row for row in rows if row is not None]
    width = len(cells[0])
    if width == 0 or (dialect.adds_row and len(cells) == 1) or any(len(row) != width for row in cells):
        return None
    lines = ["| " + " | ".join(_cell_text(cell, marks, dialect) for cell in row) + " |" for row in cells]
    rule = [_ALIGNED.get(cell.attributes.get("align", "").strip().lower(), "---") for cell in cells[0]]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def _rows(table: Element) -> Iterator[list[Element] | None]:
    """Yield each row's cells, or ``None`` if GFM cannot express it; the parser puts every row into a section."""
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
    return not any(node.tag in BLOCKS for node in cell.elements())


def _cell_text(cell: Element, marks: Marks, dialect: Dialect) -> str:
    runs = Runs(dialect)
    collect(cell, runs, marks)
    return render_inline(runs.take(), dialect, one_line=True).replace("|", "\\|")


_MAX_NESTING = 14
"""CommonMark parsers have a maximum depth, the lowest is 20; deeper lists and quotes are written flat."""

_OWN_HTML_BLOCK = frozenset({"details", "dialog", "dl", "table"})
"""Tags that begin an HTML block (CommonMark 4.6, condition 6); others are put into a ``div``."""

_TURNED = LISTS | HEADINGS.keys() | {"article", "blockquote", "div", "p", "section"}
"""Blocks that stay HTML if their text runs from right to left, which Markdown cannot say."""

_Leave = Callable[[], None]
_Level = tuple[Iterator[Element | str], _Leave]


@dataclass(slots=True, eq=False)
class _Container:
    """The open list, quote or body that receives finished blocks; a list has a list of blocks for each item."""

    items: list[list[Block]] = field(default_factory=lambda: [[]])
    is_list: bool = False
    cost: int = 0

    @property
    def blocks(self) -> list[Block]:
        if not self.items:
            self.items.append([])
        return self.items[-1]


class BlockWriter:
    """Writes one body for a reader; with ``keep_lines`` the line ends of texts become breaks."""

    def __init__(self, dialect: Dialect, *, keep_lines: bool = False) -> None:
        self._dialect = dialect
        self._open: list[_Container] = [_Container()]
        self._runs = Runs(dialect, keep_lines=keep_lines)
        self._marks: list[Marks] = [()]
        self._heading = 0
        self._centered = False

    @property
    def blocks(self) -> list[Block]:
        """The finished blocks of the outermost container."""
        return self._open[0].blocks

    def write(self, body: Element) -> None:
        """Write everything in the tree, without recursion."""
        runs, marks = self._runs, self._marks
        todo: list[_Level] = [(iter(body.children), self._flush)]
        while todo:
            children, leave = todo[-1]
            for child in children:
                if isinstance(child, str):
                    runs.text(child, marks[-1])
                    continue
                if child.tag == "br":
                    runs.line_break()
                    continue
                inside = self._enter(child)
                if inside is None:
                    continue
                if len(child.children) == 1 and isinstance(child.children[0], str):
                    runs.text(child.children[0], marks[-1])
                    inside()
                else:
                    todo.append((iter(child.children), inside))
                    break
            else:
                todo.pop()
                leave()

    def _enter(self, element: Element) -> _Leave | None:
        """Write the element's own content; return the function that ends it, or ``None`` to skip its children."""
        tag = element.tag
        if tag in _TURNED and element.attributes.get("dir", "").strip().lower() == "rtl":
            self._flush()
            self._html(element)
            return None
        if tag not in BLOCKS:
            marks = None if tag in DROPPED else enter_inline(element, self._marks[-1], self._runs)
            if marks is None:
                return None
            self._marks.append(marks)
            return self._leave_inline
        self._flush()
        if tag == "table":
            self._markdown_or_html("table", gfm_table(element, self._marks[-1], self._dialect), element)
        elif tag in HTML_BLOCKS:
            self._html(element)
        elif tag in CODE_BLOCKS:
            code = None if any(mark.kind != "tag" for mark in self._marks[-1]) else code_block(element, self._dialect)
            self._markdown_or_html("code", code, element)
        elif tag == "hr":
            self._add("rule", "***")
        else:
            return self._enter_container(element)
        return None

    def _leave_inline(self) -> None:
        self._marks.pop()

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
        if not cost or sum(container.cost for container in self._open) + cost > _MAX_NESTING:
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
            blocks = self._open[-1].blocks
            if blocks and blocks[-1].kind == "quote" and "quote" in self._dialect.joined:
                self._add("html", _NOTHING)
            blocks.append(quote_block(inside))

    def _leave_list(self, start: int | None, *, stray: bool) -> None:
        self._flush()
        items = self._open.pop().items
        if any(items):
            list_block(self._open[-1].blocks, items, start, self._dialect, stray=stray)

    def _flush(self) -> None:
        """Write the inline content collected so far as a heading or as paragraphs."""
        runs = self._runs.take()
        if not runs:
            return
        if self._heading:
            self._write_heading(runs)
            return
        for part in paragraphs(runs):
            if isinstance(part, int):
                self._add("html", "<br>" * part)
            else:
                self._add("text", render_inline(part, self._dialect))

    def _write_heading(self, runs: list[Run]) -> None:
        text = render_inline(trimmed(runs), self._dialect, one_line=True)
        text = escape_heading_end(text, each=self._dialect.drops_hashes)
        if text:
            self._add("heading", f"{'#' * self._heading} {text}")
            self._heading = 0

    def _markdown_or_html(self, kind: str, text: str | None, element: Element) -> None:
        if text is None:
            self._html(element)
        else:
            self._add(kind, text)

    def _html(self, element: Element) -> None:
        text = safe_html(element)
        if not text:
            return
        text = self._dialect.in_html(text)
        marks = [*self._marks[-1]]
        if any(mark.kind == "link" for mark in marks) and any(each.tag == "a" for each in element.elements()):
            marks = [mark for mark in marks if mark.kind != "link"]
        if marks or element.tag not in _OWN_HTML_BLOCK:
            opening = "".join(mark.opening for mark in marks)
            closing = "".join(f"</{mark.tag}>" for mark in reversed(marks))
            text = f"<div>{opening}{text}{closing}</div>"
        self._add("html", text)

    def _add(self, kind: str, text: str) -> None:
        self._open[-1].blocks.append(Block(kind, text))


def _start_of(ordered: Element) -> int:
    first = next((child for child in ordered.children if isinstance(child, Element) and child.tag == "li"), ordered)
    numbers = (ordered.attributes.get("start", "").strip(), first.attributes.get("value", "").strip())
    return next((int(number) for number in reversed(numbers) if _is_number(number)), 1)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 8


_LETTERS = frozenset({"A", "I", "a", "i"})
"""Types of ordered lists that count in letters or in Roman numbers."""
_CONTAINERS = LISTS | {"blockquote", "li"}


def _keep_unsaid(body: Element, dialect: Dialect) -> int:
    """Put each outermost list or quote that the dialect cannot express into a :data:`KEPT`; return their number."""
    count = 0
    todo = [body]
    while todo:
        parent = todo.pop()
        for at, child in enumerate(parent.children):
            if isinstance(child, str):
                continue
            if child.tag in _CONTAINERS:
                if any(_is_unsaid(each, dialect) for each in chain((child,), child.elements())):
                    parent.children[at] = Element(KEPT, {}, [child])
                    count += 1
            elif child.tag != "table" and child.tag not in HTML_BLOCKS:
                todo.append(child)
    return count


def _is_unsaid(element: Element, dialect: Dialect) -> bool:
    """Return whether a list or quote with this element, or this list, has no Markdown that the reader understands."""
    tag = element.tag
    if tag == "ol":
        return (not dialect.keeps_start and _start_of(element) != 1) or _has_other_numbers(element)
    return tag in dialect.not_nested and (tag != "table" or gfm_table(element, (), dialect) is None)


def _has_other_numbers(ordered: Element) -> bool:
    """Return whether a list does not count upwards in digits: it has letters, or an item with a number of its own."""
    if "reversed" in ordered.attributes or ordered.attributes.get("type", "").strip() in _LETTERS:
        return True
    items = (child for child in ordered.children if isinstance(child, Element) and child.tag == "li")
    values = ((at, item.attributes.get("value", "").strip()) for at, item in enumerate(items, _start_of(ordered)))
    return any(_is_number(value) and int(value) != at for at, value in values)


def _write_ticks_as_signs(body: Element) -> None:
    for each in body.elements():
        each.attributes.pop(TICK, None)


class Markdown(NamedTuple):
    """Markdown without a final line end.

    Attributes:
        text: the Markdown.
        replaced: the number of characters replaced by U+FFFD.
        footnotes: the number of footnotes.
        kept: the number of lists and quotes that stay HTML, because the reader would misread their Markdown.
    """

    text: str
    replaced: int
    footnotes: int = 0
    kept: int = 0


def to_markdown(
    html: str,
    change: Callable[[Element], None] | None = None,
    places: Collection[str] = (),
    *,
    dialect: Dialect = COMMONMARK,
    footnotes: Numbering | None = None,
    quiet: bool = False,
) -> Markdown:
    """Convert a body after ``change`` has modified its tree.

    A body without any tag that ends lines keeps its line ends, because the meanings of ``text_format`` are not known
    (API 2.8). One that is too complex to parse is shown as its source, and one that is too large as its text after an
    explanation, each in a code block. The ids of ``places`` are marked as HTML. If links to these are footnotes,
    they become GFM footnotes, numbered by ``footnotes``. The Markdown is written for the readers of ``dialect``.
    With ``quiet``, marks of services are left out as :func:`~exporter.html.service_habits.quieten` does.
    """
    source, replaced = visible(html)
    try:
        body = parse_body(source)
    except TooLarge:
        shown = code_fence(text_of(source).replace("\r", ""))
        return Markdown(f"{too_large_words(len(html))}\n\n{shown}", replaced)
    except TooComplex:
        return Markdown(code_fence(source.replace("\r", ""), "html"), replaced)
    if quiet:
        quieten(body, source, marked=False)
    kept = _keep_unsaid(body, dialect)
    if not dialect.tasks:
        _write_ticks_as_signs(body)
    notes = take_footnotes(body, footnotes) if footnotes is not None and places and "[^" not in source else []
    mark_places(body, places)
    if "<iframe" in source.lower():
        link_frames(body)
    if change is not None:
        change(body)
    marked = any(node.tag in LINE_TAGS for node in body.elements())
    writer = BlockWriter(dialect, keep_lines=not marked)
    writer.write(body)
    blocks = writer.blocks
    for note in notes:
        if change is not None:
            change(note.held)
        writer = BlockWriter(replace(dialect, line_break=_NOTE_BREAK))
        writer.write(note.held)
        blocks.append(footnote_block(note.label, writer.blocks))
    # Characters that no text file can contain can only come from numeric character references.
    text, more = visible(join(blocks)) if "&#" in source else (join(blocks), 0)
    return Markdown(text, replaced + more, len(notes), kept)
