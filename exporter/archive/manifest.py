"""The documents in an archive as values: ``archive.json``, manifests, the lines of runs, ``SHA256SUMS``. Pure.

An archive may be untrusted, so the type of each member, as FORMAT.md gives it, is checked before use.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Final

from exporter import __version__, lossless_json
from exporter.archive import layout
from exporter.archive.layout import FORMAT_NAME, FORMAT_VERSION, LARGEST_VERSION
from exporter.errors import ArchiveDamaged, NewerFormat, NoArchive
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


class CheckedObject:
    """A JSON object whose members are read by name and type.

    Raises:
        ValueError: from all methods: a member is missing or invalid; the message says which.
    """

    def __init__(self, value: object, name: str = "it") -> None:
        if not isinstance(value, dict):
            raise _wrong(name, value, message("an object"))
        self.members: dict[str, Any] = dict(value)
        self._prefix = "" if name == "it" else f"{name}."

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def require_plain(self) -> None:
        """Refuse numbers of more than 64 bits and deep nesting, which some JSON parsers do not support."""
        todo: list[tuple[dict[str, Any] | list[Any], int]] = [(self.members, 1)]
        while todo:
            outer, depth = todo.pop()
            if outer and depth == MAX_DEPTH:
                raise ValueError(message("it is nested more than {deepest} levels deep", deepest=MAX_DEPTH))
            for value in outer.values() if isinstance(outer, dict) else outer:
                if isinstance(value, dict | list):
                    todo.append((value, depth + 1))
                elif isinstance(value, IntegerText) or (type(value) is int and abs(value) > MAX_NUMBER):
                    raise ValueError(message("it holds a number of more than 64 bits"))

    def text(self, name: str) -> str:
        """Return a member that is text."""
        return str(self._checked(name, lambda value: type(value) is str, message("text")))

    def text_or_null(self, name: str) -> str | None:
        """Return a member that is text or ``null``."""
        return None if self._get(name) is None else self.text(name)

    def number(self, name: str, least: int = 0, most: int = MAX_NUMBER) -> int:
        """Return a member that is an integer from ``least`` to ``most``."""
        wanted = message("a number") if least <= 0 else message("a number from {least}", least=least)
        return int(self._checked(name, lambda value: type(value) is int and least <= value <= most, wanted))

    def integer(self, name: str) -> int:
        """Return a member that is an integer of any size."""
        return int(self._checked(name, lambda value: type(value) is int, message("a number")))

    def flag(self, name: str) -> bool:
        """Return a member that is ``true`` or ``false``."""
        return bool(self._checked(name, lambda value: type(value) is bool, message("true or false")))

    def time(self, name: str) -> str:
        """Return a member that is a time with its offset from UTC, such as ``2026-01-31T12:34:56Z``."""
        return str(self._checked(name, _is_time, message("a time")))

    def digest(self, name: str) -> str:
        """Return a member that is a SHA-256 in hexadecimal."""
        return str(self._checked(name, is_sha256, message("a SHA-256")))

    def inner(self, name: str) -> CheckedObject:
        """Return a member that is an object."""
        return CheckedObject(self._get(name), self._prefix + name)

    def objects(self, name: str) -> dict[str, CheckedObject]:
        """Return a member that is an object of objects."""
        inner = self.inner(name)
        return {key: inner.inner(key) for key in inner.members}

    def rows(self, name: str) -> list[CheckedObject]:
        """Return a member that is a list of objects."""
        value = self._checked(name, lambda value: isinstance(value, list), message("a list"))
        return [CheckedObject(each, f"{self._prefix}{name}[{number}]") for number, each in enumerate(value)]

    def _get(self, name: str) -> Any:
        if name not in self.members:
            raise ValueError(message("{name} is missing", name=printable(self._prefix + name, _MAX_SHOWN_CHARACTERS)))
        return self.members[name]

    def _checked(self, name: str, is_right: Callable[[Any], bool], wanted: str) -> Any:
        value = self._get(name)
        if not is_right(value):
            raise _wrong(self._prefix + name, value, wanted)
        return value


def _is_time(value: object) -> bool:
    try:
        moment = datetime.fromisoformat(value) if type(value) is str else None
    except ValueError:
        return False
    return moment is not None and moment.tzinfo is not None and _FIRST_YEAR <= moment.year <= _LAST_YEAR


def _wrong(name: str, value: object, wanted: str) -> ValueError:
    return ValueError(
        message(
            "{name} is {value}, not {wanted}",
            name=printable(name, _MAX_SHOWN_CHARACTERS),
            value=in_words(value),
            wanted=wanted,
        )
    )


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


def check_completeness(found: CheckedObject) -> None:
    """Check the members of ``completeness`` that the program uses; earlier programs wrote others as well.

    Raises:
        ValueError: one is invalid.
    """
    for name in ("complete", "sweeps_agreed"):
        if name in found:
            found.flag(name)
    if "sweeps" in found:
        found.number("sweeps")


def check_problem(found: CheckedObject) -> None:
    """Check one of ``problems``.

    Raises:
        ValueError: a member is missing or invalid.
    """
    found.text("kind")
    found.text_or_null("id")
    found.text("reason")


PREVIOUS: Final = "previous"
MANIFEST_SHA256: Final = "manifest_sha256"


def run_fault(value: object) -> str | None:
    """Return why a value is not a run's line, or ``None`` if it is one; unknown members are ignored."""
    try:
        run = CheckedObject(value)
        run.require_plain()
        run.text("outcome")
        run.time("started_at")
        run.time("finished_at")
        _check_result(run)
    except ValueError as error:
        return said(error)
    return None


