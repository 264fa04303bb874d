"""A body as WordPress editor blocks, written so that WordPress shows the same as a browser. Pure.

WordPress adds paragraphs and line breaks to a post without blocks (``wpautop``). Inside blocks it still applies
``wptexturize`` (quotes, dashes, dots), ``convert_smilies``, ``capital_P_dangit``, ``do_shortcode`` and ``autoembed``.
All of them search the source text, so replacing one letter by a character reference prevents them and shows the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Any, Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter.html.tree import HEADINGS, LINE_TAGS, tag_set

_RAW: Final = "iframe|noembed|noframes|script|style|textarea|title|xmp"
"""Elements without tags inside: a browser reads on to their end tag, at worst to the end of the page."""
_ATTRIBUTES: Final = (
    r"(?:[\s/]++|=|[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s>\"'][^\s>]*+)?+)?+)*+"
)
_PIECE = re.compile(
    r"(?P<comment><!--(?:-?>|.*?(?:--!?>|(?P<cut>\Z))))"
    r"|(?P<bogus><(?:[!?]|/[^a-zA-Z>])[^>]*+(?:>|\Z)|</>)"
    rf"|(?P<raw><(?P<name>{_RAW})(?=[\s/>]){_ATTRIBUTES}>.*?(?:(?P<end></(?P=name)(?=[\s/>])[^>]*+>)|\Z))"
    rf"|(?P<tag></?[a-zA-Z][^\s/>]*+{_ATTRIBUTES}(?:(?P<whole>>)|\Z))",
    re.DOTALL | re.IGNORECASE | re.ASCII,
)
_PLAIN = re.compile(
    rf"(?:[^-&\"'`.(W\[x:;8<]*+<(?!(?:{_RAW})[\s/>])/?[a-zA-Z][a-zA-Z0-9]*+"
    r"(?:\s++[a-zA-Z-]++=(?:\"[^\"<>\[]*+\"|'[^'<>\[]*+'))*+\s*+/?>)++",
    re.IGNORECASE | re.ASCII,
)
"""Tags, and texts up to the next tag, that stay unchanged: they have none of the characters below."""
_COMMAND = re.compile(r"<!--(?=\s*(?:more|nextpage|noteaser|/?wp:))", re.IGNORECASE)
"""The beginning of a comment that WordPress interprets."""

_SMILEYS: Final = re.split(
    " ",
    ":mrgreen: :neutral: :twisted: :arrow: :shock: :smile: :???: :cool: :evil: :grin: :idea: :oops: :razz: :roll: "
    ":wink: :cry: :eek: :lol: :mad: :sad: 8-) 8-O :-( :-) :-? :-D :-P :-o :-x :-| ;-) 8O :( :) :? :D :P :o :x :| ;) "
    ":!: :?:",
)
_AFTER_SPACE: Final = r"(?:(?<![^\s\xa0])|(?<=&nbsp;))"
_BEFORE_SPACE: Final = r"(?=[\s\xa0]|&nbsp;|\Z)"
_TURNED = re.compile(
    "(?=[-\"'`.(W[x:;8])(?:"  # most characters fail at this one, and need no other test
    + "|".join(
        [
            "[\"']",
            r"`(?=`)|\.(?=\.\.)|-(?=-)|\((?=tm\))|W(?=ordpress)|\[(?=/?[a-zA-Z_])",
            r"(?<=[0-9])x(?=[0-9])",
            rf"{_AFTER_SPACE}-{_BEFORE_SPACE}",
            rf"{_AFTER_SPACE}[:;8](?=(?:{'|'.join(re.escape(each[1:]) for each in _SMILEYS)}){_BEFORE_SPACE})",
        ]
    )
    + ")"
)
_LONE_ADDRESS = re.compile(r"^([^\S\n]{0,50}https?):(?=//[^\s<>\"]+[^\S\n]{0,50}$)", re.IGNORECASE | re.MULTILINE)
_ODD_REFERENCE = re.compile(r"&(?!(?:#[0-9]+|#x[a-f0-9]+|[a-z1-4]{1,8});)#?[0-9a-zA-Z]+;?", re.IGNORECASE)
"""Character references for browsers only; WordPress escapes their ``&``."""
_SUSPICIOUS = re.compile("[-&\"'`.(W[x:;8]")
"""Characters that occur in everything WordPress replaces; most texts have none of them."""
_NO_SLASHES: Final = "&#47;&#47;"
_SHORT_REFERENCE: Final = re.compile(r"&#(?=[0-9]{2};)")
_SHORTCODE = re.compile(r"\[(?=/?[a-zA-Z_])")
_FIELD_MARKS: Final = re.compile(r"(?<=&amp;)#|%(?=[0-9a-fA-F]{2})|\\")
"""In names and titles. ``sanitize_text_field`` deletes ``%2f``, importers lose backslashes, and ``wp_kses`` reads
``&amp;#39;`` as a reference."""


