"""Anchors in a text that links lead to, and footnotes. Pure.

A short link with a number or a mark leads to a footnote, and a link leads back from it. Hatena, WordPress and Markdown
converters write footnotes like this. All other anchors stay links inside the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from html import unescape
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import unquote

from exporter.html.tree import CODE_BLOCKS, DROPPED, HEADINGS, HTML_BLOCKS, RUBY, Element, tag_set

ANCHOR: Final = "#anchor"
"""The tag of an element that marks an anchor and shows nothing; HTML has no such tag."""

_IN_PAGE: Final = re.compile(r"""href\s*=\s*(?:"\s*#([^"]*)"|'\s*#([^']*)'|#([^\s"'>]*))""", re.IGNORECASE)
_PLACE: Final = re.compile(r"[^\s\x00-\x20\x7f\"'<>&`{}\\|\ud800-\udfff]{1,200}")
_STRUCTURE: Final = tag_set("dir dl menu ol table tbody tfoot thead tr ul")
_CLOSED: Final = CODE_BLOCKS | HTML_BLOCKS | RUBY | tag_set("br code hr img wbr")
"""Tags that cannot contain anchors: those on and in them are marked before them."""


def place_of(fragment: str) -> str | None:
    """Return the id that a fragment without its ``#`` leads to, or ``None`` if a page must not contain it."""
    found = unquote(fragment.strip())
    return found if _PLACE.fullmatch(found) else None


@lru_cache(maxsize=4)
def wanted_places(html: str) -> frozenset[str]:
    """Return the ids in a text that its own links lead to; cached, because those of a post are requested repeatedly."""
    if "#" not in html:
        return frozenset()
    values = (next(filter(None, found.groups()), "") for found in _IN_PAGE.finditer(html))
    return frozenset(filter(None, (place_of(unescape(value)) for value in values)))


def places_between(texts: Iterable[str]) -> frozenset[str]:
    """Return the ids that links in the texts of one page lead to, if it has several texts."""
    found = [text for text in texts if text]
    return frozenset().union(*map(wanted_places, found)) if len(found) > 1 else frozenset()


def mark_places(body: Element, wanted: Collection[str]) -> frozenset[str]:
    """Insert an :data:`ANCHOR` at each wanted id, and return the ids that were found.

    A repeated id is marked once, as browsers do. Links cannot be nested, and lists and tables can only contain items
    and cells, so anchors on or in these are inserted before or inside them.
    """
    left = set(wanted)
    todo = [body]
    while todo and left:
        parent = todo.pop()
        children: list[Element | str] = []
        inside: list[Element] = []
        for child in parent.children:
            if isinstance(child, Element) and child.tag not in DROPPED:
                is_whole = child.tag in _CLOSED or (child.tag == "a" and "href" in child.attributes)
                anchors = list(_taken(child, left, below=is_whole))
                holder = _holder(child)
                if (
                    is_whole
                    or child.tag == "a"
                    or holder is None
                    or (child.tag in _STRUCTURE and parent.tag not in _STRUCTURE)
                ):
                    children += anchors
                else:
                    holder.children[:0] = anchors
                inside += [] if is_whole else [child]
            children.append(child)
        parent.children = children
        todo += reversed(inside)
    return frozenset(set(wanted) - left)


def rename_places(body: Element, prefix: str, wanted: Collection[str]) -> None:
    """Prefix the ids of marked anchors, and the wanted ids in the text's links."""
    for each in body.elements():
        if each.tag == ANCHOR:
            each.attributes["id"] = prefix + each.attributes["id"]
        elif each.tag == "a":
            address = each.attributes.get("href", "").strip()
            if address.startswith("#") and place_of(address[1:]) in wanted:
                each.attributes["href"] = f"#{prefix}{address[1:]}"


def _taken(element: Element, left: set[str], *, below: bool) -> Iterator[Element]:
    """Yield anchors for ids on an element or below it, and remove these ids from ``left``."""
    elements = [element, *element.elements()] if below else [element]
    for name in (name for each in elements for name in _names(each)):
        if name in left:
            left.remove(name)
            yield Element(ANCHOR, {"id": name}, [])


