"""Reading the JSON objects of an archive's documents with the types that FORMAT.md gives their members. Pure.

An archive may come from a stranger, so nothing in it is of the right type before it was looked at.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from exporter.jsontext import IntegerText
from exporter.model.asset import is_sha256
from exporter.printable import printable

LARGEST_NUMBER: Final = 2**63 - 1
"""No count and no size of a blog is larger, and everything that reads JSON holds it."""
DEEPEST: Final = 64
"""How many levels an archive's own documents may be nested; those the program writes have six."""
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9998
"""One less than :mod:`datetime` knows, so that every time can be told in every time zone."""
_SHOWN: Final = 40


class Document:
    """A JSON object whose members are asked for by name and type.

    Raises:
        ValueError: from all methods: a member is missing, or not what it should be; the message is a few words on it.
    """

    def __init__(self, value: object, name: str = "it") -> None:
        if not isinstance(value, dict):
            raise _wrong(name, value, "an object")
        self.members: dict[str, Any] = dict(value)
        self._prefix = "" if name == "it" else f"{name}."

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def require_plain(self) -> None:
        """Refuse what some reader of JSON stops at: numbers of more than 64 bits, and deep nesting."""
        todo: list[tuple[Any, int]] = [(self.members, 1)]
        while todo:
            value, depth = todo.pop()
            if depth > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} levels deep")
            if isinstance(value, dict):
                todo += [(inner, depth + 1) for inner in value.values()]
            elif isinstance(value, list):
                todo += [(inner, depth + 1) for inner in value]
            elif isinstance(value, IntegerText) or (type(value) is int and abs(value) > LARGEST_NUMBER):
                raise ValueError("it holds a number of more than 64 bits")

    def text(self, name: str) -> str:
        """Return a member that is text."""
        value = self._get(name)
        if type(value) is not str:
            raise self._wrong(name, value, "text")
        return value

    def text_or_null(self, name: str) -> str | None:
        """Return a member that is text or ``null``."""
        return None if self._get(name) is None else self.text(name)

    def number(self, name: str, least: int = 0, most: int = LARGEST_NUMBER) -> int:
        """Return a member that is an integer from ``least`` to ``most``."""
        value = self._get(name)
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(name, value, "a number" if least <= 0 else f"a number from {least}")
        return value

    def whole(self, name: str) -> int:
        """Return a member that is an integer of any size."""
        value = self._get(name)
        if type(value) is not int:
            raise self._wrong(name, value, "a number")
        return value

    def flag(self, name: str) -> bool:
        """Return a member that is ``true`` or ``false``."""
        value = self._get(name)
        if type(value) is not bool:
            raise self._wrong(name, value, "true or false")
        return value

    def time(self, name: str) -> str:
        """Return a member that is a time with its offset from UTC, such as ``2026-01-31T12:34:56Z``."""
        value = self._get(name)
        try:
            moment = datetime.fromisoformat(value)
            right = moment.tzinfo is not None and _FIRST_YEAR <= moment.year <= _LAST_YEAR
        except (TypeError, ValueError):
            right = False
        if type(value) is not str or not right:
            raise self._wrong(name, value, "a time")
        return value

    def digest(self, name: str) -> str:
        """Return a member that is a SHA-256 in hexadecimal."""
        value = self._get(name)
        if not is_sha256(value):
            raise self._wrong(name, value, "a SHA-256")
        return value

    def inner(self, name: str) -> Document:
        """Return a member that is an object."""
        return Document(self._get(name), self._prefix + name)

    def objects(self, name: str) -> dict[str, Document]:
        """Return a member that is an object of objects."""
        inner = self.inner(name)
        return {key: inner.inner(key) for key in inner.members}

    def rows(self, name: str) -> list[Document]:
        """Return a member that is a list of objects."""
        value = self._get(name)
        if not isinstance(value, list):
            raise self._wrong(name, value, "a list")
        return [Document(each, f"{self._prefix}{name}[{number}]") for number, each in enumerate(value)]

    def _get(self, name: str) -> Any:
        if name not in self.members:
            raise ValueError(f"{printable(self._prefix + name, _SHOWN)} is missing")
        return self.members[name]

    def _wrong(self, name: str, value: object, wanted: str) -> ValueError:
        return _wrong(self._prefix + name, value, wanted)


def _wrong(name: str, value: object, wanted: str) -> ValueError:
    return ValueError(f"{printable(name, _SHOWN)} is {shown(value)}, not {wanted}")


def shown(value: object) -> str:
    """Return in a few words what a JSON value is."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case IntegerText():
            return "a very long number"
        case str():
            return f'"{printable(value, _SHOWN)}"'
        case int():
            return str(value) if abs(value) <= LARGEST_NUMBER else "a very long number"
        case float():
            return str(value)
        case list():
            return "a list"
        case _:
            return "an object"


def check_completeness(found: Document) -> None:
    """Check the members of ``completeness`` that the program acts on; those of earlier programs differ in the others.

    Raises:
        ValueError: one is not what it should be.
    """
    for name in ("complete", "sweeps_agreed"):
        if name in found:
            found.flag(name)
    if "sweeps" in found:
        found.number("sweeps")


def check_problem(found: Document) -> None:
    """Check one of ``problems``.

    Raises:
        ValueError: a member is missing, or not what it should be.
    """
    found.text("kind")
    found.text_or_null("id")
    found.text("reason")
