"""``forget``: remove single records from an archive and everything made from it, for good."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.cli.help import PATH, cli_command
from exporter.cli.options import archive_argument, with_archive
from exporter.cli.output import Output, counted, counted_records
from exporter.errors import UsageError
from exporter.message import listed, message, message_n, suggested
from exporter.model.kinds import Kind
from exporter.settings import Settings
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.archive import Archive
    from exporter.archive.forgotten import ForgettingNote
    from exporter.library.forget import ForgettingRequest, FoundRecords

_EPILOG = """\b
Examples:
  blog-exporter forget DIR comment 252 --dry-run
  blog-exporter forget DIR entry 42
  blog-exporter forget DIR --author NAME
"""
_MENTIONS_SHOWN: Final = 20
_KINDS: Final = {"entry": Kind.ENTRIES, "comment": Kind.COMMENTS, "entries": Kind.ENTRIES, "comments": Kind.COMMENTS}
_WORDS: Final = {Kind.ENTRIES: message("entry"), Kind.COMMENTS: message("comment")}


@cli_command(
    "forget",
    epilog=_EPILOG,
    help=message(
        """Remove comments or entries for good, from all versions, views, captures and caches of the archive in DIR.

        KIND is entry or comment; an entry goes with its comments. The options name records of several kinds at once.

        The archive keeps a note that says when how many records were removed, and never which. The next backup does
        not bring them back. verify passes, and repeats the note. Records that quote a removed one are listed, but not
        changed; then the exit code is 3. Without a record, the command finishes an interrupted removal."""
    ),
)
@archive_argument
@click.argument("kind", type=click.Choice(list(_KINDS)), metavar="[KIND", required=False)
@click.argument("record_ids", nargs=-1, metavar="ID...]")
@click.option("--comment", "comments", multiple=True, metavar="ID", help=message("Comment to remove; repeatable."))
@click.option("--author", "authors", multiple=True, metavar="NAME", help=message("Remove all comments of this name."))
@click.option("--entry", "entries", multiple=True, metavar="ID", help=message("Entry to remove with its comments."))
@click.option("--keep-tombstone", is_flag=True, help=message("Say on the entry's page that comments were removed."))
@click.option("--sign", type=PATH, metavar="KEY", help=message("SSH key that signs the note."))
@click.option("--dry-run", is_flag=True, help=message("Only list all places that would change."))
@click.option("-y", "--yes", is_flag=True, help=message("Do not ask before the removal."))
@with_archive("wait_lock")
def forget_command(
    *, out: Output, archive: Archive, settings: Settings, kind: str | None, record_ids: tuple[str, ...],
    comments: tuple[str, ...], authors: tuple[str, ...], entries: tuple[str, ...], keep_tombstone: bool,
    sign: Path | None, dry_run: bool, yes: bool,
) -> int:  # fmt: skip
    """Run ``forget``."""
    from exporter.fleet.forgetting import holders, remove_blog
    from exporter.library.forget import ForgettingRequest, find, forget

    if kind is not None:
        if not record_ids:
            raise UsageError(
                "Which {name}? Name its ID: forget DIR {kind} ID (search and files show IDs).",
                name=_WORDS[_KINDS[kind]],
                kind=kind,
            )
        comments += record_ids if _KINDS[kind] is Kind.COMMENTS else ()
        entries += record_ids if _KINDS[kind] is Kind.ENTRIES else ()
    request = ForgettingRequest(comments, authors, entries, keep_tombstone)
    interrupted = archive.layout.forgetting.kind() is not None
    if interrupted and not dry_run:
        forget(archive, settings, ForgettingRequest())
        out.done(message("An interrupted removal of records was finished."))
        if request == ForgettingRequest():
            out.document({"archive": str(archive.path.absolute()), "finished": True})
            return 0
    found = find(archive, settings, request)
    if dry_run or not yes:
        _list(out, found, holders(archive))
    if not dry_run:
        if not yes and (found.is_recorded or not found.before):
            _ask(out)
        remove_blog(archive, settings.wait_lock.total_seconds())
        note = forget(archive, settings, request, found, sign)
        if note is None:
            out.done(message("Nothing of it was left."))
        else:
            _say(out, note, list(_commands(archive, request, found, yes=yes)))
            _warn_of_mentions(out, found)
            if archive.layout.evidence.kind() == "a folder":
                from exporter.archive.evidence import confirmation

                out.warn(
                    "Seals do not fit versions that are rewritten after them. Confirm it with your key: {command}",
                    command=confirmation(archive.path, sign or settings.seal_key),
                )
    out.document({"archive": str(archive.path.absolute()), "dry_run": dry_run, **_document(found)})
    return 3 if found.mentions and not dry_run else 0


def _ask(out: Output) -> None:
    """Ask whether to go on.

    Raises:
        UsageError: the answer is no, or there is no terminal.
    """
    from exporter.cli.questions import Questions

    if out.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(message("There is no terminal to ask on. Look at the list of --dry-run, then add --yes."))
    if not Questions().agreed(message("Remove all of this for good?"), default=False):
        raise UsageError(message("Nothing was removed."))


def _say(out: Output, note: ForgettingNote, syncs: list[str]) -> None:
    if note.number:
        out.done("Forgotten: {records}.", records=counted_records(note.records))
    else:
        out.done(message("Removed what showed records that were forgotten before."))
    out.say(
        message(
            "The next backup leaves them out, even if the service still has them. A capture leaves out pages on which "
            "it recognises them; delete them at the service to be sure."
        )
    )
    for command in syncs:
        out.say("A copy still has them. To remove them there: {command}", command=command)


def _commands(archive: Archive, request: ForgettingRequest, found: FoundRecords, *, yes: bool) -> Iterator[str]:
    """Yield the command that removes the records from each copy."""
    words = [word for each in request.comments for word in ("--comment", each)]
    words += [word for each in request.authors for word in ("--author", each)]
    words += [word for each in request.entries for word in ("--entry", each)]
    for place, _ in found.copies:
        if place in found.apart:
            yield suggested("forget", place, *words, *(["--yes"] if yes else []))
        else:
            yield suggested("sync", archive.path, place, *(["--prune"] if found.pruned else []))


def _list(out: Output, found: FoundRecords, fleet: list[Path]) -> None:
    """Print every place that changes."""
    if found.before:
        out.answer(
            message_n(
                "{n:,} record was forgotten before. What was recorded of forgotten records since then goes too.",
                "{n:,} records were forgotten before. What was recorded of forgotten records since then goes too.",
                found.before,
            )
        )
    out.answer(
        message("To remove: {records}", records=counted_records({"entries": found.entries, "comments": found.comments}))
    )
    out.answer("  versions/   {lines} in {versions}", lines=counted(found.lines, "line"),
        versions=counted(len(found.versions), "version"))  # fmt: skip
    out.answer(message("  latest/     made anew, with its Markdown and site"))
    if found.files:
        out.answer("  assets/     {files}", files=counted(len(found.files), "file"))
    for url in found.whole:
        out.answer("  assets/     {url}: goes as a whole, because one of the records is in it", url=printable(url, 120))
    for number, files in found.exchanges.items():
        count = sum(map(len, files.values()))
        out.answer("  captures/   {n:,} records of capture {number}", n=count, number=number)
    if found.addresses:
        text = message_n(
            "  captures/   {n:,} address in the notes about pages that failed or are gone",
            "  captures/   {n:,} addresses in the notes about pages that failed or are gone",
            len(found.addresses),
        )
        out.answer(text)
    if found.runs:
        out.answer("  runs.jsonl  {lines}", lines=counted(len(found.runs), "line"))
    if found.work:
        out.answer("  .work/      {names}", names=listed(found.work))
    for path in fleet:
        out.answer("  fleet       {path}: without this blog until its next update", path=path)
    _list_copies(out, found)
    for sentence in _mentions(found):
        out.answer(sentence)


def _mentions(found: FoundRecords) -> Iterator[str]:
    """Yield a sentence for each record that quotes a removed one, up to 20."""
    for kind, record_id in found.mentions[:_MENTIONS_SHOWN]:
        yield message(
            "Also mentioned in {kind} {id}, which stays as it is.", kind=_WORDS[kind], id=printable(record_id, 80)
        )
    if len(found.mentions) > _MENTIONS_SHOWN:
        yield message("… and in {n:,} more; --json lists them.", n=len(found.mentions) - _MENTIONS_SHOWN)


def _warn_of_mentions(out: Output, found: FoundRecords) -> None:
    for sentence in _mentions(found):
        out.warn(sentence)
    if found.mentions:
        out.warn(
            message(
                "The archive, with latest/, the site and exports, still has the words of these quotations. Change them "
                "at the service and back up, or forget these records too."
            )
        )


def _list_copies(out: Output, found: FoundRecords) -> None:
    for path in found.caches:
        out.answer("  cache       {path}", path=path)
    for place, until in found.copies:
        if until is None:
            out.answer("  copy        {place}: at its next sync", place=printable(place))
        else:
            text = message(
                "  copy        {place}: locked until {date}; at a sync after that day",
                place=printable(place),
                date=until,
            )
            out.answer(text)


def _document(found: FoundRecords) -> dict[str, Any]:
    return {
        "entries": found.entries,
        "comments": found.comments,
        "places": {
            "lines": found.lines,
            "versions": sorted(found.versions),
            "files": found.files,
            "whole": found.whole,
            "captures": [
                {"capture": number, "records": sum(map(len, files.values()))}
                for number, files in found.exchanges.items()
            ],
            "addresses": sorted(found.addresses),
            "runs": sorted(found.runs),
            "work": found.work,
            "caches": found.caches,
            "copies": [{"place": place, "locked_until": until} for place, until in found.copies],
        },
        "mentions": [{"kind": str(kind), "id": record_id} for kind, record_id in found.mentions],
    }
