"""``status``: an archive's state, for people and for monitors; one line first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.help import cli_command
from exporter.cli.options import duration_option, opened, readable_archive, with_config
from exporter.cli.output import Output, ago_text, counted
from exporter.cli.summary import (
    completeness_lines,
    countdown_line,
    countdown_of,
    problem_text,
    saved_entries,
    saved_files,
)
from exporter.clock import SystemClock, for_people
from exporter.errors import BlogExporterError, NoArchive, UsageError
from exporter.message import Message, listed, message, restored_from
from exporter.model.kinds import Kind
from exporter.settings import Settings
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.library.status import Status, StatusProblem
    from exporter.schedule.nightly import Nightly

CAPTURE_OUTCOMES = {
    "captured": message("saved"),
    "unchanged": message("nothing had changed"),
    "partial": message("saved, but not everything"),
    "failed": message("failed"),
    "interrupted": message("was interrupted"),
}

_NOUNS: Mapping[str, str] = {
    Kind.ENTRIES: "entry", Kind.ENTRY_LIST: "list item", Kind.COMMENTS: "comment", Kind.FILES: "upload",
    Kind.ASSETS: "address of a picture or file",
}  # fmt: skip


_HEADLINES: Mapping[str, Message] = {
    "LAST_RUN_FAILED": message("FAILED"),
    "LAST_RUN_DIED": message("FAILED"),
    "IN_THE_FUTURE": message("STALE"),
    "DAMAGED": message("DAMAGED"),
    "STALE": message("STALE"),
    "FIRST_RUN": message("FIRST BACKUP UNDER WAY"),
    "INCOMPLETE": message("INCOMPLETE"),
    "VIEWS_MISSING": message("latest/ INCOMPLETE"),
}
"""The headline of each :class:`~exporter.library.status.StatusProblem`."""


@cli_command(
    "status",
    help=message(
        """Show the state of the archive in DIR: one line, then the details.

        Exits with 0 only if the last run succeeded, and with 7 if it failed, was refused or never ended. Exits with
        6 if the last success is older than --max-age, and with 3 if something is not saved. With -q it prints
        nothing after a success."""
    ),
)
@readable_archive("MANIFESTS")
@click.option("--max-age", metavar="AGE", help=message("Exit with 6 if the last success is older, such as 2d."))
@click.option("--prometheus", is_flag=True, help=message("Print metrics for Prometheus."))
@with_config("closing")
def status_command(
    *, out: Output, archive: Path, config: Path | None, closing: str | None, max_age: str | None, prometheus: bool
) -> int:
    """Run ``status``."""
    from exporter.library.status import status

    if prometheus and out.as_json:
        raise UsageError(message("Give --json or --prometheus, not both."))
    _require_begun(archive)
    reader, settings = opened(out, archive, {"closing": closing}, config)
    limit = None if max_age is None else duration_option("--max-age", max_age)
    found = status(reader, max_age=limit)
    remaining = countdown_of(reader, settings, SystemClock().now())
    found.document["closing"] = None if remaining is None else remaining.document()
    nightly = _nightly(archive, reader, settings)
    found.document["nightly"] = None if nightly is None else nightly.document()
    out.document(found.document)
    local = _with_local_times(found.document, settings.timezone)
    prints = out.verbosity >= 0 and not prometheus and not out.as_json
    error = None if found.problem is None else _error(found.problem, local, max_age, names_reason=not prints)
    if prometheus:
        from exporter.notify.prometheus import metrics

        out.raw(metrics(found.document, 0 if error is None else error.exit_code).encode())
    elif out.verbosity >= 0:
        _print(out, local, found, [] if nightly is None else [nightly.line])
        if remaining is not None:
            out.answer(countdown_line(remaining))
    _warn_of_sign_in(out, settings)
    if error is not None:
        raise error
    return 0


def _nightly(path: Path, archive: Archive, settings: Settings) -> Nightly | None:
    """Return the facts about the nightly backup; ``None`` if the archive needs none."""
    from exporter.schedule.nightly import own_nightly

    found = own_nightly(path, archive.info.service)
    if found is None or settings.base_url is not None or _remembers_address(path):
        return found
    # Without a known address no command can schedule it.
    return replace(found, advice="", command="", printing="")


def _remembers_address(path: Path) -> bool:
    """Return whether the archive's own settings name the service of its backups, which reading it does not need."""
    from exporter.archive.settings_file import read_archive_settings

    try:
        return not {"base_url", "profile"}.isdisjoint(read_archive_settings(path).values)
    except BlogExporterError:  # resolving the settings has warned of it
        return False


