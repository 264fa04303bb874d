"""Writing an archive: its first files, one version for each run that found a change, one line for each run.

A commit has an order that keeps the archive valid at every instant. The version is filled and fsynced under ``.work/``
and renamed into ``versions/``. Then the run's line is appended and the archive sealed
(:mod:`exporter.archive.documents`). At last ``latest/`` is replaced.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from exporter.archive import atomic
from exporter.archive.checks import file_sha256
from exporter.archive.documents import append_run, bundled_document, write_manifest
from exporter.archive.layout import Layout, clear_replaced, segment_name
from exporter.archive.manifest import ArchiveInfo, KindCounts, Manifest, RecordProblem, SegmentInfo
from exporter.archive.reader import is_archive, read_info
from exporter.errors import NoArchive, UsageError
from exporter.frozen import frozen
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.safe_files import InnerPath

__all__ = ["append_run", "clean_leftovers", "commit", "create", "require_place"]

_LEFTOVERS = (
    *(
        "new-version",
        "new-capture",
        "latest.next",
        "latest.new",
        "latest.old",
        "latest.new.rows",
        "views.new.jsonl",
        "checkpoint.old",
        "source.sqlite",
        "joined",
    ),
    # Notes of earlier programs.
    *("verified.jsonl", "audited.jsonl", "stored.jsonl", "front-door.json"),
)


@frozen
class VersionDraft:
    """The content of a version before the commit; ``lines`` are complete lines in their order."""

    parent: int | None
    base_url: str
    started_at: str
    finished_at: str
    counts: Mapping[Kind, KindCounts]
    completeness: dict[str, Any]
    problems: list[RecordProblem]
    lines: Mapping[Kind, Iterable[bytes]] = field(default_factory=dict)
    healed: list[Any] | None = None
    sources: list[str] | None = None
    from_capture: int | None = None
    unjoined: str | None = None


def require_place(root: Path, blog_id: str) -> None:
    """Check that ``root`` can hold the archive of the blog with this first ID: it is missing, empty, or its archive.

    Raises:
        UsageError: it holds the archive of another blog.
        NoArchive: it holds other files.
        NewerFormat: it holds the archive of a newer program.
    """
    layout = Layout(root)
    with atomic.translated(root):
        if is_archive(layout):
            info = read_info(layout)
            if info.blog_id != blog_id:
                raise UsageError(
                    "{root} is the archive of {blog_id}, not of {asked}: name another folder.",
                    root=root,
                    blog_id=info.blog_id,
                    asked=blog_id,
                )
            for each in (*layout.folders(), layout.captures):
                each.require_folder()
            return
        if root.exists() and not all(_is_unfinished(layout, path) for path in layout.root.iterdir()):
            raise NoArchive("{root} is not empty and holds no archive: name an empty or new folder.", root=root)


def _is_unfinished(layout: Layout, path: InnerPath) -> bool:
    """Return whether ``path`` was left by a killed :func:`create`, so that the next run may use the folder."""
    if path in (layout.versions, layout.assets):
        return path.kind() == "a folder" and not path.names()
    if path == layout.runs:
        return path.kind() == "" and path.stat().st_size == 0
    if path in (layout.readme, layout.format_document):
        return path.kind() == "" and path.read_bytes() == bundled_document(path.name)
    names = (layout.readme.name, layout.format_document.name, layout.runs.name, layout.info.name)
    return path == layout.work or path.name in {f".{name}.tmp" for name in names}


def create(layout: Layout, info: ArchiveInfo) -> None:
    """Create the first files of an archive. ``archive.json`` comes last: it makes the folder an archive."""
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
            # Each of them may be as new as the archive. Folders of other users are not, and cannot be synced.
            with contextlib.suppress(OSError):
                atomic.sync_folder(folder)


def clean_leftovers(layout: Layout) -> None:
    """Remove the unfinished files of a run that died. They are no part of the archive."""
    with atomic.translated(layout.work):
        clear_replaced(layout)
        for name in _LEFTOVERS:
            atomic.remove_folder(layout.work / name)
        for folder in (layout.root, layout.work):
            with contextlib.suppress(FileNotFoundError):
                for name in folder.names():
                    if name.startswith(".") and name.endswith(".tmp"):
                        (folder / name).remove()


def commit(layout: Layout, draft: VersionDraft) -> Manifest:
    """Write the next version, rename it into place and return its manifest.

    Raises:
        NoSpace: the disk is full; the archive is unchanged.
    """
    number = 1 if draft.parent is None else draft.parent + 1
    folder = layout.work / "new-version"
    with atomic.translated(layout.versions):
        atomic.remove_folder(folder)
        atomic.make_folder(folder)
        files = {segment_name(kind): _write_segment(folder, kind, draft.lines.get(kind, ())) for kind in Kind}
        manifest = Manifest(
            version=number,
            parent=None
            if draft.parent is None
            else {"version": draft.parent, "sha256": file_sha256(layout.manifest(draft.parent))},
            blog_id=read_info(layout).blog_id,
            base_url=draft.base_url,
            started_at=draft.started_at,
            finished_at=draft.finished_at,
            counts={str(kind): counts for kind, counts in draft.counts.items()},
            completeness=draft.completeness,
            problems=draft.problems,
            files=files,
            healed=draft.healed,
            sources=draft.sources,
            from_capture=draft.from_capture,
            unjoined=draft.unjoined,
        )
        write_manifest(folder, manifest.document(), file_sha256(layout.info))
        atomic.move_folder(folder, layout.version(number))
    return manifest


def _write_segment(folder: Path, kind: Kind, lines: Iterable[bytes]) -> SegmentInfo:
    count = 0
    with atomic.hashing(folder / segment_name(kind)) as file:
        for line in lines:
            file.write(line)
            count += 1
        return SegmentInfo(lines=count, bytes=file.size, sha256=file.close())
