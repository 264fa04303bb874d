"""The damage that an earlier run or ``verify`` found, remembered until it is gone: of versions, pictures and views.

``status`` and the next run would have to read the whole archive to find it again. The list is in ``.work/``: an archive
that lost it is checked anew by the next run, which reads the versions' files in turn.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checksums import sha256_or_none
from exporter.archive.latest import read_index, read_record
from exporter.archive.layout import SEGMENTS, asset_digest
from exporter.archive.safe_files import LARGEST_DOCUMENT
from exporter.errors import ArchiveDamaged, BlogExporterError

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath

_LATEST: Final = "latest/"
_IN_A_VERSION: Final = re.compile(r"versions/([0-9]{1,18})/")


def remember_damage(layout: Layout, paths: Collection[str]) -> None:
    """Replace the list of damaged files, if the archive can be written; paths are relative to the archive."""
    if set(paths) == set(_remembered(layout)):
        return
    with contextlib.suppress(OSError, BlogExporterError), atomic.translated(layout.known_damage):
        if not paths:
            layout.known_damage.unlink()
            return
        atomic.make_folder(layout.work)
        atomic.write_file(layout.known_damage, lossless_json.dumps(sorted(paths)) + b"\n")


def known_damage(reader: ArchiveReader) -> list[str]:
    """Return the remembered files that are still damaged, in order; see :func:`is_read_again`."""
    return [path for path in _remembered(reader.layout) if _is_damaged(reader, path)]


def damaged_version(path: str) -> int | None:
    """Return the version that a damaged file belongs to, ``None`` for a file of no version."""
    found = _IN_A_VERSION.match(path)
    return None if found is None else int(found[1])


def is_segment(path: str) -> bool:
    """Return whether a path names a version's segment. The manifest states its hash."""
    return damaged_version(path) is not None and PurePosixPath(path).name in SEGMENTS


def is_read_again(path: str) -> bool:
    """Return whether it shows in a file itself that it is right again: its hash is known, and no run makes it anew."""
    return is_segment(path) or asset_digest(path) is not None or path.startswith(_LATEST)


def damaged_in_latest(layout: Layout) -> frozenset[str]:
    """Return the remembered files of ``latest/`` by their paths in there, whether they are right again or not."""
    return frozenset(path.removeprefix(_LATEST) for path in _remembered(layout) if path.startswith(_LATEST))


def _remembered(layout: Layout) -> list[str]:
    with contextlib.suppress(OSError, lossless_json.NotJson, ValueError):
        found = lossless_json.loads(layout.known_damage.read_bytes(LARGEST_DOCUMENT))
        if isinstance(found, list):
            return [path for path in found if isinstance(path, str)]
    return []


def _is_damaged(reader: ArchiveReader, path: str) -> bool:
    """Tell whether a file is still damaged; of documents the list is believed, since each run makes it anew."""
    digest = asset_digest(path)
    if digest is not None:
        folder = reader.layout.root / PurePosixPath(path).parent
        return not any(sha256_or_none(folder / name) == digest for name in _names(folder) if name.startswith(digest))
    if path.startswith(_LATEST):
        return _is_damaged_in_latest(reader.layout, path.removeprefix(_LATEST))
    number = damaged_version(path)
    if number is not None and number not in reader.versions():
        return False
    if number is None or not is_segment(path):
        return True
    name = PurePosixPath(path).name
    try:
        info = reader.manifest(number).files.get(name)
    except ArchiveDamaged:
        return True
    return info is None or sha256_or_none(reader.layout.version(number) / name) != info.sha256


def _names(folder: InnerPath) -> list[str]:
    try:
        return folder.names()
    except OSError:
        return []


def _is_damaged_in_latest(layout: Layout, place: str) -> bool:
    """Tell whether a file of ``latest/`` is not as it was written; one that nothing is noted of is no damage."""
    files = read_record(layout).get("files", {})
    expected = files.get(place) if place in SEGMENTS else None
    if expected is None:
        expected = next((entry.sha256 for entry in read_index(layout) if entry.place == place), None)
    return expected is not None and sha256_or_none(layout.latest / place) != expected
