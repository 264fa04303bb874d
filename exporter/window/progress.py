"""A job's page: its progress, its sentences, its end, and the buttons to pause and resume it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.layout import Layout
from exporter.archive.reader import is_archive
from exporter.cli.main import COMMANDS
from exporter.message import PROGRAM, message
from exporter.window import archives
from exporter.window.pages import Redirect, progress_document

if TYPE_CHECKING:
    from exporter.window.jobs import Job
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

OF_THE_BLOG: Final = ("backup", "demo", "init")
"""Kinds of jobs that the archive's page shows, as soon as the archive exists."""
_OWN_PAGES: Final = {"look": "found", "sign-in": "sign-in"}
"""Kinds of jobs that a page without an archive shows."""
_PAGES_OF_A_BLOG: Final = {
    "compare": "compare", "copy": "copies", "export": "export", "move": "move",
    "schedule": "schedule",
}  # fmt: skip
"""Kinds of jobs that a page below the archive's page shows."""
_HEADINGS: Final = {
    "backup": message("Save the blog"),
    "demo": message("Save the sample blog"),
    "init": message("Save the blog for the first time"),
    "look": message("Look at the blog"),
    "sign-in": message("Sign in"),
}


def job(window: Window, asked: Asked) -> Answer:
    """Show, pause or repeat a job: ``job/ID``, ``job/ID/pause``, ``job/ID/again``."""
    found = window.jobs.get(asked.parts[1]) if len(asked.parts) > 1 else None
    if found is None:
        return window.failed(message("There is no such page."), 404)
    task = asked.parts[2] if len(asked.parts) > 2 else ""
    if asked.method == "POST" and task == "pause":
        found.stop()
        return Redirect(f"job/{found.id}")
    if asked.method == "POST" and task == "again":
        if not found.state().running:
            found = window.jobs.start(found.words, about=found.about, place=found.place, language=window.language)
        return Redirect(f"job/{found.id}")
    kind = found.about.partition(" ")[0]
    if kind in _OWN_PAGES:
        return Redirect(f"{_OWN_PAGES[kind]}/{found.id}")
    place = Path(found.place)
    key = archives.key_of(place) if found.place and is_archive(Layout(place)) else ""
    if key and kind in OF_THE_BLOG:
        return Redirect(f"blog/{key}")
    if key and kind in _PAGES_OF_A_BLOG:
        part = found.about.partition(" ")[2]
        return Redirect(f"blog/{key}/{_PAGES_OF_A_BLOG[kind]}" + (f"/{part}/{found.id}" if part else ""))
    return window.page("job.html", **job_values(window, found), heading=heading_of(found), key=key)


def job_values(window: Window, job: Job | None) -> dict[str, Any]:
    """Return a job's values for a template: ``job``, ``state``, ``progress`` and ``command``."""
    if job is None:
        return {"job": None, "state": None, "progress": None, "command": ""}
    state = job.state()
    document = progress_document(state, window.language)
    return {"job": job, "state": state, "progress": document, "command": command_of(job)}


def heading_of(job: Job) -> str:
    """Return a heading for a job."""
    names = (job.about.partition(" ")[0], *job.words[:1])
    return next((each[name] for name in names for each in (_HEADINGS, COMMANDS) if name in each), job.about)


def command_of(job: Job) -> str:
    """Return the command line that does the same in a terminal."""
    return shlex.join((PROGRAM, *job.words))
