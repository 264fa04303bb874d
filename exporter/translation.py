"""Translate the sentences of :mod:`exporter.message` with the gettext catalogues in ``locale/``.

English needs no catalogue: a message is its English text. Any other catalogue is loaded on first use and cached.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from exporter.message import CONTEXT_END, Message, filled, message, without_context

if TYPE_CHECKING:
    from collections.abc import Iterator
    from gettext import NullTranslations

DOMAIN: Final = "blog-exporter"
PLACE: Final = Path(__file__).parent / "locale"
Language = Literal["en", "ja"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "ja")

_LONGEST_STORED_CHARACTERS: Final = 2000
_LEAST_LETTERS: Final = 8
"""A template with fewer literal letters fits too many texts, so it is never recognised."""
_DEEPEST_VALUES: Final = 5

_state: dict[str, Language] = {"language": "en"}


def set_language(language: str) -> None:
    """Set the interface language for the whole process and all threads.

    Raises:
        ValueError: the language is not in :data:`LANGUAGES`.
    """
    known: dict[str, Language] = {each: each for each in LANGUAGES}
    if language not in known:
        raise ValueError(language)
    _state["language"] = known[language]


def current_language() -> Language:
    """Return the interface language."""
    return _state["language"]


def translated(text: str, language: str | None = None) -> str:
    """Return a message in a language, by default the interface language; any other text is returned unchanged.

    Messages among its values are also translated.
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


def translator(language: str) -> Callable[..., str]:
    """Return a function that translates and fills a template, for pages in a language other than the interface's.

    Its arguments are the template, a literal, its context if it needs one, and the values of its fields by name.
    """

    def t(text: str, context: str = "", /, **values: Any) -> str:
        key = f"{context}{CONTEXT_END}{text}" if context else text
        return (text if language == "en" else _template(language, key, None, 1)).format(**values)

    return t


def translated_by_text(text: str) -> str:
    """Return a sentence without fields in the interface language, given only its English text."""
    language = _state["language"]
    if language == "en" or not text:
        return text
    return _template(language, text.replace("{", "{{").replace("}", "}}"), None, 1).format()


def recognised(text: str) -> str:
    """Return an English text of an earlier run or of another process as a message again, so that it can be translated.

    Such a text has lost its template, which is found by its words. Other text is returned unchanged, as is all text if
    the interface language is English.
    """
    language = _state["language"]
    if language == "en" or isinstance(text, Message) or len(text) > _LONGEST_STORED_CHARACTERS:
        return text
    return _recognised(language, text, _DEEPEST_VALUES)


def _recognised(language: str, text: str, depth: int) -> str:
    for known in _sentences(language):
        values = _values(known.parts, text)
        if values is not None:
            fields = {name: _recognised_value(language, each, depth) for name, each in values.items()}
            return _remade(text, known, fields)
    for separator, join in _JOINTS.items():
        before, found, after = text.partition(separator)
        if found and depth and isinstance(rest := _recognised(language, after, depth - 1), Message):
            name, page, number = before.partition(", page ")
            if page and separator == ": ":
                items = _recognised(language, name, 0)
                return message("{list}, page {page}: {problem}", list=items, page=number, problem=rest)
            return join(_record_name(language, before), rest)
    return text


_JOINTS: Final[dict[str, Callable[[str, str], Message]]] = {
    ": ": lambda name, reason: message("{name}: {reason}", name=name, reason=reason),
    "; ": lambda first, rest: message("{first}; {rest}", first=first, rest=rest),
}


def _recognised_value(language: str, text: str, depth: int) -> str:
    """Recognise a value unless it is one word, which may be a name."""
    found = _recognised(language, text, depth - 1) if depth and " " in text else text
    return found if isinstance(found, Message) else _Value(found)


def _record_name(language: str, text: str) -> str:
    """Recognise the kind in ``files`` or in ``entries 42``."""
    kind, space, record_id = text.partition(" ")
    if " " in record_id or _template(language, kind, None, 1) == kind:
        return text
    return filled(kind) if not space else message("{kind} {id}", kind=filled(kind), id=record_id)


class _Value(str):
    """A value that is already text: formats and conversions of the template leave it unchanged."""

    __slots__ = ()

    def __format__(self, _spec: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return str(self)


class _Sentence(NamedTuple):
    """A template to recognise.

    Attributes:
        parts: its literal parts, each with the name of the field after it.
        template: the catalogue's key, for the number one.
        plural: the text for all other numbers, ``None`` if it has no number.
        number: the number that selects the recognised one of the two.
    """

    parts: list[tuple[str, str | None]]
    template: str
    plural: str | None
    number: int


def _remade(text: str, known: _Sentence, values: dict[str, str]) -> Message:
    made = Message(text)
    made.template, made.plural, made.number, made.values = known.template, known.plural, known.number, dict(values)
    return made


@cache
def _sentences(language: str) -> list[_Sentence]:
    """Return the templates that have enough literal letters, the longest first."""
    found = []
    for template, plural in _keys(language):
        for number, shown in enumerate((template, plural), start=1):
            parts = [(literal, name) for literal, name, *_ in Formatter().parse(without_context(shown or ""))]
            names = [name for _, name in parts if name is not None]
            apart = all(literal for literal, _ in parts[1:])
            letters = sum(each.isalpha() for literal, _ in parts for each in literal)
            if apart and letters >= _LEAST_LETTERS and len(set(names)) == len(names):
                length = sum(len(literal) for literal, _ in parts)
                found.append((length, _Sentence(parts, template, plural, number)))
    found.sort(key=lambda each: each[0], reverse=True)
    return [sentence for _, sentence in found]


def _keys(language: str) -> Iterator[tuple[str, str | None]]:
    """Read the compiled catalogue, and yield each template with its plural."""
    content = (PLACE / language / "LC_MESSAGES" / f"{DOMAIN}.mo").read_bytes()
    count, table = struct.unpack_from("<2I", content, 8)
    for at in range(count):
        length, start = struct.unpack_from("<2I", content, table + 8 * at)
        template, _, plural = content[start : start + length].decode().partition("\0")
        yield template, plural or None


def _values(parts: list[tuple[str, str | None]], text: str) -> dict[str, str] | None:
    """Return the values of the fields if the text was made from the template; ``None`` if it was not."""
    first, waiting = parts[0]
    if not text.startswith(first):
        return None
    values, at = {}, len(first)
    for number, (literal, name) in enumerate(parts[1:], start=2):
        last = number == len(parts) and name is None
        found = text.rfind(literal, at + 1) if last else text.find(literal, at + 1)
        if waiting is None or found < 0:
            return None
        values[waiting] = text[at:found]
        at, waiting = found + len(literal), name
    if waiting is not None and at < len(text):
        values[waiting], at = text[at:], len(text)
        waiting = None
    if (
        at < len(text)
        or waiting is not None
        or (not first and len(values) > 1 and _joined(next(iter(values.values()))))
    ):
        return None
    return values


def _joined(text: str) -> bool:
    """Return whether a text consists of several joined parts; such a text is hardly a first value."""
    return any(separator in text for separator in _JOINTS)


def _template(language: str, one: str, many: str | None, number: int) -> str:
    catalogue = _catalogue(language)
    found = catalogue.gettext(one) if many is None else catalogue.ngettext(one, many, number)
    return without_context(found)


@cache
def _catalogue(language: str) -> NullTranslations:
    from gettext import translation  # noqa: PLC0415 - English needs none of it

    return translation(DOMAIN, PLACE, [language])
