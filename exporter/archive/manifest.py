"""The documents in an archive as values: ``archive.json``, manifests, the lines of runs, ``SHA256SUMS``. Pure.

An archive may be untrusted, so the type of each member, as FORMAT.md gives it, is checked before use.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from exporter import __version__, lossless_json
from exporter.archive import layout
from exporter.archive.layout import FORMAT_NAME, FORMAT_VERSION, LARGEST_VERSION
from exporter.errors import ArchiveDamaged, NewerFormat, NoArchive
from exporter.frozen import frozen
from exporter.lossless_json import IntegerText
from exporter.message import message, restored_from, said, stored_as
from exporter.model.asset import is_sha256
from exporter.text import printable

MAX_NUMBER: Final = 2**63 - 1
"""The largest count or size in a document. Every JSON parser supports 64 bits."""
MAX_DEPTH: Final = 64
"""The limit for nested levels in an archive's own documents; those that the program writes have six."""
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9998
"""One less than the limit of :mod:`datetime`, so that every time exists in every time zone."""
_MAX_SHOWN_CHARACTERS: Final = 40


class Check:
    """A check of a value; calling it raises a ValueError that names a member if its value is invalid.

    Args:
        holds: returns whether a value is valid; it does no more, since nearly every value is.
        explain: raises the error about an invalid value with this name.
    """

    __slots__ = ("_explain", "holds")

    def __init__(self, holds: Callable[[Any], bool], explain: Callable[[Any, str], None]) -> None:
        self.holds = holds
        self._explain = explain

    def __call__(self, value: Any, name: str) -> None:
        """Check a value."""
        if not self.holds(value):
            self._explain(value, name)


def _check(is_right: Callable[[Any], bool], wanted: str) -> Check:
    def explain(value: Any, name: str) -> None:
        raise ValueError(
            message(
                "{name} is {value}, not {wanted}",
                name=printable(name, _MAX_SHOWN_CHARACTERS),
                value=in_words(value),
                wanted=wanted,
            )
        )

    return Check(is_right, explain)


def _number(least: int = 0, most: int = MAX_NUMBER) -> Check:
    wanted = message("a number") if least <= 0 else message("a number from {least}", least=least)
    return _check(lambda value: type(value) is int and least <= value <= most, wanted)


def object_of(required: Mapping[str, Check], optional: Mapping[str, Check] = MappingProxyType({})) -> Check:
    """Return the check of an object with these members; optional ones may be missing or ``null``."""
    members = [(member, check.holds, True) for member, check in required.items()]
    members += [(member, check.holds, False) for member, check in optional.items()]

    def explain(value: Any, name: str) -> None:
        OBJECT(value, name)
        prefix = "" if name == _WHOLE else f"{name}."
        for member, check_member in required.items():
            if member not in value:
                raise ValueError(message("{name} is missing", name=printable(prefix + member, _MAX_SHOWN_CHARACTERS)))
            check_member(value[member], prefix + member)
        for member, check_member in optional.items():
            if value.get(member) is not None:
                check_member(value[member], prefix + member)

    return Check(lambda value: isinstance(value, dict) and _has_members(value, members), explain)


def _has_members(value: dict[str, Any], members: Iterable[tuple[str, Callable[[Any], bool], bool]]) -> bool:
    """Return whether an object has valid members; each has a name, its test, and whether it must be there."""
    for member, is_right, needed in members:
        found = value.get(member)
        if found is None:
            if needed and not (member in value and is_right(None)):
                return False
        elif not is_right(found):
            return False
    return True


def _objects_of(check_each: Check) -> Check:
    is_right = check_each.holds

    def explain(value: Any, name: str) -> None:
        OBJECT(value, name)
        for member, each in value.items():
            check_each(each, f"{name}.{member}")

    return Check(lambda value: isinstance(value, dict) and all(map(is_right, value.values())), explain)


