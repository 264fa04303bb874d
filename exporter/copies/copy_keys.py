"""The keys of an encrypted copy: what its writer keeps, where, and the form in which they are in the copy itself.

Each copy has a secret, which hides the names of pictures and proves who wrote an object, and an age identity of its
own, the writer's, to which its documents are encrypted too: ``archive.json``, manifests, ``runs.jsonl``. So a machine
that only backs up can tell what is there and whether it is the same history, and reads no entry, comment or picture.
Both are in ``.work/copies.json`` of the archive that the copy is of, and, for the recipients, in the copy.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from exporter.archive import atomic
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.copies import age_files
from exporter.copies.address import is_address
from exporter.copies.hidden_names import SECRET_BYTES, copy_id
from exporter.errors import UsageError
from exporter.message import message

FILE_NAME: Final = "copies.json"
_LARGEST: Final = 1 << 20
_PATIENCE_SECONDS: Final = 30.0


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
        """Make the keys of a copy that begins."""
        return cls(secrets.token_bytes(SECRET_BYTES), str(age_files.new_identity()))

    @classmethod
    def of(cls, data: object) -> Self:
        """Read what :meth:`as_json` gave.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(data, dict):
            raise ValueError("an object is expected")  # noqa: TRY004 - as what is in it
        secret, identity = bytes.fromhex(str(data.get("secret"))), str(data.get("identity"))
        if len(secret) != SECRET_BYTES:
            raise ValueError("a secret of 32 bytes is expected")
        age_files.identity(identity)
        return cls(secret, identity)

    def as_json(self) -> dict[str, Any]:
        """Return them as an object of JSON."""
        return {"secret": self.secret.hex(), "identity": self.identity}

    @property
    def id(self) -> str:
        """What tells the copy from others."""
        return copy_id(self.secret)


class KeyMemory:
    """What an archive or a fleet knows of its encrypted copies, in ``.work/copies.json``; without one, nothing.

    Args:
        archive: its folder, which need not be there yet.
    """

    def __init__(self, archive: Path | None) -> None:
        self._layout = None if archive is None else Layout(archive)
        self.path = None if self._layout is None else self._layout.work / FILE_NAME
        self._data = self._load()

    def id_at(self, place: str) -> str | None:
        """Return which copy was at a place when it was last used; ``None`` where none was."""
        found = self._data["places"].get(_whole(place))
        return None if found is None else str(found)

    def keys(self, number: str) -> CopyKeys | None:
        """Return the keys of the copy of this id, where they are known and right."""
        try:
            found = CopyKeys.of(self._data["copies"].get(number))
        except ValueError:
            return None
        return found if found.id == number else None

    def keep(self, place: str, keys: CopyKeys) -> None:
        """Note durably which copy is at a place, and its keys; in a folder that is empty or absent, nothing is noted.

        Raises:
            BlogExporterError: it cannot be written.
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
                lock.acquire(SystemClock().now(), _PATIENCE_SECONDS)
                self._data = self._load()
                self._data["copies"][keys.id] = keys.as_json()
                self._data["places"][_whole(place)] = keys.id
                atomic.write_file(self.path, json.dumps(self._data, indent=1, sort_keys=True).encode() + b"\n")

    def _load(self) -> dict[str, dict[str, Any]]:
        if self.path is None:
            return {"copies": {}, "places": {}}
        try:
            found = json.loads(self.path.read_bytes(_LARGEST))
            copies, places = dict(found["copies"]), dict(found["places"])
        except FileNotFoundError:
            return {"copies": {}, "places": {}}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                message(
                    "{path}, which has the keys of this archive's encrypted copies, cannot be read: remove it, and run "
                    "sync once with --identity, which gets them from the copy.",
                    path=self.path,
                )
            ) from error
        return {"copies": copies, "places": places}


def _whole(place: str) -> str:
    """Return a place as it is called wherever the program is started."""
    return place if is_address(place) else str(Path(place).absolute())
