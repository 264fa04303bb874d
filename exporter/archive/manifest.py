"""The two small JSON documents of an archive: ``archive.json`` and each version's ``manifest.json``. Pure."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from exporter import __version__, codec
from exporter.archive import layout
from exporter.archive.document import Document, check_completeness, check_problem, shown
from exporter.archive.layout import FORMAT_NAME, FORMAT_VERSION
from exporter.errors import ArchiveDamaged, NewerFormat, NoArchive
from exporter.printable import printable

TOOL = f"blog-exporter {__version__}"
_ROW = re.compile(rb"([0-9a-f]{64})  ([!-~]+)")
_FROM_A_COPY = "restore it from another copy of the archive"


@dataclass(frozen=True, slots=True)
class ArchiveInfo:
    """``archive.json``: written once, never changed."""

    blog_id: str
    created_at: str
    format: str = FORMAT_NAME
    format_version: int = FORMAT_VERSION
    tool: str = TOOL

    def encode(self) -> bytes:
        """Write it with its members in the order FORMAT.md gives."""
        return (
            codec.dumps(
                {
                    "format": self.format,
                    "format_version": self.format_version,
                    "blog_id": self.blog_id,
                    "created_at": self.created_at,
                    "tool": self.tool,
                },
                pretty=True,
            )
            + b"\n"
        )

    @classmethod
    def decode(cls, data: bytes, place: str) -> ArchiveInfo:
        """Read it.

        Raises:
            NoArchive: the document is another program's.
            NewerFormat: the format is newer than this program reads.
            ArchiveDamaged: it cannot be read.
        """
        try:
            value = codec.loads(data)
            if not isinstance(value, dict) or value.get("format") != FORMAT_NAME:
                raise NoArchive(f"{place} is not an archive of blog-exporter: archive.json says another format.")
            info = Document(value)
            version = info.whole("format_version")
            if version < layout.FORMAT_MINIMUM:
                raise ArchiveDamaged(
                    f"{place}/archive.json is damaged: there is no format {shown(version)}; {_FROM_A_COPY}."
                )
            if version > layout.FORMAT_MAXIMUM:
                raise NewerFormat(
                    f"{place} has format {shown(version)}, this program reads up to {layout.FORMAT_MAXIMUM}: "
                    "install a newer blog-exporter."
                )
            made = cls(_blog_id(info), info.time("created_at"), FORMAT_NAME, version, info.text("tool"))
        except ValueError as error:
            raise ArchiveDamaged(f"{place}/archive.json is damaged: {error}; {_FROM_A_COPY}.") from error
        return made


@dataclass(frozen=True, slots=True)
class KindCounts:
    """What one run found of a kind: how many there are now, and how many are new, changed and gone."""

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


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One ``.jsonl`` file of a version."""

    lines: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """``manifest.json`` of a version; FORMAT.md says what each member means."""

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

    def encode(self) -> bytes:
        """Write it with its members in the order FORMAT.md gives."""
        document = asdict(self)
        order = (
            "format_version", "version", "parent", "blog_id", "base_url", "started_at", "finished_at", "tool",
            "counts", "completeness", "problems", "files", *(("pruned",) if self.pruned is not None else ()),
            *(("healed",) if self.healed is not None else ()),
        )  # fmt: skip
        return codec.dumps({name: document[name] for name in order}, pretty=True) + b"\n"

    @classmethod
    def decode(cls, data: bytes, place: str) -> Manifest:
        """Read it.

        Raises:
            ArchiveDamaged: it cannot be read.
        """
        try:
            found = Document(codec.loads(data))
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
            raise ArchiveDamaged(f"{place} is damaged: {error}; run verify --repair.") from error


def _blog_id(found: Document) -> str:
    blog_id = found.text("blog_id")
    if not blog_id or printable(blog_id) != blog_id:
        raise ValueError(f"blog_id is {shown(blog_id)}, not the domain of a blog")
    return blog_id


def _parent(found: Document) -> dict[str, Any] | None:
    if found.members.get("parent", "") is None:
        return None
    parent = found.inner("parent")
    parent.number("version", 1, layout.LARGEST_VERSION)
    parent.digest("sha256")
    return parent.members


def _pruned(found: Document) -> dict[str, Any] | None:
    if found.members.get("pruned") is None:
        return None
    pruned = found.inner("pruned")
    for name in ("first", "last", "count"):
        pruned.number(name, 1)
    pruned.time("started_at")
    return pruned.members


def _healed(found: Document) -> list[Any] | None:
    if found.members.get("healed") is None:
        return None
    for row in found.rows("healed"):
        row.number("version", 1, layout.LARGEST_VERSION)
        row.text("file")
        row.number("line")
        row.text_or_null("id")
    return list(found.members["healed"])


def _counts(found: Document) -> KindCounts:
    return KindCounts(*(found.number(part.name) for part in fields(KindCounts)))


def _problem(found: Document) -> RecordProblem:
    check_problem(found)
    return RecordProblem(found.text("kind"), found.text_or_null("id"), found.text("reason"))


def _segment(found: Document) -> SegmentInfo:
    return SegmentInfo(found.number("lines"), found.number("bytes"), found.digest("sha256"))


def sums(manifest_sha256: str, info_sha256: str, files: dict[str, SegmentInfo]) -> bytes:
    """Write ``SHA256SUMS`` of a version, in the form ``sha256sum -c`` reads from inside the folder."""
    rows = [(manifest_sha256, layout.MANIFEST)]
    rows += [(info.sha256, name) for name, info in files.items()]
    rows.append((info_sha256, "../../archive.json"))
    return "".join(f"{digest}  {name}\n" for digest, name in rows).encode("utf-8", "backslashreplace")


def read_sums(data: bytes) -> dict[str, str]:
    """Return the hashes in ``SHA256SUMS`` by the names of their files; rows that are none are passed over."""
    rows = (_ROW.fullmatch(row) for row in data.split(b"\n"))
    return {row[2].decode("ascii"): row[1].decode("ascii") for row in rows if row is not None}


def write_sums(rows: dict[str, str]) -> bytes:
    """Write ``SHA256SUMS`` in the form that ``sha256sum -c`` reads."""
    return "".join(f"{digest}  {name}\n" for name, digest in rows.items()).encode("ascii")
