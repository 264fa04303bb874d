"""The export pages: the possible places, the questions, a trial with its report, and the next steps.

``export`` shows the places, ``export/PLACE`` the questions, and ``export/PLACE/JOB`` a trial or the export itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from exporter.cli.destinations import DESTINATIONS, Destination
from exporter.cli.export_plan import (
    COMMENT_WAYS,
    command_line,
    home_of,
    next_steps,
    offered_fields,
    proposed_media,
    proposed_new_url,
    redirects_job,
)
from exporter.cli.output import counted, size_text
from exporter.export.folder import report_path
from exporter.export.formats import NAMED
from exporter.export.interface import Paper
from exporter.export.media import FOLDER
from exporter.export.reasons import kind_name
from exporter.export.report import HEADINGS, KINDS
from exporter.message import Message, message
from exporter.translation import translated
from exporter.window.actions import about_blog, complaints, document_of, start, ticked
from exporter.window.export_form import (
    BlogFacts,
    asked_ways,
    destination,
    facts_of,
    parsed,
    proposed_folder,
    read_answers,
    words_of,
)
from exporter.window.pages import Redirect
from exporter.window.progress import job_values

if TYPE_CHECKING:
    from exporter.cli.export_options import ExportJob
    from exporter.window.jobs import Job
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

_REDIRECTS: Final = "redirects"
_TRIAL: Final = "--dry-run"
_TABLE_LINE: Final = re.compile(r" .*|\S.*?(\s+[0-9,]+){4}")
"""A line of numbers in a report, which the page shows as a table."""
_GROUPS: Final[tuple[tuple[Message, Callable[[Destination], bool]], ...]] = (
    (message("A blog service or WordPress"), lambda place: place.fetches),
    (message("A website of your own"), lambda place: place.home and not place.fetches),
    (message("A book or a page to read"), lambda place: NAMED[place.form].book or place.form == "html"),
    (message("Notes, tables and data"), lambda _place: True),
)


def export(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request below ``blog/KEY/export``."""
    rest = asked.parts[3:]
    if not rest:
        return window.page("export.html", **about_blog(asked, archive), groups=list(_grouped(window)))
    place = destination(rest[0])
    if len(rest) == 1:
        return _questions(window, asked, archive, place)
    job = window.jobs.get(rest[1])
    if len(rest) > 2 or job is None or job.place != str(archive) or job.about != _about(place):
        return window.failed(message("There is no such page."), 404)
    if asked.method == "POST":
        return _write(window, asked, archive, place, job)
    return _result(window, asked, archive, place, job)


