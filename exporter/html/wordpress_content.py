"""The HTML of a body as WordPress stores it. Pure.

WordPress stores the source and makes HTML for each page view. Line breaks become paragraphs (``wpautop``) unless the
body has blocks. Shortcodes become elements. This module makes those that are content: captions, embedded addresses,
players, galleries and source code. Other shortcodes stay as text, and are named. The rules are those of
WordPress 6's ``wp-includes/formatting.php`` and ``media.php``; tests compare the result with a real WordPress.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final, NamedTuple

from exporter.html.wordpress_blocks import empty_blocks, with_footnotes, with_patterns
from exporter.html.wordpress_galleries import NAMES, Attachment, Galleries, attributes_of
from exporter.model.records import Lack, Unshown

_MORE: Final = re.compile(r"<!--more(.*?)-->", re.DOTALL)
_BLOCK_COMMENT: Final = re.compile(r"<!--\s+/?wp:.*?-->\n?", re.DOTALL)
_COMMANDS: Final = re.compile(r"<!--(?:nextpage|noteaser)-->")
_HAS_BLOCKS: Final = "<!-- wp:"
_BLOCKS: Final = frozenset(
    re.split(
        " ",
        "address article aside blockquote caption col colgroup dd details div dl dt fieldset figcaption "
        "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li map menu nav ol p section summary "
        "table tbody td tfoot th thead tr ul",
    )
)
_WITHOUT_TEXT: Final = frozenset(
    re.split(
        " ",
        "colgroup dl map menu ol table tbody tfoot thead tr ul",
    )
)
"""Elements in which text is only white space between others."""
_LINES: Final = frozenset(
    re.split(
        " ",
        "address dt figcaption h1 h2 h3 h4 h5 h6 legend summary",
    )
)
"""Elements with lines and without paragraphs."""
_VOID: Final = frozenset({"col", "hr"})
_TOKEN: Final = re.compile(
    r"(?P<whole><!--.*?(?:-->|\Z)|<(?P<kept>pre|script|style|textarea|svg)(?=[\s/>]).*?(?:</(?P=kept)\s*>|\Z))"
    r"|<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:-]*)(?=[\s/>])(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL | re.IGNORECASE,
)
_BREAK: Final = "\x00"
"""Stands for a line end inside of a tag; bodies have it otherwise only as a forbidden character."""
_PARAGRAPHS: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_SPACES: Final = " \t\n\r\0\x0b\f"
"""What PHP trims. The ideographic space that begins a Japanese paragraph stays."""
_LINE_END: Final = re.compile(r"(<br\s*/?>)?[ \t]*\n[ \t]*", re.IGNORECASE)
_SHORTCODE: Final = re.compile(
    r"(?<!\[)\[(?P<name>caption|wp_caption|embed|audio|video|gallery|playlist|code|sourcecode)(?P<attributes>(?:\s[^\[\]]*+)?+)\]"
)
_PICTURE: Final = re.compile(r"\s*((?:<a\s[^>]*>\s*)?<img\s[^>]*>(?:\s*</a>)?)(.*)", re.DOTALL | re.IGNORECASE)
_LONE_ADDRESS: Final = re.compile(r"(?m)^[ \t]*(https?://[^\s<>\"]+)[ \t]*$")
_LEFT: Final = re.compile(r"(?<!\[)\[(?P<name>[a-zA-Z][\w-]{1,60})(?P<attributes>\s[^\[\]]*+)?/?\](?!\])", re.ASCII)
_ESCAPED: Final = re.compile(r"\[(\[(?:caption|wp_caption|embed|audio|video|gallery|playlist)(?:\s[^\[\]]*+)?\])\]")
"""A shortcode that WordPress knows, with a second pair of brackets: it shows the shortcode itself."""
_LEFT_END: Final = re.compile(r"\[/([a-zA-Z][\w-]{1,60})\]", re.ASCII)
_CODE: Final = re.compile(r"<(pre|code|script|style|textarea)(?=[\s/>]).*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_MOST_NAMED: Final = 20
"""Of the shortcodes and of the blocks of one body."""
_PLAYED: Final = ("src", "mp3", "m4a", "ogg", "wav", "flac", "mp4", "m4v", "webm", "ogv", "wmv", "flv")


class StoredBody(NamedTuple):
    """A body as HTML.

    Attributes:
        body: the part before the mark ``<!--more-->``, or all.
        more: the part after it.
        more_title: the text of the link that the mark states.
        unshown: its parts that only the WordPress itself could show.
    """

    body: str
    more: str = ""
    more_title: str = ""
    unshown: tuple[Unshown, ...] = ()


class Surroundings(NamedTuple):
    """The parts of other records that a body shows.

    Attributes:
        post_id: the number of its post.
        patterns: each published synced pattern's source, by its number.
        files: the files that its galleries name, by their numbers.
        footnotes: the texts of its footnotes, as JSON.
    """

    post_id: str = ""
    patterns: Mapping[str, str] = {}
    files: Mapping[str, Attachment] = {}
    footnotes: str = ""


NOTHING: Final = Surroundings()


def content(source: str, around: Surroundings = NOTHING) -> StoredBody:
    """Return the HTML of a body as WordPress stores it."""
    unshown: list[Unshown] = []
    blocks = _HAS_BLOCKS in source
    source = with_patterns(source, around.patterns, unshown)
    source = with_footnotes(source, around.footnotes, unshown)
    unshown += [Unshown(Lack.BLOCK, name) for name in empty_blocks(source)[:_MOST_NAMED]]
    found = _find_more(source)
    parts = [source] if found is None else [source[: found.start()], source[found.end() :]]
    galleries = Galleries(around.files, around.post_id, unshown)
    shown = [_html(part, galleries, blocks=blocks) for part in parts]
    unshown += [Unshown(Lack.SHORTCODE, name) for name in _left_shortcodes(shown)]
    shown = [_ESCAPED.sub(r"\1", each) if "[[" in each else each for each in shown]
    named = tuple(dict.fromkeys(unshown))
    if found is None:
        return StoredBody(shown[0], unshown=named)
    return StoredBody(shown[0], shown[1], found[1].strip(), named)


def html(source: str) -> str:
    """Return a text as WordPress stores it as HTML, without the division at ``<!--more-->``."""
    return _html(source, Galleries({}, "", []), blocks=_HAS_BLOCKS in source)


def _html(source: str, galleries: Galleries, *, blocks: bool) -> str:
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    source = _COMMANDS.sub("", source)
    if "[" in source:
        source = "".join(_without_shortcodes(source, galleries))
    source = _LONE_ADDRESS.sub(_linked, source)
    if blocks:
        return _without_block_comments(source).strip("\n")
    return paragraphs(source)


def _find_more(source: str) -> re.Match[str] | None:
    """Return the mark that divides a body; nothing after the last end of a comment is one."""
    return _MORE.search(source, 0, source.rfind("-->") + len("-->")) if "<!--more" in source else None


def _without_block_comments(source: str) -> str:
    # After the last comment's end, each beginning would be followed to the end of the text.
    end = source.rfind("-->") + len("-->\n")
    return _BLOCK_COMMENT.sub("", source[:end]) + source[end:]


def _left_shortcodes(shown: list[str]) -> list[str]:
    """Return the names of shortcodes that stayed as text, each once."""
    found: dict[str, None] = {}
    for text in shown:
        if "[" not in text:
            continue
        plain = _CODE.sub("", text)
        ended = set(_LEFT_END.findall(plain))
        for each in _LEFT.finditer(plain):
            if each["name"] in ended or "=" in (each["attributes"] or ""):
                found[each["name"]] = None
    return list(found)[:_MOST_NAMED]


def _linked(found: re.Match[str]) -> str:
    address = escape(found[1].replace("&amp;", "&"))
    return f'<a href="{address}">{address}</a>'


def _without_shortcodes(source: str, galleries: Galleries) -> Iterator[str]:
    """Yield a body with elements in place of the shortcodes that are content."""
    done = 0
    endless: set[str] = set()
    for found in _SHORTCODE.finditer(source):
        if found.start() < done:
            continue
        end_tag = f"[/{found['name']}]"
        if found["name"] in NAMES:
            end = found.end() if source.startswith(end_tag, found.end()) else -1
            shown = galleries.html(found["name"], found["attributes"])
        else:
            end = -1 if end_tag in endless else source.find(end_tag, found.end())
            if end < 0:
                endless.add(end_tag)
            inside = None if end < 0 else source[found.end() : end]
            shown = _shortcode(found["name"], found["attributes"], inside)
        if shown is None:
            continue
        yield source[done : found.start()]
        yield shown
        done = found.end() if end < 0 else end + len(end_tag)
    yield source[done:]


def _shortcode(name: str, written: str, inside: str | None) -> str | None:
    """Return a shortcode as HTML; ``None`` if it remains text."""
    attributes = attributes_of(written)
    if name in {"caption", "wp_caption"}:
        return None if inside is None else _caption(attributes, inside)
    if name in {"code", "sourcecode"}:
        return None if inside is None else f"<pre><code>{_escaped(inside.strip(chr(10)))}</code></pre>"
    addresses = [inside or attributes.get("src", "")] if name == "embed" else map(attributes.get, _PLAYED)
    address = next((each.strip() for each in addresses if each and each.strip()), "")
    return f"\n{address}\n" if address.startswith(("http://", "https://")) else None


def _escaped(code: str) -> str:
    return code.replace("<", "&lt;").replace(">", "&gt;")


def _caption(attributes: dict[str, str], inside: str) -> str:
    parts = _PICTURE.fullmatch(inside)
    picture, text = (parts[1], parts[2].strip()) if parts else (inside.strip(), "")
    text = text or attributes.get("caption", "")
    return f"<figure>{picture}<figcaption>{text}</figcaption></figure>" if text else f"<figure>{picture}</figure>"


def paragraphs(source: str) -> str:
    """Return HTML with paragraphs for blank lines and ``<br>`` for line ends, as WordPress shows a body."""
    if not source.strip():
        return ""
    source = source.replace(_BREAK, "\ufffd")
    writer = _Paragraphs()
    done = 0
    for found in _TOKEN.finditer(source):
        writer.text(source[done : found.start()])
        done = found.end()
        name = (found["name"] or "").lower()
        if found["kept"]:
            writer.whole(found[0])
        elif name in _BLOCKS:
            writer.block(name, found[0], is_end=bool(found["end"]))
        else:
            writer.text(found[0].replace("\n", _BREAK))
    writer.text(source[done:])
    return writer.finished()


class _Paragraphs:
    """Collects text between blocks, and writes it as paragraphs or lines."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._text: list[str] = []
        self._open: list[str] = []
        self._opened: Counter[str] = Counter()

    def text(self, text: str) -> None:
        self._text.append(text)

    def whole(self, element: str) -> None:
        """Write an element and its text unchanged."""
        self._flush()
        self._out.append(element)

    def block(self, name: str, tag: str, *, is_end: bool) -> None:
        self._flush()
        self._out.append(tag)
        if name in _VOID:
            return
        if not is_end:
            self._open.append(name)
            self._opened[name] += 1
        elif self._opened[name]:
            closed = ""
            while closed != name:
                closed = self._open.pop()
                self._opened[closed] -= 1

    def finished(self) -> str:
        self._flush()
        return "\n".join(filter(None, self._out)).replace(_BREAK, "\n")

    def _flush(self) -> None:
        text = "".join(self._text)
        self._text = []
        inside = self._open[-1] if self._open else ""
        if not text.strip(_SPACES):
            return
        if inside in _WITHOUT_TEXT:
            self._out.append(text.strip("\n"))
            return
        parts = [part for part in _PARAGRAPHS.split(text.strip(_SPACES)) if part.strip(_SPACES)]
        lines = [_LINE_END.sub(_line_end, part.strip(_SPACES)) for part in parts]
        if inside == "p":
            self._out.append("</p>\n<p>".join(lines))
        elif inside in _LINES:
            self._out.append("<br>\n<br>\n".join(lines))
        elif inside in {"", "blockquote", "section", "article"} or len(lines) > 1:
            self._out += [f"<p>{line}</p>" for line in lines]
        else:
            self._out += lines


def _line_end(found: re.Match[str]) -> str:
    return f"{found[1]}\n" if found[1] else "<br>\n"