def _list_of(check_each: Check) -> Check:
    is_right = check_each.holds

    def explain(value: Any, name: str) -> None:
        _LIST(value, name)
        for number, each in enumerate(value):
            check_each(each, f"{name}[{number}]")

    return Check(lambda value: isinstance(value, list) and all(map(is_right, value)), explain)


def _or_null(check: Check) -> Check:
    is_right = check.holds
    return Check(lambda value: value is None or is_right(value), check)


def _require_plain(document: dict[str, Any]) -> None:
    """Refuse numbers of more than 64 bits and deep nesting, which some JSON parsers do not support."""
    todo: list[tuple[dict[str, Any] | list[Any], int]] = [(document, 1)]
    while todo:
        outer, depth = todo.pop()
        if outer and depth == MAX_DEPTH:
            raise ValueError(message("it is nested more than {deepest} levels deep", deepest=MAX_DEPTH))
        for value in outer.values() if isinstance(outer, dict) else outer:
            kind = type(value)
            if kind is str:
                continue
            if isinstance(value, dict | list):
                todo.append((value, depth + 1))
            elif kind is IntegerText or (kind is int and not -MAX_NUMBER <= value <= MAX_NUMBER):
                raise ValueError(message("it holds a number of more than 64 bits"))


def _plain_object(data: bytes) -> dict[str, Any]:
    """Parse a document.

    Raises:
        ValueError: it is not JSON, not an object, or not plain.
    """
    simple = lossless_json.simple_values(data, MAX_DEPTH)
    found = lossless_json.values(data) if simple is None else simple
    OBJECT(found, _WHOLE)
    if simple is None:
        _require_plain(found)
    return dict(found)


def _is_time(value: object) -> bool:
    try:
        moment = datetime.fromisoformat(value) if type(value) is str else None
    except ValueError:
        return False
    return moment is not None and moment.tzinfo is not None and _FIRST_YEAR <= moment.year <= _LAST_YEAR


