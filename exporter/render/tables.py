"""Tables: GFM where it can say all of a table, ``None`` where only HTML can."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.render.elements import BLOCKS, DROPPED
from exporter.render.htmltree import Element
from exporter.render.inline_elements import collect
from exporter.render.markdown_inline import render_inline
from exporter.render.runs import Marks, Runs

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
