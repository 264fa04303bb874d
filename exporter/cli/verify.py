"""``verify``: two separate checks: is the archive intact, and is it complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.archive.archive import Archive
from exporter.archive.layout import capture_numbers
from exporter.cli.help import PATH, cli_command
from exporter.cli.options import (
    complete_archives,
    identity_option,
    is_copy,
    place_named,
    store_at,
    warn_about_locked,
    with_output,
)
from exporter.cli.output import Output, counted, counted_records, shown
from exporter.cli.summary import completeness_lines
from exporter.errors import ArchiveDamaged, CopyEncrypted, Incomplete, UsageError
from exporter.message import Message, message, suggested
from exporter.settings import resolve
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.archive.checks import Finding
    from exporter.archive.forgotten import ForgettingNote
    from exporter.cli.progress_bar import ProgressBar
    from exporter.evidence.checks import Evidence

    LookAtSeals = Callable[[Archive, str], Evidence]

_DIGITS: Final = re.compile("[0-9a-f]{8,64}")


@cli_command(
    "verify",
    help=message(
        """Check every hash, chain and fold of the archive in DIR, or of a copy such as s3://bucket/prefix, and
        whether the archive is complete.

        --repair restores damaged files of versions from undamaged copies of their records, always to the original
        bytes, and rebuilds latest/. It lists the files that it cannot restore.

        The command prints the archive's head, a hash of everything. Keep it elsewhere: --expect shows later that
        this is the same archive or a newer state of it. Without --identity, the check of an encrypted copy is
        limited to sizes. Exits with 13 if something is damaged or --expect fails, and with 3 if the archive is
        intact but incomplete.

        --evidence also checks the seals, without a network: by when the content existed, and that it is unaltered
        since. Exits with 5 if no seal exists."""
    ),
)
@click.argument("archive", metavar="DIR", shell_complete=complete_archives)
@click.option("--quick", is_flag=True, help=message("Check sizes, chains, and the hashes of changed files."))
@click.option("--repair", "repairs", is_flag=True, help=message("First restore damaged files, without the service."))
@click.option("--expect", metavar="HASH", help=message("Fail unless HASH is the present head, or an earlier one."))
@click.option("--evidence", "sealed", is_flag=True, help=message("Also check the seals, without a network."))
@click.option("--seal", "kept", multiple=True, metavar="FILE|HASH", help=message("Also check a seal kept elsewhere."))
@click.option("--signers", type=PATH, metavar="FILE", help=message("Trust only the public keys in FILE for seals."))
@click.option(
    "--tsa-root", type=PATH, metavar="FILE", help=message("PEM file of root certificates to trust for timestamps.")
)
@identity_option
@with_output()
def verify_command(
    *,
    out: Output,
    archive: str,
    quick: bool,
    repairs: bool,
    expect: str | None,
    identities: tuple[Path, ...],
    sealed: bool,
    kept: tuple[str, ...],
    signers: Path | None,
    tsa_root: Path | None,
) -> int:
    """Run ``verify``."""
    digits = None if expect is None else _digits(expect)
    look = None
    if sealed or kept or signers is not None or tsa_root is not None:
        if quick:
            # A quick check trusts the times of files, which a forger can set.
            raise UsageError(message("Seals prove something only if every byte is checked: leave out --quick."))
        from exporter.cli.evidence import evidence_check

        look = evidence_check(out, signers=signers, kept=kept, tsa_root=tsa_root)
    archive = place_named(archive)
    if is_copy(archive, identities):
        if quick or repairs:
            text = message(
                "A copy is always checked completely, and sync from an intact archive repairs it: leave out "
                "--quick and --repair."
            )
            raise UsageError(text)
        return _verify_copy(out, archive, identities, digits, look)
    reader = Archive.open(Path(archive))
    has_captures = bool(capture_numbers(reader.layout))
    if not has_captures:
        reader.resolve()
    restored = _repair(out, reader) if repairs else []
    records = None
    if has_captures:
        from exporter.warc.checks import record_checks

        records = record_checks(reader.layout)
    with _bar(out) as bar:
        findings = reader.verify(quick=quick, progress=bar.update, records=records)
        found = _printed(out, findings, lambda finding: finding.mend)
        backup = suggested("backup", Path(archive))
        about = {"quick": quick, "restored": restored}
        return _report(out, reader, str(reader.path.absolute()), found, digits, backup, look, (), **about)


def _verify_copy(
    out: Output, place: str, identities: tuple[Path, ...], digits: str | None, look: LookAtSeals | None
) -> int:
    """Check a copy in its store."""
    from exporter.copies.checks import CopyCheck
    from exporter.copies.opening import locks_of

    try:
        opened = store_at(place, identities)
    except CopyEncrypted:
        if digits is not None or look is not None:
            raise
        return _look_from_outside(out, place)
    with CopyCheck(opened) as check, _bar(out) as bar:
        check.archive.resolve()
        found = _printed(out, check.findings(bar.update), _mend_of_a_copy)
        locked = locks_of(place, opened)
        if locked is not None:
            warn_about_locked(out, locked)
        about = {"locked": None if locked is None else locked.document()}
        return _report(out, check.archive, opened.place, found, digits, None, look, identities, **about)


def _look_from_outside(out: Output, place: str) -> int:
    """Check an encrypted copy without its key.

    Raises:
        ArchiveDamaged: a file is missing or truncated.
    """
    from exporter.copies.checks import KeylessCheck
    from exporter.copies.opening import plain_store

    seen = KeylessCheck(plain_store(place))
    with _bar(out) as bar:
        findings, damage = _printed(out, seen.findings(bar.update), _mend_of_a_copy)
    out.document(
        {
            "archive": place,
            "encrypted": True,
            "versions": seen.versions,
            "objects": seen.objects,
            "bytes": seen.bytes,
            "intact": None if not damage else False,
            "findings": findings,
        }
    )
    if damage:
        raise ArchiveDamaged(_damaged(place, damage))
    out.answer(
        "No file is missing or truncated: {versions}, {files}. Their content was not checked, since that needs "
        "--identity.",
        versions=counted(seen.versions, "version"),
        files=counted(seen.objects, "file"),
    )
    return 0


def _printed(
    out: Output, findings: Iterable[Finding], mend_of: Callable[[Finding], str]
) -> tuple[list[dict[str, object]], int]:
    """Print every finding with its repair; return the documents, and the number of damaged files."""
    documents: list[dict[str, object]] = []
    for each in findings:
        mend = mend_of(each)
        values: dict[str, Any] = {"path": printable(each.path), "detail": shown(each.detail, 2000), "mend": mend}
        out.answer("{code}: {path}: {detail} ({mend})", code=each.code, **values)
        found = {"code": str(each.code), "path": each.path, "detail": each.detail, "damage": each.damage, "mend": mend}
        documents.append(found)
    return documents, sum(bool(each["damage"]) for each in documents)


def _mend_of_a_copy(found: Finding) -> str:
    if not found.damage:
        return found.mend
    return message("remove it there, and run sync from an intact archive to it")


def _bar(out: Output) -> ProgressBar:
    from exporter.cli.progress_bar import ProgressBar

    return ProgressBar(out, message("verifying"))


def _report(
    out: Output,
    reader: Archive,
    place: str,
    found: tuple[list[dict[str, object]], int],
    digits: str | None,
    backup: str | None,
    look: LookAtSeals | None,
    identities: Sequence[Path],
    **about: object,
) -> int:
    """Print the result of a check.

    Args:
        out: prints it.
        reader: reads the archive or copy.
        place: its path or address.
        found: the findings and the number of damaged files.
        digits: the expected head.
        backup: the command that backs up the archive; ``None`` for a copy, which no backup writes.
        look: checks the seals, if that was asked for.
        identities: the files that open an encrypted copy.
        about: further members of the JSON object.

    Raises:
        ArchiveDamaged: something is damaged, or the head is not the expected one.
        Incomplete: everything is intact, but not complete.
        NoSuchRecord: the seals should be checked, and none exists.
    """
    findings, damage = found
    proofs: list[Message] = []
    if look is not None:
        from exporter.cli.evidence import evidence_document, evidence_lines

        evidence = look(reader, place)
        about["evidence"] = evidence_document(evidence)
        proofs = list(evidence_lines(evidence, every=out.verbosity > 0))
        others, broken = _printed(out, evidence.findings, lambda finding: finding.mend)
        findings, damage = findings + others, damage + broken
    completeness, problems = reader.completeness()
    newest = reader.head()
    known = None if digits is None else _has_been(reader, digits)
    versions = len(reader.versions())
    notes = _notes(reader)
    document: dict[str, Any] = {
        "archive": place,
        "versions": versions,
        "head": newest,
        "expected": known,
        "intact": not damage,
        "complete": bool(completeness.get("complete")),
        "completeness": completeness,
        "problems": problems,
        "findings": findings,
        "forgotten": [{"at": note.at, "records": dict(note.records)} for note in notes],
    }
    out.document({**document, "quick": False, "restored": [], "locked": None, **about})
    if known is False:
        raise ArchiveDamaged(
            "{archive} never had the head {digits}: it is an older state, or another archive. Use the newest copy.",
            archive=place,
            digits=digits,
        )
    if damage:
        raise ArchiveDamaged(_damaged(place, damage))
    _say_intact(
        out, versions, len(capture_numbers(reader.layout)), is_copy=backup is None, quick=bool(about.get("quick"))
    )
    if not versions:
        out.answer(message("There is no version yet: the archive has captures alone."))
        return 0
    _say_forgotten(out, notes)
    for line in completeness_lines(place, completeness, problems, identities):
        out.answer(line)
    out.answer("Head: {head}", head=newest or message("none yet, the next backup seals this archive"))
    for line in proofs:
        out.answer(line)
    if document["complete"]:
        return 0
    if backup is not None:
        raise Incomplete(
            "{archive} is intact, but not everything could be read. The next backup tries again: {command}",
            archive=place,
            command=backup,
        )
    raise Incomplete(
        "{archive} is an intact copy of an archive that is not complete: back up the archive, then run sync.",
        archive=place,
    )


def _say_intact(out: Output, versions: int, captures: int, *, is_copy: bool, quick: bool) -> None:
    there = counted(versions, "version")
    if captures:
        there = message("{versions}, {captures}", versions=there, captures=counted(captures, "capture"))
    if captures and not quick and not is_copy:
        out.answer("Intact: {versions}, every hash, chain, fold and record of a capture holds.", versions=there)
    elif quick:
        out.answer("Intact: {versions}, sizes, chains and the sums of changed files hold.", versions=there)
    else:
        out.answer("Intact: {versions}, every hash, chain and fold holds.", versions=there)


def _notes(reader: Archive) -> list[ForgettingNote]:
    """Return the notes about forgotten records; none if they are damaged, which is a finding."""
    from exporter.archive.forgotten import read_notes

    with suppress(ArchiveDamaged):
        return read_notes(reader.layout)
    return []


def _say_forgotten(out: Output, notes: list[ForgettingNote]) -> None:
    for note in notes:
        if note.number:
            out.answer("Forgotten on {date}: {records}.", date=note.at[:10], records=counted_records(note.records))
        else:
            out.answer("Removed on {date}: pages that showed forgotten records.", date=note.at[:10])


def _damaged(name: str, damage: int) -> Message:
    return message(
        "{archive} is damaged: {findings}; the lines above say what to do.",
        archive=name,
        findings=counted(damage, "finding"),
    )


def _repair(out: Output, archive: Archive) -> list[str]:
    """Repair damaged files, print each result, and return the paths of the restored files."""
    from exporter.library.views import repair

    restored = []
    for path, done in repair(archive, resolve({}, blog_id=archive.info.blog_id, warn=out.warn)):
        lost, back = message("cannot be restored offline"), message("restored")
        out.answer("{what}: {path}", what=back if done else lost, path=printable(path))
        restored += [path] if done else []
    return restored


def _digits(text: str) -> str:
    digits = text.strip().lower()
    if not _DIGITS.fullmatch(digits):
        raise UsageError(
            "option --expect is {text!r}: give the head's 64 hexadecimal digits, or 8 or more.",
            text=printable(text, 80),
        )
    return digits


def _has_been(reader: Archive, digits: str) -> bool:
    """Return whether these digits begin the present or an earlier head of the archive."""
    from exporter.archive.documents import count_heads

    found = count_heads(reader.layout, digits)
    found += sum(each["before"].startswith(digits) for note in _notes(reader) for each in note.runs)
    if found > 1:
        raise UsageError(
            "option --expect is {digits!r}, with which {found:,} heads of this archive begin: give more digits.",
            digits=digits,
            found=found,
        )
    return found == 1
