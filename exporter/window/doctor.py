"""The page of ``doctor``: what is wrong with an archive and around it, and what mends it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.window.deeds import newest, shown, start
from exporter.window.pages import Redirect

if TYPE_CHECKING:
    from exporter.window.jobs import Job
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

_ABOUT: Final = "doctor"


def doctor(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request for ``blog/KEY/doctor``: show the newest findings, or look again."""
    if asked.method == "POST":
        start(window, archive, _ABOUT, ["doctor", str(archive)])
        return Redirect(f"blog/{asked.parts[1]}/doctor")
    job = newest(window, archive, _ABOUT)
    return window.page(
        "doctor.html",
        key=asked.parts[1],
        blog_id=archive.name,
        **shown(window, job),
        findings=[] if job is None else _findings(job),
        answered=job is not None and "findings" in job.answer(),
    )


def _findings(job: Job) -> list[dict[str, Any]]:
    """Return the findings of a diagnosis, the worst first: ``said``, ``advice``, ``command`` and ``exit_code``."""
    found = job.answer().get("findings")
    named = ("said", "advice", "command", "exit_code")
    return [{name: each.get(name) for name in named} for each in found or [] if isinstance(each, dict)]
