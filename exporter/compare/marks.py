"""Read links and marks, such as bold passages, and find those that a new home lost. Pure.

A passage is the letters inside of one mark. Homes may split and join marks, so a passage counts as kept if the letters
of all passages with the same mark contain it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from exporter.compare.posts import Fault, Linked, Marked, MarkKey
from exporter.compare.texts import BETWEEN, letters, only_words
from exporter.html.links import absolute, meaning
from exporter.html.service_habits import KEYWORD
from exporter.html.tree import DROPPED, HABIT, HEADINGS, LISTS, PLAIN_INLINE, Element, styled_as, tag_set

_MARKS: Final[Mapping[str, Fault]] = {
    **dict.fromkeys(tag_set("b strong"), Fault.BOLD),
    **dict.fromkeys(tag_set("cite dfn em i var"), Fault.ITALIC),
    **dict.fromkeys(tag_set("del s strike"), Fault.STRUCK),
    **dict.fromkeys(tag_set("ins u"), Fault.UNDERLINED),
    **dict.fromkeys(tag_set("blockquote q"), Fault.QUOTE),
    **dict.fromkeys(tag_set("code kbd listing plaintext pre samp tt xmp"), Fault.CODE),
    "mark": Fault.HIGHLIGHTED,
    "rt": Fault.RUBY,
    "sub": Fault.LOWERED,
    "sup": Fault.RAISED,
}
_STYLED_MARKS: Final = {"strong": Fault.BOLD, "em": Fault.ITALIC, "del": Fault.STRUCK}
_CELLS: Final = tag_set("td th")
_STYLE: Final = re.compile(r"(?:^|;)\s*(?:color|background(?:-color)?|font-size)\s*:", re.IGNORECASE)
_CODE: Final[MarkKey] = (Fault.CODE, "")
STYLED: Final[MarkKey] = (Fault.STYLED, "")
_DEEPEST_LIST: Final = 3
"""Markdown readers limit the depth of lists, so deeper items count as this deep."""
MOST_COMPARED: Final = 2_000
"""The maximum number of an entry's passages to search for in all passages of the new home. Only passages without an
equal one are searched for. The limit also holds for lost links and for frames. The result counts the rest."""


_READ: Final = _MARKS.keys() | HEADINGS.keys() | LISTS | _CELLS | tag_set("a font iframe li")
"""The tags to read; others count for their style only."""


class _Closing(NamedTuple):
    """An element ends: its marks and its tag."""

    keys: Sequence[MarkKey]
    tag: str


class _Link:
    """A link that is being read."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.texts: list[str] = []
        self.shows_picture = False


class _Reader:
    """Reads a tree without recursion."""

    def __init__(self) -> None:
        self.passages: defaultdict[MarkKey, list[str]] = defaultdict(list)
        self.links: list[Linked] = []
        self.frames: list[str] = []
        self._open: dict[MarkKey, list[str]] = {}
        self._depth: Counter[MarkKey] = Counter()
        self._lists: list[str] = []
        self._items: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._link: list[_Link] = []

    def read(self, body: Element) -> None:
        todo: list[Element | str | _Closing] = [*reversed(body.children)]
        while todo:
            node = todo.pop()
            if isinstance(node, str):
                if self._open or self._items or self._cells or self._link:
                    self._text(node)
            elif isinstance(node, _Closing):
                self._close(node)
            elif node.tag == "img":
                self._text(node.attributes.get("alt", ""))
                for link in self._link[-1:]:
                    link.shows_picture = link.shows_picture or bool(node.attributes.get("src"))
            elif node.tag not in DROPPED:
                if node.tag in _READ or "style" in node.attributes:
                    todo.append(self._opened(node))
                todo.extend(reversed(node.children))

    def _text(self, text: str) -> None:
        for texts in self._open.values():
            texts.append(text)
        for innermost in (self._items, self._cells):
            if innermost:
                innermost[-1].append(text)
        if self._link:
            self._link[-1].texts.append(text)

    def _opened(self, element: Element) -> _Closing:
        tag = element.tag
        keys = tuple(self._keys(element))
        for key in keys:
            self._depth[key] += 1
            self._open.setdefault(key, [])
        if tag in LISTS:
            self._lists.append("ol" if tag == "ol" else "ul")
        elif tag == "li":
            self._items.append([])
        elif tag in _CELLS:
            self._cells.append([])
        elif tag == "a":
            is_made = element.attributes.get(HABIT) == KEYWORD
            self._link.append(_Link("" if is_made else element.attributes.get("href", "").strip()))
        elif tag == "iframe":
            self.frames.append(unquote(element.attributes.get("src", "")))
        return _Closing(keys, tag)

    def _keys(self, element: Element) -> Iterator[MarkKey]:
        tag = element.tag
        in_code = self._depth[_CODE] > 0  # which homes colour and stress by their own rules
        if tag not in PLAIN_INLINE:
            mark = _MARKS.get(tag)
        else:
            mark = None if in_code else _STYLED_MARKS.get(styled_as(element))
        if mark is not None:
            yield mark, ""
        if tag in HEADINGS:
            yield Fault.HEADING, tag
        if _is_styled(element) and not in_code:
            yield STYLED

    def _close(self, closing: _Closing) -> None:
        for key in closing.keys:
            self._depth[key] -= 1
            if not self._depth[key]:
                self._add(key, self._open.pop(key))
        if closing.tag in LISTS:
            self._lists.pop()
        elif closing.tag == "li":
            kind, depth = (self._lists or ["ul"])[-1], min(len(self._lists) or 1, _DEEPEST_LIST)
            self._add((Fault.LIST, f"{kind}{depth}"), self._items.pop())
        elif closing.tag in _CELLS:
            self._add((Fault.TABLE, ""), self._cells.pop())
        elif closing.tag == "a":
            link = self._link.pop()
            words = "".join(_pieces(link.texts))
            if link.address and (words or link.shows_picture):
                self.links.append(Linked(link.address, words, link.shows_picture))

    def _add(self, key: MarkKey, texts: list[str]) -> None:
        self.passages[key] += _pieces(texts)


