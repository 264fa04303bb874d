"""What old attributes and tags looked like, said in CSS: valid HTML in which they still look so. Pure."""

from __future__ import annotations

import re
from typing import Final

from exporter.render.tangle import tag_set

_CELLS: Final = tag_set("td th")
_LINED: Final = tag_set("col colgroup tbody td tfoot th thead tr")
_SIZED: Final = tag_set("col colgroup hr pre table td th tr")
_FONT_SIZES: Final = ("x-small", "small", "medium", "large", "x-large", "xx-large", "xxx-large")
_LENGTH: Final = re.compile(r"[0-9]{1,4}%?")
_NUMBER: Final = re.compile(r"[0-9]{1,4}")
_LOOKS: Final = {
    "b": "font-weight:bold",
    "big": "font-size:larger",
    "center": "text-align:center",
    "cite": "font-style:italic",
    "em": "font-style:italic",
    "i": "font-style:italic",
    "s": "text-decoration:line-through",
    "small": "font-size:smaller",
    "strong": "font-weight:bold",
    "u": "text-decoration:underline",
}


def styles(tag: str, attributes: dict[str, str], *, shown_as: str) -> str:
    """Return the declarations for what a tag and its attributes looked like, and then its own; values are not checked.

    Args:
        tag: as the author wrote it.
        attributes: all of them.
        shown_as: the tag that stands on the page.
    """
    if not attributes:
        return _LOOKS[tag] if tag in _LOOKS and tag != shown_as else ""
    value = {name: text.strip().lower() for name, text in attributes.items()}
    found = [_LOOKS[tag]] if tag in _LOOKS and tag != shown_as else []
    found += _aligned(tag, value.get("align", ""))
    if tag in _LINED and value.get("valign") in {"top", "middle", "bottom", "baseline"}:
        found.append(f"vertical-align:{value['valign']}")
    if value.get("bgcolor"):
        found.append(f"background-color:{_colour(value['bgcolor'])}")
    if tag in _SIZED:
        found += [
            f"{name}:{_length(value[name])}" for name in ("width", "height") if _LENGTH.fullmatch(value.get(name, ""))
        ]
    if tag in _CELLS and "nowrap" in value:
        found.append("white-space:nowrap")
    if tag == "font":
        found += _font(value)
    if tag == "img":
        found += _spaced(value)
    if tag in {"ul", "li"} and value.get("type") in {"disc", "circle", "square"}:
        found.append(f"list-style-type:{value['type']}")
    own = attributes.get("style", "")
    return ";".join([*found, own] if own else found)


def _aligned(tag: str, align: str) -> list[str]:
    if tag == "img":
        if align in {"left", "right"}:
            return [f"float:{align}"]
        return [f"vertical-align:{align}"] if align in {"top", "middle", "bottom"} else []
    if tag == "table":
        return {"left": ["float:left"], "right": ["float:right"], "center": ["margin:0 auto"]}.get(align, [])
    return [f"text-align:{align}"] if align in {"left", "right", "center", "justify"} else []


def _font(value: dict[str, str]) -> list[str]:
    found = [f"color:{_colour(value['color'])}"] if value.get("color") else []
    size = value.get("size", "")
    if re.fullmatch(r"[+-]?[0-9]", size):
        number = int(size) + (3 if size[0] in "+-" else 0)
        found.append(f"font-size:{_FONT_SIZES[min(max(number, 1), 7) - 1]}")
    return found


def _spaced(value: dict[str, str]) -> list[str]:
    found = []
    for name, sides in (("hspace", ("left", "right")), ("vspace", ("top", "bottom"))):
        if _NUMBER.fullmatch(value.get(name, "")):
            found += [f"margin-{side}:{value[name]}px" for side in sides]
    if _NUMBER.fullmatch(value.get("border", "")) and value["border"].strip("0"):
        found.append(f"border:{value['border']}px solid")
    return found


def _colour(value: str) -> str:
    return f"#{value}" if re.fullmatch(r"[0-9a-f]{6}", value) else value


def _length(value: str) -> str:
    return value if value.endswith("%") else f"{value}px"