def in_words(value: object) -> str:
    """Return a short description of a JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case IntegerText():
            return message("a very long number")
        case str():
            return f'"{printable(value, _MAX_SHOWN_CHARACTERS)}"'
        case int():
            return str(value) if abs(value) <= MAX_NUMBER else message("a very long number")
        case float():
            return str(value)
        case list():
            return message("a list")
        case _:
            return message("an object")


def _explain_blog_id(value: Any, name: str) -> None:
    TEXT(value, name)
    raise ValueError(message("blog_id is {blog_id}, not the domain of a blog", blog_id=in_words(value)))


PREVIOUS: Final = "previous"
MANIFEST_SHA256: Final = "manifest_sha256"
CAPTURE_SHA256: Final = "capture_sha256"
FROM_CAPTURE: Final = "from_capture"
FROM_FILE: Final = "from_file"
UNJOINED: Final = "unjoined"
FORGOTTEN: Final = "forgotten"
FORGOTTEN_SHA256: Final = "forgotten_sha256"
_WHOLE: Final = "it"
"""The name of a whole document in messages."""
TEXT: Final = _check(lambda value: type(value) is str, message("text"))
OBJECT: Final = _check(lambda value: isinstance(value, dict), message("an object"))
DIGEST: Final = _check(is_sha256, message("a SHA-256"))
VERSION: Final = _number(1, LARGEST_VERSION)
_BLOG_ID: Final = Check(
    lambda value: type(value) is str and bool(value) and printable(value) == value, _explain_blog_id
)
_LIST: Final = _check(lambda value: isinstance(value, list), message("a list"))
_FLAG: Final = _check(lambda value: type(value) is bool, message("true or false"))
_TIME: Final = _check(_is_time, message("a time"))
_COUNTED: Final = ("total", "new", "changed", "gone")
_COUNTS: Final = _objects_of(object_of(dict.fromkeys(_COUNTED, _number())))
_COMPLETENESS: Final = object_of({}, {"complete": _FLAG, "sweeps_agreed": _FLAG, "sweeps": _number()})
"""The members that the program uses; earlier programs wrote others as well."""
_PROBLEMS: Final = _list_of(object_of({"kind": TEXT, "id": _or_null(TEXT), "reason": TEXT}))
_FILES: Final = object_of({"files": _objects_of(object_of({"lines": _number(), "bytes": _number(), "sha256": DIGEST}))})
_FORMAT: Final = object_of({"format_version": _check(lambda value: type(value) is int, message("a number"))})
_INFO: Final = object_of(
    {
        "format_version": _number(layout.FORMAT_MINIMUM),
        "blog_id": _BLOG_ID,
        "created_at": _TIME,
        "tool": TEXT,
    },
    {"service": TEXT},
)
_MANIFEST: Final = object_of(
    {
        "version": VERSION,
        "parent": _or_null(object_of({"version": VERSION, "sha256": DIGEST})),
        "blog_id": _BLOG_ID,
        "base_url": TEXT,
        "started_at": _TIME,
        "finished_at": _TIME,
        "counts": _COUNTS,
        "completeness": _COMPLETENESS,
        "problems": _PROBLEMS,
        "format_version": _number(1),
        "tool": TEXT,
    },
    {
        "pruned": object_of({**dict.fromkeys(("first", "last", "count"), _number(1)), "started_at": _TIME}),
        "healed": _list_of(object_of({"version": VERSION, "file": TEXT, "line": _number(), "id": _or_null(TEXT)})),
        "sources": _list_of(TEXT),
        FROM_CAPTURE: VERSION,
        UNJOINED: TEXT,
    },
)
_RUN: Final = object_of(
    {"outcome": TEXT, "started_at": _TIME, "finished_at": _TIME},
    {
        "version": VERSION,
        "exit_code": _number(),
        "error": TEXT,
        "counts": _COUNTS,
        "completeness": _COMPLETENESS,
        "problems": _PROBLEMS,
        "assets": OBJECT,
        PREVIOUS: DIGEST,
        MANIFEST_SHA256: DIGEST,
        CAPTURE_SHA256: DIGEST,
        FROM_CAPTURE: VERSION,
        UNJOINED: TEXT,
        FORGOTTEN: OBJECT,
        FORGOTTEN_SHA256: DIGEST,
    },
)
"""A run that failed early has few of the optional members."""


_CAPTURED: Final = object_of({"name": TEXT, "bytes": _number(), "sha256": DIGEST})
_CAPTURE: Final = object_of(
    {
        "capture": VERSION,
        "parent": _or_null(object_of({"capture": VERSION, "sha256": DIGEST})),
        "kind": TEXT,
        "blog_id": TEXT,
        "started_at": _TIME,
        "finished_at": _TIME,
        "tool": TEXT,
        "user_agent": TEXT,
        "operator": TEXT,
        "scope": _list_of(TEXT),
        "counts": _objects_of(_number()),
        "complete": _FLAG,
        "problems": _list_of(object_of({"url": TEXT, "reason": TEXT})),
        "segments": _list_of(_CAPTURED),
        "files": _list_of(_CAPTURED),
    },
    {"left_out": _objects_of(_number()), "removed": _list_of(TEXT)},
)
_CHANGED_DIGEST: Final = {"before": DIGEST, "after": DIGEST}
_FORGOTTEN: Final = object_of(
    {
        "at": _TIME,
        "tool": TEXT,
        "records": _objects_of(_number()),
        "files": _number(),
        "exchanges": _number(),
        "versions": _list_of(object_of({"version": VERSION, **_CHANGED_DIGEST})),
        "captures": _list_of(object_of({"capture": VERSION, **_CHANGED_DIGEST})),
        "runs": _list_of(object_of(_CHANGED_DIGEST)),
        "salt": DIGEST,
        "marks": _list_of(DIGEST),
        "shown": _list_of(object_of({"entry": TEXT, "comments": _number(1)})),
        PREVIOUS: _or_null(DIGEST),
    },
    {"signature": TEXT},
)
_CAPTURE_RUN: Final = object_of({"finished_at": _TIME}, {"started_at": _TIME, "capture": VERSION, "complete": _FLAG})


def capture_fault(value: Any) -> str | None:
    """Return why a value is not the description of a capture, or ``None`` if it is one."""
    return _fault(value, _CAPTURE)


def capture_run_fault(value: Any) -> str | None:
    """Return why a value is not a line of ``captures/runs.jsonl``, or ``None`` if it is one."""
    return _fault(value, _CAPTURE_RUN)


def forgotten_fault(value: Any) -> str | None:
    """Return why a value is not a line of ``forgotten.jsonl``, or ``None`` if it is one."""
    return _fault(value, _FORGOTTEN)


def _fault(value: Any, check: Check) -> str | None:
    try:
        OBJECT(value, _WHOLE)
        _require_plain(value)
        check(value, _WHOLE)
    except ValueError as error:
        return said(error)
    return None


def read_run(line: bytes) -> dict[str, Any]:
    """Parse a line of ``runs.jsonl``; unknown members are ignored.

    Raises:
        NotJson: it is not JSON.
        ValueError: it is not a run.
    """
    run = _plain_object(line)
    _RUN(run, _WHOLE)
    return run


def run_of(line: bytes) -> dict[str, Any] | None:
    """Parse a line of ``runs.jsonl``; ``None`` if it is not a run."""
    try:
        return read_run(line)
    except ValueError:
        return None


def line_digest(line: bytes) -> str:
    """Return the hash by which the next line names this one: the SHA-256 of its bytes without the line feed."""
    return hashlib.sha256(line.removesuffix(b"\n")).hexdigest()


TOOL = f"blog-exporter {__version__}"
_ROW = re.compile(rb"([0-9a-f]{64})  ([!-~]+)")
_FROM_A_COPY = message("restore it from another copy of the archive")


@frozen
class ArchiveInfo:
    """``archive.json``: written once, never changed.

    ``service`` names the blog service of the records; without it, that is ``blog/v1``.
    """

    blog_id: str
    created_at: str
    format: str = FORMAT_NAME
    format_version: int = FORMAT_VERSION
    tool: str = TOOL
    service: str | None = None

    def encode(self) -> bytes:
        """Write it with its members in the order of FORMAT.md."""
        names = ("format", "format_version", "blog_id", "created_at", "tool", *(("service",) if self.service else ()))
        return lossless_json.dumps({name: getattr(self, name) for name in names}, pretty=True) + b"\n"

    @classmethod
    def decode(cls, data: bytes, place: str) -> ArchiveInfo:
        """Parse it.

        Raises:
            NoArchive: the document is another program's.
            NewerFormat: the format is newer than this program reads.
            ArchiveDamaged: it is invalid.
        """
        try:
            value = lossless_json.loads(data)
            if not isinstance(value, dict) or value.get("format") != FORMAT_NAME:
                raise NoArchive(
                    "{place} is not an archive of blog-exporter: archive.json says another format.", place=place
                )
            _FORMAT(value, _WHOLE)
            if value["format_version"] > layout.FORMAT_MAXIMUM:
                raise NewerFormat(
                    "{place} has format {version}, this program reads up to {format_maximum}: "
                    "install a newer blog-exporter.",
                    place=place,
                    version=in_words(value["format_version"]),
                    format_maximum=layout.FORMAT_MAXIMUM,
                )
            _INFO(value, _WHOLE)
            members: dict[str, Any] = {each.name: value.get(each.name) for each in fields(cls)}
            return cls(**members)
        except ValueError as error:
            raise ArchiveDamaged(
                "{place}/archive.json is damaged: {error}; {from_a_copy}.",
                place=place,
                error=error,
                from_a_copy=_FROM_A_COPY,
            ) from error


@frozen
class KindCounts:
    """The record numbers of one kind in a run: all existing ones, and those that are new, changed and gone."""

    total: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0


@frozen
class RecordProblem:
    """A record or list that could not be read; ``id`` is ``None`` for a whole list.

    ``lasting`` is known only to the run that found it: another attempt with the same settings finds it again.
    """

    kind: str
    id: str | None
    reason: str
    lasting: bool = field(default=False, compare=False)

    def document(self) -> dict[str, Any]:
        """Return it as manifests and ``runs.jsonl`` state it."""
        return {"kind": self.kind, "id": self.id, **stored_as("reason", self.reason)}


def problems_in(rows: Sequence[Mapping[str, Any]]) -> list[RecordProblem]:
    """Read the ``problems`` of a manifest or of a run's line."""
    return [RecordProblem(each["kind"], each["id"], restored_from(each, "reason")) for each in rows]