def _pieces(texts: Iterable[str]) -> list[str]:
    return list(filter(None, map(letters, "".join(texts).split(BETWEEN))))


def _is_styled(element: Element) -> bool:
    attributes = element.attributes
    if not attributes:
        return False
    if element.tag == "font" and (attributes.get("color") or attributes.get("size")):
        return True
    return _STYLE.search(attributes.get("style", "")) is not None


def read_marks(body: Element) -> Marked:
    """Return the marks and links in a tree; the addresses of links are those of the source."""
    reader = _Reader()
    reader.read(body)
    passages = {key: tuple(found) for key, found in reader.passages.items() if found}
    return Marked(passages, tuple(reader.links), tuple(reader.frames))


def read_shown(body: Element, base: str) -> Marked:
    """Return the marks and links in a new post's tree. ``base`` is its address."""
    found = read_marks(body)
    links = (
        each._replace(address="#" if each.address.startswith("#") else absolute(each.address, base) or each.address)
        for each in found.links
    )
    return found._replace(links=tuple(links))


def marks_in_words(marked: Marked) -> Marked:
    """Return marks and links with their letters reduced to words, for homes of Markdown."""
    passages = {key: tuple(filter(None, map(only_words, found))) for key, found in marked.passages.items()}
    links = tuple(each._replace(words=only_words(each.words)) for each in marked.links)
    return Marked(passages, links, marked.frames)


class LostPassages(NamedTuple):
    """The passages that a new home lost, and the number of further ones that were not searched for."""

    found: list[str]
    unsearched: int


class LostLinks(NamedTuple):
    """The links that a new home lost, and the number of further ones that were not searched for.

    Each is with the address that its words lead to now, if any.
    """

    found: list[tuple[Linked, str]]
    unsearched: int


def lost_passages(olds: Sequence[str], news: Sequence[str]) -> LostPassages:
    """Return the passages that those of the new home do not contain."""
    left = Counter(news)
    rest = []
    for each in olds:
        if left[each]:
            left[each] -= 1
        else:
            rest.append(each)
    if not rest:
        return LostPassages([], 0)
    free = []
    for each in reversed(news):  # an equal passage was the first one
        if left[each]:
            left[each] -= 1
            free.append(each)
    joined = "".join(reversed(free))
    lost = []
    for each in sorted(rest[:MOST_COMPARED], key=len, reverse=True):
        at = joined.find(each)
        if at < 0:
            lost.append(each)
        else:
            joined = f"{joined[:at]}{BETWEEN}{joined[at + len(each) :]}"
    return LostPassages(lost, max(0, len(rest) - MOST_COMPARED))


def lost_links(olds: Sequence[Linked], news: Sequence[Linked], frames: Sequence[str]) -> LostLinks:
    """Return the links that lead elsewhere or nowhere.

    A home may split and join the words of links, so an address is enough, unless the same words lead elsewhere.

    Args:
        olds: those without an address only have to be links.
        news: with absolute addresses.
        frames: the decoded addresses of frames, which may show a page in place of a link to it.
    """
    if not olds:
        return LostLinks([], 0)
    left = Counter((_key(each), each.words) for each in news)
    rest, plain = [], Counter[str]()
    for each in olds:
        if not each.address:
            plain[each.words] += 1
        elif left[_key(each), each.words]:
            left[_key(each), each.words] -= 1
        else:
            rest.append(each)
    there, elsewhere = Counter[str](), Counter[str]()
    for (key, words), number in left.items():
        there[key] += number
        elsewhere[words] += number
    elsewhere -= plain
    framed = BETWEEN.join(frames[:MOST_COMPARED])
    lost = []
    for each in rest:
        key = _key(each)
        if there[key] and not (each.words and elsewhere[each.words]):
            there[key] -= 1
        elif key.startswith("#") or key not in framed:
            lost.append(each)
    unlinked = lost_passages([*filter(None, plain.elements())], [each.words for each in news])
    unsearched = max(0, len(lost) - MOST_COMPARED) + unlinked.unsearched
    lost = [*lost[:MOST_COMPARED], *(Linked("", words, False) for words in unlinked.found)]
    now = {each.words: each.address for each in news if each.words}
    return LostLinks([(each, now.get(each.words, "")) for each in lost], unsearched)


def _key(link: Linked) -> str:
    """Return a key that equivalent addresses share; only the web's may have another scheme."""
    is_web = link.address[:4].lower() == "http"
    return unquote(meaning(link.address) if is_web else link.address)
