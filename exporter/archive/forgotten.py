"""Records removed on purpose: the notes in ``forgotten.jsonl``, and the marks that keep the records from coming back.

A note states the time, the number of removed records by kind, and the old and new hashes of changed manifests, captures
and runs. It names no record. So that the next backup leaves the records out, it has marks for each: keyed hashes
of its kind and its signs, which are its id and what tells it in another source (:mod:`exporter.service.identity`). The
key is in the file too, so a person who guesses an id, or the whole text, can test the guess.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.manifest import (
    FORGOTTEN_SHA256,
    PREVIOUS,
    TOOL,
    forgotten_fault,
    line_digest,
    run_of,
)
from exporter.archive.safe_files import MAX_CACHE_BYTES, newest_lines
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import message

if TYPE_CHECKING:
    from datetime import date

    from exporter.archive.layout import Layout
    from exporter.model.kinds import Kind

FILE_NAME: Final = "forgotten.jsonl"


@frozen
class ForgettingNote:
    """A line of ``forgotten.jsonl``; FORMAT.md describes the members, which are in its order."""

    at: str
    records: Mapping[str, int]
    files: int
    exchanges: int
    salt: str
    marks: list[str]
    versions: list[dict[str, Any]] = field(default_factory=list)
    captures: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, str]] = field(default_factory=list)
    shown: list[dict[str, Any]] = field(default_factory=list)
    tool: str = TOOL
    previous: str | None = None
    signature: str | None = None

    def unsigned(self) -> bytes:
        """Return the bytes that a signature covers: the line without ``signature`` and without its line feed."""
        document = asdict(self)
        del document["signature"]
        return lossless_json.dumps(document)

    def line(self) -> bytes:
        """Return its line, with the line feed. ``signature`` comes last."""
        if self.signature is None:
            return self.unsigned() + b"\n"
        return lossless_json.dumps(asdict(self)) + b"\n"

    @property
    def number(self) -> int:
        """The number of removed records of all kinds."""
        return sum(self.records.values())


class Suppressed:
    """The records that no run may bring back, by the marks in these notes."""

    def __init__(self, notes: Iterable[ForgettingNote] = ()) -> None:
        self._marks = [(bytes.fromhex(note.salt), frozenset(note.marks), note.at[:10]) for note in notes]

    def __bool__(self) -> bool:
        return bool(self._marks)

    def has(self, kind: Kind, service: str, record_id: str) -> bool:
        """Return whether a service's record with this id was forgotten."""
        return self.has_sign(kind, [id_sign(service, record_id)])

    def has_sign(self, kind: Kind, signs: Iterable[str], written: date | None = None) -> bool:
        """Return whether a forgotten record of the kind has one of these signs.

        A record that was ``written`` after a forgetting was not meant. A day is left for time zones.
        """
        since = "" if written is None else (written - timedelta(days=1)).isoformat()
        known = [(salt, marks) for salt, marks, at in self._marks if at >= since]
        return any(mark(salt, kind, sign) in marks for sign in signs for salt, marks in known)


def id_sign(service: str, record_id: str) -> str:
    """Return the sign of a record by its id at a service. Every other sign is a hash, and has no NUL."""
    return f"{service}\0{record_id}"


def mark(salt: bytes, kind: Kind, sign: str) -> str:
    """Return the keyed hash of a record's kind and one of its signs: HMAC-SHA256 (RFC 2104), in hexadecimal."""
    name = f"{kind}\0{sign}".encode("utf-8", "backslashreplace")
    return hmac.digest(salt, name, "sha256").hex()


def new_salt() -> str:
    """Return a random key for the marks, in hexadecimal."""
    return secrets.token_hex(32)


def read_notes(layout: Layout) -> list[ForgettingNote]:
    """Return the notes, oldest first.

    Raises:
        ArchiveDamaged: the file cannot be read, or the archive's newest run names one and it is missing.
    """
    try:
        data = layout.forgotten.read_bytes(MAX_CACHE_BYTES)
    except FileNotFoundError:
        if _newest_run(layout).get(FORGOTTEN_SHA256) is not None:
            raise _damaged(layout, message("it is missing")) from None
        return []
    except OSError as error:
        raise atomic.translate(error, layout.forgotten) from error
    try:
        return notes_in(data)
    except ValueError as error:
        raise _damaged(layout, str(error)) from error


def notes_in(data: bytes) -> list[ForgettingNote]:
    """Read the content of ``forgotten.jsonl``, and check that each line names the one before it.

    Raises:
        ValueError: it is damaged; the text says how.
    """
    found: list[ForgettingNote] = []
    before: bytes | None = None
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        value = lossless_json.loads(line)
        fault = forgotten_fault(value)
        if fault is not None:
            raise ValueError(message("line {number}: {fault}", number=number, fault=fault))
        if value[PREVIOUS] != (None if before is None else line_digest(before)):
            raise ValueError(message("line {number} does not name the line before it", number=number))
        before = line
        found.append(ForgettingNote(**{name: value[name] for name in ForgettingNote.__annotations__ if name in value}))
    if data and not data.endswith(b"\n"):
        raise ValueError(message("its last line was cut short"))
    return found


def _damaged(layout: Layout, fault: str) -> ArchiveDamaged:
    return ArchiveDamaged(
        "{path} is damaged: {fault}. Without it, a backup would bring forgotten records back: restore it from another "
        "copy of the archive.",
        path=layout.forgotten,
        fault=fault,
    )


def _newest_run(layout: Layout) -> dict[str, Any]:
    try:
        for line in newest_lines(layout.runs):
            run = run_of(line)
            if run is not None:
                return run
    except OSError:
        pass
    return {}


def write_notes(layout: Layout, notes: Iterable[ForgettingNote]) -> None:
    """Write the file anew, atomically."""
    with atomic.translated(layout.forgotten):
        atomic.write_lines(layout.forgotten, (note.line() for note in notes))


def shown_removals(layout: Layout) -> dict[str, list[tuple[str, int]]]:
    """Return the dates and numbers of removed comments that the pages of entries show, by entry.

    Notes that cannot be read show nothing: they are a finding of ``verify``, and no reason to make no site.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    with contextlib.suppress(ArchiveDamaged):
        for note in read_notes(layout):
            for each in note.shown:
                found.setdefault(each["entry"], []).append((note.at[:10], each["comments"]))
    return found


def renamed_hashes(notes: Iterable[ForgettingNote]) -> dict[str, str]:
    """Return the new hash of each changed manifest, capture and run, by its old hash. It may have changed again."""
    return {each["before"]: each["after"] for note in notes for each in (*note.versions, *note.captures, *note.runs)}


def newest_name(renamed: Mapping[str, str], digest: str) -> str:
    """Return the present hash of the file or line that once had this hash."""
    for _ in range(len(renamed) + 1):
        if digest not in renamed:
            return digest
        digest = renamed[digest]
    return digest
