"""Inline elements as runs of text with marks, and the runs of a paragraph as a line of Markdown. Pure.

Since the runs are flat, crossing, nested and touching tags need no special rules: the writer opens and closes marks
wherever neighbouring runs differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import Final

from exporter.html.anchors import ANCHOR, FOOTNOTE
from exporter.html.dialects import COMMONMARK, HARD_BREAK, Dialect
from exporter.html.links import safe_image_url, safe_url
from exporter.html.markdown_escape import (
    can_delimit,
    code_span,
    enclosed_addresses,
    escape_line_start,
    escape_text,
    link_target,
)
from exporter.html.task_lists import TICK
from exporter.html.text import collapse
from exporter.html.tree import DROPPED, PLAIN_INLINE, RUBY, TAG_NAME, Element, styled_as

_WHITE = " \t\n\r\f"
"""The white space of HTML; an ideographic or no-break space is text."""

_SPACES = re.compile(f"[{_WHITE}]+")
_DELIMITERS: Final = {"strong": "**", "em": "*", "del": "~~"}
_LINE_END_INSIDE: Final = re.compile(r"\n(?!\Z)")
_ADDRESS_AT_END: Final = re.compile(r"(?<!\]\()(?<!\")(?:(?:https?|ftp)://|www\.)[^\s<\"]*\Z")


class RunKind(Enum):
    """The kinds of run: text, a space or line end between texts, a line break, a code span, finished Markdown."""

    TEXT = 1
    SPACE = 2
    BREAK = 3
    CODE = 4
    RAW = 5


@dataclass(slots=True, eq=False)
class Mark:
    """A mark that applies to runs: one object for each element, so that two adjacent elements stay separate.

    Attributes:
        kind: ``strong``, ``em``, ``del``, ``link``; other tags are ``tag``.
        tag: the HTML tag with the same meaning.
        target: the text in a link's parentheses.
        attributes: the attributes in HTML, each after a space.
    """

    kind: str
    tag: str
    target: str = ""
    attributes: str = ""

    @property
    def opening(self) -> str:
        """The tag that begins the mark in HTML."""
        return f"<{self.tag}{self.attributes}>"


Marks = tuple[Mark, ...]
Run = tuple[RunKind, str, Marks]


class Runs:
    """Collects the runs of one block; white space collapses as in browsers, or line ends are kept as breaks."""

    __slots__ = ("_keep_lines", "_spaced", "dialect", "runs")

    def __init__(self, dialect: Dialect = COMMONMARK, *, keep_lines: bool = False) -> None:
        self.dialect = dialect
        self._keep_lines = keep_lines
        self.runs: list[Run] = []
        self._spaced = True

    def text(self, text: str, marks: Marks) -> None:
        """Add a text node; white space that contains a line end becomes a line end."""
        if not text:
            return
        if _SPACES.search(text) is None:
            self.runs.append((RunKind.TEXT, text, marks))
            self._spaced = False
        elif self._keep_lines and "\n" in text:
            first, *lines = text.split("\n")
            self._words(first, marks)
            for line in lines:
                self.line_break()
                self._words(line, marks)
        else:
            self._words(text, marks)

    def _words(self, text: str, marks: Marks) -> None:
        words = text.strip(_WHITE)
        if not words:
            self._space(text)
            return
        start = text.index(words[0])
        self._space(text[:start])
        self.runs.append((RunKind.TEXT, _SPACES.sub(_one_space, words), marks))
        self._spaced = False
        if text[-1] in _WHITE:
            self._space(text[len(text.rstrip(_WHITE)) :])

    def line_break(self) -> None:
        """Add a ``<br>``."""
        self._trim()
        self.runs.append((RunKind.BREAK, "", ()))
        self._spaced = True

    def add(self, piece: RunKind, value: str, marks: Marks) -> None:
        """Add a code span (its text) or finished Markdown."""
        self.runs.append((piece, value, marks))
        self._spaced = False

    def take(self) -> list[Run]:
        """Return the runs so far and start again."""
        self._trim()
        taken, self.runs, self._spaced = self.runs, [], True
        return taken

    def _space(self, spaces: str) -> None:
        if spaces and not self._spaced:
            self.runs.append((RunKind.SPACE, "\n" if "\n" in spaces else " ", ()))
            self._spaced = True

    def _trim(self) -> None:
        if self.runs and self.runs[-1][0] is RunKind.SPACE:
            self.runs.pop()


def _one_space(found: re.Match[str]) -> str:
    """Return white space as one space, or as one line end if it contains one."""
    return "\n" if "\n" in found[0] else " "


def trimmed(runs: list[Run]) -> list[Run]:
    """Return runs without breaks at both ends."""
    start, end = 0, len(runs)
    while start < end and runs[start][0] is RunKind.BREAK:
        start += 1
    while end > start and runs[end - 1][0] is RunKind.BREAK:
        end -= 1
    return runs[start:end]


def paragraphs(runs: list[Run]) -> list[list[Run] | int]:
    """Split runs at two or more successive breaks, which browsers show as blank lines.

    Returns paragraphs, and between them the number of additional breaks if there are any. A single break at the
    end is invisible and therefore dropped.
    """
    if len(runs) == 1 and runs[0][0] is not RunKind.BREAK:
        return [runs]
    found: list[list[Run] | int] = []
    current: list[Run] = []
    breaks = 0
    for run in runs:
        if run[0] is RunKind.BREAK:
            breaks += 1
            continue
        if breaks == 1 and current:
            current.append((RunKind.BREAK, "", ()))
        elif breaks:
            found += [current, breaks - 2] if current else [breaks]
            current = []
        breaks = 0
        current.append(run)
    found += [current, breaks - 1]
    return [part for part in found if part and part != -1]


_FINISHED: Final = (RunKind.CODE, RunKind.RAW)
_END: Final[Run] = (RunKind.TEXT, "", ())


@dataclass(slots=True, eq=False)
class _Span:
    """A mark's opening and closing at these tokens; ``delimiter`` is decided before writing."""

    mark: Mark
    start: int
    end: int = 0
    delimiter: bool = False

    def edge(self, *, opens: bool) -> str:
        """Return the Markdown that opens or closes the mark."""
        if self.mark.kind == "link":
            return "[" if opens else f"]({self.mark.target})"
        if self.delimiter:
            return _DELIMITERS[self.mark.kind]
        return self.mark.opening if opens else f"</{self.mark.tag}>"


