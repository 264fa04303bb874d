"""Which bodies are too large to be shown with their markup, and which a standard HTML parser would choke on. Pure.

Tree building as the HTML Standard has it is not linear. Formatting left open is opened again in every later block, at
most three times for one spelling of a tag; most tags make the parser look through the whole stack of open elements;
and each attribute is compared with those before it. A few kilobytes written for it can ask for gigabytes and hours.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Final

from exporter.html.tags import tag_set
from exporter.translation import translator

BODY_CHARACTERS: Final = 2_000_000
"""The most characters of a body that is shown with its markup: some ten novels."""
BODY_MARKS: Final = 150_000
"""The most tags, character references and line ends of such a body, each of which becomes a piece of a page."""

_MARKS: Final = ("<", "&", "\n")
_NODES_MAX: Final = 5_000_000
_STEPS_MAX: Final = 2_000_000_000
_SEPARATORS_MAX: Final = 5_000
_SMALL: Final = 1_000
_USUALLY_OPEN: Final = 10

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


class TooComplex(ValueError):
    """The HTML would cost the parser more time or memory than any readable body does."""


class TooLarge(TooComplex):
    """The body is too large to be shown with its markup; :func:`~exporter.html.text.text_of` gives its text."""


def too_large(source: str) -> bool:
    """Tell whether a body is beyond the budget. Takes time that grows with its length, and no memory."""
    return len(source) > BODY_CHARACTERS or sum(map(source.count, _MARKS)) > BODY_MARKS


def too_large_words(characters: int, language: str = "ja") -> str:
    """Return the sentence before the text of a body of so many characters, in Japanese or English."""
    t = translator(language)
    return t(
        "(This text is too large to be shown as it looked ({n:,} characters), so only its words follow. "
        "The archive's record has all of it as it was sent.)",
        n=characters,
    )
