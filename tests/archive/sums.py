"""What ``sha256sum --check --strict`` says, without starting it; :mod:`tests.archive.test_sums` compares the two."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_ROW = re.compile(r"([0-9a-f]{64})  (.+)")


def sums_agree(folder: Path) -> bool:
    """Return whether every row of the folder's ``SHA256SUMS`` is valid, and states the hash of its file."""
    return bool(checked_names(folder))


def checked_names(folder: Path) -> list[str]:
    """Return the names in the folder's ``SHA256SUMS``, or nothing if one row does not agree."""
    place = Path(os.fspath(folder))  # an inner path leads to no file above its folder
    names = []
    try:
        for row in (place / "SHA256SUMS").read_text("utf-8").splitlines():
            if row.startswith("#"):
                continue
            found = _ROW.fullmatch(row)
            if found is None or hashlib.sha256((place / found[2]).read_bytes()).hexdigest() != found[1]:
                return []
            names.append(found[2])
    except OSError:
        return []
    return names