def _holder(element: Element) -> Element | None:
    """Return the first descendant that can contain text if the element is a list or table, otherwise itself."""
    if element.tag not in _STRUCTURE:
        return element
    return next((each for each in element.elements() if each.tag in _HOLDING), None)


_HOLDING: Final = tag_set("caption dd dt li td th")


FOOTNOTE: Final = "#footnote"
"""The tag of an element that represents a reference and contains its mark; HTML has no such tag.

Its attributes are the ``label`` of its footnote, and as ``time`` the number of this reference to it."""

_SIGN: Final = re.compile(r"[\[(（［〔]?(?:[*＊※†‡^]{1,3}\d{0,3}|(?:注|脚注|note)?\d{1,3})[\])）］〕]?")
_BRACKETS: Final = "[](){}（）［］〔〕"
_NOTE_TAGS: Final = tag_set("dd div li p")
_NO_REFERENCE: Final = CODE_BLOCKS | DROPPED | HTML_BLOCKS | RUBY | tag_set("a code datalist dd dt table")
"""Tags inside which a reference would not be recognised."""
_INLINE: Final = tag_set("b small span strong sup")
_TRIM: Final = " \t\n\r\f:："
_MAX_CHARACTERS: Final = 4_000
_MAX_FOOTNOTES: Final = 1_000
_MAX_DEPTH: Final = 40
_MARK_NODES: Final = 12

_Path = tuple[Element, ...]


class Numbering(NamedTuple):
    """The labels of footnotes in the order of their references.

    Attributes:
        first: the number of the first footnote.
        prefix: precedes each number, so that several texts can be on a page.
        asked_for: ids that links in other texts lead to; a footnote with one of these stays a link.
    """

    first: int = 1
    prefix: str = ""
    asked_for: Collection[str] = ()


class Footnote(NamedTuple):
    """A footnote: its label, its content without the links back, and the mark of each reference to it."""

    label: str
    held: Element
    marks: list[str]


def take_footnotes(body: Element, numbering: Numbering) -> list[Footnote]:
    """Remove the footnotes from a tree and replace each reference by a :data:`FOOTNOTE`."""
    named: dict[str, _Path] = {}
    links: list[tuple[str, _Path]] = []
    order: dict[int, int] = {}
    for path in _paths(body):
        order[id(path[-1])] = len(order)
        for name in _names(path[-1]):
            named.setdefault(name, path)
        place = _leads_to(path[-1])
        if place is not None:
            links.append((place, path))
    asked = Counter(place for place, _ in links)
    found: dict[int, tuple[_Path, list[_Path]]] = {}
    held_by = _notes({place: _note_path(named[place]) for place in asked if place in named})
    for place, path in links:
        note = held_by.get(place)
        if note is not None and order[id(note[-1])] > order[id(path[-1])] and _is_reference(path[-1], path[:-1]):
            found.setdefault(id(note[-1]), (note, []))[1].append(path)
    notes: list[Footnote] = []
    taken: list[_Path] = []
    for note, references in found.values() if len(found) <= _MAX_FOOTNOTES else ():
        held = note[-1]
        inside = Counter(place for place in map(_leads_to, held.elements()) if place is not None)
        own = {name for each in (held, *held.elements()) for name in _names(each)}
        there = {name for path in references for each in _around(path) for name in _names(each)}
        backs = [each for each in held.elements() if _leads_to(each) in there]
        # All links to the note are references, and all links to these are in the note, so no link is lost.
        is_empty = len(held.text().strip()) <= sum(len(each.text()) for each in backs)
        if not backs or is_empty or sum(asked[name] for name in own) != len(references):
            continue
        if any(asked[name] != inside[name] for name in there) or not (own | there).isdisjoint(numbering.asked_for):
            continue
        label = f"{numbering.prefix}{numbering.first + len(notes)}"
        marks = [_tight(path)[0].text().strip() for path in references]
        for time, (path, text) in enumerate(zip(references, marks, strict=True), 1):
            mark = _tight(path)[0]
            mark.tag, mark.children = FOOTNOTE, [text]
            mark.attributes = {"label": label, "time": str(time)}
        _drop(held, backs)
        taken.append(note)
        notes.append(Footnote(label, held, marks))
    _remove(taken)
    return [note._replace(held=Element("body", {}, note.held.children)) for note in notes]


