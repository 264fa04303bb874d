"""HTML from anybody as a tree of plain elements. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter.html.limits import TooComplex, TooLarge, too_complex, too_large
from exporter.html.tags import tag_set
from exporter.message import message
from exporter.text import visible

_BOLD = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_STRUCK = re.compile(r"text-decoration[a-z-]*\s*:[^;]*line-through", re.IGNORECASE)
BARE = tag_set("b blockquote br center div em h1 h2 h3 h4 h5 h6 hr i li p s strong tbody tr u ul")
"""Common tags none of whose attributes is ever read."""


class Element:
    """An element: its lower-case tag, the attributes somebody reads, and its children in order."""

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


def parse(html: str, *, bare: frozenset[str] = BARE) -> Element:
    """Return a ``body`` element holding the fragment. Comments and the insides of ``template`` are not in it.

    Args:
        html: the fragment.
        bare: the tags whose attributes are left out, since reading them costs time.

    Raises:
        TooLarge: the text is to be shown.
        TooComplex: see the module's docstring; the source text is all there is to show.
    """
    body = Element("body", {}, [])
    if "<" not in html and "&" not in html and not too_large(html):
        # Nearly all comments are one text, which the parser would give back as it is.
        text = visible(html)[0].replace("\r\n", "\n").replace("\r", "\n")
        body.children += [text] if text else []
        return body
    document = _document(html)
    first = document.root if document is not None else None
    todo: list[tuple[LexborNode | None, list[Element | str]]] = [(first, body.children)]
    while todo:
        node, into = todo.pop()
        while node is not None:
            tag = node.tag or ""
            if tag == "-text":
                into.append(node.text_content or "")
            elif tag[:1] not in {"-", "!"}:
                attributes = {} if tag in bare else {name: value or "" for name, value in node.attributes.items()}
                element = Element(tag, attributes, [])
                into.append(element)
                todo.append((node.first_child, element.children))
            node = node.next
    return body


def find(html: str, selector: str) -> Iterator[Element]:
    """Yield the elements a CSS selector names, in order and without their children; far cheaper than the whole tree.

    Only a ``style`` has its text.

    Raises:
        TooComplex: as for :func:`parse`.
    """
    document = _document(html)
    if document is not None:
        for node in document.css(selector):
            text = [node.text()] if node.tag == "style" else []
            yield Element(node.tag or "", {name: value or "" for name, value in node.attributes.items()}, [*text])


def _document(html: str) -> LexborHTMLParser | None:
    if too_large(html):
        raise TooLarge(message("this body is too large to be shown with its markup"))
    source, _ = visible(html)
    if too_complex(source):
        raise TooComplex(message("the tags of this body are nested or crossed beyond what a page can show"))
    return LexborHTMLParser(source, is_fragment=True) if source else None


def holders(body: Element, wanted: Callable[[Element], bool]) -> set[int]:
    """Return the identities of all elements that have a wanted one somewhere below."""
    found: set[int] = set()
    order: list[tuple[Element, Element]] = []
    todo = [body]
    while todo:
        parent = todo.pop()
        for child in parent.children:
            if isinstance(child, Element):
                order.append((child, parent))
                todo.append(child)
    for child, parent in reversed(order):
        if id(child) in found or wanted(child):
            found.add(id(parent))
    return found


def styled_as(element: Element) -> str:
    """Return the tag whose look an inline ``style`` asks for: ``strong``, ``del``, or nothing."""
    style = element.attributes.get("style", "")
    if not style:
        return ""
    if _BOLD.search(style):
        return "strong"
    return "del" if _STRUCK.search(style) else ""
