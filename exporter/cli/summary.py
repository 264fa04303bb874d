"""The texts that end a backup: counts, problems, completeness, and the countdown of a closing service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.output import Output, counted, shown, size_text, time_text
from exporter.message import Message, listed, message, message_n, restored_from, suggested
from exporter.model.kinds import KIND_NAMES, Kind
from exporter.service.registry import service_of
from exporter.text import printable, right
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.crawl.assets.summary import AssetSummary
    from exporter.crawl.outcome import Outcome
    from exporter.notify.closing import ClosingReport, Countdown, Outside
    from exporter.settings import Settings

_NOUNS = {Kind.ENTRIES: "entry", Kind.COMMENTS: "comment", Kind.FILES: "upload", Kind.ASSETS: "picture or file"}
_LISTS = {Kind.ENTRY_LIST: "entry", Kind.COMMENTS: "comment", Kind.FILES: "upload"}
_PROBLEMS_SHOWN = 20
_NAMED_FILES = 3
_CLOSING_PAGE: Final = "docs/closing.md"
_PENDING_SHOWN: Final = 10
_OUTSIDE_NOUNS: Final = {"entries": "entry", "comments": "comment", "assets": "picture or file", "files": "upload"}
_STATES: Final = {
    "pending": message("not saved yet; every backup tries it again"),
    "lost": message("gone; every backup tries it again"),
    "left_out": message("left out by a setting"),
    "refused": message("refused, since its address is private: see --allow-private-network"),
}


def summary_lines(root: Path, outcome: Outcome, took: timedelta) -> Iterator[str]:
    """Yield the lines of the summary."""
    if outcome.version is not None:
        yield message("Saved as version {version}.", version=outcome.version)
    else:
        yield message("Nothing had changed; no new version was needed.")
    yield from _count_lines(outcome, _NOUNS)
    if outcome.healed:
        yield message("Healed: {what}.", what=_healed(outcome.healed))
    if outcome.restored:
        yield message("Restored, as first written: {paths}.", paths=_named(outcome.restored))
    if outcome.damaged:
        yield message("Still damaged: {paths}; verify says what to do.", paths=_named(outcome.damaged))
    if outcome.assets is not None:
        yield from _asset_lines(root, outcome.assets)
    if outcome.completeness is not None:
        problems = [problem.document() for problem in outcome.problems]
        yield from completeness_lines(root, outcome.completeness, problems)
    if outcome.warc is not None:
        yield from _warc_lines(outcome.warc)
    yield _cost_line(outcome, took)
    yield message("Archive: {path}", path=printable(str(root.absolute())))
    places = (root / "latest" / name for name in ("site/index.html", "markdown/index.md"))
    yield from (message("Read it: {path}", path=printable(str(place))) for place in places if place.is_file())


def _warc_lines(warc: Mapping[str, Any]) -> Iterator[str]:
    """Yield what became of the recorded exchanges."""
    if warc["error"] is not None:
        yield message("WARC: not written. {reason}", reason=shown(restored_from(warc, "error"), 400))
        return
    new, left_out = warc["written"] + warc["revisits"], sum(warc["left_out"].values())
    if warc["capture"] is None:
        yield message("WARC: nothing new; no file was needed.")
    else:
        place = f"captures/{warc['capture']:06}"
        yield message("WARC: {exchanges} new or changed, in {place}.", exchanges=counted(new, "exchange"), place=place)
    if left_out:
        yield message(
            "Left out of the WARC: {exchanges}, as they hold records that are not public or were forgotten, or may.",
            exchanges=counted(left_out, "exchange"),
        )


def dry_run_lines(outcome: Outcome, took: timedelta) -> Iterator[str]:
    """Yield a dry run's lines: the facts in the lists, and their limits."""
    yield message("A dry run: only the lists were read, nothing was written. They show:")
    yield from _count_lines(outcome, _LISTS)
    yield message(
        "Lists do not show edited bodies, pictures, or whether each entry can be read: only a backup can tell. An "
        "entry counts as changed where its list item did."
    )
    if outcome.problems:
        yield message(
            "INCOMPLETE: {parts} of the lists could not be read:", parts=counted(len(outcome.problems), "part")
        )
        yield from _problem_lines([problem.document() for problem in outcome.problems])
    yield _cost_line(outcome, took)