def _paths(body: Element) -> list[_Path]:
    """Return each element in document order with its ancestors, down to a depth that a person would use."""
    found: list[_Path] = []
    todo: list[_Path] = [(body,)]
    while todo:
        path = todo.pop()
        found.append(path)
        if len(path) < _MAX_DEPTH:
            todo += [(*path, each) for each in reversed(path[-1].children) if isinstance(each, Element)]
    return found[1:]


def _names(element: Element) -> list[str]:
    names = ("id", "name") if element.tag == "a" else ("id",)
    return [found for name in names if (found := element.attributes.get(name, "").strip())]


def _leads_to(element: Element) -> str | None:
    address = element.attributes.get("href", "").strip() if element.tag == "a" else ""
    return place_of(address[1:]) if address.startswith("#") else None


def _note_path(target: _Path) -> _Path:
    """Return the path of the item or paragraph that contains a link's target; empty if there is no such element."""
    return target[: next((at for at in range(len(target), 1, -1) if target[at - 1].tag in _NOTE_TAGS), 0)]


def _notes(holders: dict[str, _Path]) -> dict[str, _Path]:
    """Return those that can be footnotes; each is examined once, even if thousands of links lead to it."""
    each_once = {id(holder[-1]): holder for holder in holders.values() if holder}
    found = {key for key, holder in each_once.items() if _is_note(holder)}
    return {place: holder for place, holder in holders.items() if holder and id(holder[-1]) in found}


def _is_note(holder: _Path) -> bool:
    """Return whether an item or paragraph can be a footnote."""
    if any(each.tag in CODE_BLOCKS | DROPPED | HTML_BLOCKS or each.tag == "table" for each in holder):
        return False
    return len(holder[-1].text()) <= _MAX_CHARACTERS and all(each.tag not in HEADINGS for each in holder[-1].elements())


def _is_reference(link: Element, around: _Path) -> bool:
    return not any(each.tag in _NO_REFERENCE for each in around) and _SIGN.fullmatch(link.text().strip()) is not None


def _tight(path: _Path) -> list[Element]:
    """Return a reference, preceded by the tags that contain only it and brackets."""
    found = [path[-1]]
    text = _mark_text(path[-1])
    for each in reversed(path[:-1]):
        if each.tag not in _INLINE or _mark_text(each) != text:
            break
        found.insert(0, each)
    return found


def _around(path: _Path) -> list[Element]:
    """Return all possible targets of links back: a reference, the tags around it alone, and its descendants."""
    return [*_tight(path), *path[-1].elements()]


def _mark_text(element: Element) -> str:
    """Return the text of the first few nodes without brackets; an element with more nodes is not a mark."""
    texts = (each for each in islice(element.walk(), _MARK_NODES) if isinstance(each, str))
    return "".join(texts).strip().strip(_BRACKETS)


def _remove(notes: list[_Path]) -> None:
    """Remove the notes from their parents."""
    gone = {id(note[-1]) for note in notes}
    for around in {note[-2] for note in notes}:
        around.children = [each for each in around.children if id(each) not in gone]


def _drop(note: Element, backs: list[Element]) -> None:
    """Remove the links back, and leading spaces and the colon that Hatena writes after the number."""
    gone = {id(each) for each in backs}
    for parent in (note, *note.elements()):
        parent.children = [each for each in parent.children if isinstance(each, str) or id(each) not in gone]
    while note.children and not _shown(note.children[0]):
        note.children.pop(0)


def _shown(node: Element | str) -> str:
    if isinstance(node, str):
        return node.strip(_TRIM)
    return "shown" if any(each.tag == "img" for each in (node, *node.elements())) else node.text().strip(_TRIM)
