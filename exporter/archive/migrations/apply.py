"""Carrying out migrations: the whole archive is written anew beside the old one, then takes its place.

The order, so that a kill at any instant loses nothing: the new versions are finished under ``.work/``; ``archive.json``
gets its new number, so that programs of the old format refuse the archive; the versions are exchanged. A run that finds
``archive.json`` newer than the versions finishes what a killed one began.
"""

from __future__ import annotations

import hashlib
from functools import reduce
from typing import TYPE_CHECKING, Any

from exporter import codec
from exporter.archive import atomic, swap
from exporter.archive.latest import file_sha256
from exporter.archive.layout import FORMAT_VERSION, manifest_name, segment_name, version_name
from exporter.archive.migrations import STEPS, Step, steps_from
from exporter.archive.rewriting import write_documents
from exporter.archive.seal import seal
from exporter.errors import ArchiveDamaged, UsageError
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from exporter.archive.layout import Layout


def migrate(
    layout: Layout, versions: Sequence[int], *, steps: Sequence[Step] = STEPS, target: int = FORMAT_VERSION
) -> tuple[Step, ...]:
    """Bring an archive to the target format; the caller holds its lock, and writes ``latest/`` anew afterwards.

    Args:
        layout: the archive.
        versions: the numbers of its versions, oldest first.
        steps: the steps there are.
        target: the format wanted.

    Returns:
        The steps that were applied; none when the archive has the format.

    Raises:
        UsageError: a step says that it cannot be applied.
        NewerFormat: the archive is newer than the target.
        ArchiveDamaged: something does not match its hash; nothing was changed.
        NoSpace: the disk is full; nothing was changed.
    """
    with atomic.translated(layout.root):
        swap.clear_aside(layout)
        info = _document(layout.info)
        manifests = [_document(layout.manifest(version)) for version in versions]
        applied = steps_from(_format(manifests[-1] if manifests else info), steps, target)
        if not applied:
            return ()
        for step in applied:
            reasons = step.check(info, manifests)
            if reasons:
                raise UsageError(f"{layout.root} cannot be migrated to format {step.source + 1}: {reasons[0]}")
        new_info = _new_info(info, applied)
        try:
            _build(layout, dict(zip(versions, manifests, strict=True)), applied, new_info)
            atomic.write_file(layout.info, new_info)
            swap.put_in_place(layout)
        except BaseException:
            swap.clear_aside(layout)
            raise
        seal(layout, anew={layout.info.name, *map(manifest_name, versions)})
    return applied


def _new_info(info: dict[str, Any], steps: Sequence[Step]) -> bytes:
    """Return the new ``archive.json``; steps that a killed run took are not taken again."""
    for step in steps:
        if _format(info) == step.source:
            info = {**step.info(info), "format_version": step.source + 1}
    return codec.dumps(info, pretty=True) + b"\n"


def _build(layout: Layout, manifests: dict[int, dict[str, Any]], steps: Sequence[Step], info: bytes) -> None:
    place = swap.building_place(layout)
    atomic.make_folder(place)
    info_sha256 = hashlib.sha256(info).hexdigest()
    chain: str | None = None
    parent: dict[str, Any] | None = None
    for version, document in manifests.items():
        if (document["parent"] or {}).get("sha256") != chain:
            raise ArchiveDamaged(f"{layout.manifest(version)} does not follow the version before it; run verify.")
        chain = file_sha256(layout.manifest(version))
        folder = place / version_name(version)
        atomic.make_folder(folder)
        files = {segment_name(kind): _segment(layout, version, document, kind, steps, folder) for kind in Kind}
        made = document
        for step in steps:
            made = {**step.manifest(made), "format_version": step.source + 1}
        digest = write_documents(folder, {**made, "parent": parent, "files": files}, info_sha256)
        parent = {"version": version, "sha256": digest}


def _segment(
    layout: Layout, version: int, document: dict[str, Any], kind: Kind, steps: Sequence[Step], folder: Path
) -> dict[str, Any]:
    source = layout.segment(version, kind)
    if file_sha256(source) != document["files"][segment_name(kind)]["sha256"]:
        raise ArchiveDamaged(f"{source} is not what was written; nothing was migrated. Run verify.")
    lines = 0
    with source.open("rb") as old, atomic.hashing(folder / source.name) as new:
        for line in old:
            new.write(reduce(lambda text, step: step.line(kind, text), steps, line))
            lines += 1
        return {"lines": lines, "bytes": new.size, "sha256": new.close()}


def _document(path: Path) -> dict[str, Any]:
    try:
        return dict(codec.loads(path.read_bytes()))
    except (FileNotFoundError, codec.NotJson, TypeError, ValueError) as error:
        raise ArchiveDamaged(f"{path} is damaged: {error}; run verify.") from error


def _format(document: dict[str, Any]) -> int:
    return int(document["format_version"])