class Kept(NamedTuple):
    """HTML for a block, and the number of comments that WordPress would have interpreted."""

    text: str
    commands: int


def more_mark(label: str) -> str:
    """Return the mark that separates a post's excerpt, with the text of its link in HTML."""
    return f"<!--more{f' {label}' if label else ''}-->"


def more_block(label: str) -> str:
    """Return :func:`more_mark` as a block."""
    return block("more", more_mark(label), {"customText": label} if label else None)


def kept(html: str) -> Kept:
    """Return HTML for a block that shows the same after WordPress' filters."""
    parts: list[str] = []
    commands = done = 0
    while True:
        plain = _PLAIN.match(html, done)
        if plain is not None:
            parts.append(plain[0])
            done = plain.end()
        found = _PIECE.search(html, done)
        if found is None:
            break
        parts.append(_kept_text(html[done : found.start()]))
        done = found.end()
        piece, obeyed = found[0], 0
        if "<!--" in piece:
            # WordPress searches the source, not the parsed page, so comments also work in attributes.
            piece, obeyed = _COMMAND.subn("<!-&#45;", piece)
            commands += obeyed
        if found["comment"]:
            parts.append("<!---->" if obeyed else piece if found["cut"] is None else f"{piece}-->")
        elif found["bogus"]:
            parts.append("<!---->")
        elif found["raw"]:
            parts.append(piece if found["end"] else _ended(piece, found["name"]))
        elif found["whole"]:
            # WordPress ends a tag at the first >.
            inside = piece[1:-1].replace("<", "&lt;").replace(">", "&gt;")
            parts.append(f"<{_SHORTCODE.sub('&#91;', inside) if '[' in inside else inside}>")
    parts.append(_kept_text(html[done:]))
    return Kept("".join(parts), commands)


def _ended(piece: str, name: str) -> str:
    """Return an element whose end tag is missing with it; nothing of a script, which then never runs."""
    return "" if name.lower() == "script" else f"{piece}</{name}>"


def field_html(text: str) -> str:
    """Return text as HTML for a title or a name, which WordPress stores as HTML and filters as it does bodies."""
    if text.isalnum():
        return text
    # With three digits, as WordPress itself writes references in names that it returns.
    kept = _SHORT_REFERENCE.sub("&#0", _kept_text(escape(text, quote=False)))
    return _FIELD_MARKS.sub(lambda found: f"&#{ord(found[0]):03};", kept)


def without_pings(html: str) -> str:
    """Return HTML that shows the same but in which WordPress finds no address to notify.

    After publishing a post, WordPress requests every address in its source for a pingback (``pingback``) and for a file
    to enclose (``do_enclose``). Both search for slashes (``wp_extract_urls``), not for character references.
    """
    parts: list[str] = []
    done = 0
    for found in _PIECE.finditer(html):
        parts.append(html[done : found.start()].replace("//", _NO_SLASHES))
        done = found.end()
        if found["comment"]:
            parts.append(found[0].replace("//", "\\u002f\\u002f" if found[0].startswith("<!-- wp:") else _NO_SLASHES))
        elif found["raw"]:
            head, mark, rest = found[0].partition(">")
            parts.append(f"{head.replace('//', _NO_SLASHES)}{mark}{rest}")
        else:
            parts.append(found[0].replace("//", _NO_SLASHES))
    parts.append(html[done:].replace("//", _NO_SLASHES))
    return "".join(parts)


