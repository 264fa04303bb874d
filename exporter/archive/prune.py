"""Forgetting versions: what goes is folded into the oldest version kept after it, so those kept read back the same.

Tombstones stay, also where nothing is left of the record. A no-change (a record edited and edited back) goes. All is
checked before it is rewritten, so that damage is never given a fresh hash. :mod:`exporter.archive.swap` says why an
archive is valid at every instant of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exporter import codec
from exporter.archive import atomic, swap
from exporter.archive.find import Place, places, taken_apart
from exporter.archive.latest import file_sha256
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, segment_name, version_name
from exporter.archive.manifest import sums
from exporter.archive.plain import NotPlain
from exporter.archive.reader import ArchiveReader, apply_version
from exporter.archive.rewriting import write_documents
from exporter.archive.seal import seal
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged, UsageError
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.archive.inside import InnerPath
    from exporter.archive.layout import Layout
    from exporter.archive.prune_plan import Kept, PrunePlan

_HASH = re.compile(rb"[0-9a-f]{64}")
_ASSET_NAME = re.compile(r"([0-9a-f]{2})[0-9a-f]{62}(\.[^/]*)?")


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune did: how many versions went, and how many files of ``assets/`` with how many bytes."""

    versions: int
    assets: int
    asset_bytes: int


def prune(layout: Layout, plan: PrunePlan) -> Pruned:
    """Carry out a plan; the caller holds the archive's lock, and writes ``latest/`` anew afterwards.

    ``latest/`` has to be rebuilt (:func:`~exporter.archive.latest.write_latest` of a fresh fold) whenever a version
    went: its records name the versions they come from. Killed at any instant, the archive is as before or pruned,
    and calling this again completes it. A plan that drops nothing still removes unreferenced assets.

    Raises:
        UsageError: the plan was made for other versions than are there.
        ArchiveDamaged: something does not match its hash; nothing was changed.
        NoSpace: the disk is full; nothing was changed.
    """
    with atomic.translated(layout.root):
        swap.clear_aside(layout)
        reader = ArchiveReader(layout.root)
        if tuple(reader.versions()) != plan.versions:
            raise UsageError(f"{layout.root} has got other versions since the prune was planned; run prune again.")
        if plan.dropped:
            try:
                _Rewriting(reader).build(plan)
                seal(layout, versions=False)
                swap.put_in_place(layout)
            except BaseException:
                swap.clear_aside(layout)
                with contextlib.suppress(OSError):
                    seal(layout)
                raise
        seal(layout)
        count, size = _remove_unreferenced(layout)
    return Pruned(len(plan.dropped), count, size)