@dataclass(slots=True, eq=False)
class _Token:
    """Part of a line; a span's opening or closing, or a run; ``first`` and ``last`` are its outer characters."""

    piece: RunKind | None
    value: str
    first: str
    last: str
    span: _Span | None = None
    opens: bool = False
    in_link: bool = False


def render_inline(runs: list[Run], dialect: Dialect = COMMONMARK, *, one_line: bool = False) -> str:
    """Return the Markdown of one paragraph's runs.

    Args:
        runs: collected by :class:`Runs`.
        dialect: of the reader.
        one_line: for headings and table cells: breaks become ``<br>`` and line ends spaces.
    """
    if one_line:
        runs = [(piece, value.replace("\n", " "), marks) for piece, value, marks in runs]
    line_break = "<br>" if one_line else dialect.line_break
    for piece, _, marks in runs:
        if marks or piece in _FINISHED:
            break
    else:
        return _with_safe_end(_plain(runs, line_break, dialect, one_line=one_line))
    tokens, spans = _tokens(_with_space_marks(runs))
    _enclose_at_edges(tokens)
    _choose_delimiters(tokens, spans)
    text, line_starts = _write(tokens, line_break, dialect)
    for start in [] if one_line else reversed(line_starts):
        text = escape_line_start(text, start)
    return _with_safe_end(text)


