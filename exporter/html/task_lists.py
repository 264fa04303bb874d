"""The ticks of task lists: checkboxes that begin list items, as signs in the text or as Markdown's ``[x]``. Pure."""

from __future__ import annotations

from typing import Final

from exporter.html.tree import Element, tag_set

TICK: Final = "tick of a task"
"""The attribute of a ``span`` with a tick's sign: ``x`` or a space. No attribute in HTML can have this name."""

_SIGNS: Final = {"x": "☑", " ": "☐"}
_WRAPPERS: Final = tag_set("div label p span")
_HINT: Final = "checkbox"


def mark_ticks(body: Element, source: str) -> None:
    """Replace each checkbox that begins a list item by its sign, marked by :data:`TICK`.

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
        state = _state(first)
        if state is not None:
            at = parent.children.index(first)
            tick = Element("span", {TICK: state}, [_SIGNS[state]])
            rest = parent.children[at + 1 : at + 2]
            is_apart = bool(rest) and isinstance(rest[0], str) and rest[0][:1].isspace()
            parent.children[at : at + 1] = [tick] if is_apart else [tick, " "]
            return
        if first.tag not in _WRAPPERS:
            return
        parent = first


def _state(element: Element) -> str | None:
    """Return the value of :data:`TICK` for a checkbox; ``None`` for any other element."""
    attributes = element.attributes
    if element.tag == "input" and attributes.get("type", "").strip().lower() == _HINT:
        return "x" if "checked" in attributes else " "
    classes = attributes.get("class", "").split()
    if element.tag == "div" and _HINT in classes and not element.children:
        return "x" if "checkbox-on" in classes else " "
    return None
