"""Translate the sentences of :mod:`exporter.message` with the gettext catalogues in ``locale/``.

English needs no catalogue: a message is its English text. Any other catalogue is loaded on first use and cached.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from exporter.message import CONTEXT_END, PROGRAM, CommandLine, Message, without_context

if TYPE_CHECKING:
    from gettext import NullTranslations

DOMAIN: Final = "blog-exporter"
PLACE: Final = Path(__file__).parent / "locale"
Language = Literal["en", "ja"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "ja")

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
    return template.format(**values)


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