def _grouped(window: Window) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the places under headings, each once."""
    left = [place for place in DESTINATIONS if place.form in NAMED]
    for heading, belongs in _GROUPS:
        here = [place for place in left if belongs(place)]
        left = [place for place in left if place not in here]
        cards = [
            {
                "name": place.name,
                "label": translated(place.label, window.language),
                "help": ""
                if place.home or place.form == "markdown"
                else translated(NAMED[place.form].help, window.language),
            }
            for place in here
        ]
        yield translated(heading, window.language), cards


def _questions(window: Window, asked: Asked, archive: Path, place: Destination) -> Answer:
    """Show the form, or read it and begin a trial."""
    facts, wrong = facts_of(window, archive), list[str]()
    if asked.method == "POST":
        with complaints(window, wrong):
            answers = read_answers(asked, place, facts, archive)
            job = start(window, archive, _about(place), [*answers.words(), _TRIAL])
            return _shown_at(asked, place, job, answers.home)
    return _form(window, asked, archive, place, facts, wrong)


def _form(
    window: Window, asked: Asked, archive: Path, place: Destination, facts: BlogFacts, wrong: list[str]
) -> Answer:
    form, ways = NAMED[place.form], asked_ways(place)
    return window.page(
        "export_form.html",
        status=400 if wrong else 200,
        **about_blog(asked, archive),
        place=place,
        label=translated(place.label, window.language),
        form=form,
        facts=facts,
        fields=offered_fields(facts.service),
        new_url=proposed_new_url(place, "https://…/"),
        media=proposed_media(place, "https://…/"),
        ways=[(str(way), translated(COMMENT_WAYS[way], window.language)) for way in ways],
        papers=[str(each) for each in Paper],
        folder=str(proposed_folder(facts.blog_id, place)),
        given=asked.text,
        chosen=frozenset(value for values in asked.form.values() for value in values),
        ticked=lambda name: ticked(asked, name),
        wrong=wrong,
    )


def _shown_at(asked: Asked, place: Destination, job: Job, home: str, **more: str) -> Redirect:
    query = urlencode({name: value for name, value in {"home": home, **more}.items() if value})
    return Redirect(f"blog/{asked.parts[1]}/export/{place.name}/{job.id}" + (f"?{query}" if query else ""))


def _about(place: Destination) -> str:
    """Return the kind of job that exports for a place."""
    return f"export {place.name}"


def _home(asked: Asked) -> str:
    try:
        return home_of(asked.query.get("home", ""))
    except ValueError:
        return ""


def _write(window: Window, asked: Asked, archive: Path, place: Destination, job: Job) -> Answer:
    """Begin the export that a trial showed, and the redirects that belong to it."""
    words = [word for word in job.words if word != _TRIAL]
    if job.state().exit_code != 0 or _TRIAL not in job.words:
        return window.failed(message("Only an export that was checked can be written. Open its questions again."))
    home, made = _home(asked), parsed(tuple(words))
    redirects = redirects_job(place, made)
    written = start(window, archive, _about(place), words)
    beside = None if redirects is None else start(window, archive, _REDIRECTS, words_of(redirects))
    return _shown_at(asked, place, written, home, redirects="" if beside is None else beside.id)


def _result(window: Window, asked: Asked, archive: Path, place: Destination, job: Job) -> Answer:
    """Show a trial or an export: its progress, then its report; after the export also the next steps."""
    values, trial = job_values(window, job), _TRIAL in job.words
    exports = [_side(window, each) for each in _exports(job)] if values["state"].exit_code == 0 else []
    made = parsed(job.words)
    redirects = None if trial else redirects_job(place, made)
    beside = window.jobs.get(asked.query.get("redirects", ""))
    if beside is not None and (beside.about, beside.place) != (_REDIRECTS, str(archive)):
        beside = None
    steps = [] if trial or not exports else list(_steps(window, place, made, exports, redirects, _home(asked)))
    lines = [each for each in values["state"].lines if not _TABLE_LINE.fullmatch(each.text)]
    commands = [command_line(made), *([] if redirects is None else [command_line(redirects)])]
    return window.page(
        "export_result.html",
        **about_blog(asked, archive),
        **values,
        place=place,
        label=translated(place.label, window.language),
        trial=trial,
        drafts=made.given["all_as_draft"],
        exports=exports,
        headings=[translated(each, window.language) for each in HEADINGS],
        lines=lines,
        steps=steps,
        beside=job_values(window, beside),
        home=_home(asked),
        commands=commands,
    )


def _exports(job: Job) -> list[dict[str, Any]]:
    found = document_of(job).get("exports")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _side(window: Window, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about an export's folder for the page."""
    left = {kind: sum(row["count"] for row in document["left_out"] if row["kind"] == kind) for kind in KINDS}
    rows = [
        {
            "name": translated(kind_name(kind, 2), window.language),
            "numbers": [*(f"{document[part][kind]:,}" for part in ("in", "out", "referred")), f"{left[kind]:,}"],
        }
        for kind in KINDS
    ]
    folder = Path(document["folder"])
    return {
        "folder": folder,
        "files": translated(counted(document["file_count"], "file"), window.language),
        "size": size_text(document["bytes"]),
        "rows": rows,
        "empty": document["in"]["entries"] and not document["out"]["entries"],
        "private": document["side"] not in ("public", "drafts"),
        "report": report_path(folder),
        "pictures": [each["path"] for each in document["files"] if each["path"].startswith(f"{FOLDER}/")],
    }


def _steps(
    window: Window,
    place: Destination,
    made: ExportJob,
    exports: list[dict[str, Any]],
    redirects: ExportJob | None,
    home: str,
) -> Iterator[str]:
    first = exports[0]
    if NAMED[place.form].whole or not first["private"]:
        for step in next_steps(place, made, first["folder"], first["pictures"], redirects, home):
            yield translated(step, window.language)
