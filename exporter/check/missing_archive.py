"""Why a folder has no archive: its disk is gone, the archive was moved, or it is another folder."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from exporter.archive.layout import Layout
from exporter.archive.reader import is_archive
from exporter.archive.settings_file import identity_of, noted_archives, place_of
from exporter.check.facts import CheckFinding
from exporter.check.mounts import removable_disk_of, removable_disks, unmounted_above
from exporter.errors import BlogExporterError, NoArchive
from exporter.message import listed, message, suggested

_FOLDERS_SEARCHED: Final = 500
_FOUND_NAMED: Final = 3


def missing_archive(root: Path) -> CheckFinding:
    """Return the finding about a folder without an archive. The search reads a few hundred folders at most."""
    place = Path(os.path.abspath(root))  # noqa: PTH100 - a link to a missing disk has no target
    identity = None
    with contextlib.suppress(BlogExporterError):
        identity = next((each.identity for each in noted_archives() if str(each.place) == place_of(root)), None)
    gone = None if _has_content(place) else _disk_finding(place)
    if identity:
        moved = _with_identity(place, identity)
        if moved is not None and gone is not None and not any(map(moved.is_relative_to, removable_disks())):
            # The newest state may be on the missing disk: this one may be a copy that sync made.
            also = message("A copy of the archive, which may be older, is in {found}.", found=moved)
            return replace(gone, said=message("{said} {also}", said=gone.said, also=also))
        if moved is not None:
            return _finding(
                "moved",
                message("{path} no longer has its archive: it is in {found} now.", path=place, found=moved),
                message("Name this folder from now on:"),
                suggested("doctor", moved),
            )
    if gone is not None:
        return gone
    if identity is not None:
        return _finding(
            "missing",
            message("The archive in {path} is missing, though an earlier backup wrote it there.", path=place),
            message(
                "Bring the folder back from where it was moved, or from a copy. Do not begin a new archive before: it "
                "would lack everything that the blog has lost since."
            ),
        )
    inside = sorted(_archives_in(place))
    if inside:
        return _finding(
            "not_an_archive",
            message(
                "{path} is not an archive, but archives are in it: {names}.",
                path=place,
                names=listed(each.name for each in inside[:_FOUND_NAMED]),
            ),
            message("Name one of them:"),
            suggested("doctor", inside[0]),
        )
    said = (
        message("{path} is not an archive: it has no archive.json.", path=place)
        if place.exists()
        else message("The folder {path} does not exist.", path=place)
    )
    return _finding("not_an_archive", said, message("Give the folder that `blog-exporter backup` wrote."))


def _finding(name: str, said: str, advice: str, command: str = "") -> CheckFinding:
    return CheckFinding(name, said, advice, NoArchive.exit_code, command)


def _disk_finding(place: Path) -> CheckFinding | None:
    point = unmounted_above(place)
    if point is not None:
        return _finding(
            "disk_gone",
            message("The disk for {path} is not mounted at {point}.", path=place, point=point),
            message("Connect the disk, or turn on the machine that has it. Then mount it:"),
            shlex.join(["sudo", "mount", str(point)]),
        )
    disk = removable_disk_of(place)
    if disk is None:
        return None
    return _finding(
        "disk_gone",
        message("The disk for {path} is not connected: {disk} is missing or empty.", path=place, disk=disk),
        message("Connect it. Then look again:"),
        suggested("doctor", place),
    )


def _has_content(place: Path) -> bool:
    try:
        with os.scandir(place) as names:
            return next(names, None) is not None
    except OSError:
        return False


def _with_identity(place: Path, identity: str) -> Path | None:
    """Return the folder that has the archive now; ``None`` if it is in none of the likely ones."""
    for number, each in enumerate(_likely_places(place)):
        if number >= _FOLDERS_SEARCHED:
            break
        with contextlib.suppress(OSError):
            if each != place and identity_of(each) == identity:
                return each
    return None


def _likely_places(place: Path) -> Iterator[Path]:
    """Yield other places of this user's archives, folders near the missing one, and the same path on other disks."""
    with contextlib.suppress(BlogExporterError):
        yield from (each.place for each in noted_archives())
    for disk in removable_disks():
        yield from (disk.joinpath(*place.parts[at:]) for at in range(1, len(place.parts)))
    near = next((each for each in place.parents if os.path.isdir(each)), place)  # noqa: PTH112 - it raises no error
    for folder in dict.fromkeys((near, Path.cwd(), Path.home(), *removable_disks())):
        yield from _folders_in(folder)


def _folders_in(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as names:
            for each in names:
                with contextlib.suppress(OSError):
                    if each.is_dir(follow_symlinks=False):
                        yield Path(each.path)
    except OSError:
        return


def _archives_in(folder: Path) -> list[Path]:
    found = []
    for number, each in enumerate(_folders_in(folder)):
        if number >= _FOLDERS_SEARCHED:
            break
        with contextlib.suppress(OSError):
            if is_archive(Layout(each)):
                found.append(each)
    return found