def _check_result(run: CheckedObject) -> None:
    """Check the members that only some runs have. A run that failed early has few."""
    for name, check in _CHECKS.items():
        if run.members.get(name) is not None:
            check(run, name)


def _check_counts(run: CheckedObject, name: str) -> None:
    for counts in run.objects(name).values():
        for each in ("total", "new", "changed", "gone"):
            counts.number(each)


def _check_problems(run: CheckedObject, name: str) -> None:
    for problem in run.rows(name):
        check_problem(problem)


_CHECKS: Final[dict[str, Callable[[CheckedObject, str], object]]] = {
    "version": lambda run, name: run.number(name, 1, LARGEST_VERSION),
    "exit_code": CheckedObject.number,
    "error": CheckedObject.text,
    "counts": _check_counts,
    "completeness": lambda run, name: check_completeness(run.inner(name)),
    "problems": _check_problems,
    "assets": CheckedObject.inner,
    PREVIOUS: CheckedObject.digest,
    MANIFEST_SHA256: CheckedObject.digest,
}


def run_of(line: bytes) -> dict[str, Any] | None:
    """Parse a line of ``runs.jsonl``; ``None`` if it is not a run."""
    try:
        value = lossless_json.loads(line)
    except lossless_json.NotJson:
        return None
    return None if run_fault(value) else dict(value)


def line_digest(line: bytes) -> str:
    """Return the hash by which the next line names this one: the SHA-256 of its bytes without the line feed."""
    return hashlib.sha256(line.removesuffix(b"\n")).hexdigest()


TOOL = f"blog-exporter {__version__}"
_ROW = re.compile(rb"([0-9a-f]{64})  ([!-~]+)")
_FROM_A_COPY = message("restore it from another copy of the archive")


@dataclass(frozen=True, slots=True)
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
                    message(
                        "{place} is not an archive of blog-exporter: archive.json says another format.", place=place
                    )
                )
            info = CheckedObject(value)
            version = info.integer("format_version")
            if version > layout.FORMAT_MAXIMUM:
                raise NewerFormat(
                    message(
                        "{place} has format {version}, this program reads up to {format_maximum}: "
                        "install a newer blog-exporter.",
                        place=place,
                        version=in_words(version),
                        format_maximum=layout.FORMAT_MAXIMUM,
                    )
                )
            info.number("format_version", layout.FORMAT_MINIMUM)
            service = info.text("service") if "service" in info else None
            made = cls(_blog_id(info), info.time("created_at"), FORMAT_NAME, version, info.text("tool"), service)
        except ValueError as error:
            raise ArchiveDamaged(
                message(
                    "{place}/archive.json is damaged: {error}; {from_a_copy}.",
                    place=place,
                    error=error,
                    from_a_copy=_FROM_A_COPY,
                )
            ) from error
        return made


