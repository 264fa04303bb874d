"""A body as the blocks of WordPress' editor: paragraphs, headings, pictures, lists, quotations, code, tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter.html.tags import HEADINGS, LINE_TAGS, tag_set
from exporter.html.wordpress import block, kept

_LINE: Final = "br"
_PICTURE_ATTRIBUTES: Final = tag_set("alt border height src width")
_HELD_LINES: Final = LINE_TAGS - {_LINE}


class _Piece(NamedTuple):
    """A part of a line, and its picture where it is nothing else."""

    html: str
    picture: str = ""


def blocks(html: str, *, quoted: bool = False) -> list[str]:
    """Return HTML as the blocks that WordPress' editor can change; what it knows no block for stays HTML.

    Args:
        html: a body; its comments are left out.
        quoted: whether it is in a quotation, which holds no other.
    """
    # The first node of a fragment gives the HTML of all of them.
    first = LexborHTMLParser(f"<!---->{html}", is_fragment=True).root
    return _BlockWriter(quoted=quoted).written(first.next if first is not None else None)


class _BlockWriter:
    """Writes sibling nodes as blocks: what the editor knows as such, and HTML for everything else."""

    def __init__(self, *, quoted: bool) -> None:
        self._quoted = quoted
        self._blocks: list[str] = []
        self._lines: list[list[_Piece]] = [[]]
        self._html: list[str] = []
        self._html_line = False

    def written(self, node: LexborNode | None) -> list[str]:
        """Return the blocks of a node and the siblings behind it."""
        while node is not None:
            self._take(node)
            node = node.next
        self._end_lines()
        self._end_html()
        return self._blocks

    def _take(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "-text":
            text = escape(node.text_content or "", quote=False)
            if self._html and not text.strip():
                self._html.append(text)
                return
            self._in_line(_Piece(text))
        elif tag == _LINE:
            self._end_html()
            self._lines.append([])
        elif tag[:1] in {"-", "!"}:
            return
        elif tag not in LINE_TAGS and _is_inline(node):
            self._in_line(_Piece(node.html or "", _picture(node)))
        elif tag in {"div", "p"} and not node.attributes and _is_inline(node):
            self._paragraph(node)
        elif tag not in LINE_TAGS:
            self._line_with_blocks(node)
        else:
            self._end_lines()
            made = self._known(node, tag)
            if made:
                self._end_html()
                self._blocks.append(made)
            else:
                self._html_line = False
                self._html.append(node.html or "")

    def _in_line(self, piece: _Piece) -> None:
        if self._html_line:
            self._html.append(piece.html)
            return
        self._end_html()
        self._lines[-1].append(piece)

    def _line_with_blocks(self, node: LexborNode) -> None:
        """Keep a line as HTML of which a part, such as a link, holds blocks: each block here would begin a line."""
        begun = self._lines.pop()
        self._lines.append([])
        self._end_lines()
        self._html += [*(piece.html for piece in begun), node.html or ""]
        self._html_line = True

    def _paragraph(self, node: LexborNode) -> None:
        """Take the lines of a paragraph; of several ``div`` after each other, each is a line."""
        self._end_html()
        end = self._end_line if node.tag == "div" else self._end_lines
        end()
        child = node.first_child
        while child is not None:
            self._take(child)
            child = child.next
        end()

    def _known(self, node: LexborNode, tag: str) -> str:
        """Return the block of an element; empty where the editor has none that holds all of it."""
        if node.attributes:
            return ""
        inner = node.inner_html or ""
        if tag == "hr":
            return block("separator", '<hr class="wp-block-separator has-alpha-channel-opacity"/>')
        if tag in HEADINGS and _is_inline(node):
            level = {"level": HEADINGS[tag]} if HEADINGS[tag] != 2 else None
            return block("heading", f'<{tag} class="wp-block-heading">{kept(inner).text}</{tag}>', level)
        if tag == "pre" and _is_inline(node):
            inside = _children(node)
            if len(inside) == 1 and inside[0].tag == "code" and not inside[0].attributes:
                return block("code", f'<pre class="wp-block-code">{kept(inner).text}</pre>')
            return block("preformatted", f'<pre class="wp-block-preformatted">{kept(inner).text}</pre>')
        if tag in {"ol", "ul"}:
            return _list(node, tag)
        if tag == "blockquote" and not self._quoted:
            quoted = "\n\n".join(blocks(inner, quoted=True))
            return block("quote", f'<blockquote class="wp-block-quote">{quoted}</blockquote>')
        return _table(node) if tag == "table" else ""

    def _end_html(self) -> None:
        if self._html:
            self._blocks.append(block("html", kept("".join(self._html)).text))
            self._html = []
        self._html_line = False

    def _end_line(self) -> None:
        if any(piece.html.strip() for piece in self._lines[-1]):
            self._lines.append([])

    def _end_lines(self) -> None:
        """Write the lines so far: a paragraph up to each empty one, a picture alone in its line by itself."""
        paragraph: list[str] = []
        empty = 0
        for line in self._lines:
            held = [piece for piece in line if piece.html.strip()]
            if not held:
                empty += 1
            elif len(held) == 1 and held[0].picture:
                self._end_paragraph(paragraph)
                self._blocks.append(held[0].picture)
                empty = 0
            else:
                if empty and any(paragraph):
                    self._end_paragraph(paragraph)
                    empty -= 1
                paragraph += [""] * empty
                empty = 0
                paragraph.append("".join(piece.html for piece in line).strip())
        self._end_paragraph(paragraph)
        self._lines = [[]]

    def _end_paragraph(self, lines: list[str]) -> None:
        if lines:
            self._blocks.append(block("paragraph", f"<p>{kept('<br>'.join(lines)).text}</p>"))
            lines.clear()


def _is_inline(node: LexborNode) -> bool:
    return all(below.tag not in _HELD_LINES and below.tag != "script" for below in _below(node))


def _below(node: LexborNode) -> Iterator[LexborNode]:
    return (each for each in node.traverse() if each != node)


def _children(node: LexborNode) -> list[LexborNode]:
    """Return the elements in a node; none where there is text beside them."""
    found = list(node.iter(include_text=True))
    beside = any(each.tag == "-text" and (each.text_content or "").strip() for each in found)
    return [] if beside else [each for each in found if each.tag != "-text"]


def _picture(node: LexborNode) -> str:
    """Return the block of a picture, alone or in a link; empty for anything else."""
    link, image = ("", node) if node.tag == "img" else ("", None)
    if node.tag == "a" and set(node.attributes) <= {"href", "target", "rel"} and node.attributes.get("href"):
        inside = _children(node)
        link, image = node.attributes["href"] or "", inside[0] if len(inside) == 1 else None
    if image is None or image.tag != "img" or set(image.attributes) - _PICTURE_ATTRIBUTES:
        return ""
    size = {
        name: f"{value}px"
        for name in ("width", "height")
        if (value := image.attributes.get(name)) and value.isascii() and value.isdecimal()
    }
    attributes: dict[str, Any] = {**size, **({"linkDestination": "custom"} if link else {})}
    style = "".join(f"{name}:{value};" for name, value in size.items()).rstrip(";")
    source, alternative = (escape(image.attributes.get(name) or "") for name in ("src", "alt"))
    styled = f' style="{style}"' if style else ""
    shown = f'<img src="{source}" alt="{alternative}"{styled}/>'
    shown = f'<a href="{escape(link)}">{shown}</a>' if link else shown
    resized = " is-resized" if size else ""
    figure = f'<figure class="wp-block-image{resized}">{kept(shown).text}</figure>'
    return block("image", figure, attributes)


def _list(node: LexborNode, tag: str) -> str:
    items = _children(node)
    if not items or any(item.tag != "li" or item.attributes or not _is_inline(item) for item in items):
        return ""
    inside = "\n\n".join(block("list-item", f"<li>{kept(item.inner_html or '').text.strip()}</li>") for item in items)
    return block("list", f"<{tag}>{inside}</{tag}>", {"ordered": True} if tag == "ol" else None)


def _table(node: LexborNode) -> str:
    parts = _children(node)
    rows = [row for part in parts for row in _children(part)]
    cells = [cell for row in rows for cell in _children(row)]
    known = (
        cells
        and [part.tag for part in parts] == ["tbody"]
        and all(row.tag == "tr" for row in rows)
        and all(cell.tag in {"td", "th"} and _is_inline(cell) for cell in cells)
        and not any(each.attributes for each in [*parts, *rows, *cells])
    )
    if not known:
        return ""
    body = "".join(f"<tr>{''.join(map(_cell, _children(row)))}</tr>" for row in rows)
    figure = f'<figure class="wp-block-table"><table><tbody>{body}</tbody></table></figure>'
    return block("table", figure, {"hasFixedLayout": False})


def _cell(cell: LexborNode) -> str:
    return f"<{cell.tag}>{kept(cell.inner_html or '').text}</{cell.tag}>"