def _kept_text(text: str) -> str:
    if not _SUSPICIOUS.search(text):
        return text
    if "&" in text:
        text = _ODD_REFERENCE.sub(lambda found: escape(unescape(found[0]), quote=False), text)
    text = _TURNED.sub(_reference, text)
    return _LONE_ADDRESS.sub(r"\1&#58;", text) if "//" in text else text


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


def block(name: str, html: str, attributes: dict[str, Any] | None = None) -> str:
    """Return a block that holds the HTML."""
    written = json.dumps(attributes, ensure_ascii=False, separators=(",", ":")) if attributes else ""
    # Escaped as WordPress does, because the attributes are in an HTML comment.
    written = re.sub(r"--|[<>&]|\\.", _escaped, written)
    return f"<!-- wp:{name}{f' {written}' if written else ''} -->\n{html}\n<!-- /wp:{name} -->"


def _escaped(found: re.Match[str]) -> str:
    if found[0].startswith("\\"):
        return "\\u0022" if found[0] == '\\"' else found[0]
    return "".join(f"\\u{ord(each):04x}" for each in found[0])


_LINE: Final = "br"
_PICTURE_ATTRIBUTES: Final = tag_set("alt border height src width")
_HELD_LINES: Final = LINE_TAGS - {_LINE}


class _Piece(NamedTuple):
    """Part of a line with its picture block if it is nothing but a picture."""

    html: str
    picture: str = ""


def blocks(html: str, *, quoted: bool = False) -> list[str]:
    """Return HTML as editable WordPress blocks; content without a block type becomes an HTML block.

    Args:
        html: a body; its comments are left out.
        quoted: whether it is in a quotation, which cannot contain another.
    """
    # The first node of a fragment returns the HTML of all nodes.
    first = LexborHTMLParser(f"<!---->{html}", is_fragment=True).root
    return _BlockWriter(quoted=quoted).written(first.next if first is not None else None)


class _BlockWriter:
    """Writes sibling nodes as blocks, and as HTML if the editor has no block type for them."""

    def __init__(self, *, quoted: bool) -> None:
        self._quoted = quoted
        self._blocks: list[str] = []
        self._lines: list[list[_Piece]] = [[]]
        self._html: list[str] = []
        self._html_line = False

    def written(self, node: LexborNode | None) -> list[str]:
        """Return the blocks of a node and the siblings after it."""
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
        """Keep a line as HTML if a part of it, such as a link, contains blocks: each block would begin a new line."""
        begun = self._lines.pop()
        self._lines.append([])
        self._end_lines()
        self._html += [*(piece.html for piece in begun), node.html or ""]
        self._html_line = True

    def _paragraph(self, node: LexborNode) -> None:
        """Add the lines of a paragraph; each of several successive ``div`` is one line."""
        self._end_html()
        end = self._end_line if node.tag == "div" else self._end_lines
        end()
        child = node.first_child
        while child is not None:
            self._take(child)
            child = child.next
        end()

    def _known(self, node: LexborNode, tag: str) -> str:
        """Return the block of an element; empty if the editor has no block type for all of it."""
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
        """Write the lines so far: a paragraph up to each empty line, and a block for a picture alone in its line."""
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
    """Return the child elements of a node; empty if the node also has text."""
    found = list(node.iter(include_text=True))
    beside = any(each.tag == "-text" and (each.text_content or "").strip() for each in found)
    return [] if beside else [each for each in found if each.tag != "-text"]


def _picture(node: LexborNode) -> str:
    """Return a picture's block, with or without a link; empty for anything else."""
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
