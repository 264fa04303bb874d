"""A whole web page as a tree in which CSS selectors find elements. Pure.

:func:`exporter.html.tree.parse` reads the body of an entry; this module reads the page around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from exporter.html.tree import TooComplex, too_complex
from exporter.message import message

PAGE_CHARACTERS: Final = 8_000_000
"""The most characters of a page that is parsed. The longest pages of blogs have a tenth of this."""


class PageElement:
    """An element of a page."""

    __slots__ = ("_node",)

    def __init__(self, node: LexborNode) -> None:
        self._node = node

    @property
    def tag(self) -> str:
        """Its tag in lower case."""
        return self._node.tag or ""

    @property
    def html(self) -> str:
        """The element with its content, as the parser writes it."""
        return self._node.html or ""

    @property
    def inner_html(self) -> str:
        """Its content, as the parser writes it."""
        return self._node.inner_html or ""

    @property
    def script_text(self) -> str:
        """The text inside a script, unchanged."""
        return self._node.text(deep=True) or ""

    def text(self) -> str:
        """Return its text on one line, with the white space collapsed."""
        return " ".join((self._node.text(deep=True, separator=" ") or "").split())

    def attribute(self, name: str) -> str:
        """Return the value of an attribute; empty if it is missing."""
        return self._node.attributes.get(name) or ""

    def select(self, selector: str) -> list[PageElement]:
        """Return the elements inside that a CSS selector fits, in their order; none if the selector is invalid."""
        try:
            found = self._node.css(selector)
        except SelectolaxError:
            return []
        return [PageElement(node) for node in found if node.mem_id != self._node.mem_id]

    def first(self, *selectors: str) -> PageElement | None:
        """Return the first element that the first fitting selector finds."""
        return next((found[0] for each in selectors if (found := self.select(each))), None)

    def ancestors(self) -> Iterator[PageElement]:
        """Yield the elements around it, the nearest first."""
        node = self._node.parent
        while node is not None:
            yield PageElement(node)
            node = node.parent

    def following(self) -> Iterator[PageElement]:
        """Yield the elements and texts after it that have the same parent, in their order."""
        node = self._node.next
        while node is not None:
            yield PageElement(node)
            node = node.next

    def preceding(self) -> Iterator[PageElement]:
        """Yield the elements and texts before it that have the same parent, the nearest first."""
        node = self._node.prev
        while node is not None:
            yield PageElement(node)
            node = node.prev

    def inner_html_without(self, selectors: Sequence[str]) -> str:
        """Return its content without the elements that CSS selectors find inside; the page stays unchanged."""
        if not any(self.select(each) for each in selectors):
            return self.inner_html
        return html_without(self.inner_html, lambda page: (each for name in selectors for each in page.select(name)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PageElement) and self._node.mem_id == other._node.mem_id

    def __hash__(self) -> int:
        return hash(self._node.mem_id)


def parse_page(html: str) -> PageElement:
    """Return the root element of a page.

    Raises:
        TooComplex: parsing would need more time or memory than any page of a blog.
    """
    if len(html) > PAGE_CHARACTERS or too_complex(html):
        raise TooComplex(message("the page is too large, or its tags are nested beyond what a page can show"))
    tree = LexborHTMLParser(html)
    if tree.root is None:
        tree = LexborHTMLParser("<html></html>")
    root = tree.root
    if root is None:
        raise TooComplex(message("the page has no content"))
    return PageElement(root)


def html_without(html: str, unwanted: Callable[[PageElement], Iterable[PageElement]]) -> str:
    """Return HTML without the elements that ``unwanted`` yields of its parsed form."""
    body = LexborHTMLParser(f"<body>{html}</body>").body
    if body is None:
        return html
    found = frozenset(unwanted(PageElement(body)))
    # The parser frees everything inside a removed element, so only the outermost ones are removed.
    for each in [each for each in found if found.isdisjoint(each.ancestors())]:
        each._node.decompose()
    return body.inner_html or ""
