"""Sentences of :mod:`exporter.message` in the language of whoever reads them.

English is what messages are; nothing is loaded for it. Another language is a catalogue in ``locale/``, read once, when
the first sentence is said in it.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from exporter.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from gettext import NullTranslations

DOMAIN: Final = "blog-exporter"
PLACE: Final = Path(__file__).parent / "locale"
Language = Literal["en", "ja"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "ja")

_LEAST_LETTERS: Final = 8
_LEAST_ALONE: Final = 6
"""Letters of a template, with fields and without any, that no other text has by chance."""
_LONGEST: Final = 2000
_MOST_PARTS: Final = (0, 0, 2, 7)
"""At how many colons a text is parted, the innermost first: a value is parted at fewer than what it is a value of."""
_KIND_OF_NUMBER: Final = "bcdeEfFgGnoxX%"

_state: dict[str, Language] = {"language": "en"}


def set_language(language: str) -> None:
    """Say everything in this language from now on, one of :data:`LANGUAGES`, in all threads of the process."""
    known: dict[str, Language] = {each: each for each in LANGUAGES}
    if language not in known:
        raise ValueError(language)
    _state["language"] = known[language]


def current_language() -> Language:
    """Return the language that sentences are said in."""
    return _state["language"]


def translated(text: str, language: str | None = None) -> str:
    """Return what a message says in a language, the current one if none is named; any other text as it is.

    The messages among its values are said in that language too.
    """
    language = language or _state["language"]
    if language == "en" or not isinstance(text, Message) or not text.template:
        return text
    template = _template(language, text.template, text.plural, text.number)
    values = {
        name: translated(value, language) if isinstance(value, Message) else value
        for name, value in text.values.items()
    }
    return template.format(**values)


def translated_by_text(text: str) -> str:
    """Return a sentence without fields in the current language, where its English text is all that is left of it."""
    language = _state["language"]
    if language == "en" or not text:
        return text
    return _template(language, text.replace("{", "{{").replace("}", "}}"), None, 1).format()


def recalled(text: str, language: str | None = None) -> str:
    """Return in a language, the current one if none is named, what an earlier run said in English and an archive kept.

    A text that no template of the catalogue can have made is returned as it is, and so is one that is too long to be a
    sentence. What the fields of a template stood for is recalled too. The time it takes is bounded, whatever is in it.
    """
    language = language or _state["language"]
    if isinstance(text, Message):
        return translated(text, language)
    return text if language == "en" or len(text) > _LONGEST else _recalled(text, language, len(_MOST_PARTS) - 1)[1]


@lru_cache(2000)
def _recalled(text: str, language: str, deepest: int) -> tuple[int, str]:
    """Return how many letters of a text are known, and the text in the language.

    Sentences were put behind one another with colons: of all ways to part them, the one that knows most is taken, and
    of these the one with the most parts: a name rarely has a colon.
    """
    if not deepest or len(text) < _LEAST_ALONE:
        return 0, text
    pieces = text.split(": ", _MOST_PARTS[deepest])
    best = [(0, 0, "")]
    for start in reversed(range(len(pieces))):
        ways = []
        for end in range(start + 1, len(pieces) + 1):
            known, found = _one_recalled(": ".join(pieces[start:end]), language, deepest)
            more, parts, rest = best[len(pieces) - end]
            ways.append((known + more, parts + 1, f"{found}: {rest}" if parts else found))
        best.append(max(ways, key=lambda way: way[:2]))
    known, _, found = best[-1]
    return known, found


def _one_recalled(text: str, language: str, deepest: int) -> tuple[int, str]:
    for pattern in _patterns(language):
        values = pattern.match(text)
        if values is not None:
            template = _template(language, pattern.one, pattern.many, 1 if pattern.of_one else 2)
            found = {name: _recalled(value, language, deepest - 1) for name, value in values.items()}
            # The values are text already, so that the formats of numbers are done with.
            said = [
                literal + ("" if name is None else found[name][1])
                for literal, name, _, _ in Formatter().parse(template)
            ]
            return pattern.letters + sum(known for known, _ in found.values()), "".join(said)
    return 0, text


def _template(language: str, one: str, many: str | None, number: int) -> str:
    catalogue = _catalogue(language)
    return catalogue.gettext(one) if many is None else catalogue.ngettext(one, many, number)


@cache
def _catalogue(language: str) -> NullTranslations:
    from gettext import translation  # noqa: PLC0415 - English needs none of it

    return translation(DOMAIN, PLACE, [language])


class _Pattern(NamedTuple):
    """What a template's sentences look like: literal text, with fields between the pieces."""

    one: str
    many: str | None
    of_one: bool
    literals: list[str]
    names: list[str]
    numbers: list[bool]
    letters: int

    def match(self, text: str) -> dict[str, str] | None:
        """Return what the fields stand for in a text that the template can have made.

        Each piece is looked for once, as early as it comes: what comes after it could only lose by a later one.
        """
        first, *between, last = self.literals if self.names else (*self.literals, "")
        if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
            return None
        if not self.names:
            return {} if text == first else None
        at, end, values = len(first), len(text) - len(last), []
        for literal in between:
            found = text.find(literal, at, end)
            if found < 0:
                return None
            values.append(text[at:found])
            at = found + len(literal)
        values.append(text[at:end])
        if any(number and not _is_number(value) for value, number in zip(values, self.numbers, strict=True)):
            return None
        return dict(zip(self.names, values, strict=True))


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(",", "").replace(".", "").replace("%", "").strip().isdecimal()


@cache
def _patterns(language: str) -> list[_Pattern]:
    """Return the patterns of all templates that say enough to be told apart, those that say the most first."""
    found = []
    for one, many in _templates((PLACE / language / "LC_MESSAGES" / f"{DOMAIN}.mo").read_bytes()):
        found += [_pattern(one, many, template) for template in (one, many) if template is not None]
    telling = (each for each in found if each.letters >= (_LEAST_LETTERS if each.names else _LEAST_ALONE))
    return sorted(telling, key=lambda each: -each.letters)


def _pattern(one: str, many: str | None, template: str) -> _Pattern:
    literals, names, numbers = [""], [], []
    for literal, name, form, _ in Formatter().parse(template):
        literals[-1] += literal
        if name is not None:
            names.append(name)
            numbers.append((form or "")[-1:] in {",", *_KIND_OF_NUMBER} and bool(form))
            literals.append("")
    letters = sum(map(str.isalpha, "".join(literals)))
    return _Pattern(one, many, template == one, literals, names, numbers, letters)


def _templates(data: bytes) -> Iterator[tuple[str, str | None]]:
    """Yield the templates of a compiled catalogue, for one and, where a number decides, for others.

    The form of the file is that of GNU gettext's manual, "The Format of GNU MO Files".
    """
    _, _, count, table = struct.unpack_from("<4I", data)
    for number in range(count):
        length, at = struct.unpack_from("<2I", data, table + 8 * number)
        one, _, many = data[at : at + length].decode().partition("\0")
        if one:
            yield one, many or None
