"""Old and broken HTML as valid HTML with the same look. Pure.

Elements in a place that the HTML Standard forbids become plain blocks or spans, and obsolete features become CSS.
Headings are renumbered below the page's own, and the depth is limited to what browsers display.

Rules: HTML Standard, sections 3.2.5 (content models), 4.3 to 4.5 (elements) and 16.2 (obsolete features).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Final

from exporter.html.code_languages import LANGUAGE
from exporter.html.picture_groups import GALLERY, GALLERY_TAGS, is_gallery
from exporter.html.tree import HABIT, Element, tag_set

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
_SPACED: Final = _LIST_PARENTS | tag_set("table tbody tfoot thead tr colgroup")
"""Elements that may contain white space, but no other text."""
_VALUES: Final = {
    name: re.compile(pattern)
    for name, pattern in {
        "colspan": r"[1-9][0-9]{0,2}", "rowspan": r"[1-9][0-9]{0,3}", "span": r"[1-9][0-9]{0,2}",
        "scope": r"row|col|rowgroup|colgroup", "start": r"-?[0-9]{1,9}", "value": r"-?[0-9]{1,9}", "type": r"[1aAiI]",
        "dir": r"ltr|rtl|auto", "lang": r"[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-[A-Za-z]{2})?", "id": r"[^\s\"'<>&]{1,64}",
        "datetime": r"[0-9]{4}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|1[0-9]|2[0-8]))?",
        **dict.fromkeys(("height", "width"), r"[0-9]{1,5}"),
    }.items()
}  # fmt: skip
_OWN: Final = {
    "*": tag_set("dir id lang style title") | {HABIT}, "a": tag_set("href name"), "col": tag_set("span"),
    "colgroup": tag_set("span"), "del": tag_set("datetime"), "details": tag_set("open"), "ins": tag_set("datetime"),
    "li": tag_set("value"), "ol": tag_set("reversed start type"), "td": tag_set("colspan rowspan"),
    "th": tag_set("colspan rowspan scope"), "time": tag_set("datetime"),
    "img": tag_set("alt height src width"),
    "code": tag_set("class data-lang data-language"), "pre": tag_set("class data-lang data-language") | {LANGUAGE},
}  # fmt: skip
_NAMES: Final = {tag: names | _OWN["*"] for tag, names in _OWN.items()}
"""The attributes that a tag keeps; those of ``*`` for any other tag."""
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
_LOOKED_AT: Final = tag_set("align bgcolor border color height hspace nowrap size type valign vspace width")
"""Attributes other than ``style`` that can change the look."""
_SEEN: Final = tag_set("img input audio embed iframe object video")


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
        self._ids, self._blocky = _survey(body)
        self._ids.update(places)
        self._levels: list[int] = []
        self.tree = parent = Element("body", {}, [])
        nodes = iter(body.children)
        # Whether only text is permitted here, whether this is in a link, and how deep it is in the page.
        line = linked = False
        depth = 0
        left: list[tuple[Iterator[Element | str], Element, bool, bool, int]] = []
        while True:
            for node in nodes:
                if isinstance(node, str):
                    (parent.children if parent.tag in _SPACED and not node.strip() else _siblings(parent)).append(node)
                elif node.tag in kept:
                    _siblings(parent).append(node)
                elif node.tag not in dropped:
                    tag = self._tag(node, parent, line=line, linked=linked)
                    shown = parent if tag is None or depth >= MAX_DEPTH else self._shown(node, tag, parent)
                    if node.children:
                        left.append((nodes, parent, line, linked, depth))
                        nodes = iter(node.children)
                        if shown is not parent:
                            parent = shown
                            line = line or tag in _LINES or (tag not in _BLOCKS and tag not in _ANYWHERE)
                            linked = linked or (tag == "a" and "href" in shown.attributes)
                            depth += 1
                        break
            else:
                if parent.tag == "figure":
                    _place_captions(parent)
                if not left:
                    return
                nodes, parent, line, linked, depth = left.pop()

    def _shown(self, node: Element, tag: str, parent: Element) -> Element:
        """Return the element that shows a node, without children, appended to its parent in the page."""
        shown = Element(tag, _attributes(node, tag, self._ids), [])
        (parent.children if tag in _CHILDREN.get(parent.tag, ()) else _siblings(parent)).append(shown)
        if tag == "th":
            shown.attributes.setdefault("scope", "row" if _is_first(shown, parent) else "col")
        elif tag == "details" and not _first_is(node, "summary"):
            shown.children.append(Element("summary", {}, ["…"]))
        return shown

    def _tag(self, node: Element, parent: Element, *, line: bool, linked: bool) -> str | None:
        """Return the tag of an element in the page; ``None`` if only its content is kept."""
        tag = _RENAMED.get(node.tag, node.tag)
        if tag in _BELONGING:
            return _belonging(tag, parent, line=line)
        if tag == "a":
            return None if linked or _is_empty_link(node) else tag
        if tag == "rtc":
            return None
        if tag in _HEADINGS:
            tag = self._heading(node)
        elif tag == "dl" and not _paired(node):
            tag = "div"
        if line:
            return "span" if tag in _BLOCKS and tag != "hr" else ("br" if tag == "hr" else tag)
        if tag == "time" and "datetime" not in _attributes(node, tag, self._ids):
            tag = "span"
        if id(node) in self._blocky and (tag == "p" or (tag not in _BLOCKS and tag not in _ANYWHERE)):
            return "div"
        return "span" if tag == "details" and linked else tag

    def _heading(self, node: Element) -> str:
        """Return a heading's tag below the page's own without skipping a level."""
        if not node.text().strip():
            return "div"
        level = int(node.tag[1])
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        self._levels.append(level)
        return f"h{min(len(self._levels) + 1, 6)}"


def _belonging(tag: str, parent: Element, *, line: bool) -> str | None:
    """Return the tag of a part of a list, a table and so on, which is a plain block or span outside of these."""
    if tag in _CHILDREN.get(parent.tag, ()) and _in_order(tag, parent):
        return tag
    return None if tag in {"col", "colgroup", "rp"} else ("span" if line or tag == "rt" else "div")


def _attributes(node: Element, tag: str, ids: set[str]) -> dict[str, str]:
    """Return the attributes that an element keeps as ``tag``; a used id is removed from ``ids``, the link targets."""
    if not node.attributes and node.tag == tag:
        return {}
    names = _NAMES.get(tag, _OWN["*"])
    found = {
        name: value
        for name, value in node.attributes.items()
        if name in names and (name not in _VALUES or _VALUES[name].fullmatch(value.strip()))
    }
    style = looks(node.tag, node.attributes, shown_as=tag)
    if tag == "span" and _RENAMED.get(node.tag, node.tag) in _BLOCKS:
        style = f"display:block;{style}"
    if style:
        found["style"] = style
    if tag in GALLERY_TAGS and is_gallery(node.attributes.get("class", "")):
        found["class"] = GALLERY
    name = found.get("id") or found.get("name", "")
    if name in ids:
        ids.discard(name)
    else:
        found.pop("id", None)
        found.pop("name", None)
    return found


def _siblings(parent: Element) -> list[Element | str]:
    """Return the list for a node; a list element gets a new item for content that is not an item."""
    if parent.tag not in _LIST_PARENTS:
        return parent.children
    made = Element("li", {}, [])
    parent.children.append(made)
    return made.children


def _survey(body: Element) -> tuple[set[str], set[int]]:
    """Return the ids that the body's links lead to, and the ``id()`` of each element with a block below it.

    Other ids have no use, and each may occur only once.
    """
    targets: set[str] = set()
    blocky: set[int] = set()
    nodes, around = iter(body.children), body
    left: list[Iterator[Element | str]] = []
    above: list[Element] = []
    while True:
        for node in nodes:
            if isinstance(node, str):
                continue
            tag = node.tag
            if tag == "a":
                link = node.attributes.get("href", "").strip()
                if link.startswith("#"):
                    targets.add(link[1:])
            elif id(around) not in blocky and _RENAMED.get(tag, tag) in _BLOCKS:
                # If one is known, then so are all around it.
                blocky.update(map(id, takewhile(lambda each: id(each) not in blocky, (around, *reversed(above)))))
            if node.children:
                left.append(nodes)
                above.append(around)
                nodes, around = iter(node.children), node
                break
        else:
            if not left:
                return targets, blocky
            nodes, around = left.pop(), above.pop()


def _in_order(tag: str, parent: Element) -> bool:
    """Return whether a table's caption, a summary or a column description precedes all other children, as required."""
    if tag == "colgroup":
        return all(isinstance(child, str) or child.tag in {"caption", "colgroup"} for child in parent.children)
    return tag not in {"caption", "summary"} or not _solid(parent)


