"""The pages of one archive: ``blog/KEY`` and the pages below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.archive import Archive
from exporter.check.archive_state import OUTCOMES
from exporter.cli.summary import completeness_lines
from exporter.clock import for_people
from exporter.errors import BlogExporterError
from exporter.library.status import SUCCESSES, status
from exporter.message import message, suggested
from exporter.service.declarations import DECLARATIONS
from exporter.settings import resolve
from exporter.translation import translated
from exporter.window import archives, copies, doctor, export, move, nightly, notifications
from exporter.window.pages import Redirect
from exporter.window.progress import OF_THE_BLOG, command_of, job_values
from exporter.window.uploads import FILE_FIELD

if TYPE_CHECKING:
    from exporter.window.jobs import Job
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

BlogPage = Callable[["Window", "Asked", Path], "Answer"]
"""Answers a request below ``blog/KEY/NAME``; it gets the window, the request, and the folder of the archive."""
_RUNS_SHOWN: Final = 5


def blog(window: Window, asked: Asked) -> Answer:
    """Answer a request below ``blog/KEY`` with the page that its path names."""
    path = archives.find(window, asked.parts[1] if len(asked.parts) > 1 else "")
    page = BLOG_ROUTES.get(asked.parts[2] if len(asked.parts) > 2 else "")
    if page is None:
        return window.failed(message("There is no such page."), 404)
    return page(window, asked, path)


def overview(window: Window, asked: Asked, path: Path) -> Answer:
    """Return an archive's page: its state, its runs, and links to all further pages."""
    # Before the state: a job that ends in between would leave it as it was, on a page that is not loaded again.
    job = _newest_job(window, path)
    return window.page(
        "blog.html",
        blog=archives.described(path),
        **job,
        **_state_of(window, path),
        actions=[(name, *_ACTIONS[name]) for name in _ACTIONS if name in BLOG_ROUTES],
        key=asked.parts[1],
    )


def _newest_job(window: Window, path: Path) -> dict[str, Any]:
    """Return the newest backup that the window started as values for the page, if it runs or did not succeed."""
    place = str(path)
    jobs = (job for job in window.jobs.all() if job.place and archives.key_of(Path(job.place)) == archives.key_of(path))
    found: Job | None = next((job for job in jobs if job.about in OF_THE_BLOG), None)
    values = job_values(window, found)
    if found is not None and not values["state"].running and values["state"].exit_code in (0, 3):
        values = job_values(window, None)
    return {**values, "command": suggested("backup", place) if found is None else command_of(found)}


def _state_of(window: Window, path: Path) -> dict[str, Any]:
    """Return the saved and missing records, the last runs, and whether the blog comes from export files."""
    facts: dict[str, Any] = {"summary": "", "missing": [], "runs": [], "from_file": False, "readable": False}
    with suppress(BlogExporterError, OSError):
        archive = Archive.open(path)
        declared = DECLARATIONS.get(archive.info.service or "")
        facts["from_file"] = declared is not None and declared.reads_files
        zone = resolve({}, config=window.config, service=archive.info.service).timezone
        facts["runs"] = [
            {
                "time": for_people(str(run.get("finished_at")), zone)[:16].replace("T", " "),
                "outcome": OUTCOMES.get(str(run.get("outcome")), ""),
                "well": run.get("outcome") in SUCCESSES,
            }
            for run in islice(archive.newest_backups(), _RUNS_SHOWN)
        ]
        document = status(archive).document
        lines = list(_lines(document, path)) if document["newest"] is not None else []
        facts |= {"summary": lines[0] if lines else "", "missing": lines[1:], "readable": bool(lines)}
    return facts


def _lines(document: Mapping[str, Any], path: Path) -> Iterator[str]:
    """Yield the sentences about saved and missing records; commands in them name the archive."""
    for line in completeness_lines(path, document["completeness"], document["problems"]):
        yield translated(line).strip().removeprefix("- ")


def save(window: Window, asked: Asked, path: Path) -> Answer:
    """Back the blog up again: from its service, or from a newer export file in the form."""
    if asked.method != "POST":
        return Redirect(f"blog/{asked.parts[1]}")
    files = asked.form.get(FILE_FIELD, [])
    words = ["backup", files[0], "--archive", str(path)] if files else ["backup", str(path)]
    window.jobs.start(words, about="backup", place=str(path), language=window.language)
    return Redirect(f"blog/{asked.parts[1]}")


def check_files(window: Window, asked: Asked, path: Path) -> Answer:
    """Verify the archive: ``blog/KEY/verify``."""
    if asked.method != "POST":
        return Redirect(f"blog/{asked.parts[1]}")
    job = window.jobs.start(["verify", str(path)], about="verify", place=str(path), language=window.language)
    return Redirect(f"job/{job.id}")


def read(window: Window, asked: Asked, path: Path) -> Answer:
    """Start the archive's server, and show a page that leads to it.

    The form itself cannot lead there: the window's policy forbids forms that lead to another origin.
    """
    if asked.method == "POST":
        window.readers.open(path)
        return Redirect(f"blog/{asked.parts[1]}/read")
    address = window.readers.address(path)
    if not address:
        return Redirect(f"blog/{asked.parts[1]}")
    return window.page("read.html", address=address, key=asked.parts[1])


BLOG_ROUTES: Final[Mapping[str, BlogPage]] = {
    "": overview,
    "compare": move.compare,
    "copies": copies.copies,
    "doctor": doctor.doctor,
    "export": export.export,
    "move": move.move,
    "notifications": notifications.notifications,
    "read": read,
    "save": save,
    "schedule": nightly.nightly,
    "verify": check_files,
}
_ACTIONS: Final = {
    "export": (message("Export"), message("Files for another service, or a book")),
    "move": (message("Move"), message("Into a WordPress, with a preview")),
    "schedule": (message("Every night"), message("The time of the automatic backup")),
    "copies": (message("Second copy"), message("On another disk, or encrypted in the cloud")),
    "notifications": (message("Notices"), message("Reports about failed backups")),
    "doctor": (message("Something is wrong"), message("Find out what, and what to do")),
}
"""Links on an archive's page: the name and description of each target, by the end of its path."""