@frozen
class SegmentInfo:
    """The size and hash of one ``.jsonl`` file of a version."""

    lines: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A version's ``manifest.json``; FORMAT.md describes the members, which are in its order."""

    format_version: int = FORMAT_VERSION
    version: int
    parent: dict[str, Any] | None
    blog_id: str
    base_url: str
    started_at: str
    finished_at: str
    tool: str = TOOL
    counts: dict[str, KindCounts]
    completeness: dict[str, Any]
    problems: list[RecordProblem]
    files: dict[str, SegmentInfo]
    pruned: dict[str, Any] | None = None
    healed: list[Any] | None = None
    sources: list[str] | None = None
    from_capture: int | None = None
    unjoined: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        document = asdict(self) | {"problems": [problem.document() for problem in self.problems]}
        return {name: value for name, value in document.items() if value is not None or name == "parent"}

    @classmethod
    def decode(cls, data: bytes, place: str) -> Manifest:
        """Parse it.

        Raises:
            ArchiveDamaged: it is invalid.
        """
        try:
            found = _plain_object(data)
            _MANIFEST(found, _WHOLE)
            members: dict[str, Any] = {name: found.get(name) for name in cls.__slots__}
            members["counts"] = {
                kind: KindCounts(*(counts[name] for name in _COUNTED)) for kind, counts in found["counts"].items()
            }
            members["problems"] = problems_in(found["problems"])
            members["files"] = _segments(found)
            return cls(**members)
        except ValueError as error:
            raise _damaged(place, error) from error


