"""Telling bodies a standard HTML parser would choke on, before it reads them.

Tree building as the HTML Standard has it is not linear. Formatting left open is opened again in every later block, at
most three times for one spelling of a tag; most tags make the parser look through the whole stack of open elements;
and each attribute is compared with those before it. A few kilobytes written for it can ask for gigabytes and hours.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter.text import visible

_NODES_MAX: Final = 5_000_000
_STEPS_MAX: Final = 2_000_000_000
_SEPARATORS_MAX: Final = 5_000
_SMALL: Final = 1_000
_USUALLY_OPEN: Final = 10

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)")
_SEPARATOR = re.compile(r"[\s/]+")


def tag_set(names: str) -> frozenset[str]:
    """Return the tags named in a text, separated by spaces."""
    return frozenset(names.split())


_FORMATTING = tag_set("a b big code em font i nobr s small strike strong tt u")
_CELLS = tag_set("caption td th")
_SCOPES = _CELLS | tag_set("applet marquee math object select svg table template")
_NEVER_DEEP = tag_set(
    "area base basefont bgsound br caption col dd dt embed hr img input li link meta option p param source tbody td "
    "tfoot th thead tr track wbr"
)


def too_tangled(source: str) -> bool:
    """Tell whether the parser would need more time or memory than any readable body does."""
    if len(source) > _SEPARATORS_MAX and any(
        len(found[3]) > _SEPARATORS_MAX and len(_SEPARATOR.findall(found[3])) > _SEPARATORS_MAX
        for found in _TAG.finditer(source)
    ):
        return True
    if source.count("<") < _SMALL:
        return False
    work = _Work()
    for found in _TAG.finditer(source):
        if found[1]:
            work.close(found[2].lower())
        else:
            work.open(found[2].lower(), found[3])
    return work.nodes() > _NODES_MAX or work.steps() > _STEPS_MAX


class _Scope:
    """What is open inside an element that closes off what is outside of it, as the standard's scopes do."""

    __slots__ = ("open", "tag")

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.open: Counter[str] = Counter()


class _Work:
    """Counts, from the source alone, at least what the parser will have open."""

    def __init__(self) -> None:
        self._tags = self._depth = self._deepest = self._tables = 0
        self._scopes = [_Scope("")]
        self._unclosed: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
        self._spellings: defaultdict[str, set[str]] = defaultdict(set)

    def nodes(self) -> int:
        """Return about how many nodes reopened formatting makes."""
        reopened = sum(min(count, 3 * len(self._spellings[tag])) for tag, count in self._most.items())
        return self._tags * max(0, reopened - _USUALLY_OPEN)

    def steps(self) -> int:
        """Return about how many entries of its stack the parser looks at."""
        return self._tags * self._deepest

    def open(self, tag: str, rest: str) -> None:
        self._tags += 1
        if tag in _SCOPES:
            if tag in _CELLS and self._scopes[-1].tag in _CELLS:
                self._leave()
            self._scopes.append(_Scope(tag))
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
        """Leave a scope: all in it is closed, but only cells also end the formatting left open in them."""
        scope = self._scopes.pop()
        for tag, count in scope.open.items():
            self._depth -= count
            if tag in _FORMATTING and scope.tag in _CELLS:
                self._unclosed[tag] -= count


_BARE = tag_set("b blockquote br center div em h1 h2 h3 h4 h5 h6 hr i li p s strong tbody tr u ul")
"""Common tags none of whose attributes is ever read."""


class TooTangled(ValueError):
    """The HTML would cost the parser more time or memory than any readable body does."""


class TooLarge(TooTangled):
    """The body is beyond :mod:`exporter.html.tree`, whose ``text_of`` gives the text that is shown in its place."""


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


