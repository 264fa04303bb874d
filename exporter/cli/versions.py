"""``log``: the versions that an archive or one entry has. ``diff``: the changes between two versions, word by word."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.cli.help import PATH, cli_command
from exporter.cli.options import readable_archive, require_new_file, with_archive
from exporter.cli.output import OnLoss, Output
from exporter.cli.summary import changes_text
from exporter.clock import for_people
from exporter.errors import NoSuchRecord
from exporter.message import message, message_n
from exporter.model.changes import Change
from exporter.model.kinds import KIND_NAMES, Kind
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.text import left, printable, width
from exporter.translation import current_language, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from exporter.archive.archive import Archive
    from exporter.archive.history import Revision
    from exporter.model.changes import FieldChange, RecordChange
    from exporter.service.interface import Records


@cli_command(
    "log", help=message("List the versions of the archive in DIR, with new (+), changed (~) and gone (-) records.")
)
@readable_archive("MANIFESTS")
@click.option("--entry", metavar="ID", help=message("List the versions of one entry."))
@with_archive(on_loss=OnLoss.STOP)
def log_command(*, out: Output, archive: Archive, settings: Settings, entry: str | None) -> int:
    """Run ``log``."""
    zone = settings.timezone
    if entry is not None:
        return _life(archive, entry, out, zone)
    rows = archive.log()
    out.document({"versions": [row.document() for row in rows]})
    if not rows:
        archive.resolve()
    out.answer("\n".join(translated(row.text(zone)) for row in rows))
    return 0


def _life(reader: Archive, entry_id: str, out: Output, zone: tzinfo) -> int:
    steps = reader.revisions(Kind.ENTRIES, entry_id)
    if not steps:
        raise NoSuchRecord("No version of {root} has an entry {id}.", root=reader.layout.root, id=entry_id)
    out.document({"entry": entry_id, "steps": [{**asdict(step), "change": str(step.change)} for step in steps]})
    for step in steps:
        out.answer(_step_text(step, zone))
    return 0


def _step_text(step: Revision, zone: tzinfo) -> str:
    from exporter.html.diff import CHANGE_NAMES  # the list of versions needs no diff

    said = ", ".join(printable(name, 40) for name in step.fields) if step.change == "changed" else ""
    what = left(translated(CHANGE_NAMES[step.change]), 8)
    return f"{step.version:>6}  {for_people(step.date, zone)}  {what} {said}".rstrip()


_EPILOG = message(
    """\b
Examples:
  blog-exporter diff DIR                     (the last two versions)
  blog-exporter diff DIR 3 7 --stat
  blog-exporter diff DIR 2026-01-31 --html changes.html
