"""Writing an archive: its skeleton, one version for each run that found a change, one line for each run.

The order of a commit, so that what is there is valid at every instant: the version is filled and fsynced under
``.work/``, renamed into ``versions/``, then the run's line is appended and the archive sealed
(:mod:`exporter.archive.documents`), then ``latest/`` is swapped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exporter.archive import atomic
from exporter.archive.checks import file_sha256
from exporter.archive.documents import append_run, bundled_document, write_manifest
from exporter.archive.layout import Layout, clear_replaced, segment_name
from exporter.archive.manifest import ArchiveInfo, KindCounts, Manifest, RecordProblem, SegmentInfo
from exporter.archive.reader import is_archive, read_info
from exporter.errors import NoArchive, UsageError
from exporter.message import message
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.safe_files import InnerPath

__all__ = ["append_run", "clean_leftovers", "commit", "create", "require_place"]

_LEFTOVERS = (
    "new-version",
    "latest.next",
    "latest.new",
    "latest.old",
    "latest.new.rows",
    "views.new.jsonl",
    "checkpoint.old",
)


@dataclass(frozen=True, slots=True)
class VersionDraft:
    """What a run wants to commit; ``lines`` are finished lines in their order."""

    parent: int | None
    base_url: str
    started_at: str
    finished_at: str
    counts: Mapping[Kind, KindCounts]
    completeness: dict[str, Any]
    problems: list[RecordProblem]
    lines: Mapping[Kind, Iterable[bytes]] = field(default_factory=dict)
    healed: list[Any] | None = None


def require_place(root: Path, blog_id: str) -> None:
    """Check that ``root`` is a place for this blog's archive: absent, empty, or its archive already.

    Raises:
        UsageError: another blog's archive is there.
        NoArchive: other things are there.
        NewerFormat: a newer program's archive is there.
    """
    layout = Layout(root)
    with atomic.translated(root):
        if is_archive(layout):
            info = read_info(layout)
            if info.blog_id != blog_id:
                raise UsageError(
                    message(
                        "{root} is the archive of {blog_id}, not of {asked}: choose another --archive.",
                        root=root,
                        blog_id=info.blog_id,
                        asked=blog_id,
                    )
                )
            for each in layout.folders():
                each.require_folder()
            return
        if root.exists() and not all(_is_unfinished(layout, path) for path in layout.root.iterdir()):
            raise NoArchive(
                message(
                    "{root} is not empty and holds no archive: name an empty or new folder as --archive.", root=root
                )
            )


def _is_unfinished(layout: Layout, path: InnerPath) -> bool:
    """Tell whether ``path`` is what :func:`create` leaves when it is killed, so that the next run may use it."""
    if path in (layout.versions, layout.assets):
        return path.kind() == "a folder" and not path.names()
    if path == layout.runs:
        return path.kind() == "" and path.stat().st_size == 0
    if path in (layout.readme, layout.format_document):
        return path.kind() == "" and path.read_bytes() == bundled_document(path.name)
    names = (layout.readme.name, layout.format_document.name, layout.runs.name, layout.info.name)
    return path == layout.work or path.name in {f".{name}.tmp" for name in names}


def create(layout: Layout, info: ArchiveInfo) -> None:
    """Make the skeleton of a new archive; ``archive.json`` comes last, since it makes the folder an archive."""
    with atomic.translated(layout.root):
        atomic.make_folder(layout.root)
        atomic.make_folder(layout.versions)
        atomic.make_folder(layout.assets)
        atomic.write_file(layout.readme, bundled_document(layout.readme.name))
        atomic.write_file(layout.format_document, bundled_document(layout.format_document.name))
        if not layout.runs.exists():
            atomic.write_file(layout.runs, b"")
        atomic.write_file(layout.info, info.encode())
        for folder in layout.root.absolute().parents:
            # Any of them may be as new as the archive; those that are somebody else's are not.
            with contextlib.suppress(OSError):
                atomic.sync_folder(folder)


def clean_leftovers(layout: Layout) -> None:
    """Remove what a run that died had not finished; nothing of it is part of the archive."""
    with atomic.translated(layout.work):
        clear_replaced(layout)
        for name in _LEFTOVERS:
            path = layout.work / name
            atomic.remove_folder(path)
        for folder in (layout.root, layout.work):
            for path in _temporary(folder):
                path.remove()


def _temporary(folder: InnerPath) -> list[InnerPath]:
    """Return what has the name of a half-written file in a folder."""
    try:
        return [folder / name for name in folder.names() if name.startswith(".") and name.endswith(".tmp")]
    except FileNotFoundError:
        return []


def commit(layout: Layout, draft: VersionDraft) -> Manifest:
    """Write the next version and give it its name; returns its manifest.

    Raises:
        NoSpace: the disk is full; the archive is as before.
    """
    number = 1 if draft.parent is None else draft.parent + 1
    folder = layout.work / "new-version"
    with atomic.translated(layout.versions):
        atomic.remove_folder(folder)
        atomic.make_folder(folder)
        files = {segment_name(kind): _write_segment(folder, kind, draft.lines.get(kind, ())) for kind in Kind}
        manifest = Manifest(
            version=number,
            parent=None if draft.parent is None else _parent(layout, draft.parent),
            blog_id=read_info(layout).blog_id,
            base_url=draft.base_url,
            started_at=draft.started_at,
            finished_at=draft.finished_at,
            counts={str(kind): counts for kind, counts in draft.counts.items()},
            completeness=draft.completeness,
            problems=draft.problems,
            files=files,
            healed=draft.healed,
        )
        write_manifest(folder, manifest.document(), file_sha256(layout.info))
        atomic.move_folder(folder, layout.version(number))
    return manifest


def _parent(layout: Layout, parent: int) -> dict[str, Any]:
    return {"version": parent, "sha256": file_sha256(layout.manifest(parent))}


def _write_segment(folder: Path, kind: Kind, lines: Iterable[bytes]) -> SegmentInfo:
    count = 0
    with atomic.hashing(folder / segment_name(kind)) as file:
        for line in lines:
            file.write(line)
            count += 1
        return SegmentInfo(lines=count, bytes=file.size, sha256=file.close())