def missing_things(outcome: Outcome) -> list[str]:
    """Return the numbers of things that a run could not save."""
    return _missing(outcome.completeness or {})


def quiet_line(blog_id: str, outcome: Outcome, *, known: bool = False) -> str | None:
    """Return the one line for ``-q`` about missing, newly gone or damaged things; ``None`` without any.

    Lasting problems are left out if they are ``known``.
    """
    parts: list[str] = []
    if outcome.problems and not known:
        missing, first = missing_things(outcome), problem_text(outcome.problems[0].document())
        if missing:
            parts.append(message("incomplete: {things} not saved ({first})", things=listed(missing), first=first))
        else:
            problems = counted(len(outcome.problems), "problem")
            parts.append(message("incomplete: {problems} ({first})", problems=problems, first=first))
    lost = outcome.assets.newly_lost if outcome.assets is not None else []
    if lost:
        named: list[str] = [
            message("{url} ({reason})", url=printable(each.url, 120), reason=shown(each.reason, 60))
            for each in lost[:_NAMED_FILES]
        ]
        named += ["…"] if len(lost) > _NAMED_FILES else []
        parts.append(message("{files} newly gone for good: {named}", files=_files(len(lost)), named=listed(named)))
    if outcome.healed:
        parts.append(_healed(outcome.healed))
    if outcome.restored:
        parts.append(message("damaged and restored: {paths}", paths=_named(outcome.restored)))
    if outcome.damaged and not known:
        paths = _named(outcome.damaged)
        parts.append(message("still damaged: {paths}; run verify, which says what to do", paths=paths))
    if outcome.healed or outcome.restored or (outcome.damaged and not known):
        parts.append(message("check the disk"))
    if not parts:
        return None
    what = reduce(lambda rest, part: message("{first}; {rest}", first=part, rest=rest), reversed(parts))
    return message("{name}: {what}", name=printable(blog_id, 120), what=what)


def completeness_lines(
    place: object,
    completeness: Mapping[str, Any],
    problems: Sequence[Mapping[str, Any]],
    identities: Sequence[Path] = (),
) -> Iterator[str]:
    """Yield whether everything is saved, in numbers, and the problems.

    Args:
        place: the archive's folder or a copy's address, for commands.
        completeness: the object of that name in a manifest, also one of an earlier program without some numbers.
        problems: the problems in the manifest.
        identities: the files that open an encrypted copy, for commands.
    """
    listing = _listing(place, identities)
    numbers = listed(_saved(completeness)) or message("nothing")
    provable = completeness.get("provable") is not False
    if completeness.get("complete") and not provable:
        yield message(
            "Everything that was found is saved: {numbers}. Not provable: the service states no totals to compare with."
            " It may have more.",
            numbers=numbers,
        )
    elif completeness.get("complete"):
        yield message("Complete: everything asked for is in the archive: {numbers}.", numbers=numbers)
    else:
        if problems:
            yield message("INCOMPLETE: {numbers} saved. Missing:", numbers=numbers)
        else:
            yield message("INCOMPLETE: {numbers} saved.", numbers=numbers)
        yield from _problem_lines(problems)
    if not provable and not completeness.get("complete"):
        yield message("Not provable: the service states no totals to compare with.")
    lost, by_choice = (
        max(_left_out(completeness, kind, reason) for kind in ("assets", "files")) for reason in ("lost", "by_choice")
    )
    if lost:
        yield message("Gone for good: {files}. To list them: {command}", files=_files(lost), command=listing)
    if by_choice:
        yield message(
            "Left out by a setting: {files}. To list them: {command}", files=_files(by_choice), command=listing
        )
    if not completeness.get("sweeps_agreed", True):
        yield message("The blog kept changing while it was read; everything that existed throughout is saved.")


def missing_views_text(root: Path, paths: Sequence[str]) -> Message:
    """Return the sentence about parts of ``latest/`` that could not be made."""
    return message(
        "{paths} is incomplete: the system started no process that makes it, or killed it. The next backup makes it, "
        "or at once: {command}",
        paths=listed(paths),
        command=suggested("rebuild", root),
    )


