"""Reduce texts to their letters, the part that every home must keep. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import unescape
from itertools import accumulate
from typing import Final, NamedTuple
from zlib import crc32

from exporter.html.anchors import FOOTNOTE, Numbering, take_footnotes
from exporter.html.embedded import parse_body
from exporter.html.text import plain_text, text_in
from exporter.html.tree import CODE_BLOCKS, LINE_TAGS, Element, TooComplex
from exporter.text import visible

_EMOTICONS: Final = {
    "🙂": ":) :-) :smile:", "🙁": ":( :-( :sad:", "😉": ";) ;-) :wink:", "😀": ":D :-D :grin:", "😛": ":P :-P :razz:",
    "😎": "8-) :cool:", "😯": "8O 8-O :shock:", "😕": ":? :-? :???:", "😮": ":o :-o :eek:", "😡": ":x :-x :mad:",
    "😐": ":| :-| :neutral:", "😈": ":twisted:", "👿": ":evil:", "😆": ":lol:", "😳": ":oops:", "😥": ":cry:",
    "🙄": ":roll:", "💡": ":idea:", "➡": ":arrow:", "❗": ":!:", "❓": ":?:",
}  # fmt: skip
"""The emoji that WordPress shows for an emoticon between white space."""
_FACES: Final = {word: face for face, words in _EMOTICONS.items() for word in words.split()}
_EMOTICON: Final = re.compile(
    rf"(?<!\S)(?:{'|'.join(re.escape(word) for word in sorted(_FACES, key=len, reverse=True))})(?!\S)"
)
_UNSEEN: Final = re.compile(
    "[\\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd\ufffe\uffff"  # white space, and what XML or UTF-8 cannot hold
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]+"  # invisible characters
)
_TYPOGRAPHY: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ`´", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "«": "<<",
        "»": ">>",
        "…": "...",
        "‥": "..",
        "×": "x",
        "™": "(tm)",
    }
)
_TYPOGRAPHIC: Final = re.compile(f"[{re.escape(''.join(map(chr, _TYPOGRAPHY)))}]")
"""Finds these characters, faster than ``str.translate`` would."""
_QUOTES: Final = re.compile("['\"]{2,}")
"""WordPress turns several straight quotation marks in a row into other ones."""
_RUNS: Final = re.compile(r"-{2,}|\.{3,}")
_SCHEME: Final = re.compile(r"http://(?=(?:www|ftp)\.)")
_WORDS: Final = frozenset({"Mn", "Mc", "No", "So"})
BETWEEN: Final = "\ufdd0"
"""A character that Unicode forbids in texts."""
_LINE_END: Final = "\ufdd1"
"""Another one, for the end of a line."""
_PIECE_LETTERS: Final = 6
_SKETCHED_LETTERS: Final = 20_000
"""The letters at a text's beginning that are compared with other texts in pieces."""


def letters(text: str) -> str:
    """Return a text's letters, which must be equal in every home.

    The form is NFC, without white space and invisible characters. Quotation marks are straight, and several in a row
    are a double one. Dashes are hyphens, an
    ellipsis is dots, ``×`` is ``x`` and ``™`` is ``(tm)``. Emoticons become the faces they represent, and ``WordPress``
    has WordPress' spelling.
    """
    folded = _EMOTICON.sub(lambda found: _FACES[found[0]], text) if ":" in text or "8" in text or ";" in text else text
    folded = unicodedata.normalize("NFC", _UNSEEN.sub("", folded))
    folded = _TYPOGRAPHIC.sub(lambda found: _TYPOGRAPHY[ord(found[0])], folded)
    folded = _QUOTES.sub('"', _RUNS.sub(lambda found: found[0][0], folded)).replace("Wordpress", "WordPress")
    return unicodedata.normalize("NFC", folded)  # again: inserted characters may compose with the next one


class Lettered(NamedTuple):
    """A text as letters, and the beginnings of its lines.

    Attributes:
        letters: see :func:`letters`.
        starts: the positions at which lines begin, except the first; ``None`` if unknown because letters of two lines
            compose.
    """

    letters: str
    starts: frozenset[int] | None


def lettered(text: str) -> Lettered:
    """Return the letters of a text with the lines that a reader sees."""
    whole = letters(text)
    lines = letters(text.replace("\n", f" {_LINE_END} ")).split(_LINE_END)
    if "".join(lines) != whole:
        return Lettered(whole, None)
    starts = accumulate(map(len, lines[:-1]))
    return Lettered(whole, frozenset(at for at in starts if 0 < at < len(whole)))


