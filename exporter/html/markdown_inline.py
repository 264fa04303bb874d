"""A paragraph's runs as a line of Markdown, and the runs that inline elements give. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Final

from exporter.html.anchors import ANCHOR
from exporter.html.footnotes import FOOTNOTE
from exporter.html.links import safe_image_url, safe_url
from exporter.html.markdown_escape import (
    can_delimit,
    code_span,
    enclosed_addresses,
    escape_line_start,
    escape_text,
    link_target,
)
from exporter.html.markdown_runs import SPACES, Mark, Marks, Run, RunKind, Runs
from exporter.html.tags import DROPPED, PLAIN_INLINE, RUBY, TAG_NAME
from exporter.html.text import collapse
from exporter.html.tree import Element, styled_as

DELIMITERS: Final = {"strong": "**", "em": "*", "del": "~~"}
LINE_END_INSIDE: Final = re.compile(r"\n(?!\Z)")
_FINISHED: Final = (RunKind.CODE, RunKind.RAW)
_END: Final[Run] = (RunKind.TEXT, "", ())
HARD_BREAK: Final = "\\\n"
"""What breaks a line in CommonMark. Older readers of Markdown know two spaces at its end alone."""
_ADDRESS_AT_END: Final = re.compile(r"(?<!\]\()(?<!\")(?:(?:https?|ftp)://|www\.)[^\s<\"]*\Z")


@dataclass(slots=True, eq=False)
class _Span:
    """One place where a mark is opened and closed, at these tokens; ``delimiter`` is decided before writing."""

    mark: Mark
    start: int
    end: int = 0
    delimiter: bool = False

    def opening(self) -> str:
        if self.mark.kind == "link":
            return "["
        return DELIMITERS[self.mark.kind] if self.delimiter else f"<{self.mark.tag}>"

    def closing(self) -> str:
        if self.mark.kind == "link":
            return f"]({self.mark.target})"
        return DELIMITERS[self.mark.kind] if self.delimiter else f"</{self.mark.tag}>"


@dataclass(slots=True, eq=False)
class _Token:
    """A step of the line: a span's opening or closing, or a run; ``first`` and ``last`` are its outer characters."""

    piece: RunKind | None
    value: str
    first: str
    last: str
    span: _Span | None = None
    opens: bool = False
    in_link: bool = False


def render_inline(runs: list[Run], line_break: str = HARD_BREAK, *, one_line: bool = False) -> str:
    """Return the Markdown of one paragraph's runs.

    Args:
        runs: what :class:`~exporter.html.markdown_runs.Runs` collected.
        line_break: what breaks a line.
        one_line: for headings and table cells: breaks become ``<br>`` and line ends spaces.
    """
    if one_line:
        runs = [(piece, value.replace("\n", " "), marks) for piece, value, marks in runs]
    line_break = "<br>" if one_line else line_break
    if all(not marks and piece not in _FINISHED for piece, _, marks in runs):
        return with_safe_end(_plain(runs, line_break, one_line=one_line))
    tokens, spans = _tokens(_with_space_marks(runs))
    _enclose_at_edges(tokens)
    _choose_delimiters(tokens, spans)
    text, line_starts = _write(tokens, line_break)
    for start in [] if one_line else reversed(line_starts):
        text = escape_line_start(text, start)
    return with_safe_end(text)


def with_safe_end(text: str) -> str:
    """Write the last break as a tag where only ideographic and the like spaces follow: some parsers strip these."""
    shown = text.rstrip()
    end = len(shown)
    if end == len(text) or text[end] != "\n" or not shown.endswith("\\"):
        return text
    return f"{shown[:-1]}<br>{text[end:]}"


def break_behind(text: str, line_break: str) -> str:
    """Return what breaks a line behind a text.

    A backslash would be part of a bare address, which GFM makes a link of, and some do not read three of them in a row.
    """
    if line_break != HARD_BREAK:
        return line_break
    if text.endswith("\\") or (("://" in text or "www." in text) and _ADDRESS_AT_END.search(text)):
        return "<br>\n"
    return line_break


