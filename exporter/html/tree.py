"""Untrusted HTML as a tree of plain elements, and limits on bodies that would overload a parser or a page. Pure.

Building a tree by the rules of the HTML Standard does not take linear time. Formatting left open is opened again in
every later block, up to three times for one spelling of a tag. Most tags make the parser search the whole stack of open
elements, and each attribute is compared with those before it. A few kilobytes of hostile HTML can ask for gigabytes and
hours, so :func:`parse` estimates the cost first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, cast

from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter.message import message
from exporter.text import visible
from exporter.translation import translator


def tag_set(names: str) -> frozenset[str]:
    """Return the tags in a text, separated by spaces."""
    return frozenset(names.split())


PLAIN_INLINE = tag_set("acronym basefont blink font label map nobr noscript span")
"""Inline tags that are dropped while their text is kept."""

RUBY = tag_set("rb rp rt rtc ruby")
"""Inline tags whose elements stay separate, because order and number carry the meaning."""

DROPPED = tag_set(
    "area base bgsound col colgroup frame frameset head input link meta noembed noframes param script source style "
    "template title track wbr"
)
"""Tags whose content was never visible text."""

PLAIN_BLOCKS = tag_set(
    "address article aside body caption dd div dt fieldset figcaption figure footer form header hgroup html legend "
    "main nav optgroup option p search section summary tbody td tfoot th thead tr"
)
"""Block tags that are dropped while their content becomes separate paragraphs."""

LISTS = frozenset({"dir", "menu", "ol", "ul"})
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CODE_BLOCKS = frozenset({"listing", "plaintext", "pre", "textarea", "xmp"})

HABIT: Final = "habit of a service"
"""The attribute that :mod:`exporter.html.service_habits` sets: no attribute in HTML can have this name."""

KEPT: Final = "#html"
"""The tag of an element around blocks that stay HTML; HTML has no such tag."""

HTML_BLOCKS = tag_set(
    "audio applet button canvas details dialog dl embed iframe marquee math meter object progress select svg video"
) | {KEPT}
"""Blocks without a Markdown form: they stay HTML with their content, sanitized."""

BLOCKS = (
    PLAIN_BLOCKS | LISTS | HEADINGS.keys() | CODE_BLOCKS | HTML_BLOCKS | {"blockquote", "center", "hr", "li", "table"}
)
"""All tags that are not part of a line of text."""

LINE_TAGS = BLOCKS | {"br"}
"""Tags that end lines; a body without any of them keeps the line ends of its text."""

TAG_NAME = re.compile(r"[a-z][a-z0-9-]*")
"""Names that CommonMark accepts as a tag; other names would show as text."""

BODY_CHARACTERS: Final = 2_000_000
"""The most characters of a body that is shown with its markup: about ten novels."""
BODY_MARKS: Final = 150_000
"""The most tags, character references and line ends of such a body."""

_COUNTED_MARKS: Final = ("<", "&", "\n")
_MAX_NODES: Final = 5_000_000
_MAX_STEPS: Final = 2_000_000_000
_MAX_SEPARATORS: Final = 5_000
_SMALL_TAGS: Final = 1_000
_USUALLY_OPEN_TAGS: Final = 10

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)")
_SEPARATOR = re.compile(r"[\s/]+")
_FORMATTING = tag_set("a b big code em font i nobr s small strike strong tt u")
_CELLS = tag_set("caption td th")
_SCOPES = _CELLS | tag_set("applet marquee math object select svg table template")
_NEVER_DEEP = tag_set(
    "area base basefont bgsound br caption col dd dt embed hr img input li link meta option p param source tbody td "
    "tfoot th thead tr track wbr"
)


def too_complex(source: str) -> bool:
    """Return whether parsing would need more time or memory than any readable body."""
    # A tag is within one part: most bodies have none so long.
    if any(len(part) > _MAX_SEPARATORS for part in source.split(">")) and any(
        len(found[3]) > _MAX_SEPARATORS and len(_SEPARATOR.findall(found[3])) > _MAX_SEPARATORS
        for found in _TAG.finditer(source)
    ):
        return True
    if source.count("<") < _SMALL_TAGS:
        return False
    work = _ParserWork()
    for found in _TAG.finditer(source):
        if found[1]:
            work.close(found[2].lower())
        else:
            work.open(found[2].lower(), found[3])
    return work.nodes() > _MAX_NODES or work.steps() > _MAX_STEPS


class _Scope(NamedTuple):
    """The open elements inside a scope (HTML Standard), such as a table cell."""

    tag: str
    open: Counter[str]


class _ParserWork:
    """A lower bound for the elements that the parser will have open, counted from the source."""

    def __init__(self) -> None:
        self._tags = self._depth = self._deepest = self._tables = 0
        self._scopes = [_Scope("", Counter())]
        self._unclosed: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
        self._spellings: defaultdict[str, set[str]] = defaultdict(set)

    def nodes(self) -> int:
        """Estimate the number of nodes created by reopened formatting."""
        reopened = sum(min(count, 3 * len(self._spellings[tag])) for tag, count in self._most.items())
        return self._tags * max(0, reopened - _USUALLY_OPEN_TAGS)

    def steps(self) -> int:
        """Estimate the number of stack entries that the parser examines."""
        return self._tags * self._deepest

    def open(self, tag: str, rest: str) -> None:
        self._tags += 1
        if tag in _SCOPES:
            if tag in _CELLS and self._scopes[-1].tag in _CELLS:
                self._leave()
            self._scopes.append(_Scope(tag, Counter()))
            self._tables += tag == "table"
        if tag in _NEVER_DEEP:
            return
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)
        self._scopes[-1].open[tag] += 1
        if tag in _FORMATTING:
            self._unclosed[tag] += 1
            self._most[tag] = max(self._most[tag], self._unclosed[tag])
            self._spellings[tag].add(rest)

    def close(self, tag: str) -> None:
        self._tags += 1
        if tag == "table" and self._tables:
            while self._scopes[-1].tag != "table":
                self._leave()
            self._leave()
            self._tables -= 1
        elif tag in _SCOPES:
            if self._scopes[-1].tag == tag:
                self._leave()
        elif self._scopes[-1].open[tag]:
            self._scopes[-1].open[tag] -= 1
            self._depth -= 1
            if tag in _FORMATTING:
                self._unclosed[tag] -= 1

    def _leave(self) -> None:
        """Leave a scope: all its elements are closed, but only cells also end the formatting left open in them."""
        scope = self._scopes.pop()
        for tag, count in scope.open.items():
            self._depth -= count
            if tag in _FORMATTING and scope.tag in _CELLS:
                self._unclosed[tag] -= count


class TooComplex(ValueError):
    """Parsing would need more time or memory than any readable body."""


class TooLarge(TooComplex):
    """The body is too large to be shown with its markup; :func:`~exporter.html.text.text_of` returns its text."""


def too_large(source: str) -> bool:
    """Return whether a body exceeds the limits, in linear time and without memory."""
    return len(source) > BODY_CHARACTERS or sum(map(source.count, _COUNTED_MARKS)) > BODY_MARKS


def too_large_words(characters: int, language: str = "ja") -> str:
    """Return the sentence shown before the text if a body has this many characters, in Japanese or English."""
    t = translator(language)
    return t(
        "(This text is too large to be shown as it looked ({n:,} characters), so only its words follow. "
        "The archive's record has all of it as it was sent.)",
        n=characters,
    )


_BOLD = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_ITALIC = re.compile(r"font-style\s*:\s*(?:italic|oblique)", re.IGNORECASE)
_STRUCK = re.compile(r"text-decoration[a-z-]*\s*:[^;]*line-through", re.IGNORECASE)


@dataclass(slots=True, eq=False, repr=False)
class Element:
    """An element: its lower-case tag, its attributes, and its children in order."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str]

    def walk(self) -> Iterator[Element | str]:
        """Yield all descendants in document order, including texts, without recursion."""
        todo = list(reversed(self.children))
        while todo:
            node = todo.pop()
            yield node
            if isinstance(node, Element):
                todo.extend(reversed(node.children))

    def elements(self) -> Iterator[Element]:
        """Yield all descendants that are elements, in document order."""
        return (node for node in self.walk() if isinstance(node, Element))

    def text(self) -> str:
        """Return the joined text of all descendants."""
        return "".join(node for node in self.walk() if isinstance(node, str))


