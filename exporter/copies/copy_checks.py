"""The archive's memory of its copies, and the sample of a copy that each sync reads again.

A copy can lose data silently: a disk flips a bit, a provider restores an old state, a person removes files. Sizes and
names show little of that. So every sync reads a thirtieth of the copy, chosen by the objects' names, and compares
hashes. Every sync also compares the copy's newest version with the newest version after the last sync.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, Layout, asset_digest
from exporter.archive.manifest import version_sums
from exporter.archive.safe_files import LARGEST_CACHE
from exporter.clock import SystemClock
from exporter.copies.address import is_address
from exporter.copies.contents import INFO, place_in_version
from exporter.copies.store import Seals
from exporter.copies.transfer import in_parallel
from exporter.errors import ArchiveDamaged, BlogExporterError, NoKeyFits
from exporter.model.asset import is_sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exporter.copies.contents import SecondCopy
    from exporter.copies.local import LocalHistory

FILE_NAME: Final = "copy-checks.json"
TURNS: Final = 30
"""The number of syncs that read a whole copy."""
_ID_FILE: Final = "copy-id"
_ID_BYTES: Final = 64


@dataclass(slots=True)
class KnownCopy:
    """The memory of one copy.

    Attributes:
        head: the number of its newest version after the last sync.
        turn: how many syncs have read a part of it.
        damaged: the names of objects that had a wrong hash; each sync reads them again.
        sealed: the SHA-256 of each encrypted object that this machine cannot decrypt, by name, from its first reading.
    """

    head: int = 0
    turn: int = 0
    damaged: list[str] = field(default_factory=list)
    sealed: dict[str, str] = field(default_factory=dict)


class CopyMemory:
    """An archive's memory of one copy, in ``.work/copy-checks.json``. A damaged file counts as empty.

    Args:
        archive: its folder.
        place: the copy's folder or address.
        copy_id: the id of an encrypted copy. A plain copy in a folder has its id in ``.work/copy-id``.

    Attributes:
        known: the memory. Disks may take turns at one mount point, so each copy in a folder has an id. Without an id,
            as on an empty disk, this is the memory of the newest copy at this place.
    """

    def __init__(self, archive: Path, place: str, copy_id: str | None = None) -> None:
        self._layout = Layout(archive)
        self._path = self._layout.work / FILE_NAME
        folder = None if is_address(place) else Path(place).absolute()
        self._place = place if folder is None else str(folder)
        self._id_path = None if folder is None or copy_id is not None else Layout(folder).work / _ID_FILE
        self._id = copy_id or self._read_id()
        copies = self._load().get(self._place, {})
        self.known = copies.get(self._id) or max(copies.values(), key=lambda each: each.head, default=KnownCopy())

    def keep(self) -> None:
        """Save the memory, if the archive can be written."""
        with suppress(OSError, BlogExporterError):
            if self._id_path is not None and not self._id:
                atomic.make_folder(self._id_path.parent)
                self._id = secrets.token_hex(16)
                atomic.write_file(self._id_path, self._id.encode() + b"\n")
            places = self._load()
            places.setdefault(self._place, {})[self._id] = self.known
            data = {place: {copy: asdict(each) for copy, each in copies.items()} for place, copies in places.items()}
            atomic.make_folder(self._layout.work)
            atomic.write_file(self._path, lossless_json.dumps(data) + b"\n")

    def _read_id(self) -> str:
        with suppress(OSError, ValueError):
            if self._id_path is not None:
                return self._id_path.read_bytes(_ID_BYTES).decode("ascii").strip()
        return ""

    def _load(self) -> dict[str, dict[str, KnownCopy]]:
        try:
            data = lossless_json.loads(self._path.read_bytes(LARGEST_CACHE))
            return {place: {copy: _remembered(each) for copy, each in copies.items()} for place, copies in data.items()}
        except (OSError, lossless_json.NotJson, AttributeError, KeyError, TypeError, ValueError):
            return {}


def _remembered(data: Any) -> KnownCopy:
    sealed = {str(name): str(digest) for name, digest in data["sealed"].items() if is_sha256(digest)}
    return KnownCopy(int(data["head"]), int(data["turn"]), [str(name) for name in data["damaged"]], sealed)


def check_part(copy: SecondCopy, history: LocalHistory, info: bytes, known: KnownCopy) -> list[str]:
    """Read the next thirtieth of a copy, and count the turn.

    Args:
        copy: the copy before the sync.
        history: the archive's history.
        info: the content of ``archive.json``.
        known: the memory of the copy.

    Returns:
        The names of the objects with a wrong hash.
    """
    turn = (known.turn if known.turn or known.head else SystemClock().now().toordinal()) % TURNS
    known.turn = turn + 1
    jobs = (
        partial(_is_right, copy, name, expected, known.sealed)
        for name, expected in _expected(
            history, info, [name for name in sorted(copy.objects) if turn_of(name) == turn or name in known.damaged]
        )
    )
    known.damaged = [name for name, right in in_parallel(jobs) if not right]
    return known.damaged


def turn_of(name: str) -> int:
    """Return at which of the turns an object is read."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % TURNS


def _expected(history: LocalHistory, info: bytes, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each of the names whose object never changes, and its SHA-256 from the archive."""
    info_sha256 = hashlib.sha256(info).hexdigest()
    numbers = set(history.numbers())
    for name in names:
        found = asset_digest(name)
        number, part = place_in_version(name)
        if name == INFO:
            found = info_sha256
        elif number in numbers:
            with suppress(ArchiveDamaged):
                digest, manifest = history.manifest(number)
                if part == MANIFEST:
                    found = digest
                elif part == SUMS:
                    found = hashlib.sha256(version_sums(digest, info_sha256, manifest.files)).hexdigest()
                elif part in manifest.files:
                    found = manifest.files[part].sha256
        if found is not None:
            yield name, found


def _is_right(copy: SecondCopy, name: str, expected: str, sealed: dict[str, str]) -> tuple[str, bool]:
    try:
        return name, _hash(copy.store.read(name)) == expected
    except NoKeyFits:
        if not isinstance(copy.store, Seals) or not (asset_digest(name) or place_in_version(name)[1] in SEGMENTS):
            return name, False
        found = _hash(copy.store.read_sealed(name))
        return name, sealed.setdefault(name, found) == found
    except ArchiveDamaged:
        return name, False


def _hash(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