def _plain(runs: list[Run], line_break: str, *, one_line: bool) -> str:
    """Write runs without marks: most paragraphs have none, and need none of the steps below."""
    segments = "".join("\0" if piece is RunKind.BREAK else value for piece, value, _ in runs).split("\0")
    escaped = [escape_text(segment, "", "") for segment in segments]
    if not one_line:
        escaped = ["\n".join(escape_line_start(line) for line in segment.split("\n")) for segment in escaped]
    return "".join(f"{line}{break_behind(line, line_break)}" for line in escaped[:-1]) + escaped[-1]


def _with_space_marks(runs: list[Run]) -> list[Run]:
    """Put each space under the marks its neighbours share, so that no mark begins or ends with a space."""
    found: list[Run] = []
    for number, (piece, value, marks) in enumerate(runs):
        if (piece is RunKind.SPACE or piece is RunKind.BREAK) and found and number + 1 < len(runs):
            before, after = found[-1][2], runs[number + 1][2]
            found.append((piece, value, before[: _shared(before, after)]))
        else:
            found.append((piece, value, marks))
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
    for piece, value, marks in [*runs, _END]:
        if marks is not current:
            keep = _shared(current, marks)
            while len(under) > keep:
                span = under.pop()
                span.end = len(tokens)
                tokens.append(_edge(span, opens=False))
            for mark in marks[keep:]:
                under.append(_Span(mark, len(tokens)))
                tokens.append(_edge(under[-1], opens=True))
            spans += under[keep:]
            current = marks
            in_link = any(mark.kind == "link" for mark in marks)
        if value or piece is RunKind.BREAK:
            _append_run(tokens, piece, value, in_link=in_link)
    return tokens, spans


def _edge(span: _Span, *, opens: bool) -> _Token:
    if span.mark.kind == "link":
        first, last = ("[", "[") if opens else ("]", ")")
    elif span.mark.kind == "tag":
        first, last = "<", ">"
    else:
        first = last = "*"
    return _Token(None, "", first, last, span, opens)


def _append_run(tokens: list[_Token], piece: RunKind, value: str, *, in_link: bool) -> None:
    """Add a run; texts and the spaces between them become one token, so that escaping sees whole lines."""
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
    """Say which texts begin or end with an address that will be between ``<`` and ``>``, where a mark can be beside."""
    for token, behind in zip(tokens, [*tokens[1:], None], strict=True):
        if token.piece is RunKind.TEXT and not token.in_link:
            for start, end in enclosed_addresses(token.value, behind.first if behind is not None else ""):
                is_whole = "://" in token.value[start:end]
                token.first = "<" if is_whole and start == 0 else token.first
                token.last = ">" if is_whole and end == len(token.value) else token.last


def _choose_delimiters(tokens: list[_Token], spans: list[_Span]) -> None:
    """Decide for each span whether asterisks and tildes work at both its ends, outer spans first.

    Two delimiters never touch: their runs would merge into one with another meaning.
    """
    for span in spans:
        start, end = span.start, span.end
        if span.mark.kind in DELIMITERS:
            span.delimiter = _works(tokens, start, start - 1, start + 1) and _works(tokens, end, end + 1, end - 1)


def _works(tokens: list[_Token], at: int, outer: int, inner: int) -> bool:
    """Tell whether a delimiter at ``at`` faces the right way, given the tokens outside and inside of it."""
    for neighbour in (outer, inner):
        span = tokens[neighbour].span if 0 <= neighbour < len(tokens) else None
        if span is not None and span.delimiter:
            return False
    outside = "" if not 0 <= outer < len(tokens) else tokens[outer].last if outer < at else tokens[outer].first
    inside = tokens[inner].first if inner > at else tokens[inner].last
    return can_delimit(inside, outside)


