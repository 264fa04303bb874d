"""Sentences for people: English text that keeps its template and values, so that it can be translated later.

Code that reports to a person makes a message in place: ``message("{host} gave no answer.", host=host)``. The
result is a ``str`` with the English text, which logs, ``runs.jsonl``, ``--json`` and comparisons use. The code that
displays it translates the template with the catalogue (:mod:`exporter.translation`) and fills it again.

Templates are literals, so that the catalogue can be collected from the source. Values that are a :class:`Message` are
also translated. If one English text needs two translations, :func:`message_in_context` tells them apart by a context,
as gettext's ``pgettext`` does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, Final

PROGRAM: Final = "blog-exporter"
CONTEXT_END: Final = "\x04"
"""Separates the context from the text in gettext's catalogues."""
STORED: Final = "message"
"""The member of a stored object that holds the template and values of its text."""
_MAX_STORED_LEVELS: Final = 12
"""Levels of messages in messages that are stored; those below become plain text."""
_MAX_STORED_CHARACTERS: Final = 2000
"""Longer messages are stored as plain text, and longer values are refused."""
_SAFE_FORMAT: Final = re.compile(r"[+>]?[0-9]{0,2},?(\.[0-9])?[dfg%]?")
"""The formats of numbers that templates use."""


class Message(str):
    """An English sentence with the template and values it was made from.

    Attributes:
        template: the catalogue's key: the text with fields in braces, for the number one; a context may precede it.
        plural: the text for all other numbers, ``None`` if the sentence has no number.
        number: the number that selects one of the two.
        values: the values of the fields: text, numbers, messages; errors and records are converted to text.
    """

    __slots__ = ("number", "plural", "template", "values")

    template: str
    plural: str | None
    number: int
    values: dict[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the type when pickled or copied."""
        return _made, (self.template, self.plural, self.number, self.values)


def _made(template: str, plural: str | None, number: int, values: dict[str, Any]) -> Message:
    kept = {name: _kept(value) for name, value in values.items()}
    shown = without_context(template) if plural is None or number == 1 else plural
    made = Message(shown.format(**_without_second_stops(shown, kept)))
    made.template, made.plural, made.number, made.values = template, plural, number, kept
    return made


def _without_second_stops(template: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, without the full stop of a sentence that stands before the template's own."""
    return {
        name: value[:-1] if isinstance(value, Message) and value.endswith(".") and f"{{{name}}}." in template else value
        for name, value in values.items()
    }


def _kept(value: Any) -> Any:
    """Return the form in which a message stores a value: errors become their text."""
    if isinstance(value, BaseException):
        return said(value)
    return value if isinstance(value, str | int | float) or value is None else str(value)


def message(template: str, /, **values: Any) -> Message:
    """Return a sentence from a literal template, filled by the rules of ``str.format``."""
    return _made(template, None, 1, values)


def message_in_context(context: str, template: str, /, **values: Any) -> Message:
    """Return a sentence like :func:`message`, with a context that selects its translation."""
    return _made(f"{context}{CONTEXT_END}{template}", None, 1, values)


def message_template(text: str, /) -> str:
    """Return a literal unchanged; the call puts it into the catalogue, and :func:`filled` fills it later."""
    return text


def filled(template: str, /, **values: Any) -> Message:
    """Return a sentence from a template that :func:`message_template` marked elsewhere."""
    return _made(template, None, 1, values)


def as_message(text: str, values: Mapping[str, Any]) -> str:
    """Return the message of a template and its values; without values the text is a message or other text already."""
    return filled(text, **values) if values else text


def without_context(template: str) -> str:
    """Return the text of a catalogue key without the context that may precede it."""
    return template.rpartition(CONTEXT_END)[2]


def message_n(one: str, many: str, n: int, /, **values: Any) -> Message:
    """Return the sentence for a number: ``one`` for 1, ``many`` for all others; both may contain ``{n:,}``."""
    return _made(one, many, n, {"n": n, **values})


def stored(text: str) -> Any:
    """Return the JSON value for a text: a message's template and values, or other text unchanged.

    The object has ``template`` and ``values``, and for a sentence with a number also ``plural`` and ``number``. Values
    are numbers, text, ``null`` or such objects.
    """
    return _stored(text, _MAX_STORED_LEVELS)


def _stored(value: Any, levels: int) -> Any:
    if not isinstance(value, str):
        return value
    if not isinstance(value, Message) or not value.template or not levels or len(value) > _MAX_STORED_CHARACTERS:
        return str(value)
    number = {} if value.plural is None else {"plural": value.plural, "number": value.number}
    values = {name: _stored(each, levels - 1) for name, each in value.values.items()}
    return {"template": value.template, **number, "values": values}


def stored_as(name: str, text: str | None) -> dict[str, Any]:
    """Return the members that state a text: ``name`` with its English text and, for a message, :data:`STORED`."""
    value = None if text is None else stored(text)
    return {name: None if text is None else str(text), **({STORED: value} if isinstance(value, dict) else {})}


def restored(value: object, text: str | None = None) -> str:
    """Return the text or message that :func:`stored` gave as a JSON value.

    Args:
        value: the JSON value.
        text: the result for an invalid value; ``None`` for the value itself as text, so that no reason is lost.
    """
    otherwise = str(value) if text is None else text
    try:
        found = _restored(value, _MAX_STORED_LEVELS)
    except (AttributeError, LookupError, TypeError, ValueError):
        return otherwise
    return found if isinstance(found, str) else otherwise


def restored_from(members: Mapping[str, Any], name: str) -> str:
    """Return the text that :func:`stored_as` stated, as a message if :data:`STORED` gives the same text."""
    text = str(members[name])
    found = restored(members.get(STORED), text)
    return found if found == text else text


def _restored(value: Any, levels: int) -> Any:
    """Make a message again; the limits keep a stranger's templates from filling the memory.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: the value is invalid.
    """
    if not isinstance(value, dict):
        if not isinstance(value, str | int | float | None) or len(str(value)) > _MAX_STORED_CHARACTERS:
            raise ValueError(value)
        return value
    template, plural, number = value["template"], value.get("plural"), value.get("number", 1)
    templates = template if plural is None else template + plural
    if not levels or type(number) is not int or len(templates) > _MAX_STORED_CHARACTERS:
        raise ValueError(value)
    if any(form and not _SAFE_FORMAT.fullmatch(form) for _, _, form, _ in Formatter().parse(templates)):
        raise ValueError(value)
    values = {name: _restored(each, levels - 1) for name, each in value["values"].items()}
    made = _made(template, plural, number, values)
    if len(made) > _MAX_STORED_CHARACTERS:
        raise ValueError(value)
    return made


class CommandLine(str):
    """A command of this program, quoted for a POSIX shell, with :data:`PROGRAM` as its first word.

    Logs, archives and ``--json`` keep that form. For a person, :func:`exporter.translation.translated` replaces that
    word by those that start the program from the user's shell.
    """

    __slots__ = ()

    def started_by(self, words: str) -> str:
        """Return the command with other words, quoted for a shell, in place of :data:`PROGRAM`."""
        return words + self[len(PROGRAM) :]


def suggested(*words: object) -> CommandLine:
    """Return a command line of this program, quoted for a POSIX shell.

    Args:
        words: the arguments, text or paths; ``./`` is put before a path that begins with a hyphen.
    """
    quoted = shlex.join(word if isinstance(word, str) else _path_word(str(word)) for word in words)
    return CommandLine(f"{PROGRAM} {quoted}")


def _path_word(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def said(error: BaseException) -> str:
    """Return the message an error was made with, or else its text."""
    alone = error.args[0] if len(error.args) == 1 else None
    return alone if isinstance(alone, Message) else str(error)


_SYSTEM_REASONS: Final = {
    message_template("No such file or directory"),
    message_template("Permission denied"),
    message_template("Operation not permitted"),
    message_template("Is a directory"),
    message_template("Not a directory"),
    message_template("File exists"),
    message_template("Directory not empty"),
    message_template("File name too long"),
    message_template("Read-only file system"),
    message_template("No space left on device"),
    message_template("Disk quota exceeded"),
    message_template("Input/output error"),
    message_template("Too many open files"),
    message_template("Too many levels of symbolic links"),
    message_template("Address already in use"),
    message_template("Cannot assign requested address"),
    message_template("Connection refused"),
}
"""The operating system's most frequent reasons, which it gives in English."""


def system_reason(error: OSError) -> str:
    """Return the operating system's reason for an error, as a message if it is a frequent one."""
    text = (error.strerror if error.errno else None) or str(error)
    return filled(text) if text in _SYSTEM_REASONS else text


def listed(items: Iterable[str]) -> str:
    """Join with commas: ``a, b, c``."""
    return _joined(list(items), lambda first, rest: message("{first}, {rest}", first=first, rest=rest))


def either(items: Iterable[str]) -> str:
    """Join with "or": ``a, b or c``."""
    *before, last = list(items)
    return last if not before else message("{first} or {rest}", first=listed(before), rest=last)


def both(items: Iterable[str]) -> str:
    """Join with "and": ``a, b and c``."""
    *before, last = list(items)
    return last if not before else message("{first} and {rest}", first=listed(before), rest=last)


def _joined(items: list[str], join: Any) -> str:
    if not items:
        return ""
    found = items[-1]
    for item in reversed(items[:-1]):
        found = join(item, found)
    return found
