r"""JSON and JSON lines in and out of bytes, losing nothing. The only module that imports orjson.

orjson reads and writes what it provably keeps; everything it would refuse (a BOM, lone surrogates, NaN, deep nesting)
or silently change (duplicate keys, long integers, the text of numbers) goes through :mod:`exporter.jsontext`.

The canonical bytes of a value are those of ``json.dumps(value, sort_keys=True, separators=(",", ":"),
ensure_ascii=False)`` in UTF-8, with lone surrogates as ``\\udhhh`` escapes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from exporter import jsontext
from exporter.jsontext import SourceDict

_BOM = b"\xef\xbb\xbf"
_NEGATIVE_ZEROS = (b":-0", b"[-0", b",-0", b" -0", b"\n-0", b"\t-0", b"\r-0")


class NotJson(ValueError):
    """The bytes are not a JSON text; the message says where."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A record's JSON object as the archive stores it.

    Attributes:
        data: the bytes that stand in a line's ``data``: canonical, or the text as sent where that would lose something.
        digest: SHA-256 of the canonical bytes, 32 bytes.
        raw_digest: SHA-256 of ``data`` when ``data`` is not canonical, else ``None``.
    """

    data: bytes
    digest: bytes
    raw_digest: bytes | None = None

    @property
    def identity(self) -> bytes:
        """What two states of a record are compared by, 32 bytes."""
        return self.raw_digest or self.digest


def loads(body: bytes) -> Any:
    """Parse a JSON text; an object that plain parsing would change is a :class:`~exporter.jsontext.SourceDict`.

    Raises:
        NotJson: the bytes are not UTF-8 or not JSON.
    """
    body = body.removeprefix(_BOM)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _loads_exactly(body)
    return value if _kept(value, body) else _loads_exactly(body)


def _loads_exactly(body: bytes) -> Any:
    try:
        return jsontext.parse(body.decode("utf-8"))
    except ValueError as error:
        raise NotJson(str(error)) from error


def _kept(value: Any, body: bytes) -> bool:
    """Tell whether orjson's reading of ``body`` lost nothing.

    Every key is followed by ``":`` in the text once no white space stands before colons, so the text holds at least
    as many of these as it has keys, and exactly as many as were parsed only when no key came twice.
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
    # A single byte is found many times faster than a pair, and compact JSON has no raw line breaks or tabs at all.
    return (
        b" :" in body
        or (b"\n" in body and b"\n:" in body)
        or (b"\t" in body and b"\t:" in body)
        or (b"\r" in body and b"\r:" in body)
    )


def freeze(value: Any) -> Frozen:
    """Turn a parsed JSON object into the bytes and hashes the archive stores."""
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
    """Return the canonical bytes of a parsed value, whatever it holds."""
    return jsontext.write(value).encode("utf-8", errors="backslashreplace")


def dumps(value: Any, *, pretty: bool = False) -> bytes:
    """Write the program's own metadata: plain dictionaries, compact or with an indent of two, in the order given."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else None)
    except TypeError:
        return jsontext.write(value, ordered=True).encode("utf-8", errors="backslashreplace")


def text(value: str) -> bytes:
    """Write one string as JSON; lone surrogates stay escapes."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return canonical(value)
