"""JSON read and written without losing anything, for the texts a fast parser refuses or changes.

Iterative in both directions, so nesting of any depth is fine. Differences to RFC 8259: ``NaN``, ``Infinity`` and
``-Infinity`` are read, and so are raw control characters inside strings, because services send them.

A value is made of ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and ``None`` as :mod:`json` would give
it, with two additions: every object is a :class:`SourceDict`, which can give back its own text, and an integer of
more digits than Python converts is an :class:`IntegerText`.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

_STRING = json.JSONDecoder(strict=False)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\n\r]*")
_INSIGNIFICANT = re.compile(r'("(?:[^"\\]++|\\.)*+")|[ \t\n\r]+', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_LITERALS = {"true": True, "false": False, "null": None}
_SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_WORD = re.compile(r"-?[A-Za-z]+")
_SAFE_DIGITS = sys.int_info.default_max_str_digits


class IntegerText(str):
    """The digits of an integer too long to convert in reasonable time."""

    __slots__ = ()


class SourceDict(dict[str, Any]):
    """An object that remembers where in its document it stood.

    ``exact`` is false when plain parsing lost something of its text: a duplicate key, or a number whose text
    differs from the way Python writes its value (``1.10``, ``-0``, ``1e400``).
    """

    __slots__ = ("_document", "_end", "_start", "exact")

    def __init__(self, document: str, start: int) -> None:
        super().__init__()
        self._document = document
        self._start = start
        self._end = start
        self.exact = True

    def close(self, end: int) -> None:
        """Record where the object's text ends."""
        self._end = end

    def text(self) -> str:
        """Return the object as it was sent, without insignificant white space, raw control characters as escapes."""
        compact = _INSIGNIFICANT.sub(r"\1", self._document[self._start : self._end])
        return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", compact)


def parse(text: str) -> Any:
    """Parse one JSON text.

    Raises:
        ValueError: it is not JSON, with the position.
    """
    return _Parser(text).parse()


class _Parser:
    """The state of one parse: the stack of open containers, and for each whether its text is plain."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stack: list[SourceDict | list[Any]] = []
        self._keys: list[str] = []
        self._exact: list[bool] = []

    def parse(self) -> Any:
        at = self._skip(0)
        while True:
            value, at, opened = self._value(at)
            if opened:
                continue
            while self._stack:
                self._store(value)
                at = self._skip(at)
                mark = self._text[at : at + 1]
                container = self._stack[-1]
                if mark == ",":
                    at = self._skip(at + 1)
                    if isinstance(container, SourceDict):
                        at = self._key(at)
                    break
                if mark != ("}" if isinstance(container, SourceDict) else "]"):
                    raise self._error("a comma or the end of the container is missing", at)
                at += 1
                value = self._close(at)
            else:
                at = self._skip(at)
                if at != len(self._text):
                    raise self._error("something follows the value", at)
                return value

    def _value(self, at: int) -> tuple[Any, int, bool]:
        """Read a scalar or an empty container, or open one: ``(value, position, opened)``."""
        mark = self._text[at : at + 1]
        if mark == '"':
            value, end = self._string(at)
            return value, end, False
        if mark == "{":
            made = SourceDict(self._text, at)
            self._open(made)
            at = self._skip(at + 1)
            if self._text[at : at + 1] == "}":
                return self._close(at + 1), at + 1, False
            return None, self._key(at), True
        if mark == "[":
            self._open([])
            at = self._skip(at + 1)
            if self._text[at : at + 1] == "]":
                return self._close(at + 1), at + 1, False
            return None, at, True
        number = _NUMBER.match(self._text, at)
        if number is not None:
            return self._number(number), number.end(), False
        word = _WORD.match(self._text, at)
        if word is not None and word[0] in _LITERALS:
            return _LITERALS[word[0]], word.end(), False
        if word is not None and word[0] in _SPECIAL:
            return _SPECIAL[word[0]], word.end(), False
        raise self._error("a value is missing", at)

    def _open(self, container: SourceDict | list[Any]) -> None:
        self._stack.append(container)
        self._exact.append(True)

    def _close(self, end: int) -> SourceDict | list[Any]:
        container = self._stack.pop()
        exact = self._exact.pop()
        if isinstance(container, SourceDict):
            container.close(end)
            container.exact = exact
        if not exact and self._exact:
            self._exact[-1] = False
        return container

    def _store(self, value: Any) -> None:
        container = self._stack[-1]
        if isinstance(container, SourceDict):
            key = self._keys.pop()
            if key in container:
                self._exact[-1] = False
            container[key] = value
        else:
            container.append(value)

    def _key(self, at: int) -> int:
        if self._text[at : at + 1] != '"':
            raise self._error("a key is missing", at)
        key, at = self._string(at)
        at = self._skip(at)
        if self._text[at : at + 1] != ":":
            raise self._error("a colon is missing", at)
        self._keys.append(key)
        return self._skip(at + 1)

    def _string(self, at: int) -> tuple[str, int]:
        value, end = _STRING.raw_decode(self._text, at)
        return str(value), end

    def _number(self, found: re.Match[str]) -> int | float | IntegerText:
        text = found[0]
        value: int | float | IntegerText
        if found[1] is not None or found[2] is not None:
            value = float(text)
        elif len(text) > _SAFE_DIGITS:
            return IntegerText(text)
        else:
            value = int(text)
        if repr(value) != text and self._exact:
            self._exact[-1] = False
        return value

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return at if found is None else found.end()

    def _error(self, what: str, at: int) -> ValueError:
        return ValueError(f"{what} at character {at}")


def write(value: Any, *, ordered: bool = False) -> str:
    """Return the canonical text: keys sorted by code point, no spaces, numbers as Python writes them.

    With ``ordered`` the keys stay in the order given instead.

    The text may hold lone surrogates; encode it with ``errors="backslashreplace"``, which makes JSON escapes of them.
    """
    out: list[str] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, _Raw):
            out.append(item)
        elif isinstance(item, dict):
            _push(
                todo,
                "{",
                "}",
                [(_Raw(_scalar(str(key)) + ":"), item[key]) for key in (item if ordered else sorted(item))],
            )
        elif isinstance(item, list):
            _push(todo, "[", "]", [(_Raw(""), element) for element in item])
        else:
            out.append(_scalar(item))
    return "".join(out)


class _Raw(str):
    """Finished text on the writer's stack."""

    __slots__ = ()


def _push(todo: list[Any], opening: str, closing: str, parts: list[tuple[_Raw, Any]]) -> None:
    todo.append(_Raw(closing))
    for at in range(len(parts) - 1, -1, -1):
        head, item = parts[at]
        todo.append(item)
        todo.append(_Raw("," + head) if at else head)
    todo.append(_Raw(opening))


def _scalar(value: Any) -> str:
    if isinstance(value, IntegerText):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
