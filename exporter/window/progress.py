"""The page of a job: how far it is, what it says, how it ended, and the buttons to pause and resume it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from exporter.message import PROGRAM, message
from exporter.window.pages import Redirect, progress_document

if TYPE_CHECKING:
    from exporter.window.jobs import Job
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window


def job(window: Window, asked: Asked) -> Answer:
    """Return the page of a job, or pause or repeat it: ``job/ID``, ``job/ID/pause``, ``job/ID/again``."""
    found = window.jobs.get(asked.parts[1]) if len(asked.parts) > 1 else None
    if found is None:
        return window.failed(message("There is no such page."), 404)
    deed = asked.parts[2] if len(asked.parts) > 2 else ""
    if asked.method == "POST" and deed == "pause":
        found.stop()
        return Redirect(f"job/{found.id}")
    if asked.method == "POST" and deed == "again":
        if not found.state().running:
            found = window.jobs.start(found.words, about=found.about, place=found.place, language=window.language)
        return Redirect(f"job/{found.id}")
    state = found.state()
    document = progress_document(state, window.language)
    return window.page("job.html", job=found, state=state, progress=document, command=command_of(found))


def command_of(job: Job) -> str:
    """Return the command line that does the same in a terminal."""
    return shlex.join((PROGRAM, *job.words))