def seen_text(body: Element) -> str:
    """Return the text of a body in the lines that a reader sees.

    The source's line ends count only in preformatted text, or if no tag ends a line (API 2.8).
    """
    has_lines = any(isinstance(node, Element) and node.tag in LINE_TAGS for node in body.walk())
    return text_in(_joined(body) if has_lines else body)


def _joined(body: Element) -> Element:
    """Copy a body and replace line ends with spaces, except in preformatted text."""
    made = Element(body.tag, body.attributes, [])
    todo = [(body, made)]
    while todo:
        old, new = todo.pop()
        for child in old.children:
            if isinstance(child, str):
                new.children.append(child.replace("\n", " "))
            elif child.tag in CODE_BLOCKS:
                new.children.append(child)
            else:
                copy = Element(child.tag, child.attributes, [])
                new.children.append(copy)
                todo.append((child, copy))
    return made


def lettered_body(html: str) -> tuple[Lettered, Element | None]:
    """Return the letters of HTML as a reader sees it, with the beginnings of its lines, and its tree.

    The tree is ``None`` if the HTML is too complex.
    """
    try:
        tree = parse_body(visible(html)[0])
    except TooComplex:
        return Lettered(body_letters(html), None), None
    return lettered(html if "<" not in html and "&" not in html else seen_text(tree)), tree


def body_letters(html: str) -> str:
    """Return the letters of HTML as a reader sees it."""
    return letters(plain_text(html))


class Pieces(NamedTuple):
    """A text's letters in pieces, and its tree with :data:`BETWEEN` between them; ``None`` if too complex."""

    texts: list[Lettered]
    tree: Element | None


def body_pieces(html: str) -> Pieces:
    """Return the letters of HTML in pieces, cut at places where exports insert or move words.

    Exports write a frame's address in its place, and move footnotes to the end.
    """
    try:
        body = parse_body(visible(html)[0])
    except TooComplex:
        return Pieces([Lettered(body_letters(html), None)], None)
    notes = take_footnotes(body, Numbering())
    for each in body.walk():
        if isinstance(each, Element) and each.tag in {"iframe", FOOTNOTE}:
            each.tag, each.children = "span", [BETWEEN]
    body.children += [each for note in notes for each in (BETWEEN, note.held)]
    text = html if "<" not in html and "&" not in html else seen_text(body)
    return Pieces([piece for piece in map(lettered, text.split(BETWEEN)) if piece.letters], body)


def without_schemes(text: str) -> str:
    """Return the letters of a comment without the ``http://`` that WordPress adds to addresses that begin otherwise."""
    return _SCHEME.sub("", text)


def word_letters(text: str) -> str:
    """Return the letters in a title, name or category, which may have character references."""
    return letters(unescape(text))


def only_words(text: str) -> str:
    """Return a text's letters, digits and symbols, which Markdown can neither hide nor add."""
    return "".join(char for char in text if char.isalnum() or unicodedata.category(char) in _WORDS)


def sketch(text: str) -> frozenset[int]:
    """Return a hash of every six consecutive letters in a text's beginning, to compare texts by."""
    data = text[:_SKETCHED_LETTERS].encode("utf-16-le", "surrogatepass")
    width = 2 * _PIECE_LETTERS
    return (
        frozenset(crc32(data[at : at + width]) for at in range(0, max(1, len(data) - width + 1), 2))
        if data
        else frozenset()
    )


def likeness(one: frozenset[int], other: frozenset[int]) -> float:
    """Return how similar two sketches are, 0 to 1 (Dice's coefficient)."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def first_difference(before: str, after: str, around: int = 20) -> tuple[str, str]:
    """Return a piece of each of two texts around their first difference."""
    at = next(
        (at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    start = max(0, at - around // 2)

    def piece(text: str) -> str:
        lead, end = "…" if start else "", "…" if start + around * 2 < len(text) else ""
        return f"{lead}{text[start : start + around * 2]}{end}"

    return piece(before), piece(after)


def same_words(one: str, others: Iterable[str]) -> bool:
    """Return whether a title or name equals one of others by its :func:`word_letters`."""
    wanted = word_letters(one)
    return any(word_letters(other) == wanted for other in others)