def _with_safe_end(text: str) -> str:
    """Write the last break as a tag if only ideographic or similar spaces follow, which some parsers strip."""
    if not text or not text[-1].isspace():
        return text
    shown = text.rstrip()
    end = len(shown)
    if end == len(text) or text[end] != "\n" or not shown.endswith("\\"):
        return text
    return f"{shown[:-1]}<br>{text[end:]}"


def _break_after(text: str, line_break: str) -> str:
    """Return the Markdown for a line break after a text.

    A backslash after a bare address would become part of the link that GFM makes of it. Some parsers do not read three
    backslashes in a row.
    """
    if line_break != HARD_BREAK:
        return line_break
    if text.endswith("\\") or (("://" in text or "www." in text) and _ADDRESS_AT_END.search(text)):
        return "<br>\n"
    return line_break


def _plain(runs: list[Run], line_break: str, dialect: Dialect, *, one_line: bool) -> str:
    """Write runs without marks, as most paragraphs are, without the steps below."""
    segments = "".join(["\0" if piece is RunKind.BREAK else value for piece, value, _ in runs]).split("\0")
    escaped = [dialect.escaped(escape_text(segment, "", "")) for segment in segments]
    if not one_line:
        escaped = ["\n".join(map(escape_line_start, segment.split("\n"))) for segment in escaped]
    if len(escaped) == 1:
        return escaped[0]
    return "".join([f"{line}{_break_after(line, line_break)}" for line in escaped[:-1]]) + escaped[-1]


def _with_space_marks(runs: list[Run]) -> list[Run]:
    """Apply to each space the marks that its neighbours share, so that no mark begins or ends with a space."""
    found: list[Run] = []
    for number, run in enumerate(runs):
        piece = run[0]
        if (piece is RunKind.SPACE or piece is RunKind.BREAK) and found and number + 1 < len(runs):
            before, after = found[-1][2], runs[number + 1][2]
            # Spaces and line breaks have no marks themselves.
            found.append((piece, run[1], before[: _shared(before, after)]) if before and after else run)
        else:
            found.append(run)
    return found


def _shared(one: Marks, other: Marks) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right:
            break
        count += 1
    return count


def _tokens(runs: list[Run]) -> tuple[list[_Token], list[_Span]]:
    """Return the line's tokens, and its spans in the order they open."""
    tokens: list[_Token] = []
    spans: list[_Span] = []
    under: list[_Span] = []
    current: Marks = ()
    in_link = False
    for piece, value, marks in (*runs, _END):
        if marks is not current:
            keep = _shared(current, marks)
            while len(under) > keep:
                span = under.pop()
                span.end = len(tokens)
                tokens.append(_Token(None, "", *_EDGES[span.mark.kind][1], span))
            for mark in marks[keep:]:
                span = _Span(mark, len(tokens))
                under.append(span)
                tokens.append(_Token(None, "", *_EDGES[mark.kind][0], span, opens=True))
            spans += under[keep:]
            current = marks
            in_link = "link" in [mark.kind for mark in marks]
        if value or piece is RunKind.BREAK:
            _append_run(tokens, piece, value, in_link=in_link)
    return tokens, spans


_EDGES: Final = {
    "link": (("[", "["), ("]", ")")),
    "tag": (("<", ">"), ("<", ">")),
    **dict.fromkeys(_DELIMITERS, (("*", "*"), ("*", "*"))),
}
"""The outer characters with which a mark opens and closes, by the kind of the mark."""


def _append_run(tokens: list[_Token], piece: RunKind, value: str, *, in_link: bool) -> None:
    """Add a run; texts and the spaces between them form one token, so that whole lines are escaped."""
    if piece is RunKind.SPACE:
        piece = RunKind.TEXT
    if piece is RunKind.TEXT and tokens and tokens[-1].piece is RunKind.TEXT:
        tokens[-1].value += value
        tokens[-1].last = value[-1]
    elif piece is RunKind.BREAK:
        tokens.append(_Token(piece, "", "", ""))
    elif piece is RunKind.CODE:
        tokens.append(_Token(piece, value, "`", "`", in_link=in_link))
    else:
        tokens.append(_Token(piece, value, value[0], value[-1], in_link=in_link))


