"""A body as valid XHTML for books: lists, tables and ruby conform to strict schemas, for any input. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Final, NamedTuple

from exporter.html.anchors import ANCHOR, FOOTNOTE, Footnote
from exporter.html.page_sanitizer import ID_PREFIX
from exporter.html.players import embeds
from exporter.html.tree import BLOCKS, CODE_BLOCKS, DROPPED, HEADINGS, LISTS, Element, holders, styled_as, tag_set

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
    """Yield the content of each list item; content between items becomes an item."""
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
    """Return the terms and definitions in a list, or ``None`` if they do not alternate."""
    parts = [child for child in node.children if isinstance(child, Element)]
    texts: Nodes = [child for child in node.children if isinstance(child, str)]
    tags = [part.tag for part in parts]
    fit = bool(tags) and set(tags) <= {"dt", "dd"} and tags[0] == "dt" and tags[-1] == "dd"
    return parts if fit and _blank(texts) else None


def table_parts(node: Element) -> TableParts:
    """Return the content of a table; a head is kept only if it comes first and a body follows."""
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
    """Return pairs of a text and its reading; ``None`` if there is no reading, or none that belongs to a text.

    Text after the last reading is paired with an empty one.
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
    return node.tag in tags or any(each.tag in tags for each in node.elements())


def _blank(nodes: Nodes) -> bool:
    return all(isinstance(node, str) and not node.strip() for node in nodes)


_LANGUAGE: Final = re.compile(r"(?:^|\s)lang(?:uage)?-([A-Za-z0-9_+#.-]{1,30})(?!\S)")
FOLD: Final = '<div class="details"'
"""Begins a part that was folded."""

_MAX_DEPTH: Final = 60
_INLINE: Final = tag_set(
    "abbr b cite code del dfn em i ins kbd mark q s samp small span strong sub sup u var acronym big font strike tt"
)
_SAME_AS: Final = {"acronym": "abbr", "big": "span", "dfn": "i", "font": "span", "strike": "s", "tt": "code"}
_PLAYERS: Final = tag_set("applet audio embed iframe object video")
_QUIET: Final = DROPPED | tag_set("datalist select")
_VERBATIM: Final = tag_set("code kbd samp")
_SHORT_NUMBER: Final = re.compile(r"(?<![0-9A-Za-z.,:/])(?:[0-9]{1,2}|!!|!\?)(?![0-9A-Za-z.,:/])")
_PLACES: Final = re.compile(r"[1-9][0-9]{0,2}")
_BACK_LINK: Final = "#way-back"
_OTHER_BACK_MARK: Final = "↑"
_SIZE: Final = re.compile(r"[1-9][0-9]{0,3}")


class Addresses(NamedTuple):
    """The addresses in the book for those in a text.

    Attributes:
        link: returns a link's new address, inside the book or on the web; ``None`` if it leads nowhere.
        picture: returns the path of a picture in the book; ``None`` if the book does not have it.
    """

    link: Callable[[str], str | None]
    picture: Callable[[str], str | None] = lambda _: None


# The content that is allowed at a place, as bit flags.
_BLOCKS: Final = 1
_HEADINGS: Final = 2
_LINKS: Final = 4
"""Links are never nested."""
_UPRIGHT: Final = 8
"""Short numbers are written upright in vertical lines."""
_ANYTHING: Final = _BLOCKS | _HEADINGS | _LINKS


def xhtml(tree: Element, addresses: Addresses, *, upright: bool = False) -> str:
    """Return the content below the root of a tree as valid content for a ``div``.

    Args:
        tree: the root.
        addresses: resolves the addresses.
        upright: whether numbers with two digits are marked as upright, for vertical writing.
    """
    return _Writer(tree, addresses).inside(tree.children, _ANYTHING | (_UPRIGHT if upright else 0)).strip()


def note_xhtml(note: Footnote, addresses: Addresses, *, upright: bool = False) -> str:
    """Return a footnote with its links back in front of it; reading systems show it on request."""
    marks = [note.marks[0], *[_OTHER_BACK_MARK] * (len(note.marks) - 1)]
    back_links: Nodes = []
    for time, mark in enumerate(marks, 1):
        back_links += [Element(_BACK_LINK, {"to": _reference(note.label, str(time))}, [mark]), " "]
    children = note.held.children
    opening = children[0] if children else ""
    is_paragraph = isinstance(opening, Element) and opening.tag == "p"
    if isinstance(opening, Element) and is_paragraph:
        opening.children[:0] = back_links
    held = Element("body", {}, children if is_paragraph else [*back_links, *children])
    shown = xhtml(held, addresses, upright=upright)
    return f'<aside epub:type="footnote" role="doc-footnote" id="fn{note.label}">{shown}</aside>'


def upright_numbers(text: str) -> str:
    """Return a text as XHTML in which short numbers are upright in vertical lines."""
    return _SHORT_NUMBER.sub(r'<span class="tcy">\g<0></span>', escape(text, quote=False))