def _count_lines(outcome: Outcome, nouns: Mapping[Kind, str]) -> Iterator[str]:
    for kind, noun in nouns.items():
        counts = outcome.counts.get(str(kind))
        if counts is not None and (counts.total or counts.gone):
            what = changes_text(new=counts.new, changed=counts.changed, gone=counts.gone) or message("as before")
            yield f"  {right(translated(counted(counts.total, noun)), 16)}   {translated(what)}"


def changes_text(*, new: int, changed: int, gone: int) -> str:
    """Return the numbers of new, changed and gone records, or an empty text."""
    parts: list[str] = [message("{n:,} new", n=new)] if new else []
    parts += [message("{n:,} changed", n=changed)] if changed else []
    parts += [message("{n:,} gone", n=gone)] if gone else []
    return listed(parts)


def _cost_line(outcome: Outcome, took: timedelta) -> str:
    parts = [counted(outcome.requests, "request"), size_text(outcome.bytes), time_text(took.total_seconds())]
    parts += [counted(outcome.retries, "retry")] if outcome.retries else []
    return message("{cost}.", cost=listed(parts))


def _asset_lines(root: Path, assets: AssetSummary) -> Iterator[str]:
    """Yield the inferred addresses of uploads, and each file that this run is the first to miss."""
    if assets.inferred:
        yield message(
            "Uploads are read from {pattern}, as {n:,} addresses in the entries show; --file-url gives another rule.",
            pattern=printable(assets.file_url or "", 200),
            n=assets.inferred,
        )
    if assets.framed:
        yield message_n(
            "{n:,} embedded page or player of another service is kept as a link only.",
            "{n:,} embedded pages and players of other services are kept as links only.",
            assets.framed,
        )
    if assets.originals:
        yield message_n(
            "{n:,} original of a thumbnail is kept beside it.",
            "{n:,} originals of thumbnails are kept beside them.",
            assets.originals,
        )
    if assets.shadowed:
        ids = ", ".join(printable(each, 40) for each in assets.shadowed[:_PROBLEMS_SHOWN])
        yield message("Gone for good, as another upload is served at the address of each: uploads {ids}.", ids=ids)
    new = assets.newly_lost
    if new:
        yield message("{files} newly gone for good:", files=_files(len(new)))
    for one in new[:_PROBLEMS_SHOWN]:
        reason = printable(translated(one.reason), 200)
        yield message("  - {name}: {reason}", name=printable(one.url, 200), reason=reason)
    if len(new) > _PROBLEMS_SHOWN:
        yield message(
            "  … and {n:,} more. To list them: {command}", n=len(new) - _PROBLEMS_SHOWN, command=_listing(root)
        )


def _listing(place: object, identities: Sequence[Path] = ()) -> str:
    """Return the command that lists the files that an archive lacks."""
    opens = [word for each in identities for word in ("--identity", each)]
    return suggested("files", place, "--missing", *opens)


def problem_text(problem: Mapping[str, Any]) -> str:
    """Return a problem on one line: the record and the reason."""
    return message("{name}: {reason}", name=_problem_name(problem), reason=_reason(problem))


def _problem_name(problem: Mapping[str, Any]) -> str:
    kind, record_id = str(problem["kind"]), problem["id"]
    name = KIND_NAMES.get(kind, printable(kind, 200))
    return name if record_id is None else message("{kind} {id}", kind=name, id=printable(str(record_id), 200))


def _reason(problem: Mapping[str, Any]) -> str:
    return shown(restored_from(problem, "reason"), 400)