"""
)


@cli_command(
    "diff",
    epilog=_EPILOG,
    help=message(
        """Show what changed between versions A and B of the archive in DIR.

        A and B are numbers or dates. By default B is the newest version, and A the one before it."""
    ),
)
@readable_archive("RECORDS")
@click.argument("a", metavar="[A]", required=False)
@click.argument("b", metavar="[B]", required=False)
@click.option("--stat", is_flag=True, help=message("Print only the numbers of new, changed and gone records."))
@click.option("--html", "page", type=PATH, metavar="OUT", help=message("Write a page of HTML."))
@click.option("--force", is_flag=True, help=message("Replace an existing page."))
@with_archive(on_loss=OnLoss.STOP)
def diff_command(
    *,
    out: Output,
    archive: Archive,
    settings: Settings,
    a: str | None,
    b: str | None,
    stat: bool,
    page: Path | None,
    force: bool,
) -> int:
    """Run ``diff``."""
    before, after = _ends(archive, settings, a, b)
    service = service_of(settings, archive.info.service)

    if page is not None:
        from exporter.archive import atomic
        from exporter.library.views import single_pages

        require_new_file(page, force=force)
        data = single_pages(archive, settings, current_language()).changes(
            archive.diff(before, after, service), before, after
        )
        with atomic.translated(page):
            atomic.write_file(page, data)
        out.say("Written to {path}.", path=page)
    if out.as_json:
        found = archive.diff(before, after, service)
        out.document({"from": before, "to": after, "changes": [change.document() for change in found]})
    elif stat:
        _stat(out, archive, before, after, service)
    elif page is None:
        from exporter.html.diff import RECORD_NAMES, diff_text

        colour = sys.stdout.isatty()
        kinds = {kind: translated(text) for kind, text in RECORD_NAMES.items()}
        changes = _once(_in_words(archive.diff(before, after, service), service))
        out.answer(
            "From version {before} ({then}) to version {after} ({now}):",
            before=before,
            then=_day_of(archive, before, settings.timezone),
            after=after,
            now=_day_of(archive, after, settings.timezone),
        )
        for line in diff_text(changes, colour=colour, kinds=kinds):
            out.answer(line, colour=colour)
    return 0


def _day_of(archive: Archive, version: int, zone: tzinfo) -> str:
    return for_people(archive.manifest(version).finished_at, zone).partition("T")[0]


def _once(changes: Iterable[RecordChange]) -> Iterator[RecordChange]:
    """Yield the changes without those of list items that their entries show too."""
    seen: dict[tuple[str, Change], set[int]] = {}
    for change in changes:
        is_changed, key = change.change is Change.CHANGED, (change.record_id, change.change)
        if change.kind is Kind.ENTRIES:
            seen[key] = set(map(_hash_of, change.fields)) if is_changed else set()
        elif change.kind is Kind.ENTRY_LIST and key in seen:
            more = [each for each in change.fields if is_changed and _hash_of(each) not in seen[key]]
            if more:
                yield replace(change, fields=tuple(more))
            continue
        yield change


def _hash_of(field: FieldChange) -> int:
    """Return a hash of a field's change as readers see it; bodies are too large to be remembered."""
    from exporter.html.diff import value_text

    return hash((field.name, value_text(field.before), value_text(field.after)))


def _in_words(changes: Iterable[RecordChange], service: Records) -> Iterator[RecordChange]:
    """Yield changes with names for people; those of nested records also with values for people, instead of JSON."""
    from exporter.export.record_values import value_reader
    from exporter.html.diff import field_name
    from exporter.html.record_words import RecordWords, in_words

    words = RecordWords(translated, lambda moment: moment.isoformat(" ", "seconds"))
    return in_words(
        changes,
        lambda change: value_reader(service, words, change.kind, change.before, change.after),
        words,
        lambda kind, field: translated(field_name(service.attributes.get(kind, {}), field)),
    )


def _ends(archive: Archive, settings: Settings, a: str | None, b: str | None) -> tuple[int, int]:
    zone = settings.timezone
    after = archive.version_at(b, zone)
    if a is not None:
        return archive.version_at(a, zone), after
    before = [number for number in archive.versions() if number < after]
    if not before:
        raise NoSuchRecord(
            "{archive} has no version before {version}, so there is nothing to compare it with.",
            archive=archive.path,
            version=after,
        )
    return before[-1], after


def _stat(out: Output, archive: Archive, before: int, after: int, service: Records) -> None:
    counts = Counter((change.kind, str(change.change)) for change in archive.diff(before, after, service))
    names = {kind: translated(KIND_NAMES[kind]) for kind, _ in counts}
    column = max(map(width, names.values()), default=0)
    for kind, name in names.items():
        what = changes_text(new=counts[kind, "new"], changed=counts[kind, "changed"], gone=counts[kind, "gone"])
        out.answer(f"{left(name, column)}  {translated(what)}")
    text = message_n(
        "{n:,} record differs between versions {before} and {after}.",
        "{n:,} records differ between versions {before} and {after}.",
        sum(counts.values()),
        before=before,
        after=after,
    )
    out.answer(text)
