"""``status``: an archive's state, for people and for monitors; one line first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any

import click

from exporter.cli.copy_options import readable_archive
from exporter.cli.options import config_option, duration_option, opened, setting_options, with_output
from exporter.cli.output import Output, ago_text, counted
from exporter.cli.summary import completeness_lines, problem_text, saved_and_all
from exporter.clock import SystemClock, for_people
from exporter.errors import ArchiveDamaged, BlogExporterError, Incomplete, LastRunFailed, NoArchive, Stale, UsageError
from exporter.library.status import SUCCESSES, Status, StatusProblem, status
from exporter.message import Message, listed, message, message_n, restored_from, suggested
from exporter.model.kinds import Kind
from exporter.settings import Settings
from exporter.text import printable
from exporter.translation import translated

OUTCOMES = {
    "saved": message("saved"),
    "unchanged": message("nothing had changed"),
    "partial": message("saved, but not everything"),
    "failed": message("failed"),
    "refused": message("was refused"),
    "interrupted": message("was interrupted"),
}

_NOUNS: Mapping[str, str] = {
    Kind.ENTRIES: "entry", Kind.ENTRY_LIST: "list item", Kind.COMMENTS: "comment", Kind.FILES: "file",
    Kind.ASSETS: "asset",
}  # fmt: skip


@click.command(
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
@setting_options("closing")
@config_option
@with_output()
def status_command(
    *,
    out: Output,
    archive: Path,
    config: Path | None,
    closing: str | None,
    max_age: str | None,
    prometheus: bool,
) -> int:
    """Run ``status``."""
    if prometheus and out.as_json:
        raise UsageError(message("Give --json or --prometheus, not both."))
    _require_begun(archive)
    reader, settings = opened(out, archive, {"closing": closing}, config)
    found = status(reader, max_age=_limit(max_age))
    remaining = None
    if settings.closing is not None:
        from exporter.cli.summary import countdown_of

        remaining = countdown_of(reader, settings, SystemClock().now())
    found.document["closing"] = None if remaining is None else remaining.document()
    out.document(found.document)
    local = _with_local_times(found.document, settings.timezone)
    error = None if found.problem is None else _error(found.problem, local, max_age)
    if prometheus:
        from exporter.notify.prometheus import metrics

        out.raw(metrics(found.document, 0 if error is None else error.exit_code).encode())
    elif out.verbosity >= 0:
        _print(out, local, found)
        if remaining is not None:
            from exporter.cli.summary import countdown_line

            out.answer(countdown_line(remaining))
    _warn_of_sign_in(out, settings)
    if error is not None:
        raise error
    return 0


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
    """Raise an error if a first backup is under way and the archive does not exist yet."""
    from exporter.archive.layout import Layout
    from exporter.archive.lock import ArchiveLock
    from exporter.archive.reader import is_archive

    layout = Layout(path)
    if not is_archive(layout) and ArchiveLock(layout.lock).holder():
        raise NoArchive(
            message("The first backup into {path} has just begun, and still waits for the service.", path=path)
        )


def _with_local_times(document: dict[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return a copy of the document with its times in the blog's time zone."""
    local = {**document, "last_success": for_people(str(document["last_success"]), zone)}
    for place, time in (("newest", "finished_at"), ("last_run", "finished_at"), ("writer", "since")):
        if document[place]:
            local[place] = {**document[place], time: for_people(str(document[place].get(time)), zone)}
    return local


def _limit(text: str | None) -> timedelta | None:
    return None if text is None else duration_option("--max-age", text)


