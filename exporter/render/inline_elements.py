"""Elements that stand in a line of text, turned into runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from exporter.render.elements import (
    DEL_TAGS,
    DROPPED,
    EM_TAGS,
    PLAIN_INLINE,
    RUBY,
    STRONG_TAGS,
    TAG_NAME,
    styled_as,
)
from exporter.render.escape import escape_text, link_target
from exporter.render.htmltree import Element
from exporter.render.links import safe_image_url, safe_url
from exporter.render.runs import DEL, EM, SPACES, STRONG, Mark, Marks, Piece, Runs, collapse

_MARKS_MAX = 24


def enter_inline(element: Element, marks: Marks, runs: Runs) -> Marks | None:
    """Add what the element itself says; return the marks its children stand under, or ``None`` when all is said."""
    tag = element.tag
    leaf = _LEAVES.get(tag)
    if leaf is not None:
        return leaf(element, marks, runs)
    if tag in DROPPED:
        return None
    mark = _mark_of(element)
    if mark is None or mark in marks or len(marks) >= _MARKS_MAX:
        return marks
    return (*marks, mark)


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


def _mark_of(element: Element) -> Mark | None:
    tag = element.tag
    if tag in PLAIN_INLINE:
        tag = styled_as(element) or ""
    if tag in STRONG_TAGS:
        return STRONG
    if tag in EM_TAGS:
        return EM
    if tag in DEL_TAGS:
        return DEL
    if tag in RUBY:
        return Mark("tag", tag)
    return tag_mark(tag) if TAG_NAME.fullmatch(tag) else None


@lru_cache(maxsize=256)
def tag_mark(tag: str) -> Mark:
    """Return the one mark for an HTML tag that Markdown lacks; it is written without attributes."""
    return Mark("tag", tag)


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
    mark = tag_mark("code")
    if not all(isinstance(child, str) for child in element.children):
        return marks if mark in marks or len(marks) >= _MARKS_MAX else (*marks, mark)
    text = element.text()
    content = collapse(text)
    if content and mark not in marks:
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
