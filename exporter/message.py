"""Sentences for people: English text that remembers how it was made, so that it can be said in another language.

Every sentence that a person may read is made here, where it arises: ``message("{host} gave no answer.", host=host)``.
The result is a string, the English one; logs, ``runs.jsonl``, ``--json`` and comparisons know nothing else. Only the
edge that shows it to a person asks for its template and values, looks the template up in the catalogue, and fills it
again.

Templates are literals, so that they can be collected; what varies is a value, and a value that is a :class:`Message` is
translated too.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any, Final

PROGRAM: Final = "blog-exporter"


class Message(str):
    """A sentence in English, with what it was made of.

    Attributes:
        template: the text with fields in braces, as the catalogue has it; of several numbers, that of one.
        plural: the text for numbers other than one, ``None`` where the sentence has no number.
        number: the number that decides between them.
        values: what the fields stand for: text, numbers, messages; never errors or records, which it would keep alive.
    """

    __slots__ = ("number", "plural", "template", "values")

    template: str
    plural: str | None
    number: int
    values: dict[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling and copying as what it is."""
        return _made, (self.template, self.plural, self.number, self.values)


def _made(template: str, plural: str | None, number: int, values: dict[str, Any]) -> Message:
    kept = {name: _kept(value) for name, value in values.items()}
    made = Message((template if plural is None or number == 1 else plural).format(**kept))
    made.template, made.plural, made.number, made.values = template, plural, number, kept
    return made


def _kept(value: Any) -> Any:
    """Return what a message keeps of a value: an error becomes what it says."""
    if isinstance(value, BaseException):
        return said(value)
    return value if isinstance(value, str | int | float) or value is None else str(value)


def message(template: str, /, **values: Any) -> Message:
    """Return the sentence that a template makes of these values; ``str.format`` gives the rules of the fields."""
    return _made(template, None, 1, values)


def message_n(one: str, many: str, n: int, /, **values: Any) -> Message:
    """Return the sentence for a number: ``one`` for 1, ``many`` for all others; both may show it as ``{n:,}``."""
    return _made(one, many, n, {"n": n, **values})


def suggested(*words: object) -> str:
    """Return a command of this program, quoted so that a reader can copy it into a POSIX shell.

    Args:
        words: what follows the program's name, text or paths. A path that begins with a hyphen, which the program would
            take for an option, gets ``./`` before it.
    """
    return shlex.join([PROGRAM, *(word if isinstance(word, str) else _path_word(str(word)) for word in words)])


def _path_word(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def said(error: BaseException) -> str:
    """Return what an error says: the message it was made with, so that it can be translated still."""
    alone = error.args[0] if len(error.args) == 1 else None
    return alone if isinstance(alone, Message) else str(error)


def listed(items: Iterable[str]) -> str:
    """Join by commas: ``a, b, c``."""
    return _joined(list(items), lambda first, rest: message("{first}, {rest}", first=first, rest=rest))


def either(items: Iterable[str]) -> str:
    """Join as alternatives: ``a, b or c``."""
    *before, last = list(items)
    return last if not before else message("{first} or {rest}", first=listed(before), rest=last)


def both(items: Iterable[str]) -> str:
    """Join as things that are all meant: ``a, b and c``."""
    *before, last = list(items)
    return last if not before else message("{first} and {rest}", first=listed(before), rest=last)


def _joined(items: list[str], join: Any) -> str:
    if not items:
        return ""
    found = items[-1]
    for item in reversed(items[:-1]):
        found = join(item, found)
    return found
