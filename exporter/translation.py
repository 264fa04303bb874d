"""Translate the sentences of :mod:`exporter.message` with the gettext catalogues in ``locale/``.

English needs no catalogue: a message is its English text. Any other catalogue is loaded on first use and cached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, Literal

from exporter.message import CONTEXT_END, PROGRAM, CommandLine, Message, without_context

if TYPE_CHECKING:
    from gettext import NullTranslations

DOMAIN: Final = "blog-exporter"
PLACE: Final = Path(__file__).parent / "locale"
Language = Literal["en", "ja"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "ja")

_LETTER: Final = re.compile("[\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff]")
_PUNCTUATION: Final = re.compile("[\u3001-\u3003\u3008-\u3011\u30fb\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]")
_WIDE: Final = re.compile(f"{_LETTER.pattern}|{_PUNCTUATION.pattern}")
_HALF: Final = re.compile("[!-~]")
_ALPHANUMERIC: Final = re.compile("[0-9A-Za-z]")

_state: dict[str, Language] = {"language": "en"}
_program: dict[str, Callable[[], str]] = {"words": lambda: PROGRAM}


def set_language(language: str) -> None:
    """Set the interface language for the whole process and all threads.

    Raises:
        ValueError: the language is not in :data:`LANGUAGES`.
    """
    known: dict[str, Language] = {each: each for each in LANGUAGES}
    if language not in known:
        raise ValueError(language)
    _state["language"] = known[language]


def set_program_words(find: Callable[[], str]) -> None:
    """Set how commands for people begin, for the whole process.

    Args:
        find: returns the words that start the program from the user's shell, quoted; called for each command shown.
    """
    _program["words"] = find


def program_words() -> str:
    """Return the words with which commands for people begin, quoted for a shell."""
    return _program["words"]()


def current_language() -> Language:
    """Return the interface language."""
    return _state["language"]


def translated(text: str, language: str | None = None) -> str:
    """Return a message in a language, by default the interface language; any other text is returned unchanged.

    Messages among its values are also translated, and its commands begin with :func:`program_words`.
    """
    language = language or _state["language"]
    if isinstance(text, CommandLine):
        return text.started_by(program_words())
    if not isinstance(text, Message) or not text.template or (language == "en" and program_words() == PROGRAM):
        return text
    if language == "en":
        template = without_context(text.template if text.plural is None or text.number == 1 else text.plural)
    else:
        template = _template(language, text.template, text.plural, text.number)
    values = {
        name: translated(value, language) if isinstance(value, Message | CommandLine) else value
        for name, value in text.values.items()
    }
    if language == "ja":
        return japanese_text(
            template, values, {name for name, value in text.values.items() if isinstance(value, Message)}
        )
    return template.format(**values)


def japanese_text(template: str, values: Mapping[str, Any], worded: Collection[str]) -> str:
    """Fill a Japanese template, with the spaces that its values need.

    A space separates half-width characters from Japanese ones. None is between Japanese words, or beside full-width
    punctuation. A template has the space beside a field for half-width values. Its own half-width punctuation stays as
    it is: a colon after a Japanese word has no space before it, and neither has the slash of a path.

    Args:
        template: the translation, with fields.
        values: their values.
        worded: the fields whose values are sentences of the program. Other values, such as titles, keep the space.
    """
    filler, text, is_sentence = Formatter(), "", False
    for literal, name, form, conversion in Formatter().parse(template):
        text = _joined(text, literal, value_follows=False, drop=is_sentence and not literal.isspace())
        if name is not None:
            value = filler.convert_field(filler.get_field(name, (), values)[0], conversion)
            shown = filler.format_field(value, form or "")
            is_sentence = name in worded and bool(shown)
            text = _joined(text, shown, value_follows=True, drop=is_sentence and not literal.isspace())
    return text


def _joined(left: str, right: str, *, value_follows: bool, drop: bool) -> str:
    """Join two texts, of which one is a field's value; ``drop`` removes a space between two Japanese words."""
    before, after = left[-1:], right[:1]
    if before == "。" and after in {"。", "、"}:
        return left[:-1] + right
    if after == " " and (_PUNCTUATION.match(before) or (drop and _WIDE.match(before) and _WIDE.match(right[1:2]))):
        return left + right[1:]
    if before == " " and (_PUNCTUATION.match(after) or (drop and _WIDE.match(after) and _WIDE.match(left[-2:-1]))):
        return left[:-1] + right
    half_before, half_after = (_ALPHANUMERIC, _HALF) if value_follows else (_HALF, _ALPHANUMERIC)
    if (half_before.match(before) and _LETTER.match(after)) or (_LETTER.match(before) and half_after.match(after)):
        return f"{left} {right}"
    return left + right


def translator(language: str) -> Callable[..., str]:
    """Return a function that translates and fills a template, for pages in a language other than the interface's.

    Its arguments are the template, a literal, its context if it needs one, and the values of its fields by name. An
    integer is a count: commas separate its thousands, and a no-break space follows it. A number that is a name, such as
    a version's, is given as text.
    """

    def t(text: str, context: str = "", /, **values: Any) -> str:
        key = f"{context}{CONTEXT_END}{text}" if context else text
        template = text if language == "en" else _template(language, key, None, 1)
        for name, value in values.items():
            place = f"{{{name}}}"
            if type(value) is int and place in template:
                template = template.replace(f"{place} ", f"{place}\u00a0")
                values[name] = f"{value:,}"
        return template.format(**values)

    return t


def translated_by_text(text: str) -> str:
    """Return a sentence without fields in the interface language, given only its English text."""
    language = _state["language"]
    if language == "en" or not text:
        return text
    return _template(language, text.replace("{", "{{").replace("}", "}}"), None, 1).format()


def _template(language: str, one: str, many: str | None, number: int) -> str:
    catalogue = _catalogue(language)
    found = catalogue.gettext(one) if many is None else catalogue.ngettext(one, many, number)
    return without_context(found)


@cache
def _catalogue(language: str) -> NullTranslations:
    from gettext import translation  # noqa: PLC0415 - English needs none of it

    return translation(DOMAIN, PLACE, [language])
