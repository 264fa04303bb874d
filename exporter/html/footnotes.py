"""Footnotes of a body, where they are recognisable, taken out of its tree. Pure.

A footnote is what a short link with a number or a sign leads to, and what leads back to it: Hatena, WordPress and the
converters of Markdown write them so. All others stay links inside the text (:mod:`exporter.html.anchors`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from itertools import islice
from typing import Final, NamedTuple

from exporter.html.anchors import place_of
from exporter.html.tags import CODE_BLOCKS, DROPPED, HEADINGS, HTML_BLOCKS, RUBY, tag_set
from exporter.html.tree import Element

FOOTNOTE: Final = "#footnote"
"""The tag of an element that stands for a reference and holds its sign; HTML has none of that name.

It has the ``label`` of its footnote, and as ``time`` whether it is the first reference to that, or the second."""

_SIGN: Final = re.compile(r"[\[(（［〔]?(?:[*＊※†‡^]{1,3}\d{0,3}|(?:注|脚注|note)?\d{1,3})[\])）］〕]?")
_BRACKETS: Final = "[](){}（）［］〔〕"
_HOLDERS: Final = tag_set("dd div li p")
_NOWHERE: Final = CODE_BLOCKS | DROPPED | HTML_BLOCKS | RUBY | tag_set("a code datalist dd dt table")
"""What a reference cannot be in, since it would not be read as one there."""
_INLINE: Final = tag_set("b small span strong sup")
_TRIM: Final = " \t\n\r\f:："
_LONGEST: Final = 4_000
_MOST: Final = 1_000
_DEEPEST: Final = 40
_FEW: Final = 12

_Path = tuple[Element, ...]


class Numbering(NamedTuple):
    """How footnotes are labelled, in the order of their references, and which stay what they are.

    Attributes:
        first: the number of the first one.
        prefix: what is before each number, so that several texts can be on a page.
        asked_for: ids that links from elsewhere lead to; a footnote with one of these stays a link.
    """

    first: int = 1
    prefix: str = ""
    asked_for: Collection[str] = ()


class Footnote(NamedTuple):
    """A footnote: its label, what it holds without the links back, and the sign of each reference to it."""

    label: str
    held: Element
    signs: list[str]


def take_footnotes(body: Element, numbering: Numbering) -> list[Footnote]:
    """Take the footnotes out of a tree and put a :data:`FOOTNOTE` in place of each reference."""
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
    held_by = _notes({place: _holder(named[place]) for place in asked if place in named})
    for place, path in links:
        note = held_by.get(place)
        if note is not None and order[id(note[-1])] > order[id(path[-1])] and _is_reference(path[-1], path[:-1]):
            found.setdefault(id(note[-1]), (note, []))[1].append(path)
    notes: list[Footnote] = []
    taken: list[_Path] = []
    for note, references in found.values() if len(found) <= _MOST else ():
        held = note[-1]
        inside = Counter(place for place in map(_leads_to, _elements(held)) if place is not None)
        own = {name for each in (held, *_elements(held)) for name in _names(each)}
        there = {name for path in references for each in _around(path) for name in _names(each)}
        backs = [each for each in _elements(held) if _leads_to(each) in there]
        # All that leads to the note is a reference, and all that leads to these is in the note: no link is lost.
        is_empty = len(held.text().strip()) <= sum(len(each.text()) for each in backs)
        if not backs or is_empty or sum(asked[name] for name in own) != len(references):
            continue
        if any(asked[name] != inside[name] for name in there) or not (own | there).isdisjoint(numbering.asked_for):
            continue
        label = f"{numbering.prefix}{numbering.first + len(notes)}"
        signs = [_tight(path)[0].text().strip() for path in references]
        for time, (path, sign) in enumerate(zip(references, signs, strict=True), 1):
            mark = _tight(path)[0]
            mark.tag, mark.children = FOOTNOTE, [sign]
            mark.attributes = {"label": label, "time": str(time)}
        _drop(held, backs)
        taken.append(note)
        notes.append(Footnote(label, held, signs))
    _remove(taken)
    return [note._replace(held=Element("body", {}, note.held.children)) for note in notes]


def _paths(body: Element) -> list[_Path]:
    """Return each element in the order of the document, with those around it, as far as a person would nest them."""
    found: list[_Path] = []
    todo: list[_Path] = [(body,)]
    while todo:
        path = todo.pop()
        found.append(path)
        if len(path) < _DEEPEST:
            todo += [(*path, each) for each in reversed(path[-1].children) if isinstance(each, Element)]
    return found[1:]


def _elements(parent: Element) -> list[Element]:
    return [each for each in parent.walk() if isinstance(each, Element)]


def _names(element: Element) -> set[str]:
    names = ("id", "name") if element.tag == "a" else ("id",)
    return set(filter(None, (element.attributes.get(name, "").strip() for name in names)))


def _leads_to(element: Element) -> str | None:
    address = element.attributes.get("href", "").strip() if element.tag == "a" else ""
    return place_of(address[1:]) if address.startswith("#") else None


def _holder(target: _Path) -> _Path:
    """Return the item or paragraph that a link's target is in, with what is around it; nothing where there is none."""
    return target[: next((at for at in range(len(target), 1, -1) if target[at - 1].tag in _HOLDERS), 0)]


