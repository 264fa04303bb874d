"""A body's HTML as a tree, the way a browser would see it. The only module that imports the HTML parser.

The parser follows the HTML Standard, so unclosed and crossing tags keep the bold and the links a reader saw. The
standard's tree building is not linear, though: a few kilobytes of crossing tags can ask for gigabytes. Such bodies
are refused by :func:`_work` before they reach the parser.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter.render.text import visible


def tag_set(names: str) -> frozenset[str]:
    """Return the tags named in a text, separated by spaces."""
    return frozenset(names.split())


_NODES_MAX: Final = 5_000_000
_STEPS_MAX: Final = 2_000_000_000
_SEPARATORS_MAX: Final = 5_000
_SMALL: Final = 1_000
_USUALLY_OPEN: Final = 10

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)")
_SEPARATOR = re.compile(r"[\s/]+")
_FORMATTING = tag_set("a b big code em font i nobr s small strike strong tt u")
_SCOPES = tag_set("applet caption marquee math object select svg table td template th")
_NEVER_DEEP = tag_set(
    "area base basefont bgsound br col dd dt embed hr img input li link meta option p param source tbody td tfoot th "
    "thead tr track wbr"
)


class TooTangled(ValueError):
    """The HTML would cost the parser more time or memory than any readable body does."""


class Element:
    """An element: its lower-case tag, its attributes with text values, and its children in order."""

    __slots__ = ("attributes", "children", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], children: list[Element | str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children = children

    def walk(self) -> Iterator[Element | str]:
        """Yield all descendants in document order, texts included, without recursion."""
        todo = list(reversed(self.children))
        while todo:
            node = todo.pop()
            yield node
            if isinstance(node, Element):
                todo.extend(reversed(node.children))

    def text(self) -> str:
        """Return all text below, joined."""
        return "".join(node for node in self.walk() if isinstance(node, str))


def parse(html: str) -> Element:
    """Return a ``body`` element holding the fragment. Comments and the insides of ``template`` are not in it.

    Raises:
        TooTangled: see the module's docstring; the source text is all there is to show.
    """
    source, _ = visible(html)
    if _too_costly(source):
        raise TooTangled("the tags of this body are nested or crossed beyond what a page can show")
    body = Element("body", {}, [])
    first = LexborHTMLParser(source, is_fragment=True).root if source else None
    todo: list[tuple[LexborNode | None, list[Element | str]]] = [(first, body.children)]
    while todo:
        node, into = todo.pop()
        while node is not None:
            tag = node.tag or ""
            if tag == "-text":
                into.append(node.text_content or "")
            elif tag[:1] not in {"-", "!"}:
                attributes = node.attributes
                element = Element(tag, {name: attributes[name] or "" for name in attributes}, [])
                into.append(element)
                todo.append((node.first_child, element.children))
            node = node.next
    return body


def _too_costly(source: str) -> bool:
    if len(source) > _SEPARATORS_MAX and any(
        len(found[3]) > _SEPARATORS_MAX and len(_SEPARATOR.findall(found[3])) > _SEPARATORS_MAX
        for found in _TAG.finditer(source)
    ):
        return True
    if source.count("<") < _SMALL:
        return False
    nodes, steps = _work(source)
    return nodes > _NODES_MAX or steps > _STEPS_MAX


def _work(source: str) -> tuple[int, int]:
    """Return upper estimates of the nodes the parser makes and the stack entries it looks at.

    Formatting left open is opened again in every later block, at most three times for one spelling of a tag; and most
    tags make the parser look through the whole stack of open elements. An end tag only counts for start tags since
    the last element that closes off what is outside, as the standard's scopes do.
    """
    tags = depth = deepest = 0
    closable: Counter[str] = Counter()
    unclosed: Counter[str] = Counter()
    most: Counter[str] = Counter()
    spellings: defaultdict[str, set[str]] = defaultdict(set)
    for found in _TAG.finditer(source):
        tags += 1
        tag = found[2].lower()
        if found[1]:
            if closable[tag]:
                closable[tag] -= 1
                unclosed[tag] -= 1
                depth -= 1
            continue
        if tag not in _NEVER_DEEP:
            closable[tag] += 1
            unclosed[tag] += 1
            depth += 1
            deepest = max(deepest, depth)
        if tag in _FORMATTING:
            most[tag] = max(most[tag], unclosed[tag])
            spellings[tag].add(found[3])
        if tag in _SCOPES:
            closable.clear()
            closable[tag] = 1
    reopened = sum(min(count, 3 * len(spellings[tag])) for tag, count in most.items())
    return tags * max(0, reopened - _USUALLY_OPEN), tags * deepest
