"""The history of an archive in a folder, as :mod:`exporter.copies.histories` compares it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from exporter.archive.manifest import Manifest
from exporter.archive.safe_files import LARGEST_DOCUMENT
from exporter.errors import ArchiveDamaged
from exporter.message import message, suggested

if TYPE_CHECKING:
    from exporter.archive.archive import Archive


class LocalHistory:
    """The versions of an archive as they are when they are first asked for."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._numbers = archive.versions()
        self._manifests: dict[int, tuple[str, Manifest]] = {}

    def numbers(self) -> list[int]:
        """Return their numbers, oldest first."""
        return self._numbers

    def manifest(self, number: int) -> tuple[str, Manifest]:
        """Return the SHA-256 of a version's manifest, and what it says.

        Raises:
            ArchiveDamaged: it is missing, or cannot be read.
        """
        if number not in self._manifests:
            path = self._archive.layout.manifest(number)
            try:
                data = path.read_bytes(LARGEST_DOCUMENT)
            except OSError as error:
                raise ArchiveDamaged(
                    message(
                        "{path} is missing or cannot be read: run {command}.",
                        path=path,
                        command=suggested("verify", "--repair", str(self._archive.path)),
                    )
                ) from error
            self._manifests[number] = hashlib.sha256(data).hexdigest(), Manifest.decode(data, str(path))
        return self._manifests[number]