@dataclass(frozen=True, slots=True)
class KindCounts:
    """The record numbers of one kind in a run: all existing ones, and those that are new, changed and gone."""

    total: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class RecordProblem:
    """A record or list that could not be read; ``id`` is ``None`` for a whole list."""

    kind: str
    id: str | None
    reason: str

    def document(self) -> dict[str, Any]:
        """Return it as manifests and ``runs.jsonl`` state it."""
        return {"kind": self.kind, "id": self.id, **stored_as("reason", self.reason)}


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """The size and hash of one ``.jsonl`` file of a version."""

    lines: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version's ``manifest.json``; FORMAT.md describes the members."""

    version: int
    parent: dict[str, Any] | None
    blog_id: str
    base_url: str
    started_at: str
    finished_at: str
    counts: dict[str, KindCounts]
    completeness: dict[str, Any]
    problems: list[RecordProblem]
    files: dict[str, SegmentInfo]
    format_version: int = FORMAT_VERSION
    tool: str = field(default=TOOL)
    pruned: dict[str, Any] | None = None
    healed: list[Any] | None = None

    def document(self) -> dict[str, Any]:
        """Return it with its members in the order of FORMAT.md."""
        document = asdict(self) | {"problems": [problem.document() for problem in self.problems]}
        order = (
            "format_version", "version", "parent", "blog_id", "base_url", "started_at", "finished_at", "tool",
            "counts", "completeness", "problems", "files", *(("pruned",) if self.pruned is not None else ()),
            *(("healed",) if self.healed is not None else ()),
        )  # fmt: skip
        return {name: document[name] for name in order}

    @classmethod
    def decode(cls, data: bytes, place: str) -> Manifest:
        """Parse it.

        Raises:
            ArchiveDamaged: it is invalid.
        """
        try:
            found = CheckedObject(lossless_json.loads(data))
            found.require_plain()
            completeness = found.inner("completeness")
            check_completeness(completeness)
            return cls(
                version=found.number("version", 1, layout.LARGEST_VERSION),
                parent=_parent(found),
                blog_id=_blog_id(found),
                base_url=found.text("base_url"),
                started_at=found.time("started_at"),
                finished_at=found.time("finished_at"),
                counts={kind: _counts(counts) for kind, counts in found.objects("counts").items()},
                completeness=completeness.members,
                problems=[_problem(problem) for problem in found.rows("problems")],
                files={name: _segment(info) for name, info in found.objects("files").items()},
                format_version=found.number("format_version", 1),
                tool=found.text("tool"),
                pruned=_pruned(found),
                healed=_healed(found),
            )
        except ValueError as error:
            raise ArchiveDamaged(
                message("{place} is damaged: {error}; run verify --repair.", place=place, error=error)
            ) from error


def _blog_id(found: CheckedObject) -> str:
    blog_id = found.text("blog_id")
    if not blog_id or printable(blog_id) != blog_id:
        raise ValueError(message("blog_id is {blog_id}, not the domain of a blog", blog_id=in_words(blog_id)))
    return blog_id


def _parent(found: CheckedObject) -> dict[str, Any] | None:
    if found.members.get("parent", "") is None:
        return None
    parent = found.inner("parent")
    parent.number("version", 1, layout.LARGEST_VERSION)
    parent.digest("sha256")
    return parent.members


def _pruned(found: CheckedObject) -> dict[str, Any] | None:
    if found.members.get("pruned") is None:
        return None
    pruned = found.inner("pruned")
    for name in ("first", "last", "count"):
        pruned.number(name, 1)
    pruned.time("started_at")
    return pruned.members


def _healed(found: CheckedObject) -> list[Any] | None:
    if found.members.get("healed") is None:
        return None
    for row in found.rows("healed"):
        row.number("version", 1, layout.LARGEST_VERSION)
        row.text("file")
        row.number("line")
        row.text_or_null("id")
    return list(found.members["healed"])


_COUNTED: Final = tuple(part.name for part in fields(KindCounts))


def _counts(found: CheckedObject) -> KindCounts:
    return KindCounts(*map(found.number, _COUNTED))


def _problem(found: CheckedObject) -> RecordProblem:
    check_problem(found)
    check_problem(found)
    return RecordProblem(found.members["kind"], found.members["id"], restored_from(found.members, "reason"))


def _segment(found: CheckedObject) -> SegmentInfo:
    return SegmentInfo(found.number("lines"), found.number("bytes"), found.digest("sha256"))


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
