"""The two small JSON documents of an archive: ``archive.json`` and each version's ``manifest.json``. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from exporter import __version__, codec
from exporter.archive import layout
from exporter.archive.layout import FORMAT_NAME, FORMAT_VERSION
from exporter.errors import ArchiveDamaged, NewerFormat, NoArchive

if TYPE_CHECKING:
    from collections.abc import Mapping

TOOL = f"blog-exporter {__version__}"
_FROM_A_COPY = "restore it from another copy of the archive"
_Part = TypeVar("_Part", "KindCounts", "RecordProblem", "SegmentInfo")


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
            version = int(value["format_version"])
            if version < layout.FORMAT_MINIMUM:
                raise ArchiveDamaged(f"{place}/archive.json is damaged: there is no format {version}; {_FROM_A_COPY}.")
            if version > layout.FORMAT_MAXIMUM:
                raise NewerFormat(
                    f"{place} has format {version}, this program reads up to {layout.FORMAT_MAXIMUM}: "
                    "install a newer blog-exporter."
                )
            return cls(str(value["blog_id"]), str(value["created_at"]), FORMAT_NAME, version, str(value["tool"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ArchiveDamaged(f"{place}/archive.json is damaged: {error}; {_FROM_A_COPY}.") from error


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
            value = codec.loads(data)
            return cls(
                version=int(value["version"]),
                parent=None if value["parent"] is None else dict(value["parent"]),
                blog_id=str(value["blog_id"]),
                base_url=str(value["base_url"]),
                started_at=str(value["started_at"]),
                finished_at=str(value["finished_at"]),
                counts={kind: _part(KindCounts, counts) for kind, counts in value["counts"].items()},
                completeness=dict(value["completeness"]),
                problems=[_part(RecordProblem, problem) for problem in value["problems"]],
                files={name: _part(SegmentInfo, info) for name, info in value["files"].items()},
                format_version=int(value["format_version"]),
                tool=str(value["tool"]),
                pruned=None if value.get("pruned") is None else dict(value["pruned"]),
                healed=None if value.get("healed") is None else list(value["healed"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ArchiveDamaged(f"{place} is damaged: {error}; run verify.") from error


def _part(made: type[_Part], value: Mapping[str, Any]) -> _Part:
    """Read one small object of a manifest; members that a later program added are passed over."""
    return made(**{part.name: value[part.name] for part in fields(made)})


def sums(manifest_sha256: str, info_sha256: str, files: dict[str, SegmentInfo]) -> bytes:
    """Write ``SHA256SUMS`` of a version, in the form ``sha256sum -c`` reads from inside the folder."""
    rows = [(manifest_sha256, layout.MANIFEST)]
    rows += [(info.sha256, name) for name, info in files.items()]
    rows.append((info_sha256, "../../archive.json"))
    return "".join(f"{digest}  {name}\n" for digest, name in rows).encode("utf-8", "backslashreplace")