def parse(html: str, *, bare: frozenset[str] = _BARE) -> Element:
    """Return a ``body`` element holding the fragment. Comments and the insides of ``template`` are not in it.

    Args:
        html: the fragment.
        bare: the tags whose attributes are left out, since reading them costs time.

    Raises:
        TooLarge: the text is to be shown.
        TooTangled: see the module's docstring; the source text is all there is to show.
    """
    body = Element("body", {}, [])
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

    Raises:
        TooTangled: as for :func:`parse`.
    """
    document = _document(html)
    if document is not None:
        for node in document.css(selector):
            yield Element(node.tag or "", {name: value or "" for name, value in node.attributes.items()}, [])


def _document(html: str) -> LexborHTMLParser | None:
    if too_large(html):
        raise TooLarge("this body is too large to be shown with its markup")
    source, _ = visible(html)
    if too_tangled(source):
        raise TooTangled("the tags of this body are nested or crossed beyond what a page can show")
    return LexborHTMLParser(source, is_fragment=True) if source else None


PLAIN_INLINE = tag_set("acronym basefont blink font label map nobr noscript span")
"""Their text is kept and the tag dropped."""

RUBY = tag_set("rb rp rt rtc ruby")
"""Inline HTML whose every element is kept apart, since order and number carry the meaning."""

DROPPED = tag_set(
    "area base bgsound col colgroup frame frameset head input link meta noembed noframes param script source style "
    "template title track wbr"
)
"""Nothing below these is text a reader saw."""

PLAIN_BLOCKS = tag_set(
    "address article aside body caption dd div dt fieldset figcaption figure footer form header hgroup html legend "
    "main nav optgroup option p search section summary tbody td tfoot th thead tr"
)
"""Their content becomes paragraphs of its own and the tag is dropped."""

LISTS = frozenset({"dir", "menu", "ol", "ul"})
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CODE_BLOCKS = frozenset({"listing", "plaintext", "pre", "textarea", "xmp"})

HTML_BLOCKS = tag_set(
    "audio applet button canvas details dialog dl embed iframe marquee math meter object progress select svg video"
)
"""Markdown has nothing for these: they stay HTML with all that is in them, made safe."""

BLOCKS = (
    PLAIN_BLOCKS | LISTS | HEADINGS.keys() | CODE_BLOCKS | HTML_BLOCKS | {"blockquote", "center", "hr", "li", "table"}
)
"""Everything that does not stand in a line of text."""

LINE_TAGS = BLOCKS | {"br"}
"""Tags that say where lines end; where none is used, the text's own line ends do."""

TAG_NAME = re.compile(r"[a-z][a-z0-9-]*")
"""Names CommonMark takes for a tag; other names would show as text."""

_BOLD = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_STRUCK = re.compile(r"text-decoration[a-z-]*\s*:[^;]*line-through", re.IGNORECASE)


def styled_as(element: Element) -> str:
    """Return the tag whose look an inline ``style`` asks for: ``strong``, ``del``, or nothing."""
    style = element.attributes.get("style", "")
    if not style:
        return ""
    if _BOLD.search(style):
        return "strong"
    return "del" if _STRUCK.search(style) else ""


BODY_CHARACTERS: Final = 2_000_000
"""The most characters of a body that is shown with its markup: some ten novels."""
BODY_MARKS: Final = 150_000
"""The most tags, character references and line ends of such a body, each of which becomes a piece of a page."""

_MARKS: Final = ("<", "&", "\n")
_WORDS: Final = {
    "ja": "（この本文は大きすぎるため（{:,}文字）、文字だけを示します。送られたままのものはアーカイブにあります。）",
    "en": (
        "(This text is too large to be shown as it looked ({:,} characters), so only its words follow. "
        "The archive's record has all of it as it was sent.)"
    ),
}
_PARTS: Final = 10_000
_TOKEN: Final = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?P<unseen>noembed|noframes|script|style|template|title)(?=[\s/>]).*?(?:</(?P=unseen)(?=[\s/>])[^>]*>?|\Z)"
    r"|<(?P<end>/?)(?P<tag>[a-z][^\s/>]*+)(?P<rest>(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?+)*+(?:>|\Z))"
    r"|<[!?/][^>]*+>?",
    re.DOTALL | re.IGNORECASE,
)
_ALT: Final = re.compile(r"(?<![^\s/\"'])alt\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_LINE_ENDS: Final = re.compile(r"(?<![ \t\r\f])[ \t\r\f]*\n[ \t\r\n\f]*")


def too_large(source: str) -> bool:
    """Tell whether a body is beyond the budget. Takes time that grows with its length, and no memory."""
    return len(source) > BODY_CHARACTERS or sum(map(source.count, _MARKS)) > BODY_MARKS


def too_large_words(characters: int, language: str = "ja") -> str:
    """Return the sentence that stands before the text of a body of so many characters, in Japanese or English."""
    return _WORDS[language].format(characters)


def text_of(source: str) -> str:
    """Return the text of a body without parsing it: blocks and ``<br>`` end a line, pictures give their ``alt``.

    Takes time and memory that grow with the length alone, whatever is in the body. Comments, scripts and styles give
    nothing; one that never ends goes on to the end of the body, as in browsers.
    """
    if "<" not in source:
        return html.unescape(source).strip()
    pieces = _pieces(source)
    chunks: list[str] = []
    # Joined as they come, since a small text takes some fifty bytes more than its characters.
    while batch := list(islice(pieces, _PARTS)):
        chunks.append("".join(batch))
    return _LINE_ENDS.sub("\n", "".join(chunks)).strip()


def _pieces(source: str) -> Iterator[str]:
    at = 0
    for found in _TOKEN.finditer(source):
        if found.start() > at:
            yield html.unescape(source[at : found.start()])
        at = found.end()
        tag = (found["tag"] or "").lower()
        if tag == "br" or tag in BLOCKS:
            yield "\n"
        elif tag == "img" and (alt := _ALT.search(found["rest"])) is not None:
            yield html.unescape(next(filter(None, alt.groups()), ""))
    if at < len(source):
        yield html.unescape(source[at:])
