"""The page about second copies: a list with the state of each, and the form that makes or checks one."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.reader import is_archive
from exporter.check.mounts import mounted
from exporter.cli.output import size_text
from exporter.copies.memory import KnownCopy, known_copies
from exporter.copies.store import is_address
from exporter.errors import BlogExporterError, UsageError
from exporter.library.export import check_apart
from exporter.message import message
from exporter.settings import resolve
from exporter.window.actions import about_blog, complaints, folder, line, start
from exporter.window.pages import Redirect
from exporter.window.progress import job_values
from exporter.window.uploads import safe_name

if TYPE_CHECKING:
    from exporter.window.jobs import Job
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

_ABOUT: Final = "copy"
_DISKS: Final = ("/media/", "/run/media/", "/mnt/")
_BUCKET: Final = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,62}(/[^\s?#]*)?")
_RECIPIENT: Final = re.compile(r"age1[02-9ac-hj-np-z]{58}")
"""An age recipient: 32 bytes in Bech32 (age-encryption.org/v1)."""


def copies(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request for ``blog/KEY/copies``: show the copies and the form, make or check one."""
    wrong: list[str] = []
    if asked.method == "POST":
        with complaints(window, wrong):
            start(window, archive, _ABOUT, _words(asked, archive))
            return Redirect(f"blog/{asked.parts[1]}/copies")
    about = about_blog(asked, archive)
    reader = Archive.open(archive)
    head = len(reader.versions())
    return window.page(
        "copies.html",
        status=400 if wrong else 200,
        **about,
        **job_values(window, window.jobs.newest(str(archive), _ABOUT)),
        known=[_described(window, archive, place, copy, head) for place, copy in known_copies(archive).items()],
        disks=list(_disks(archive)),
        name=safe_name(about["blog_id"]),
        encrypts=bool(resolve({}, config=window.config).encrypt_to),
        given=asked.text,
        wrong=wrong,
    )


def _words(asked: Asked, archive: Path) -> list[str]:
    """Return the command that makes or checks a copy.

    Raises:
        UsageError: an answer is missing or wrong.
    """
    place = _place(asked, archive)
    if asked.text("task") == "verify":
        if place not in known_copies(archive):
            raise UsageError(message("There is no such copy."))
        return ["verify", place]
    readers = line(asked, "readers").replace(",", " ").split()
    if not all(map(_RECIPIENT.fullmatch, readers)):
        raise UsageError(
            message("A recipient of age begins with age1 and has 62 characters. Correct it, or leave it out.")
        )
    return ["sync", str(archive), place, *(word for each in readers for word in ("--encrypt-to", each))]


def _place(asked: Asked, archive: Path) -> str:
    """Return the folder or address in a form.

    Raises:
        UsageError: it is neither, or a folder inside the archive or around it.
    """
    text = line(asked, "place") or line(asked, "other")
    if not text:
        raise UsageError(message("Choose a disk, or name a folder or an address such as s3://bucket/blogs."))
    if is_address(text):
        if _BUCKET.fullmatch(text) is None:
            raise UsageError(message("{text} is not an address such as s3://bucket/blogs.", text=text))
        return text
    path = folder(text)
    check_apart(path, archive)
    if path.exists() and not path.is_dir():
        raise UsageError("{path} is a file; name a folder.", path=path)
    if path.is_dir() and any(path.iterdir()) and not _is_copy(path):
        raise UsageError("{path} holds other files. Name a new folder in it.", path=path)
    return str(path)


def _is_copy(path: Path) -> bool:
    return is_archive(Layout(path)) or (path / "encrypted-copy.json").is_file()


def _described(window: Window, archive: Path, place: str, copy: KnownCopy, head: int) -> dict[str, Any]:
    """Return the facts about a copy for the page."""
    job = next(_jobs_about(window, archive, place), None)
    state = None if job is None else job.state()
    return {
        "place": place,
        "behind": max(0, head - copy.head),
        "damaged": len(copy.damaged),
        "here": is_address(place) or Path(place).is_dir(),
        "when": "" if job is None else f"{datetime.fromisoformat(job.started).astimezone():%Y-%m-%d %H:%M}",
        "checked": job is not None and job.words[0] == "verify",
        "well": state is not None and state.exit_code == 0,
        "failed": state is not None and not state.running and state.exit_code != 0,
    }


def _jobs_about(window: Window, archive: Path, place: str) -> Iterator[Job]:
    for job in window.jobs.all():
        if job.place == str(archive) and job.about == _ABOUT and place in job.words:
            yield job


def _disks(archive: Path) -> Iterator[dict[str, str]]:
    """Yield the disks where a copy could be: mounted by the system for this user, and not the archive's own."""
    own = archive.stat().st_dev
    for point in _points():
        with suppress(OSError, BlogExporterError):
            if point.stat().st_dev == own or not os.access(point, os.W_OK):
                continue
            yield {"path": str(point), "free": size_text(shutil.disk_usage(point).free)}


def _points() -> Iterator[Path]:
    """Yield the folders at which disks are mounted."""
    if sys.platform == "win32":
        yield from (Path(f"{letter}:\\") for letter in "DEFGHIJKLMNOPQRSTUVWXYZ" if Path(f"{letter}:\\").is_dir())
        return
    with suppress(OSError):
        yield from sorted(each for each in Path("/Volumes").iterdir() if each.is_dir() and not each.is_symlink())
    yield from (mount.point for mount in mounted() if str(mount.point).startswith(_DISKS))
