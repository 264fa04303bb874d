"""Building a new set of versions from the present one, for a prune and for the removal of single records.

Every version is checked before anything is written from it. The new set is built under ``.work/``, and
:func:`~exporter.archive.layout.replace_versions` exchanges it with ``versions/``.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import ChecksumCache, FindingCode, file_sha256
from exporter.archive.documents import seal, write_manifest
from exporter.archive.layout import MANIFEST, clear_replaced, replace_versions, version_name
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, HeldFolder, NotPlain
from exporter.archive.verify import VersionCheck
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath


@contextlib.contextmanager
def replacing_versions(layout: Layout) -> Iterator[None]:
    """Replace ``versions/`` by the set that the block builds; after a failure everything is as before.

    The caller holds the lock, and seals the archive afterwards.
    """
    try:
        yield
        seal(layout, versions=False)
        replace_versions(layout)
    except BaseException:
        clear_replaced(layout)
        with contextlib.suppress(OSError):
            seal(layout)
        raise


class VersionRewriting:
    """Builds versions under ``.work/``, each with the hash of the one before it.

    Args:
        reader: the archive.
        undone: the sentence that nothing was changed, for the error about damage.

    Attributes:
        layout: the archive's paths.

    Raises:
        ArchiveDamaged: ``archive.json`` is missing.
    """

    def __init__(self, reader: ArchiveReader, undone: str) -> None:
        self.layout = reader.layout
        self._undone = undone
        if reader.layout.info.kind() is None:
            raise ArchiveDamaged(
                "{info} is missing. {undone} Run verify --repair.", info=reader.layout.info, undone=undone
            )
        self._info_sha256 = file_sha256(reader.layout.info)
        self._cache = ChecksumCache(reader.layout, quick=False)
        self._chain: tuple[int, str | None] | None = None
        self._parent: dict[str, Any] | None = None

    def new_folder(self, version: int) -> InnerPath:
        """Make the folder for a new version, and return it."""
        folder = self.layout.building / version_name(version)
        atomic.make_folder(folder)
        return folder

    def checked(self, version: int) -> dict[str, Any]:
        """Return a version's manifest after checking the whole version and its place in the chain.

        Raises:
            ArchiveDamaged: a file does not match its hash.
        """
        with HeldFolder(self.layout.version(version)) as folder:
            check = VersionCheck(folder, version, self._info_sha256, self._cache, lines=False)
            findings = [each for each in check.files(self._chain) if each.code is not FindingCode.STRANGE_FILE]
            if findings:
                raise ArchiveDamaged(
                    "{path} is damaged: {detail}. {undone} Run verify.",
                    path=self.layout.root / findings[0].path,
                    detail=findings[0].detail,
                    undone=self._undone,
                )
            self._chain = (version, check.digest)
            return dict(lossless_json.loads(folder.read_bytes(MANIFEST, MAX_DOCUMENT_BYTES)))

    def link(self, version: int, name: str) -> None:
        """Hard-link an unchanged file into the new version, or copy it if the file system has no hard links."""
        source, target = self.layout.version(version) / name, self.layout.building / version_name(version) / name
        link_or_copy(source, target)

    def finish(self, document: dict[str, Any]) -> str:
        """Write the manifest of a version whose segments are complete; return the manifest's hash."""
        document["parent"] = self._parent
        number = document["version"]
        digest = write_manifest(self.layout.building / version_name(number), document, self._info_sha256)
        self._parent = {"version": number, "sha256": digest}
        return digest


def link_or_copy(source: InnerPath, target: InnerPath) -> None:
    """Hard-link a file, or copy it if the file system has no hard links."""
    try:
        source.add_name(target)
    except NotPlain:
        raise
    except OSError:
        with atomic.hashing(target) as file, source.open("rb") as content:
            while block := content.read(1 << 20):
                file.write(block)
            file.close()