def _error(problem: StatusProblem, document: dict[str, Any], max_age: str | None) -> BlogExporterError:
    last, since = document["last_run"], document["last_success"]
    place = {"blog": printable(document["blog_id"]), "archive": document["archive"]}
    again = suggested("backup", Path(document["archive"]))
    match problem:
        case StatusProblem.LAST_RUN_FAILED:
            how = OUTCOMES.get(str(last.get("outcome")), OUTCOMES["failed"])
            values = {**place, "time": last.get("finished_at"), "how": how}
            if not last.get("error"):
                return LastRunFailed(message("The last run of {blog} in {archive} at {time} {how}.", **values))
            reason = restored_from(last, "error")
            return LastRunFailed(
                message("The last run of {blog} in {archive} at {time} {how}: {reason}", **values, reason=reason)
            )
        case StatusProblem.LAST_RUN_DIED:
            return LastRunFailed(
                message(
                    "The last run of {blog} in {archive} did not finish. The next backup resumes it: {command}",
                    **place,
                    command=again,
                )
            )
        case StatusProblem.DAMAGED:
            return ArchiveDamaged(
                message(
                    "{blog} in {archive} is damaged: {paths}. For the possible repairs: {command}",
                    **place,
                    paths=listed(printable(path, 120) for path in document["damaged"][:3]),
                    command=suggested("verify", Path(document["archive"])),
                )
            )
        case StatusProblem.FIRST_RUN:
            writer = document["writer"]
            return Incomplete(
                message(
                    "The first backup of {blog} is under way, by process {pid} since {since}: there is nothing to show "
                    "yet.",
                    **place,
                    pid=str(writer.get("pid")),
                    since=str(writer.get("since")),
                )
            )
        case StatusProblem.IN_THE_FUTURE:
            return Stale(
                message(
                    "The last run of {blog} in {archive} is dated in the future ({since}). Set this machine's clock, "
                    "then back up: {command}",
                    **place,
                    command=again,
                    since=since,
                )
            )
        case StatusProblem.STALE:
            return Stale(
                message(
                    "The last successful run of {blog} in {archive} ended {since}, more than {limit} ago. "
                    "Back up: {command}",
                    **place,
                    command=again,
                    since=since,
                    limit=max_age,
                )
            )
        case StatusProblem.INCOMPLETE:
            first = next(map(problem_text, document["problems"]), message("runs.jsonl does not say why"))
            return Incomplete(
                message(
                    "{blog} in {archive} is incomplete: {reason}. The next backup tries again: {command}",
                    **place,
                    reason=first,
                    command=again,
                )
            )


def _headline(found: Status) -> Message:
    """Return the one line: ``OK · last success 6 h ago · 300 entries · 47 of 48 pictures``."""
    match found.problem:
        case None:
            state = message("OK")
        case StatusProblem.LAST_RUN_FAILED | StatusProblem.LAST_RUN_DIED:
            state = message("FAILED")
        case StatusProblem.DAMAGED:
            state = message("DAMAGED")
        case StatusProblem.FIRST_RUN:
            return message("FIRST BACKUP UNDER WAY")
        case StatusProblem.STALE | StatusProblem.IN_THE_FUTURE:
            state = message("STALE")
        case StatusProblem.INCOMPLETE:
            state = message("INCOMPLETE")
    if found.age is None:
        return message("{state} · no success yet", state=state)
    success = ago_text(max(found.age, timedelta()))
    reasons = ("pending", "lost", "refused", "doubtful")
    entries, files = (saved_and_all(found.document["completeness"], kind, *reasons) for kind in ("entries", "assets"))
    return message(
        "{state} · last success {ago} · {entries} · {files}",
        state=state,
        ago=success,
        entries=_of(entries, message_n("{n:,} entry", "{n:,} entries", entries[1])),
        files=_of(files, message_n("{n:,} picture", "{n:,} pictures", files[1])),
    )


def _of(numbers: tuple[int, int], all_of_them: Message) -> Message:
    saved, listed_in_all = numbers
    return all_of_them if saved == listed_in_all else message("{n:,} of {all}", n=saved, all=all_of_them)


def _print(out: Output, document: dict[str, Any], found: Status) -> None:
    newest, last, writer = document["newest"], document["last_run"], document["writer"]
    out.answer(_headline(found))
    versions = message_n("{n:,} version", "{n:,} versions", document["versions"])
    out.answer(message("{blog}: {versions}, format 1", blog=printable(document["blog_id"]), versions=versions))
    if newest is not None:
        out.answer(message("Newest version: {n} of {time}", n=newest["version"], time=newest["finished_at"]))
        out.answer(
            message(
                "Records: {records}",
                records=listed(
                    counted(count, _NOUNS.get(kind, "user")) for kind, count in document["records"].items() if count
                ),
            )
        )
    if last is not None:
        outcome = OUTCOMES.get(str(last["outcome"]), printable(str(last["outcome"]), 40))
        if last.get("error"):
            reason = printable(translated(restored_from(last, "error")), 300)
            out.answer(
                message(
                    "Last run: {time} {outcome} ({reason})", time=last["finished_at"], outcome=outcome, reason=reason
                )
            )
        else:
            out.answer(message("Last run: {time} {outcome}", time=last["finished_at"], outcome=outcome))
    if last is not None and last.get("outcome") not in SUCCESSES:
        out.answer(message("As of the last run that finished:"))
    if found.problem is not StatusProblem.FIRST_RUN:
        for line in completeness_lines(document["completeness"], document["problems"]):
            out.answer(line)
    if document["interrupted_run"]:
        out.answer(message("A run did not finish: the next backup resumes it."))
    if writer:
        pid, since = str(writer.get("pid")), str(writer.get("since"))
        out.answer(message("Being written by process {pid} since {since}.", pid=pid, since=since))
