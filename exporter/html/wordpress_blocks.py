"""Blocks of WordPress whose content is elsewhere: synced patterns and footnotes. Pure.

A body names a synced pattern by its number, and its footnotes are in a custom field. This module writes both into the
body's source, by the rules of ``render_block_core_block`` and ``render_block_core_footnotes`` in WordPress 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final, NamedTuple

from exporter import lossless_json
from exporter.html.safe_html import safe_html
from exporter.html.tree import TooComplex, parse
from exporter.model.records import Lack, Unshown

MAX_PATTERN_CHARACTERS: Final = 1024**2
"""The maximum for all patterns that one body shows. A pattern counts each time it is shown."""
_MAX_NESTED: Final = 10
_MAX_NOTES: Final = 10_000
_OPENING: Final = re.compile(r"<!--\s{1,20}wp:(?:core/)?([a-z][a-z0-9_-]{0,60}(?:/[a-z][a-z0-9_-]{0,60})?)\s")
_PATTERN: Final = "block"
_FOOTNOTES: Final = "footnotes"
_WITHOUT_CONTENT: Final = frozenset(re.split(" ", "block column footnotes more nextpage paragraph separator spacer"))
"""Blocks that this module writes, or that show nothing or a gap if they are empty."""
_REFERENCE: Final = re.compile(r"""\sid=["']?([^\s"'<>]{1,200})-link["'\s>]""")
_ELEMENT: Final = re.compile(r"<(p|h[1-6]|a|button)(?=[\s>])[^<>]*>", re.IGNORECASE)
_IMAGE: Final = re.compile(r"<img\s[^<>]*>", re.IGNORECASE)
_OVERRIDDEN: Final = {"url": "src", "alt": "alt", "title": "title"}
"""The attributes of an image block that a pattern may leave open, as attributes of its element."""


class StoredBlock(NamedTuple):
    """The comment that begins a block, or is all of it.

    Attributes:
        name: without ``core/``.
        written: its attributes, as JSON.
        alone: whether the comment is the whole block.
        start: the comment's place in the source.
        end: the place after it.
    """

    name: str
    written: str
    alone: bool
    start: int
    end: int

    def attributes(self) -> Mapping[str, Any]:
        """Return its attributes; none if they cannot be read."""
        return _object(self.written)


def blocks(source: str) -> Iterator[StoredBlock]:
    """Yield a body's blocks in order, each before those inside it."""
    done = 0
    for found in _OPENING.finditer(source):
        if found.start() < done:
            continue
        end = source.find("-->", found.end() - 1)
        if end < 0:
            return
        done = end + len("-->")
        written = source[found.end() : end].strip()
        alone = written.endswith("/")
        yield StoredBlock(found[1], written.removesuffix("/").strip(), alone, found.start(), done)


def pattern_numbers(source: str) -> list[str]:
    """Return the number of each synced pattern that a body names, without duplicates."""
    if not _has_patterns(source):
        return []
    found = (_number(each) for each in blocks(source) if each.name == _PATTERN)
    return list(dict.fromkeys(filter(None, found)))


def with_patterns(source: str, patterns: Mapping[str, str], unshown: list[Unshown]) -> str:
    """Return a body with the content of its synced patterns.

    Args:
        source: the body.
        patterns: the published patterns by their numbers.
        unshown: receives the patterns that are missing or too large.
    """
    return _Expansion(patterns, unshown).expand(source, ()) if _has_patterns(source) else source


def _has_patterns(source: str) -> bool:
    return "wp:block" in source or "wp:core/block" in source


class _Expansion:
    """Writes patterns into one body."""

    def __init__(self, patterns: Mapping[str, str], unshown: list[Unshown]) -> None:
        self._patterns = patterns
        self._unshown = unshown
        self._left = MAX_PATTERN_CHARACTERS

    def expand(self, source: str, inside: tuple[str, ...]) -> str:
        """Write the patterns into a body, or into a pattern that is ``inside`` others."""
        parts: list[str] = []
        done = 0
        for block in blocks(source):
            if block.name == _PATTERN and (number := _number(block)):
                parts += [source[done : block.start], self._content(number, block, inside)]
                done = block.end
        return "".join([*parts, source[done:]]) if parts else source

    def _content(self, number: str, block: StoredBlock, inside: tuple[str, ...]) -> str:
        if number in inside or len(inside) >= _MAX_NESTED:
            return ""  # WordPress stops here too
        found = self._patterns.get(number)
        if found is None:
            self._unshown.append(Unshown(Lack.PATTERN, number))
            return ""
        self._left -= len(found)
        if self._left < 0:
            self._unshown.append(Unshown(Lack.PATTERNS_LARGE))
            return ""
        return self.expand(_overridden(found, _overrides(block)), (*inside, number))


def _overrides(block: StoredBlock) -> Mapping[str, Mapping[str, str]]:
    """Return a post's own texts and pictures for a pattern, by the name of the block."""
    attributes = block.attributes()
    written = attributes.get("content", attributes.get("overrides"))
    found: dict[str, Mapping[str, str]] = {}
    for name, value in written.items() if isinstance(written, dict) else ():
        if isinstance(value, dict):
            inner = value.get("values")
            values = inner if isinstance(inner, dict) else value
            found[name] = {key: text for key, text in values.items() if isinstance(text, str)}
    return found


