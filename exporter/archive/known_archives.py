"""The archives that this user's backups wrote, so that a missing one is an error and never begun again unnoticed.

An unplugged disk leaves an empty mount point, or no folder. A backup there would succeed and hide that the archive is
away.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from exporter.archive.layout import Layout
from exporter.archive.private_notes import PrivateNotes, place_of
from exporter.archive.reader import is_archive
from exporter.errors import BlogExporterError, NoArchive
from exporter.message import message

_NOTES: Final = PrivateNotes("known-archives.json")


def note_archive(root: Path, label: str | None = None) -> None:
    """Note that an archive exists at ``root``; ``label`` names its table in the settings file, if it has one.

    A note that cannot be written is left out: the backup itself is done, and the next one tries again.
    """
    with suppress(BlogExporterError):
        place, known = place_of(root), _NOTES.read()
        note = {"label": label}
        if known.get(place) != note:
            _NOTES.write(place, note)


def require_archive_if_known(root: Path, label: str | None = None) -> None:
    """Refuse to begin a new archive if one was known at this place, or for the same table of the settings file.

    Raises:
        NoArchive: a known archive is missing.
        UsageError: the notes cannot be read.
    """
    if is_archive(Layout(root)):
        return
    known = _NOTES.read()
    place = place_of(root)
    if place not in known:
        place = next((each for each, note in known.items() if label is not None and _label(note) == label), "")
    if not place:
        return
    if place == place_of(root):
        raise NoArchive(
            message(
                "The archive in {path} is missing, though an earlier backup wrote it there. Connect its disk, or bring "
                "the folder back. To begin a new archive there, add --new.",
                path=root,
            )
        )
    raise NoArchive(
        message(
            "The archive of {name} was in {before}, and {path} has none. Move the folder, or correct the setting "
            "archive. To begin a new archive in {path}, add --new.",
            name=label,
            before=place,
            path=root,
        )
    )


def require_fleet_if_known(root: Path, *, exists: bool) -> None:
    """Refuse to begin a new fleet in a folder in which an earlier run kept one.

    Raises:
        NoArchive: a fleet was known there, and does not exist.
        UsageError: the notes cannot be read.
    """
    if not exists and place_of(root) in _NOTES.read():
        raise NoArchive(
            message(
                "The fleet in {path} is missing, though an earlier run saved it there. Connect its disk, or bring the "
                "folder back. To begin a new fleet there, add --new.",
                path=root,
            )
        )


def _label(note: Any) -> Any:
    return note.get("label") if isinstance(note, dict) else None