def _problem_lines(problems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the problems; pictures of one host that fail for one reason share a line."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for number, problem in enumerate(problems):
        of_host = problem["kind"] == str(Kind.ASSETS) and problem["id"] is not None
        host = str(problem["id"]).partition("://")[2].partition("/")[0]
        key = (host, str(problem["reason"])) if of_host else (str(number),)
        groups.setdefault(key, []).append(problem)
    for group in list(groups.values())[:_PROBLEMS_SHOWN]:
        name, reason = _problem_name(group[0]), translated(_reason(group[0]))
        if len(group) > 1:
            yield message(
                "  - {name}: {reason} (and {n:,} more from this host)", name=name, reason=reason, n=len(group) - 1
            )
        else:
            yield message("  - {name}: {reason}", name=name, reason=reason)
    if len(groups) > _PROBLEMS_SHOWN:
        yield message("  … and {n:,} more; all of them are in runs.jsonl.", n=len(groups) - _PROBLEMS_SHOWN)


def _saved(completeness: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of saved records of each kind, with the total if some are missing."""
    for kind, noun in (("entries", "entry"), ("comments", "comment")):
        part = _part(completeness, kind)
        saved, pending = _number(part.get("saved")), _left_out(completeness, kind, "pending")
        if not saved and not pending:
            continue
        what: str = counted(saved, noun)
        if pending:
            what = message("{saved:,} of {all}", saved=saved, all=counted(saved + pending, noun))
        if _number(part.get("carried_over")):
            what = message(
                "{what} ({read:,} read, {carried_over:,} carried over, as their list items had not changed)",
                what=what, read=_number(part.get("read")), carried_over=part["carried_over"],
            )  # fmt: skip
        yield what
    saved, everything = saved_files(completeness)
    if everything > saved:
        yield message("{saved:,} of {all}", saved=saved, all=_files(everything))
    elif saved:
        yield _files(saved)


def _missing(completeness: Mapping[str, Any]) -> list[str]:
    """Return the numbers of missing things."""
    entries, comments = (_left_out(completeness, kind, "pending") for kind in ("entries", "comments"))
    files = _missing_files(completeness)
    found: list[str] = [counted(count, noun) for count, noun in ((entries, "entry"), (comments, "comment")) if count]
    found += [_files(files)] if files else []
    lists = {
        "entries": message("part of the entry list"),
        "comments": message("part of the comment list"),
        "files": message("part of the file list"),
    }
    found += [words for kind, words in lists.items() if not _part(completeness, kind).get("list_complete", True)]
    return found + ([] if _part(completeness, "user").get("read", True) else [message("the user")])


def saved_entries(completeness: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of saved entries, and this with those that the next run tries to save."""
    saved = _number(_part(completeness, "entries").get("saved"))
    return saved, saved + _left_out(completeness, "entries", "pending")


def saved_files(completeness: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of saved pictures and files, and this with the missing ones. Neither counts what is gone."""
    saved = _number(_part(completeness, "assets").get("saved"))
    return saved, saved + _missing_files(completeness)


def _missing_files(completeness: Mapping[str, Any]) -> int:
    files = _part(completeness, "files")
    nowhere = sum(_number(files.get(name)) for name in ("without_address", "not_on_list"))
    return sum(_left_out(completeness, "assets", reason) for reason in ("pending", "refused", "doubtful")) + nowhere


def _left_out(completeness: Mapping[str, Any], kind: str, reason: str) -> int:
    left_out = _part(completeness, kind).get("left_out")
    return _number(left_out.get(reason)) if isinstance(left_out, dict) else 0


def _part(completeness: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    part = completeness.get(kind)
    return part if isinstance(part, dict) else {}


def _healed(count: int) -> str:
    return message("{records} of damaged versions written again", records=counted(count, "record"))


def _named(paths: Sequence[str]) -> str:
    named, more = ", ".join(map(printable, paths[:_NAMED_FILES])), len(paths) - _NAMED_FILES
    return message("{paths} and {n:,} more", paths=named, n=more) if more > 0 else named


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _files(count: int) -> str:
    return counted(count, "picture or file")


def countdown_of(archive: Archive, settings: Settings, now: datetime) -> Countdown | None:
    """Return the time until the service closes; ``None`` if no closing was announced."""
    if settings.closing is None:
        return None
    from exporter.clock import at_home
    from exporter.notify.closing import countdown

    begun = (at_home(str(run.get("started_at")), settings.timezone) for run in archive.newest_runs())
    return countdown(settings.closing, now, settings.timezone, (each for each in begun if each is not None))


def closing_report(root: Path, settings: Settings, outcome: Outcome, now: datetime) -> ClosingReport | None:
    """Return the report for a closing service; ``None`` if no closing was announced.

    Raises:
        BlogExporterError: the archive cannot be read.
    """
    if settings.closing is None:
        return None
    from exporter.archive.archive import Archive
    from exporter.cli.answers import declared_for_backup
    from exporter.login.facts import is_signed_in
    from exporter.notify.closing import ClosingReport, unseen_entries, what_is_outside

    archive = Archive.open(root)
    remaining = countdown_of(archive, settings, now)
    if remaining is None:
        return None
    service, blog_id = service_of(settings, archive.info.service), archive.info.blog_id
    declared = declared_for_backup(service, settings, root, blog_id, Output(verbosity=-1))
    with closing(archive.state()) as state:
        unseen = unseen_entries(state, service, declared)
    provable = (outcome.completeness or {}).get("provable") is not False
    return ClosingReport(remaining, what_is_outside(outcome), unseen, is_signed_in(settings), provable)


def countdown_line(remaining: Countdown) -> Message:
    """Return the line about the closing day."""
    day = remaining.day.isoformat()
    if remaining.days < 0:
        return message(
            "The closing day, {day}, is over: the service may be gone. Keep the archive on two disks; {page} lists the "
            "remaining steps.",
            day=day, page=_CLOSING_PAGE,
        )  # fmt: skip
    if remaining.days == 0:
        return message("The service closes today, on {day}.", day=day)
    days = message_n("{n:,} day", "{n:,} days", remaining.days)
    if remaining.backups is None:
        return message("The service closes on {day}, in {days}: schedule a backup every night.", day=day, days=days)
    backups = message_n("{n:,} backup", "{n:,} backups", remaining.backups)
    return message(
        "The service closes on {day}, in {days}: about {backups} to come, at the pace of the last ones.",
        day=day, days=days, backups=backups,
    )  # fmt: skip


def closing_lines(report: ClosingReport, *, has_fallback: bool) -> Iterator[Message]:
    """Yield the lines of the report; content that only the owner can save comes first."""
    yield countdown_line(report.countdown)
    yield from _unseen_lines(report)
    outside = report.outside
    if not outside and report.provable:
        yield message("Everything that you asked for is in the archive.")
        return
    if not outside:
        yield message("Everything that was found is in the archive, but the blog may have more.")
        return
    yield message("Not in the archive yet:")
    for each in outside[:_PENDING_SHOWN]:
        yield _outside_line(each)
    if len(outside) > _PENDING_SHOWN:
        more = sum(each.count for each in outside[_PENDING_SHOWN:])
        yield message("  … and {n:,} more.", n=more)
    if not has_fallback and any(each.state == "lost" for each in outside):
        yield message("A web archive may have the pictures that are gone: --archive-fallback asks one.")


def _unseen_lines(report: ClosingReport) -> Iterator[Message]:
    unseen = report.unseen
    if unseen.private or unseen.drafts:
        private = message_n("{n:,} private entry", "{n:,} private entries", unseen.private)
        drafts = message_n("{n:,} draft", "{n:,} drafts", unseen.drafts)
        yield message(
            "Only you can save these, and they are saved: {private}, {drafts}.", private=private, drafts=drafts
        )
    if unseen.undeclared:
        yield message_n(
            "{n:,} entry may be a draft, since the meaning of the service's flags is not declared: see inspect DIR.",
            "{n:,} entries may be drafts, since the meaning of the service's flags is not declared: see inspect DIR.",
            unseen.undeclared,
        )
    if not report.signed_in:
        yield message("Read without signing in: drafts and private entries may be missing. Sign in while you can.")
    elif not any((unseen.private, unseen.drafts, unseen.undeclared)):
        yield message(
            "No draft and no private entry was seen: if the blog has some, sign in as its owner while you can."
        )


def _outside_line(each: Outside) -> Message:
    noun = counted(each.count, _OUTSIDE_NOUNS[each.kind]) if each.kind in _OUTSIDE_NOUNS else printable(each.kind, 40)
    reason = printable(translated(each.reason), 200)
    if not reason:
        return message("  - {what}: {state}", what=noun, state=_STATES[each.state])
    return message("  - {what}: {state} ({reason})", what=noun, state=_STATES[each.state], reason=reason)


def quiet_closing_line(blog: str, report: ClosingReport) -> Message:
    """Return the one line for a mail."""
    outside = sum(each.count for each in report.outside)
    return message(
        "{blog}: {countdown} {outside}", blog=blog, countdown=countdown_line(report.countdown),
        outside=message_n(
            "{n:,} thing is not in the archive yet.", "{n:,} things are not in the archive yet.", outside
        ),
    )  # fmt: skip
