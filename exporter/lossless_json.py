"""Read and write JSON without loss, and compute the canonical bytes and hashes of records.

orjson handles JSON that it can keep unchanged. The parser and writer here handle the rest: duplicate keys, numbers that
Python writes differently, lone surrogates. They are iterative, so nesting may have any depth. Unlike RFC 8259, they
accept ``NaN``, ``Infinity``, ``-Infinity`` and raw control characters inside strings, because services send them.

Values have the types of :mod:`json` and two more. An object that plain parsing would change is a :class:`SourceDict`,
which can return its own text. An integer with more digits than Python converts is an :class:`IntegerText`.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from typing import Any, NamedTuple

import orjson

from exporter.message import message, said

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
    """An object that remembers its position in its document.

    ``exact`` is false if plain parsing lost a part of its text: a duplicate key, or a number that Python writes
    differently (``1.10``, ``-0``, ``1e400``).
    """

    __slots__ = ("_document", "_end", "_start", "exact")

    def __init__(self, document: str, start: int) -> None:
        super().__init__()
        self._document = document
        self._start = start
        self._end = start
        self.exact = True

    def close(self, end: int) -> None:
        """Record the end of the object's text."""
        self._end = end

    def text(self) -> str:
        """Return the object as sent, without insignificant white space and with escapes for raw control characters."""
        compact = _INSIGNIFICANT.sub(r"\1", self._document[self._start : self._end])
        return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", compact)


def parse(text: str) -> Any:
    """Parse one JSON text.

    Raises:
        ValueError: it is not JSON; the message has the position.
    """
    return _Parser(text).parse()


class _Parser:
    """The state of a parse: the stack of open containers, and whether each one's text is exact so far."""

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
                    raise self._error(message("a comma or the end of the container is missing"), at)
                at += 1
                value = self._close(at)
            else:
                at = self._skip(at)
                if at != len(self._text):
                    raise self._error(message("something follows the value"), at)
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
        raise self._error(message("a value is missing"), at)

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
            raise self._error(message("a key is missing"), at)
        key, at = self._string(at)
        at = self._skip(at)
        if self._text[at : at + 1] != ":":
            raise self._error(message("a colon is missing"), at)
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
        return ValueError(message("{what} at character {at}", what=what, at=at))


def write(value: Any, *, ordered: bool = False) -> str:
    """Return the canonical text: keys sorted by code point, no spaces, numbers as Python writes them.

    ``ordered`` keeps the order of the keys.

    The text may have lone surrogates. Encode it with ``errors="backslashreplace"``, which makes JSON escapes of them.
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


_BOM = b"\xef\xbb\xbf"
_MIB = 1024 * 1024
_CONTINUATION = bytes(range(0x80, 0xC0))
_CONTROLS = bytes(range(0x20))
_WIDE = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4", b"\\ud", b"\\uD")  # UTF-8 and escapes of four bytes
_PARSE_BYTES = {b"[": 128, b"{": 260, b":": 130, b",": 32}
"""Bytes of memory for each such character in a text that orjson reads: for objects, and for walking over them."""
_EXACT_PARSE_BYTES = {b"[": 500, b"{": 560, b":": 330, b",": 340}
"""The same for a text that the parser and the writer of this module handle."""
_ESCAPED_CONTROL_BYTES = 92
"""Bytes for a control character there, which becomes an escape."""
_MAX_BYTES_PER_CHARACTER = 560
_PLAIN = frozenset((str, int, bool, type(None)))
_DIGITS_AS_ZEROS = bytes(b"0"[0] if byte in b"0123456789" else b" "[0] for byte in range(256))
_LONG_NUMBER = b"0" * 19
"""The fewest digits of a number that may take more than 64 bits, as zeros."""
_NEGATIVE_ZEROS = (b":-0", b"[-0", b",-0", b" -0", b"\n-0", b"\t-0", b"\r-0")


class NotJson(ValueError):
    """The bytes are not a JSON text; the message says where."""


class TooHeavy(NotJson):
    """The text may be JSON, but would take more memory than allowed."""


class Frozen(NamedTuple):
    """A record's JSON object as the archive stores it.

    Attributes:
        data: the bytes of a line's ``data``: canonical, or the text as sent if the canonical form would lose something.
        digest: SHA-256 of the canonical bytes, 32 bytes.
        raw_digest: SHA-256 of ``data`` if ``data`` is not canonical, else ``None``.
    """

    data: bytes
    digest: bytes
    raw_digest: bytes | None = None

    @property
    def identity(self) -> bytes:
        """The 32 bytes by which two states of a record are compared."""
        return self.raw_digest or self.digest


def loads(body: bytes, most: int | None = None) -> Any:
    """Parse a JSON text; an object that plain parsing would change is a :class:`~exporter.lossless_json.SourceDict`.

    ``most`` limits the memory of an untrusted text in bytes; :func:`weight` estimates it before parsing.

    Raises:
        NotJson: the bytes are not UTF-8 or not JSON.
        TooHeavy: the text would take more than ``most``.
    """
    body = body.removeprefix(_BOM)
    _check_weight(body, most, exactly=False)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _loads_exactly(body, most)
    if _kept(value, body):
        return value
    del value
    return _loads_exactly(body, most)


def values(body: bytes | memoryview) -> Any:
    """Parse a JSON text for a caller that never writes it again. The values equal those of :func:`loads`.

    orjson changes only one kind of value: it makes a float of an integer with more than 64 bits. So a text without
    floats needs no further check, which halves the time for a long record.

    Raises:
        NotJson: the bytes are not UTF-8 or not JSON.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return loads(bytes(body))
    todo = [value]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is float:
            return loads(bytes(body))
        inner = item.values() if kind is dict else item if kind is list else ()
        if not _PLAIN.issuperset(map(type, inner)):
            todo += inner
    return value


