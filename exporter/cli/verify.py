"""``verify``: two separate checks: is the archive intact, and is it complete."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from exporter.archive.archive import Archive
from exporter.cli.copy_options import StoreChoice, places, store_options, tell_locked
from exporter.cli.options import with_output
from exporter.cli.output import Output, counted, shown
from exporter.cli.summary import completeness_lines
from exporter.errors import ArchiveDamaged, CopyEncrypted, Incomplete, UsageError
from exporter.message import message, suggested
from exporter.settings import resolve
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.archive.findings import Finding
    from exporter.cli.progress import ProgressBar
    from exporter.copies.object_lock import Locked

_DIGITS: Final = re.compile("[0-9a-f]{8,64}")


@click.command(
    "verify",
    help=message(
        """Check every hash, chain and fold of the archive in DIR, or of a copy such as s3://bucket/prefix, and
        whether the archive is complete.

        --repair restores damaged files of versions from undamaged copies of their records, always to the original
        bytes, and rebuilds latest/. It lists the files that it cannot restore.

        The command prints the archive's head, a hash of everything. Keep it elsewhere: --expect shows later that
        this is the same archive or a newer state of it. Without --identity, the check of an encrypted copy is
        limited to sizes. Exits with 13 if something is damaged or --expect fails, and with 3 if the archive is
        intact but incomplete."""
    ),
)
@click.argument("archive", metavar="DIR", shell_complete=places)
@click.option("--quick", is_flag=True, help=message("Check sizes, chains, and the hashes of changed files."))
@click.option("--repair", "repairs", is_flag=True, help=message("First restore damaged files, without the service."))
@click.option("--expect", metavar="HASH", help=message("Fail unless HASH is the present head, or an earlier one."))
@store_options()
@with_output()
def verify_command(
    *, out: Output, archive: str, quick: bool, repairs: bool, expect: str | None, store: StoreChoice
) -> int:
    """Run ``verify``."""
    digits = None if expect is None else _digits(expect)
    if store.is_copy(archive):
        if quick or repairs:
            raise UsageError(
                message(
                    "A copy is always checked completely, and sync from an intact archive repairs it: leave out "
                    "--quick and --repair."
                )
            )
        return _verify_copy(out, archive, store, digits)
    reader = Archive.open(Path(archive))
    reader.resolve()
    restored = _repair(out, reader) if repairs else []
    checked = _Checked(
        archive, str(reader.path.absolute()), reader, digits, quick=quick, restored=restored, folder=Path(archive)
    )
    with _bar(out) as bar:
        return checked.report(out, ((found, found.mend) for found in reader.verify(quick=quick, progress=bar.update)))


def _verify_copy(out: Output, place: str, store: StoreChoice, digits: str | None) -> int:
    """Check a copy in its store."""
    from exporter.copies.checks import CopyCheck
    from exporter.copies.opening import locks_of

    try:
        opened = store.open(place)
    except CopyEncrypted:
        if digits is not None:
            raise
        return _look_from_outside(out, place)
    with CopyCheck(opened) as check, _bar(out) as bar:
        check.archive.resolve()
        return _Checked(opened.place, opened.place, check.archive, digits).report(
            out, ((found, _mend_of_a_copy(found)) for found in check.findings(bar.update)), locks_of(place, opened)
        )


def _look_from_outside(out: Output, place: str) -> int:
    """Check an encrypted copy without its key.

    Raises:
        ArchiveDamaged: a file is missing or truncated.
    """
    from exporter.copies.checks import KeylessCheck
    from exporter.copies.opening import plain_store

    seen = KeylessCheck(plain_store(place))
    found = []
    with _bar(out) as bar:
        for finding in seen.findings(bar.update):
            found.append((finding, _mend_of_a_copy(finding)))
            _print_finding(out, *found[-1])
    damage = sum(finding.damage for finding, _ in found)
    out.document(
        {
            "archive": place,
            "encrypted": True,
            "versions": seen.versions,
            "objects": seen.objects,
            "bytes": seen.bytes,
            "intact": None if not damage else False,
            "findings": [_finding_document(*each) for each in found],
        }
    )
    if damage:
        raise ArchiveDamaged(
            message(
                "{archive} is damaged: {findings}; the lines above say what to do.",
                archive=place,
                findings=counted(damage, "finding"),
            )
        )
    out.answer(
        message(
            "No file is missing or truncated: {versions}, {files}. Their content was not checked, since that needs "
            "--identity.",
            versions=counted(seen.versions, "version"),
            files=counted(seen.objects, "file"),
        )
    )
    return 0


def _print_finding(out: Output, finding: Finding, mend: str) -> None:
    values = {"path": printable(finding.path), "detail": shown(finding.detail, 2000), "mend": mend}
    out.answer(message("{code}: {path}: {detail} ({mend})", code=finding.code, **values))


def _finding_document(finding: Finding, mend: str) -> dict[str, object]:
    return {
        "code": str(finding.code),
        "path": finding.path,
        "detail": finding.detail,
        "damage": finding.damage,
        "mend": mend,
    }


def _mend_of_a_copy(found: Finding) -> str:
    if not found.damage:
        return found.mend
    return message("remove it there, and run sync from an intact archive to it")


def _bar(out: Output) -> ProgressBar:
    from exporter.cli.progress import ProgressBar

    return ProgressBar(out, message("verifying"))


@dataclass(frozen=True, slots=True)
class _Checked:
    """An archive or copy after the check.

    Attributes:
        name: its name in messages.
        place: its path or address.
        reader: reads it.
        digits: the expected head.
        quick: whether the check was quick.
        restored: the files that were restored before.
        folder: the archive's folder; ``None`` for a copy, which no backup writes.
    """

    name: str
    place: str
    reader: Archive
    digits: str | None
    quick: bool = False
    restored: list[str] = field(default_factory=list)
    folder: Path | None = None

    def report(self, out: Output, found: Iterable[tuple[Finding, str]], locked: Locked | None = None) -> int:
        """Print every finding with its repair, and the result; return the exit code.

        Raises:
            ArchiveDamaged: something is damaged, or the head is not the expected one.
            Incomplete: everything is intact, but not complete.
        """
        findings = []
        for finding, mend in found:
            findings.append((finding, mend))
            _print_finding(out, finding, mend)
        damage = sum(finding.damage for finding, _ in findings)
        completeness, problems = self.reader.completeness()
        complete = bool(completeness.get("complete"))
        newest = self.reader.head()
        known = None if self.digits is None else _has_been(self.reader, self.digits)
        versions = len(self.reader.versions())
        out.document(
            {
                "archive": self.place,
                "versions": versions,
                "head": newest,
                "expected": known,
                "quick": self.quick,
                "restored": self.restored,
                "intact": not damage,
                "complete": complete,
                "completeness": completeness,
                "problems": problems,
                "locked": None if locked is None else locked.document(),
                "findings": [_finding_document(*each) for each in findings],
            }
        )
        if locked is not None:
            tell_locked(out, locked)
        if known is False:
            raise ArchiveDamaged(
                message(
                    "{archive} never had the head {digits}: it is an older state, or another archive. Use the "
                    "newest copy.",
                    archive=self.name,
                    digits=self.digits,
                )
            )
        if damage:
            raise ArchiveDamaged(
                message(
                    "{archive} is damaged: {findings}; the lines above say what to do.",
                    archive=self.name,
                    findings=counted(damage, "finding"),
                )
            )
        there = counted(versions, "version")
        if self.quick:
            out.answer(message("Intact: {versions}, sizes, chains and the sums of changed files hold.", versions=there))
        else:
            out.answer(message("Intact: {versions}, every hash, chain and fold holds.", versions=there))
        for line in completeness_lines(completeness, problems):
            out.answer(line)
        out.answer(message("Head: {head}", head=newest or message("none yet, the next backup seals this archive")))
        if not complete:
            raise Incomplete(self._incomplete())
        return 0

    def _incomplete(self) -> str:
        if self.folder is None:
            return message(
                "{archive} is an intact copy of an archive that is not complete: back up the archive, then run sync.",
                archive=self.name,
            )
        return message(
            "{archive} is intact, but not everything could be read. The next backup tries again: {command}",
            archive=self.name,
            command=suggested("backup", self.folder),
        )


def _repair(out: Output, archive: Archive) -> list[str]:
    """Repair damaged files, print each result, and return the paths of the restored files."""
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
    """Return whether these digits begin the present or an earlier head of the archive."""
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