class _Rewriting:
    """Builds the new set of versions under ``.work/``."""

    def __init__(self, reader: ArchiveReader) -> None:
        self._reader = reader
        self._layout = reader.layout
        if reader.layout.info.kind() is None:
            raise ArchiveDamaged(f"{reader.layout.info} is missing; nothing was pruned. Run verify --repair.")
        self._info_sha256 = file_sha256(reader.layout.info)
        self._state = State(reader.info.blog_id)
        self._chain: tuple[int, str] | None = None
        self._parent: dict[str, Any] | None = None

    def build(self, plan: PrunePlan) -> None:
        """Write every version that is kept."""
        atomic.make_folder(self._layout.work)
        place = swap.building_place(self._layout)
        atomic.make_folder(place)
        for kept in plan.kept:
            folder = place / version_name(kept.version)
            atomic.make_folder(folder)
            documents = [self._checked(version) for version in (*kept.folds, kept.version)]
            document = documents[-1]
            if kept.folds:
                document["files"], document["counts"] = self._fold(kept, folder, document)
                document["pruned"] = _pruned(kept, documents)
            else:
                for name in SEGMENTS:
                    _link(self._layout.version(kept.version) / name, folder / name)
            document["parent"] = self._parent
            digest = write_documents(folder, document, self._info_sha256)
            self._parent = {"version": kept.version, "sha256": digest}
            for version in (*kept.folds, kept.version):
                apply_version(self._state, self._layout, version)

    def _checked(self, version: int) -> dict[str, Any]:
        """Return a version's manifest as it stands, after checking all of the version and its place in the chain."""
        folder = self._layout.version(version)
        manifest = self._reader.manifest(version)
        data = (folder / MANIFEST).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        stated = None if manifest.parent is None else (manifest.parent.get("version"), manifest.parent.get("sha256"))
        intact = stated == self._chain and _bytes(folder / SUMS) == sums(digest, self._info_sha256, manifest.files)
        for name in SEGMENTS:
            intact = intact and name in manifest.files and _digest(folder / name) == manifest.files[name].sha256
        if not intact:
            raise ArchiveDamaged(f"{folder} is not what was written; nothing was pruned. Run verify.")
        self._chain = (version, digest)
        return dict(codec.loads(data))

    def _fold(self, kept: Kept, folder: Path, document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Write the folded segments; returns the ``files`` and ``counts`` of the manifest."""
        files: dict[str, Any] = {}
        counts: dict[str, Any] = dict(document["counts"])
        for kind in Kind:
            last: dict[str, Place] = {}
            for version in (*kept.folds, kept.version):
                last.update(places(self._layout.segment(version, kind)))
            found = {"new": 0, "changed": 0, "gone": 0}
            lines = 0
            name = segment_name(kind)
            with atomic.hashing(folder / name) as file:
                for text, change in self._folded_lines(kind, last):
                    file.write(text)
                    lines += 1
                    if change is not None:
                        found[change] += 1
                files[name] = {"lines": lines, "bytes": file.size, "sha256": file.close()}
            counts[kind] = {**counts.get(kind, {"total": 0}), **found}
        return files, counts

    def _folded_lines(self, kind: Kind, last: dict[str, Place]) -> Iterator[tuple[bytes, str | None]]:
        """Yield the lines that make the state before into the state after, each with what it counts as."""
        state = self._state.kinds[kind]
        for record_id in sorted(last, key=sort_key):
            text = last[record_id].text()
            line = taken_apart(last[record_id].path, text)
            row = state.row(record_id)
            if line.removed:
                yield text, None if row is None else "gone"
            elif row is None:
                yield text, "new"
            elif state.identity(row) != line.identity:
                yield text, "changed"


def _pruned(kept: Kept, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the ``pruned`` member: which versions were folded into this one, now and before."""
    earlier = [document["pruned"] for document in documents if document.get("pruned") is not None]
    return {
        "first": min([kept.folds[0], *(found["first"] for found in earlier)]),
        "last": kept.folds[-1],
        "count": len(kept.folds) + sum(found["count"] for found in earlier),
        "started_at": min([documents[0]["started_at"], *(found["started_at"] for found in earlier)]),
    }


def _link(source: InnerPath, target: InnerPath) -> None:
    """Give a file that stays as it is a second name, or copy it where the file system knows no links."""
    try:
        source.add_name(target)
    except NotPlain:
        raise
    except OSError:
        with atomic.hashing(target) as file, source.open("rb") as content:
            while block := content.read(1 << 20):
                file.write(block)
            file.close()


def _bytes(path: InnerPath) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _digest(path: Path) -> str | None:
    try:
        return file_sha256(path)
    except FileNotFoundError:
        return None


def _remove_unreferenced(layout: Layout) -> tuple[int, int]:
    """Remove the files of ``assets/`` that no version and no run under way names; returns their number and bytes."""
    checkpoints = [layout.work / name for name in _names(layout.work) if name.startswith("checkpoint")]
    segments = [folder / segment_name(Kind.ASSETS) for folder in (*layout.versions.iterdir(), *checkpoints)]
    named = {found for segment in segments for found in _HASH.findall(_bytes(segment))}
    count = size = 0
    for shard in _names(layout.assets):
        for text in _names(layout.assets / shard):
            name = _ASSET_NAME.fullmatch(text)
            path = layout.assets / shard / text
            if name is None or name[1] != shard or text[:64].encode("ascii") in named or path.kind():
                continue
            size += path.lstat().st_size
            path.unlink()
            count += 1
    return count, size


def _names(folder: InnerPath) -> list[str]:
    """Return the names in a folder; none where there is no folder."""
    try:
        return folder.names()
    except (FileNotFoundError, NotADirectoryError):
        return []
