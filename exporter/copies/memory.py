"""An archive's memory of its copies, in ``.work/``: the keys of encrypted copies, and the state of each copy.

An encrypted copy has a secret, which encrypts names and proves who wrote an object, and an age identity, the writer's.
Documents are encrypted to the writer as well: ``archive.json``, manifests, ``runs.jsonl``. So a machine that only backs
up can compare histories, but can decrypt no entry, comment or picture. The keys are also in the copy, encrypted to its
recipients.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import MAX_CACHE_BYTES, InnerPath
from exporter.clock import SystemClock
from exporter.copies import age_files
from exporter.copies.hidden_names import SECRET_BYTES, copy_id
from exporter.copies.store import absolute_place, is_address
from exporter.errors import BlogExporterError, UsageError
from exporter.model.asset import is_sha256

_KEYS_FILE: Final = "copies.json"
_STATES_FILE: Final = "copy-checks.json"
_MAX_ID_BYTES: Final = 64
_MAX_KEYS_BYTES: Final = 1 << 20
_LOCK_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class CopyKeys:
    """The keys of one copy.

    Attributes:
        secret: 32 bytes.
        identity: the writer's age identity, as text.
    """

    secret: bytes = field(repr=False)
    identity: str = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        """Make the keys of a new copy."""
        return cls(secrets.token_bytes(SECRET_BYTES), str(age_files.new_identity()))

    @classmethod
    def of(cls, data: object) -> Self:
        """Read the result of :meth:`as_json`.

        Raises:
            ValueError: the data is invalid.
        """
        if not isinstance(data, dict):
            raise ValueError("expected an object")  # noqa: TRY004 - like the errors below
        secret, identity = bytes.fromhex(str(data.get("secret"))), str(data.get("identity"))
        if len(secret) != SECRET_BYTES:
            raise ValueError("expected a secret of 32 bytes")
        age_files.identity(identity)
        return cls(secret, identity)

    def as_json(self) -> dict[str, Any]:
        """Return the keys as a JSON object."""
        return {"secret": self.secret.hex(), "identity": self.identity}

    @property
    def id(self) -> str:
        """The public id of the copy."""
        return copy_id(self.secret)


class KeyMemory:
    """The keys for the encrypted copies, in ``.work/copies.json``.

    Args:
        archive: its folder, which need not exist; ``None`` for an empty memory.
    """

    def __init__(self, archive: Path | None) -> None:
        self._layout = None if archive is None else Layout(archive)
        self.path = None if self._layout is None else self._layout.work / _KEYS_FILE
        self._data = self._load()

    def id_at(self, place: str) -> str | None:
        """Return the id of the copy that was last used at a place."""
        found = self._data["places"].get(absolute_place(place))
        return None if found is None else str(found)

    def keys(self, number: str) -> CopyKeys | None:
        """Return the keys of the copy with an id; ``None`` if they are unknown or damaged."""
        try:
            found = CopyKeys.of(self._data["copies"].get(number))
        except ValueError:
            return None
        return found if found.id == number else None

    def keep(self, place: str, keys: CopyKeys) -> None:
        """Save a copy's keys and its place durably, if the archive exists.

        Raises:
            BlogExporterError: the file cannot be written.
        """
        if self._layout is None or self.path is None:
            return
        if self._layout.root.kind() is None or not self._layout.root.names():
            return
        if self.id_at(place) == keys.id and self.keys(keys.id) == keys:
            return
        with atomic.translated(self.path):
            atomic.make_folder(self._layout.work)
            with ArchiveLock(self._layout.work / "copies.lock") as lock:
                lock.acquire(SystemClock().now(), _LOCK_SECONDS)
                self._data = self._load()
                self._data["copies"][keys.id] = keys.as_json()
                self._data["places"][absolute_place(place)] = keys.id
                atomic.write_file(self.path, json.dumps(self._data, indent=1, sort_keys=True).encode() + b"\n")

    def _load(self) -> dict[str, dict[str, Any]]:
        try:
            if self.path is not None:
                found = json.loads(self.path.read_bytes(_MAX_KEYS_BYTES))
                return {"copies": dict(found["copies"]), "places": dict(found["places"])}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                "Cannot read {path}, which has the keys of this archive's encrypted copies: remove it, and run "
                "sync once with --identity, which gets the keys from the copy.",
                path=self.path,
            ) from error
        return {"copies": {}, "places": {}}


@dataclass(slots=True)
class KnownCopy:
    """The state of one copy.

    Attributes:
        head: the number of its newest version after the last sync.
        turn: the number of syncs that have read a sample.
        damaged: the names of objects with a wrong hash; each sync reads them again.
        sealed: the SHA-256 of each encrypted object that this machine cannot decrypt, by name, from its first reading.
    """

    head: int = 0
    turn: int = 0
    damaged: list[str] = field(default_factory=list)
    sealed: dict[str, str] = field(default_factory=dict)


class CopyMemory:
    """The memory for one copy, in ``.work/copy-checks.json``. A damaged file counts as empty.

    Args:
        archive: the archive's folder.
        place: the copy's folder or address.
        copy_id: the id of an encrypted copy. A plain copy in a folder has its id in ``.work/copy-id``.

    Attributes:
        known: the state. Several disks may share a mount point, so each copy in a folder has an id. Without an id, as
            on an empty disk, this is the state of the newest copy at this place.
    """

    def __init__(self, archive: Path, place: str, copy_id: str | None = None) -> None:
        work = Layout(archive).work
        self._path = work / _STATES_FILE
        self._place = absolute_place(place)
        has_id_file = copy_id is None and not is_address(place)
        self._id_path = Layout(Path(self._place)).copy_id if has_id_file else None
        self._id = copy_id or ""
        with suppress(OSError, ValueError):
            if self._id_path is not None:
                self._id = self._id_path.read_bytes(_MAX_ID_BYTES).decode("ascii").strip()
        copies = self._load().get(self._place, {})
        self.known = copies.get(self._id) or max(copies.values(), key=lambda each: each.head, default=KnownCopy())

    def keep(self) -> None:
        """Save the state, if the archive can be written."""
        with suppress(OSError, BlogExporterError):
            if self._id_path is not None and not self._id:
                atomic.make_folder(self._id_path.parent)
                self._id = secrets.token_hex(16)
                atomic.write_file(self._id_path, self._id.encode() + b"\n")
            places = self._load()
            places.setdefault(self._place, {})[self._id] = self.known
            data = {place: {copy: asdict(each) for copy, each in copies.items()} for place, copies in places.items()}
            atomic.make_folder(self._path.parent)
            atomic.write_file(self._path, lossless_json.dumps(data) + b"\n")

    def _load(self) -> dict[str, dict[str, KnownCopy]]:
        return _states(self._path)


def _states(path: InnerPath) -> dict[str, dict[str, KnownCopy]]:
    try:
        data = lossless_json.loads(path.read_bytes(MAX_CACHE_BYTES))
        return {place: {copy: _known_copy(each) for copy, each in copies.items()} for place, copies in data.items()}
    except (OSError, lossless_json.NotJson, AttributeError, KeyError, TypeError, ValueError):
        return {}


def known_places(archive: Path) -> list[str]:
    """Return the places that an archive's copies were last synced to."""
    with suppress(OSError, lossless_json.NotJson, AttributeError):
        found = lossless_json.loads((Layout(archive).work / _STATES_FILE).read_bytes(MAX_CACHE_BYTES))
        return sorted(map(str, found.keys()))
    return []


def _known_copy(data: Any) -> KnownCopy:
    sealed = {str(name): str(digest) for name, digest in data["sealed"].items() if is_sha256(digest)}
    return KnownCopy(int(data["head"]), int(data["turn"]), [str(name) for name in data["damaged"]], sealed)


def known_copies(archive: Path) -> dict[str, KnownCopy]:
    """Return the newest copy at each place that an archive was synced to, by its folder or address."""
    places = _states(Layout(archive).work / _STATES_FILE)
    return {
        place: max(copies.values(), key=lambda each: each.head) for place, copies in sorted(places.items()) if copies
    }