def _overridden(source: str, overrides: Mapping[str, Mapping[str, str]]) -> str:
    if not overrides:
        return source
    parts: list[str] = []
    done = 0
    endless: set[str] = set()
    for block in blocks(source):
        new = None if block.alone or block.start < done or block.name in endless else overrides.get(_name(block))
        if new is None:
            continue
        end = source.find(f"<!-- /wp:{block.name} ", block.end)
        if end < 0:
            endless.add(block.name)
            continue
        parts += [source[done : block.end], _changed(source[block.end : end], new)]
        done = end
    return "".join([*parts, source[done:]])


def _name(block: StoredBlock) -> str:
    """Return the name by which a post may change a block of a pattern; empty if it may not."""
    about = block.attributes().get("metadata")
    named = about.get("name") if isinstance(about, dict) and about.get("bindings") else None
    return str(named) if isinstance(named, str) else ""


def _changed(inside: str, new: Mapping[str, str]) -> str:
    """Put new values into a paragraph, heading, button or image."""
    picture, element = _IMAGE.search(inside), _ELEMENT.search(inside)
    if picture is not None:
        tag = picture[0]
        for name, attribute in _OVERRIDDEN.items():
            if name in new:
                tag = re.sub(rf'\s{attribute}="[^"]*"', "", tag)
                tag = f'<img {attribute}="{escape(new[name])}"{tag[len("<img") :]}'
        return inside[: picture.start()] + tag + inside[picture.end() :]
    text = new.get("content", new.get("text"))
    if element is None:
        return inside
    opening, end = element[0], inside.rfind(f"</{element[1]}>")
    if "url" in new and element[1] == "a":
        opening = re.sub(r'\shref="[^"]*"', "", opening)
        opening = f'<a href="{escape(new["url"])}"{opening[len("<a") :]}'
    if text is None or end < element.end():
        return inside[: element.start()] + opening + inside[element.end() :]
    return inside[: element.start()] + opening + text + inside[end:]


def with_footnotes(source: str, notes: str, unshown: list[Unshown]) -> str:
    """Return a body with the texts of its footnotes: in place of their block, or at the end.

    Args:
        source: the body.
        notes: the custom field ``footnotes``, a JSON list of objects with ``id`` and ``content``.
        unshown: receives an item if the notes cannot be read, or if a body has references and no notes.
    """
    place = next((each for each in blocks(source) if each.name == _FOOTNOTES), None) if _FOOTNOTES in source else None
    shown = _footnotes(notes, source) if notes.strip() else ""
    if shown is None or (not shown and place is not None and "data-fn=" in source):
        unshown.append(Unshown(Lack.NOTES))
    if not shown:
        return source
    if place is None:
        return f"{source.rstrip()}\n\n{shown}"
    return source[: place.start] + shown + source[place.end :]


def _footnotes(notes: str, source: str) -> str | None:
    """Return footnotes as a list, as WordPress shows them; ``None`` if they cannot be read."""
    try:
        found = lossless_json.loads(notes.encode("utf-8", "replace"))
    except lossless_json.NotJson:
        return None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found) or len(found) > _MAX_NOTES:
        return None
    references = set(_REFERENCE.findall(source))
    seen: set[str] = set()
    items: list[str] = []
    for each in found:
        name, text = each.get("id"), each.get("content")
        shown = harmless(text) if isinstance(text, str) else ""
        if not isinstance(name, str) or not name or name in seen:
            items += [f"<li>{shown}</li>"] if shown else []
            continue
        seen.add(name)
        back = f' <a href="#{escape(name)}-link">↩︎</a>' if name in references else ""
        items.append(f'<li id="{escape(name)}">{shown}{back}</li>')
    return f'<ol class="wp-block-footnotes">{"".join(items)}</ol>' if items else ""


def harmless(html: str) -> str:
    """Return a text from outside the body as HTML that closes its tags and runs nothing."""
    try:
        return safe_html(parse(html))
    except TooComplex:
        return escape(html, quote=False)


def empty_blocks(source: str) -> list[str]:
    """Return the names of the blocks that WordPress or a plug-in fills when it shows a body, each once."""
    if "/-->" not in source:
        return []
    return list(dict.fromkeys(each.name for each in blocks(source) if each.alone and each.name not in _WITHOUT_CONTENT))


def _number(block: StoredBlock) -> str:
    """Return the number of a synced pattern; empty if the block names none."""
    found = block.attributes().get("ref")
    if isinstance(found, str) and re.fullmatch(r"[1-9][0-9]{0,18}", found):
        return found
    return str(int(found)) if type(found) is int and 0 < found < 10**19 else ""


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = lossless_json.loads(text.encode("utf-8", "replace")) if text else {}
    except lossless_json.NotJson:
        return {}
    return found if isinstance(found, dict) else {}