def _text(text: str) -> str:
    return escape(text, quote=False)


class _Writer:
    def __init__(self, tree: Element, addresses: Addresses) -> None:
        self._addresses = addresses
        self._holders = holders(tree, lambda node: node.tag in BLOCKS)
        self._depth = 0

    def inside(self, nodes: Iterable[Element | str], where: int) -> str:
        """Write nodes one after another."""
        text = upright_numbers if where & _UPRIGHT else _text
        return "".join([text(node) if isinstance(node, str) else self._node(node, where) for node in nodes])

    def _node(self, node: Element, where: int) -> str:
        if node.tag in _QUIET:
            return ""
        if self._depth > _MAX_DEPTH:
            return escape(_shown_text(node), quote=False)
        if node.tag == "br":
            return "<br />"
        self._depth += 1
        made = self._element(node, where)
        self._depth -= 1
        return made

    def _element(self, node: Element, where: int) -> str:
        special = _SPECIAL.get(node.tag)
        if special is not None:
            return special(self, node, where)
        if node.tag in _INLINE:
            return self._inline(node, where)
        return self._wrapped("div", node, where) if node.tag in BLOCKS else self.inside(node.children, where)

    def _wrapped(self, tag: str, node: Element, where: int) -> str:
        """Write an element that may hold anything; a name that says more than the tag becomes a class."""
        known = f' class="{node.tag}"' if tag == "div" and node.tag != "div" else ""
        return f"<{tag}{known}{_direction(node)}>{self.inside(node.children, where)}</{tag}>"

    def _phrase(self, tag: str, node: Element, where: int) -> str:
        """Write an element that must not hold blocks; one that does becomes a ``div``."""
        if id(node) in self._holders:
            return self._wrapped("div", node, where)
        content = self.inside(node.children, where & ~_BLOCKS)
        said = f"{_direction(node)}{_language(node)}"
        return f"<{tag}{said}>{content}</{tag}>" if content.strip() or tag == "pre" else content

    def _inline(self, node: Element, where: int) -> str:
        tag = _SAME_AS.get(node.tag, node.tag)
        if tag == "span":
            tag = styled_as(node) or "span"
        if tag == "span" and id(node) not in self._holders:
            return self.inside(node.children, where)
        return self._phrase(tag, node, where & ~_UPRIGHT if tag in _VERBATIM else where)

    def _heading(self, node: Element, where: int) -> str:
        level = max(2, HEADINGS[node.tag])
        inner = where & ~_HEADINGS
        return self._phrase(f"h{level}", node, inner) if where & _HEADINGS else self._wrapped("div", node, inner)

    def _code(self, node: Element, where: int) -> str:
        return self._phrase("pre", node, where & ~_UPRIGHT)

    def _list(self, node: Element, where: int) -> str:
        items = "".join(f"<li>{self.inside(nodes, where)}</li>\n" for nodes in listed(node))
        tag = "ol" if node.tag == "ol" else "ul"
        start = node.attributes.get("start", "")
        first = f' start="{start}"' if tag == "ol" and _PLACES.fullmatch(start) else ""
        return f"<{tag}{first}{_direction(node)}>\n{items}</{tag}>" if items else ""

    def _definitions(self, node: Element, where: int) -> str:
        parts = definitions(node)
        if parts is None:
            return self._wrapped("div", node, where)
        plain = where & ~_HEADINGS
        made = (
            f"<{part.tag}>{self.inside(part.children, plain if part.tag == 'dt' else where)}</{part.tag}>\n"
            for part in parts
        )
        return f"<dl>\n{''.join(made)}</dl>"

    def _table(self, node: Element, where: int) -> str:
        parts = table_parts(node)
        around = "".join(f'<div class="caption">{self.inside(each.children, where)}</div>' for each in parts.captions)
        head = "".join(self._row(row, where) for row in parts.head)
        body = "".join(self._row(row, where) for row in parts.body)
        if not head and not body:
            return around
        shown = f"<thead>{head}</thead>" if head else ""
        return f"{around}<table>\n{shown}{f'<tbody>{body}</tbody>' if body else ''}\n</table>"

    def _row(self, cells: list[Element], where: int) -> str:
        return f"<tr>{''.join(self._cell(cell, where) for cell in cells)}</tr>\n"

    def _cell(self, cell: Element, where: int) -> str:
        spans = "".join(
            f' {name}="{value}"'
            for name in ("colspan", "rowspan")
            if _PLACES.fullmatch(value := cell.attributes.get(name, ""))
        )
        inner = where if cell.tag == "td" else where & ~_HEADINGS
        return f"<{cell.tag}{spans}>{self.inside(cell.children, inner)}</{cell.tag}>"

    def _ruby(self, node: Element, where: int) -> str:
        if id(node) in self._holders:
            return self._wrapped("div", node, where)
        pairs = ruby_pairs(node)
        if pairs is None:
            return self.inside(node.children, where)
        inner = where & ~(_BLOCKS | _UPRIGHT)
        made = (f"{self.inside(base, inner)}<rt>{self.inside(text, inner)}</rt>" for base, text in pairs)
        return f"<ruby>{''.join(made)}</ruby>"

    def _reading(self, node: Element, where: int) -> str:
        return f"（{self.inside(node.children, where)}）" if node.children else ""

    def _link(self, node: Element, where: int) -> str:
        address = node.attributes.get("href", "")
        picture = self._addresses.picture(address) if address else None
        if picture is not None:
            return self._linked_picture(node, picture, where)
        made = self._addresses.link(address) if where & _LINKS and address else None
        content = self.inside(node.children, where if made is None else where & ~_LINKS)
        return f'<a href="{escape(made)}">{content}</a>' if made is not None and content.strip() else content

    def _linked_picture(self, node: Element, picture: str, where: int) -> str:
        """Show the picture that a link leads to. It replaces the link's small picture or follows the link's text."""
        words = "".join(part for part in map(_shown_text, node.children) if part)
        small = [each for each in node.elements() if each.tag == "img"]
        alt = next((each.attributes.get("alt", "") for each in small), "") or words
        shown = f'<img src="{escape(picture)}" alt="{escape(alt)}" />'
        if small and not words.strip():
            return shown
        return f"{self.inside(node.children, where)} {shown}"

    def _noteref(self, node: Element, where: int) -> str:
        label, place = node.attributes["label"], _reference(node.attributes["label"], node.attributes["time"])
        mark = self.inside(node.children, where)
        return f'<sup><a epub:type="noteref" role="doc-noteref" id="{place}" href="#fn{label}">{mark}</a></sup>'

    def _back_link(self, node: Element, where: int) -> str:
        return f'<a role="doc-backlink" href="#{node.attributes["to"]}">{self.inside(node.children, where)}</a>'

    def _img(self, node: Element, _where: int) -> str:
        alt = " ".join(node.attributes.get("alt", "").split())
        picture = self._addresses.picture(node.attributes.get("src", ""))
        if picture is None:
            return f'<span class="lost">[{escape(alt, quote=False)}]</span>' if alt else ""
        width = node.attributes.get("width", "")
        sized = f' width="{width}"' if _SIZE.fullmatch(width) else ""
        return f'<img src="{escape(picture)}" alt="{escape(alt)}"{sized} />'

    def _player(self, node: Element, where: int) -> str:
        """Replace an embedded player with a link, because a book cannot hold the player."""
        asked = [(self._addresses.link(each.address), each.title) for each in (embeds(node) if where & _LINKS else ())]
        address, title = next(((link, title) for link, title in asked if link and "://" in link), ("", ""))
        if not address:
            return self.inside(node.children, where) if where & _BLOCKS else escape(_shown_text(node), quote=False)
        made = f'<a href="{escape(address)}">{escape(title or address)}</a>'
        return f'<div class="player">{made}</div>' if where & _BLOCKS else made


