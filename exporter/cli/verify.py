"""``verify``: two questions, answered apart: is the archive intact, and is it complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from exporter.archive.archive import Archive
from exporter.cli.options import archive_argument, with_output
from exporter.cli.output import Output, counted, shown
from exporter.cli.summary import completeness_lines
from exporter.errors import ArchiveDamaged, Incomplete, UsageError
from exporter.message import message
from exporter.settings import resolve
from exporter.text import printable

_DIGITS: Final = re.compile("[0-9a-f]{8,64}")


@click.command(
    "verify",
    help=message(
        """Check every hash, chain and fold of the archive in DIR, and tell whether everything was read.

        --repair writes damaged files of versions again from undamaged copies of their records, each to exactly
        the bytes that were written or not at all, and rebuilds latest/; what it cannot restore is listed.

        Prints the archive's head, a hash that covers all of it: kept elsewhere and given to --expect later, it
        shows that this is the same archive, as of then or newer. Exits with 13 when something is damaged or
        --expect does not hold, with 3 when it is intact but incomplete."""
    ),
)
@archive_argument
@click.option(
    "--quick", is_flag=True, help=message("Sizes and chains, and the sums of files that changed since the last time.")
)
@click.option(
    "--repair", "repairs", is_flag=True, help=message("First restore what can be restored without the service.")
)
@click.option(
    "--expect", metavar="HASH", help=message("Fail unless HASH is, or once was, the head that verify printed.")
)
@with_output()
def command(*, out: Output, archive: Path, quick: bool, repairs: bool, expect: str | None) -> int:
    """Run ``verify``."""
    from exporter.cli.progress import ProgressBar

    digits = None if expect is None else _digits(expect)
    reader = Archive.open(archive)
    reader.resolve()
    restored = _repair(out, reader) if repairs else []
    findings = []
    with ProgressBar(out, message("verifying")) as bar:
        for finding in reader.verify(quick=quick, progress=bar.update):
            findings.append(finding)
            values = {"path": printable(finding.path), "detail": shown(finding.detail, 2000), "mend": finding.mend}
            out.answer(message("{code}: {path}: {detail} ({mend})", code=finding.code, **values))
    damage = [finding for finding in findings if finding.damage]
    completeness, problems = reader.completeness()
    complete = bool(completeness.get("complete"))
    newest = reader.head()
    known = None if digits is None else _has_been(reader, digits)
    out.document(
        {
            "archive": str(archive.absolute()),
            "versions": len(reader.versions()),
            "head": newest,
            "expected": known,
            "quick": quick,
            "restored": restored,
            "intact": not damage,
            "complete": complete,
            "completeness": completeness,
            "problems": problems,
            "findings": [
                {
                    "code": str(finding.code),
                    "path": finding.path,
                    "detail": finding.detail,
                    "damage": finding.damage,
                    "mend": finding.mend,
                }
                for finding in findings
            ],
        }
    )
    if known is False:
        raise ArchiveDamaged(
            message(
                "{archive} never had the head {digits}: it is an older state, or another archive; use its newest copy.",
                archive=archive,
                digits=digits,
            )
        )
    if damage:
        raise ArchiveDamaged(
            message(
                "{archive} is damaged: {findings}; the lines above say what to do.",
                archive=archive,
                findings=counted(len(damage), "finding"),
            )
        )
    versions = counted(len(reader.versions()), "version")
    if quick:
        out.answer(message("Intact: {versions}, sizes, chains and the sums of changed files hold.", versions=versions))
    else:
        out.answer(message("Intact: {versions}, every hash, chain and fold holds.", versions=versions))
    for line in completeness_lines(completeness, problems):
        out.answer(line)
    out.answer(message("Head: {head}", head=newest or message("none yet, the next backup seals this archive")))
    if not complete:
        raise Incomplete(
            message("{archive} is intact, but not everything could be read; run backup again.", archive=archive)
        )
    return 0


def _repair(out: Output, archive: Archive) -> list[str]:
    """Repair what can be repaired, tell of every file, and return the paths of those that are as they were written."""
    from exporter.library.upkeep import repair

    restored = []
    for path, done in repair(archive, resolve({}, blog_id=archive.info.blog_id, warn=out.warn)):
        lost, back = message("cannot be restored offline"), message("restored")
        out.answer(message("{what}: {path}", what=back if done else lost, path=printable(path)))
        restored += [path] if done else []
    return restored


def _digits(text: str) -> str:
    digits = text.strip().lower()
    if not _DIGITS.fullmatch(digits):
        raise UsageError(
            message(
                "option --expect is {text!r}: give the head's 64 hexadecimal digits, or 8 or more.",
                text=printable(text, 80),
            )
        )
    return digits


def _has_been(reader: Archive, digits: str) -> bool:
    """Tell whether the archive has, or had, a head that begins with these digits."""
    from exporter.archive.documents import count_heads

    found = count_heads(reader.layout, digits)
    if found > 1:
        raise UsageError(
            message(
                "option --expect is {digits!r}, with which {found} heads of this archive begin: give more digits.",
                digits=digits,
                found=found,
            )
        )
    return found == 1
