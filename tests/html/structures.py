"""Lists, quotes and what they hold, as HTML, and the tree that a reader of Markdown must make of them again."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from lxml.html import HtmlElement, fragment_fromstring

_TABLE: Final = "<table><tr><th>A</th><th>B</th></tr><tr><td>一</td><td>二</td></tr></table>"
_CODE: Final = '<pre><code class="language-python">def f():\n\n    return 1\n</code></pre>'

STRUCTURES: Final = {
    "nested bullets": "<ul><li>い<ul><li>ろ</li><li>は</li></ul></li><li>に</li></ul>",
    "numbers in bullets": "<ul><li>い<ol><li>ろ</li><li>は</li></ol></li><li>に</li></ul>",
    "bullets in numbers": "<ol><li>い<ul><li>ろ</li><li>は</li></ul></li><li>に</li></ol>",
    "three levels": "<ul><li>い<ol><li>ろ<ul><li>は</li><li>に</li></ul></li><li>ほ</li></ol></li><li>へ</li></ul>",
    "paragraphs in items": "<ul><li><p>い</p><p>ろ</p></li><li><p>は</p></li></ul>",
    "code in items": f"<ul><li>い{_CODE}</li><li>ろ</li></ul>",
    "quotes in items": "<ul><li>い<blockquote><p>ろ</p><p>は</p></blockquote></li><li>に</li></ul>",
    "tables in items": f"<ul><li>い{_TABLE}</li><li>に</li></ul>",
    "headings in items": "<ul><li><h3>い</h3><p>ろ</p></li><li>は</li></ul>",
    "a list starting at 3": "<ol start=3><li>い</li><li>ろ</li></ol>",
    "one starting at 3 in bullets": "<ul><li>い<ol start=3><li>ろ</li><li>は</li></ol></li></ul>",
    "loose and tight items": "<ul><li>い</li><li><p>ろ</p><ul><li>は</li></ul></li></ul><p>間</p><ol><li><p>い</p></li></ol>",
    "lists in a row": "<ul><li>い</li></ul><ul><li>ろ</li></ul><ol><li>は</li></ol><ol><li>に</li></ol><ul><li>ほ</li></ul>",
    "breaks in items": "<ul><li>い<br>ろ<b>は</b></li><li><a href='https://a.example/'>に</a><ul><li>ほ<br>へ</li></ul></li></ul>",
    "lists in quotes": "<blockquote><p>前</p><ul><li>い<ul><li>ろ</li></ul></li></ul></blockquote><blockquote>は</blockquote>",
    "rules in items": "<ul><li>い<hr>ろ</li></ul>",
    "players in items": "<ul><li>い<details><summary>題</summary><p>*本*</p></details></li><li>ろ</li></ul>",
    "a quote first": "<ul><li><blockquote><p>い</p><p>ろ</p></blockquote></li><li><ul><li>は<ul><li>に</li></ul></li></ul></li></ul>",
    "a loose list in a tight one": "<ul><li>い<ol><li><p>ろ</p><p>は</p></li><li>に</li></ol></li><li>ほ</li></ul>",
    "items with numbers": "<ol><li value=3>い</li><li>ろ</li></ol><p>間</p><ol><li>は</li><li value=5>に</li></ol>",
    "letters and a countdown": "<ol type=a><li>い</li></ol><p>間</p><ol reversed><li>ろ</li><li>は</li></ol>",
    "eleven numbers": f"<ol>{''.join(f'<li>項{n}<ul><li>子{n}</li></ul></li>' for n in range(11))}</ol>",
}
"""One body for each structure that some reader of Markdown reads differently."""

_LETTERS: Final = "いろはにほへとちりぬるをわかよたれそつねならむ"
_TAILS: Final = ("", "", "<b>太</b>", " 1. 一", "*星*", "<br>次", "[x]", "#見", "- 線")


def made_up(seed: int) -> str:
    """Return a body of lists, quotes and other blocks in each other, four levels deep."""
    chance = random.Random(seed)
    return "".join(_block(chance, 4) for _ in range(2))


def _block(chance: random.Random, depth: int) -> str:
    kinds = ["p", "h3", "p", "text", "ul", "ol", "blockquote", "table", "pre", "hr", "ul"]
    kind = chance.choice(kinds if depth > 0 else kinds[:3])
    if kind in {"ul", "ol"}:
        start = " start=3" if kind == "ol" and chance.random() < 0.3 else ""
        items = "".join(f"<li>{_item(chance, depth - 1)}</li>" for _ in range(chance.randint(1, 3)))
        return f"<{kind}{start}>{items}</{kind}>"
    if kind == "blockquote":
        return f"<{kind}>{''.join(_block(chance, depth - 1) for _ in range(chance.randint(1, 3)))}</{kind}>"
    others = {"table": _TABLE, "pre": "<pre>a\n\n  b</pre>", "hr": "<hr>", "text": _words(chance)}
    return others.get(kind) or f"<{kind}>{_words(chance) if kind == 'p' else chance.choice(_LETTERS)}</{kind}>"


def _item(chance: random.Random, depth: int) -> str:
    words = _words(chance) if chance.random() < 0.8 else ""
    number = chance.choice([0, 0, 1, 1, 2]) if words else chance.randint(1, 2)
    return words + "".join(_block(chance, depth) for _ in range(number))


def _words(chance: random.Random) -> str:
    return chance.choice(_LETTERS) + chance.choice(_LETTERS) + chance.choice(_TAILS)


_TRANSPARENT: Final = frozenset({"a", "b", "code", "div", "em", "p", "span", "strong", "tbody", "thead"})
_PARAGRAPHS: Final = frozenset({"div", "p"})
_EDGE: Final = "¶"
"""The edge of a paragraph: it is in the tree only between two texts."""


def tree_of(html: str) -> tuple[Any, ...]:
    """Return what a browser shows: texts without white space, and for each block its tag and its content."""
    return _shown(_parts(fragment_fromstring(html, create_parent="div")))


def _parts(element: HtmlElement) -> Iterator[Any]:
    yield _bare(element.text)
    for child in element:
        tag = child.tag
        if tag in _TRANSPARENT:
            edges = [_EDGE] if tag in _PARAGRAPHS else []
            yield from (*edges, *_parts(child), *edges)
        elif tag == "br":
            yield "⏎"
        elif tag == "pre":
            yield "pre", child.text_content().strip("\n")
        elif isinstance(tag, str):
            yield f"{tag}{_numbers(child)}", *_shown(_parts(child))
        yield _bare(child.tail)


def _numbers(element: HtmlElement) -> str:
    """Return how an ordered list counts, if not upwards in digits from 1."""
    if element.tag != "ol":
        return ""
    numbers: list[int] = []
    for item in element.findall("li"):
        numbers.append(int(item.get("value", numbers[-1] + 1 if numbers else int(element.get("start", "1")))))
    usual = numbers == [*range(1, len(numbers) + 1)]
    kinds = [element.get("type", ""), "reversed" if "reversed" in element.attrib else ""]
    return "".join(kinds) + ("" if usual else str(numbers))


def _shown(parts: Iterable[Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    edge = ""
    for part in filter(None, parts):
        if part == _EDGE:
            edge = part
            continue
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += edge + part
        else:
            found.append(part)
        edge = ""
    return tuple(found)


def _bare(text: str | None) -> str:
    return re.sub(r"\s+", "", text or "")