_SPECIAL: Final[dict[str, Callable[[_Writer, Element, int], str]]] = {
    ANCHOR: lambda _writer, node, _where: f'<a id="{ID_PREFIX}{escape(node.attributes["id"])}"></a>',
    FOOTNOTE: _Writer._noteref,
    _BACK_LINK: _Writer._back_link,
    "a": _Writer._link,
    "blockquote": lambda writer, node, where: writer._wrapped("blockquote", node, where),
    "dl": _Writer._definitions,
    "hr": lambda _writer, _node, _where: "<hr />",
    "img": _Writer._img,
    "p": lambda writer, node, where: writer._phrase("p", node, where),
    "rt": _Writer._reading,
    "ruby": _Writer._ruby,
    "table": _Writer._table,
    **dict.fromkeys(CODE_BLOCKS, _Writer._code),
    **dict.fromkeys(HEADINGS, _Writer._heading),
    **dict.fromkeys(LISTS, _Writer._list),
    **dict.fromkeys(_PLAYERS, _Writer._player),
    **dict.fromkeys(("rp", "rtc"), lambda _writer, _node, _where: ""),
}


def _direction(node: Element) -> str:
    found = node.attributes.get("dir", "").strip().lower()
    return f' dir="{found}"' if found in {"rtl", "ltr"} else ""


def _language(node: Element) -> str:
    found = _LANGUAGE.search(node.attributes.get("class", "")) if node.tag in {"code", "pre"} else None
    return f' class="language-{found[1]}"' if found else ""


def _reference(label: str, time: str) -> str:
    return f"fnref{label}-{time}"


def _shown_text(node: Element | str) -> str:
    """Return the text below a node without that of scripts and styles."""
    parts: list[str] = []
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            parts.append(each)
        elif each.tag not in _QUIET:
            todo.extend(reversed(each.children))
    return "".join(parts)
