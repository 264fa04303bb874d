"""Reading an archive: what it is, which versions it has, and the state of all records at any of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from exporter import codec
from exporter.archive.latest import load_latest
from exporter.archive.layout import Layout, version_number
from exporter.archive.manifest import ArchiveInfo, Manifest
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged, BlogExporterError, NoArchive, UsageError
from exporter.model.kinds import Kind


class ArchiveReader:
    """An archive opened for reading; nothing is locked and nothing is written.

    Raises:
        NoArchive: there is no archive at ``root``.
        NewerFormat: it needs a newer program.
        ArchiveDamaged: ``archive.json`` cannot be read.
    """

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        try:
            data = self.layout.info.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise NoArchive(f"{root} is no archive: there is no archive.json in it.") from None
        except OSError as error:
            raise BlogExporterError(f"Cannot read {self.layout.info}: {os.strerror(error.errno or 0)}.") from error
        self.info = ArchiveInfo.decode(data, str(root))

    def versions(self) -> list[int]:
        """Return the numbers of the versions, oldest first."""
        try:
            names = [path.name for path in self.layout.versions.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(number for name in names if (number := version_number(name)) is not None)

    def newest(self) -> int | None:
        """Return the number of the newest version, or ``None`` when there is none yet."""
        return max(self.versions(), default=None)

    def manifest(self, number: int) -> Manifest:
        """Read a version's manifest.

        Raises:
            ArchiveDamaged: it is missing or cannot be read.
        """
        path = self.layout.manifest(number)
        try:
            return Manifest.decode(path.read_bytes(), str(path))
        except OSError as error:
            raise ArchiveDamaged(f"{path} is missing or cannot be read; run verify.") from error

    def resolve(self, at: int | None = None) -> int:
        """Return the version to show: ``at``, or the newest.

        Raises:
            NoArchive: there is no version yet.
            UsageError: the archive has no version ``at``.
        """
        versions = self.versions()
        if not versions:
            raise NoArchive(f"{self.layout.root} holds no version yet: its first backup has not finished; run backup.")
        if at is None:
            return versions[-1]
        if at not in versions:
            raise UsageError(f"There is no version {at}: this archive has {versions[0]} to {versions[-1]}.")
        return at

    def state(self, at: int | None = None) -> State:
        """Return the state of all records at a version (default: the newest; empty when there is none).

        The newest comes from ``latest/`` where that is what the program wrote, so that the cost does not grow with the
        number of versions; otherwise the versions are folded.
        """
        versions = self.versions()
        if not versions and at is None:
            return State(self.info.blog_id)
        number = self.resolve(at)
        if number == versions[-1]:
            state = load_latest(self.layout, self.info.blog_id, number)
            if state is not None:
                return state
        return self.fold(number)

    def fold(self, number: int) -> State:
        """Return the state at a version from the versions alone."""
        state = State(self.info.blog_id, number)
        for version in self.versions():
            if version <= number:
                apply_version(state, self.layout, version)
        return state

    def runs(self) -> list[dict[str, Any]]:
        """Return the lines of ``runs.jsonl``, oldest first; a torn last line is passed over."""
        try:
            lines = self.layout.runs.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                value = codec.loads(line)
            except codec.NotJson:
                continue
            if isinstance(value, dict):
                found.append(dict(value))
        return found


def apply_version(state: State, layout: Layout, version: int) -> None:
    """Fold the lines of one version into a state."""
    for kind in Kind:
        for _ in state.fold(layout.segment(version, kind), kind, version):
            pass
    state.version = version
