"""The archives that the window knows, and their health in a person's words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.reader import is_archive
from exporter.archive.settings_file import kept_title, known_archives, place_of
from exporter.cli.output import ago_text, counted
from exporter.cli.summary import saved_files
from exporter.errors import BlogExporterError, NoArchive
from exporter.frozen import frozen
from exporter.library.status import Status, StatusProblem, is_backup, status
from exporter.message import listed, message, said
from exporter.schedule.nightly import own_nightly
from exporter.settings import read_config

if TYPE_CHECKING:
    from exporter.window.window import Window

_KEY_DIGITS: Final = 16


@frozen
class Health:
    """The state of an archive.

    Attributes:
        tone: ``well``, ``busy``, ``warn`` or ``bad``.
        text: one sentence about it.
        detail: numbers, or the reason; may be empty.
        nightly: one sentence about its nightly backup; empty if it cannot have one.
    """

    tone: str
    text: str
    detail: str = ""
    nightly: str = ""


@frozen
class KnownArchive:
    """An archive that the window knows.

    Attributes:
        key: its name in addresses.
        path: its folder, absolute and without links.
        name: the blog's title, or else its ID or the folder's name.
        blog_id: the blog; empty if the archive cannot be read.
        health: its state.
    """

    key: str
    path: Path
    name: str
    blog_id: str
    health: Health


def key_of(path: Path) -> str:
    """Return the name of an archive in addresses."""
    return hashlib.sha256(place_of(path).encode("utf-8", "surrogateescape")).hexdigest()[:_KEY_DIGITS]


def blogs_folder() -> Path:
    """Return the folder for new archives and exports: ``~/blogs``."""
    return Path.home() / "blogs"


def known(window: Window) -> list[KnownArchive]:
    """Return the archives noted by backups, in the settings file, in ``~/blogs`` and of jobs, in the order of names."""
    found = [described(path) for path in _places(window)]
    return sorted(found, key=lambda each: (each.name.casefold(), str(each.path)))


def find(window: Window, key: str) -> Path:
    """Return the folder of a known archive.

    Raises:
        NoArchive: no known archive has this key.
    """
    for path in _places(window):
        if key_of(path) == key:
            return path
    raise NoArchive(message("The window does not know this archive any more. Open it from the first page."))


def described(path: Path) -> KnownArchive:
    """Describe the archive in a folder. It may be missing or damaged."""
    blog_id = ""
    with suppress(BlogExporterError, OSError):
        blog_id = Archive.open(path).info.blog_id
    return KnownArchive(key_of(path), path, kept_title(path) or blog_id or path.name, blog_id, health(path))


def health(path: Path, max_age: timedelta | None = None) -> Health:
    """Return the state of the archive in a folder.

    Args:
        path: the folder.
        max_age: the greatest age of the last success; ``None`` for no limit.
    """
    if not is_archive(Layout(path)):
        writer = ArchiveLock(Layout(path).lock).holder()
        if writer:
            return Health("busy", message("The first backup is running.") if is_backup(writer) else _WRITING)
        return Health("bad", message("The archive is not there. Connect its disk, or bring the folder back."))
    try:
        archive = Archive.open(path)
        found = status(archive, max_age=max_age)
    except (BlogExporterError, OSError) as error:
        return Health("bad", message("The archive cannot be read."), said(error))
    return replace(_health_of(found), nightly=_nightly(path, archive.info.service))


def _health_of(found: Status) -> Health:
    document = found.document
    records = document["records"]
    numbers = [
        counted(int(records.get(kind, 0)), noun) for kind, noun in (("entries", "entry"), ("comments", "comment"))
    ]
    detail = listed([*numbers, counted(saved_files(document["completeness"])[0], "picture or file")]) if records else ""
    since = message("no backup has ended yet") if found.age is None else ago_text(max(found.age, timedelta()))
    if document["writer"]:
        text = message("A backup is running.") if is_backup(document["writer"]) else _WRITING
        return Health("busy", text, detail)
    if found.problem is None:
        if document["completeness"].get("provable") is False:
            text = message("Everything that was found is saved; last backup: {since}.", since=since)
            return Health("well", text, detail)
        return Health("well", message("Everything is saved; last backup: {since}.", since=since), detail)
    tone, text = _HEADS[found.problem]
    return Health(tone, text, detail)


def _nightly(path: Path, service: str | None) -> str:
    found = own_nightly(path, service)
    return "" if found is None else found.said


_WRITING: Final = message("The program is writing it now.")
_HEADS: Final = {
    StatusProblem.LAST_RUN_FAILED: ("bad", message("The last backup failed.")),
    StatusProblem.LAST_RUN_DIED: ("warn", message("The last backup was stopped. It can go on where it was.")),
    StatusProblem.IN_THE_FUTURE: (
        "warn",
        message("The last backup is dated in the future. Set this computer's clock."),
    ),
    StatusProblem.DAMAGED: ("bad", message("Some of its files are damaged.")),
    StatusProblem.STALE: ("warn", message("There has been no backup for some time.")),
    StatusProblem.FIRST_RUN: ("busy", message("The first backup is running.")),
    StatusProblem.INCOMPLETE: ("warn", message("Saved, but something is missing.")),
    StatusProblem.VIEWS_MISSING: ("warn", message("Saved, but its pages are incomplete. The next backup makes them.")),
}


def _places(window: Window) -> Iterator[Path]:
    """Yield the folder of each known archive once."""
    noted: list[Path] = []
    with suppress(BlogExporterError):
        noted += known_archives()
    with suppress(BlogExporterError):
        noted += [table.archive for table in read_config(window.config).blogs.values()]
    with suppress(OSError):
        noted += [each for each in sorted(blogs_folder().iterdir()) if is_archive(Layout(each))]
    noted += [Path(job.place) for job in window.jobs.all() if job.place and is_archive(Layout(Path(job.place)))]
    seen = set()
    for path in noted:
        place = place_of(path)
        if place not in seen and not _is_fleet(path):
            seen.add(place)
            yield Path(place)


def _is_fleet(path: Path) -> bool:
    """Return whether a folder exists and is no single archive, such as a folder of many archives."""
    return path.is_dir() and not is_archive(Layout(path)) and not ArchiveLock(Layout(path).lock).holder()
