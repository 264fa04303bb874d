"""Files in the user's configuration folder that note something of each archive, by the archive's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from exporter.archive import atomic
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.errors import UsageError
from exporter.message import message
from exporter.settings import config_folder

_PATIENCE_SECONDS: Final = 30.0


class PrivateNotes:
    """One JSON object in the configuration folder. It maps the absolute paths of archives to notes.

    Args:
        name: the name of the file.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self) -> dict[str, Any]:
        """Return all notes by place.

        Raises:
            UsageError: the file cannot be read, or does not hold an object.
        """
        path = config_folder() / self._name
        try:
            document = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(
                message("{path} cannot be read ({error}); repair or remove it.", path=path, error=error)
            ) from error
        if not isinstance(document, dict):
            raise UsageError(message("{path} must hold one JSON object; repair or remove it.", path=path))
        return document

    def write(self, place: str, note: Any) -> None:
        """Add or replace the note of a place; runs of several archives that end at the same time wait for one another.

        Raises:
            UsageError: the file cannot be read or written.
            ArchiveLocked: another run has been writing it for half a minute.
        """
        path = config_folder() / self._name
        with ArchiveLock(path.with_name(f".{self._name}.lock")) as lock:
            lock.acquire(SystemClock().now(), _PATIENCE_SECONDS)
            text = json.dumps({**self.read(), place: note}, ensure_ascii=False, indent=2, sort_keys=True)
            with atomic.translated(path):
                atomic.write_file(path, f"{text}\n".encode())


def place_of(root: Path) -> str:
    """Return the name under which the notes know an archive: its absolute path, with links resolved."""
    return str(root.resolve())