def _notes(holders: dict[str, _Path]) -> dict[str, _Path]:
    """Return those that can be footnotes; each is looked into once, though thousands of links may lead there."""
    each_once = {id(holder[-1]): holder for holder in holders.values() if holder}
    found = {key for key, holder in each_once.items() if _is_note(holder)}
    return {place: holder for place, holder in holders.items() if holder and id(holder[-1]) in found}


def _is_note(holder: _Path) -> bool:
    """Tell whether an item or paragraph can be a footnote."""
    if any(each.tag in CODE_BLOCKS | DROPPED | HTML_BLOCKS or each.tag == "table" for each in holder):
        return False
    return len(holder[-1].text()) <= _LONGEST and all(each.tag not in HEADINGS for each in _elements(holder[-1]))


def _is_reference(link: Element, around: _Path) -> bool:
    return not any(each.tag in _NOWHERE for each in around) and _SIGN.fullmatch(link.text().strip()) is not None


def _tight(path: _Path) -> list[Element]:
    """Return a reference, and before it the tags that are around it and nothing else but brackets."""
    found = [path[-1]]
    text = _sign(path[-1])
    for each in reversed(path[:-1]):
        if each.tag not in _INLINE or _sign(each) != text:
            break
        found.insert(0, each)
    return found


def _around(path: _Path) -> list[Element]:
    """Return what could be meant by a link back: a reference, what is tight around it, and what is in it."""
    return [*_tight(path), *_elements(path[-1])]


def _sign(element: Element) -> str:
    """Return the text without brackets, of the first few nodes: what holds more is not a sign alone."""
    texts = (each for each in islice(element.walk(), _FEW) if isinstance(each, str))
    return "".join(texts).strip().strip(_BRACKETS)


def _remove(notes: list[_Path]) -> None:
    """Take the notes out of what is around them."""
    gone = {id(note[-1]) for note in notes}
    for around in {note[-2] for note in notes}:
        around.children = [each for each in around.children if id(each) not in gone]


def _drop(note: Element, backs: list[Element]) -> None:
    """Drop the links back, and what is left around the text: spaces, and Hatena's colon behind the number."""
    gone = {id(each) for each in backs}
    for parent in (note, *_elements(note)):
        parent.children = [each for each in parent.children if isinstance(each, str) or id(each) not in gone]
    while note.children and not _shown(note.children[0]):
        note.children.pop(0)


def _shown(node: Element | str) -> str:
    if isinstance(node, str):
        return node.strip(_TRIM)
    return "shown" if any(each.tag == "img" for each in (node, *_elements(node))) else node.text().strip(_TRIM)
