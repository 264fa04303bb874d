"""A working keyring for separate processes, in a file named by the variable ``CHEST``."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend


class FileChest(KeyringBackend):
    """Stores passwords unencrypted, for tests only."""

    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        found = self._read().get(f"{service} {username}")
        return None if found is None else str(found)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), f"{service} {username}": password})

    def delete_password(self, service: str, username: str) -> None:
        found = self._read()
        del found[f"{service} {username}"]
        self._write(found)

    def _read(self) -> dict[str, str]:
        path = Path(os.environ["CHEST"])
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _write(self, kept: dict[str, str]) -> None:
        Path(os.environ["CHEST"]).write_text(json.dumps(kept))