def _enclose_at_edges(tokens: list[_Token]) -> None:
    """Set the outer characters of texts that begin or end with an address between ``<`` and ``>``."""
    for at, token in enumerate(tokens, 1):
        value = token.value
        if token.piece is RunKind.TEXT and ("://" in value or "www." in value) and not token.in_link:
            for start, end in enclosed_addresses(value, tokens[at].first if at < len(tokens) else ""):
                is_whole = "://" in value[start:end]
                token.first = "<" if is_whole and start == 0 else token.first
                token.last = ">" if is_whole and end == len(value) else token.last


def _choose_delimiters(tokens: list[_Token], spans: list[_Span]) -> None:
    """Decide for each span, outer spans first, whether asterisks and tildes work at both its ends.

    Two delimiters never touch, because they would merge into one with another meaning.
    """
    for span in spans:
        start, end = span.start, span.end
        if span.mark.kind in _DELIMITERS:
            span.delimiter = _works(tokens, start, start - 1, start + 1) and _works(tokens, end, end + 1, end - 1)


def _works(tokens: list[_Token], at: int, outer: int, inner: int) -> bool:
    """Return whether a delimiter at ``at`` works, given the tokens outside and inside of it."""
    for neighbour in (outer, inner):
        span = tokens[neighbour].span if 0 <= neighbour < len(tokens) else None
        if span is not None and span.delimiter:
            return False
    outside = "" if not 0 <= outer < len(tokens) else tokens[outer].last if outer < at else tokens[outer].first
    inside = tokens[inner].first if inner > at else tokens[inner].last
    return can_delimit(inside, outside)


def _write(tokens: list[_Token], line_break: str, dialect: Dialect) -> tuple[str, list[int]]:
    """Return the line, and the positions at which literal text begins a line."""
    parts: list[str] = []
    line_starts: list[int] = []
    length = 0
    last = ""
    for at, token in enumerate(tokens, 1):
        if token.span is not None:
            text = token.span.edge(opens=token.opens)
        elif token.piece is RunKind.TEXT:
            after = tokens[at].first if at < len(tokens) else ""
            text = dialect.escaped(escape_text(token.value, last, after, in_brackets=token.in_link))
            if last == "]" and text[0] in "([:":  # after a footnote's mark it would begin a link or a definition
                text = f"\\{text}"
            if not last or last == "\n":
                line_starts.append(length)
            if "\n" in text:
                line_starts.extend(length + found.end() for found in _LINE_END_INSIDE.finditer(text))
        elif token.piece is RunKind.BREAK:
            text = _break_after(parts[-1] if parts else "", line_break)
        elif token.piece is RunKind.CODE:
            text = _code(token, last, dialect)
        else:
            text = token.value
        parts.append(text)
        length += len(text)
        last = "" if token.piece is RunKind.BREAK else text[-1]
    return "".join(parts), line_starts


def _code(token: _Token, before: str, dialect: Dialect) -> str:
    """Write a code span, or a tag if it follows another one directly or contains only spaces."""
    if before != "`" and token.value.strip():
        return code_span(token.value)
    text = escape_text(token.value, ">", "<", in_brackets=token.in_link)
    return f"<code>{dialect.escaped(text)}</code>"


_MAX_OPEN_MARKS = 24
_DELIMITED = frozenset({"strong", "em", "del"})
_SYNONYMS = {"b": "strong", "i": "em", "s": "del", "strike": "del"}