def _place_captions(figure: Element) -> None:
    """Turn captions into blocks unless they are the first or last child of their figure, and its only caption."""
    solid = _solid(figure)
    captions = [child for child in solid if isinstance(child, Element) and child.tag == "figcaption"]
    kept = next((child for child in captions if child is solid[0] or child is solid[-1]), None)
    for caption in captions:
        if caption is not kept:
            caption.tag = "div"


def _is_first(cell: Element, row: Element) -> bool:
    return next(child for child in row.children if isinstance(child, Element)) is cell


def _is_empty_link(node: Element) -> bool:
    """Return whether a link has no visible content."""
    return "href" in node.attributes and not any(
        child.strip() if isinstance(child, str) else child.tag in _SEEN for child in node.walk()
    )


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


def looks(tag: str, attributes: dict[str, str], *, shown_as: str) -> str:
    """Return CSS declarations for the look of a tag with its attributes; then its own style; values are not checked.

    Args:
        tag: the original tag.
        attributes: all of its attributes.
        shown_as: its tag in the page.
    """
    if not attributes:
        return _LOOKS[tag] if tag in _LOOKS and tag != shown_as else ""
    own = attributes.get("style", "")
    found = [_LOOKS[tag]] if tag in _LOOKS and tag != shown_as else []
    if _LOOKED_AT.isdisjoint(attributes):
        return ";".join([*found, own] if own else found)
    value = {name: text.strip().lower() for name, text in attributes.items()}
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