def parse(html: str) -> Element:
    """Return a ``body`` element with the fragment, without comments and the content of ``template``.

    Raises:
        TooLarge: only the text can be shown.
        TooComplex: parsing would cost too much; only the source can be shown.
    """
    body = Element("body", {}, [])
    if "<" not in html and "&" not in html and not too_large(html):
        # Nearly all comments are one text, which the parser would return unchanged.
        text = visible(html)[0].replace("\r\n", "\n").replace("\r", "\n")
        body.children += [text] if text else []
        return body
    document = document_of(html)
    todo: list[tuple[LexborNode | None, list[Element | str]]] = [(document.root, body.children)]
    while todo:
        node, into = todo.pop()
        while node is not None:
            text_content = node.text_content
            if text_content is not None:
                into.append(text_content)
            else:
                tag = node.tag or ""
                if tag[:1] not in {"-", "!"}:
                    element = Element(tag, _attributes(node), [])
                    into.append(element)
                    child = node.first_child
                    if child is not None:
                        todo.append((child, element.children))
            node = node.next
    return body


def document_of(html: str) -> LexborHTMLParser:
    """Return the parser's own tree for a fragment, for callers that need only some of its elements.

    Callers share the trees of the last few bodies and must not change them: a body is usually read more than once.

    Raises:
        TooLarge, TooComplex: see :func:`parse`.
    """
    is_small = len(html) <= _SHARED_CHARACTERS and html.count("<") <= _SHARED_TAGS
    return _recent_document(html) if is_small else _new_document(html)


def _new_document(html: str) -> LexborHTMLParser:
    if too_large(html):
        raise TooLarge(message("this body is too large to be shown with its markup"))
    source, _ = visible(html)
    if too_complex(source):
        raise TooComplex(message("the tags of this body are nested or crossed beyond what a page can show"))
    return LexborHTMLParser(source, is_fragment=True)


_SHARED_CHARACTERS: Final = 50_000
_SHARED_TAGS: Final = 300
"""Larger bodies are parsed each time, so that the shared trees stay small: few tags can open few elements again."""
_recent_document: Final = lru_cache(maxsize=4)(_new_document)


def _attributes(node: LexborNode) -> dict[str, str]:
    """Return the attributes of an element; one without a value is empty."""
    found = node.attributes
    if None in found.values():
        return {name: value or "" for name, value in found.items()}
    return cast("dict[str, str]", found)


def holders(body: Element, wanted: Callable[[Element], bool]) -> set[int]:
    """Return the ``id()`` of each element that has a wanted element among its descendants."""
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
    """Return the tag that looks like an inline ``style``: ``strong``, ``em``, ``del``, or nothing."""
    style = element.attributes.get("style", "")
    if not style:
        return ""
    if _BOLD.search(style):
        return "strong"
    if _ITALIC.search(style):
        return "em"
    return "del" if _STRUCK.search(style) else ""
