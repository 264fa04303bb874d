"""Old and broken HTML as valid HTML with the same look. Pure.

Elements in a place that the HTML Standard forbids become plain blocks or spans, and obsolete features become CSS.
Headings are renumbered below the page's own, and the depth is limited to what browsers display.

Rules: HTML Standard, sections 3.2.5 (content models), 4.3 to 4.5 (elements) and 16.2 (obsolete features).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple
from urllib.parse import unquote

from exporter.html.tree import Element, holders, tag_set

MAX_DEPTH: Final = 200
"""Deeper elements lose their tags and keep their texts; Firefox displays up to 513 levels."""

_RENAMED: Final = {
    "acronym": "abbr", "big": "span", "center": "div", "dir": "ul", "font": "span", "listing": "pre",
    "menu": "ul", "nobr": "span", "noscript": "div", "plaintext": "pre", "rb": "span", "strike": "s", "textarea": "pre",
    "tt": "code", "xmp": "pre",
    **dict.fromkeys(tag_set("address article aside fieldset footer form header hgroup main nav section"), "div"),
}  # fmt: skip
_BLOCKS: Final = tag_set(
    "blockquote caption col colgroup dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr li ol p pre summary "
    "table tbody td tfoot th thead tr ul"
)
_HEADINGS: Final = tag_set("h1 h2 h3 h4 h5 h6")
_LINES: Final = _HEADINGS | tag_set("caption dt p pre summary th")
"""Blocks that may only contain text."""
_ANYWHERE: Final = tag_set("a del ins")
"""Elements that may contain anything that is permitted in their place."""
_CHILDREN: Final = {
    "ul": tag_set("li"), "ol": tag_set("li"), "dl": tag_set("dt dd"), "details": tag_set("summary"),
    "figure": tag_set("figcaption"), "ruby": tag_set("rt rp"), "colgroup": tag_set("col"), "tr": tag_set("td th"),
    "table": tag_set("caption colgroup tbody tfoot thead"), **dict.fromkeys(("tbody", "tfoot", "thead"), tag_set("tr")),
}  # fmt: skip
_BELONGING: Final = frozenset().union(*_CHILDREN.values())
_LIST_PARENTS: Final = tag_set("ul ol")
_TEXTLESS: Final = tag_set("table tbody tfoot thead tr colgroup")
_VALUES: Final = {
    "colspan": r"[1-9][0-9]{0,2}", "rowspan": r"[1-9][0-9]{0,3}", "span": r"[1-9][0-9]{0,2}",
    "scope": r"row|col|rowgroup|colgroup", "start": r"-?[0-9]{1,9}", "value": r"-?[0-9]{1,9}", "type": r"[1aAiI]",
    "dir": r"ltr|rtl|auto", "lang": r"[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-[A-Za-z]{2})?", "id": r"[^\s\"'<>&]{1,64}",
    "datetime": r"[0-9]{4}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|1[0-9]|2[0-8]))?",
    **dict.fromkeys(("height", "width"), r"[0-9]{1,5}"),
}  # fmt: skip
_OWN: Final = {
    "*": tag_set("dir id lang style title"), "a": tag_set("href name"), "col": tag_set("span"),
    "colgroup": tag_set("span"), "del": tag_set("datetime"), "details": tag_set("open"), "ins": tag_set("datetime"),
    "li": tag_set("value"), "ol": tag_set("reversed start type"), "td": tag_set("colspan rowspan"),
    "th": tag_set("colspan rowspan scope"), "time": tag_set("datetime"),
    "img": tag_set("alt data-original data-src height src width"),
    **dict.fromkeys(("code", "pre"), tag_set("class data-lang data-language")),
}  # fmt: skip
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
_SEEN: Final = tag_set("img input audio embed iframe object video")


class _Context(NamedTuple):
    """A node's place: its parent in the page, whether only text is permitted, whether in a link, and the depth."""

    parent: Element
    line: bool
    linked: bool
    depth: int


