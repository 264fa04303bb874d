"""Places in a text that links lead to, such as footnotes: which are wanted, and where they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from html import unescape
from typing import Final
from urllib.parse import unquote

from exporter.html.tags import CODE_BLOCKS, DROPPED, HTML_BLOCKS, RUBY, tag_set
from exporter.html.tree import Element

ANCHOR: Final = "#anchor"
"""The tag of an element that marks a place and shows nothing; HTML has none of that name."""

_IN_PAGE: Final = re.compile(r"""href\s*=\s*(?:"\s*#([^"]*)"|'\s*#([^']*)'|#([^\s"'>]*))""", re.IGNORECASE)
_PLACE: Final = re.compile(r"[^\s\x00-\x20\x7f\"'<>&`{}\\|\ud800-\udfff]{1,200}")
_STRUCTURE: Final = tag_set("dir dl menu ol table tbody tfoot thead tr ul")
_WHOLE: Final = CODE_BLOCKS | HTML_BLOCKS | RUBY | tag_set("br code hr img wbr")
"""What has no place inside that could be marked: its own and those in it are marked before it."""


def place_of(fragment: str) -> str | None:
    """Return the id that a fragment, without its ``#``, leads to; ``None`` where no page should have it."""
    found = unquote(fragment.strip())
    return found if _PLACE.fullmatch(found) else None


def wanted_places(html: str) -> frozenset[str]:
    """Return the ids that links of a text lead to in the text itself."""
    if "#" not in html:
        return frozenset()
    values = (next(filter(None, found.groups()), "") for found in _IN_PAGE.finditer(html))
    return frozenset(filter(None, (place_of(unescape(value)) for value in values)))


def mark_places(body: Element, wanted: Collection[str]) -> frozenset[str]:
    """Put an :data:`ANCHOR` where each wanted id is, and return those that are there.

    An id that is there twice is marked once, as browsers find it. Links are not in each other, and lists and tables
    hold nothing beside their items and cells, so that what is in or on these is marked before or inside of them.
    """
    left = set(wanted)
    todo = [body]
    while todo and left:
        parent = todo.pop()
        children: list[Element | str] = []
        inside: list[Element] = []
        for child in parent.children:
            if isinstance(child, Element) and child.tag not in DROPPED:
                is_whole = child.tag in _WHOLE or (child.tag == "a" and "href" in child.attributes)
                anchors = list(_taken(child, left, below=is_whole))
                holder = _holder(child)
                if (
                    is_whole
                    or child.tag == "a"
                    or holder is None
                    or (child.tag in _STRUCTURE and parent.tag not in _STRUCTURE)
                ):
                    children += anchors
                else:
                    holder.children[:0] = anchors
                inside += [] if is_whole else [child]
            children.append(child)
        parent.children = children
        todo += reversed(inside)
    return frozenset(set(wanted) - left)


def rename_places(body: Element, prefix: str, wanted: Collection[str]) -> None:
    """Put a prefix before the ids of marked places, and before the wanted ones in links of the text."""
    for each in body.walk():
        if isinstance(each, Element) and each.tag == ANCHOR:
            each.attributes["id"] = prefix + each.attributes["id"]
        elif isinstance(each, Element) and each.tag == "a":
            address = each.attributes.get("href", "").strip()
            if address.startswith("#") and place_of(address[1:]) in wanted:
                each.attributes["href"] = f"#{prefix}{address[1:]}"


def _taken(element: Element, left: set[str], *, below: bool) -> Iterator[Element]:
    """Yield anchors for the ids of an element, and of those below it, and take these from what is left."""
    elements = [element, *(each for each in element.walk() if isinstance(each, Element))] if below else [element]
    for each in elements:
        for name in ("id", "name") if each.tag == "a" else ("id",):
            found = each.attributes.get(name, "").strip()
            if found in left:
                left.remove(found)
                yield Element(ANCHOR, {"id": found}, [])


def _holder(element: Element) -> Element | None:
    """Return what of a list or table can hold a text first, and of anything else itself."""
    if element.tag not in _STRUCTURE:
        return element
    held = (each for each in element.walk() if isinstance(each, Element) and each.tag in _HOLDING)
    return next(held, None)


_HOLDING: Final = tag_set("caption dd dt li td th")
