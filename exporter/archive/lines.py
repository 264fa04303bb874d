"""The lines of an archive's files in format 1: one JSON object a line, its members in a fixed order. Pure.

In a version: ``{"op":"put","id":…,"sha256":…[,"raw_sha256":…],"data":…}`` or ``{"op":"remove","id":…,"evidence":…}``.
In ``latest/``: ``{"id":…,"version":…,"sha256":…[,"raw_sha256":…],"data":…}``.
``data`` comes last, so that a line can be split without parsing the record.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive.manifest import DIGEST, OBJECT, TEXT, VERSION, object_of
from exporter.errors import ArchiveDamaged
from exporter.lossless_json import Frozen
from exporter.message import message, said
from exporter.text import printable

_DATA = b',"data":'
_REMOVE = b'{"op":"remove",'
_PLAIN_PUT = re.compile(
    rb'\{(?:"op":"put",)?"id":"([^"\\]*)",(?:"version":([1-9][0-9]{0,8}),)?'
    rb'("sha256":"([0-9a-f]{64})",(?:"raw_sha256":"([0-9a-f]{64})",)?"data":)'
)
"""The beginning of nearly every line: the members in their order, no escapes in the id."""
_TOMBSTONE: Final = object_of({"id": TEXT, "evidence": OBJECT})
_PUT: Final = object_of({"id": TEXT, "sha256": DIGEST}, {"raw_sha256": DIGEST, "version": VERSION})


class RecordLine(NamedTuple):
    """A line, split into its members.

    Attributes:
        record_id: the id of the record.
        removed: whether this is a tombstone.
        digest: SHA-256 of the canonical bytes; empty for a tombstone.
        raw_digest: SHA-256 of the bytes of ``data`` if they are not canonical.
        data: the bytes of the record's JSON object; empty for a tombstone.
        version: the version that holds the record, in ``latest/`` only.
        evidence: why the removal was believed, for a tombstone.
    """

    record_id: str
    removed: bool
    digest: bytes
    raw_digest: bytes | None
    data: bytes
    version: int | None = None
    evidence: dict[str, Any] | None = None

    @property
    def frozen(self) -> Frozen:
        """The record as the codec froze it."""
        return Frozen(self.data, self.digest, self.raw_digest)

    @property
    def identity(self) -> bytes:
        """The hash that distinguishes two states of a record."""
        return self.raw_digest or self.digest

    def record(self) -> dict[str, Any]:
        """Parse the record's JSON object.

        Raises:
            ArchiveDamaged: ``data`` is no object. Its hash may still be right, as an untrusted archive may hold
                anything.
        """
        return record_in(self.record_id, self.data)

    def unreadable(self) -> str | None:
        """Return why ``data`` is not a record although it may match its hashes, or ``None``. This parses ``data``."""
        return None if self.removed or lossless_json.is_object(self.data) else message("its data is not a JSON object")

    def fault(self) -> str | None:
        """Return why ``data`` does not match its hashes, or ``None``."""
        if self.removed:
            return None
        if not (self.data.startswith(b"{") and self.data.endswith(b"}")):
            return message("its data is not a JSON object")
        found = hashlib.sha256(self.data).digest()
        if found == self.digest and self.raw_digest is None:
            return None
        try:
            again = lossless_json.freeze(lossless_json.loads(self.data))
        except lossless_json.NotJson:
            return message("its data is not JSON")
        if again.digest != self.digest:
            return message("its data does not match its sha256")
        if again.raw_digest != self.raw_digest:
            return message("its data does not match its raw_sha256")
        if again.data != self.data:
            return message("its data is not in canonical form")
        return None


def record_in(record_id: str, data: bytes | memoryview) -> dict[str, Any]:
    """Parse a record's JSON object from the bytes of a line's ``data``.

    Raises:
        ArchiveDamaged: see :meth:`RecordLine.record`.
    """
    try:
        value = lossless_json.values(data)
    except lossless_json.NotJson:
        value = None
    if not isinstance(value, dict):
        raise ArchiveDamaged(
            "The record {record_id!r} is not a JSON object; run verify.", record_id=printable(record_id, 80)
        )
    return value if type(value) is dict else dict(value)


PUT = b'{"op":"put",'
"""The beginning of a record's line in a version. No line of ``latest/`` begins so."""


def put_head(record_id: str) -> bytes:
    """Write the beginning of a record's line in a version; the rest is the same in ``latest/``."""
    return b'%b"id":%b,' % (PUT, lossless_json.text(record_id))


def latest_head(record_id: str, version: int) -> bytes:
    """Write the beginning of a record's line in ``latest/``; the rest is the same in a version."""
    return b'{"id":%b,"version":%d,' % (lossless_json.text(record_id), version)


