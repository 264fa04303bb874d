r"""JSON and JSON lines in and out of bytes, losing nothing. The only module that imports orjson.

orjson reads and writes what it provably keeps; everything it would refuse (a BOM, lone surrogates, NaN, deep nesting)
or silently change (duplicate keys, long integers, the text of numbers) goes through :mod:`exporter.jsontext`.

The canonical bytes of a value are those of ``json.dumps(value, sort_keys=True, separators=(",", ":"),
ensure_ascii=False)`` in UTF-8, with lone surrogates as ``\\udhhh`` escapes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import orjson

from exporter import jsontext
from exporter.jsontext import SourceDict

_BOM = b"\xef\xbb\xbf"
_MIB = 1024 * 1024
_CONTINUATION = bytes(range(0x80, 0xC0))
_CONTROLS = bytes(range(0x20))
_WIDE = re.compile(rb"[\xf0-\xff]|\\u[dD]")
_PARSED = {b"[": 128, b"{": 260, b":": 130, b",": 32}
"""Bytes of memory for each such mark in a text that orjson reads: of the objects, and of the walk over them."""
_EXACTLY = {b"[": 500, b"{": 560, b":": 330, b",": 340}
"""The same for a text that must be read, and written again, by :mod:`exporter.jsontext`."""
_CONTROL = 92
"""Bytes for a control character there, which becomes an escape."""
_HEAVIEST = 560
_NEGATIVE_ZEROS = (b":-0", b"[-0", b",-0", b" -0", b"\n-0", b"\t-0", b"\r-0")


class NotJson(ValueError):
    """The bytes are not a JSON text; the message says where."""


class TooHeavy(NotJson):
    """The text may be JSON, but would take more memory than it may."""


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


def loads(body: bytes, most: int | None = None) -> Any:
    """Parse a JSON text; an object that plain parsing would change is a :class:`~exporter.jsontext.SourceDict`.

    ``most`` is how many bytes of memory a text from a stranger may take, as :func:`weight` tells before it is parsed.

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


def weight(body: bytes, *, exactly: bool = False) -> int:
    """Return about how many bytes of memory a JSON text takes once parsed, and while it is written again.

    Two bytes of text become a list of 60 bytes, and some 250 on the way back to text. So the marks that make objects
    are counted, also those inside strings, where they cost nothing: prose has few.

    Args:
        body: the text.
        exactly: count for :mod:`exporter.jsontext`, which reads what orjson would refuse or change.
    """
    marks = _EXACTLY if exactly else _PARSED
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
        if width == 2 and _WIDE.search(piece):
            width = 4
        if exactly:
            total += (len(piece) - len(piece.translate(None, _CONTROLS))) * _CONTROL
    # A string is in memory as the value, as its UTF-8 and in the text written again; to be read exactly, as part of
    # the document and in the text before it is encoded too.
    return total + characters * width * (3 if exactly else 1) + 2 * len(body)


def _check_weight(body: bytes, most: int | None, *, exactly: bool) -> None:
    if most is None or len(body) * _HEAVIEST <= most:
        return
    found = weight(body, exactly=exactly)
    if found > most:
        raise TooHeavy(f"its {len(body)} bytes of JSON would take some {found // _MIB} MiB of memory")
    if not exactly:
        # Where memory is short, orjson ends the process. So what it needs, its own tree included, is asked for first.
        bytes(found + 4 * len(body))  # never touched, so it takes room and no memory


def _loads_exactly(body: bytes, most: int | None) -> Any:
    _check_weight(body, most, exactly=True)
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