def valid_html(
    body: Element, *, kept: frozenset[str], dropped: frozenset[str], places: Collection[str] = ()
) -> Element:
    """Return a valid tree for a page.

    Args:
        body: from :func:`~exporter.html.tree.parse`, with all attributes.
        kept: tags that stay unchanged with their content; the caller writes them.
        dropped: tags that are removed with their content.
        places: ids that links in other pages lead to.
    """
    return _Rewriter(body, kept, dropped, places).tree


class _Rewriter:
    def __init__(self, body: Element, kept: frozenset[str], dropped: frozenset[str], places: Collection[str]) -> None:
        self._ids = _targets(body) | set(places)
        self._levels: list[int] = []
        self._blocky = holders(body, lambda node: _RENAMED.get(node.tag, node.tag) in _BLOCKS)
        self.tree = Element("body", {}, [])
        todo: list[tuple[Element | str, _Context]] = []
        self._below(todo, body, _Context(self.tree, line=False, linked=False, depth=0))
        while todo:
            node, context = todo.pop()
            if isinstance(node, str):
                self._text(node, context)
            elif node.tag in kept:
                _siblings(context).append(node)
            elif node.tag not in dropped:
                self._element(todo, node, context)

    def _below(self, todo: list[tuple[Element | str, _Context]], element: Element, context: _Context) -> None:
        todo.extend((child, context) for child in reversed(element.children))

    def _text(self, text: str, context: _Context) -> None:
        if not text.strip() and context.parent.tag in _TEXTLESS | _LIST_PARENTS:
            context.parent.children.append(text)
        else:
            _siblings(context).append(text)

    def _element(self, todo: list[tuple[Element | str, _Context]], node: Element, context: _Context) -> None:
        tag = self._tag(node, context)
        if tag is None or context.depth >= MAX_DEPTH:
            self._below(todo, node, context)
            return
        shown = Element(tag, _attributes(node, tag, self._ids), [])
        (context.parent.children if tag in _CHILDREN.get(context.parent.tag, ()) else _siblings(context)).append(shown)
        if tag == "img" and context.linked and not shown.attributes.get("alt", "").strip():
            shown.attributes["alt"] = picture_name(node)
        if tag == "th":
            shown.attributes.setdefault("scope", "row" if _is_first(shown, context.parent) else "col")
        if tag == "details" and not _first_is(node, "summary"):
            shown.children.append(Element("summary", {}, ["…"]))
        line = context.line or tag in _LINES or (tag not in _BLOCKS and tag not in _ANYWHERE)
        linked = context.linked or (tag == "a" and "href" in shown.attributes)
        self._below(todo, node, _Context(shown, line, linked, context.depth + 1))

    def _tag(self, node: Element, context: _Context) -> str | None:
        """Return the tag of an element in the page; ``None`` if only its content is kept."""
        tag = _RENAMED.get(node.tag, node.tag)
        parent = context.parent
        if tag in _BELONGING:
            if tag in _CHILDREN.get(parent.tag, ()) and _in_order(tag, parent):
                return tag
            return None if tag in {"col", "colgroup", "rp"} else ("span" if context.line or tag == "rt" else "div")
        if tag == "a":
            return None if context.linked or _is_empty_link(node) else tag
        if tag == "rtc":
            return None
        if tag == "dl" and not _paired(node):
            tag = "div"
        if tag in _HEADINGS:
            tag = self._heading(node)
        if context.line:
            return "span" if tag in _BLOCKS and tag != "hr" else ("br" if tag == "hr" else tag)
        if tag == "time" and "datetime" not in _attributes(node, tag, self._ids):
            tag = "span"
        if id(node) in self._blocky and (tag == "p" or (tag not in _BLOCKS and tag not in _ANYWHERE)):
            return "div"
        return "span" if tag == "details" and context.linked else tag

    def _heading(self, node: Element) -> str:
        """Return a heading's tag below the page's own without skipping a level."""
        if not node.text().strip():
            return "div"
        level = int(node.tag[1])
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        self._levels.append(level)
        return f"h{min(len(self._levels) + 1, 6)}"


