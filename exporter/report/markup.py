"""A text with HTML in it cut into pieces, each known by what a browser takes it for; joined they are the text. Pure."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from enum import Enum, auto
from html.entities import html5
from typing import Final, NamedTuple

from exporter.report.names import TAGS

_RAW: Final = frozenset({"script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe"})
_NEXT: Final = re.compile(
    r"<!--|<[!?]|<(/?)([a-zA-Z][^\s/>]*)|&(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[a-zA-Z][a-zA-Z0-9]*);?|https?://"
)
_COMMENT_END: Final = re.compile(r"--!?>|\Z")
_TAG_END: Final = re.compile(r">|\Z")
_ATTRIBUTE: Final = re.compile(
    r"(?P<lead>[\s/]+|)(?P<name>[^\s/>=][^\s/>=]*)"
    r"(?:(?P<equals>\s*=\s*)(?:\"(?P<double>[^\"]*)(?:\"|\Z)|'(?P<single>[^']*)(?:'|\Z)|(?P<bare>[^\s>]*)))?"
)
_BETWEEN: Final = re.compile(r"[\s/=]*")
_ADDRESS_END: Final = re.compile(r"[^!#$%&()*+,\-./0-9:;=?@A-Z\[\]_a-z~]|[.,)\]]*(?:\s|\Z)")


class Piece(Enum):
    """What a piece of a text is."""

    SYNTAX = auto()
    """Marks, brackets, quotes and white space of tags and comments."""
    TAG = auto()
    """The name of a tag."""
    NAME = auto()
    """The name of an attribute."""
    VALUE = auto()
    """The value of an attribute, whose name is the piece's ``of``."""
    REFERENCE = auto()
    """A character reference, such as ``&amp;``."""
    ADDRESS = auto()
    """An address in the text."""
    TEXT = auto()
    """What a reader sees, or the inside of a comment, a script or a declaration."""


class Cut(NamedTuple):
    """A piece: what it is, its text, and of an attribute's value the attribute's name in lower case."""

    piece: Piece
    text: str
    of: str = ""


def cut(text: str) -> Iterator[Cut]:
    """Yield the pieces of a text in their order."""
    at = 0
    while (found := _NEXT.search(text, at)) is not None:
        if found.start() > at:
            yield Cut(Piece.TEXT, text[at : found.start()])
        start = found[0]
        at = found.end()
        if start == "<!--":
            yield Cut(Piece.SYNTAX, start)
            end = _COMMENT_END.search(text, at)
            at = yield from _until(text, at, end)
        elif start in {"<!", "<?"}:
            yield Cut(Piece.SYNTAX, start)
            at = yield from _until(text, at, _TAG_END.search(text, at))
        elif found[2] is not None:
            at = yield from _tag(text, found)
        elif start.startswith("&#") or start[1:] in html5:
            yield Cut(Piece.REFERENCE, start)
        elif start.startswith("&"):
            at = found.start() + 1
            yield Cut(Piece.TEXT, "&")
        else:
            end = _ADDRESS_END.search(text, at)
            stop = end.start() if end is not None else len(text)
            yield Cut(Piece.ADDRESS, text[found.start() : stop])
            at = stop
    if at < len(text):
        yield Cut(Piece.TEXT, text[at:])


def _until(text: str, at: int, end: re.Match[str] | None) -> Generator[Cut, None, int]:
    stop, after = (end.start(), end.end()) if end is not None else (len(text), len(text))
    if stop > at:
        yield Cut(Piece.TEXT, text[at:stop])
    if after > stop:
        yield Cut(Piece.SYNTAX, text[stop:after])
    return after


def _tag(text: str, found: re.Match[str]) -> Generator[Cut, None, int]:
    yield Cut(Piece.SYNTAX, "<" + found[1])
    yield Cut(Piece.TAG, found[2])
    at = found.end()
    while at < len(text) and text[at] != ">":
        attribute = _ATTRIBUTE.match(text, at)
        if attribute is None:
            between = _BETWEEN.match(text, at)
            end = between.end() if between is not None else at
            yield Cut(Piece.SYNTAX, text[at:end])
            at = end
            continue
        yield from _attribute(attribute)
        at = attribute.end()
    if at < len(text):
        yield Cut(Piece.SYNTAX, ">")
        at += 1
    if not found[1] and found[2].lower() in _RAW and found[2].lower() in TAGS:
        close = re.compile(rf"</{found[2]}(?=[\s/>])", re.IGNORECASE).search(text, at)
        stop = close.start() if close is not None else len(text)
        if stop > at:
            yield Cut(Piece.TEXT, text[at:stop])
        at = stop
    return at


def _attribute(found: re.Match[str]) -> Iterator[Cut]:
    if found["lead"]:
        yield Cut(Piece.SYNTAX, found["lead"])
    yield Cut(Piece.NAME, found["name"])
    if found["equals"] is None:
        return
    group = next(name for name in ("double", "single", "bare") if found[name] is not None)
    start, end = found.span(group)
    yield Cut(Piece.SYNTAX, found.string[found.start("equals") : start])
    if end > start:
        yield Cut(Piece.VALUE, found[group], found["name"].lower())
    if found.end() > end:
        yield Cut(Piece.SYNTAX, found.string[end : found.end()])