def _write(tokens: list[_Token], line_break: str) -> tuple[str, list[int]]:
    """Return the line, and where in it literal text begins a line."""
    parts: list[str] = []
    line_starts: list[int] = []
    length = 0
    last = ""
    for at, token in enumerate(tokens):
        after = tokens[at + 1].first if at + 1 < len(tokens) else ""
        if token.span is not None:
            text = token.span.opening() if token.opens else token.span.closing()
        elif token.piece is RunKind.TEXT:
            text = escape_text(token.value, last, after, in_brackets=token.in_link)
            if last == "]" and text[0] in "([:":  # behind a footnote's mark, which would be a link's or a definition
                text = f"\\{text}"
            if not last or last == "\n":
                line_starts.append(length)
            line_starts.extend(length + found.end() for found in LINE_END_INSIDE.finditer(text))
        elif token.piece is RunKind.BREAK:
            text = break_behind(parts[-1] if parts else "", line_break)
        elif token.piece is RunKind.CODE:
            text = _code(token, last)
        else:
            text = token.value
        parts.append(text)
        length += len(text)
        last = "" if token.piece is RunKind.BREAK else text[-1]
    return "".join(parts), line_starts


def _code(token: _Token, before: str) -> str:
    """A code span right behind another's backticks, or holding only spaces, would not be one: the tag is."""
    if before != "`" and token.value.strip():
        return code_span(token.value)
    return f"<code>{escape_text(token.value, '>', '<', in_brackets=token.in_link)}</code>"


_MARKS_MAX = 24
_DELIMITED = frozenset({"strong", "em", "del"})
SYNONYMS = {"b": "strong", "i": "em", "s": "del", "strike": "del"}


def enter_inline(element: Element, marks: Marks, runs: Runs) -> Marks | None:
    """Add what the element itself shows; return the marks of its children, or ``None`` where they are not shown."""
    tag = element.tag
    leaf = _LEAVES.get(tag)
    if leaf is not None:
        return leaf(element, marks, runs)
    if tag in DROPPED:
        return None
    return _with_tag(tag, marks) if tag not in PLAIN_INLINE else _with_tag(styled_as(element), marks)


def is_leaf(element: Element) -> bool:
    """Tell whether :func:`enter_inline` shows all that there is of an element that is not dropped."""
    tag = element.tag
    return tag in {"br", "img", ANCHOR, FOOTNOTE} or (
        tag == "code" and all(isinstance(child, str) for child in element.children)
    )


def collect(element: Element, runs: Runs, marks: Marks) -> None:
    """Add everything below an element that holds no blocks."""
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


def _with_tag(tag: str, marks: Marks) -> Marks:
    """Add a mark, unless the same is there already, there are too many, or CommonMark knows no such tag."""
    tag = SYNONYMS.get(tag, tag)
    if len(marks) >= _MARKS_MAX or (tag not in RUBY and any(mark.tag == tag for mark in marks)):
        return marks
    if tag in _DELIMITED:
        return (*marks, Mark(tag, tag))
    return (*marks, Mark("tag", tag)) if TAG_NAME.fullmatch(tag) else marks


def _line_break(_element: Element, _marks: Marks, runs: Runs) -> None:
    runs.line_break()


def _link(element: Element, marks: Marks, _runs: Runs) -> Marks:
    url = safe_url(element.attributes.get("href", ""))
    outer = tuple(mark for mark in marks if mark.kind != "link")
    if url is None or len(outer) >= _MARKS_MAX:
        return marks
    return (*outer, Mark("link", "a", link_target(url, element.attributes.get("title", ""))))


def _image(element: Element, marks: Marks, runs: Runs) -> None:
    shown = picture(element)
    if shown is None:
        runs.text(collapse(element.attributes.get("alt", "")), marks)
    else:
        runs.add(RunKind.RAW, shown, marks)


def picture(element: Element) -> str | None:
    """Return the Markdown of an ``img``; ``None`` where its address is none that may be shown."""
    url = safe_image_url(element.attributes.get("src", ""))
    if url is None:
        return None
    described = escape_text(collapse(element.attributes.get("alt", "")), "[", "]", in_brackets=True)
    return f"![{described}]({link_target(url, element.attributes.get('title', ''))})"


def _code_runs(element: Element, marks: Marks, runs: Runs) -> Marks | None:
    if not all(isinstance(child, str) for child in element.children):
        return _with_tag("code", marks)
    text = element.text()
    content = collapse(text)
    if content and not any(mark.tag == "code" for mark in marks):
        runs.text(text[: len(text) - len(text.lstrip(SPACES))], marks)
        runs.add(RunKind.CODE, content, marks)
        runs.text(text[len(text.rstrip(SPACES)) :], marks)
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
