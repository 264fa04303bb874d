"""The page of nightly backups: their next start, their last results, and the form that plans or ends them."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.archive import Archive
from exporter.check.archive_state import OUTCOMES
from exporter.errors import UsageError
from exporter.message import message
from exporter.schedule import schedulers
from exporter.schedule.nightly import nightly_of
from exporter.translation import translated
from exporter.window.actions import TIME, about_blog, complaints, line, start
from exporter.window.pages import Redirect
from exporter.window.progress import job_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

_ABOUT: Final = "schedule"
_RUNS_SHOWN: Final = 7


def nightly(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request for ``blog/KEY/schedule``: show the plan, install one, or remove it."""
    wrong: list[str] = []
    if asked.method == "POST":
        with complaints(window, wrong):
            start(window, archive, _ABOUT, _words(asked, archive))
            return Redirect(f"blog/{asked.parts[1]}/schedule")
    # Before the plan: a job that ends in between would leave the plan as it was, on a page that is not loaded again.
    job = job_values(window, window.jobs.newest(str(archive), _ABOUT))
    plan = nightly_of(archive)
    known = plan.known
    return window.page(
        "nightly.html",
        status=400 if wrong and asked.method == "POST" else 200,
        **about_blog(asked, archive),
        **job,
        known=known,
        possible=known is not None or bool(plan.command),
        condition="" if known is None else translated(schedulers.condition(known), window.language),
        said=translated(plan.said, window.language),
        trouble=translated(plan.trouble, window.language),
        advice=translated(plan.next_step, window.language),
        runs=[_run(window, each) for each in islice(Archive.open(archive).newest_backups(), _RUNS_SHOWN)],
        time=asked.text("time"),
        wrong=wrong,
    )


def _words(asked: Asked, archive: Path) -> list[str]:
    """Return the command that a form asks for.

    Raises:
        UsageError: the time is invalid.
    """
    if asked.text("task") == "remove":
        return ["schedule", "remove", str(archive)]
    time = line(asked, "time")
    if time and TIME.fullmatch(time) is None:
        raise UsageError(message("Give a time of day such as 03:17, or leave it empty."))
    return ["schedule", "install", str(archive), *(("--at", time) if time else ())]


def _run(window: Window, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about an ended backup for the page."""
    try:
        ended = f"{datetime.fromisoformat(str(run.get('finished_at'))).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        ended = ""
    outcome = str(run.get("outcome"))
    return {
        "ended": ended,
        "outcome": translated(OUTCOMES.get(outcome, outcome), window.language),
        "well": outcome in ("saved", "unchanged"),
    }
