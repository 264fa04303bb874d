"""The ticks of task lists: checkboxes that begin list items, as signs in the text or as Markdown's ``[x]``. Pure."""

from __future__ import annotations

from typing import Final

from exporter.html.tree import Element, tag_set

TICK: Final = "#tick"
"""The tag of an element around a tick's sign; HTML has no such tag. If it is set, it has the attribute ``checked``."""

_SIGNS: Final = {True: "☑", False: "☐"}
_WRAPPERS: Final = tag_set("div label p span")
_HINT: Final = "checkbox"


def mark_ticks(body: Element, source: str) -> None:
    """Replace each checkbox that begins a list item by a :data:`TICK` with its sign.

    GitHub, Hatena and WordPress write an ``input``, Notion an empty ``div``. Checkboxes elsewhere belong to forms, or
    fold parts of a page.
    """
    if _HINT not in source.lower():
        return
    for item in body.elements():
        if item.tag == "li":
            _mark(item)


def _mark(item: Element) -> None:
    parent = item
    while True:
        first = next((each for each in parent.children if isinstance(each, Element) or each.strip()), None)
        if not isinstance(first, Element):
            return
        is_set = _state(first)
        if is_set is not None:
            at = parent.children.index(first)
            tick = Element(TICK, {"checked": ""} if is_set else {}, [_SIGNS[is_set]])
            rest = parent.children[at + 1 : at + 2]
            is_apart = bool(rest) and isinstance(rest[0], str) and rest[0][:1].isspace()
            parent.children[at : at + 1] = [tick] if is_apart else [tick, " "]
            return
        if first.tag not in _WRAPPERS:
            return
        parent = first


def _state(element: Element) -> bool | None:
    """Return whether a checkbox is set; ``None`` for any other element."""
    attributes = element.attributes
    if element.tag == "input":
        return "checked" in attributes if attributes.get("type", "").strip().lower() == _HINT else None
    classes = attributes.get("class", "").split()
    if element.tag == "div" and _HINT in classes and not element.children:
        return "checkbox-on" in classes
    return None
