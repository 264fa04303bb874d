"""Elements that stand in a line of text, turned into runs."""

from __future__ import annotations

from collections.abc import Callable

from exporter.render.elements import (
    DROPPED,
    PLAIN_INLINE,
    RUBY,
    TAG_NAME,
    styled_as,
)
from exporter.render.escape import escape_text, link_target
from exporter.render.htmltree import Element
from exporter.render.links import safe_image_url, safe_url
from exporter.render.runs import SPACES, Mark, Marks, Piece, Runs, collapse

_MARKS_MAX = 24
_DELIMITED = frozenset({"strong", "em", "del"})
_SYNONYMS = {"b": "strong", "i": "em", "s": "del", "strike": "del"}


def enter_inline(element: Element, marks: Marks, runs: Runs) -> Marks | None:
    """Add what the element itself says; return the marks its children stand under, or ``None`` when all is said."""
    tag = element.tag
    leaf = _LEAVES.get(tag)
    if leaf is not None:
        return leaf(element, marks, runs)
    if tag in DROPPED:
        return None
    return _with_tag(tag, marks) if tag not in PLAIN_INLINE else _with_tag(styled_as(element), marks)


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
    tag = _SYNONYMS.get(tag, tag)
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
    alt = collapse(element.attributes.get("alt", ""))
    url = safe_image_url(element.attributes.get("src", ""))
    if url is None:
        runs.text(alt, marks)
        return
    described = escape_text(alt, "[", "]", in_brackets=True)
    runs.add(Piece.RAW, f"![{described}]({link_target(url, element.attributes.get('title', ''))})", marks)


def _code(element: Element, marks: Marks, runs: Runs) -> Marks | None:
    if not all(isinstance(child, str) for child in element.children):
        return _with_tag("code", marks)
    text = element.text()
    content = collapse(text)
    if content and not any(mark.tag == "code" for mark in marks):
        runs.text(text[: len(text) - len(text.lstrip(SPACES))], marks)
        runs.add(Piece.CODE, content, marks)
        runs.text(text[len(text.rstrip(SPACES)) :], marks)
    else:
        runs.text(text, marks)
    return None


_LEAVES: dict[str, Callable[[Element, Marks, Runs], Marks | None]] = {
    "a": _link,
    "br": _line_break,
    "code": _code,
    "img": _image,
}
