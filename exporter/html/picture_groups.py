"""Pictures that a body shows side by side: galleries of blog services, and paragraphs of pictures only. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from exporter.html.tree import Element, tag_set

GALLERY: Final = "gallery"
"""The class that :mod:`exporter.html.valid` gives an element that a service made for pictures."""
GALLERY_TAGS: Final = tag_set("div figure p table ul")
"""The tags of elements that can be a group."""
_OF_SERVICES: Final = re.compile(
    r"(?:^|\s)(?:images-row|gallery|wp-block-gallery|blocks-gallery-grid|wp-block-(?:jetpack-)?tiled-gallery"
    r"|tiled-gallery|tr-caption-container)(?:\s|$)"
)
"""Rows of Hatena, galleries of WordPress and Jetpack, and Blogger's pictures with captions."""
_EMPTY: Final = tag_set("br dd div dt figcaption figure hr li p span td tr wbr")
"""Elements that show nothing without content, or a gap."""
_WRAPPERS: Final = tag_set("a figure span")
_MAX_WRAPPERS: Final = 4
_MAX_NODES: Final = 20_000
"""Nodes of a body that are examined inside galleries, so that nested ones take linear time."""


def is_gallery(classes: str) -> bool:
    """Return whether an element with these classes was made by a service for one or more pictures."""
    return _OF_SERVICES.search(classes) is not None


@dataclass(slots=True)
class Cell:
    """A picture, the link around it, and its caption."""

    picture: Element
    link: Element | None
    caption: Element | None = None


@dataclass(slots=True)
class Group:
    """Pictures to show side by side, with their common caption."""

    cells: list[Cell] = field(default_factory=list)
    caption: Element | None = None


@dataclass(slots=True)
class GroupFinder:
    """Finds the groups of one body, as a valid tree in which ids are the targets of links."""

    _left: int = _MAX_NODES

    def group(self, element: Element) -> Group | None:
        """Return the pictures of an element that has nothing else, at least two of them if no service made it."""
        if element.attributes.get("class") == GALLERY:
            found = Group()
            return found if self._collect(element, found, None, outer=True) and found.cells else None
        cells = _cells(element)
        return None if len(cells) < 2 else Group(cells)

    def _collect(self, parent: Element, group: Group, link: Element | None, *, outer: bool = False) -> bool:
        """Add the pictures and captions of an element; return whether it has nothing else."""
        for child in parent.children:
            self._left -= 1
            if isinstance(child, str):
                is_known = child.isspace()
            elif self._left < 0 or "id" in child.attributes:
                is_known = False
            elif child.tag == "img":
                group.cells.append(Cell(child, link))
                is_known = True
            elif self._has_picture(child):
                is_known = self._collect(child, group, child if child.tag == "a" else link)
            else:
                is_known = self._caption(child, group, outer=outer)
            if not is_known:
                return False
        return True

    def _has_picture(self, element: Element) -> bool:
        for node in element.elements():
            self._left -= 1
            if node.tag == "img" or self._left < 0:
                return True
        return False

    @staticmethod
    def _caption(element: Element, group: Group, *, outer: bool) -> bool:
        """Keep an element without pictures as a caption if it has text; return whether it can be one."""
        if not element.text().strip():
            return element.tag in _EMPTY
        if outer:
            is_common = element.tag == "figcaption" and group.caption is None
            group.caption = element if is_common else group.caption
            return is_common
        if not group.cells or group.cells[-1].caption is not None:
            return False
        group.cells[-1].caption = element
        return True


def _cells(element: Element) -> list[Cell]:
    """Return the pictures of an element that has only pictures, next to each other; none if it has anything else."""
    found: list[Cell] = []
    is_over = False
    for child in element.children:
        if isinstance(child, str):
            if not child.isspace():
                return []
        elif child.tag == "br":
            is_over = True
        else:
            is_item = child.tag == "li" and element.tag == "ul" and not child.attributes
            cell = None if is_over else _cell(_only(child) if is_item else child)
            if cell is None:
                return []
            found.append(cell)
    return found


def _cell(element: Element | None) -> Cell | None:
    """Return the picture in an element that has nothing else but a caption."""
    link = caption = None
    for _ in range(_MAX_WRAPPERS):
        if element is None or "id" in element.attributes:
            return None
        if element.tag == "img":
            return Cell(element, link, caption)
        if element.tag not in _WRAPPERS:
            return None
        link = element if element.tag == "a" else link
        if element.tag == "figure" and len(element.children) > 1:
            last = element.children[-1]
            if isinstance(last, Element) and last.tag == "figcaption":
                caption = last
        element = _only(element, besides=caption)
    return None


def _only(element: Element, besides: Element | None = None) -> Element | None:
    """Return the only child of an element, besides white space and another child."""
    found = None
    for child in element.children:
        if isinstance(child, str):
            if not child.isspace():
                return None
        elif child is not besides:
            if found is not None:
                return None
            found = child
    return found
