"""What this machine has for a backup: room on the disk, and what can be installed beside the program."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

from exporter.message import message


def free_bytes(place: Path) -> int | None:
    """Return the bytes free where a folder is or would be made; ``None`` where the system does not tell."""
    folder = place.absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def is_installed(library: str) -> bool:
    """Tell whether a library can be imported."""
    return importlib.util.find_spec(library) is not None


def missing_parts(
    installed: Callable[[str], bool] = is_installed, program: Callable[[str], str | None] = shutil.which
) -> dict[str, str]:
    """Return what is not there of what a backup gets along without, with what it is good for.

    Args:
        installed: whether a library can be imported.
        program: where a program is, ``None`` where it is not there.
    """
    found: dict[str, str] = {}
    if not installed("PIL"):
        found["Pillow"] = message("small pictures for the site's lists: pip install 'blog-exporter[site]'")
    if not installed("arro3.core" if installed("arro3") else "arro3"):
        found["arro3"] = message("the export to Parquet: pip install 'blog-exporter[parquet]'")
    if not installed("keyring"):
        found["keyring"] = message("the access token in the system's keyring: pip install 'blog-exporter[keyring]'")
    if program("jq") is None:
        found["jq"] = message("the recipes of README.txt that read an archive without this program")
    return found