def _warn_of_sign_in(out: Output, settings: Settings) -> None:
    """Warn a few days before the sign-in for the next backups ends, even if quiet."""
    if settings.base_url is None or settings.token or settings.token_command:
        return
    from datetime import UTC, datetime

    from exporter.login.facts import ending_notice

    notice = ending_notice(settings, datetime.now(UTC), out.warn)
    if notice is not None:
        out.warn(notice)


def _require_begun(path: Path) -> None:
    """Raise an error if a process has begun an archive that does not exist yet."""
    from exporter.archive.layout import Layout
    from exporter.archive.lock import BACKUP, ArchiveLock
    from exporter.archive.reader import is_archive

    layout = Layout(path)
    writer = {} if is_archive(layout) else ArchiveLock(layout.lock).holder()
    if writer.get("work") == BACKUP:
        raise NoArchive("The first backup into {path} has just begun, and still waits for the service.", path=path)
    if writer:
        raise NoArchive("{path} has no archive yet: process {pid} has just begun it.", path=path, pid=writer.get("pid"))


def _with_local_times(document: dict[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return a copy of the document with its times in the blog's time zone."""
    local = {**document, "last_success": for_people(str(document["last_success"]), zone)}
    for place, time in (("newest", "finished_at"), ("last_run", "finished_at"), ("writer", "since")):
        if document[place]:
            local[place] = {**document[place], time: for_people(str(document[place].get(time)), zone)}
    if document["capture"] is not None:
        run = document["capture"]["last_run"]
        local["capture"] = {
            **document["capture"],
            "finished_at": _for_people(document["capture"]["finished_at"], zone),
            "last_run": None if run is None else {**run, "finished_at": _for_people(run["finished_at"], zone)},
        }
    return local


def _for_people(time: object, zone: tzinfo) -> str | None:
    return None if time is None else for_people(str(time), zone)


def _error(
    problem: StatusProblem, document: dict[str, Any], max_age: str | None, *, names_reason: bool
) -> BlogExporterError:
    """Return the error about a problem; the first reason of incompleteness is left out if the lines before name all."""
    from exporter.check.archive_state import STATE_ERRORS, state_finding

    why = next(map(problem_text, document["problems"]), "") if names_reason else ""
    finding = state_finding(problem, document, limit=max_age, why=why)
    if not finding.command:
        return STATE_ERRORS[problem](finding.said)
    values = {"said": finding.said, "advice": finding.advice, "command": finding.command}
    return STATE_ERRORS[problem](message("{said} {advice} {command}", **values))


def _headline(found: Status) -> Message:
    """Return the one line: ``OK · last success 6 h ago · 300 entries · 47 of 48 pictures and files``."""
    from exporter.library.status import is_backup

    running = is_backup(found.document["writer"])
    state = _HEADLINES[found.problem.name] if found.problem is not None else message("OK")
    if found.problem is None and found.document["completeness"].get("provable") is False:
        state = message("OK, but not proven complete")
    if state == _HEADLINES["FIRST_RUN"]:
        return state if running else message("NOTHING SAVED YET")
    if running:
        state = message("{state}, a backup is running", state=state)
    if found.age is None:
        if found.document["capture"] is not None and found.document["last_run"] is None:
            return message("{state} · captures alone, no backup yet", state=state)
        return message("{state} · no success yet", state=state)
    entries, files = (count(found.document["completeness"]) for count in (saved_entries, saved_files))
    return message(
        "{state} · last success {ago} · {entries} · {files}",
        state=state,
        ago=ago_text(max(found.age, timedelta())),
        entries=_of(entries, counted(entries[1], "entry")),
        files=_of(files, counted(files[1], "picture or file")),
    )


def _capture_lines(found: Mapping[str, Any] | None) -> Iterator[Message]:
    """Yield the lines about the newest capture, and about a later run of it."""
    if found is None:
        return
    if found["captures"]:
        how = {True: message("complete"), False: message("not complete"), None: message("damaged")}[found["complete"]]
        yield message(
            "Captures: {n:,}, the newest of {time} ({how})",
            n=found["captures"],
            time=found["finished_at"] or "?",
            how=how,
        )
    run = found["last_run"]
    if run is not None and (not found["captures"] or run["finished_at"] != found["finished_at"]):
        how = CAPTURE_OUTCOMES.get(str(run["outcome"]), message("ended"))
        yield message("Last capture: {time} {outcome}", time=run["finished_at"], outcome=how)


def _of(numbers: tuple[int, int], all_of_them: Message) -> Message:
    saved, everything = numbers
    return all_of_them if saved == everything else message("{n:,} of {all}", n=saved, all=all_of_them)


def _run_lines(document: dict[str, Any], problem: StatusProblem | None) -> Iterator[str]:
    """Yield the lines about the last run, and about the saved and the missing records.

    The run's reason is left out if the error about the problem, or the missing records, name it.
    """
    from exporter.check.archive_state import OUTCOMES
    from exporter.library.status import SUCCESSES, StatusProblem

    last, problems = document["last_run"], document["problems"]
    if last is not None:
        outcome: str = OUTCOMES.get(str(last["outcome"]), printable(str(last["outcome"]), 40))
        how = {"time": last["finished_at"], "outcome": outcome}
        if not last.get("error") or problem is StatusProblem.LAST_RUN_FAILED or problems or document["damaged"]:
            yield message("Last run: {time} {outcome}", **how)
        else:
            reason = printable(translated(restored_from(last, "error")), 300)
            yield message("Last run: {time} {outcome} ({reason})", **how, reason=reason)
    if document["completeness"] or problems:
        if last is not None and last.get("outcome") not in SUCCESSES:
            yield message("As of the last run that finished:")
        yield from completeness_lines(Path(document["archive"]), document["completeness"], problems)


def _left_something(document: dict[str, Any], problem: StatusProblem | None) -> bool:
    """Return whether a failed run left a checkpoint, which neither the problem nor the reason of its end says."""
    from exporter.library.status import StatusProblem

    failed = problem is StatusProblem.LAST_RUN_FAILED and document["last_run"].get("outcome") != "interrupted"
    return failed and bool(document["interrupted_run"])


def _print(out: Output, document: dict[str, Any], found: Status, nightly: Sequence[str]) -> None:
    from exporter.check.archive_state import writing_text
    from exporter.library.status import StatusProblem

    newest, writer = document["newest"], document["writer"]
    out.answer(_headline(found))
    versions = counted(document["versions"], "version")
    out.answer("{blog}: {versions}, format 1", blog=printable(document["blog_id"]), versions=versions)
    if newest is not None:
        out.answer("Newest version: {n} of {time}", n=newest["version"], time=newest["finished_at"])
        records = (counted(n, _NOUNS.get(kind, "user")) for kind, n in document["records"].items() if n)
        out.answer("Records: {records}", records=listed(records))
    for line in _run_lines(document, found.problem):
        out.answer(line)
    for fact in (*_capture_lines(document["capture"]), *nightly):
        out.answer(fact)
    if _left_something(document, found.problem):
        out.answer(message("A run did not finish: the next backup resumes it."))
    if writer and found.problem is not StatusProblem.FIRST_RUN:
        out.answer(writing_text(writer))