def enter_inline(element: Element, marks: Marks, runs: Runs) -> Marks | None:
    """Add the element's own content; return the marks of its children, or ``None`` if they are not shown."""
    tag = element.tag
    leaf = _LEAVES.get(tag)
    if leaf is not None:
        return leaf(element, marks, runs)
    if tag in DROPPED:
        return None
    if tag == "abbr":
        return _with_tag(tag, marks, _title(element))
    if tag not in PLAIN_INLINE:
        return _with_tag(tag, marks)
    if TICK in element.attributes:
        runs.add(RunKind.RAW, f"[{element.attributes[TICK]}]", marks)
        return None
    return _with_tag(styled_as(element), marks)


def collect(element: Element, runs: Runs, marks: Marks) -> None:
    """Add all descendants of an element without blocks."""
    todo = [(iter(element.children), marks)]
    while todo:
        children, under = todo[-1]
        for child in children:
            if isinstance(child, str):
                runs.text(child, under)
                continue
            below = enter_inline(child, under, runs)
            if below is not None and child.children:
                todo.append((iter(child.children), below))
                break
        else:
            todo.pop()


def _title(element: Element) -> str:
    """Return the title as an attribute in HTML after a space, or an empty text."""
    title = collapse(element.attributes.get("title", ""))
    return f' title="{escape(title)}"' if title else ""


def _with_tag(tag: str, marks: Marks, attributes: str = "") -> Marks:
    """Add a mark, unless it already applies, there are too many, or CommonMark does not know the tag."""
    tag = _SYNONYMS.get(tag, tag)
    if not tag or len(marks) >= _MAX_OPEN_MARKS or (tag not in RUBY and tag in [mark.tag for mark in marks]):
        return marks
    if tag in _DELIMITED:
        return (*marks, Mark(tag, tag))
    return (*marks, Mark("tag", tag, attributes=attributes)) if TAG_NAME.fullmatch(tag) else marks


def _line_break(_element: Element, _marks: Marks, runs: Runs) -> None:
    runs.line_break()


def _link(element: Element, marks: Marks, _runs: Runs) -> Marks:
    url = safe_url(element.attributes.get("href", ""))
    outer = tuple([mark for mark in marks if mark.kind != "link"]) if marks else marks
    if url is None or len(outer) >= _MAX_OPEN_MARKS:
        return marks
    target = link_target(url, element.attributes.get("title", ""))
    return (*outer, Mark("link", "a", target, f' href="{escape(url)}"{_title(element)}'))


def _image(element: Element, marks: Marks, runs: Runs) -> None:
    url, alt = safe_image_url(element.attributes.get("src", "")), collapse(element.attributes.get("alt", ""))
    if url is None:
        runs.text(alt, marks)
    else:
        described = runs.dialect.escaped(escape_text(alt, "[", "]", in_brackets=True))
        runs.add(RunKind.RAW, f"![{described}]({link_target(url, element.attributes.get('title', ''))})", marks)


def _code_runs(element: Element, marks: Marks, runs: Runs) -> Marks | None:
    if not all(isinstance(child, str) for child in element.children):
        return _with_tag("code", marks)
    text = element.text()
    content = collapse(text)
    if content and not any(mark.tag == "code" for mark in marks):
        runs.text(text[: len(text) - len(text.lstrip(_WHITE))], marks)
        runs.add(RunKind.CODE, content, marks)
        runs.text(text[len(text.rstrip(_WHITE)) :], marks)
    else:
        runs.text(text, marks)
    return None


def _anchor(element: Element, marks: Marks, runs: Runs) -> None:
    runs.add(RunKind.RAW, f'<a id="{escape(element.attributes["id"])}"></a>', marks)


def _footnote(element: Element, marks: Marks, runs: Runs) -> None:
    runs.add(RunKind.RAW, f"[^{element.attributes['label']}]", marks)


_LEAVES: dict[str, Callable[[Element, Marks, Runs], Marks | None]] = {
    ANCHOR: _anchor,
    FOOTNOTE: _footnote,
    "a": _link,
    "br": _line_break,
    "code": _code_runs,
    "img": _image,
}