def simple_values(body: bytes, levels: int) -> Any:
    """Parse a JSON text whose characters show that it can have no integer of more than 64 bits.

    For such a text, the values equal those of :func:`loads` without a look at any of them.

    Returns:
        The value; ``None`` if the text is not so simple, may be nested ``levels`` deep, or is no JSON for orjson.
    """
    if body.count(b"{") + body.count(b"[") >= levels or _LONG_NUMBER in body.translate(_DIGITS_AS_ZEROS):
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def is_object(body: bytes) -> bool:
    """Return whether a text is a JSON object that :func:`loads` reads, without a check for losses."""
    try:
        return isinstance(orjson.loads(body), dict)
    except orjson.JSONDecodeError:
        pass
    try:
        return isinstance(loads(body), dict)
    except NotJson:
        return False


def weight(body: bytes, *, exactly: bool = False) -> int:
    """Estimate the bytes of memory that a JSON text takes when it is parsed and written again.

    Two bytes of text can become a list of 60 bytes, and some 250 bytes while it is written. So this counts the
    characters that create objects, even inside strings, in which they are harmless and rare.

    Args:
        body: the text.
        exactly: estimate for the parser of this module, not for orjson.
    """
    marks = _EXACT_PARSE_BYTES if exactly else _PARSE_BYTES
    total = characters = 0
    width = 1
    for at in range(0, len(body), _MIB):
        piece = body[at : at + _MIB]
        total += sum(piece.count(mark) * each for mark, each in marks.items())
        if piece.isascii():
            characters += len(piece)
        else:
            characters += len(piece.translate(None, _CONTINUATION))
            width = max(width, 2)
        if b"\\u" in piece:
            width = max(width, 2)
        if width == 2 and any(mark in piece for mark in _WIDE):
            width = 4
        if exactly:
            total += (len(piece) - len(piece.translate(None, _CONTROLS))) * _ESCAPED_CONTROL_BYTES
    # A string is in memory as a value, as UTF-8 and in the written text. The parser here also has it in the document
    # and in the text before encoding.
    return total + characters * width * (3 if exactly else 1) + 2 * len(body)


def _check_weight(body: bytes, most: int | None, *, exactly: bool) -> None:
    if most is None or len(body) * _MAX_BYTES_PER_CHARACTER <= most:
        return
    found = weight(body, exactly=exactly)
    if found > most:
        raise TooHeavy(
            message(
                "its {count:,} bytes of JSON would take some {found:,} MiB of memory",
                count=len(body),
                found=found // _MIB,
            )
        )
    if not exactly:
        # If memory is short, orjson aborts the process. So its need, with its own tree, is allocated first as a test.
        bytes(found + 4 * len(body))  # never touched, so it takes address space and no memory


def _loads_exactly(body: bytes, most: int | None) -> Any:
    _check_weight(body, most, exactly=True)
    try:
        return parse(body.decode("utf-8"))
    except ValueError as error:
        raise NotJson(said(error)) from error


def _kept(value: Any, body: bytes) -> bool:
    """Return whether orjson's reading of ``body`` lost nothing.

    If no white space precedes a colon, ``":`` follows every key. So the text has at least as many of these as keys.
    It has exactly as many as parsed keys only if no key is duplicate.
    """
    if _has_space_before_colon(body):
        return False
    keys = 0
    zero = False
    todo = [value]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is dict:
            keys += len(item)
            todo += [inner for inner in item.values() if type(inner) is not str]
        elif kind is list:
            todo += [inner for inner in item if type(inner) is not str]
        elif kind is float:
            return False
        elif item == 0 and item is not False:
            zero = True
    if zero and any(mark in body for mark in _NEGATIVE_ZEROS):
        return False
    return body.count(b'":') == keys


def _has_space_before_colon(body: bytes) -> bool:
    # Finding one byte is many times faster than finding a pair, and compact JSON has no raw line breaks or tabs.
    return (
        b" :" in body
        or (b"\n" in body and b"\n:" in body)
        or (b"\t" in body and b"\t:" in body)
        or (b"\r" in body and b"\r:" in body)
    )


def freeze(value: Any) -> Frozen:
    """Return the bytes and hashes that the archive stores for a parsed JSON object."""
    if type(value) is dict:
        try:
            data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except TypeError:
            data = canonical(value)
        return Frozen(data, hashlib.sha256(data).digest())
    plain = canonical(value)
    digest = hashlib.sha256(plain).digest()
    if isinstance(value, SourceDict) and not value.exact:
        data = value.text().encode("utf-8")
        return Frozen(data, digest, hashlib.sha256(data).digest())
    return Frozen(plain, digest)


def canonical(value: Any) -> bytes:
    """Return the canonical bytes of any parsed value."""
    return write(value).encode("utf-8", errors="backslashreplace")


def dumps(value: Any, *, pretty: bool = False) -> bytes:
    """Write the program's own metadata: plain dictionaries in their order, compact or indented by two."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else None)
    except TypeError:
        return write(value, ordered=True).encode("utf-8", errors="backslashreplace")


def text(value: str) -> bytes:
    """Write a string as JSON, with escapes for lone surrogates."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return canonical(value)