def segments_in(data: bytes, place: str) -> dict[str, SegmentInfo]:
    """Return ``files`` of a manifest; its other members are not checked, because a fold reads thousands of manifests.

    Raises:
        ArchiveDamaged: it is invalid.
    """
    try:
        return _segments(lossless_json.values(data))
    except ValueError as error:
        raise _damaged(place, error) from error


def _damaged(place: str, error: ValueError) -> ArchiveDamaged:
    return ArchiveDamaged("{place} is damaged: {error}; run verify --repair.", place=place, error=error)


def _segments(document: Any) -> dict[str, SegmentInfo]:
    _FILES(document, _WHOLE)
    return {name: SegmentInfo(info["lines"], info["bytes"], info["sha256"]) for name, info in document["files"].items()}


def version_sums(manifest_sha256: str, info_sha256: str, files: Mapping[str, SegmentInfo]) -> bytes:
    """Write a version's ``SHA256SUMS`` for ``sha256sum -c`` inside the folder."""
    rows = [(manifest_sha256, layout.MANIFEST)]
    rows += [(info.sha256, name) for name, info in files.items()]
    rows.append((info_sha256, "../../archive.json"))
    return "".join(f"{digest}  {name}\n" for digest, name in rows).encode("utf-8", "backslashreplace")


def read_sums(data: bytes) -> dict[str, str]:
    """Return the hashes in ``SHA256SUMS`` by file name; invalid rows are skipped."""
    rows = (_ROW.fullmatch(row) for row in data.split(b"\n"))
    return {row[2].decode("ascii"): row[1].decode("ascii") for row in rows if row is not None}


def write_sums(rows: dict[str, str]) -> bytes:
    """Write ``SHA256SUMS`` for ``sha256sum -c``."""
    return "".join(f"{digest}  {name}\n" for name, digest in rows.items()).encode("ascii")