def _attributes(node: Element, tag: str, ids: set[str]) -> dict[str, str]:
    """Return the attributes that an element keeps as ``tag``; a used id is removed from ``ids``, the link targets."""
    if not node.attributes and node.tag == tag:
        return {}
    names = _OWN["*"] | _OWN.get(tag, frozenset())
    found = {
        name: value
        for name, value in node.attributes.items()
        if name in names and (name not in _VALUES or re.fullmatch(_VALUES[name], value.strip()))
    }
    style = looks(node.tag, node.attributes, shown_as=tag)
    if tag == "span" and _RENAMED.get(node.tag, node.tag) in _BLOCKS:
        style = f"display:block;{style}"
    if style:
        found["style"] = style
    name = found.get("id") or found.get("name", "")
    if name in ids:
        ids.discard(name)
    else:
        found.pop("id", None)
        found.pop("name", None)
    return found


def _siblings(context: _Context) -> list[Element | str]:
    """Return the list for a node; a list element gets a new item for content that is not an item."""
    parent = context.parent
    if parent.tag not in _LIST_PARENTS:
        return parent.children
    made = Element("li", {}, [])
    parent.children.append(made)
    return made.children


def _targets(body: Element) -> set[str]:
    """Return the ids that the body's links lead to; other ids have no use, and each may occur only once."""
    links = (node.attributes.get("href", "") for node in body.elements() if node.tag == "a")
    return {link.strip()[1:] for link in links if link.strip().startswith("#")}


def _in_order(tag: str, parent: Element) -> bool:
    """Return whether a caption, summary or column description precedes all other children, as required."""
    if tag == "colgroup":
        return all(isinstance(child, str) or child.tag in {"caption", "colgroup"} for child in parent.children)
    if tag not in {"caption", "figcaption", "summary"}:
        return True
    return not _solid(parent)


def _is_first(cell: Element, row: Element) -> bool:
    return next(child for child in row.children if isinstance(child, Element)) is cell


def _is_empty_link(node: Element) -> bool:
    """Return whether a link has no visible content."""
    return "href" in node.attributes and not any(
        child.strip() if isinstance(child, str) else child.tag in _SEEN for child in node.walk()
    )


def picture_name(picture: Element) -> str:
    """Return a picture's file name as a replacement for a missing alternative text."""
    address = picture_source(picture)
    return "…" if address.startswith("data:") else unquote(address.partition("?")[0].rpartition("/")[2]) or "…"


def _first_is(node: Element, tag: str) -> bool:
    solid = _solid(node)
    return bool(solid) and isinstance(solid[0], Element) and solid[0].tag == tag


def _paired(node: Element) -> bool:
    """Return whether a description list only consists of terms followed by their descriptions."""
    tags = [child.tag if isinstance(child, Element) else "" for child in _solid(node)]
    return re.fullmatch(r"(?:(?:dt )+(?:dd )+)+", "".join(f"{tag} " for tag in tags)) is not None


def _solid(node: Element) -> list[Element | str]:
    """Return the children of an element without white space."""
    return [child for child in node.children if isinstance(child, Element) or child.strip()]


def picture_source(picture: Element) -> str:
    """Return the address of a picture; a lazily loaded one (``data-src``) has priority."""
    attributes = picture.attributes
    return next(filter(None, (attributes.get(name, "") for name in ("data-src", "data-original", "src"))), "")


def looks(tag: str, attributes: dict[str, str], *, shown_as: str) -> str:
    """Return CSS declarations for the look of a tag with its attributes; then its own style; values are not checked.

    Args:
        tag: the original tag.
        attributes: all of its attributes.
        shown_as: its tag in the page.
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