def intact_data(line: bytes, head: bytes, identity: bytes) -> memoryview | None:
    """Return the data behind the head of a line, if the line has no second hash and matches this identity.

    Other lines may still be right; :func:`split` parses them. Nearly all lines are canonical, and for them this takes a
    fifth of the time.
    """
    start = b'%b"sha256":"%b","data":{' % (head, identity.hex().encode("ascii"))
    if not (line.startswith(start) and line.endswith(b"}}\n")):
        return None
    data = memoryview(line)[len(start) - 1 : -2]
    return data if hashlib.sha256(data).digest() == identity else None


def put_line(record_id: str, frozen: Frozen) -> bytes:
    """Write a version's line for a new or changed record, with its line feed."""
    return put_head(record_id) + _body(frozen)


def latest_line(record_id: str, version: int, frozen: Frozen) -> bytes:
    """Write a line of ``latest/``, with its line feed."""
    return latest_head(record_id, version) + _body(frozen)


def _body(frozen: Frozen) -> bytes:
    digest = frozen.digest.hex().encode("ascii")
    if frozen.raw_digest is None:
        return b'"sha256":"' + digest + b'"' + _DATA + frozen.data + b"}\n"
    raw = frozen.raw_digest.hex().encode("ascii")
    return b'"sha256":"' + digest + b'","raw_sha256":"' + raw + b'"' + _DATA + frozen.data + b"}\n"


def remove_line(record_id: str, evidence: dict[str, Any]) -> bytes:
    """Write a tombstone, with its line feed."""
    return b'{"op":"remove","id":%b,"evidence":%b}\n' % (lossless_json.text(record_id), lossless_json.dumps(evidence))


def as_latest(line: bytes, version: int) -> bytes:
    """Rewrite a put line from a version or from ``latest/`` as the line in ``latest/`` for a record of ``version``.

    Raises:
        ValueError: it is not a put line.
    """
    taken = split(line)
    return latest_line(taken.record_id, version, taken.frozen)


def split(line: bytes, version: int | None = None) -> RecordLine:
    """Split a line into its members; ``version`` applies if the line names none.

    Raises:
        ValueError: it is not a line of an archive.
    """
    plain = _PLAIN_PUT.match(line)
    if plain is None:
        return _split_any(line, version)
    record_id, named, _, digest, raw = plain.groups()
    return RecordLine(
        record_id.decode(),
        False,
        bytes.fromhex(digest.decode()),
        None if raw is None else bytes.fromhex(raw.decode()),
        line[plain.end() : _end_of_data(line)],
        version if named is None else int(named),
    )


def split_checked(line: bytes) -> tuple[RecordLine | None, str | None]:
    """Split a line; return the line, or ``None``, and the description of a fault."""
    try:
        taken = split(line)
    except ValueError as error:
        return None, said(error)
    return taken, taken.fault()


def _split_any(line: bytes, version: int | None) -> RecordLine:
    if line.startswith(_REMOVE):
        head = lossless_json.loads(line)
        _TOMBSTONE(head, "it")
        return RecordLine(head["id"], True, b"", None, b"", None, dict(head["evidence"]))
    at = line.find(_DATA)
    if at < 0:
        raise ValueError(message("a line without data is not a tombstone"))
    head = lossless_json.loads(line[:at] + b"}")
    _PUT(head, "it")
    if head.get("op", "put") != "put":
        raise ValueError(message("the line is neither put nor remove"))
    raw = head.get("raw_sha256")
    return RecordLine(
        head["id"],
        False,
        bytes.fromhex(head["sha256"]),
        None if raw is None else bytes.fromhex(raw),
        line[at + len(_DATA) : _end_of_data(line)],
        head.get("version") or version,
    )


def _end_of_data(line: bytes) -> int:
    end = len(line) - 1 if line.endswith(b"\n") else len(line)
    if line[end - 1 : end] != b"}":
        raise ValueError(message("the line does not end as it should"))
    return end - 1


class ParsedRecords:
    """The records that were parsed last, so that views made one after the other share the work.

    It holds a limited number of bytes of JSON and starts again when it is full. Callers share the returned objects and
    must not change them.
    """

    def __init__(self, most: int = 1024 * 1024) -> None:
        self._most = most
        self._held = 0
        self._records: dict[bytes, dict[str, Any]] = {}

    def of(self, line: RecordLine) -> dict[str, Any]:
        """Return the record of a line.

        Raises:
            ArchiveDamaged: see :meth:`RecordLine.record`.
        """
        return self.record(line.record_id, line.identity, line.data)

    def record(self, record_id: str, identity: bytes, data: bytes | memoryview) -> dict[str, Any]:
        """Return the record with this identity, parsed from ``data`` if necessary.

        Raises:
            ArchiveDamaged: see :meth:`RecordLine.record`.
        """
        record = self._records.get(identity)
        if record is None:
            record, size = record_in(record_id, data), len(data)
            if size > self._most:
                return record
            if self._held + size > self._most:
                self._records.clear()
                self._held = 0
            self._records[identity] = record
            self._held += size
        return record
