"""Lists, tables and ruby as strict schemas want them, from trees in which anything may stand anywhere. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from exporter.render.htmltree import Element
from exporter.render.tangle import tag_set

_ROW_GROUPS: Final = tag_set("tbody tfoot thead")
_CELLS: Final = tag_set("td th")

Nodes = list[Element | str]


@dataclass(slots=True)
class TableParts:
    """A table: its captions, and its rows as lists of cells, none of them empty."""

    captions: list[Element] = field(default_factory=list)
    head: list[list[Element]] = field(default_factory=list)
    body: list[list[Element]] = field(default_factory=list)


def listed(node: Element) -> Iterator[Nodes]:
    """Yield the content of each item of a list; what stands between items becomes an item."""
    loose: Nodes = []
    for child in node.children:
        if isinstance(child, Element) and child.tag == "li":
            if not _blank(loose):
                yield loose
            loose = []
            yield child.children
        else:
            loose.append(child)
    if not _blank(loose):
        yield loose


def definitions(node: Element) -> list[Element] | None:
    """Return the terms and definitions of a list; ``None`` when they do not alternate, or something else is there."""
    parts = [child for child in node.children if isinstance(child, Element)]
    texts: Nodes = [child for child in node.children if isinstance(child, str)]
    tags = [part.tag for part in parts]
    fit = bool(tags) and set(tags) <= {"dt", "dd"} and tags[0] == "dt" and tags[-1] == "dd"
    return parts if fit and _blank(texts) else None


def table_parts(node: Element) -> TableParts:
    """Return what a table shows; only a head that comes first and has a body behind it stays one."""
    found = TableParts()
    groups = [child for child in node.children if isinstance(child, Element)]
    for group in groups:
        if group.tag == "caption":
            found.captions.append(group)
        elif group.tag in _ROW_GROUPS:
            rows = [row for child in group.children if isinstance(child, Element) and (row := _cells(child))]
            first = group.tag == "thead" and not found.head and not found.body
            (found.head if first else found.body).extend(rows)
    if not found.body:
        found.head, found.body = [], found.head
    return found


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row.children if isinstance(cell, Element) and cell.tag in _CELLS]


def ruby_pairs(node: Element) -> list[tuple[Nodes, Nodes]] | None:
    """Return pairs of a text and its reading; ``None`` when there is no reading, or none that belongs to a text.

    What follows the last reading is paired with an empty one.
    """
    pairs: list[tuple[Nodes, Nodes]] = []
    base: Nodes = []
    for child in _unwrapped(node):
        if isinstance(child, Element) and child.tag == "rt":
            if _blank(base):
                return None
            pairs.append((base, child.children))
            base = []
        elif isinstance(child, Element) and (child.tag == "rp" or _has_ruby(child)):
            if child.tag != "rp":
                return None
        else:
            base.append(child)
    if not pairs:
        return None
    return pairs if _blank(base) else [*pairs, (base, [])]


def _unwrapped(node: Element) -> Iterator[Element | str]:
    for child in node.children:
        if isinstance(child, Element) and child.tag in {"rb", "rtc"}:
            yield from child.children
        else:
            yield child


def _has_ruby(node: Element) -> bool:
    tags = {"ruby", "rt", "rb", "rtc"}
    return node.tag in tags or any(isinstance(each, Element) and each.tag in tags for each in node.walk())


def _blank(nodes: Nodes) -> bool:
    return all(isinstance(node, str) and not node.strip() for node in nodes)
