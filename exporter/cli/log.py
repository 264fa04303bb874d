"""``log``: the versions of an archive, or the life of one entry, oldest first."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from exporter.archive.archive import Archive
from exporter.cli.copy_options import readable_archive
from exporter.cli.options import with_archive
from exporter.cli.output import OnLoss, Output
from exporter.cli.summary import KIND_NAMES
from exporter.clock import for_people
from exporter.errors import NoSuchRecord
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.settings import Settings
from exporter.text import left, printable
from exporter.translation import translated

if TYPE_CHECKING:
    from datetime import tzinfo

    from exporter.archive.history import Revision

_KIND = re.compile(rf"(?<= )({'|'.join(KIND_NAMES)})(?= [+~-][0-9])")


@click.command(
    "log",
    help=message("List the versions of the archive in DIR: when, and what was new (+), changed (~) and gone (-)."),
)
@readable_archive("MANIFESTS")
@click.option("--entry", metavar="ID", help=message("The life of one entry, in place of all versions."))
@with_archive("timezone", on_loss=OnLoss.STOP)
def command(*, out: Output, archive: Archive, settings: Settings, entry: str | None) -> int:
    """Run ``log``."""
    zone = settings.timezone
    if entry is not None:
        return _life(archive, entry, out, zone)
    log = archive.log()
    out.lines("versions", log.documents)
    if not log.versions:
        archive.resolve()
    said = for_people(log.texts.decode("utf-8").removesuffix("\n"), zone)
    out.answer(_KIND.sub(lambda found: translated(KIND_NAMES[found[0]]), said))
    return 0


def _life(reader: Archive, entry_id: str, out: Output, zone: tzinfo) -> int:
    steps = reader.revisions(Kind.ENTRIES, entry_id)
    if not steps:
        raise NoSuchRecord(
            message("No version of {root} has an entry {entry_id}.", root=reader.layout.root, entry_id=entry_id)
        )
    out.document({"entry": entry_id, "steps": [{**asdict(step), "change": str(step.change)} for step in steps]})
    for step in steps:
        out.answer(_step_text(step, zone))
    return 0


def _step_text(step: Revision, zone: tzinfo) -> str:
    from exporter.html.diff import CHANGE_NAMES  # the list of versions needs no diff

    said = ", ".join(printable(name, 40) for name in step.fields) if step.change == "changed" else ""
    what = left(translated(CHANGE_NAMES[step.change]), 8)
    return f"{step.version:>6}  {for_people(step.date, zone)}  {what} {said}".rstrip()
